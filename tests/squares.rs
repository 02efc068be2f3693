//! Squares, and batches of them, in their own memory: every element width, with gaps and without, starting anywhere.
//!
//! No block hands anything to another here, so the simulator checks for races between blocks too: an access to a byte of another
//! block's tile would be one.

use proptest::prelude::proptest;
use transpose::{Device, DeviceMatrix, Error};
use transpose_tests::{Element, cases, is_ours, on_both_devices};

on_both_devices! { single_squares, batches, small_chips, random_batches, batches_in_boxes, refusals }

/// `count` squares from `offset` elements into a buffer on, every `stride` elements.
#[derive(Clone, Copy, Debug)]
struct Squares {
    side: usize,
    ld: usize,
    count: usize,
    stride: usize,
    offset: usize,
}

/// Transposes squares in a buffer with some elements behind the last, or none, and compares all of it.
fn check_squares<T: Element>(device: &Device, squares: Squares) {
    if !is_ours() {
        return;
    }
    let Squares { side, ld, count, stride, offset } = squares;
    let behind = if count.is_multiple_of(2) { 40 } else { 0 };
    let capacity = offset + (count - 1) * stride + (side - 1) * ld + side + behind;
    let host: Vec<T> = (0..capacity).map(|index| T::scrambled(index, 8)).collect();
    let mut buffer = DeviceMatrix::from_host(device, 1, capacity, &host).unwrap();
    let mut first = buffer.window_mut(offset, side, side, ld).unwrap();
    first.transpose_squares_in_place(count, stride).unwrap();
    let mut expected = host.clone();
    for start in (0..count).map(|number| offset + number * stride) {
        for row in 0..side {
            for col in 0..side {
                expected[start + col * ld + row] = host[start + row * ld + col];
            }
        }
    }
    let actual = buffer.to_host().unwrap();
    let wrong = (0..capacity).find(|&index| actual[index] != expected[index]);
    assert!(wrong.is_none(), "{squares:?} of {} bytes: {wrong:?}", size_of::<T>());
}

/// [`check_squares`] for elements of every width, and of several words.
fn check_all_squares(device: &Device, squares: Squares) {
    check_squares::<u8>(device, squares);
    check_squares::<u16>(device, squares);
    check_squares::<u32>(device, squares);
    check_squares::<u64>(device, squares);
    check_squares::<u128>(device, squares);
    check_squares::<[u8; 3]>(device, squares);
    check_squares::<[u8; 7]>(device, squares);
    check_squares::<[u16; 3]>(device, squares);
    check_squares::<[u32; 3]>(device, squares);
}

/// Squares by themselves: of one tile and of several, that start on vectors, on units, and anywhere.
fn single_squares(device: &Device) {
    for side in [1, 2, 15, 31, 64, 96, 97, 129, 200] {
        for (slack, offset) in [(0, 0), (16, 16), (4, 8), (1, 3)] {
            let ld = side + slack;
            check_all_squares(device, Squares { side, ld, count: 1, stride: 0, offset });
        }
    }
}

fn batches(device: &Device) {
    for (side, count) in
        [(1, 5), (2, 1000), (3, 333), (8, 200), (32, 9), (33, 5), (100, 3), (197, 2)]
    {
        let dense = Squares { side, ld: side, count, stride: side * side, offset: 0 };
        check_all_squares(device, dense);
        // That starts anywhere.
        check_all_squares(device, Squares { offset: 5, ..dense });
        // With gaps between rows, between squares, and side by side.
        check_all_squares(device, Squares { ld: side + 3, stride: side * (side + 3), ..dense });
        check_all_squares(device, Squares { stride: side * side + 7, ..dense });
        check_all_squares(device, Squares { ld: side * count, stride: side, ..dense });
    }
    // A matrix that is all squares.
    let host = (0..60 * 20).collect::<Vec<u32>>();
    let mut matrix = DeviceMatrix::from_host(device, 60, 20, &host).unwrap();
    matrix.transpose_squares_in_place().unwrap();
    assert_eq!(matrix.shape(), (60, 20));
    for (index, &element) in matrix.to_host().unwrap().iter().enumerate() {
        let (row, col) = (index / 20, index % 20);
        assert_eq!(element as usize, (row / 20 * 20 + col) * 20 + row % 20);
    }
    DeviceMatrix::<u8>::zeroed(device, 0, 3).unwrap().transpose_squares_in_place().unwrap();
    DeviceMatrix::<u8>::zeroed(device, 3, 0).unwrap().transpose_squares_in_place().unwrap();
    DeviceMatrix::<()>::zeroed(device, 6, 3).unwrap().transpose_squares_in_place().unwrap();
}

