//! Matrices in pinned, mapped and unified memory, on the simulator and on a GPU.

use bytemuck::{Pod, Zeroable};
use study::{HostMatrix, MemoryKind};
use transpose::{Device, DeviceMatrix, Error, Strategy};
use transpose_tests::on_both_devices;

on_both_devices! {
    starts_as_zeros,
    copies_to_and_from_the_device,
    transposes_in_place_of_a_copy,
    pinned_memory_is_not_for_kernels,
    looking_waits_for_the_work,
    empty,
    more_unified_memory_than_the_device_has,
    elements_aligned_to_more_than_the_memory,
}

/// The kinds that kernels reach.
const REACHED: [MemoryKind; 2] = [MemoryKind::Mapped, MemoryKind::Unified];

fn starts_as_zeros(device: &Device) {
    for kind in MemoryKind::ALL {
        let matrix = HostMatrix::<u128>::zeroed(device, kind, 33, 65).unwrap();
        assert_eq!((matrix.kind(), matrix.shape()), (kind, (33, 65)));
        assert!(matrix.read().unwrap()[..] == [0; 33 * 65]);
    }
}

fn copies_to_and_from_the_device(device: &Device) {
    for kind in MemoryKind::ALL {
        let (rows, cols) = (50, 70);
        let mut host = HostMatrix::zeroed(device, kind, rows, cols).unwrap();
        for (index, element) in host.write().unwrap().iter_mut().enumerate() {
            *element = index as u32;
        }
        let mut matrix = DeviceMatrix::zeroed_with_ld(device, rows, cols, cols + 3).unwrap();
        matrix.copy_from_host(&host.read().unwrap()).unwrap();
        let mut back = HostMatrix::zeroed(device, kind, rows, cols).unwrap();
        matrix.copy_to_host(&mut back.write().unwrap()).unwrap();
        assert!(back.read().unwrap()[..] == host.read().unwrap()[..], "{kind}");

        let short = matrix.copy_to_host(&mut [0; 7]).unwrap_err();
        assert!(matches!(short, Error::LengthMismatch { expected: 3500, actual: 7, .. }));
        let short = matrix.copy_from_host(&[0; 7]).unwrap_err();
        assert!(matches!(short, Error::LengthMismatch { expected: 3500, actual: 7, .. }));
    }
}

fn transposes_in_place_of_a_copy(device: &Device) {
    let (rows, cols) = (100, 333);
    for kind in REACHED {
        for &strategy in Strategy::ALL {
            let mut src = HostMatrix::zeroed(device, kind, rows, cols).unwrap();
            let numbers: Vec<u16> = (0..rows * cols).map(|index| index as u16).collect();
            src.write().unwrap().copy_from_slice(&numbers);
            let mut dst = HostMatrix::zeroed(device, kind, cols, rows).unwrap();
            let view = src.view().unwrap();
            view.transpose_into_with(dst.view_mut().unwrap(), strategy).unwrap();
            assert!(dst.view().unwrap().to_host().unwrap() == dst.read().unwrap()[..]);
            let dst = dst.read().unwrap();
            for (index, element) in numbers.iter().enumerate() {
                assert_eq!(dst[index % cols * rows + index / cols], *element, "{kind} {strategy}");
            }
        }
    }
}

fn pinned_memory_is_not_for_kernels(device: &Device) {
    let mut matrix = HostMatrix::<u8>::zeroed(device, MemoryKind::Pinned, 4, 5).unwrap();
    let refusal = matrix.view().unwrap_err().to_string();
    assert_eq!(refusal, "pinned memory is only for copies: kernels cannot reach it");
    assert!(matches!(matrix.view_mut(), Err(study::Error::NotMapped { .. })));
}

/// Work is queued, and neither a look nor a change nor a drop comes before its end.
fn looking_waits_for_the_work(device: &Device) {
    let side = 512;
    for kind in REACHED {
        let mut a = HostMatrix::zeroed(device, kind, side, side).unwrap();
        let mut b = HostMatrix::zeroed(device, kind, side, side).unwrap();
        for round in 0..4u32 {
            a.write().unwrap().fill(round);
            a.write().unwrap()[1] = !round;
            a.view().unwrap().transpose_into(b.view_mut().unwrap()).unwrap();
            // The source may be changed at once: the change waits.
            a.write().unwrap().fill(77);
            let b = b.read().unwrap();
            assert_eq!((b[0], b[1], b[side]), (round, round, !round), "{kind}");
        }
        a.view().unwrap().transpose_into(b.view_mut().unwrap()).unwrap();
        drop(a);
        assert_eq!(b.read().unwrap()[side * side - 1], 77);
    }
}

fn empty(device: &Device) {
    for kind in MemoryKind::ALL {
        let mut matrix = HostMatrix::<u64>::zeroed(device, kind, 0, 5).unwrap();
        assert!(matrix.read().unwrap().is_empty() && matrix.write().unwrap().is_empty());
    }
    let src = HostMatrix::<u64>::zeroed(device, MemoryKind::Mapped, 0, 5).unwrap();
    let mut dst = HostMatrix::<u64>::zeroed(device, MemoryKind::Mapped, 5, 0).unwrap();
    src.view().unwrap().transpose_into(dst.view_mut().unwrap()).unwrap();
}

fn more_unified_memory_than_the_device_has(device: &Device) {
    let result = HostMatrix::<u8>::zeroed(device, MemoryKind::Unified, 1 << 25, 1 << 25);
    assert!(
        matches!(result, Err(study::Error::Transpose(Error::OutOfMemory { bytes, .. })) if bytes == 1 << 50)
    );
    // The refusal costs nothing: the device goes on.
    let matrix = HostMatrix::<u8>::zeroed(device, MemoryKind::Unified, 3, 3).unwrap();
    assert!(matrix.read().unwrap()[..] == [0; 9]);
}

/// A page of bytes: a slice of such elements must start where a page does.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; 4096]);

/// As many bytes as [`HostMatrix`] vouches for.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(256))]
struct Aligned([u8; 256]);

fn elements_aligned_to_more_than_the_memory(device: &Device) {
    for kind in MemoryKind::ALL {
        let refused = HostMatrix::<Page>::zeroed(device, kind, 1, 1).err().unwrap();
        assert_eq!(
            refused.to_string(),
            "elements aligned to 4096 bytes in host memory that is aligned to 256"
        );
        let matrix = HostMatrix::<Aligned>::zeroed(device, kind, 2, 3).unwrap();
        assert!(matrix.read().unwrap().as_ptr().is_aligned());
    }
    // The device's own memory is reached by addresses only.
    let matrix = DeviceMatrix::from_host(device, 2, 1, &[Page::zeroed(); 2]).unwrap();
    assert_eq!(matrix.transposed().unwrap().to_host().unwrap().len(), 2);
}
