//! A kernel of a loaded module, and its shared memory: the driver is asked and told of it once, not at every launch.

use crate::Result;
use cuda_driver::FunctionAttribute as Attribute;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How much of a multiprocessor's shared memory goes to blocks whose number is limited: 132 of 228 KiB on
/// compute capability 9.0.
const SHARED_PERCENT: usize = 58;

/// A kernel that can be launched.
pub(super) struct Function {
    loaded: cuda_driver::Function,
    /// The bytes of shared memory that the kernel declares.
    declared_shared: usize,
    /// Whether it waits by itself for the launches before it, so that its own may come before those are done.
    waits: bool,
    /// Whether the driver was told to give its blocks [`SHARED_PERCENT`].
    divided: AtomicBool,
}

impl Function {
    /// A kernel whose launches may have all the `block_shared` bytes of a block: without being asked, the
    /// driver stops at 48 KiB.
    pub fn new(loaded: cuda_driver::Function, waits: bool, block_shared: usize) -> Result<Self> {
        let declared_shared = loaded.attribute(Attribute::SHARED_SIZE_BYTES)? as usize;
        let dynamic = block_shared.saturating_sub(declared_shared);
        loaded.set_attribute(Attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic as i32)?;
        Ok(Function { loaded, declared_shared, waits, divided: AtomicBool::new(false) })
    }

    pub fn loaded(&self) -> &cuda_driver::Function {
        &self.loaded
    }

    /// Whether it waits by itself for the launches before it.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// The dynamic shared memory with which `blocks` blocks fill [`SHARED_PERCENT`] of a multiprocessor's shared
    /// memory, which they get from now on; 0, and the driver's choice, if they declare as much.
    pub fn filling_share(&self, multiprocessor_shared: usize, blocks: u32) -> Result<u32> {
        let share = multiprocessor_shared * SHARED_PERCENT / 100 / blocks as usize;
        // The driver keeps 1 KiB of every block's, and allocates by 128 bytes.
        let block = share.saturating_sub(1 << 10) / 128 * 128;
        if block <= self.declared_shared {
            return Ok(0);
        }
        // Two threads that come here at once tell the driver the same.
        if !self.divided.load(Relaxed) {
            let carveout = Attribute::PREFERRED_SHARED_MEMORY_CARVEOUT;
            self.loaded.set_attribute(carveout, SHARED_PERCENT as i32)?;
            self.divided.store(true, Relaxed);
        }
        Ok((block - self.declared_shared) as u32)
    }
}
