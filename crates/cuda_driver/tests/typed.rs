//! The typed operations, with a driver that keeps the books. Each test is a process of its own.
#![cfg(driver_target)]

mod support;

use cuda_driver::{
    Context, DeviceAttribute, DeviceRows, Driver, DriverVersion, Error, Event, FunctionAttribute,
    Graph, HostMemoryFlags, LaunchConfig, MemoryPool, Module, OpenedMemory, RawStream, RowsShape,
    Start, Stream,
};
use support::recording::{
    FOREIGN, answer_events, contexts, fail, fail_each_call, live, lose_at_each_call, refuse,
    set_attribute, set_current, take_calls, take_log, take_mistakes, with_old_driver,
    with_recording,
};

fn context() -> Result<Context, Error> {
    Context::primary(Driver::get()?.device(0)?)
}

const CONFIG: LaunchConfig =
    LaunchConfig { grid: [2, 1, 1], block: [32, 1, 1], dynamic_shared: 0, start: Start::InOrder };

#[test]
fn the_version_is_the_drivers() {
    with_recording("the_version_is_the_drivers", || {
        let version = cuda_driver::available().unwrap();
        assert_eq!(version, DriverVersion { major: 12, minor: 9 });
        assert_eq!(version.to_string(), "12.9");
        assert_eq!(cuda_driver::driver_version(), Ok(version));
        assert_eq!(cust::CudaApiVersion::get().unwrap().major(), 12);
    });
}

#[test]
fn an_error_has_the_drivers_words() {
    with_recording("an_error_has_the_drivers_words", || {
        cuda_driver::driver_version().unwrap();
        fail(0, 34);
        let error = cuda_driver::available().unwrap_err();
        let said = "cuInit answered 34: CUDA_ERROR_STUB_LIBRARY (this is the stub library)";
        assert_eq!(error.to_string(), said);
        assert_eq!(error.code(), Some(34));
        assert!(matches!(error, Error::Call { name: Some("CUDA_ERROR_STUB_LIBRARY"), .. }));
    });
}

#[test]
fn an_error_that_the_driver_cannot_explain() {
    with_recording("an_error_that_the_driver_cannot_explain", || {
        cuda_driver::driver_version().unwrap();
        for code in [720, 912, 99_999, u32::MAX] {
            fail(0, code);
            let error = cuda_driver::available().unwrap_err();
            assert_eq!(error, Error::Call { function: "cuInit", code, name: None, text: None });
            let said = format!("cuInit answered {code}: a code that this driver does not explain");
            assert_eq!(error.to_string(), said);
        }
    });
}

/// Every operation, once.
fn everything() -> Result<(), Error> {
    let driver = Driver::get()?;
    driver.version()?;
    assert_eq!(driver.device_count()?, 1);
    let device = driver.device(0)?;
    assert_eq!(device.name()?, "Recording GPU");
    assert_eq!(device.compute_capability()?, (9, 0));
    assert_eq!(device.attribute(DeviceAttribute::MULTIPROCESSOR_COUNT)?, 132);
    assert_eq!(device.total_memory()?, 80 << 30);
    let context = context()?;
    let stream = Stream::new(&context)?;
    let pool = MemoryPool::new(&context, 1 << 20)?.expect("the driver has pools");
    everything_with(&context, &stream, &pool)
}

