//! A program that drives a GPU through [`cust`](https://docs.rs/cust/0.3.2) and transposes on it.
//!
//! | what the program has | what it gets | |
//! |---|---|---|
//! | a `Stream` | a [`Device`] whose queue is that stream | [`device`] |
//! | a `DeviceBuffer` | views of it, for a call | [`with_view`], [`with_view_mut`] |
//! | a `DeviceSlice`, work on one stream | views of it, without any waiting | [`view`], [`view_mut`] |
//! | a [`Device`] | its stream and its context | [`stream`], [`context`] |
//! | a tensor's view | a `DeviceSlice` | [`slice()`] |
//!
//! `cust::quick_init` and `cust::context::Context::new` take the GPU's primary context, and [`Device::cuda`] does too: kernels of either
//! read memory of the other. This library leaves no context current, so a program makes one with `cust` before it uses `cust`.
//!
//! ```no_run
//! use cust::memory::DeviceBuffer;
//! use cust::stream::{Stream, StreamFlags};
//! use std::sync::Arc;
//! use transpose::interop::cust as interop;
//!
//! # fn main() -> transpose::Result<()> {
//! let _context = cust::quick_init()?; // cust's error becomes this library's
//! let stream = Arc::new(Stream::new(StreamFlags::DEFAULT, None)?);
//! let device = interop::device(stream)?;
//! let src = DeviceBuffer::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut dst = DeviceBuffer::from_slice(&[0.0f32; 6])?;
//! interop::with_view(&device, &src, |src| {
//!     interop::with_view_mut(&device, &mut dst, |dst| {
//!         src.reshape(&[2, 3])?.t().copy_into(dst.reshape(&[3, 2])?)
//!     })
//! })?;
//! assert_eq!(dst.as_host_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! With this feature the program is built with `cust`, whose build script asks for a CUDA toolkit or for what
//! the page of `cuda_driver` says to give it in place of one; it still starts without a driver.

use super::lending::{between, lend, require_here_or};
use crate::matrix::view::MatrixView;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Device, Error, Result};
use bytemuck::Pod;
use cuda_driver::{Context, Driver, RawContext, RawStream};
use cust::error::CudaError;
use cust::memory::{DeviceBuffer, DeviceCopy, DevicePointer, DeviceSlice};
use cust::stream::Stream;
use cust::sys::{CUcontext, CUstream};
use std::sync::Arc;

/// What the functions of `cust` that name no stream work on.
const DEFAULT_STREAM: RawStream = RawStream::LEGACY;

/// The stream that a device's work is queued on; `None` on the simulator. See [`Device::cuda_stream`].
pub fn stream(device: &Device) -> Option<CUstream> {
    device.cuda_stream().map(<*mut _>::cast)
}

/// The context that a device's memory and kernels are in; `None` on the simulator. See [`Device::cuda_context`].
pub fn context(device: &Device) -> Option<CUcontext> {
    device.cuda_context().map(<*mut _>::cast)
}

/// A device whose queue is a stream of `cust`, which it keeps, and the GPU's primary context with it: what `cust` queues on the stream and
/// what this library queues on the device is done in the order of the calls.
///
/// # Errors
/// [`Error::Cuda`] with code 201 (an invalid context) for a stream of another context than the primary one of its GPU, and what the
/// driver answers.
pub fn device(stream: Arc<Stream>) -> Result<Device> {
    let driver = Driver::get()?;
    let raw_stream = RawStream(stream.as_inner().cast());
    // SAFETY: the stream lives.
    let raw_context = unsafe { driver.context_of_stream(raw_stream)? };
    // SAFETY: a context lives as long as a stream of it.
    let gpu = *unsafe { Context::borrowed(driver, raw_context)? }.device();
    let primary = Context::primary(gpu)?;
    if primary.as_raw() != raw_context {
        return Err(CudaError::InvalidContext.into());
    }
    // The stream goes before the context.
    let keep = Arc::new((stream, primary));
    // SAFETY: the stream is one of the context, and both live as long as what keeps them. What is queued on the stream by safe functions
    // of `cust` leaves memory alone that is not `cust`'s, and starts in order; the rest is for its callers to answer for.
    unsafe { Device::from_raw_parts_kept(raw_context.0, raw_stream.0, keep) }
}

