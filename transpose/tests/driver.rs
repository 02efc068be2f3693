//! What the library asks of the driver, shown on a driver that keeps the books and fails where it is told to. No GPU is needed;
//! each test is a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use support::recording::{
    FOREIGN, answer_events, contexts, fail, fail_each_call, live, refuse, set_attribute,
    set_current, take_calls, take_events, take_log, with_recording,
};
use transpose::host::{HostInPlace, HostOptions, HostView, HostViewMut, Workspace};
use transpose::{
    Device, DeviceMatrix, DeviceTensor, Error, Graph, PinnedBuffer, Plan, Strategy, TensorLayout,
};

/// `CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED`.
const MEMORY_POOLS: u32 = 115;

const OUT_OF_MEMORY: u32 = 2;

/// A matrix whose rows are too far apart for the driver's two-dimensional copies: each row is a copy of its own.
fn far_rows(device: &Device) -> Result<DeviceMatrix<u8>, Error> {
    DeviceMatrix::from_host_with_ld(device, 3, 2, 1 << 31, &[1, 2, 3, 4, 5, 6])
}

/// Every operation that matrices and devices have, all that asks the driver for something else than the others.
fn everything() -> Result<(), Error> {
    let device = Device::cuda(0)?;
    let mut matrix = DeviceMatrix::from_host_with_ld(&device, 30, 20, 24, &[7u32; 600])?;
    far_rows(&device)?.to_host()?;
    matrix.copy_from_host(&[8; 600])?;
    let mut transposed = DeviceMatrix::zeroed(&device, 20, 30)?;
    for strategy in [Strategy::Auto, Strategy::Padded] {
        matrix.transpose_into_with(&mut transposed, strategy)?;
    }
    transposed.to_host()?;
    transposed.transpose_in_place()?;
    let mut large = DeviceMatrix::<f32>::zeroed(&device, 3000, 2000)?;
    large.transpose_in_place()?;
    let timed = device.time(|| large.transposed().map(drop))?;
    assert_eq!(timed.map(|time| time.as_micros()), Some(1500));
    device.synchronize()
}

/// Every operation that has to do with more than one stream, and copies that are not waited for.
fn streams() -> Result<(), Error> {
    let device = &Device::cuda(0)?;
    let stream = device.new_stream()?;
    let mut matrix = DeviceMatrix::<u32>::zeroed(device, 30, 20)?;
    let mut transposed = DeviceMatrix::zeroed(&stream, 20, 30)?;
    matrix.transpose_into(&mut transposed)?;
    transposed.move_to_stream(device)?;
    let event = stream.record()?;
    device.wait(&event)?;
    assert!(event.is_done()?);
    assert_eq!(device.record()?.elapsed_since(&event)?.map(|time| time.as_micros()), Some(1500));
    let mut buffer = PinnedBuffer::from_slice(device, &[7; 600])?;
    matrix.upload_from(&buffer)?;
    transposed.download_into(&mut buffer)?;
    assert_eq!(buffer.read()?.len(), 600);
    // A drop of what is done asks the device nothing.
    buffer.write()?;
    let src = DeviceTensor::<u32>::zeroed(device, &[30, 20])?;
    let mut dst = DeviceTensor::<u32>::zeroed(device, &[20, 30])?;
    let graph = Graph::capture(device, [(src.view().t(), dst.view_mut())])?;
    graph.replay([(src.view().t(), dst.view_mut())])
}

const SIDE: usize = 64;

/// A square of the host, and options by which it is moved in several tiles.
fn square(threads: usize) -> Result<(TensorLayout, HostOptions), Error> {
    let options = HostOptions::default().threads(threads).streams(2).tile_bytes(1 << 13);
    Ok((TensorLayout::contiguous(&[SIDE, SIDE], 4)?, options))
}

