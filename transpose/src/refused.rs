//! What the compiler refuses, so that no program does it by mistake: each with the error that it must be refused by, and beside it
//! the program that differs from it in that alone and is accepted.
//!
//! They are tests of the documentation. The errors' codes are compared where `RUSTC_BOOTSTRAP` is set, as `.ci/run` does.

/// A matrix is not its own destination.
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 5).unwrap();
/// a.transpose_into(&mut a).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 5).unwrap();
/// a.transpose_in_place().unwrap();
/// ```
struct OwnDestination;

/// What is read through a view is not moved meanwhile.
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 3).unwrap();
/// let before = a.view();
/// a.transpose_in_place().unwrap();
/// before.to_host().unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 3).unwrap();
/// let before = a.view();
/// before.to_host().unwrap();
/// a.transpose_in_place().unwrap();
/// ```
struct ReadWhileMoved;

/// A window that is written to does not overlap one that is read.
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix};
/// let mut a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 4, 4).unwrap();
/// let (src, dst) = (a.window(0, 2, 2, 4).unwrap(), a.window_mut(2, 2, 2, 4).unwrap());
/// src.transpose_into(dst).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 4, 4).unwrap();
/// let mut b = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 4, 4).unwrap();
/// let (src, dst) = (a.window(0, 2, 2, 4).unwrap(), b.window_mut(2, 2, 2, 4).unwrap());
/// # let _ = (src, dst);
/// ```
struct WindowsThatOverlap;

/// Two windows of one matrix are not both written to.
///
/// ```compile_fail,E0499
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let mut b = DeviceMatrix::<f32>::zeroed(&device, 4, 4).unwrap();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 2, 2).unwrap();
/// let (left, right) = (b.window_mut(0, 2, 2, 4).unwrap(), b.window_mut(1, 2, 2, 4).unwrap());
/// a.transpose_into(left).unwrap();
/// a.transpose_into(right).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let mut b = DeviceMatrix::<f32>::zeroed(&device, 4, 4).unwrap();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 2, 2).unwrap();
/// a.transpose_into(b.window_mut(0, 2, 2, 4).unwrap()).unwrap();
/// a.transpose_into(b.window_mut(1, 2, 2, 4).unwrap()).unwrap();
/// ```
struct TwoWriters;

/// A tensor's view that is split is gone: its halves do not overlap, and it would overlap both.
///
/// ```compile_fail,E0382
/// # use transpose::{Device, DeviceTensor};
/// let device = Device::simulated();
/// let mut b = DeviceTensor::<f32>::zeroed(&device, &[2, 4]).unwrap();
/// let all = b.view_mut();
/// let (left, _right) = all.split_at(1, 2).unwrap();
/// let a = DeviceTensor::zeroed(&device, &[2, 4]).unwrap();
/// a.copy_into(all).unwrap();
/// # let _ = left;
/// ```
///
/// ```
/// # use transpose::{Device, DeviceTensor};
/// let device = Device::simulated();
/// let mut b = DeviceTensor::<f32>::zeroed(&device, &[2, 4]).unwrap();
/// let mut all = b.view_mut();
/// let (left, _right) = all.reborrow().split_at(1, 2).unwrap();
/// # let _ = left;
/// let a = DeviceTensor::zeroed(&device, &[2, 4]).unwrap();
/// a.copy_into(all).unwrap();
/// ```
struct SplitAndKept;

/// A view does not outlive its memory.
///
/// ```compile_fail,E0505
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 3).unwrap();
/// let view = a.view();
/// drop(a);
/// view.to_host().unwrap();
/// ```
///
/// ```compile_fail,E0597
/// # use transpose::{Device, DeviceTensor};
/// let view = {
///     let a = DeviceTensor::<f32>::zeroed(&Device::simulated(), &[5, 3]).unwrap();
///     a.view().permute_axes(&[1, 0]).unwrap()
/// };
/// view.to_host().unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let a = DeviceMatrix::<f32>::zeroed(&Device::simulated(), 5, 3).unwrap();
/// let view = a.view();
/// view.to_host().unwrap();
/// drop(a);
/// ```
struct Outlived;

/// What is only borrowed to be read is not written to.
///
/// ```compile_fail,E0277
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let b = DeviceMatrix::<f32>::zeroed(&device, 3, 5).unwrap();
/// a.transpose_into(b.view()).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let mut b = DeviceMatrix::<f32>::zeroed(&device, 3, 5).unwrap();
/// a.transpose_into(b.view_mut()).unwrap();
/// ```
struct WrittenThroughAReader;

/// Elements that are more than their bits, or for which some bits mean nothing, do not go to a device.
///
/// ```compile_fail,E0277
/// # use transpose::{Device, DeviceMatrix};
/// DeviceMatrix::from_host(&Device::simulated(), 1, 2, &[true, false]).unwrap();
/// ```
///
/// ```compile_fail,E0277
/// # use transpose::{Device, DeviceMatrix};
/// DeviceMatrix::from_host(&Device::simulated(), 1, 1, &[String::new()]).unwrap();
/// ```
///
/// ```compile_fail,E0277
/// # use transpose::{Device, DeviceTensor};
/// DeviceTensor::from_host(&Device::simulated(), &[1], &[&1u32]).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// DeviceMatrix::from_host(&Device::simulated(), 1, 2, &[1u8, 0]).unwrap();
/// ```
struct NotPlainData;

/// Elements keep their type.
///
/// ```compile_fail,E0277
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let mut b = DeviceMatrix::<u32>::zeroed(&device, 3, 5).unwrap();
/// a.transpose_into(&mut b).unwrap();
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let mut b = DeviceMatrix::<f32>::zeroed(&device, 3, 5).unwrap();
/// a.transpose_into(&mut b).unwrap();
/// ```
struct OtherElements;

/// A pinned buffer that copies may be pending on is reached only by what waits for them, and what was read of it is not overwritten.
///
/// ```compile_fail,E0608
/// # use transpose::{Device, PinnedBuffer};
/// let buffer = PinnedBuffer::<f32>::zeroed(&Device::simulated(), 15).unwrap();
/// let first = buffer[0];
/// ```
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix, PinnedBuffer};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let mut buffer = PinnedBuffer::<f32>::zeroed(&device, 15).unwrap();
/// let read = buffer.read().unwrap();
/// a.download_into(&mut buffer).unwrap();
/// assert_eq!(read[0], 0.0);
/// ```
///
/// ```
/// # use transpose::{Device, DeviceMatrix, PinnedBuffer};
/// let device = Device::simulated();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 5, 3).unwrap();
/// let mut buffer = PinnedBuffer::<f32>::zeroed(&device, 15).unwrap();
/// a.download_into(&mut buffer).unwrap();
/// let read = buffer.read().unwrap(); // waits
/// assert_eq!(read[0], 0.0);
/// ```
struct PendingBuffer;