/// Runs `work` with a view of all elements of a buffer, one axis of them. What `work` queues comes after what `cust` has queued on its default
/// stream, and before what it queues there later, as all its copies that wait are, and the end of the buffer.
///
/// A buffer in memory of a pool (`from_slice_async`, `uninitialized_async`, `zeroed_async`) ends without waiting for anything: for one of
/// those this function waits, on the host, for what is queued on the device. Any other goes by `drop`, or by `drop_async` on a stream that waits
/// for the default one, as those do that are not `NON_BLOCKING`.
///
/// # Errors
/// [`Error::DeviceMismatch`] for a buffer in another context than the device's, what `work` returns, and what the device reports.
pub fn with_view<T: Pod + DeviceCopy, R>(
    device: &Device,
    buffer: &DeviceBuffer<T>,
    work: impl FnOnce(TensorView<'_, T>) -> Result<R>,
) -> Result<R> {
    let home = home_of(device, buffer)?;
    // SAFETY: the buffer is borrowed for the call, and what was queued is in order with what its owner does to it later.
    lend_buffer(device, home, || work(unsafe { view(device, buffer)? }))
}

/// Like [`with_view`], exclusive.
///
/// # Errors
/// As [`with_view`].
pub fn with_view_mut<T: Pod + DeviceCopy, R>(
    device: &Device,
    buffer: &mut DeviceBuffer<T>,
    work: impl FnOnce(TensorViewMut<'_, T>) -> Result<R>,
) -> Result<R> {
    let home = home_of(device, buffer)?;
    // SAFETY: as in `with_view`; the buffer is borrowed exclusively.
    lend_buffer(device, home, || work(unsafe { view_mut(device, buffer)? }))
}

/// Runs `work`, which queues work on a buffer: after what `cust` has queued on its default stream, and before the buffer's owner goes on with it.
fn lend_buffer<R>(device: &Device, home: Home, work: impl FnOnce() -> Result<R>) -> Result<R> {
    match home {
        // SAFETY: the default stream lives.
        Home::Context => unsafe { lend(device, DEFAULT_STREAM.0, work) },
        Home::Pool => {
            // SAFETY: the default stream lives.
            let before = || unsafe { device.wait_for_raw_stream(DEFAULT_STREAM.0) };
            between(before, work, || device.synchronize())
        }
    }
}

/// A view of all elements of a slice, one axis of them. Nothing waits for anything: it is for memory that is used on the device's own stream only.
///
/// # Safety
/// Those of [`TensorView::from_raw_parts`].
///
/// # Errors
/// [`Error::TensorSizeOverflow`].
pub unsafe fn view<'a, T: Pod + DeviceCopy>(
    device: &'a Device,
    slice: &'a DeviceSlice<T>,
) -> Result<TensorView<'a, T>> {
    let layout = TensorLayout::contiguous(&[slice.len()], size_of::<T>())?;
    // SAFETY: the caller's obligations.
    unsafe {
        TensorView::from_raw_parts(device, slice.as_device_ptr().as_raw(), slice.len(), layout)
    }
}

/// Like [`view`], exclusive.
///
/// # Safety
/// Those of [`TensorViewMut::from_raw_parts`].
///
/// # Errors
/// [`Error::TensorSizeOverflow`].
pub unsafe fn view_mut<'a, T: Pod + DeviceCopy>(
    device: &'a Device,
    slice: &'a mut DeviceSlice<T>,
) -> Result<TensorViewMut<'a, T>> {
    let layout = TensorLayout::contiguous(&[slice.len()], size_of::<T>())?;
    // SAFETY: the caller's obligations.
    unsafe {
        TensorViewMut::from_raw_parts(device, slice.as_device_ptr().as_raw(), slice.len(), layout)
    }
}

/// The elements of a view that lie together, as a slice of `cust`.
///
/// # Safety
/// As long as the slice or a copy of it is used:
/// - The memory that the view borrows lives.
/// - Work on it is queued on the device's stream, or put in order with it by an event.
/// - What is written through it is what the borrow permits: nothing where it is shared.
///
/// # Errors
/// [`Error::NotAMatrix`] or [`Error::Reshape`] for elements that lie apart.
pub unsafe fn slice<T: Pod + DeviceCopy>(view: TensorView<'_, T>) -> Result<DeviceSlice<T>> {
    let row = MatrixView::try_from(view.reshape(&[1, view.len()])?)?;
    let start = DevicePointer::from_raw(row.address);
    // SAFETY: the view has as many elements there, one behind the other; the rest is the caller's obligation.
    Ok(unsafe { DeviceSlice::from_raw_parts(start, row.ncols()) })
}

/// What a buffer's memory was allocated from.
enum Home {
    /// Its end waits for what uses it on the default stream.
    Context,
    /// Its end waits for nothing.
    Pool,
}

/// Where a buffer is. Refuses one of another context than the device's, or of another GPU.
fn home_of<T: DeviceCopy>(device: &Device, buffer: &DeviceSlice<T>) -> Result<Home> {
    if buffer.is_empty() || size_of::<T>() == 0 {
        return Ok(Home::Context);
    }
    let (driver, address) = (Driver::get()?, buffer.as_device_ptr().as_raw());
    let (home, here) = match driver.context_of_memory(address)? {
        RawContext::NULL => {
            (Home::Pool, device.cuda_ordinal() == Some(driver.ordinal_of_memory(address)?))
        }
        context => (Home::Context, device.cuda_context() == Some(context.0)),
    };
    require_here_or(here, device, "a buffer of cust")?;
    Ok(home)
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Self {
        match (error, Driver::get()) {
            // Without a driver there is no device either, and the driver's absence is what can be mended.
            (CudaError::NoDevice, Err(reason)) => reason.into(),
            _ => cuda_driver::Error::call("cust", error as u32).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_code() {
        let error = Error::from(CudaError::IllegalAddress);
        assert!(matches!(error, Error::Cuda { operation: "cust", code: 700, .. }), "{error}");
    }

    #[test]
    fn no_device_may_be_no_driver() {
        let error = Error::from(CudaError::NoDevice);
        match Driver::get() {
            Ok(_) => assert!(matches!(error, Error::Cuda { code: 100, .. }), "{error}"),
            Err(_) => assert!(matches!(error, Error::NoDriver { .. }), "{error}"),
        }
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn the_simulator_has_neither_context_nor_stream() {
        let device = Device::simulated();
        assert_eq!((context(&device), stream(&device)), (None, None));
    }
}
