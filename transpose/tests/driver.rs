//! What the library asks of the driver, shown on a driver that keeps the books and fails where it is told to. No GPU is needed;
//! each test is a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use support::recording::{
    FOREIGN, contexts, fail, fail_each_call, live, refuse, set_attribute, set_current, take_calls,
    take_log, with_recording,
};
use transpose::{Device, DeviceMatrix, Error, Plan, Strategy};

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

/// Machine code that the driver refuses is replaced by PTX.
fn is_replaced(function: &str) -> bool {
    function == "cuModuleLoadData"
}

#[test]
fn every_call_that_fails_is_an_error_with_its_code() {
    with_recording("every_call_that_fails_is_an_error_with_its_code", || {
        fail_each_call(everything, code_of, is_replaced);
    });
}

#[test]
fn the_same_without_memory_pools() {
    with_recording("the_same_without_memory_pools", || {
        set_attribute(MEMORY_POOLS, 0);
        // A free that waits in vain has nobody to tell.
        let silent = |function: &str| is_replaced(function) || function == "cuStreamSynchronize";
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
            "cuModuleUnload c0",
            "cuMemPoolDestroy c0",
            "cuStreamDestroy_v2 c0",
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
    });
}

#[test]
fn there_may_be_no_driver() {
    support::without_driver("there_may_be_no_driver", || {
        let error = Device::cuda(0).unwrap_err();
        let said = "no NVIDIA driver: no CUDA driver library could be opened";
        assert_eq!(error.to_string(), said);
        let Error::NoDriver { attempts, .. } = error else { panic!("{error:?}") };
        assert!(attempts[0].contains(support::NO_SUCH_FILE), "{attempts:?}");
    });
}
