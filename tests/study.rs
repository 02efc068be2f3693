//! Every kernel of the catalogue × element width × shape × block shape, on the simulator and on a
//! GPU, each against the oracle for what it does.

use proptest::prelude::{Strategy as _, proptest};
use study::{Block, DALMASSO_BLOCKS, Kernel, Outcome, Source};
use transpose::{Device, DeviceMatrix, Error};
use transpose_tests::{Element, cases, is_ours, on_both_devices};

on_both_devices! {
    shapes,
    blocks,
    layouts,
    empty,
    random_cases,
    sources_without_an_outcome,
    destinations_that_do_not_fit,
    counting,
}

/// Shapes around the edges of tiles and blocks, whole tiles, and records.
const SHAPES: [(usize, usize); 12] = [
    (1, 1),
    (7, 300),
    (300, 7),
    (31, 33),
    (65, 66),
    (130, 67),
    (32, 32),
    (64, 160),
    (2, 2),
    (2, 129),
    (129, 2),
    (1000, 2),
];

/// A run of one kernel: a source and a destination, each somewhere in a larger buffer.
#[derive(Clone, Copy, Debug)]
struct Case {
    kernel: Kernel,
    block: Block,
    rows: usize,
    cols: usize,
    src_slack: usize,
    dst_slack: usize,
    offset: usize,
}

impl Case {
    fn tight(kernel: Kernel, block: Block, rows: usize, cols: usize) -> Self {
        Case { kernel, block, rows, cols, src_slack: 0, dst_slack: 0, offset: 0 }
    }
}

/// Elements behind the end of each window.
const TAIL: usize = 7;

/// Elements that the kernel computes with are finite numbers; others are any bits.
fn elements<T: Element>(kernel: Kernel, len: usize) -> Vec<T> {
    let index = 0..len;
    match kernel.outcome() {
        Outcome::StructFields | Outcome::ArrayFields | Outcome::StructX | Outcome::ArrayX => {
            index.map(|index| bytemuck::cast::<[u8; 4], _>(as_f32(index))).map(widen).collect()
        }
        _ => index.map(|index| T::scrambled(index, 1)).collect(),
    }
}

fn as_f32(index: usize) -> [u8; 4] {
    (index as f32 * 0.37 - 99.0).to_ne_bytes()
}

/// The element of those four bytes; only called for widths of four.
fn widen<T: Element>(bytes: u32) -> T {
    bytemuck::pod_read_unaligned(bytemuck::bytes_of(&bytes))
}

/// Runs the case, unless the kernel takes no such source, and compares *everything* in the
/// destination's buffer with the oracle.
fn check<T: Element>(device: &Device, case: Case) {
    let Case { kernel, block, rows, cols, src_slack, dst_slack, offset } = case;
    if kernel.check_source(size_of::<T>(), rows, cols).is_err() || !is_ours() {
        return;
    }
    let (dst_rows, dst_cols) = kernel.outcome().dst_shape(rows, cols);
    let src_ld = cols + src_slack;
    let dst_ld = kernel.dst_ld(size_of::<T>(), rows, cols) + dst_slack;
    let src: Vec<T> = elements(kernel, offset + rows * src_ld + TAIL);
    let dst_len = offset + dst_rows * dst_ld + TAIL;
    let canaries: Vec<T> = (0..dst_len).map(|index| T::scrambled(index, 2)).collect();

    let src_buffer = DeviceMatrix::from_host(device, 1, src.len(), &src).unwrap();
    let mut dst_buffer = DeviceMatrix::from_host(device, 1, dst_len, &canaries).unwrap();
    study::run(
        kernel,
        block,
        src_buffer.window(offset, rows, cols, src_ld).unwrap(),
        dst_buffer.window_mut(offset, dst_rows, dst_cols, dst_ld).unwrap(),
    )
    .unwrap();

    let tight: Vec<T> =
        (0..rows).flat_map(|row| &src[offset + row * src_ld..][..cols]).copied().collect();
    let result = kernel.expected(&tight, rows, cols).unwrap();
    let mut expected = canaries;
    for (row, elements) in result.chunks_exact(dst_cols.max(1)).enumerate() {
        expected[offset + row * dst_ld..][..dst_cols].copy_from_slice(elements);
    }
    let actual = dst_buffer.to_host().unwrap();
    if let Some(index) = (0..dst_len).find(|&index| actual[index] != expected[index]) {
        panic!(
            "{case:?} of {} bytes: the destination's buffer holds {:?} at {index}, not {:?}",
            size_of::<T>(),
            actual[index],
            expected[index]
        );
    }
    assert!(src_buffer.to_host().unwrap() == src, "{case:?}: the source has changed");
}

fn check_widths(device: &Device, case: Case) {
    check::<u8>(device, case);
    check::<u16>(device, case);
    check::<u32>(device, case);
    check::<u64>(device, case);
    check::<u128>(device, case);
}

fn shapes(device: &Device) {
    for &kernel in Kernel::ALL {
        for (rows, cols) in SHAPES {
            check_widths(device, Case::tight(kernel, kernel.default_block(), rows, cols));
        }
    }
}

/// Every block of the seed and some that nobody would choose: run, or refused with a reason.
fn blocks(device: &Device) {
    let odd = [(1, 1), (3, 5), (1, 1024), (1024, 1), (8, 128), (7, 146), (33, 31), (33, 32)];
    let odd = odd.map(|(x, y)| Block { x, y });
    for &kernel in Kernel::ALL {
        for block in DALMASSO_BLOCKS.into_iter().chain(odd) {
            if let Err(refusal) = kernel.check_block(block) {
                assert!(matches!(refusal, study::Error::IllegalBlock { .. }), "{refusal}");
                let start = format!("{kernel} does not run in blocks of {block} threads: ");
                assert!(refusal.to_string().starts_with(&start), "{refusal}");
                continue;
            }
            for (rows, cols) in [(67, 90), (90, 2), (2, 90)] {
                check_widths(device, Case::tight(kernel, block, rows, cols));
            }
        }
    }
}

