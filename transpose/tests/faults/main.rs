//! Faults of the driver in every operation: at each of its calls, by each kind of answer. The operation ends with that answer as its
//! error, nothing is left, nothing is given back twice, and the device goes on, or is said to be lost. No GPU is needed: the driver
//! keeps the books and fails where it is told to, each test in a process of its own.
#![cfg(target_os = "linux")]

mod host;
mod interop;
mod numbers;
mod operations;
mod public;
mod several;
#[path = "../../../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use operations::Operation;
use support::recording::{
    lose_at_each_call, recovers_from_each_failure, refuse, take_calls, take_mistakes,
    with_recording,
};
use transpose::{Device, DeviceMatrix, Error};

const OUT_OF_MEMORY: u32 = 2;
const LAUNCH_FAILED: u32 = 719;
const UNKNOWN_TO_ALL: u32 = 999_999;

/// What orders streams when something is dropped that others use, or is no longer lent: who drops it is told nothing.
const LAST_WORDS: &[&str] =
    &["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize"];

fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Cuda { code, .. } => Some(*code),
        Error::Interrupted { source } => code_of(source),
        Error::OutOfMemory { .. } | Error::HostMemory { .. } => Some(OUT_OF_MEMORY),
        Error::NoDriver { reason, .. } => {
            reason.strip_prefix("cuInit answered ")?.split(':').next()?.parse().ok()
        }
        _ => None,
    }
}

/// Every operation that asks the driver for something.
fn operations() -> impl Iterator<Item = &'static Operation> {
    let all = [
        operations::OPERATIONS,
        numbers::OPERATIONS,
        several::OPERATIONS,
        host::OPERATIONS,
        interop::OPERATIONS,
    ];
    all.into_iter().flatten()
}

/// Each operation, on two devices that live on.
fn each_operation(try_each: interop::Try<'_>) {
    let [device, other] = [0, 0].map(|ordinal| Device::cuda(ordinal).unwrap());
    for (name, operation) in operations() {
        try_each(name, &|| operation(&device, &other));
    }
}

/// The device goes on after every fault that is not its own.
fn recovers(code: u32) {
    let try_each = |name: &str, operation: &dyn Fn() -> Result<(), Error>| {
        println!("{name}");
        let right = |error: &Error| code_of(error) == Some(code) && !error.is_sticky();
        recovers_from_each_failure(code, operation, right);
    };
    each_operation(&try_each);
    if code != UNKNOWN_TO_ALL {
        interop::of_others(&try_each);
    }
}

#[test]
fn memory_runs_out_at_any_call() {
    with_recording("memory_runs_out_at_any_call", || recovers(OUT_OF_MEMORY));
}

#[test]
fn the_driver_answers_what_nobody_knows() {
    with_recording("the_driver_answers_what_nobody_knows", || recovers(UNKNOWN_TO_ALL));
}

/// From one call on nothing works any more: each operation says so, and gives back what it has, once.
#[test]
fn the_device_is_lost_at_any_call() {
    with_recording("the_device_is_lost_at_any_call", || {
        let open = || Device::cuda(0)?.synchronize();
        lose_at_each_call(LAUNCH_FAILED, open, code_of, &[]);
        // Here a device that was lost works again: it is lost at another call of another operation next.
        each_operation(&|name, operation| {
            println!("{name}");
            lose_at_each_call(LAUNCH_FAILED, operation, code_of, LAST_WORDS);
        });
        assert_eq!(take_mistakes(), [""; 0]);
    });
}

/// CUDA's own words for what cannot be undone, and for what can.
#[test]
fn a_lost_device_is_told_from_a_failure() {
    with_recording("a_lost_device_is_told_from_a_failure", || {
        let device = Device::cuda(0).unwrap();
        let answered = |code| {
            refuse("cuStreamSynchronize", code);
            device.synchronize().unwrap_err()
        };
        for lost in [214, 700, 702, 709, 710, 716, 719] {
            assert!(answered(lost).is_sticky(), "{lost}");
        }
        for not in [1, 2, 201, 400, 701, 720, 801, UNKNOWN_TO_ALL] {
            assert!(!answered(not).is_sticky(), "{not}");
        }
        let interrupted = Error::Interrupted { source: Box::new(answered(700)) };
        assert!(interrupted.is_sticky());
    });
}

/// What has failed is not asked for again: the failing call is the last but those that give back, wait or switch contexts.
#[test]
fn nothing_is_launched_after_a_failed_launch() {
    with_recording("nothing_is_launched_after_a_failed_launch", || {
        let device = Device::cuda(0).unwrap();
        let mut large = DeviceMatrix::<f32>::zeroed(&device, 3000, 2000).unwrap();
        large.transpose_in_place().unwrap();
        take_calls();
        refuse("cuLaunchKernelEx", LAUNCH_FAILED);
        assert!(large.transpose_in_place().unwrap_err().is_sticky());
        let calls = take_calls();
        let launches = calls.iter().filter(|call| call.starts_with("cuLaunch")).count();
        assert_eq!(launches, 1, "{calls:?}");
    });
}
