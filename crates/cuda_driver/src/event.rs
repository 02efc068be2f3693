//! A mark in a stream, with the device's own time.

use std::time::Duration;

use crate::{Context, Error, RawEvent, Stream};

/// An event that keeps the time at which the device came to it.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: RawEvent,
}

impl Event {
    /// An event that was not recorded yet.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: &Context) -> Result<Self, Error> {
        let _current = context.enter()?;
        let mut raw = RawEvent::NULL;
        // SAFETY: `raw` is a place for an event.
        unsafe { context.functions().cuEventCreate(&mut raw, 0) }?;
        Ok(Event { context: context.clone(), raw })
    }

    /// The driver's name for it.
    pub fn as_raw(&self) -> RawEvent {
        self.raw
    }

    /// Marks the end of what is queued on the stream so far.
    ///
    /// # Errors
    /// What the driver answers: code 400 for a stream of another context.
    pub fn record(&self, stream: &Stream) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the event and the stream live.
        unsafe { self.context.functions().cuEventRecord(self.raw, stream.as_raw()) }
    }

    /// Waits until the device has come to where the event was recorded last.
    ///
    /// # Errors
    /// What the driver answers, failures of queued work included.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the event lives.
        unsafe { self.context.functions().cuEventSynchronize(self.raw) }
    }

    /// The device's time from `start` to this; both have been recorded and come to.
    ///
    /// # Errors
    /// What the driver answers: code 600 if the device has not come to one of them.
    pub fn elapsed_since(&self, start: &Event) -> Result<Duration, Error> {
        let _current = self.context.enter()?;
        let mut milliseconds = 0.0;
        let functions = self.context.functions();
        // SAFETY: the events live; `milliseconds` is a place for a number.
        unsafe { functions.cuEventElapsedTime(&mut milliseconds, start.raw, self.raw) }?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: nobody has the event any more. A failure is one of earlier work: nobody is left to tell.
            let _ = unsafe { self.context.functions().cuEventDestroy_v2(self.raw) };
        }
    }
}
