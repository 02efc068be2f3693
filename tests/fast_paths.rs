//! Every kernel that `Strategy::Auto` can choose, made to be chosen, on the simulator and on a GPU.

use profile::Inspection;
use proptest::prelude::{Strategy as _, any, proptest};
use transpose::{Batch, Device, DeviceMatrix, Plan, PlanCache, Strategy};
use transpose_tests::{Case, Element, cases, check, is_ours, on_both_devices, simulator};

on_both_devices! {
    aligned_rows,
    far_rows,
    rows_that_start_anywhere,
    few_columns,
    more_columns,
    few_rows,
    more_rows,
    full_rounds,
    odd_elements,
    pixels_in_aligned_rows,
    large_elements,
    nearly_empty_tiles,
    batches,
    random_cases,
    candidates,
    measured_plans,
    measured_batches,
}

/// What plans are told of the cache: on a GPU, kernels may come in two kinds.
fn evict_last(device: &Device) -> &'static [bool] {
    if device.is_gpu() { &[false, true] } else { &[false] }
}

/// What serves matrices that no kernel of matrices is for.
const TENSORS: &str = "the kernels of tensors";

/// Whether a plan launches the kernel of that name, or one of [`TENSORS`].
fn is_by(plan: &Plan, kernel: &str) -> bool {
    let names = if kernel == TENSORS {
        &["tiles", "boxes", "pieces", "runs", "words"][..]
    } else {
        &[kernel]
    };
    names.iter().any(|name| plan.to_string().contains(&format!(" {name}_b")))
}

/// Checks the kernel of that name, and that `Auto` chooses it for the case. A GPU may be too large for so small a case to be worth that kernel: there it is
/// taken from the candidates.
fn check_kernel<T: Element>(device: &Device, kernel: &str, case: Case) {
    if !is_ours() {
        return;
    }
    let is_named = |plan: &Plan| is_by(plan, kernel);
    for &evict_last in evict_last(device) {
        check::<T>(device, case, |src, mut dst| {
            let mut plan = Plan::new(src, dst.reborrow(), Strategy::Auto).unwrap();
            if device.is_gpu() && !is_named(&plan) {
                let ways = Plan::candidates(src, dst.reborrow()).unwrap();
                plan = ways.into_iter().find(is_named).unwrap_or(plan);
            }
            assert!(is_named(&plan), "{kernel} is not in {plan}");
            plan.evict_last(evict_last).run(src, dst).unwrap();
        });
    }
}

/// Large matrices of which the kernels that only know matrices would have little to do in each tile.
fn nearly_empty_tiles(device: &Device) {
    check_kernel::<u16>(device, "boxes", Case { dst_slack: 5, ..Case::tight(20, 130_001) });
    check_kernel::<u16>(device, "words", Case { dst_slack: 5, ..Case::tight(3, 700_001) });
    check_kernel::<[u32; 3]>(device, "words", Case::tight(175_003, 2));
    check_kernel::<[u8; 5]>(
        device,
        "boxes",
        Case { src_offset: 3, dst_offset: 1, ..Case::tight(40, 21_001) },
    );
}

/// The kernel for every element width. The sizes are in bytes of a row or column, so that each width
/// has rows of that length.
fn check_widths(device: &Device, kernel: &str, case: impl Fn(usize) -> Case) {
    check_kernel::<u8>(device, kernel, case(1));
    check_kernel::<u16>(device, kernel, case(2));
    check_kernel::<u32>(device, kernel, case(4));
    check_kernel::<u64>(device, kernel, case(8));
    check_kernel::<u128>(device, kernel, case(16));
}

/// Whole and cut tiles, tight and with slack, of matrices whose rows all start on 16 bytes.
fn aligned_rows(device: &Device) {
    for (row_bytes, col_bytes) in [(512, 512), (528, 1040), (1040, 528)] {
        for slack in [0, 32] {
            check_widths(device, "micro", |bytes| Case {
                src_slack: slack / bytes,
                dst_slack: 2 * slack / bytes,
                src_offset: slack / bytes,
                ..Case::tight(col_bytes / bytes, row_bytes / bytes)
            });
        }
    }
    // Rows that end inside a vector.
    for (rows, cols) in [(259, 261), (300, 270), (273, 287)] {
        check_kernel::<u8>(device, "micro", aligned(rows, cols, 16));
        check_kernel::<u16>(device, "micro", aligned(rows, cols, 8));
        check_kernel::<u32>(device, "micro", aligned(rows, cols, 4));
        check_kernel::<u64>(device, "micro", aligned(rows, cols, 2));
    }
}