/// Every way in which arrays are moved that the device reaches.
fn pinned_arrays() -> Result<(), Error> {
    let (device, (square, options)) = (&Device::cuda(0)?, square(1)?);
    let mut workspace = Workspace::new(device, options);
    let src = PinnedBuffer::<u32>::zeroed(device, SIDE * SIDE)?;
    let mut dst = PinnedBuffer::<u32>::zeroed(device, SIDE * SIDE)?;
    let to = HostViewMut::pinned(&mut dst, &square)?;
    workspace.transpose_into(HostView::pinned(&src, &square)?, to)?;
    for algorithm in [HostInPlace::Frontier, HostInPlace::ThreeStage] {
        let matrix = HostViewMut::pinned(&mut dst, &square)?;
        workspace.transpose_in_place(matrix, algorithm)?;
    }
    Ok(())
}

/// Every way through the ring, by so many threads.
fn pageable_arrays(threads: usize) -> Result<(), Error> {
    let (device, (square, options)) = (&Device::cuda(0)?, square(threads)?);
    let mut workspace = Workspace::new(device, options);
    let (pageable, mut result) = (vec![1u32; SIDE * SIDE], vec![0; SIDE * SIDE]);
    let to = HostViewMut::new(&mut result, &square)?;
    workspace.transpose_into(HostView::new(&pageable, &square)?, to)?;
    for algorithm in [HostInPlace::Pairs, HostInPlace::Panels] {
        let matrix = HostViewMut::new(&mut result, &square)?;
        workspace.transpose_in_place(matrix, algorithm)?;
    }
    Ok(())
}

/// Arrays whose pages are locked for a call.
fn locked_arrays() -> Result<(), Error> {
    let (device, (square, options)) = (&Device::cuda(0)?, square(1)?);
    let mut workspace = Workspace::new(device, options.register(true));
    let (pageable, mut result) = (vec![1u32; SIDE * SIDE], vec![0; SIDE * SIDE]);
    let to = HostViewMut::new(&mut result, &square)?;
    workspace.transpose_into(HostView::new(&pageable, &square)?, to)?;
    let matrix = HostViewMut::new(&mut result, &square)?;
    workspace.transpose_in_place(matrix, HostInPlace::Frontier)
}

fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Cuda { code, name: None, text: None, .. } => Some(*code),
        Error::Interrupted { source } => code_of(source),
        Error::NoDriver { reason, .. } => {
            reason.strip_prefix("cuInit answered ")?.split(':').next()?.parse().ok()
        }
        _ => None,
    }
}

#[test]
fn every_call_that_fails_is_an_error_with_its_code() {
    with_recording("every_call_that_fails_is_an_error_with_its_code", || {
        fail_each_call(everything, code_of, |_| false);
    });
}

#[test]
fn every_call_that_fails_between_streams_is_an_error() {
    with_recording("every_call_that_fails_between_streams_is_an_error", || {
        // A stream that is dropped waits for its work, and has nobody to tell what came of it.
        let silent = |function: &str| function == "cuStreamSynchronize";
        fail_each_call(streams, code_of, silent);
    });
}

/// Nothing leaks, and no work is left that uses memory of the host, whichever call fails.
#[test]
fn every_call_that_fails_between_host_arrays_is_an_error() {
    with_recording("every_call_that_fails_between_host_arrays_is_an_error", || {
        fail_each_call(pinned_arrays, code_of, told_nobody);
        fail_each_call(|| pageable_arrays(1), code_of, told_nobody);
        fail_each_call(locked_arrays, code_of, told_nobody);
    });
}

/// The same where threads fill and empty the ring while a call of one of them fails: all of them end.
#[test]
fn every_call_that_fails_beside_other_threads_is_an_error() {
    with_recording("every_call_that_fails_beside_other_threads_is_an_error", || {
        fail_each_call(|| pageable_arrays(3), code_of, told_nobody);
    });
}

/// Memory that the driver does not lock goes through the ring.
#[test]
fn memory_that_cannot_be_locked_is_moved_all_the_same() {
    with_recording("memory_that_cannot_be_locked_is_moved_all_the_same", || {
        for already_locked in [1, 712] {
            refuse("cuMemHostRegister_v2", already_locked);
            locked_arrays().unwrap();
            let log = take_log();
            let count = |name: &str| log.iter().filter(|line| line.starts_with(name)).count();
            assert_eq!((count("cuMemHostRegister"), count("cuMemHostUnregister")), (3, 0));
        }
    });
}

