//! Streams beside a device's own, events, pinned memory and graphs: results are those of calls that wait, whatever is
//! dropped, leaked or handed to other threads.

use proptest::prelude::*;
use std::sync::Barrier;
use transpose::{Device, DeviceMatrix, DeviceTensor, Error, Graph, PinnedBuffer};
use transpose_tests::{Element, cases, on_both_devices, takes_large};

on_both_devices! {
    moves_between_streams,
    any_program_of_several_streams,
    sources_dropped_on_another_stream,
    streams_outlive_their_device,
    memory_handed_over_and_back,
    events_pass,
    pinned_memory_there_and_back,
    buffers_dropped_and_leaked,
    buffers_of_other_lengths_and_devices,
    buffers_without_bytes,
    one_buffer_for_many_threads,
    graphs_replay,
    graphs_refuse_other_memory,
    graphs_follow_their_memory,
    sixty_four_threads,
}

/// Not a multiple of any tile, and enough to take a GPU longer than a call.
fn shape(device: &Device) -> (usize, usize) {
    if takes_large(device) { (2003, 1501) } else { (67, 53) }
}

fn scrambled((rows, cols): (usize, usize), salt: u64) -> Vec<u32> {
    (0..rows * cols).map(|index| u32::scrambled(index, salt)).collect()
}

/// The transposed matrix, on the host.
fn transposed((rows, cols): (usize, usize), elements: &[u32]) -> Vec<u32> {
    (0..rows * cols).map(|at| elements[at % rows * cols + at / rows]).collect()
}

fn matrix(stream: &Device, shape: (usize, usize), elements: &[u32]) -> DeviceMatrix<u32> {
    DeviceMatrix::from_host(stream, shape.0, shape.1, elements).unwrap()
}

fn moves_between_streams(device: &Device) {
    let shape = shape(device);
    let host = scrambled(shape, 1);
    let expected = transposed(shape, &host);
    let stream = device.new_stream().unwrap();
    let src = matrix(device, shape, &host);
    let mut dst = DeviceMatrix::zeroed(&stream, shape.1, shape.0).unwrap();
    for _ in 0..3 {
        src.transpose_into(&mut dst).unwrap();
        assert!(dst.to_host().unwrap() == expected);
    }
    // There and back: what is read next on the device's own stream comes after.
    let mut back = DeviceMatrix::zeroed(device, shape.0, shape.1).unwrap();
    dst.transpose_into(&mut back).unwrap();
    assert!(back.to_host().unwrap() == host);
}

/// One step of a program: `kind` of what, between matrices `from` and `to`.
type Choice = (u8, usize, usize, usize);

/// Matrices on three streams that are transposed into each other, moved and replaced, without any wait: what comes of it is what
/// vectors say.
fn any_program_of_several_streams(device: &Device) {
    const SIDE: usize = 64;
    const MATRICES: usize = 5;
    let choice = (0..5u8, 0..MATRICES, 0..MATRICES, 0..3usize);
    let count = if takes_large(device) { 64 } else { 16 };
    proptest!(cases(count), |(program in proptest::collection::vec(choice, 1..40))| {
        run(device, (SIDE, SIDE), MATRICES, &program);
    });
}

