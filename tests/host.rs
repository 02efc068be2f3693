//! Arrays in host memory, moved through a device that never holds them: every way over the bus, any strides, limits of a few KiB.

use bytemuck::Pod;
use proptest::prelude::*;
use std::sync::Mutex;
use transpose::host::{
    Bus, HostInPlace, HostOptions, HostView, HostViewMut, Progress, Workspace, copy_into, cpu,
    transpose_in_place, transpose_into,
};
use transpose::{Device, Error, PinnedBuffer, TensorLayout};
use transpose_tests::{Element, cases, is_ours, is_sanitized, offsets, on_both_devices};

on_both_devices! {
    matrices_by_every_way,
    any_strides,
    limits_are_kept,
    more_streams_than_tiles,
    a_workspace_serves_many_shapes,
    a_workspace_serves_elements_of_any_alignment,
    memory_pinned_for_the_simulator,
    sliding_windows,
    more_than_a_cache_holds,
    progress_comes_to_its_end,
    a_watch_that_panics_stops_all_threads,
    memory_is_locked_for_a_call,
    cores_beside_the_device,
    empty_arrays_and_elements,
    what_cannot_be_is_refused,
    in_place_by_every_algorithm,
    in_place_beyond_the_devices_memory,
}

fn scrambled<T: Element>(len: usize, salt: u64) -> Vec<T> {
    (0..len).map(|index| T::scrambled(index, salt)).collect()
}

fn transposed<T: Pod>(rows: usize, cols: usize, elements: &[T]) -> Vec<T> {
    (0..rows * cols).map(|at| elements[at % rows * cols + at / rows]).collect()
}

fn options(
    device_memory: usize,
    ring_memory: usize,
    streams: usize,
    threads: usize,
) -> HostOptions {
    let mut options = HostOptions::default();
    options.device_memory = device_memory;
    options.ring_memory = ring_memory;
    options.streams = streams;
    options.threads = threads;
    options
}

/// Whether source and destination are pinned.
const WAYS: [[bool; 2]; 4] = [[true, true], [true, false], [false, true], [false, false]];

fn by_way<T: Element>(
    device: &Device,
    options: HostOptions,
    (rows, cols): (usize, usize),
    [src_pinned, dst_pinned]: [bool; 2],
) {
    if !is_ours() {
        return;
    }
    let host: Vec<T> = scrambled(rows * cols, 1);
    let expected = transposed(rows, cols, &host);
    let layout = TensorLayout::contiguous(&[rows, cols], size_of::<T>()).unwrap();
    let out = TensorLayout::contiguous(&[cols, rows], size_of::<T>()).unwrap();
    let mut result: Vec<T> = scrambled(rows * cols, 2);
    let src_buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    let mut dst_buffer = PinnedBuffer::from_slice(device, &result).unwrap();
    let src = match src_pinned {
        true => HostView::pinned(&src_buffer, &layout).unwrap(),
        false => HostView::new(&host, &layout).unwrap(),
    };
    let dst = match dst_pinned {
        true => HostViewMut::pinned(&mut dst_buffer, &out).unwrap(),
        false => HostViewMut::new(&mut result, &out).unwrap(),
    };
    Workspace::new(device, options).transpose_into(src, dst).unwrap();
    let result = if dst_pinned { dst_buffer.read().unwrap() } else { &result };
    let what = format!("{rows} × {cols} of {} bytes, {options:?}", size_of::<T>());
    assert!(result == expected, "{what}, pinned: {src_pinned} {dst_pinned}");
}

fn matrices_by_every_way(device: &Device) {
    for way in WAYS {
        for shape in [(1, 1), (1, 300), (300, 1), (67, 530), (512, 256)] {
            by_way::<u32>(device, HostOptions::default(), shape, way);
            by_way::<u32>(device, options(20_000, 9_000, 3, 2), shape, way);
            by_way::<[u8; 3]>(device, options(4_000, 3_000, 2, 3), shape, way);
        }
        by_way::<u8>(device, options(40_000, 40_000, 0, 0), (333, 444), way);
        by_way::<u128>(device, options(30_000, 30_000, 4, 2), (90, 44), way);
    }
}

