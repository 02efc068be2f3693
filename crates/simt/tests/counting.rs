//! Counters on kernels whose traffic can be worked out by hand.

mod common;

use common::{Arg, Device, HEAD, arg, kernel_around};
use simt::banks::BankModel;
use simt::coalesce::CoalesceModel;
use simt::{
    CounterOptions, CounterReport, Counters, LaunchConfig, Memory, Module, Motion, Options,
    PartitionModel, Space, TraceOptions,
};

fn counting(options: CounterOptions) -> Device {
    let options = Options::default().counters(options);
    Device { memory: Memory::new(1 << 30), options }
}

fn count_body(body: &str, grid: u32, block: u32, options: CounterOptions) -> CounterReport {
    let device = counting(options);
    let out = device.upload(&vec![0u8; 1 << 20]);
    let module = Module::parse(&kernel_around(body)).unwrap();
    device.launch(&module, "k", grid, block, &[arg(out)]).unwrap().counters.unwrap()
}

/// A matrix transpose through a tile of 32 x 32 words, 32 x 8 threads: `pitch`
/// words from one row of the tile to the next, blocks in rows or on diagonals.
fn transpose(pitch: u32, diagonal: bool) -> String {
    let place = if diagonal {
        "add.u32 %by, %bx, %by; rem.u32 %by, %by, %gx; mov.u32 %v, %bx; mov.u32 %bx, %by; mov.u32 %by, %v;"
    } else {
        ""
    };
    let copy = |k: u32| {
        format!(
            "mad.wide.u32 %b, %n, {row}, %a; ld.global.f32 %v, [%b]; st.shared.f32 [%s+{tile}], %v;\n",
            row = 32 * k,
            tile = 32 * k * pitch
        )
    };
    let copy_back = |k: u32| {
        format!(
            "ld.shared.f32 %v, [%t+{tile}]; mad.wide.u32 %b, %n, {row}, %c; st.global.f32 [%b], %v;\n",
            row = 32 * k,
            tile = 32 * k
        )
    };
    let bytes = 32 * pitch * 4;
    let copies: String = (0..4).map(copy).collect();
    let copies_back: String = (0..4).map(copy_back).collect();
    format!(
        "{HEAD}.visible .entry transpose(.param .u64 out, .param .u64 in, .param .u32 n)\n{{\n\
         .reg .b32 %tx, %ty, %bx, %by, %gx, %n, %v, %s, %t, %x, %y; .reg .b64 %a, %b, %c;\n\
         .shared .align 4 .b8 tile[{bytes}];\n\
         ld.param.u32 %n, [n]; ld.param.u64 %a, [in]; ld.param.u64 %c, [out];\n\
         mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %bx, %ctaid.x; mov.u32 %by, %ctaid.y;\n\
         mov.u32 %gx, %nctaid.x; {place}\n\
         mad.lo.u32 %x, %bx, 32, %tx; mad.lo.u32 %y, %by, 32, %ty; mad.lo.u32 %v, %y, %n, %x;\n\
         mad.wide.u32 %a, %v, 4, %a;\n\
         mad.lo.u32 %x, %by, 32, %tx; mad.lo.u32 %y, %bx, 32, %ty; mad.lo.u32 %v, %y, %n, %x;\n\
         mad.wide.u32 %c, %v, 4, %c;\n\
         mov.u32 %v, tile; mad.lo.u32 %s, %ty, {pitch}, %tx; mad.lo.u32 %s, %s, 4, %v;\n\
         mad.lo.u32 %t, %tx, {pitch}, %ty; mad.lo.u32 %t, %t, 4, %v;\n\
         {copies}bar.sync 0;\n{copies_back}ret;\n}}\n"
    )
}

