//! Order between a device's queue and streams of others.

use crate::{Device, Result};
use cuda_driver::RawStream;
use std::ffi::c_void;

/// A stream on which another library uses a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignStream(Option<RawStream>);

impl ForeignStream {
    /// The legacy default stream: `stream=None` and `stream=1` in Python.
    pub const LEGACY: Self = ForeignStream(Some(RawStream::LEGACY));

    /// The default stream of the calling thread: `stream=2` in Python.
    pub const PER_THREAD: Self = ForeignStream(Some(RawStream::PER_THREAD));

    /// None, and nothing is ordered: `stream=-1` in Python. The other library waits by itself.
    pub const UNORDERED: Self = ForeignStream(None);

    /// A `CUstream`.
    ///
    /// # Safety
    /// It is one of the context of the device that it is used with, and lives until what it is given to has returned.
    pub unsafe fn new(stream: *mut c_void) -> Self {
        ForeignStream(Some(RawStream(stream)))
    }

    /// Has the stream wait for all that is queued on the device.
    pub(super) fn wait_for_queue(self, device: &Device) -> Result<()> {
        let Some(stream) = self.0 else { return Ok(()) };
        // SAFETY: a default stream, or what was promised to be a live one.
        unsafe { device.raw_stream_waits(stream.0) }
    }

    /// Has what is queued on the device from now on wait for what uses the tensor, or waits for it.
    pub(super) fn release(self, device: &Device) -> Result<()> {
        if self == Self::LEGACY && wait_for(device, self).is_ok() {
            return Ok(());
        }
        // There may be no event for it, or the stream may be gone, or mean another in this thread: all of the context is waited for.
        device.context().map_or(Ok(()), |context| Ok(context.synchronize()?))
    }
}

/// Has all that is queued on the device from now on wait for what the stream was given. On the simulator nothing.
///
/// # Errors
/// What the driver answers.
pub fn wait_for(device: &Device, stream: ForeignStream) -> Result<()> {
    let Some(stream) = stream.0 else { return Ok(()) };
    // SAFETY: a default stream, or what was promised to be a live one.
    unsafe { device.wait_for_raw_stream(stream.0) }
}
