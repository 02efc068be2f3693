//! A program that drives a GPU through [`cudarc`](https://docs.rs/cudarc/0.19) and transposes on it.
//!
//! | what the program has | what it gets | |
//! |---|---|---|
//! | a `CudaStream` | a [`Device`] whose queue is that stream | [`device`] |
//! | a `CudaSlice`, by `as_view`; a `CudaView` or `CudaViewMut` | views of it, for a call | [`with_view`], [`with_view_mut`] |
//! | views of this library | a `CudaView` or `CudaViewMut`, for a call | [`with_cuda_view`], [`with_cuda_view_mut`] |
//!
//! Nothing is copied and nothing waits on the host, whatever streams the device and the memory are of: where they are two, each waits for the
//! other on the GPU. `cudarc` makes its context the calling thread's current one whenever it is called; these functions leave that as it was.
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use transpose::interop::cudarc as interop;
//!
//! # fn main() -> transpose::Result<()> {
//! let stream = CudaContext::new(0)?.new_stream()?; // cudarc's error becomes this library's
//! let device = interop::device(stream.clone())?;
//! let src = stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut dst = stream.alloc_zeros::<f32>(6)?;
//! interop::with_view(&device, src.as_view(), |src| {
//!     interop::with_view_mut(&device, dst.as_view_mut(), |dst| {
//!         src.reshape(&[2, 3])?.t().copy_into(dst.reshape(&[3, 2])?)
//!     })
//! })?;
//! assert_eq!(stream.clone_dtoh(&dst)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! `cudarc` opens the driver at run time, and builds without a CUDA toolkit. Where there is no driver it panics: ask
//! [`Device::cuda`] first.

use super::lending::{between, lend, require_here_or};
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Device, Error, Result};
use bytemuck::Pod;
use cuda_driver::Context;
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, DeviceSlice, DriverError,
};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A device whose queue is a stream of `cudarc`, which it keeps: what `cudarc` queues on the stream and what this library queues on the
/// device is done in the order of the calls. Default streams will do, that of each thread included.
///
/// While `cudarc` captures the stream into a graph, call nothing but `run` of plans that ran on the device before, and keep the memory that they run on as long as the graph may
/// be launched: `cudarc` launches graphs in safe calls, and knows nothing of that memory.
///
/// # Errors
/// What the driver answers.
pub fn device(stream: Arc<CudaStream>) -> Result<Device> {
    let (context, raw) = (stream.context().cu_ctx().cast(), stream.cu_stream().cast());
    // SAFETY: the stream is one of the context, which it keeps, and lives as long as what keeps it. What is queued on it by safe
    // functions of `cudarc` leaves memory alone that is not `cudarc`'s, and starts in order; the rest is for its callers to answer for.
    unsafe { Device::from_raw_parts_kept(context, raw, Arc::new(stream)) }
}