/// Rows so far apart that columns are walked in pairs, which are not all whole.
fn far_rows(device: &Device) {
    let row_bytes = (33 << 10) + 48;
    check_widths(device, "micro", |bytes| Case {
        src_slack: ((128 << 10) - row_bytes) / bytes,
        ..Case::tight(528 / bytes, row_bytes / bytes)
    });
}

/// A case whose leading dimensions are rounded up to a multiple of `unit` elements.
fn aligned(rows: usize, cols: usize, unit: usize) -> Case {
    let slack = |n: usize| n.next_multiple_of(unit) - n;
    Case { src_slack: slack(cols), dst_slack: slack(rows), ..Case::tight(rows, cols) }
}

/// Odd sizes and bases; all offsets of a window from a sector come up.
fn rows_that_start_anywhere(device: &Device) {
    for (rows, cols) in [(257, 263), (301, 519)] {
        check_kernel::<u8>(device, "rows", Case::tight(rows, cols));
        check_kernel::<u16>(device, "rows", Case::tight(rows, cols));
        check_kernel::<u32>(device, "rows", Case::tight(rows, cols));
        check_kernel::<u64>(device, "rows", Case::tight(rows, cols));
    }
    for offset in 1..8 {
        let case = |rows, cols| Case {
            src_offset: offset,
            dst_offset: 8 - offset,
            ..Case::tight(rows, cols)
        };
        check_kernel::<u8>(device, "rows", case(272, 288));
        check_kernel::<u16>(device, "rows", case(136, 192));
        check_kernel::<u32>(
            device,
            "rows",
            Case { src_slack: offset, dst_slack: 1, ..case(68, 72) },
        );
        check_kernel::<u64>(device, "rows", Case { src_slack: 1, ..case(44, 36) });
    }
}

fn few_columns(device: &Device) {
    for cols in [1, 2, 3, 5, 7, 8, 11] {
        for (rows, dst_offset) in [(1, 0), (700, 0), (2048, 0), (3001, 1), (5000, 3)] {
            check_widths(device, "tall", |_| Case { dst_offset, ..Case::tight(rows, cols) });
        }
        let case =
            Case { src_slack: cols / 2, dst_slack: 3, src_offset: 5, ..Case::tight(999, cols) };
        check_widths(device, "tall", |_| case);
    }
}

/// More columns, and destinations whose rows start anywhere in a sector: every order that bytes are taken in, and more columns
/// than a tile has.
fn more_columns(device: &Device) {
    for cols in [12, 14, 15, 16, 24, 30, 32, 48, 60, 63, 64, 80, 100, 128, 176] {
        for rows in [1504, 1503, 1502, 1500, 1496, 1488] {
            let tiles = cols > 100 && rows % 16 == 0;
            check_kernel::<u8>(
                device,
                if tiles { "micro" } else { "tall" },
                Case::tight(rows, cols),
            );
        }
        let case =
            Case { src_slack: cols / 3, dst_slack: 1, dst_offset: 3, ..Case::tight(999, cols) };
        check_kernel::<u8>(device, "tall", case);
    }
    for rows in [1504, 1503] {
        check_kernel::<u8>(device, "tall", Case::tight(rows, 272));
        check_kernel::<u16>(device, "tall", Case::tight(rows, 136));
        check_kernel::<u16>(device, "tall", Case::tight(rows, 300));
        check_kernel::<u32>(device, "tall", Case::tight(rows, 132));
        check_kernel::<u32>(device, "tall", Case::tight(rows, 160));
        check_kernel::<u64>(device, "tall", Case::tight(rows, 66));
        check_kernel::<u64>(device, "tall", Case::tight(rows, 100));
        check_kernel::<u128>(device, "tall", Case::tight(rows, 33));
        check_kernel::<u128>(device, "tall", Case::tight(rows, 50));
    }
}