fn refusals(device: &Device) {
    let host: Vec<u32> = (0..40).collect();
    let mut matrix = DeviceMatrix::from_host(device, 8, 5, &host).unwrap();
    assert!(matches!(matrix.transpose_squares_in_place(), Err(Error::NotServed { .. })));
    let mut on_squares = |(rows, cols, ld), count, stride| {
        matrix.window_mut(0, rows, cols, ld).unwrap().transpose_squares_in_place(count, stride)
    };
    assert!(matches!(on_squares((2, 3, 5), 1, 0), Err(Error::NotServed { .. })));
    assert!(matches!(
        on_squares((3, 3, 5), 3, 15),
        Err(Error::BatchOutOfBounds { count: 3, stride: 15, extent: 13, available: 40 })
    ));
    assert!(matches!(on_squares((3, 3, 5), 2, usize::MAX), Err(Error::BatchOutOfBounds { .. })));
    assert!(matches!(
        on_squares((3, 3, 5), 2, 12),
        Err(Error::BatchOverlap { stride: 12, extent: 13 })
    ));
    assert!(matches!(on_squares((2, 2, 5), 2, 1), Err(Error::BatchOverlap { .. })));
    // They have no element in common, and yet do not lie side by side.
    assert!(matches!(on_squares((2, 2, 6), 4, 4), Err(Error::BatchOverlap { .. })));
    // The third would begin in the next rows.
    assert!(matches!(on_squares((2, 2, 5), 3, 2), Err(Error::BatchOverlap { .. })));
    on_squares((3, 3, 5), 0, 1).unwrap();
    on_squares((3, 3, 5), 1, usize::MAX).unwrap();
    on_squares((3, 3, 5), 1, 0).unwrap();
    assert!(matrix.to_host().unwrap() == host);
}

/// Squares that boxes hold whole, behind each other and side by side: as many as end on a vector, and others, of whose vectors some belong to two boxes; half of them with gaps.
fn batches_in_boxes(device: &Device) {
    // Its words lie further apart in a box than those of other boxes do.
    let large = Squares { side: 197, ld: 200, count: 3, stride: 39408, offset: 0 };
    check_squares::<u8>(device, large);
    // Each starts in the gap behind the last row of the one before.
    let meshed = Squares { side: 100, ld: 116, count: 5, stride: 11584, offset: 0 };
    check_squares::<u8>(device, meshed);
    let meshed = Squares { side: 16, ld: 17, count: 4, stride: 271, offset: 0 };
    check_squares::<u128>(device, meshed);
    let case = (2..48usize, 2..40usize, 0..3usize, 0..6usize, 0..6usize, 0..3usize);
    proptest!(cases(30), |((side, count, at, slack, between, beside) in case)| {
        // On a sector for all elements, on a vector, and anywhere.
        let offset = [0, 16, 1][at];
        let (slack, between) = if slack < 3 { (0, 0) } else { (slack - 3, between) };
        let squares = if beside > 0 {
            let ld = side + slack;
            let stride = (side - 1) * ld + side + between;
            Squares { side, ld, count, stride, offset }
        } else {
            let stride = side + between;
            Squares { side, ld: count * stride + slack, count, stride, offset }
        };
        check_all_squares(device, squares);
        check_squares::<[u8; 5]>(device, squares);
        check_squares::<[u8; 33]>(device, squares);
    });
}

/// Where a block has no more shared memory than every GPU gives it, tiles are smaller.
fn small_chips(device: &Device) {
    let mut facts = device.facts().clone();
    (facts.block_shared, facts.multiprocessor_shared) = (48 << 10, 64 << 10);
    let device = device.with_facts(facts).unwrap();
    for (ld, offset) in [(128, 0), (131, 0), (131, 1)] {
        check_all_squares(&device, Squares { side: 128, ld, count: 1, stride: 0, offset });
    }
    check_squares::<u16>(
        &device,
        Squares { side: 128, ld: 128, count: 4, stride: 16431, offset: 0 },
    );
}

fn random_batches(device: &Device) {
    let case = (1..90usize, 0..9usize, 1..7usize, 0..9usize, 0..20usize);
    proptest!(cases(30), |((side, slack, count, between, offset) in case)| {
        let ld = side + slack;
        let squares = Squares { side, ld, count, stride: side * ld + between, offset };
        check_all_squares(device, squares);
    });
}
