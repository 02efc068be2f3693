//! Host memory that the GPU can reach: pinned, mapped and unified.

use crate::device::HostAllocation;
use crate::memory_kind::MemoryKind;
use crate::{Error, Result};
use cuda_driver::{Context, DeviceAttribute, HostMemoryFlags};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What allocates host memory for a device.
pub(super) struct HostMemory {
    context: Context,
    /// The bytes of unified memory in use.
    unified: AtomicU64,
}

impl HostMemory {
    pub fn new(context: &Context) -> Self {
        HostMemory { context: context.clone(), unified: AtomicU64::new(0) }
    }

    /// `bytes` zero bytes.
    pub fn allocate(&self, kind: MemoryKind, bytes: u64) -> Result<HostAllocation> {
        let count = usize::try_from(bytes).map_err(|_| self.out_of_memory(bytes))?;
        let (host, address) = match kind {
            MemoryKind::Pinned => {
                (self.context.allocate_host(count, HostMemoryFlags::PORTABLE)?, 0)
            }
            MemoryKind::Mapped => self.mapped(count)?,
            MemoryKind::Unified => {
                let address = self.unified(count)?;
                (address as *mut u8, address)
            }
        };
        // SAFETY: as many bytes were just allocated, and no kernel knows of them yet. They are
        // zeroed because a slice of them must not be uninitialized.
        unsafe { host.write_bytes(0, count) };
        Ok(HostAllocation { host: NonNull::new(host), address })
    }

    /// Gives an allocation back.
    ///
    /// # Safety
    /// It came from `allocate` for that kind; neither host nor GPU uses it any more.
    pub unsafe fn free(&self, kind: MemoryKind, allocation: HostAllocation) {
        let Some(host) = allocation.host else { return };
        // A failure would be one of earlier work, which later calls report.
        match kind {
            MemoryKind::Pinned | MemoryKind::Mapped => {
                // SAFETY: the caller gives the allocation up.
                let _ = unsafe { self.context.free_host(host.as_ptr()) };
            }
            MemoryKind::Unified => {
                let bytes = self.context.allocation_around(allocation.address);
                // SAFETY: the caller gives the allocation up.
                let _ = unsafe { self.context.free(allocation.address) };
                self.unified.fetch_sub(bytes.map_or(0, |(_, size)| size as u64), Ordering::Relaxed);
            }
        }
    }

    /// Page-locked memory that kernels reach, and where they do.
    fn mapped(&self, bytes: usize) -> Result<(*mut u8, u64)> {
        let host = self.context.allocate_host(bytes, HostMemoryFlags::PORTABLE_MAPPED)?;
        // SAFETY: it was just allocated.
        match unsafe { self.context.address_of_host(host) } {
            Ok(address) => Ok((host, address)),
            Err(error) => {
                // SAFETY: nobody knows of it yet.
                let _ = unsafe { self.context.free_host(host) };
                Err(error.into())
            }
        }
    }

    /// Unified memory that the host may touch at any time, and that fits the GPU's own memory
    /// together with all that there is already: pages that do not fit are moved to and fro
    /// without end.
    fn unified(&self, bytes: usize) -> Result<u64> {
        let device = self.context.device();
        if device.attribute(DeviceAttribute::CONCURRENT_MANAGED_ACCESS)? == 0 {
            return Err(Error::Unsupported {
                device: device.name().unwrap_or_default(),
                what: "unified memory that the host may touch while kernels run",
            });
        }
        let free = self.context.memory_info()?.free as u64;
        let in_use = self.unified.fetch_add(bytes as u64, Ordering::Relaxed);
        let allocated = match in_use.saturating_add(bytes as u64) > free {
            true => Err(self.out_of_memory(bytes as u64)),
            false => self.context.allocate_unified(bytes).map_err(Error::from),
        };
        allocated.inspect_err(|_| _ = self.unified.fetch_sub(bytes as u64, Ordering::Relaxed))
    }

    fn out_of_memory(&self, bytes: u64) -> Error {
        Error::OutOfMemory { device: self.context.device().name().unwrap_or_default(), bytes }
    }
}