fn few_rows(device: &Device) {
    for rows in [1, 2, 3, 5, 7, 8] {
        for (cols, dst_offset) in [(700, 1), (704, 0), (3001, 1), (5000, 3)] {
            check_rows(device, Case { dst_offset, ..Case::tight(rows, cols) });
        }
        let case = Case { src_slack: 3, src_offset: 5, dst_offset: 7, ..Case::tight(rows, 999) };
        check_rows(device, case);
    }
    // Fewer columns than a window, or than a vector has elements.
    for cols in [1, 2, 6, 17, 40] {
        check_kernel::<u8>(device, "lines", Case { src_slack: 300, ..Case::tight(5, cols) });
        check_kernel::<u16>(device, "lines", Case { src_slack: 300, ..Case::tight(3, cols) });
        check_kernel::<u32>(device, "lines", Case { src_slack: 300, ..Case::tight(3, cols) });
    }
}

/// More rows, and rows that start anywhere.
fn more_rows(device: &Device) {
    for rows in [17, 24, 31] {
        for cols in [640, 2016] {
            let aligned = Case { src_offset: 16, dst_offset: 1, ..Case::tight(rows, cols) };
            check_rows(device, aligned);
            check_rows(device, Case { src_slack: 1, ..aligned });
        }
    }
    for rows in [33, 50, 77, 100, 128, 200] {
        for cols in [1500, 1501, 1502, 1503] {
            check_kernel::<u8>(device, "lines", Case { dst_offset: 5, ..Case::tight(rows, cols) });
        }
    }
    for rows in [34, 47, 60, 80, 120] {
        check_kernel::<u16>(device, "lines", Case::tight(rows, 1501));
    }
    for rows in [35, 39] {
        check_kernel::<u64>(device, "lines", Case::tight(rows, 1501));
    }
    check_kernel::<u32>(device, "lines", Case::tight(60, 1501));
    // Too many for one round of loads, and more than one tile, but not much.
    check_kernel::<u32>(device, "wide", Case::tight(62, 1501));
    check_kernel::<u32>(device, "wide", Case::tight(65, 1501));
    check_kernel::<u64>(device, TENSORS, Case::tight(65, 1501));
}

/// Few rows, or columns, whose windows are whole lines and full rounds of loads; also where the destination starts inside a
/// sector, so that a window touches more than planned for, and where the last window is cut.
fn full_rounds(device: &Device) {
    for few in [2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 40, 48] {
        for many in [512, 1024 + 32, 4096 + 96] {
            for dst_bytes in [0_usize, 16] {
                let case = |rows, cols, bytes| Case {
                    dst_offset: dst_bytes / bytes,
                    ..Case::tight(rows, cols)
                };
                check_kernel::<u8>(device, "lines", case(few, many, 1));
                check_kernel::<u16>(device, "lines", case(few, many, 2));
                check_kernel::<u8>(device, "tall", case(many, few, 1));
                check_kernel::<u16>(device, "tall", case(many, few, 2));
                check_kernel::<u32>(device, "tall", case(many, few, 4));
                check_kernel::<u64>(device, "tall", case(many, few, 8));
                if few < 28 {
                    check_kernel::<u32>(device, "lines", case(few, many, 4));
                }
                if few < 44 {
                    check_kernel::<u64>(device, "lines", case(few, many, 8));
                }
                if few < 20 {
                    check_kernel::<u128>(device, TENSORS, case(few, many, 16));
                    check_kernel::<u128>(device, "tall", case(many, few, 16));
                }
            }
        }
    }
}

/// Checks all widths of few rows.
fn check_rows(device: &Device, case: Case) {
    check_kernel::<u8>(device, "lines", case);
    check_kernel::<u16>(device, "lines", case);
    check_kernel::<u32>(device, "lines", case);
    check_kernel::<u64>(device, "lines", case);
    if case.rows < 16 {
        check_kernel::<u128>(device, TENSORS, case);
    }
}