/// Axes of a host array: lengths, which of them is which of the other side, gaps, and directions.
fn any_strides(device: &Device) {
    let axis = (1..9usize, 0..3usize, any::<bool>(), any::<bool>());
    let arrays =
        (proptest::collection::vec(axis, 1..5), any::<u64>(), any::<[bool; 2]>(), 0..4000usize);
    proptest!(cases(48), |((axes, salt, pinned, memory) in arrays, beside in 0..4usize)| {
        let options = options(600 + memory, 600 + memory, 3, 2).cpu_threads(beside);
        strides::<u16>(device, &axes, salt, pinned, options);
    });
}

fn strides<T: Element>(
    device: &Device,
    axes: &[(usize, usize, bool, bool)],
    salt: u64,
    pinned: [bool; 2],
    options: HostOptions,
) {
    let rank = axes.len();
    let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
    // Both sides: the axes in some order of memory, with gaps, some of them backwards; the source repeats some.
    let side = |turn: usize, src: bool| {
        let mut order: Vec<usize> = (0..rank).collect();
        order.rotate_left(turn % rank);
        let (mut strides, mut next, mut first) = (vec![0isize; rank], 1, 0);
        for &axis in &order {
            let (length, gap, backwards, repeated) = axes[axis];
            if src && repeated && salt.is_multiple_of(3) {
                continue;
            }
            let stride = next + if src { gap } else { gap / 2 };
            strides[axis] = if backwards == src { -(stride as isize) } else { stride as isize };
            if strides[axis] < 0 {
                first += stride * (length - 1);
            }
            next = stride * length;
        }
        (TensorLayout::strided(&shape, &strides, first + 3, size_of::<T>()).unwrap(), next + 10)
    };
    let (src, src_len) = side(salt as usize % 7, true);
    let (dst, dst_len) = side(salt as usize / 7 % 5, false);
    let host: Vec<T> = scrambled(src_len, salt);
    let mut result: Vec<T> = scrambled(dst_len, !salt);
    let mut expected = result.clone();
    for (from, to) in offsets(&src).into_iter().zip(offsets(&dst)) {
        expected[to] = host[from];
    }
    let src_buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    let mut dst_buffer = PinnedBuffer::from_slice(device, &result).unwrap();
    let mut workspace = Workspace::new(device, options);
    let from = match pinned[0] {
        true => HostView::pinned(&src_buffer, &src),
        false => HostView::new(&host, &src),
    };
    let to = match pinned[1] {
        true => HostViewMut::pinned(&mut dst_buffer, &dst),
        false => HostViewMut::new(&mut result, &dst),
    };
    workspace.copy_into(from.unwrap(), to.unwrap()).unwrap();
    let result = if pinned[1] { dst_buffer.read().unwrap() } else { &result };
    assert!(result == expected, "{src:?} to {dst:?}, {pinned:?}, {options:?}");
    let mut by_cpu: Vec<T> = scrambled(dst_len, !salt);
    let to = HostViewMut::new(&mut by_cpu, &dst).unwrap();
    cpu::copy_into(HostView::new(&host, &src).unwrap(), to, 2).unwrap();
    assert!(by_cpu == expected, "{src:?} to {dst:?} by the CPU");
}

/// A device never gives more memory than the limit. It tells that itself where nobody else takes any: on the simulator.
fn limits_are_kept(device: &Device) {
    let host: Vec<u32> = scrambled(100 * 70, 3);
    for limit in [600, 4096, 10_000] {
        let before = device.memory().unwrap().free;
        let most = Mutex::new(0);
        let watch = |_| {
            let mut most = most.lock().unwrap();
            *most = before.saturating_sub(device.memory().unwrap().free).max(*most);
        };
        let mut result = vec![0; host.len()];
        let src = HostView::matrix(&host, 100, 70).unwrap().t();
        let dst = HostViewMut::matrix(&mut result, 70, 100).unwrap();
        let mut workspace = Workspace::new(device, options(limit, 0, 0, 2));
        workspace.copy_into_watched(src, dst, &watch).unwrap();
        let (has, most) = (workspace.device_bytes(), most.into_inner().unwrap());
        assert!(0 < has && has <= limit, "{has} bytes of {limit}");
        assert!(device.is_gpu() || 0 < most && most <= limit as u64, "{most} bytes of {limit}");
        assert!(result == transposed(100, 70, &host));
    }
}

