//! Memory that is lent for one call, between a device and a stream that is not the library's.

use crate::device::Device;
use crate::{Error, Result};
use std::ffi::c_void;

/// Runs `work`, which queues work on the device that uses memory whose own stream is `stream`: after all that is queued there so
/// far, and before all that is queued there later.
///
/// # Safety
/// The stream is one of the device's context, or a default one of it, and lives until this returns.
pub(super) unsafe fn lend<R>(
    device: &Device,
    stream: *mut c_void,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    // SAFETY: the caller's obligation.
    let before = || unsafe { device.wait_for_raw_stream(stream) };
    // SAFETY: the caller's obligation.
    let after = || device.or_wait(unsafe { device.raw_stream_waits(stream) });
    between(before, work, after)
}

/// Runs `work`, however it ends, between what puts it in order with what is before it and with what is after it.
pub(super) fn between<R>(
    before: impl FnOnce() -> Result<()>,
    work: impl FnOnce() -> Result<R>,
    after: impl Fn() -> Result<()>,
) -> Result<R> {
    /// Memory that is out, until it is back.
    struct Lent<F: Fn() -> Result<()>> {
        after: F,
        is_back: bool,
    }

    impl<F: Fn() -> Result<()>> Drop for Lent<F> {
        fn drop(&mut self) {
            if !self.is_back {
                // There is a panic to report already.
                let _ = (self.after)();
            }
        }
    }

    before()?;
    let mut lent = Lent { after, is_back: false };
    let done = work();
    lent.is_back = true;
    let back = (lent.after)();
    done.and_then(|result| back.map(|()| result))
}

/// Refuses memory that the device's kernels do not reach: `theirs`, as a person knows it.
pub(super) fn require_here_or(here: bool, device: &Device, theirs: &str) -> Result<()> {
    if here {
        return Ok(());
    }
    Err(Error::DeviceMismatch { src: theirs.to_owned(), dst: device.to_string() })
}