fn run(device: &Device, shape: (usize, usize), matrices: usize, program: &[Choice]) {
    let mut streams = vec![device.clone()];
    streams.extend([(); 2].map(|()| device.new_stream().unwrap()));
    let mut hosts: Vec<_> = (0..matrices).map(|salt| scrambled(shape, salt as u64)).collect();
    let mut on_device: Vec<_> = hosts
        .iter()
        .enumerate()
        .map(|(at, host)| matrix(&streams[at % streams.len()], shape, host))
        .collect();
    for (step, &(kind, from, to, stream)) in program.iter().enumerate() {
        let stream = &streams[stream];
        match kind {
            0 | 1 if from != to => {
                let [src, dst] = on_device.get_disjoint_mut([from, to]).unwrap();
                src.transpose_into(dst).unwrap();
                hosts[to] = transposed(shape, &hosts[from]);
            }
            2 => {
                on_device[from].transpose_in_place().unwrap();
                hosts[from] = transposed(shape, &hosts[from]);
            }
            3 => on_device[from].move_to_stream(stream).unwrap(),
            _ => {
                // The old one is dropped while it may be in use.
                hosts[from] = scrambled(shape, 100 + step as u64);
                let buffer = PinnedBuffer::from_slice(stream, &hosts[from]).unwrap();
                on_device[from] = DeviceMatrix::zeroed(stream, shape.0, shape.1).unwrap();
                on_device[from].upload_from(&buffer).unwrap();
            }
        }
    }
    for (host, matrix) in hosts.iter().zip(&on_device) {
        assert!(matrix.to_host().unwrap() == *host);
    }
}

/// A source goes while another stream reads it, and its memory is handed out again.
fn sources_dropped_on_another_stream(device: &Device) {
    let shape = shape(device);
    let stream = device.new_stream().unwrap();
    for round in 0..10 {
        let host = scrambled(shape, round);
        let src = matrix(device, shape, &host);
        let mut dst = DeviceMatrix::zeroed(&stream, shape.1, shape.0).unwrap();
        src.transpose_into(&mut dst).unwrap();
        drop(src);
        let reused = matrix(device, shape, &scrambled(shape, 1000));
        assert!(dst.to_host().unwrap() == transposed(shape, &host));
        drop(reused);
    }
}

fn streams_outlive_their_device(device: &Device) {
    let shape = shape(device);
    let host = scrambled(shape, 2);
    let own = if device.is_gpu() { Device::cuda(0).unwrap() } else { Device::simulated() };
    let stream = own.new_stream().unwrap();
    let src = matrix(&own, shape, &host);
    drop(own);
    let mut dst = DeviceMatrix::zeroed(&stream, shape.1, shape.0).unwrap();
    drop(stream);
    src.transpose_into(&mut dst).unwrap();
    drop(src);
    assert!(dst.to_host().unwrap() == transposed(shape, &host));
}

/// Each stream does one thing, and hands over what it has: an upload, a transpose, a download, with buffers used again.
fn memory_handed_over_and_back(device: &Device) {
    let shape = shape(device);
    let [up, down] = [(); 2].map(|()| device.new_stream().unwrap());
    let mut given = PinnedBuffer::zeroed(device, shape.0 * shape.1).unwrap();
    let mut taken = [(); 2].map(|()| PinnedBuffer::zeroed(device, shape.0 * shape.1).unwrap());
    for round in 0..6u64 {
        given.write().unwrap().copy_from_slice(&scrambled(shape, round));
        let mut src = DeviceMatrix::zeroed(&up, shape.0, shape.1).unwrap();
        src.upload_from(&given).unwrap();
        src.move_to_stream(device).unwrap();
        let mut dst = src.transposed().unwrap();
        dst.move_to_stream(&down).unwrap();
        let slot = (round % 2) as usize;
        dst.download_into(&mut taken[slot]).unwrap();
        if let Some(before) = round.checked_sub(1) {
            let expected = transposed(shape, &scrambled(shape, before));
            assert!(taken[1 - slot].read().unwrap() == expected);
        }
    }
}

fn events_pass(device: &Device) {
    let shape = shape(device);
    let stream = device.new_stream().unwrap();
    let src = matrix(device, shape, &scrambled(shape, 3));
    let start = device.record().unwrap();
    let dst = src.transposed().unwrap();
    let mut stop = device.record().unwrap();
    stream.wait(&stop).unwrap();
    stop.synchronize().unwrap();
    assert!(start.is_done().unwrap() && stop.is_done().unwrap());
    let time = stop.elapsed_since(&start).unwrap();
    assert_eq!(time.is_some_and(|time| time.as_nanos() > 0), device.is_gpu());
    // Once more, on another stream; after an end by force too.
    stop.record_again(&stream).unwrap();
    drop(dst);
    assert!(stop.elapsed_since(&start).unwrap().is_some() == device.is_gpu());
    std::mem::forget(stop);
    let elsewhere = Device::simulated();
    let mut theirs = elsewhere.record().unwrap();
    assert!(matches!(theirs.record_again(device), Err(Error::DeviceMismatch { .. })));
    // Of whatever device.
    device.wait(&theirs).unwrap();
    elsewhere.wait(&start).unwrap();
}

