//! A mark in a stream: something to wait for, with or without the device's own time.

use std::time::Duration;

use crate::{Context, Error, RawEvent, Stream};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: u32 = 600;

/// An event. One with time keeps the moment at which the device came to it.
#[derive(Debug)]
pub struct Event {
    context: Context,
    raw: RawEvent,
}

impl Event {
    /// An event with time that was not recorded yet.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: &Context) -> Result<Self, Error> {
        Self::with_flags(context, 0)
    }

    /// An event without time, which costs the device less, that was not recorded yet.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn without_time(context: &Context) -> Result<Self, Error> {
        Self::with_flags(context, DISABLE_TIMING)
    }

    fn with_flags(context: &Context, flags: u32) -> Result<Self, Error> {
        let _current = context.enter()?;
        let mut raw = RawEvent::NULL;
        // SAFETY: `raw` is a place for an event.
        unsafe { context.functions().cuEventCreate(&mut raw, flags) }?;
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

    /// Whether the device has come to where the event was recorded last. One that was never recorded has nothing to come to.
    ///
    /// # Errors
    /// What the driver answers, failures of queued work included.
    pub fn is_done(&self) -> Result<bool, Error> {
        let _current = self.context.enter()?;
        // SAFETY: the event lives.
        match unsafe { self.context.functions().cuEventQuery(self.raw) } {
            Err(error) if error.code() == Some(NOT_READY) => Ok(false),
            answer => answer.map(|()| true),
        }
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

    /// The device's time from `start` to this; both have time, have been recorded and come to.
    ///
    /// # Errors
    /// What the driver answers: code 600 if the device has not come to one of them, 400 if one has no time.
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