/// The blocks that the issue of the seeds is about are legal wherever a seed runs them.
#[test]
fn the_seeds_blocks_are_legal() {
    for &kernel in Kernel::ALL {
        let legal =
            DALMASSO_BLOCKS.iter().filter(|block| kernel.check_block(**block).is_ok()).count();
        match kernel.source() {
            Source::Dalmasso => assert_eq!(legal, DALMASSO_BLOCKS.len(), "{kernel}"),
            _ => assert!(legal >= 1, "{kernel}"),
        }
    }
}

fn layouts(device: &Device) {
    for &kernel in Kernel::ALL {
        for (src_slack, dst_slack, offset) in [(1, 0, 0), (0, 1, 1), (3, 5, 2), (32, 32, 32)] {
            for (rows, cols) in [(37, 66), (64, 32), (70, 2), (2, 70)] {
                let block = kernel.default_block();
                let case = Case { kernel, block, rows, cols, src_slack, dst_slack, offset };
                check_widths(device, case);
            }
        }
    }
}

/// Somebody counts or takes the time: the simulator the one, a GPU the other. Work is done either way.
fn counting(device: &Device) {
    let src = DeviceMatrix::from_host(device, 2, 3, &[1u8, 2, 3, 4, 5, 6]).unwrap();
    let mut dst = DeviceMatrix::zeroed(device, 3, 2).unwrap();
    let counted = profile::count(device, || src.transpose_into(&mut dst)).unwrap();
    assert_eq!(counted.is_none(), device.is_gpu());
    assert_eq!(dst.to_host().unwrap(), [1, 4, 2, 5, 3, 6]);
    let timed = device.time(|| src.transpose_into(&mut dst)).unwrap();
    assert_eq!(timed.is_some(), device.is_gpu());
    // A failure passes through, and nothing is counted after it.
    let failed =
        profile::count(device, || src.transpose_into(&mut DeviceMatrix::zeroed(device, 3, 3)?));
    assert!(matches!(failed, Err(Error::ShapeMismatch { .. })));
}

fn empty(device: &Device) {
    for &kernel in Kernel::ALL {
        for (rows, cols) in [(0, 0), (0, 64), (64, 0), (0, 2), (2, 0)] {
            check_widths(device, Case::tight(kernel, kernel.default_block(), rows, cols));
        }
    }
}

fn random_cases(device: &Device) {
    let kernel = proptest::sample::select(Kernel::ALL);
    let case =
        (kernel, 1..40u32, 1..26u32, 1..100usize, 1..100usize, 0..9usize, 0..9usize, 0..9usize)
            .prop_map(|(kernel, x, y, rows, cols, src_slack, dst_slack, offset)| {
                let block = Block { x, y };
                let legal = kernel.check_block(block).is_ok();
                let block = if legal { block } else { kernel.default_block() };
                Case { kernel, block, rows, cols, src_slack, dst_slack, offset }
            });
    proptest!(cases(100), |(case in case)| check_widths(device, case));
}

fn sources_without_an_outcome(device: &Device) {
    let refusal = |kernel: Kernel, rows, cols| {
        let src = DeviceMatrix::<u32>::zeroed(device, rows, cols).unwrap();
        let mut dst = DeviceMatrix::<u32>::zeroed(device, cols, rows).unwrap();
        study::run(kernel, kernel.default_block(), &src, &mut dst).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(Kernel::FineGrained, 32, 33),
        "fine_grained takes no 32 × 33 elements of 4 bytes: \
         it moves whole tiles of 32 × 32, and these have part tiles"
    );
    assert_eq!(
        refusal(Kernel::InnerStruct, 2, 9),
        "inner_struct takes no 2 × 9 elements of 4 bytes: it takes an array of structures x, y: n × 2"
    );
    let src = DeviceMatrix::<u64>::zeroed(device, 2, 9).unwrap();
    let mut dst = DeviceMatrix::<u64>::zeroed(device, 2, 9).unwrap();
    let kernel = Kernel::InnerArray;
    let refused = study::run(kernel, kernel.default_block(), &src, &mut dst);
    assert!(matches!(refused, Err(study::Error::Source { element_bytes: 8, .. })));
}

fn destinations_that_do_not_fit(device: &Device) {
    let src = DeviceMatrix::<u32>::zeroed(device, 64, 32).unwrap();
    let refusal = |kernel: Kernel, dst: &mut DeviceMatrix<u32>| {
        study::run(kernel, kernel.default_block(), &src, dst).unwrap_err()
    };
    let mut same = DeviceMatrix::zeroed(device, 64, 32).unwrap();
    let mut transposed = DeviceMatrix::zeroed(device, 32, 64).unwrap();
    assert!(matches!(
        refusal(Kernel::NaiveRow, &mut same),
        study::Error::Transpose(Error::ShapeMismatch { .. })
    ));
    assert!(matches!(
        refusal(Kernel::CopyRow, &mut transposed),
        study::Error::Transpose(Error::CopyShapeMismatch { .. })
    ));
    assert_eq!(
        refusal(Kernel::FineGrained, &mut transposed).to_string(),
        "fine_grained needs a destination of 64 × 32, this one has 32 × 64"
    );
    assert_eq!(
        refusal(Kernel::PartitionPadded, &mut transposed).to_string(),
        "partition_padded needs a destination of rows at least 128 elements apart, \
         this one has rows 64 elements apart"
    );
}