fn pinned_memory_there_and_back(device: &Device) {
    let (rows, cols) = shape(device);
    let host = scrambled((rows, cols), 4);
    let buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    let mut with_gaps = DeviceMatrix::zeroed_with_ld(device, rows, cols, cols + 3).unwrap();
    with_gaps.upload_from(&buffer).unwrap();
    let mut back = PinnedBuffer::zeroed(device, rows * cols).unwrap();
    with_gaps.download_into(&mut back).unwrap();
    assert!(back.read().unwrap() == host);
    assert!(back.is_ready().unwrap());
    // A tensor, and one that has to be a matrix at least.
    let mut tensor = DeviceTensor::<u32>::zeroed(device, &[rows, cols, 1]).unwrap();
    tensor.upload_from(&buffer).unwrap();
    let mut half = PinnedBuffer::zeroed(device, rows * (cols / 2)).unwrap();
    let left = tensor.view().reshape(&[rows, cols]).unwrap().slice(1, ..cols / 2, 1).unwrap();
    left.download_into(&mut half).unwrap();
    let expected = host.chunks(cols).flat_map(|row| &row[..cols / 2]);
    assert!(half.read().unwrap().iter().eq(expected));
    let refused = tensor.view().t().download_into(&mut back);
    assert!(refused.is_ok() == (rows == 1 || cols == 1), "{refused:?}");
    // Rows so far apart that the driver copies them one by one.
    if device.is_gpu() {
        let mut far = DeviceMatrix::<u8>::zeroed_with_ld(device, 3, 2, 1 << 31).unwrap();
        let mut bytes = PinnedBuffer::from_slice(device, &[1u8, 2, 3, 4, 5, 6]).unwrap();
        far.upload_from(&bytes).unwrap();
        far.download_into(&mut bytes).unwrap();
        assert_eq!(bytes.read().unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}

/// Memory of a buffer that is gone is not used for the next one while a copy may still read or write it.
fn buffers_dropped_and_leaked(device: &Device) {
    let shape = shape(device);
    let len = shape.0 * shape.1;
    let mut matrices = Vec::new();
    for round in 0..8 {
        let buffer = PinnedBuffer::from_slice(device, &scrambled(shape, round)).unwrap();
        let mut matrix = DeviceMatrix::zeroed(device, shape.0, shape.1).unwrap();
        matrix.upload_from(&buffer).unwrap();
        match round % 4 {
            0 => std::mem::forget(buffer),
            1 => std::thread::spawn(move || drop(buffer)).join().unwrap(),
            _ => drop(buffer),
        }
        let mut unread = PinnedBuffer::zeroed(device, len).unwrap();
        matrix.download_into(&mut unread).unwrap();
        drop(unread);
        matrices.push(matrix);
    }
    for (round, matrix) in matrices.iter().enumerate() {
        assert!(matrix.to_host().unwrap() == scrambled(shape, round as u64));
    }
}

fn buffers_of_other_lengths_and_devices(device: &Device) {
    let mut matrix = DeviceMatrix::<u32>::zeroed(device, 3, 5).unwrap();
    let short = PinnedBuffer::<u32>::zeroed(device, 14).unwrap();
    let refused = matrix.upload_from(&short);
    assert!(matches!(refused, Err(Error::LengthMismatch { expected: 15, actual: 14, .. })));
    let mut tensor = DeviceTensor::<u32>::zeroed(device, &[3, 5]).unwrap();
    let refused = tensor.upload_from(&short);
    assert!(matches!(refused, Err(Error::TensorLength { expected: 15, actual: 14, .. })));
    let mut long = PinnedBuffer::<u32>::zeroed(device, 16).unwrap();
    let refused = tensor.view().t().download_into(&mut long);
    assert!(matches!(refused, Err(Error::TensorLength { expected: 15, actual: 16, .. })));
    let mut elsewhere = PinnedBuffer::<u32>::zeroed(&Device::simulated(), 15).unwrap();
    let refused = [matrix.upload_from(&elsewhere), matrix.download_into(&mut elsewhere)];
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::DeviceMismatch { .. }))));
    let refused = PinnedBuffer::<u64>::zeroed(device, usize::MAX / 8).map(drop);
    assert!(matches!(refused, Err(Error::HostMemory { .. })), "{refused:?}");
}