fn count_transpose(ptx: &str, n: u32, options: CounterOptions) -> CounterReport {
    let device = counting(options);
    let bytes = u64::from(n) * u64::from(n) * 4;
    let [out, input] = [0, 1].map(|_| device.memory.alloc(bytes).unwrap());
    let row: Vec<u8> = (0..n).flat_map(u32::to_le_bytes).collect();
    (0..u64::from(n))
        .for_each(|r| device.memory.write(input + r * u64::from(n) * 4, &row).unwrap());
    let config =
        LaunchConfig { grid: [n / 32, n / 32, 1], block: [32, 8, 1], dynamic_shared_bytes: 0 };
    let args: [Arg; 3] = [arg(out), arg(input), arg(n)];
    let module = Module::parse(ptx).unwrap();
    let report = device.launch_config(&module, "transpose", config, &args).unwrap();
    for r in [0, 1, n / 2, n - 1] {
        let start = out + u64::from(r) * u64::from(n) * 4;
        assert!(device.download::<u32>(start, n as usize).iter().all(|v| *v == r), "row {r}");
    }
    report.counters.unwrap()
}

#[test]
fn a_tile_without_padding_conflicts_32_ways() {
    let total = count_transpose(&transpose(32, false), 128, CounterOptions::default()).total;
    let warps = 128 * 128 / 32;
    assert_eq!(total.shared_store.requests, warps);
    assert_eq!(total.shared_store.wavefronts, warps);
    assert_eq!(total.shared_load.requests, warps);
    assert_eq!(total.shared_load.wavefronts, 32 * warps);
    assert_eq!(total.shared_load.conflicts, 31 * warps);
    assert_eq!(total.shared_load.ways(), Some(32.0));
    for traffic in [total.global_load, total.global_store] {
        assert_eq!((traffic.requests, traffic.sectors, traffic.lines), (warps, 4 * warps, warps));
        assert_eq!((traffic.requested_bytes, traffic.moved_bytes), (65536, 65536));
        assert_eq!(traffic.efficiency(), Some(1.0));
        assert_eq!(traffic.sectors_per_request(), Some(4.0));
    }
    assert_eq!(total.lane_efficiency(), Some(1.0));
    assert_eq!(total.divergent_branches, 0);
}

#[test]
fn a_padded_tile_does_not_conflict() {
    let total = count_transpose(&transpose(33, false), 128, CounterOptions::default()).total;
    assert_eq!(total.shared_load.conflicts + total.shared_store.conflicts, 0);
    assert_eq!(total.shared_load.wavefronts, total.shared_load.requests);
}

#[test]
fn the_papers_half_warps_conflict_16_ways() {
    let options =
        CounterOptions::default().banks(BankModel::HALF_WARP).coalescing(CoalesceModel::HALF_WARP);
    let total = count_transpose(&transpose(32, false), 64, options).total;
    assert_eq!(total.shared_load.ways(), Some(16.0));
    assert_eq!(total.shared_store.ways(), Some(1.0));
    // A half-warp of words is one segment of 64 bytes.
    assert_eq!(total.global_load.requests, 64 * 64 / 16);
    assert_eq!(total.global_load.sectors, total.global_load.requests);
    assert_eq!(
        count_transpose(&transpose(33, false), 64, options).total.shared_load.ways(),
        Some(1.0)
    );
}

#[test]
fn blocks_in_rows_camp_on_a_partition_where_diagonals_spread() {
    let options = CounterOptions::default()
        .partitions(PartitionModel { concurrent_blocks: 16, ..PartitionModel::GTX_280 });
    // 512 floats to a row: 2048 bytes, once around the eight partitions.
    let busy = |diagonal| {
        let partitions =
            count_transpose(&transpose(33, diagonal), 512, options).partitions.unwrap();
        assert_eq!(partitions.sets.len(), 16);
        assert!(partitions.sets.iter().all(|set| set.loads.len() == 8));
        (partitions.busy_for_loads().unwrap(), partitions.busy_for_stores().unwrap())
    };
    assert_eq!(busy(false), (8.0, 1.0));
    assert_eq!(busy(true), (8.0, 8.0));
}