fn more_streams_than_tiles(device: &Device) {
    for way in WAYS {
        by_way::<u32>(device, options(0, 0, 40, 40), (64, 48), way);
        by_way::<u32>(device, options(0, 0, usize::MAX, 2), (64, 48), way);
        by_way::<u32>(device, options(1 << 20, 1 << 20, 17, 9), (200, 48), way);
    }
}

fn a_workspace_serves_many_shapes(device: &Device) {
    let mut workspace = Workspace::new(device, options(30_000, 30_000, 3, 2));
    for (rows, cols) in [(3, 5), (120, 90), (7, 400), (1, 2), (200, 201)] {
        let host: Vec<u64> = scrambled(rows * cols, 5);
        let mut result = vec![0; host.len()];
        let src = HostView::matrix(&host, rows, cols).unwrap();
        let dst = HostViewMut::matrix(&mut result, cols, rows).unwrap();
        workspace.transpose_into(src, dst).unwrap();
        assert!(result == transposed(rows, cols, &host));
    }
}

/// What waits for the device starts on multiples of what the elements do, whatever was moved before.
fn a_workspace_serves_elements_of_any_alignment(device: &Device) {
    #[derive(Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C, align(8192))]
    struct Pages([u8; 8192]);
    let mut workspace = Workspace::new(device, options(400_000, 400_000, 2, 2));
    let bytes: Vec<u8> = scrambled(600 * 700, 6);
    let mut turned = vec![0; bytes.len()];
    let src = HostView::matrix(&bytes, 600, 700).unwrap();
    workspace.transpose_into(src, HostViewMut::matrix(&mut turned, 700, 600).unwrap()).unwrap();
    let before = workspace.ring_bytes();
    let pages: Vec<Pages> = (0..6).map(|page| Pages([page; 8192])).collect();
    let mut result = vec![Pages([9; 8192]); 6];
    let src = HostView::matrix(&pages, 2, 3).unwrap();
    workspace.transpose_into(src, HostViewMut::matrix(&mut result, 3, 2).unwrap()).unwrap();
    assert!(turned == transposed(600, 700, &bytes) && result == transposed(2, 3, &pages));
    assert!(before > 0 && workspace.ring_bytes() <= before.max(400_000));
}

/// To a GPU that is memory like any other, which its kernels may not reach.
fn memory_pinned_for_the_simulator(device: &Device) {
    let (rows, cols) = if device.is_gpu() { (4100, 4100) } else { (41, 50) };
    let (simulated, host) = (Device::simulated(), scrambled::<u32>(rows * cols, 7));
    let src = PinnedBuffer::from_slice(&simulated, &host).unwrap();
    for bus in [Bus::Engine, Bus::Kernel, Bus::Fused] {
        let mut dst = PinnedBuffer::<u32>::zeroed(&simulated, rows * cols).unwrap();
        let layout = |shape: [usize; 2]| TensorLayout::contiguous(&shape, 4).unwrap();
        let from = HostView::pinned(&src, &layout([rows, cols])).unwrap();
        let to = HostViewMut::pinned(&mut dst, &layout([cols, rows])).unwrap();
        assert!(from.is_pinned() && to.is_pinned());
        let mut workspace = Workspace::new(device, HostOptions::default().bus(bus, bus));
        workspace.transpose_into(from, to).unwrap();
        // A GPU brings it by a ring of its own.
        assert_eq!(workspace.ring_bytes() > 0, device.is_gpu());
        assert!(dst.read().unwrap() == transposed(rows, cols, &host), "{bus:?}");
    }
}

/// Rows that have most of their elements in common with the next.
fn sliding_windows(device: &Device) {
    let (windows, samples, hop) = (150, 1024, 256);
    let host: Vec<u32> = scrambled((windows - 1) * hop + samples, 8);
    let expected: Vec<u32> =
        (0..windows).flat_map(|at| host[at * hop..at * hop + samples].iter().copied()).collect();
    let src = TensorLayout::strided(&[windows, samples], &[hop as isize, 1], 0, 4).unwrap();
    let buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    let copied = |from: HostView<u32>, options: HostOptions| {
        let mut out = vec![0; expected.len()];
        let to = HostViewMut::matrix(&mut out, windows, samples).unwrap();
        Workspace::new(device, options).copy_into(from, to).unwrap();
        assert!(out == expected, "{options:?}");
    };
    for bus in [Bus::Auto, Bus::Engine, Bus::Kernel] {
        let options = HostOptions::default().bus(bus, bus);
        copied(HostView::pinned(&buffer, &src).unwrap(), options);
        copied(HostView::new(&host, &src).unwrap(), options.register(true));
    }
}

