//! A point in a device's queue that others can wait for.

use crate::Result;
use std::time::Duration;

/// What a queue was told to come to.
#[derive(Debug)]
pub(crate) enum Mark {
    /// An event of a GPU.
    Cuda(cuda_driver::Event),
    /// Where work is done when the call returns there is nothing to wait for.
    #[cfg(feature = "simulator")]
    Passed,
}

impl Mark {
    /// Whether the device has come to it.
    pub fn is_done(&self) -> Result<bool> {
        match self {
            Mark::Cuda(event) => Ok(event.is_done()?),
            #[cfg(feature = "simulator")]
            Mark::Passed => Ok(true),
        }
    }

    /// Waits until the device has come to it.
    pub fn synchronize(&self) -> Result<()> {
        match self {
            Mark::Cuda(event) => Ok(event.synchronize()?),
            #[cfg(feature = "simulator")]
            Mark::Passed => Ok(()),
        }
    }

    /// The device's time from `start` to this, if it has a clock.
    pub fn elapsed_since(&self, start: &Mark) -> Result<Option<Duration>> {
        match (self, start) {
            (Mark::Cuda(stop), Mark::Cuda(start)) => Ok(Some(stop.elapsed_since(start)?)),
            #[cfg(feature = "simulator")]
            _ => Ok(None),
        }
    }
}