/// RGB pixels, three of everything, and sizes with larger prime factors.
fn odd_elements(device: &Device) {
    for case in [
        Case::tight(1, 2),
        Case::tight(97, 201),
        Case { src_slack: 1, dst_slack: 2, src_offset: 1, dst_offset: 3, ..Case::tight(150, 60) },
    ] {
        check_kernel::<[u8; 3]>(device, "triples", case);
        check_kernel::<[u8; 5]>(device, TENSORS, case);
        check_kernel::<[u16; 3]>(device, "triples", case);
        check_kernel::<[u32; 3]>(device, "tuples", case);
        check_kernel::<[u32; 5]>(device, "tuples", case);
        check_kernel::<[u64; 3]>(device, "tuples", case);
        check_kernel::<[u128; 2]>(device, TENSORS, case);
        check_kernel::<[u16; 31]>(device, TENSORS, case);
    }
}

/// Whole and cut tiles of pixels, tight and with slack, and rows that end inside a vector.
fn pixels_in_aligned_rows(device: &Device) {
    for (rows, cols) in [(128, 64), (16, 16), (400, 208), (144, 1024)] {
        check_kernel::<[u8; 3]>(device, "pixels", Case::tight(rows, cols));
        check_kernel::<[u16; 3]>(device, "pixels", Case::tight(rows, cols));
    }
    for (rows, cols) in [(1, 1), (131, 67), (259, 201), (270, 130)] {
        let case = Case { src_offset: 16, dst_offset: 32, ..aligned(rows, cols, 16) };
        check_kernel::<[u8; 3]>(device, "pixels", case);
        check_kernel::<[u16; 3]>(device, "pixels", case);
    }
}

fn large_elements(device: &Device) {
    let case = Case { src_slack: 1, dst_offset: 1, ..Case::tight(13, 17) };
    check_kernel::<[[u8; 23]; 11]>(device, TENSORS, case);
    check_kernel::<[[u32; 32]; 5]>(device, TENSORS, case);
    check_kernel::<[u128; 32]>(device, TENSORS, case);
    // More than 128 KiB, and a single row of elements, which lie together on both sides.
    check_kernel::<[[u8; 23]; 11]>(device, TENSORS, Case::tight(40, 20));
    check_kernel::<[u64; 75]>(device, TENSORS, Case::tight(1, 230));
}

/// A batch as a matrix of matrices: compares the whole destination with a loop.
fn check_batch<T: Element>(
    device: &Device,
    kernel: &str,
    (count, rows, cols): (usize, usize, usize),
    gap: usize,
    dst_offset: usize,
) {
    let each = rows * cols;
    let batch = Batch { count, src_stride: each + gap, dst_stride: each + 2 * gap };
    let src_len = (count - 1) * batch.src_stride + each;
    let dst_len = dst_offset + (count - 1) * batch.dst_stride + each + 5;
    let src: Vec<T> = (0..src_len).map(|index| T::scrambled(index, 1)).collect();
    let before: Vec<T> = (0..dst_len).map(|index| T::scrambled(index, 2)).collect();
    let mut expected = before.clone();
    for number in 0..count {
        for row in 0..rows {
            for col in 0..cols {
                expected[dst_offset + number * batch.dst_stride + col * rows + row] =
                    src[number * batch.src_stride + row * cols + col];
            }
        }
    }

    let src_buffer = DeviceMatrix::from_host(device, 1, src_len, &src).unwrap();
    let from = src_buffer.window(0, rows, cols, cols).unwrap();
    for &evict_last in evict_last(device) {
        let mut dst_buffer = DeviceMatrix::from_host(device, 1, dst_len, &before).unwrap();
        let mut to = dst_buffer.window_mut(dst_offset, cols, rows, rows).unwrap();
        let plan = Plan::batched(from, to.reborrow(), batch).unwrap().evict_last(evict_last);
        assert!(is_by(&plan, kernel), "{plan}");
        plan.run(from, to).unwrap();
        let same = dst_buffer.to_host().unwrap() == expected;
        assert!(same, "{count} × ({rows} × {cols}) of {} bytes", size_of::<T>());
    }
}