fn buffers_without_bytes(device: &Device) {
    let mut empty = PinnedBuffer::<u64>::zeroed(device, 0).unwrap();
    let mut matrix = DeviceMatrix::<u64>::zeroed(device, 0, 5).unwrap();
    matrix.upload_from(&empty).unwrap();
    matrix.download_into(&mut empty).unwrap();
    assert!(empty.read().unwrap().is_empty() && empty.is_empty());
    let mut nothing = PinnedBuffer::<()>::zeroed(device, 6).unwrap();
    let units = DeviceMatrix::<()>::zeroed(device, 2, 3).unwrap();
    units.download_into(&mut nothing).unwrap();
    assert_eq!(nothing.write().unwrap().len(), 6);
}

/// Threads upload from one buffer, each on a stream of its own, and look at it meanwhile.
fn one_buffer_for_many_threads(device: &Device) {
    let shape = shape(device);
    let host = scrambled(shape, 5);
    let buffer = PinnedBuffer::from_slice(device, &host).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let stream = device.new_stream().unwrap();
                let mut matrix = DeviceMatrix::zeroed(&stream, shape.0, shape.1).unwrap();
                matrix.upload_from(&buffer).unwrap();
                assert!(buffer.read().unwrap() == host);
                assert!(matrix.to_host().unwrap() == host);
            });
        }
    });
}

fn tensor(stream: &Device, shape: (usize, usize), elements: &[u32]) -> DeviceTensor<u32> {
    DeviceTensor::from_host(stream, &[shape.0, shape.1], elements).unwrap()
}

fn graphs_replay(device: &Device) {
    let shape = shape(device);
    let mut src = tensor(device, shape, &scrambled(shape, 6));
    let mut flat = DeviceTensor::zeroed(device, &[shape.0, shape.1]).unwrap();
    let mut turned = DeviceTensor::zeroed(device, &[shape.1, shape.0]).unwrap();
    let graph = {
        let moves = [(src.view(), flat.view_mut()), (src.view().t(), turned.view_mut())];
        Graph::capture(device, moves).unwrap()
    };
    assert_eq!(graph.moves(), 2);
    // Nothing moves before it is replayed.
    let both = [flat.to_host().unwrap(), turned.to_host().unwrap()];
    assert!(both.iter().flatten().all(|element| *element == 0));
    for round in 0..5 {
        let host = scrambled(shape, round);
        src.copy_from_host(&host).unwrap();
        graph.replay([(src.view(), flat.view_mut()), (src.view().t(), turned.view_mut())]).unwrap();
        assert!(flat.to_host().unwrap() == host);
        assert!(turned.to_host().unwrap() == transposed(shape, &host));
    }
    // It may go while it runs.
    let host = scrambled(shape, 5);
    src.copy_from_host(&host).unwrap();
    graph.replay([(src.view(), flat.view_mut()), (src.view().t(), turned.view_mut())]).unwrap();
    drop(graph);
    assert!(flat.to_host().unwrap() == host);
    assert!(turned.to_host().unwrap() == transposed(shape, &host));
    // Nothing to do is done as well.
    let none: [(transpose::TensorView<'_, u8>, transpose::TensorViewMut<'_, u8>); 0] = [];
    let nothing = Graph::capture(device, none).unwrap();
    nothing.replay::<u8>([]).unwrap();
}