fn everything_with(context: &Context, stream: &Stream, pool: &MemoryPool) -> Result<(), Error> {
    assert_eq!(context.memory_info()?.free, 79 << 30);
    let mut bytes = [0u8; 64];
    let host = bytes.as_mut_ptr();
    let (rows, shape) = (
        DeviceRows { address: 0x4000, pitch: 64 },
        RowsShape { count: 2, bytes: 8, host_pitch: 8 },
    );
    // SAFETY: the driver does nothing, and every allocation is given back once.
    unsafe {
        context.free(context.allocate(16)?)?;
        context.free(context.allocate_unified(16)?)?;
        assert_eq!(context.allocation_around(0x4000)?, (0x4000, 4096));
        let locked = context.allocate_host(16, HostMemoryFlags::PORTABLE_MAPPED)?;
        let address = context.address_of_host(locked);
        context.free_host(locked)?;
        assert_eq!(address?, locked as u64);
        pool.free(pool.allocate(16, stream)?, stream)?;
        let shared = context.allocate(16)?;
        let opened = context.share(shared).and_then(|handle| OpenedMemory::open(context, &handle));
        let id = context.allocation_id(shared);
        context.free(shared)?;
        assert!(opened?.address() != shared && id? == shared);
        pool.trim(0)?;
        pool.let_access(context.device())?;
        stream.fill(0x4000, 0, 64)?;
        stream.copy(0x4000, 0x8000, 64)?;
        stream.copy_to_peer(context, 0x4000, 0x8000, 64)?;
        stream.copy_from_host(0x4000, host, 64)?;
        stream.copy_to_host(host, 0x4000, 64)?;
        stream.copy_rows_from_host(rows, host, shape)?;
        stream.copy_rows_to_host(host, rows, shape)?;
    }
    let (start, stop) = (Event::new(context)?, Event::new(context)?);
    start.record(stream)?;
    stop.record(stream)?;
    stop.synchronize()?;
    assert_eq!(stop.elapsed_since(&start)?.as_micros(), 1500);
    stream.wait(&Event::without_time(context)?)?;
    assert!(stop.is_done()?);
    // SAFETY: the driver does not read the image.
    unsafe { Module::from_image(context, &[]) }?;
    let function = Module::from_ptx(context, "text")?.function("kernel")?;
    function.attribute(FunctionAttribute::SHARED_SIZE_BYTES)?;
    function.set_attribute(FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, 1)?;
    assert_eq!(function.blocks_per_multiprocessor(32, 0)?, 2);
    for start in [Start::InOrder, Start::Early, Start::Cooperative] {
        // SAFETY: the driver launches nothing.
        unsafe { stream.launch(&function, &LaunchConfig { start, ..CONFIG }, &mut []) }?;
    }
    // SAFETY: the driver captures and launches nothing.
    unsafe {
        let graph = Graph::capture(stream, || stream.fill(0x4000, 0, 64))?;
        graph.expect("the driver has graphs").launch(stream)?;
    }
    // SAFETY: the context lives, and its default stream does.
    unsafe {
        let borrowed = Context::borrowed(Driver::get()?, context.as_raw())?;
        Stream::borrowed(&borrowed, RawStream::LEGACY).synchronize()?;
    }
    context.synchronize()?;
    assert!(!context.device().can_access(context.device())?);
    context.enable_peer(context)?;
    assert_eq!(context.stream_priorities()?, -5..=0);
    Stream::with_priority(context, -5)?.synchronize()?;
    let driver = Driver::get()?;
    // SAFETY: the stream lives.
    assert_eq!(unsafe { driver.context_of_stream(stream.as_raw()) }?, context.as_raw());
    assert_eq!(driver.context_of_memory(0x4000)?, context.as_raw());
    assert_eq!(driver.ordinal_of_memory(0x4000)?, 0);
    stream.synchronize()
}

#[test]
fn every_call_that_fails_is_an_error_with_its_code() {
    with_recording("every_call_that_fails_is_an_error_with_its_code", || {
        fail_each_call(everything, Error::code, |_| false);
    });
}

/// From one call on nothing works any more, and all is given back nevertheless, once.
#[test]
fn the_device_is_lost_at_any_call() {
    with_recording("the_device_is_lost_at_any_call", || {
        const LAUNCH_FAILED: u32 = 719;
        let work = || everything().inspect_err(|error| assert!(error.is_sticky(), "{error}"));
        lose_at_each_call(LAUNCH_FAILED, work, Error::code, &[]);
        // Plain memory has no owner here: what could not be given back is the caller's.
        let kept = take_mistakes();
        assert!(kept.iter().all(|kind| kind.ends_with("memory")), "{kept:?}");
    });
}

#[test]
fn contexts_are_entered_once_and_left() {
    with_recording("contexts_are_entered_once_and_left", || {
        let context = context().unwrap();
        let stream = Stream::new(&context).unwrap();
        assert_eq!(contexts(), (0, 0));
        set_current(FOREIGN);
        take_log();
        stream.synchronize().unwrap();
        let alone = ["cuCtxGetCurrent f0", "cuCtxPushCurrent_v2 f0", "cuStreamSynchronize c0"];
        assert_eq!(take_log(), [&alone[..], &["cuCtxPopCurrent_v2 c0"]].concat());
        let current = context.enter().unwrap();
        take_log();
        stream.synchronize().unwrap();
        assert_eq!(take_log(), ["cuCtxGetCurrent c0", "cuStreamSynchronize c0"]);
        drop(current);
        assert_eq!(contexts(), (1, FOREIGN));
    });
}

/// Everything is given back by whichever thread comes last, in its context, and the context after all.
#[test]
fn what_is_dropped_elsewhere_is_given_back() {
    with_recording("what_is_dropped_elsewhere_is_given_back", || {
        let context = context().unwrap();
        let function = Module::from_ptx(&context, "text").unwrap().function("kernel").unwrap();
        let pool = MemoryPool::new(&context, 0).unwrap();
        let things = (Stream::new(&context).unwrap(), Event::new(&context).unwrap(), pool);
        drop(context);
        assert_eq!(live().len(), 5);
        take_calls();
        std::thread::spawn(move || drop((things, function))).join().unwrap();
        let given_back =
            ["cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemPoolDestroy", "cuModuleUnload"];
        let calls = take_calls();
        assert_eq!(calls, [&given_back[..], &["cuDevicePrimaryCtxRelease_v2"]].concat());
        assert_eq!(live(), [""; 0]);
    });
}

