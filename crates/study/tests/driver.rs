//! What host memory and the kernels of the texts ask of the driver, shown on a driver that keeps the books and fails where it is
//! told to. No GPU is needed; each test is a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../cuda_driver/tests/support/mod.rs"]
mod support;

use study::{Block, Error, HostMatrix, Kernel, MemoryKind};
use support::recording::{fail_each_call, live, refuse, set_attribute, take_calls, with_recording};
use transpose::{Device, DeviceMatrix};

/// `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`.
const CONCURRENT_ACCESS: u32 = 89;

const OUT_OF_MEMORY: u32 = 2;

/// Every operation that asks the driver for something else than the others.
fn everything() -> Result<(), Error> {
    let device = Device::cuda(0)?;
    for kind in MemoryKind::ALL {
        let mut matrix = HostMatrix::zeroed(&device, kind, 30, 20)?;
        assert!(matrix.read()?.iter().all(|&element: &u32| element == 0));
        matrix.write()?.fill(7);
        assert_eq!(matrix.read()?[599], 7);
        if kind != MemoryKind::Pinned {
            let mut dst = DeviceMatrix::zeroed(&device, 20, 30)?;
            study::run(Kernel::NaiveRow, Block { x: 16, y: 16 }, matrix.view()?, &mut dst)?;
            dst.transpose_into(matrix.view_mut()?)?;
        }
    }
    Ok(())
}

fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Transpose(transpose::Error::Cuda { code, .. }) => Some(*code),
        Error::Transpose(transpose::Error::NoDriver { reason, .. }) => {
            reason.strip_prefix("cuInit answered ")?.split(':').next()?.parse().ok()
        }
        _ => None,
    }
}

#[test]
fn every_call_that_fails_is_an_error_with_its_code() {
    with_recording("every_call_that_fails_is_an_error_with_its_code", || {
        // A drop that waits in vain has nobody to tell.
        fail_each_call(everything, code_of, |function| function == "cuStreamSynchronize");
    });
}

#[test]
fn dropping_waits_for_the_work() {
    with_recording("dropping_waits_for_the_work", || {
        let device = Device::cuda(0).unwrap();
        for kind in MemoryKind::ALL {
            let matrix = HostMatrix::<u8>::zeroed(&device, kind, 3, 5).unwrap();
            take_calls();
            drop(matrix);
            let free = match kind {
                MemoryKind::Unified => "cuMemFree_v2",
                _ => "cuMemFreeHost",
            };
            assert_eq!(take_calls()[..2], ["cuStreamSynchronize", free], "{kind}");
        }
        drop(device);
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn unified_memory_that_could_not_be_had_is_not_counted() {
    with_recording("unified_memory_that_could_not_be_had_is_not_counted", || {
        const ALLOCATE: &str = "cuMemAllocManaged";
        let device = Device::cuda(0).unwrap();
        refuse(ALLOCATE, OUT_OF_MEMORY);
        // Of 79 GiB that are free.
        for (gib, asked) in [(79, true), (79, true), (80, false)] {
            take_calls();
            let refused = HostMatrix::<u8>::zeroed(&device, MemoryKind::Unified, gib, 1 << 30);
            let wanted = (gib as u64) << 30;
            assert!(
                matches!(refused, Err(Error::Transpose(transpose::Error::OutOfMemory { bytes, .. })) if bytes == wanted)
            );
            assert_eq!(take_calls().contains(&ALLOCATE.to_owned()), asked);
        }
    });
}

#[test]
fn unified_memory_needs_access_from_both_sides() {
    with_recording("unified_memory_needs_access_from_both_sides", || {
        set_attribute(CONCURRENT_ACCESS, 0);
        let device = Device::cuda(0).unwrap();
        let refused = HostMatrix::<u8>::zeroed(&device, MemoryKind::Unified, 3, 5);
        assert!(matches!(refused, Err(Error::NoConcurrentAccess { .. })));
        HostMatrix::<u8>::zeroed(&device, MemoryKind::Mapped, 3, 5).unwrap();
    });
}