/// Where a GPU's kernels look up pages for its copy engines: rows that start and end anywhere.
fn more_than_a_cache_holds(device: &Device) {
    if !device.is_gpu() {
        return;
    }
    for way in WAYS {
        for shape in [(3001, 2999), (40_000, 230), (65, 150_001)] {
            by_way::<u32>(device, HostOptions::default(), shape, way);
            by_way::<u32>(device, options(40 << 20, 0, 0, 0), shape, way);
        }
        by_way::<[u8; 3]>(device, HostOptions::default(), (4001, 3001), way);
    }
    in_place::<u32>(device, HostOptions::default(), HostInPlace::Pairs, (3001, 3001));
}

fn progress_comes_to_its_end(device: &Device) {
    let host: Vec<u8> = scrambled(90 * 70, 5);
    let mut result = vec![0; host.len()];
    for beside in [0, 2] {
        let seen = Mutex::new(Vec::new());
        let src = HostView::matrix(&host, 90, 70).unwrap().t();
        let dst = HostViewMut::matrix(&mut result, 70, 90).unwrap();
        let mut workspace = Workspace::new(device, options(5_000, 5_000, 3, 2).cpu_threads(beside));
        let watch = |progress| seen.lock().unwrap().push(progress);
        workspace.copy_into_watched(src, dst, &watch).unwrap();
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() > 2 && seen.is_sorted_by(|before, after| before.done < after.done));
        assert_eq!(seen.last().map(|last| (last.done, last.total)), Some((6300, 6300)));
    }
}

fn a_watch_that_panics_stops_all_threads(device: &Device) {
    let host: Vec<u8> = scrambled(90 * 70, 5);
    for (threads, beside) in [(1, 0), (2, 0), (5, 0), (1, 1), (2, 3)] {
        let mut result = vec![0; host.len()];
        let src = HostView::matrix(&host, 90, 70).unwrap().t();
        let dst = HostViewMut::matrix(&mut result, 70, 90).unwrap();
        let options = options(5_000, 5_000, 3, threads).cpu_threads(beside);
        let mut workspace = Workspace::new(device, options);
        let watch = |progress: Progress| assert!(progress.done < 2_000);
        let moved = std::panic::AssertUnwindSafe(|| {
            workspace.copy_into_watched(src, dst, &watch).map_err(drop)
        });
        assert!(std::panic::catch_unwind(moved).is_err());
    }
}

fn memory_is_locked_for_a_call(device: &Device) {
    for way in WAYS {
        for shape in [(1, 300), (67, 530), (512, 256)] {
            by_way::<u32>(device, options(20_000, 9_000, 3, 2).register(true), shape, way);
        }
    }
    for algorithm in [HostInPlace::Frontier, HostInPlace::Panels, HostInPlace::Auto] {
        in_place::<u64>(device, HostOptions::default().register(true), algorithm, (90, 41));
    }
    // Two arrays of which one starts in the page in which the other ends.
    let host: Vec<u32> = scrambled(2 * 300 * 200, 6);
    let mut results = vec![0; host.len()];
    let (left, right) = host.split_at(300 * 200);
    let (first, second) = results.split_at_mut(300 * 200);
    std::thread::scope(|scope| {
        for (src, dst) in [(left, first), (right, second)] {
            let mut workspace = Workspace::new(device, HostOptions::default().register(true));
            scope.spawn(move || {
                let src = HostView::matrix(src, 300, 200).unwrap();
                workspace.transpose_into(src, HostViewMut::matrix(dst, 200, 300).unwrap()).unwrap();
            });
        }
    });
    assert!(results[..300 * 200] == transposed(300, 200, left));
    assert!(results[300 * 200..] == transposed(300, 200, right));
}