/// Runs `work` with a view of all elements of a slice, one axis of them. What `work` queues comes after what `cudarc` has queued on the
/// slice, and before what it queues on it later.
///
/// # Errors
/// [`Error::DeviceMismatch`] for a slice in another context than the device's, what `work` returns, and what the device reports.
pub fn with_view<T: Pod, R>(
    device: &Device,
    slice: CudaView<'_, T>,
    work: impl FnOnce(TensorView<'_, T>) -> Result<R>,
) -> Result<R> {
    let (stream, len) = (DeviceSlice::stream(&slice).clone(), slice.len());
    let layout = layout_here::<T>(device, &stream, len)?;
    let _current = device.context().map(Context::enter).transpose()?;
    // The slice's own stream has waited for what writes it elsewhere; at the end it tells the others that it was read.
    let (address, _read) = slice.device_ptr(&stream);
    // SAFETY: the stream lives during the call.
    unsafe {
        lend(device, stream.cu_stream().cast(), || {
            // SAFETY: `len` elements of the slice, which is borrowed for the call; what was queued is in order with all that is done to
            // it later.
            work(TensorView::from_raw_parts(device, address, len, layout)?)
        })
    }
}

/// Like [`with_view`], exclusive.
///
/// # Errors
/// As [`with_view`].
pub fn with_view_mut<T: Pod, R>(
    device: &Device,
    mut slice: CudaViewMut<'_, T>,
    work: impl FnOnce(TensorViewMut<'_, T>) -> Result<R>,
) -> Result<R> {
    let (stream, len) = (DeviceSlice::stream(&slice).clone(), slice.len());
    let layout = layout_here::<T>(device, &stream, len)?;
    let _current = device.context().map(Context::enter).transpose()?;
    // The slice's own stream has waited for what uses it elsewhere; at the end it tells the others that it was written.
    let (address, _written) = slice.device_ptr_mut(&stream);
    // SAFETY: the stream lives during the call.
    unsafe {
        lend(device, stream.cu_stream().cast(), || {
            // SAFETY: as in `with_view`; the slice is borrowed exclusively.
            work(TensorViewMut::from_raw_parts(device, address, len, layout)?)
        })
    }
}

/// Runs `work` with a view's elements, which lie together, as a view of `cudarc` whose stream is `stream`. What `work` queues comes after
/// what this library has queued on the device, and before what it queues there later.
///
/// # Errors
/// [`Error::NotAMatrix`] or [`Error::Reshape`] for elements that lie apart, [`Error::DeviceMismatch`] for a stream of another context
/// than the device's, what `work` returns, and what the device reports.
pub fn with_cuda_view<T: Pod, R>(
    view: TensorView<'_, T>,
    stream: &Arc<CudaStream>,
    work: impl FnOnce(CudaView<'_, T>) -> Result<R>,
) -> Result<R> {
    let row = MatrixView::try_from(view.reshape(&[1, view.len()])?)?;
    layout_here::<T>(row.device, stream, row.ncols())?;
    // SAFETY: the elements are borrowed for the call.
    unsafe { as_slice(row.device, row.address, row.ncols(), stream, |slice| work(slice.as_view())) }
}

/// Like [`with_cuda_view`], exclusive.
///
/// # Errors
/// As [`with_cuda_view`].
pub fn with_cuda_view_mut<T: Pod, R>(
    view: TensorViewMut<'_, T>,
    stream: &Arc<CudaStream>,
    work: impl FnOnce(CudaViewMut<'_, T>) -> Result<R>,
) -> Result<R> {
    let len = view.len();
    let row = MatrixViewMut::try_from(view.reshape(&[1, len])?)?;
    layout_here::<T>(row.device, stream, len)?;
    // SAFETY: the elements are borrowed for the call, exclusively.
    unsafe { as_slice(row.device, row.address, len, stream, |slice| work(slice.as_view_mut())) }
}

/// Runs `work` with a slice that does not own its memory.
///
/// # Safety
/// There are `len` elements at `address` in memory of the device, which are borrowed for the call as `work` uses them. `work` gives out no
/// more than borrows of the slice. The stream is one of the device's context.
unsafe fn as_slice<T: Pod, R>(
    device: &Device,
    address: u64,
    len: usize,
    stream: &Arc<CudaStream>,
    work: impl FnOnce(&mut CudaSlice<T>) -> Result<R>,
) -> Result<R> {
    /// Keeps a slice from freeing what it does not own, however `work` ends.
    struct Borrowed<T>(ManuallyDrop<CudaSlice<T>>);

    impl<T> Drop for Borrowed<T> {
        fn drop(&mut self) {
            // SAFETY: nobody uses it any more.
            let slice = unsafe { ManuallyDrop::take(&mut self.0) };
            // Its stream waits for what other streams of cudarc do with it.
            slice.leak();
        }
    }

    let _current = device.context().map(Context::enter).transpose()?;
    let raw = stream.cu_stream().cast();
    // SAFETY: the stream lives during the call.
    let before = || unsafe { device.raw_stream_waits(raw) };
    let after = || {
        // SAFETY: the stream lives during the call.
        let ordered = unsafe { device.wait_for_raw_stream(raw) };
        ordered.inspect_err(|_| {
            // A failure is one of the queued work, or the context is lost; what is lost runs no more.
            let _ = stream.synchronize();
        })
    };
    let work = || {
        stream.context().bind_to_thread()?;
        // SAFETY: the caller vouches for the elements. The slice is gone, its memory not freed, before the device goes on.
        let slice = unsafe { stream.upgrade_device_ptr::<T>(address, len) };
        let mut slice = Borrowed(ManuallyDrop::new(slice));
        // The stream waits for what wrote the elements. Other streams of cudarc wait for the slice's last write, which is recorded here.
        drop(slice.0.device_ptr_mut(stream));
        stream.context().check_err()?;
        work(&mut slice.0)
    };
    between(before, work, after)
}

/// The layout of `len` elements of a stream's context, which must be the device's.
fn layout_here<T>(device: &Device, stream: &CudaStream, len: usize) -> Result<TensorLayout> {
    let here = device.cuda_context() == Some(stream.context().cu_ctx().cast());
    require_here_or(here, device, "memory of cudarc")?;
    TensorLayout::contiguous(&[len], size_of::<T>())
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        cuda_driver::Error::call("cudarc", error.0 as u32).into()
    }
}
