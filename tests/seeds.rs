//! What the texts say that profilers saw, seen by the simulator.

use bench::kernels::Run;
use profile::Inspection;
use study::{Block, DALMASSO_BLOCKS, Kernel};
use transpose::simt::banks::BankModel;
use transpose::simt::coalesce::CoalesceModel;
use transpose::simt::{CounterOptions, CounterReport, PartitionModel};
use transpose::{Device, DeviceMatrix};

/// The counts of a kernel on an `n × n` matrix of `f32`.
fn count(kernel: Kernel, block: Block, n: usize, options: CounterOptions) -> CounterReport {
    let device = Device::simulated();
    let run = Run::new(kernel, block, n, n, size_of::<f32>()).unwrap();
    let src = DeviceMatrix::<f32>::zeroed(&device, 1, n * n).unwrap();
    let mut dst = DeviceMatrix::zeroed(&device, 1, run.dst_len()).unwrap();
    let inspection = Inspection { counters: Some(options), ..Inspection::default() };
    let plan = run.plan(&src, &mut dst).unwrap();
    let launches =
        profile::inspect(&device, inspection, || run.launch(&plan, &src, &mut dst)).unwrap();
    let [launch] = &launches.unwrap()[..] else { panic!("one launch") };
    launch.report.counters.clone().unwrap()
}

const SQUARE: Block = Block { x: 16, y: 16 };
const NVIDIA: Block = Block { x: 32, y: 8 };

/// Dalmasso's GPU, a Jetson Nano: it reads by warps, and writes by half-warps.
const HALF_WARPS: CoalesceModel = CoalesceModel { lanes: 16, ..CoalesceModel::CURRENT };

/// `gld_efficiency` and `gst_efficiency` in blocks of 16 × 16, as Dalmasso has them: of the kernels
/// by rows 100 % and 12.5 %, by columns 25 % and 100 %, of the staged one 100 % twice.
#[test]
fn dalmassos_efficiencies() {
    let load = |kernel| {
        let total = count(kernel, SQUARE, 256, CounterOptions::default()).total;
        total.global_load.efficiency().unwrap()
    };
    let options = CounterOptions::default().coalescing(HALF_WARPS);
    let store = |kernel| {
        let total = count(kernel, SQUARE, 256, options).total;
        total.global_store.efficiency().unwrap()
    };
    for row in [Kernel::NaiveRow, Kernel::Unroll4Row, Kernel::DiagonalRow] {
        assert_eq!((load(row), store(row)), (1.0, 0.125), "{row}");
    }
    for col in [Kernel::NaiveCol, Kernel::Unroll4Col, Kernel::DiagonalCol] {
        assert_eq!((load(col), store(col)), (0.25, 1.0), "{col}");
    }
    let staged = Kernel::SmemUnrollPadDyn;
    assert_eq!((load(staged), store(staged)), (1.0, 1.0));
}

/// GPUs of today write by warps too. In a block of 16 × 16 a warp is two rows of threads, which write
/// two neighbours of each row of the destination: one sector for both.
#[test]
fn todays_gpus_write_by_warps() {
    let total = |kernel, block| count(kernel, block, 256, CounterOptions::default()).total;
    let store = |kernel, block| total(kernel, block).global_store.efficiency().unwrap();
    assert_eq!(store(Kernel::NaiveRow, SQUARE), 0.25);
    assert_eq!(store(Kernel::NaiveCol, SQUARE), 1.0);
    assert_eq!(store(Kernel::NaiveRow, NVIDIA), 0.125);
}

/// "All threads of a half-warp read from one bank": 16-way on the text's GPUs, 32-way on today's.
#[test]
fn columns_of_an_unpadded_tile_conflict() {
    let half_warps =
        CounterOptions::default().banks(BankModel::HALF_WARP).coalescing(CoalesceModel::HALF_WARP);
    let ways = |kernel, options| {
        let total = count(kernel, NVIDIA, 128, options).total;
        (total.shared_load.ways().unwrap(), total.shared_store.ways().unwrap())
    };
    assert_eq!(ways(Kernel::Coalesced, CounterOptions::default()), (32.0, 1.0));
    assert_eq!(ways(Kernel::Coalesced, half_warps), (16.0, 1.0));
    for padded in [Kernel::BankConflictFree, Kernel::Diagonal] {
        assert_eq!(ways(padded, CounterOptions::default()), (1.0, 1.0));
        assert_eq!(ways(padded, half_warps), (1.0, 1.0));
    }
    for block in DALMASSO_BLOCKS {
        let total = count(Kernel::SmemPad, block, 128, CounterOptions::default()).total;
        assert_eq!(total.shared_load.conflicts, 0, "padding keeps reads of {block} free of them");
    }
}

/// A GTX 280 has 8 partitions of 256 bytes, and a row of the NVIDIA text's 2048 × 2048 matrix goes around
/// them four times. Blocks in Cartesian order write down columns, into one partition or two;
/// on diagonals they read and write everywhere.
#[test]
fn cartesian_blocks_camp_where_diagonal_ones_spread() {
    let options = CounterOptions::default().partitions(PartitionModel::GTX_280);
    let busy = |kernel| {
        let partitions = count(kernel, NVIDIA, 2048, options).partitions.unwrap();
        (partitions.busy_for_loads().unwrap(), partitions.busy_for_stores().unwrap())
    };
    let (load, store) = busy(Kernel::BankConflictFree);
    assert!(load > 7.0 && store < 1.5, "{load} {store}");
    let (load, store) = busy(Kernel::Diagonal);
    assert!(load > 6.5 && store > 7.0, "{load} {store}");
    // The text's two other ways out: pad the destination, or move the problem to the loads.
    let (load, store) = busy(Kernel::PartitionPadded);
    assert!(load > 7.0 && store > 7.0, "{load} {store}");
    let (load, store) = busy(Kernel::Swapped);
    assert!(load < 1.5 && store > 7.0, "{load} {store}");
}