#[test]
fn strided_and_shared_accesses_move_what_they_touch() {
    let count = |body: &str| count_body(body, 1, 32, CounterOptions::default()).total;
    let base = "ld.param.u64 %d1, [out];";
    // A column of bytes, one line apart.
    let column = format!("{base} mad.wide.u32 %d2, %t, 128, %d1; st.global.u8 [%d2], %h1;");
    let store = count(&column).global_store;
    assert_eq!((store.requests, store.sectors, store.lines, store.ideal_sectors), (1, 32, 32, 1));
    assert_eq!(store.efficiency(), Some(1.0 / 32.0));
    // All lanes read one word.
    let load = count(&format!("{base} ld.global.u32 %r1, [%d1];")).global_load;
    assert_eq!((load.sectors, load.requested_bytes, load.moved_bytes), (1, 128, 32));
    // Vectors of 16 bytes; half the lanes predicated off.
    let vector = format!(
        "{base} mad.wide.u32 %d2, %t, 16, %d1; setp.lt.u32 %p1, %t, 16;
         @%p1 ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%d2];"
    );
    let total = count(&vector);
    let load = total.global_load;
    assert_eq!((load.requests, load.sectors, load.ideal_sectors, load.lines), (1, 8, 8, 2));
    assert_eq!(total.thread_instructions - total.predicated_on_thread_instructions, 16);
    // Nobody active, nothing requested.
    let nobody = format!("{base} setp.lt.u32 %p1, %t, 0; @%p1 ld.global.u32 %r1, [%d1];");
    assert_eq!(count(&nobody).global_load.requests, 0);
    let atomic = count(&format!("{base} red.global.add.u32 [%d1], 1;")).global_atomic;
    assert_eq!((atomic.requests, atomic.sectors), (1, 1));
}

#[test]
fn instructions_and_lanes_are_counted() {
    // 12 instructions around; 40 threads in two warps, the second with 8 lanes.
    let empty = count_body("ret;", 3, 40, CounterOptions::default()).total;
    assert_eq!((empty.warp_instructions, empty.thread_instructions), (3 * 2 * 7, 3 * 40 * 7));
    assert_eq!(empty.lane_efficiency(), Some(40.0 / 64.0));
    // A branch at which the lanes of the first warp only disagree.
    let body = "setp.lt.u32 %p1, %t, 10; @%p1 bra A; add.u32 %r1, %t, 1; A: ret;";
    let report = count_body(body, 3, 40, CounterOptions::default());
    assert_eq!(report.total.divergent_branches, 3);
    let added = report.instructions.iter().find(|i| i.counters.thread_instructions == 3 * 30);
    let added = added.unwrap();
    assert!(added.text.contains("add.u32 %r1"));
    assert_eq!(added.counters.warp_instructions, 3 * 2);
    let sum = report.instructions.iter().fold(Counters::default(), |mut sum, instruction| {
        sum.add(&instruction.counters);
        sum
    });
    assert_eq!(sum, report.total);
}

#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    let ptx = transpose(32, true);
    let count = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let partitions = Some(PartitionModel::GTX_280);
        let options = CounterOptions::default().partitions(partitions);
        pool.install(|| count_transpose(&ptx, 256, options))
    };
    let one = count(1);
    assert_eq!(one, count(3));
    assert_eq!(one, count(8));
}

#[test]
fn a_kernel_is_annotated() {
    let device = counting(CounterOptions::default());
    let ptx = format!("// a comment\n{}", kernel_around("st.global.u32 [%out], %g; // wide apart"));
    let module = Module::parse(&ptx).unwrap();
    let kernel = module.kernel("k").unwrap();
    let out = device.upload(&[0u64; 64]);
    let report = device.launch(&module, "k", 2, 32, &[arg(out)]).unwrap();
    let text = report.counters.unwrap().annotate(kernel);
    let line = text.lines().find(|line| line.contains("// wide apart")).unwrap();
    let columns: Vec<_> = line.split_whitespace().take(3).collect();
    assert_eq!(columns, ["2", "32.00", "8.00"], "{text}");
    assert!(!text.contains("a comment"), "only the kernel's own lines");
    assert_eq!(text.lines().count(), 1 + kernel.lines().count());
}

