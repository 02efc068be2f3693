//! Events: points in a stream's work that a program waits for, or has other streams wait for, and the time between two.

use crate::Result;
use crate::device::{Device, Mark, require_one_memory};
use std::time::Duration;

/// A point in a stream's work: behind all that was queued when it was recorded.
///
/// On the simulator all work is done when the call that queues it returns, so every event has passed, and there are no times.
///
/// ```
/// use transpose::{Device, DeviceMatrix};
/// # fn main() -> transpose::Result<()> {
/// let (device, _) = Device::any();
/// let a = DeviceMatrix::<f32>::zeroed(&device, 300, 200)?;
/// let start = device.record()?;
/// let b = a.transposed()?;
/// let stop = device.record()?;
/// stop.synchronize()?; // until `b` is there
/// assert!(start.is_done()? && stop.is_done()?);
/// let _time: Option<std::time::Duration> = stop.elapsed_since(&start)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Event {
    mark: Mark,
    /// Whose it is, and which it keeps.
    device: Device,
}

impl Device {
    /// An event behind all that was queued on this stream so far.
    ///
    /// # Errors
    /// What the device reports.
    pub fn record(&self) -> Result<Event> {
        let mut event = Event { mark: self.mark(true)?, device: self.clone() };
        event.record_again(self)?;
        Ok(event)
    }

    /// Has all that is queued on this stream from now on wait until the event has passed. The call does not wait.
    ///
    /// The event may be of another stream and of another GPU. It is waited for where it was recorded last before this call.
    ///
    /// # Errors
    /// What the device reports.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.wait_for_mark(&event.mark)
    }
}

impl Event {
    /// Records the event once more: behind all that was queued so far on `stream`, which is one of the same device.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for another device, and what the device reports.
    pub fn record_again(&mut self, stream: &Device) -> Result<()> {
        require_one_memory(&self.device, stream)?;
        stream.put(&self.mark)
    }

    /// Whether the event has passed: all that was queued before it is done.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn is_done(&self) -> Result<bool> {
        self.mark.is_done()
    }

    /// Waits until the event has passed.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn synchronize(&self) -> Result<()> {
        self.mark.synchronize()
    }

    /// The time by the device's clock from `start` to this event, which it waits for both to pass: a few microseconds are not told
    /// apart. `None` on the simulator. The time is 0 if `start` came later.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn elapsed_since(&self, start: &Event) -> Result<Option<Duration>> {
        start.synchronize()?;
        self.synchronize()?;
        self.mark.elapsed_since(&start.mark)
    }
}