/// Where all work has been waited for, it is waited for once more, in case that there was an error before; pages are unlocked then.
fn told_nobody(function: &str) -> bool {
    ["cuStreamSynchronize", "cuMemHostUnregister"].contains(&function)
}

/// Only machine code that does not fit is replaced by PTX, for good; after any other failure it is loaded again.
#[test]
fn machine_code_that_does_not_fit_is_replaced() {
    with_recording("machine_code_that_does_not_fit_is_replaced", || {
        let transpose = |device: &Device| {
            DeviceMatrix::<f32>::zeroed(device, 640, 640)?.transposed()?;
            let calls = take_calls();
            Ok::<_, Error>(calls.iter().filter(|call| *call == "cuModuleLoadData").count())
        };
        let device = Device::cuda(0).unwrap();
        take_log();
        DeviceMatrix::<f32>::zeroed(&device, 640, 640).unwrap().transposed().unwrap();
        let mut log = take_log();
        log.retain(|line| !line.starts_with("attribute "));
        let load = log.iter().position(|line| line.starts_with("cuModuleLoadData")).unwrap();
        let failing = |code| {
            let device = Device::cuda(0).unwrap();
            take_log();
            fail(load, code);
            let result = transpose(&device);
            take_log();
            (result, transpose(&device).unwrap())
        };
        for unfit in [200, 209, 218, 222, 300] {
            assert_eq!(failing(unfit), (Ok(2), 0), "{unfit}");
        }
        for other in [OUT_OF_MEMORY, 999_999] {
            let (refused, again) = failing(other);
            assert!(matches!(refused, Err(Error::Cuda { code, .. }) if code == other));
            assert_eq!(again, 1, "{other}");
        }
    });
}

#[test]
fn the_same_without_memory_pools() {
    with_recording("the_same_without_memory_pools", || {
        set_attribute(MEMORY_POOLS, 0);
        // A free that waits in vain has nobody to tell.
        let silent = |function: &str| function == "cuStreamSynchronize";
        fail_each_call(everything, code_of, silent);
    });
}

#[test]
fn the_callers_context_stays() {
    with_recording("the_callers_context_stays", || {
        everything().unwrap();
        assert_eq!(contexts(), (0, 0));
        set_current(FOREIGN);
        everything().unwrap();
        assert_eq!(contexts(), (1, FOREIGN));
        let refuse = || Err(Error::ElementSize { bytes: 0 });
        let refused = Device::cuda(0).unwrap().time(refuse);
        assert!(matches!(refused, Err(Error::ElementSize { .. })));
        assert_eq!(contexts(), (1, FOREIGN));
    });
}

#[test]
fn a_launch_asks_the_driver_for_nothing_else() {
    with_recording("a_launch_asks_the_driver_for_nothing_else", || {
        let device = Device::cuda(0).unwrap();
        let src = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let mut dst = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let plan = Plan::new(&src, &mut dst, Strategy::Auto).unwrap();
        plan.run(&src, &mut dst).unwrap();
        take_log();
        plan.run(&src, &mut dst).unwrap();
        let launch = ["cuCtxGetCurrent 0", "cuCtxPushCurrent_v2 0", "cuLaunchKernelEx c0"];
        assert_eq!(take_log(), [&launch[..], &["attribute 6", "cuCtxPopCurrent_v2 c0"]].concat());
        set_current(device.cuda_context().unwrap() as usize);
        plan.run(&src, &mut dst).unwrap();
        assert_eq!(take_log(), ["cuCtxGetCurrent c0", "cuLaunchKernelEx c0", "attribute 6"]);
    });
}

#[test]
fn an_upload_that_fails_midway_has_ended_when_it_returns() {
    with_recording("an_upload_that_fails_midway_has_ended_when_it_returns", || {
        const COPY: &str = "cuMemcpyHtoDAsync_v2";
        let device = Device::cuda(0).unwrap();
        let mut matrix = far_rows(&device).unwrap();
        take_log();
        matrix.copy_from_host(&[0; 6]).unwrap();
        let calls = take_log();
        let mut copies = calls.iter().enumerate().filter(|(_, call)| call.starts_with(COPY));
        let (second, _) = copies.nth(1).unwrap();
        fail(second, 999_999);
        let error = matrix.copy_from_host(&[0; 6]).unwrap_err();
        assert!(matches!(error, Error::Cuda { code: 999_999, operation: COPY, .. }), "{error}");
        assert_eq!(take_calls(), [COPY, COPY, "cuStreamSynchronize"]);
    });
}

