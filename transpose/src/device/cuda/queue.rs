//! A stream as a device's queue: whatever thread queues work, it is done in the order of the calls.

use cuda_driver::{RawStream, Stream};
use std::ops::Deref;

/// A stream in which all work of a device's handles is queued.
pub(super) struct Queue {
    stream: Stream,
    /// Whether the stream's name means another stream in each thread.
    per_thread: bool,
}

impl Queue {
    pub fn new(stream: Stream) -> Self {
        let per_thread = stream.as_raw() == RawStream::PER_THREAD;
        Queue { stream, per_thread }
    }

    pub fn as_raw(&self) -> RawStream {
        self.stream.as_raw()
    }

    /// Whether it is a default stream, whose order the driver keeps with other streams too.
    pub fn is_default(&self) -> bool {
        let defaults = [RawStream(std::ptr::null_mut()), RawStream::LEGACY, RawStream::PER_THREAD];
        defaults.contains(&self.as_raw())
    }

    /// The stream, for one piece of work.
    ///
    /// Where it is another stream in each thread, other threads have no name for it, and it ends with its thread: the work is waited for.
    pub fn enter(&self) -> Entered<'_> {
        Entered { stream: &self.stream, waits: self.per_thread }
    }
}

/// A stream that may be used now.
pub(super) struct Entered<'a> {
    stream: &'a Stream,
    waits: bool,
}

impl Deref for Entered<'_> {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        self.stream
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.waits {
            // Work that fails fails the calls after it too.
            let _ = self.stream.synchronize();
        }
    }
}
