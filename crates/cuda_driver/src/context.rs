//! The context in which all work on a device is done.
//!
//! Most calls of the driver work in the *current* context of the calling thread. Every operation of this crate makes
//! its own context current for as long as it takes, and then puts back what was current before: a caller sees no
//! change, and it does not matter which thread calls, or drops.

use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::functions::Functions;
use crate::{Device, Driver, Error, RawContext, RawDevice};

/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
const ALREADY_ENABLED: u32 = 704;

/// A device's primary context, which everybody in the process shares who does not make one of their own; or one that
/// somebody has made.
///
/// A primary context is retained as long as a clone of this or anything made in it lives.
#[derive(Clone, Debug)]
pub struct Context(Arc<Held>);

#[derive(Debug)]
struct Held {
    device: Device,
    raw: RawContext,
    /// Whether it is the primary one, and was retained.
    retained: bool,
}

impl Context {
    /// Retains the primary context of a device. The calling thread's current context stays.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn primary(device: Device) -> Result<Self, Error> {
        let mut raw = RawContext::NULL;
        // SAFETY: `raw` is a place for a context.
        unsafe { device.functions().cuDevicePrimaryCtxRetain(&mut raw, device.raw) }?;
        Ok(Context(Arc::new(Held { device, raw, retained: true })))
    }

    /// A context that others have made. The calling thread's current context stays.
    ///
    /// # Safety
    /// The context lives as long as a clone of this or anything made in it.
    ///
    /// # Errors
    /// What the driver answers: code 201 for no context.
    pub unsafe fn borrowed(driver: &'static Driver, raw: RawContext) -> Result<Self, Error> {
        let device = Device { driver, raw: RawDevice(0) };
        let context = Context(Arc::new(Held { device, raw, retained: false }));
        let mut of = RawDevice(0);
        {
            let _current = context.enter()?;
            // SAFETY: `of` is a place for a device.
            unsafe { driver.functions.cuCtxGetDevice(&mut of) }?;
        }
        let device = Device { driver, raw: of };
        Ok(Context(Arc::new(Held { device, raw, retained: false })))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The driver's name for it.
    pub fn as_raw(&self) -> RawContext {
        self.0.raw
    }

    /// Makes this the calling thread's current context until the guard is dropped.
    ///
    /// Operations do that by themselves; who calls several in a row saves time by doing it around them.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn enter(&self) -> Result<Current<'_>, Error> {
        let functions = self.functions();
        let mut current = RawContext::NULL;
        // SAFETY: `current` is a place for a context.
        unsafe { functions.cuCtxGetCurrent(&mut current) }?;
        // To ask is several times as fast as to push and pop.
        let pushed = current != self.as_raw();
        if pushed {
            // SAFETY: the context is retained, or its owner vouches that it lives.
            unsafe { functions.cuCtxPushCurrent_v2(self.as_raw()) }?;
        }
        Ok(Current { context: self, pushed, thread: PhantomData })
    }

    /// Waits until all that was queued in the context is done, on whatever stream.
    ///
    /// # Errors
    /// What the driver answers, failures of queued work included.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: the context is current.
        unsafe { self.functions().cuCtxSynchronize() }
    }

    /// Has what runs in this context reach the memory of a context of another device: what was allocated there, and will be, but for
    /// memory of pools, which [grant access](crate::MemoryPool::let_access) by themselves. Enabled once, it stays so.
    ///
    /// # Errors
    /// What the driver answers: code 217 for a device that [cannot](Device::can_access).
    pub fn enable_peer(&self, peer: &Context) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: both contexts live; 0 is the one permitted flag.
        match unsafe { self.functions().cuCtxEnablePeerAccess(peer.as_raw(), 0) } {
            Err(error) if error.code() == Some(ALREADY_ENABLED) => Ok(()),
            enabled => enabled,
        }
    }

    /// The priorities that streams of the context can have, from the highest, which is the smallest number, to the lowest.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn stream_priorities(&self) -> Result<RangeInclusive<i32>, Error> {
        let _current = self.enter()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are places for integers.
        unsafe { self.functions().cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }?;
        Ok(greatest..=least)
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.0.device.functions()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.retained {
            return;
        }
        // SAFETY: it was retained once, and nothing that was made in it is left. A failure is one of earlier work, or
        // the process is ending: nobody is left to tell.
        let _ = unsafe { self.device.functions().cuDevicePrimaryCtxRelease_v2(self.device.raw) };
    }
}

/// The calling thread has a [`Context`] for its current one; dropped, it has what it had before.
#[derive(Debug)]
#[must_use = "dropped, the context is left again"]
pub struct Current<'a> {
    context: &'a Context,
    pushed: bool,
    /// What is current is a thread's own affair.
    thread: PhantomData<*mut ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = RawContext::NULL;
            // SAFETY: what was pushed is popped, on the same thread. The driver's one reason to refuse is that it is
            // shutting down.
            let _ = unsafe { self.context.functions().cuCtxPopCurrent_v2(&mut popped) };
        }
    }
}
