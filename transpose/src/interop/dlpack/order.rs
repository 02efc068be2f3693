//! Order between a device's queue and streams of others: the one place that makes events for it.

use crate::{Device, Result};
use cuda_driver::{Context, Driver, Event, RawContext, RawStream, Stream};
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
        let (Some(stream), Some(queue)) = (self.0, Queue::of(device)?) else { return Ok(()) };
        // SAFETY: a default stream, or what was promised to be a live one.
        unsafe { queue.before(stream) }
    }

    /// Has what is queued on the device from now on wait for what uses the tensor, or waits for it.
    pub(super) fn release(self, device: &Device) -> Result<()> {
        let Some(queue) = Queue::of(device)? else { return Ok(()) };
        if self != Self::LEGACY {
            // The stream may be gone, or mean another in this thread.
            return Ok(queue.context.synchronize()?);
        }
        // SAFETY: a default stream is always there.
        unsafe { queue.after(RawStream::LEGACY) }
    }
}

/// Has all that is queued on the device from now on wait for what the stream was given. On the simulator nothing.
///
/// # Errors
/// What the driver answers.
pub fn wait_for(device: &Device, stream: ForeignStream) -> Result<()> {
    let (Some(stream), Some(queue)) = (stream.0, Queue::of(device)?) else { return Ok(()) };
    // SAFETY: a default stream, or what was promised to be a live one.
    unsafe { queue.after(stream) }
}

/// A device's own stream.
struct Queue {
    context: Context,
    stream: Stream,
}

impl Queue {
    /// The queue of a GPU; it is not used longer than the device lives.
    fn of(device: &Device) -> Result<Option<Self>> {
        let (Some(context), Some(stream)) = (device.cuda_context(), device.cuda_stream()) else {
            return Ok(None);
        };
        // SAFETY: both are the device's, which is borrowed as long as they are used.
        unsafe {
            let context = Context::borrowed(Driver::get()?, RawContext(context))?;
            let stream = Stream::borrowed(&context, RawStream(stream));
            Ok(Some(Queue { context, stream }))
        }
    }

    /// Another stream goes on when the queue has come to where it is now.
    ///
    /// # Safety
    /// The stream is a live one of the context, or a default stream's name.
    unsafe fn before(&self, other: RawStream) -> Result<()> {
        // SAFETY: the caller's obligation.
        Self::order(&self.context, &self.stream, &unsafe { Stream::borrowed(&self.context, other) })
    }

    /// The queue goes on when another stream has come to where it is now.
    ///
    /// # Safety
    /// Those of [`before`](Self::before).
    unsafe fn after(&self, other: RawStream) -> Result<()> {
        // SAFETY: the caller's obligation.
        Self::order(&self.context, &unsafe { Stream::borrowed(&self.context, other) }, &self.stream)
    }

    fn order(context: &Context, first: &Stream, then: &Stream) -> Result<()> {
        if first.as_raw() == then.as_raw() {
            return Ok(());
        }
        let event = Event::without_time(context)?;
        event.record(first)?;
        Ok(then.wait(&event)?)
    }
}
