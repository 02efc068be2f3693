//! The order between the queues of a device.
//!
//! A queue waits for another by a mark: put behind what the other has queued, waited for by all that this one queues later. Nothing has
//! to be kept for that, so nothing can be leaked: when the call that orders two queues has returned, they are in order.

use super::Device;
use crate::{Error, Result};
use std::ffi::c_void;

impl Device {
    /// Has all that is queued here from now on come after all that was queued on `other` so far.
    ///
    /// Moves between matrices on two streams of one device do that by themselves. This is for memory that the library does not know the
    /// owner of: views from raw parts, and what other code queues on the streams.
    ///
    /// # Errors
    /// What the device reports.
    pub fn wait_for(&self, other: &Device) -> Result<()> {
        if self.is_same(other) {
            return Ok(());
        }
        let mark = other.mark(false)?;
        other.put(&mark)?;
        self.wait_for_mark(&mark)
    }

    /// Has all that is queued here from now on come after all that others have queued on a stream of theirs so far: a `CUstream`, default
    /// streams included. The simulator has nothing to wait for.
    ///
    /// # Safety
    /// The stream is one of the device's [context](Self::cuda_context), or a default one of it, and lives during the call.
    ///
    /// # Errors
    /// What the device reports.
    pub unsafe fn wait_for_raw_stream(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.wait_for_raw(stream) }
    }

    /// Has all that others queue on a stream of theirs from now on come after all that is queued here so far: the other way round than
    /// [`wait_for_raw_stream`](Self::wait_for_raw_stream).
    ///
    /// # Safety
    /// Those of [`wait_for_raw_stream`](Self::wait_for_raw_stream).
    ///
    /// # Errors
    /// What the device reports.
    pub unsafe fn raw_stream_waits(&self, stream: *mut c_void) -> Result<()> {
        // SAFETY: the caller's obligations.
        unsafe { self.backend.raw_waits(stream) }
    }

    /// Whether an address means the same memory on both: they are streams of one device.
    pub(crate) fn shares_memory_with(&self, other: &Device) -> bool {
        self.backend.memory_id() == other.backend.memory_id()
    }

    /// Waits now for what is queued here if a mark behind it, which others were to wait for, could not be had.
    pub(crate) fn or_wait(&self, marked: Result<()>) -> Result<()> {
        marked.inspect_err(|_| {
            // A failure is one of the queued work, or the context is lost; what is lost runs no more.
            let _ = self.synchronize();
        })
    }
}

/// Refuses devices that do not share their memory.
pub(crate) fn require_one_memory(src: &Device, dst: &Device) -> Result<()> {
    if src.shares_memory_with(dst) {
        return Ok(());
    }
    Err(Error::DeviceMismatch { src: src.to_string(), dst: dst.to_string() })
}

/// Queues work on the queue of `dst` that uses memory of both: after all that either has queued, and before all that either queues
/// later.
pub(crate) fn across(
    src: &Device,
    dst: &Device,
    work: impl FnOnce(&Device) -> Result<()>,
) -> Result<()> {
    if src.is_same(dst) {
        return work(dst);
    }
    require_one_memory(src, dst)?;
    dst.wait_for(src)?;
    let queued = work(dst);
    // Also if only a part could be queued.
    queued.and(dst.or_wait(src.wait_for(dst)))
}