fn batches(device: &Device) {
    for shape in [
        (100, 7, 5),
        (33, 16, 16),
        (1000, 3, 3),
        (9, 20, 15),
        (300, 13, 11),
        (200, 17, 17),
        (500, 1, 9),
        (500, 9, 1),
        (2, 1, 1),
    ] {
        for dst_offset in [0, 3] {
            check_batch::<u8>(device, "batch", shape, 0, dst_offset);
            check_batch::<u16>(device, "batch", shape, 0, dst_offset);
            check_batch::<u32>(device, "batch", shape, 0, dst_offset);
        }
    }
    // What threads step by is whole matrices and whole groups of banks, of one and of two warps' vectors and more, or whole matrices alone, or neither.
    for shape in [
        (300, 8, 8),
        (90, 24, 2),
        (40, 64, 8),
        (9, 8, 512),
        (9, 128, 24),
        (9, 256, 16),
        (9, 16, 256),
        (25, 48, 20),
        (50, 9, 9),
        (60, 27, 50),
    ] {
        for dst_offset in [0, 3, 21] {
            check_batch::<u8>(device, "batch", shape, 0, dst_offset);
            if shape.1 * shape.2 <= 4096 {
                check_batch::<u16>(device, "batch", shape, 0, dst_offset);
            }
        }
    }
    check_batch::<u8>(device, "batch", (5, 64, 128), 0, 0);
    check_batch::<u8>(device, "batch", (5, 512, 16), 0, 7);
    check_batch::<u64>(device, "batch", (70, 9, 13), 0, 1);
    check_batch::<u128>(device, "batch", (70, 5, 9), 0, 1);
    check_batch::<u32>(device, "micro", (9, 128, 128), 0, 0);
    check_batch::<u32>(device, "micro", (3, 68, 132), 4, 0);
    check_batch::<u32>(device, "rows", (3, 71, 133), 1, 1);
    check_batch::<u32>(device, "tall", (5, 1000, 3), 1, 1);
    check_batch::<u32>(device, "lines", (5, 3, 1000), 1, 1);
    check_batch::<u32>(device, "wide", (3, 65, 1025), 1, 1);
    check_batch::<u8>(device, "lines", (5, 3, 1000), 1, 1);
    check_batch::<[u8; 3]>(device, "triples", (5, 70, 30), 1, 1);
    check_batch::<[u128; 32]>(device, TENSORS, (5, 7, 3), 1, 1);
}

fn random_cases(device: &Device) {
    let sizes = || (0..600usize, 0..3usize).prop_map(|(n, shift)| n >> (4 * shift));
    let case = Case::any(sizes());
    proptest!(cases(40), |(case in case, tight in any::<bool>())| {
        let case = if tight { Case::tight(case.rows, case.cols) } else { case };
        check::<u8>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<u16>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<u32>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<u64>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<[u8; 3]>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<[u16; 3]>(device, case, |src, dst| src.transpose_into(dst).unwrap());
        check::<[u32; 3]>(device, case, |src, dst| src.transpose_into(dst).unwrap());
    });
}

/// Every kernel that measuring could choose, whether `Auto` does or not.
fn candidates(device: &Device) {
    fn check_all<T: Element>(device: &Device, case: Case) {
        let mut number = 0;
        let mut more = true;
        while more {
            check::<T>(device, case, |src, mut dst| {
                let plans = Plan::candidates(src, dst.reborrow()).unwrap();
                match plans.get(number) {
                    Some(plan) => plan.run(src, dst).unwrap(),
                    None => src.transpose_into(dst).unwrap(),
                }
                more = number + 1 < plans.len();
            });
            number += 1;
        }
    }
    for case in [
        Case::tight(1, 1),
        Case::tight(5, 700),
        Case { src_offset: 1, ..Case::tight(40, 333) },
        Case { dst_offset: 2, ..Case::tight(333, 40) },
        Case::tight(96, 96),
        Case { src_slack: 1, dst_slack: 3, ..Case::tight(70, 75) },
    ] {
        check_all::<u8>(device, case);
        check_all::<u16>(device, case);
        check_all::<u32>(device, case);
        check_all::<u64>(device, case);
        check_all::<u128>(device, case);
        check_all::<[u8; 3]>(device, case);
        check_all::<[u16; 3]>(device, case);
        check_all::<[u32; 3]>(device, case);
    }
}