/// The launches of a kernel in each of the three ways.
fn launches() -> Vec<String> {
    let context = context().unwrap();
    let stream = Stream::new(&context).unwrap();
    let function = Module::from_ptx(&context, "text").unwrap().function("kernel").unwrap();
    take_calls();
    for start in [Start::InOrder, Start::Early, Start::Cooperative] {
        // SAFETY: the driver launches nothing.
        unsafe { stream.launch(&function, &LaunchConfig { start, ..CONFIG }, &mut []) }.unwrap();
    }
    take_calls()
}

#[test]
fn a_launch_has_the_attribute_that_it_needs() {
    with_recording("a_launch_has_the_attribute_that_it_needs", || {
        let (early, cooperative) = ("attribute_6", "attribute_2");
        let ex = "cuLaunchKernelEx";
        assert_eq!(launches(), ["cuLaunchKernel", ex, early, ex, cooperative]);
    });
}

#[test]
fn an_old_driver_launches_by_what_it_has() {
    with_old_driver("an_old_driver_launches_by_what_it_has", || {
        let plain = "cuLaunchKernel";
        assert_eq!(launches(), [plain, plain, "cuLaunchCooperativeKernel"]);
        let context = context().unwrap();
        assert!(MemoryPool::new(&context, 0).unwrap().is_none());
        let stream = Stream::new(&context).unwrap();
        // SAFETY: nothing is captured.
        let graph = unsafe { Graph::capture(&stream, || Err(Error::call("work", 1))) };
        assert!(graph.unwrap().is_none());
    });
}

#[test]
fn what_is_borrowed_is_not_given_back() {
    with_recording("what_is_borrowed_is_not_given_back", || {
        let context = context().unwrap();
        let stream = Stream::new(&context).unwrap();
        let before = live();
        // SAFETY: both live longer.
        let borrowed = unsafe { Context::borrowed(Driver::get().unwrap(), context.as_raw()) };
        let borrowed = borrowed.unwrap();
        // SAFETY: both live longer.
        drop(unsafe { Stream::borrowed(&borrowed, stream.as_raw()) });
        drop(borrowed);
        assert_eq!(live(), before);
    });
}

#[test]
fn an_event_may_be_far_away() {
    with_recording("an_event_may_be_far_away", || {
        let event = Event::without_time(&context().unwrap()).unwrap();
        answer_events(600);
        assert_eq!(event.is_done(), Ok(false));
        answer_events(700);
        assert_eq!(event.is_done().map_err(|error| error.code()), Err(Some(700)));
    });
}

/// What was queued fails, or ends: the stream is not captured any more, and nothing is left behind.
#[test]
fn a_capture_ends_whatever_fails() {
    with_recording("a_capture_ends_whatever_fails", || {
        let stream = Stream::new(&context().unwrap()).unwrap();
        let before = live();
        take_calls();
        // SAFETY: the driver captures nothing.
        let failed = unsafe { Graph::capture(&stream, || Err(Error::call("work", 999_999))) };
        assert_eq!(failed.map(drop).unwrap_err().code(), Some(999_999));
        let calls = ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphDestroy"];
        assert_eq!(take_calls(), calls);
        assert_eq!(live(), before);
    });
}

#[test]
fn a_device_may_have_no_pools() {
    with_recording("a_device_may_have_no_pools", || {
        refuse("cuMemPoolCreate", 801);
        assert!(MemoryPool::new(&context().unwrap(), 0).unwrap().is_none());
        set_attribute(DeviceAttribute::MEMORY_POOLS_SUPPORTED.0, 0);
        refuse("", 0);
        assert!(MemoryPool::new(&context().unwrap(), 0).unwrap().is_none());
    });
}

#[test]
fn there_may_be_no_such_thing() {
    with_recording("there_may_be_no_such_thing", || {
        let code = |error: Error| error.code();
        let driver = Driver::get().unwrap();
        assert_eq!(driver.device(1).map(drop).map_err(code), Err(Some(101)));
        assert_eq!(driver.device(u32::MAX).map(drop).map_err(code), Err(Some(101)));
        let module = Module::from_ptx(&context().unwrap(), "text").unwrap();
        for name in ["no_such_kernel", "no\0kernel"] {
            assert_eq!(module.function(name).map(drop).map_err(code), Err(Some(500)));
        }
    });
}
