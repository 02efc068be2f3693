//! Calls that go through the trampolines reach the driver library as they were made. Each test is a process of its own, so
//! the first call in it is also the one that opens the library.
#![cfg(driver_target)]

mod support;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Barrier;

use cuda_driver::Error;
use cust::sys;
use support::{with_compiled, with_fake};

const NO_DEVICE: u32 = 100;

#[test]
fn six_arguments_in_registers() {
    with_fake("six_arguments_in_registers", || {
        for _first_then_later in 0..2 {
            let mut seen = [0u64; 6];
            let place: *mut [u64; 6] = &mut seen;
            // SAFETY: the fake only writes to `place`.
            let result = unsafe {
                sys::cuMemcpyPeerAsync(u64::MAX, 2 as _, 1 << 63, 4 as _, 5, place.cast())
            };
            assert_eq!(result as u32, 0);
            assert_eq!(seen, [u64::MAX, 2, 1 << 63, 4, 5, place as u64]);
        }
    });
}

#[test]
fn eleven_arguments_some_on_the_stack() {
    with_fake("eleven_arguments_some_on_the_stack", || {
        for _first_then_later in 0..2 {
            let mut seen = [0u64; 11];
            let place: *mut [u64; 11] = &mut seen;
            // SAFETY: the fake only writes to `place`.
            let result = unsafe {
                sys::cuLaunchKernel(1 as _, 2, 3, 4, 5, 6, 7, 8, 9 as _, 10 as _, place.cast())
            };
            // The fake returns 7.
            assert_eq!(result, sys::CUresult::CUDA_ERROR_PROFILER_ALREADY_STARTED);
            assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, place as u64]);
        }
    });
}

#[test]
fn a_float_in_a_vector_register() {
    with_fake("a_float_in_a_vector_register", || {
        for _first_then_later in 0..2 {
            let mut seen = (0i32, 0f32);
            let place: *mut (i32, f32) = &mut seen;
            // SAFETY: the fake only writes to `place`.
            let result = unsafe { sys::cuParamSetf(place.cast(), -3, 2.5) };
            assert_eq!(result as u32, 0);
            assert_eq!(seen, (-3, 2.5));
        }
    });
}

#[test]
fn many_threads_make_the_first_call() {
    with_fake("many_threads_make_the_first_call", || {
        let start = Barrier::new(32);
        let call = |device: i32| {
            let mut bytes = 0usize;
            start.wait();
            // SAFETY: `bytes` is a place for a size.
            let result = unsafe { sys::cuDeviceTotalMem_v2(&mut bytes, device) };
            (result as u32, bytes)
        };
        std::thread::scope(|scope| {
            let call = &call;
            let threads: Vec<_> = (0..32).map(|i| scope.spawn(move || call(i))).collect();
            for (i, thread) in threads.into_iter().enumerate() {
                assert_eq!(thread.join().unwrap(), (0, 1_000_000_007 * i));
            }
        });
    });
}

#[test]
fn a_function_that_the_driver_lacks_refuses() {
    with_fake("a_function_that_the_driver_lacks_refuses", || {
        // SAFETY: the fake driver has neither function, and a refusal reads no argument.
        unsafe {
            assert_eq!(sys::cuCtxSynchronize() as u32, NO_DEVICE);
            assert_eq!(sys::cuMemAlloc_v2(null_mut(), 1) as u32, NO_DEVICE);
        }
        // `cuInit` is there, `cuDeviceGet` is not.
        let error = cust::quick_init().err();
        assert_eq!(error, Some(cust::error::CudaError::NoDevice));
    });
}

#[test]
fn a_newer_function_is_found_by_name() {
    with_fake("a_newer_function_is_found_by_name", || {
        assert_eq!(cuda_driver::symbol("cuStillToCome"), None);
        assert_eq!(cuda_driver::symbol("cuInit\0"), cuda_driver::symbol("cuInit"));
        let address = cuda_driver::symbol("cuNewerThanCustRaw").unwrap();
        // SAFETY: this is its type in the fake driver.
        let function: extern "C" fn(*const c_void) -> usize =
            unsafe { std::mem::transmute(address) };
        assert_eq!(function(41 as _), 42);
    });
}

#[test]
fn a_library_that_is_no_driver() {
    with_compiled("a_library_that_is_no_driver", "not_a_driver", "", &[], || {
        let error = cuda_driver::available().unwrap_err();
        assert!(matches!(error, Error::NotADriver { symbol: "cuInit", .. }), "{error}");
        assert_eq!(cust::quick_init().err(), Some(cust::error::CudaError::NoDevice));
    });
}