#[test]
fn a_block_can_be_traced() {
    let options = Options::default().trace(TraceOptions { block: [1, 0, 0], limit: 20 });
    let device = Device { options, ..Device::default() };
    let (out, input) = (device.upload(&[0u32; 4096]), device.upload(&[0u32; 4096]));
    let config = LaunchConfig { grid: [2, 2, 1], block: [32, 8, 1], dynamic_shared_bytes: 0 };
    let module = Module::parse(&transpose(32, false)).unwrap();
    let args = [arg(out), arg(input), arg(64u32)];
    let report = device.launch_config(&module, "transpose", config, &args).unwrap();
    assert!(report.counters.is_none());
    let trace = report.trace.unwrap();
    assert_eq!((trace.block, trace.events.len()), ([1, 0, 0], 20));
    assert_eq!(trace.omitted, 8 * 16 - 20);
    let first = &trace.events[0];
    assert_eq!((first.space, first.motion, first.bytes), (Space::Global, Motion::Load, 4));
    assert_eq!((first.warp, first.step, first.interval, first.lanes.len()), (0, 0, 0, 32));
    assert_eq!(first.lanes[5].address, input + 4 * (32 + 5));
    let store = trace.events.iter().find(|event| event.space == Space::Shared).unwrap();
    assert_eq!(store.lanes[7].thread, [7, 0, 0]);
    assert_eq!(store.lanes[7].bank(&BankModel::CURRENT), 7);
    let ptx = transpose(32, false);
    let text = ptx.lines().nth(first.line as usize - 1).unwrap();
    assert!(text.contains("ld.global.f32"), "{text}");
    // A column of the tile lies in one bank.
    let options = Options::default().trace(TraceOptions { block: [1, 1, 0], limit: 1000 });
    let device = Device { options, memory: device.memory };
    let report = device.launch_config(&module, "transpose", config, &args).unwrap();
    let trace = report.trace.unwrap();
    assert_eq!(trace.events.len(), 8 * 16);
    let column = trace.events.iter().find(|e| e.space == Space::Shared && e.motion == Motion::Load);
    let column = column.unwrap();
    assert_eq!(column.interval, 1);
    assert!(column.lanes.iter().all(|lane| lane.bank(&BankModel::CURRENT) == column.warp));
}

#[test]
fn senseless_options_are_refused() {
    let refused = |options: CounterOptions| {
        let device = counting(options);
        let out = device.upload(&[0u64]);
        let module = Module::parse(&kernel_around("ret;")).unwrap();
        device.launch(&module, "k", 1, 1, &[arg(out)]).unwrap_err()
    };
    let plain = CounterOptions::default();
    for options in [
        plain.banks(BankModel { banks: 33, ..BankModel::CURRENT }),
        plain.banks(BankModel { banks: 0, ..BankModel::CURRENT }),
        plain.banks(BankModel { lanes: 8, ..BankModel::CURRENT }),
        plain.coalescing(CoalesceModel { sector_bytes: 8, ..CoalesceModel::CURRENT }),
        plain.coalescing(CoalesceModel { line_bytes: 16, ..CoalesceModel::CURRENT }),
        plain.partitions(PartitionModel { count: 0, ..PartitionModel::GTX_280 }),
        plain.partitions(PartitionModel { concurrent_blocks: 0, ..PartitionModel::GTX_280 }),
        plain.partitions(PartitionModel { width: 100, ..PartitionModel::GTX_280 }),
    ] {
        assert!(matches!(refused(options), simt::Error::Options { .. }), "{options:?}");
    }
}
