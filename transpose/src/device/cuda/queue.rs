//! A stream as a device's queue: whatever thread queues work, it is done in the order of the calls.

use crate::Result;
use cuda_driver::{RawStream, Stream};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// A stream in which all work of a device's handles is queued.
pub(super) struct Queue {
    stream: Stream,
    /// The thread that used it last, if the stream's name means another stream in each thread.
    last: Option<Mutex<ThreadId>>,
}

impl Queue {
    pub fn new(stream: Stream) -> Self {
        let per_thread = stream.as_raw() == RawStream::PER_THREAD;
        Queue { stream, last: per_thread.then(|| Mutex::new(thread::current().id())) }
    }

    pub fn as_raw(&self) -> RawStream {
        self.stream.as_raw()
    }

    /// Whether it is a default stream, whose order the driver keeps with other streams too.
    pub fn is_default(&self) -> bool {
        let defaults = [RawStream(std::ptr::null_mut()), RawStream::LEGACY, RawStream::PER_THREAD];
        defaults.contains(&self.as_raw())
    }

    /// The stream, for one piece of work. No other thread queues meanwhile if what it would use is another stream; if one did
    /// before, all that it queued has been waited for.
    pub fn enter(&self) -> Result<Entered<'_>> {
        let Some(last) = &self.last else {
            return Ok(Entered { stream: &self.stream, _last: None });
        };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let here = thread::current().id();
        if *last != here {
            // That thread's default stream has no name here.
            self.stream.context().synchronize()?;
            *last = here;
        }
        Ok(Entered { stream: &self.stream, _last: Some(last) })
    }
}

/// A stream that may be used now.
pub(super) struct Entered<'a> {
    stream: &'a Stream,
    _last: Option<MutexGuard<'a, ThreadId>>,
}

impl Deref for Entered<'_> {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        self.stream
    }
}
