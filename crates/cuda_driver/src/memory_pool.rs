//! Device memory that is given and taken back in the order of a stream.

use std::ffi::c_void;

use crate::functions::{PoolFunctions, RawAccess, RawPoolProperties};
use crate::{Context, Device, DeviceAddress, DeviceAttribute, Error, RawMemoryPool, Stream};

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: u32 = 4;

/// `CUDA_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: u32 = 801;

/// A pool of a device's memory. Dropped, it gives back all that it holds, at the latest when the last
/// allocation from it is freed.
pub struct MemoryPool {
    context: Context,
    functions: &'static PoolFunctions,
    raw: RawMemoryPool,
}

impl MemoryPool {
    /// A pool that keeps up to `release_threshold` bytes of freed memory for its next allocations; what it
    /// holds beyond that goes back to the device whenever something is waited for.
    ///
    /// `None` where the driver (before CUDA 11.2) or the device has no pools.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn new(context: &Context, release_threshold: u64) -> Result<Option<Self>, Error> {
        let device = context.device();
        let Some(functions) = &device.driver.pools else { return Ok(None) };
        if device.attribute(DeviceAttribute::MEMORY_POOLS_SUPPORTED)? == 0 {
            return Ok(None);
        }
        let _current = context.enter()?;
        let mut raw = RawMemoryPool::NULL;
        let properties = RawPoolProperties::on_device(device.raw.0);
        // SAFETY: `raw` is a place for a pool; the driver reads the properties before it returns.
        match unsafe { functions.cuMemPoolCreate(&mut raw, &properties) } {
            // Of a device that is shared out among virtual machines the attribute may promise too much.
            Err(error) if error.code() == Some(NOT_SUPPORTED) => return Ok(None),
            created => created?,
        }
        let pool = MemoryPool { context: context.clone(), functions, raw };
        let mut threshold = release_threshold;
        // SAFETY: the pool lives; the driver reads the value of this attribute as 64 bits.
        unsafe {
            let value = (&raw mut threshold).cast::<c_void>();
            functions.cuMemPoolSetAttribute(raw, RELEASE_THRESHOLD, value)
        }?;
        Ok(Some(pool))
    }

    /// `bytes` > 0 bytes of device memory, aligned to 256, holding whatever they held, for work that is queued on
    /// `stream` after this call.
    ///
    /// # Errors
    /// What the driver answers: [`Error::OUT_OF_MEMORY`] where it has none.
    pub fn allocate(&self, bytes: usize, stream: &Stream) -> Result<DeviceAddress, Error> {
        let _current = self.context.enter()?;
        let (mut address, raw) = (0, stream.as_raw());
        // SAFETY: `address` is a place for an address; the pool and the stream live.
        unsafe { self.functions.cuMemAllocFromPoolAsync(&mut address, bytes, self.raw, raw) }?;
        Ok(address)
    }

    /// Gives memory back once all is done that was queued on `stream` before this call.
    ///
    /// # Safety
    /// - The address came from [`allocate`](Self::allocate) of this pool, and is given back once.
    /// - Nothing uses the memory any more but work that was queued on `stream` before.
    ///
    /// # Errors
    /// What the driver answers, failures of earlier work included.
    pub unsafe fn free(&self, address: DeviceAddress, stream: &Stream) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.functions.cuMemFreeAsync(address, stream.as_raw()) }
    }

    /// Has another device's kernels and copies reach all that is and will be allocated from the pool.
    ///
    /// # Errors
    /// What the driver answers: code 101 for a device that [cannot](Device::can_access).
    pub fn let_access(&self, device: &Device) -> Result<(), Error> {
        let _current = self.context.enter()?;
        let access = RawAccess::of_device(device.raw.0);
        // SAFETY: the pool lives; the driver reads the one description before it returns.
        unsafe { self.functions.cuMemPoolSetAccess(self.raw, &access, 1) }
    }

    /// Gives the device back what no allocation uses, down to `keep` bytes.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn trim(&self, keep: usize) -> Result<(), Error> {
        let _current = self.context.enter()?;
        // SAFETY: the pool lives.
        unsafe { self.functions.cuMemPoolTrimTo(self.raw, keep) }
    }
}

impl Drop for MemoryPool {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: nobody has the pool any more; the driver keeps it until its last allocation is freed. A failure is
            // one of earlier work: nobody is left to tell.
            let _ = unsafe { self.functions.cuMemPoolDestroy(self.raw) };
        }
    }
}

impl std::fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryPool").field("raw", &self.raw).finish_non_exhaustive()
    }
}