/// Cores take from the back what the device takes from the front: whoever comes first, one of them or many, with tiles of one piece and of
/// several, and more threads than there is to do.
fn cores_beside_the_device(device: &Device) {
    for way in WAYS {
        for threads in [1, 3, usize::MAX] {
            let beside = |options: HostOptions| options.cpu_threads(threads);
            by_way::<u32>(device, beside(HostOptions::default()), (67, 530), way);
            by_way::<u32>(device, beside(options(20_000, 9_000, 3, 2)), (512, 256), way);
            by_way::<[u8; 3]>(device, beside(options(4_000, 3_000, 2, 3)), (67, 530), way);
            by_way::<u16>(device, beside(options(20_000, 9_000, 1, 1)), (1, 30_000), way);
            let locked = options(300_000, 0, 0, 0).register(true);
            by_way::<u64>(device, beside(locked), (900, 500), way);
        }
    }
    // In place they have nothing to do.
    let beside = options(9_000, 9_000, 2, 2).cpu_threads(3);
    in_place::<u32>(device, beside, HostInPlace::Pairs, (130, 130));
    in_place::<u32>(device, beside, HostInPlace::Panels, (90, 40));
}

fn empty_arrays_and_elements(device: &Device) {
    let (src, mut dst) = ([0u32; 0], [0u32; 0]);
    let view = HostView::matrix(&src, 0, 7).unwrap();
    transpose_into(device, view, HostViewMut::matrix(&mut dst, 7, 0).unwrap()).unwrap();
    let (src, mut dst) = ([(); 6], [(); 6]);
    let view = HostView::matrix(&src, 2, 3).unwrap();
    transpose_into(device, view, HostViewMut::matrix(&mut dst, 3, 2).unwrap()).unwrap();
    let scalar = TensorLayout::contiguous(&[], 4).unwrap();
    let mut dst = [0];
    let view = HostView::new(&[7], &scalar).unwrap();
    copy_into(device, view, HostViewMut::new(&mut dst, &scalar).unwrap()).unwrap();
    assert_eq!(dst, [7]);
    cpu::copy_into(
        HostView::new(&[8], &scalar).unwrap(),
        HostViewMut::new(&mut dst, &scalar).unwrap(),
        2,
    )
    .unwrap();
    assert_eq!(dst, [8]);
}

fn what_cannot_be_is_refused(device: &Device) {
    let (src, mut dst) = ([0u32; 6], [0u32; 6]);
    let matrix = || HostView::matrix(&src, 2, 3).unwrap();
    let same = HostViewMut::matrix(&mut dst, 2, 3).unwrap();
    assert!(matches!(
        transpose_into(device, matrix(), same),
        Err(Error::TensorShapeMismatch { .. })
    ));
    assert!(matches!(HostView::matrix(&src, 2, 2), Err(Error::LengthMismatch { actual: 6, .. })));
    let twice = TensorLayout::strided(&[2, 3], &[1, 1], 0, 4).unwrap();
    assert!(matches!(HostViewMut::new(&mut dst, &twice), Err(Error::TensorOverlap { .. })));
    let beyond = TensorLayout::strided(&[2, 3], &[4, 1], 0, 4).unwrap();
    assert!(matches!(HostView::new(&src, &beyond), Err(Error::TensorOutOfBounds { .. })));
    let dst = HostViewMut::matrix(&mut dst, 3, 2).unwrap();
    let refused = Workspace::new(device, options(511, 0, 0, 0)).transpose_into(matrix(), dst);
    let low = Error::HostBudget { option: "device_memory", needed: 512, limit: 511 };
    assert_eq!(refused, Err(low));
}

fn in_place<T: Element>(
    device: &Device,
    options: HostOptions,
    algorithm: HostInPlace,
    (rows, cols): (usize, usize),
) {
    if !is_ours() {
        return;
    }
    let host: Vec<T> = scrambled(rows * cols, 1);
    let expected = transposed(rows, cols, &host);
    let what = format!("{rows} × {cols} of {} bytes, {algorithm}, {options:?}", size_of::<T>());
    let mut elements = host.clone();
    let view = HostViewMut::matrix(&mut elements, rows, cols).unwrap();
    Workspace::new(device, options).transpose_in_place(view, algorithm).unwrap();
    assert!(elements == expected, "{what}, pageable");
    let mut buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    let layout = TensorLayout::contiguous(&[rows, cols], size_of::<T>()).unwrap();
    let view = HostViewMut::pinned(&mut buffer, &layout).unwrap();
    Workspace::new(device, options).transpose_in_place(view, algorithm).unwrap();
    assert!(buffer.read().unwrap() == expected, "{what}, pinned");
}