/// A GPU learns the fastest kernel once; the simulator, whose times mean nothing, learns none.
fn measured_plans(device: &Device) {
    for (rows, cols) in [(300, 500), (4096, 512), (2000, 3), (3, 2000)] {
        let mut cache = PlanCache::in_memory();
        let mut chosen = Vec::new();
        for _ in 0..2 {
            check::<u32>(device, Case::tight(rows, cols), |src, mut dst| {
                let plan = Plan::measure(src, dst.reborrow(), &mut cache).unwrap();
                dst.reborrow().fill(0).unwrap();
                plan.run(src, dst).unwrap();
                chosen.push(plan.to_string());
            });
            assert_eq!(cache.len(), usize::from(device.is_gpu()), "{rows} × {cols}");
        }
        println!("{}", chosen[0]);
        assert_eq!(chosen[0], chosen[1]);
    }
}

/// Batches are measured, and remembered, apart from single matrices.
fn measured_batches(device: &Device) {
    let (count, rows, cols) = (30, 12, 17);
    let host: Vec<u32> = (0..count * rows * cols).map(|index| u32::scrambled(index, 1)).collect();
    let src = DeviceMatrix::from_host(device, count * rows, cols, &host).unwrap();
    let mut dst = DeviceMatrix::zeroed(device, count * cols, rows).unwrap();
    let batch = Batch { count, src_stride: rows * cols, dst_stride: rows * cols };
    let mut cache = PlanCache::in_memory();
    for (learnt, matrices) in [(1, count), (2, 1)] {
        let first = src.window(0, rows, cols, cols).unwrap();
        let to = dst.window_mut(0, cols, rows, rows).unwrap();
        let plan = match learnt {
            1 => Plan::measure_batched(first, to, batch, &mut cache).unwrap(),
            _ => Plan::measure(first, to, &mut cache).unwrap(),
        };
        // Measuring has moved them, too.
        dst.copy_from_host(&vec![0; host.len()]).unwrap();
        plan.run(first, dst.window_mut(0, cols, rows, rows).unwrap()).unwrap();
        assert_eq!(cache.len(), learnt * usize::from(device.is_gpu()));
        let result = dst.to_host().unwrap();
        let right = |at: usize| {
            let (matrix, row, col) = (at / (rows * cols), at / cols % rows, at % cols);
            let expected = if matrix < matrices { host[at] } else { 0 };
            result[matrix * rows * cols + col * rows + row] == expected
        };
        assert!((0..host.len()).all(right), "{matrices} of {count} matrices");
    }
}

/// How many accesses meet in a bank when an `E` matrix of so many rows and columns is gathered from its stage.
fn ways<E: bytemuck::Pod>(device: &Device, rows: usize, cols: usize) -> f64 {
    let src = DeviceMatrix::<E>::zeroed(device, rows, cols).unwrap();
    let mut dst = DeviceMatrix::zeroed(device, cols, rows).unwrap();
    let work = || src.transpose_into(&mut dst);
    let launches = profile::inspect(device, Inspection::counting(), work).unwrap().unwrap();
    let loads = launches[0].report.counters.as_ref().unwrap().total.shared_load;
    loads.wavefronts as f64 / loads.requests as f64
}

/// What a lane takes of a stage of bytes is in other banks than what the lanes beside it take, whatever the rows' length, and
/// wherever the destination's rows start.
#[test]
fn bytes_of_few_columns_meet_few_banks() {
    let device = simulator().unwrap();
    for cols in 2..=64 {
        for past in [0, 1, 2, 4, 8, 16] {
            let ways = ways::<u8>(&device, 4096 - past, cols);
            let most = match (cols % 8, cols % 4, past) {
                (0, _, 0) if cols < 64 => 1.0,
                (_, _, 0) | (_, 0, _) => 2.0,
                _ => 4.5,
            };
            assert!(ways <= most, "{cols} columns, {past}: {ways} accesses to a bank");
        }
    }
}

/// So is what it takes of lines, wherever the source's rows start.
#[test]
fn few_rows_meet_few_banks() {
    let device = simulator().unwrap();
    for past in 0..16 {
        let mean = |ways: &dyn Fn(usize) -> f64| (2..=64).map(ways).sum::<f64>() / 63.0;
        let bytes = mean(&|rows| ways::<u8>(&device, rows, 1024 - past));
        let half_words = mean(&|rows| ways::<u16>(&device, rows, 1024 - past));
        assert!(
            bytes.max(half_words) < 2.75,
            "{past}: {bytes} and {half_words} accesses to a bank"
        );
    }
}