fn graphs_refuse_other_memory(device: &Device) {
    let shape = (30, 20);
    let src = tensor(device, shape, &scrambled(shape, 7));
    let mut dst = DeviceTensor::<u32>::zeroed(device, &[20, 30]).unwrap();
    let graph = Graph::capture(device, [(src.view().t(), dst.view_mut())]).unwrap();
    let mut other = DeviceTensor::<u32>::zeroed(device, &[20, 30]).unwrap();
    let refusals = [
        graph.replay([(src.view().t(), other.view_mut())]),
        graph.replay([(src.view().t(), dst.view_mut().reshape(&[30, 20]).unwrap().t())]),
        graph.replay([(src.view().t(), dst.view_mut()), (src.view().t(), other.view_mut())]),
        graph.replay::<u32>([]),
        graph.replay::<u64>([]),
    ];
    for refused in refusals {
        assert!(matches!(refused, Err(Error::GraphMismatch { .. })), "{refused:?}");
    }
    let stream = device.new_stream().unwrap();
    let mut theirs = DeviceTensor::<u32>::zeroed(&stream, &[20, 30]).unwrap();
    let refused = graph.replay([(src.view().t(), theirs.view_mut())]);
    assert!(matches!(refused, Err(Error::StreamMismatch { .. })), "{refused:?}");
    let refused = Graph::capture(&stream, [(src.view().t(), dst.view_mut())]).map(drop);
    assert!(matches!(refused, Err(Error::StreamMismatch { .. })), "{refused:?}");
    let elsewhere = Device::simulated();
    let mut theirs = DeviceTensor::<u32>::zeroed(&elsewhere, &[20, 30]).unwrap();
    let refused = graph.replay([(src.view().t(), theirs.view_mut())]);
    assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
    assert!(dst.to_host().unwrap().iter().all(|element| *element == 0));
}

/// A graph replays on the stream that has the memory now.
fn graphs_follow_their_memory(device: &Device) {
    let shape = shape(device);
    let host = scrambled(shape, 8);
    let mut src = tensor(device, shape, &host);
    let mut dst = DeviceTensor::zeroed(device, &[shape.1, shape.0]).unwrap();
    let graph = Graph::capture(device, [(src.view().t(), dst.view_mut())]).unwrap();
    let stream = device.new_stream().unwrap();
    src.move_to_stream(&stream).unwrap();
    dst.move_to_stream(&stream).unwrap();
    graph.replay([(src.view().t(), dst.view_mut())]).unwrap();
    assert!(dst.to_host().unwrap() == transposed(shape, &host));
}

/// Each thread has work of its own, half of them on a stream of their own, and all read one source.
fn sixty_four_threads(device: &Device) {
    const THREADS: u64 = 64;
    let shape = if takes_large(device) { (523, 541) } else { (37, 29) };
    let shared_host = scrambled(shape, 9);
    let shared = matrix(device, shape, &shared_host);
    let start = Barrier::new(THREADS as usize);
    let work = |thread: u64| {
        let stream = match thread % 2 {
            0 => device.clone(),
            _ => device.new_stream().unwrap(),
        };
        start.wait();
        for round in 0..4 {
            let host = scrambled(shape, 1000 * round + thread);
            let mut own = matrix(&stream, shape, &host);
            own.transpose_in_place().unwrap();
            let mut of_shared = DeviceMatrix::zeroed(&stream, shape.1, shape.0).unwrap();
            shared.transpose_into(&mut of_shared).unwrap();
            let mut buffer = PinnedBuffer::zeroed(&stream, shape.0 * shape.1).unwrap();
            own.download_into(&mut buffer).unwrap();
            drop(own);
            assert!(of_shared.to_host().unwrap() == transposed(shape, &shared_host));
            assert!(buffer.read().unwrap() == transposed(shape, &host));
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || work(thread));
        }
    });
}