fn in_place_by_every_algorithm(device: &Device) {
    let small = |bytes| {
        let mut options = options(0, 0, 3, 2);
        options.tile_bytes = bytes;
        options
    };
    // Each workspace begins its streams, which takes a sanitizer a second for each few.
    let (tiles, streams): (&[_], &[_]) =
        if is_sanitized() { (&[0, 600], &[1, 3]) } else { (&[0, 600, 5_000], &[1, 2, 3, 8, 100]) };
    for &tile in tiles {
        for side in [1, 2, 63, 130] {
            in_place::<u32>(device, small(tile), HostInPlace::Pairs, (side, side));
        }
        in_place::<[u8; 3]>(device, small(tile), HostInPlace::Pairs, (47, 47));
        for shape in [(1, 9), (9, 1), (40, 90), (90, 40), (97, 89), (64, 64), (3, 500), (500, 3)] {
            for algorithm in [HostInPlace::Frontier, HostInPlace::Panels, HostInPlace::Auto] {
                in_place::<u16>(device, small(tile), algorithm, shape);
                in_place::<u64>(device, small(tile), algorithm, shape);
            }
        }
    }
    for &streams in streams {
        for shape in [(1, 9), (40, 90), (90, 40), (64, 64), (128, 192)] {
            in_place::<u32>(device, options(0, 0, streams, 0), HostInPlace::ThreeStage, shape);
            in_place::<u64>(device, options(0, 0, streams, 0), HostInPlace::ThreeStage, shape);
        }
    }
    let mut matrix = [1u8, 2, 3, 4, 5, 6];
    transpose_in_place(device, &mut matrix, 2, 3).unwrap();
    assert_eq!(matrix, [1, 4, 2, 5, 3, 6]);
    let view = HostViewMut::matrix(&mut matrix, 2, 3).unwrap();
    let refused =
        Workspace::new(device, HostOptions::default()).transpose_in_place(view, HostInPlace::Pairs);
    assert!(matches!(refused, Err(Error::NotServed { .. })), "{refused:?}");
}

fn in_place_beyond_the_devices_memory(device: &Device) {
    for limit in [2_000, 8_000] {
        for shape in [(90, 41), (41, 90), (101, 101), (600, 10)] {
            in_place::<u32>(device, options(limit, 0, 2, 2), HostInPlace::Auto, shape);
        }
    }
    // Less than pairs of tiles take, or the ring that these go through, and enough for others.
    in_place::<u32>(device, options(100, 0, 0, 0), HostInPlace::Auto, (2, 2));
    in_place::<u32>(device, options(0, 900, 0, 0), HostInPlace::Auto, (200, 200));
}

/// All words, shapes with whole squares of cache lines and with edges, and enough bytes to go past the caches.
#[test]
fn matrices_by_the_cpu() {
    fn one<T: Element>(rows: usize, cols: usize, skew: usize) {
        let host: Vec<T> = scrambled(rows * cols, 1);
        let mut result: Vec<T> = scrambled(rows * cols + skew, 2);
        let out = TensorLayout::strided(&[cols, rows], &[rows as isize, 1], skew, size_of::<T>());
        let dst = HostViewMut::new(&mut result, &out.unwrap()).unwrap();
        cpu::transpose_into(HostView::matrix(&host, rows, cols).unwrap(), dst, 3).unwrap();
        let what = format!("{rows} × {cols} of {} bytes", size_of::<T>());
        assert!(result[skew..] == transposed(rows, cols, &host), "{what}");
        assert!(result[..skew] == scrambled::<T>(skew, 2), "{what}");
    }
    for (rows, cols) in [(1, 1), (64, 64), (65, 190), (3, 500), (700, 5), (512, 256)] {
        for skew in [0, 1] {
            one::<u8>(rows, cols, skew);
            one::<u16>(rows, cols, skew);
            one::<u32>(rows, cols, skew);
            one::<u64>(rows, cols, skew);
            one::<u128>(rows, cols, skew);
            one::<[u8; 3]>(rows, cols, skew);
        }
    }
    one::<u64>(2048, 2056, 0);
    one::<u64>(2049, 2051, 3);
}