#[test]
fn freeing_does_not_wait() {
    with_recording("freeing_does_not_wait", || {
        let device = Device::cuda(0).unwrap();
        take_calls();
        let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        assert_eq!(take_calls(), ["cuMemAllocFromPoolAsync", "cuMemsetD8Async"]);
        drop(matrix);
        assert_eq!(take_calls(), ["cuMemFreeAsync"]);
    });
}

#[test]
fn without_memory_pools_freeing_waits() {
    with_recording("without_memory_pools_freeing_waits", || {
        set_attribute(MEMORY_POOLS, 0);
        let device = Device::cuda(0).unwrap();
        take_calls();
        let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        assert_eq!(take_calls(), ["cuMemAlloc_v2", "cuMemsetD8Async"]);
        drop(matrix);
        assert_eq!(take_calls(), ["cuStreamSynchronize", "cuMemFree_v2"]);
    });
}

#[test]
fn freed_memory_is_had_again_before_there_is_none() {
    with_recording("freed_memory_is_had_again_before_there_is_none", || {
        const ALLOCATE: &str = "cuMemAllocFromPoolAsync";
        let device = Device::cuda(0).unwrap();
        let zeroed = |device| DeviceMatrix::<f32>::zeroed(device, 64, 64);
        set_current(device.cuda_context().unwrap() as usize);
        take_calls();
        fail(1, OUT_OF_MEMORY);
        drop(zeroed(&device).unwrap());
        let again = ["cuStreamSynchronize", "cuMemPoolTrimTo", ALLOCATE, "cuMemsetD8Async"];
        assert_eq!(take_calls(), [&[ALLOCATE][..], &again, &["cuMemFreeAsync"]].concat());
        refuse(ALLOCATE, OUT_OF_MEMORY);
        let error = zeroed(&device).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { bytes: 16384, .. }), "{error}");
    });
}

#[test]
fn without_memory_pools_there_may_be_no_memory() {
    with_recording("without_memory_pools_there_may_be_no_memory", || {
        set_attribute(MEMORY_POOLS, 0);
        let device = Device::cuda(0).unwrap();
        refuse("cuMemAlloc_v2", OUT_OF_MEMORY);
        let error = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { bytes: 16384, .. }), "{error}");
    });
}

