//! A kernel of a loaded module, and its shared memory: the driver is asked and told of it once, not at every launch.

use super::check;
use crate::Result;
use cust::sys;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use sys::CUfunction_attribute as Attribute;

/// How much of a multiprocessor's shared memory goes to blocks whose number is limited: 132 of 228 KiB on
/// compute capability 9.0.
const SHARED_PERCENT: usize = 58;

/// A kernel that can be launched.
pub(super) struct Function {
    handle: sys::CUfunction,
    /// The bytes of shared memory that the kernel declares.
    declared_shared: usize,
    /// Whether it waits by itself for the launches before it, so that its own may come before those are done.
    waits: bool,
    /// Whether the driver was told to give its blocks [`SHARED_PERCENT`].
    divided: AtomicBool,
}

// SAFETY: the handle is a name that the driver accepts from any thread.
unsafe impl Send for Function {}
// SAFETY: as above; the rest is shared safely by itself.
unsafe impl Sync for Function {}

impl Function {
    /// A kernel whose launches may have all the `block_shared` bytes of a block: without being asked, the
    /// driver stops at 48 KiB.
    pub fn new(handle: sys::CUfunction, waits: bool, block_shared: usize) -> Result<Self> {
        let mut declared = 0;
        // SAFETY: the driver writes one number; the function is one that it named.
        check("asking for a kernel's shared memory", unsafe {
            sys::cuFuncGetAttribute(
                &mut declared,
                Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                handle,
            )
        })?;
        let declared_shared = declared as usize;
        let function = Function { handle, declared_shared, waits, divided: AtomicBool::new(false) };
        function.set(
            "allowing a kernel its shared memory",
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            block_shared.saturating_sub(declared_shared),
        )?;
        Ok(function)
    }

    pub fn handle(&self) -> sys::CUfunction {
        self.handle
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
            self.set(
                "dividing on-chip memory",
                Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                SHARED_PERCENT,
            )?;
            self.divided.store(true, Relaxed);
        }
        Ok((block - self.declared_shared) as u32)
    }

    fn set(&self, operation: &'static str, attribute: Attribute, value: usize) -> Result<()> {
        // SAFETY: the function is one that the driver named.
        check(operation, unsafe { sys::cuFuncSetAttribute(self.handle, attribute, value as i32) })
    }
}
