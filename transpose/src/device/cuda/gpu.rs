//! What all queues of a GPU share: the context, what the GPU is like, its memory and its kernels.

use super::kernels::Kernels;
use super::memory::Memory;
use crate::device::host_memory::Retired;
use crate::{Error, Facts, Result};
use cuda_driver::{Context, DeviceAttribute, Driver, RawContext};
use std::any::Any;
use std::sync::Arc;

/// What keeps a context and a stream alive that others have made.
pub(in crate::device) type Keep = Arc<dyn Any + Send + Sync>;

/// A GPU, in one context.
pub(super) struct Gpu {
    pub ordinal: u32,
    pub facts: Facts,
    pub kernels: Kernels,
    pub memory: Memory,
    /// Before the context, which it is of.
    pub retired: Retired,
    pub context: Context,
    /// The last to go.
    _keep: Option<Keep>,
}

impl Gpu {
    /// The GPU of that ordinal, in its primary context.
    pub fn primary(ordinal: u32) -> Result<Self> {
        let driver = Driver::get().map_err(|error| no_driver(error, ordinal))?;
        let count = driver.device_count()?;
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let device = driver.device(ordinal)?;
        let facts = facts(&device)?;
        Self::of(ordinal, facts, Context::primary(device)?, None)
    }

    /// The GPU of a context.
    ///
    /// # Safety
    /// The context lives as long as `keep` or, without it, as long as this.
    pub unsafe fn borrowed(raw: RawContext, keep: Option<Keep>) -> Result<Self> {
        let driver = Driver::get().map_err(|error| no_driver(error, 0))?;
        // SAFETY: the caller's obligation.
        let context = unsafe { Context::borrowed(driver, raw)? };
        // The driver's numbers for its devices are their ordinals.
        let ordinal = u32::try_from(context.device().as_raw().0).unwrap_or(0);
        let facts = facts(context.device())?;
        Self::of(ordinal, facts, context, keep)
    }

    /// Has kernels of this GPU reach all memory that `peer` allocates; `false` if they cannot. Asked again, it does no harm.
    pub fn reach(&self, peer: &Gpu) -> Result<bool> {
        if self.ordinal == peer.ordinal {
            // Memory of pools is in no context.
            return Ok(self.context.as_raw() == peer.context.as_raw() || peer.memory.is_pooled());
        }
        if !self.context.device().can_access(peer.context.device())? {
            return Ok(false);
        }
        self.context.enable_peer(&peer.context)?;
        peer.memory.let_access(&self.context)?;
        Ok(true)
    }

    fn of(ordinal: u32, facts: Facts, context: Context, keep: Option<Keep>) -> Result<Self> {
        let kernels = Kernels::new(&context, facts.compute_capability, facts.block_shared);
        let memory = Memory::new(&context)?;
        let retired = Retired::default();
        Ok(Gpu { ordinal, facts, kernels, memory, retired, context, _keep: keep })
    }
}

/// How many GPUs the driver sees.
pub(crate) fn count() -> Result<u32> {
    match Driver::get().map_err(|error| no_driver(error, 0)) {
        Ok(driver) => Ok(driver.device_count()?),
        Err(Error::NoDevice { count, .. }) => Ok(count),
        Err(error) => Err(error),
    }
}

/// Why there is no driver to ask for a device; one that starts and sees no GPU has no device.
fn no_driver(error: cuda_driver::Error, ordinal: u32) -> Error {
    const NO_DEVICE: u32 = 100;
    match error.code() {
        None => error.into(),
        Some(NO_DEVICE) => Error::NoDevice { ordinal, count: 0 },
        Some(_) => Error::NoDriver { reason: error.to_string(), attempts: Vec::new() },
    }
}

/// Asks the device what it is like.
fn facts(device: &cuda_driver::Device) -> Result<Facts> {
    let ask = |attribute| device.attribute(attribute).map(|value| value as usize);
    Ok(Facts {
        name: device.name()?,
        compute_capability: device.compute_capability()?,
        multiprocessors: ask(DeviceAttribute::MULTIPROCESSOR_COUNT)?,
        block_shared: ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        multiprocessor_shared: ask(DeviceAttribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        side_by_side: true,
        in_turn: false,
    })
}