/// The last handle goes on a thread that never had the context: everything is given back, in it.
#[test]
fn the_last_handle_may_go_anywhere() {
    with_recording("the_last_handle_may_go_anywhere", || {
        let device = Device::cuda(0).unwrap();
        let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let transposed = matrix.transposed().unwrap();
        drop((device, matrix));
        assert!(live().contains(&"module".to_owned()));
        take_log();
        std::thread::spawn(move || drop(transposed)).join().unwrap();
        let log = take_log();
        let calls = log.iter().filter(|call| !call.starts_with("cuCtx")).map(String::as_str);
        let expected = [
            "cuMemFreeAsync c0",
            "cuStreamSynchronize c0",
            "cuStreamDestroy_v2 c0",
            "cuModuleUnload c0",
            "cuMemPoolDestroy c0",
            "cuDevicePrimaryCtxRelease_v2 0",
        ];
        assert_eq!(calls.collect::<Vec<_>>(), expected);
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn each_handle_has_a_stream_of_its_own() {
    with_recording("each_handle_has_a_stream_of_its_own", || {
        let (a, b) = (Device::cuda(0).unwrap(), Device::cuda(0).unwrap());
        assert_eq!(a.cuda_context(), b.cuda_context());
        assert_ne!(a.cuda_stream(), b.cuda_stream());
        assert_eq!(a.cuda_stream(), a.clone().cuda_stream());
    });
}

/// The handles of streams, as the recording driver writes them down.
fn stream_of(device: &Device) -> u64 {
    device.cuda_stream().unwrap() as u64
}

/// The marks that were put and waited for: `(put on, waited for on)`, each event between two streams once.
fn orders() -> Vec<(u64, u64)> {
    let events = take_events();
    let orders = events.chunks(2).map(|pair| match pair {
        [(put, event, from), (wait, same, to)] if put == "record" && wait == "wait" => {
            assert_eq!(event, same);
            (*from, *to)
        }
        other => panic!("{other:?}"),
    });
    orders.collect()
}

/// A move between two streams comes after what either has queued, and before what either queues later.
#[test]
fn a_move_between_streams_is_in_order_with_both() {
    with_recording("a_move_between_streams_is_in_order_with_both", || {
        let device = Device::cuda(0).unwrap();
        let stream = device.new_stream().unwrap();
        let (a, b) = (stream_of(&device), stream_of(&stream));
        assert_ne!(a, b);
        assert_eq!(device.cuda_context(), stream.cuda_context());
        let src = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let mut dst = DeviceMatrix::<f32>::zeroed(&stream, 64, 64).unwrap();
        assert_eq!(orders(), []);
        let both_ways = [(a, b), (b, a)];
        src.transpose_into(&mut dst).unwrap();
        assert_eq!(orders(), both_ways);
        src.copy_into(&mut dst).unwrap();
        assert_eq!(orders(), both_ways);
        let (src, mut dst) = (DeviceTensor::from(src), DeviceTensor::from(dst));
        src.view().t().copy_into(&mut dst).unwrap();
        assert_eq!(orders(), both_ways);
        // Also if it fails.
        refuse("cuLaunchKernelEx", 999_999);
        assert!(src.view().t().copy_into(&mut dst).is_err());
        assert_eq!(orders(), both_ways);
    });
}

/// If what comes later cannot be made to wait for a move, the move is waited for.
#[test]
fn what_cannot_be_ordered_is_waited_for() {
    with_recording("what_cannot_be_ordered_is_waited_for", || {
        let device = Device::cuda(0).unwrap();
        let stream = device.new_stream().unwrap();
        let src = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let mut dst = DeviceMatrix::<f32>::zeroed(&stream, 64, 64).unwrap();
        src.transpose_into(&mut dst).unwrap();
        set_current(device.cuda_context().unwrap() as usize);
        take_log();
        src.transpose_into(&mut dst).unwrap();
        let log = take_log();
        let second = log.iter().rposition(|call| call.starts_with("cuEventCreate")).unwrap();
        // The log has a line for the launch's attribute, which is no call.
        fail(second - 1, 999_999);
        src.transpose_into(&mut dst).unwrap_err();
        let calls = take_calls();
        let end = ["cuEventCreate", "cuStreamSynchronize"];
        assert!(calls.ends_with(&end.map(str::to_owned)), "{calls:?}");
    });
}

/// Memory that was handed over is freed on the stream that has it, and only that stream waits.
#[test]
fn memory_is_handed_over_one_way() {
    with_recording("memory_is_handed_over_one_way", || {
        let device = Device::cuda(0).unwrap();
        let stream = device.new_stream().unwrap();
        let mut matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        matrix.move_to_stream(&stream).unwrap();
        assert_eq!(orders(), [(stream_of(&device), stream_of(&stream))]);
        assert_eq!(matrix.device().cuda_stream(), stream.cuda_stream());
        matrix.move_to_stream(&stream).unwrap();
        matrix.transposed().unwrap();
        assert_eq!(orders(), []);
        let elsewhere = Device::cuda(0).unwrap();
        let refused = matrix.move_to_stream(&elsewhere).unwrap_err();
        assert!(matches!(refused, Error::DeviceMismatch { .. }));
        // The device's first handle may go before.
        drop(device);
        take_calls();
        drop((matrix, stream));
        assert_eq!(take_calls()[..2], ["cuMemFreeAsync", "cuStreamSynchronize"]);
        drop(elsewhere);
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn copies_of_pinned_memory_do_not_wait() {
    with_recording("copies_of_pinned_memory_do_not_wait", || {
        let device = Device::cuda(0).unwrap();
        let mut matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let mut buffer = PinnedBuffer::zeroed(&device, 64 * 64).unwrap();
        take_calls();
        let queued = |copy| ["cuEventCreate", copy, "cuEventRecord"];
        matrix.upload_from(&buffer).unwrap();
        assert_eq!(take_calls(), queued("cuMemcpyHtoDAsync_v2"));
        // In one stream copies are in order: nothing is waited for.
        matrix.download_into(&mut buffer).unwrap();
        let mut calls = take_calls();
        assert_eq!(calls.pop().as_deref(), Some("cuEventDestroy_v2"));
        assert_eq!(calls, queued("cuMemcpyDtoHAsync_v2"));
        buffer.read().unwrap();
        assert_eq!(take_calls(), ["cuEventSynchronize"]);
        let window = matrix.window(0, 64, 32, 64).unwrap();
        let mut half = PinnedBuffer::zeroed(&device, 64 * 32).unwrap();
        take_calls();
        window.download_into(&mut half).unwrap();
        assert_eq!(take_calls(), queued("cuMemcpy2DAsync_v2"));
    });
}

/// Two streams that copy from one buffer do not wait for each other; one that copies into it waits for all.
#[test]
fn copies_of_one_buffer_on_several_streams_are_in_order() {
    with_recording("copies_of_one_buffer_on_several_streams_are_in_order", || {
        let device = Device::cuda(0).unwrap();
        let streams = [(); 3].map(|()| device.new_stream().unwrap());
        let zeroed = |stream| DeviceMatrix::<u8>::zeroed(stream, 8, 8).unwrap();
        let [mut first, mut second, third] = streams.each_ref().map(zeroed);
        let mut buffer = PinnedBuffer::<u8>::zeroed(&device, 64).unwrap();
        first.upload_from(&buffer).unwrap();
        second.upload_from(&buffer).unwrap();
        let [a, b, c] = streams.each_ref().map(stream_of);
        let events = take_events();
        let [(_, read_by_first, on_a), (_, read_by_second, on_b)] = &events[..] else {
            panic!("{events:?}")
        };
        assert_eq!((*on_a, *on_b), (a, b));
        third.download_into(&mut buffer).unwrap();
        let waits = |event: u64, stream| ("wait".to_owned(), event, stream);
        let events = take_events();
        assert_eq!(events[..2], [waits(*read_by_first, c), waits(*read_by_second, c)]);
        let written = events[2].1;
        assert_eq!(events[2..], [("record".to_owned(), written, c)]);
        first.upload_from(&buffer).unwrap();
        assert_eq!(take_events()[0], waits(written, a));
    });
}

/// The memory of a buffer that is dropped early stays until its copies are done; that of one that is leaked stays.
#[test]
fn pinned_memory_outlives_its_copies() {
    with_recording("pinned_memory_outlives_its_copies", || {
        let pinned = || live().iter().filter(|kind| *kind == "host memory").count();
        let device = Device::cuda(0).unwrap();
        let mut matrix = DeviceMatrix::<u8>::zeroed(&device, 8, 8).unwrap();
        let mut uploaded = |device: &Device| {
            let buffer = PinnedBuffer::from_slice(device, &[1; 64]).unwrap();
            matrix.upload_from(&buffer).unwrap();
            buffer
        };
        answer_events(600);
        let buffer = uploaded(&device);
        take_calls();
        assert!(!buffer.is_ready().unwrap());
        drop(buffer);
        assert_eq!(take_calls(), ["cuEventQuery", "cuEventQuery"]);
        assert_eq!(pinned(), 1);
        // A device that cannot tell may not have come to it.
        answer_events(700);
        drop(uploaded(&device));
        assert_eq!(pinned(), 2);
        answer_events(0);
        let buffer = uploaded(&device);
        assert_eq!(pinned(), 1);
        std::mem::forget(buffer);
        answer_events(600);
        drop(uploaded(&device));
        assert_eq!(pinned(), 2);
    });
}

/// With the device goes what its buffers left behind.
#[test]
fn the_last_buffer_may_go_anywhere() {
    with_recording("the_last_buffer_may_go_anywhere", || {
        answer_events(600);
        let device = Device::cuda(0).unwrap();
        let mut matrix = DeviceMatrix::<u8>::zeroed(&device, 8, 8).unwrap();
        let buffer = PinnedBuffer::<u8>::zeroed(&device, 64).unwrap();
        matrix.upload_from(&buffer).unwrap();
        drop((device, matrix));
        take_calls();
        std::thread::spawn(move || drop(buffer)).join().unwrap();
        let calls = take_calls();
        let at = |name| calls.iter().position(|call| call == name).unwrap();
        assert!(at("cuStreamSynchronize") < at("cuMemFreeHost"));
        assert!(at("cuMemFreeHost") < at("cuDevicePrimaryCtxRelease_v2"));
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn a_graph_is_captured_once_and_launched_as_one() {
    with_recording("a_graph_is_captured_once_and_launched_as_one", || {
        let device = Device::cuda(0).unwrap();
        let zeroed = || DeviceTensor::<u32>::zeroed(&device, &[64, 64]).unwrap();
        let (src, mut first, mut second) = (zeroed(), zeroed(), zeroed());
        let load = Graph::capture(&device, [(src.view().t(), first.view_mut())]).unwrap();
        drop(load);
        take_log();
        let graph = {
            let moves = [(src.view().t(), first.view_mut()), (src.view(), second.view_mut())];
            Graph::capture(&device, moves).unwrap()
        };
        // In order, not early: nothing is asked for by an attribute.
        let captured = [
            "cuStreamCreate",
            "cuStreamBeginCapture_v2",
            "cuLaunchKernel",
            "cuMemcpyDtoDAsync_v2",
            "cuStreamEndCapture",
            "cuGraphInstantiateWithFlags",
            "cuGraphDestroy",
            "cuStreamDestroy_v2",
        ];
        assert_eq!(take_calls(), captured);
        let replay = |src: &DeviceTensor<u32>, first: &mut DeviceTensor<u32>, second: &mut _| {
            let second: &mut DeviceTensor<u32> = second;
            graph.replay([(src.view().t(), first.view_mut()), (src.view(), second.view_mut())])
        };
        replay(&src, &mut first, &mut second).unwrap();
        assert_eq!(take_calls(), ["cuGraphLaunch"]);
        // Memory that is elsewhere is not what the graph would move.
        let mut other = zeroed();
        let refused = replay(&src, &mut first, &mut other);
        assert!(
            matches!(&refused, Err(Error::GraphMismatch { of: 1, captured, given }) if captured != given),
            "{refused:?}"
        );
        let refused = replay(&second, &mut first, &mut other);
        assert!(
            matches!(&refused, Err(Error::GraphMismatch { of: 0, captured, given }) if captured != given),
            "{refused:?}"
        );
    });
}

/// A graph goes before the kernels that are in it, also if it is the last to have the device.
#[test]
fn the_last_graph_may_go_anywhere() {
    with_recording("the_last_graph_may_go_anywhere", || {
        let device = Device::cuda(0).unwrap();
        let src = DeviceTensor::<u32>::zeroed(&device, &[64, 64]).unwrap();
        let mut dst = DeviceTensor::<u32>::zeroed(&device, &[64, 64]).unwrap();
        let graph = Graph::capture(&device, [(src.view().t(), dst.view_mut())]).unwrap();
        drop((device, src, dst));
        take_calls();
        std::thread::spawn(move || drop(graph)).join().unwrap();
        let calls = take_calls();
        let at = |name| calls.iter().position(|call| call == name).unwrap();
        assert!(at("cuGraphExecDestroy") < at("cuModuleUnload"), "{calls:?}");
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn a_device_on_what_others_have_made() {
    with_recording("a_device_on_what_others_have_made", || {
        let theirs = Device::cuda(0).unwrap();
        let context = theirs.cuda_context().unwrap();
        let before = live();
        for stream in [theirs.cuda_stream().unwrap(), without_provenance_mut(1)] {
            // SAFETY: both live longer, and nothing is queued by others.
            let device = unsafe { Device::from_raw_parts(context, stream) }.unwrap();
            assert_eq!((device.cuda_ordinal(), device.cuda_stream()), (Some(0), Some(stream)));
            let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
            let transposed = matrix.transposed().unwrap();
            let beside = device.new_stream().unwrap();
            drop((device, matrix));
            drop(transposed);
            drop(beside);
            assert_eq!(live(), before);
        }
        // SAFETY: there is no such context, and nothing is done with the device.
        let refused = unsafe { Device::from_raw_parts(std::ptr::null_mut(), context) };
        assert!(matches!(refused, Err(Error::Cuda { code: 201, .. })), "{refused:?}");
        // SAFETY: the default stream lives, and nothing is queued by others.
        let beside = unsafe { theirs.on_raw_stream(without_provenance_mut(1)) }.unwrap();
        let mut matrix = DeviceMatrix::<f32>::zeroed(&theirs, 64, 64).unwrap();
        matrix.move_to_stream(&beside).unwrap();
    });
}

/// `CU_STREAM_PER_THREAD` names another stream in each thread, so that nothing is left in one when a call returns.
#[test]
fn the_default_stream_of_each_thread() {
    with_recording("the_default_stream_of_each_thread", || {
        let theirs = Device::cuda(0).unwrap();
        let per_thread: *mut c_void = without_provenance_mut(2);
        // SAFETY: it lives, and nothing is queued by others.
        let device = unsafe { theirs.on_raw_stream(per_thread) }.unwrap();
        take_calls();
        let matrix = DeviceMatrix::<f32>::zeroed(&device, 64, 64).unwrap();
        let waited = ["cuMemAllocFromPoolAsync", "cuStreamSynchronize"];
        assert_eq!(take_calls(), [waited, ["cuMemsetD8Async", "cuStreamSynchronize"]].concat());
        let matrix = std::thread::spawn(move || matrix.to_host().map(|_| matrix)).join().unwrap();
        assert_eq!(take_calls().last().map(String::as_str), Some("cuStreamSynchronize"));
        drop(matrix.unwrap());
        assert_eq!(take_calls(), ["cuMemFreeAsync", "cuStreamSynchronize"]);
    });
}

#[test]
fn a_failure_has_the_drivers_words() {
    with_recording("a_failure_has_the_drivers_words", || {
        let device = Device::cuda(0).unwrap();
        refuse("cuStreamSynchronize", 700);
        let error = device.synchronize().unwrap_err();
        let name = "CUDA_ERROR_ILLEGAL_ADDRESS";
        assert!(matches!(error, Error::Cuda { name: Some(said), .. } if said == name));
        let text = "(an illegal memory access was encountered)";
        assert_eq!(error.to_string(), format!("cuStreamSynchronize answered 700: {name} {text}"));
    });
}

#[test]
fn a_driver_may_see_no_gpu() {
    with_recording("a_driver_may_see_no_gpu", || {
        refuse("cuInit", 100);
        let error = Device::cuda(3).unwrap_err();
        assert!(matches!(error, Error::NoDevice { ordinal: 3, count: 0 }), "{error}");
        assert_eq!((Device::cuda_count(), Device::all().unwrap().len()), (Ok(0), 0));
    });
}

#[test]
fn gpus_are_listed_with_their_memory() {
    with_recording("gpus_are_listed_with_their_memory", || {
        assert_eq!(Device::cuda_count(), Ok(1));
        assert!(live().is_empty(), "counting opens nothing");
        let devices = Device::all().unwrap();
        let [device] = &devices[..] else { panic!("{devices:?}") };
        assert_eq!((device.name(), device.cuda_ordinal()), ("Recording GPU", Some(0)));
        let memory = device.memory().unwrap();
        assert_eq!((memory.free, memory.total), (79 << 30, 80 << 30));
    });
}

#[test]
fn there_may_be_no_driver() {
    support::without_driver("there_may_be_no_driver", || {
        let error = Device::cuda(0).unwrap_err();
        let said = "no NVIDIA driver: no CUDA driver library could be opened";
        assert_eq!(error.to_string(), said);
        assert!(error.attempts()[0].contains(support::NO_SUCH_FILE), "{error:?}");
        assert!(format!("{error:#}").starts_with(&format!("{said}\n  ")), "{error:#}");
        assert_eq!(Device::all().unwrap_err(), error);
    });
}
