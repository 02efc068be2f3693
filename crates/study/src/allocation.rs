//! Host memory that a GPU reaches, as the driver gives it: pinned, mapped and unified.

use crate::memory_kind::MemoryKind;
use crate::{Error, Result};
use cuda_driver::{Context, DeviceAttribute, Driver, HostMemoryFlags};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Zero bytes at first, given back when dropped.
#[derive(Debug)]
pub(crate) struct Allocation {
    context: Context,
    kind: MemoryKind,
    host: NonNull<u8>,
    address: u64,
    /// The bytes counted as unified memory in use.
    _unified: Unified,
}

impl Allocation {
    /// `bytes` > 0 zero bytes of that kind for the GPU of that ordinal.
    ///
    /// # Errors
    /// [`transpose::Error::OutOfMemory`], [`Error::NoConcurrentAccess`], and what the driver answers.
    pub fn zeroed(ordinal: u32, kind: MemoryKind, bytes: usize) -> Result<Self> {
        let context = Context::primary(Driver::get()?.device(ordinal)?)?;
        let mut unified = Unified { ordinal, bytes: 0 };
        let allocated = match kind {
            MemoryKind::Pinned => {
                context.allocate_host(bytes, HostMemoryFlags::PORTABLE).map(|host| (host, 0))
            }
            MemoryKind::Mapped => mapped(&context, bytes),
            MemoryKind::Unified => {
                unified.reserve(&context, bytes)?;
                context.allocate_unified(bytes).map(|address| (address as *mut u8, address))
            }
        };
        let (host, address) = allocated.map_err(|error| match error.code() {
            Some(cuda_driver::Error::OUT_OF_MEMORY) => out_of_memory(&context, bytes),
            _ => error.into(),
        })?;
        let host = NonNull::new(host).ok_or_else(|| out_of_memory(&context, bytes))?;
        // SAFETY: as many bytes were just allocated, and no kernel knows of them yet. They are
        // zeroed because a slice of them must not be uninitialized.
        unsafe { host.write_bytes(0, bytes) };
        Ok(Allocation { context, kind, host, address, _unified: unified })
    }

    /// Where the host finds it.
    pub fn host(&self) -> NonNull<u8> {
        self.host
    }

    /// Where kernels find it; 0 for pinned memory, which they do not reach.
    pub fn address(&self) -> u64 {
        self.address
    }
}

/// Whoever drops an allocation makes sure before that neither host nor GPU uses it any more.
impl Drop for Allocation {
    fn drop(&mut self) {
        // A failure would be one of earlier work, which later calls report.
        let _ = match self.kind {
            // SAFETY: page-locked memory came from this context, and nothing uses it any more.
            MemoryKind::Pinned | MemoryKind::Mapped => unsafe {
                self.context.free_host(self.host.as_ptr())
            },
            // SAFETY: unified memory came from this context, and nothing uses it any more.
            MemoryKind::Unified => unsafe { self.context.free(self.address) },
        };
    }
}

/// Page-locked memory that kernels reach, and where they do.
fn mapped(context: &Context, bytes: usize) -> Result<(*mut u8, u64), cuda_driver::Error> {
    let host = context.allocate_host(bytes, HostMemoryFlags::PORTABLE_MAPPED)?;
    // SAFETY: it was just allocated.
    match unsafe { context.address_of_host(host) } {
        Ok(address) => Ok((host, address)),
        Err(error) => {
            // SAFETY: nobody knows of it yet.
            let _ = unsafe { context.free_host(host) };
            Err(error)
        }
    }
}

fn out_of_memory(context: &Context, bytes: usize) -> Error {
    let device = context.device().name().unwrap_or_default();
    transpose::Error::OutOfMemory { device, bytes: bytes as u64 }.into()
}

/// Bytes of unified memory that a GPU is counted to have in use, until this is dropped.
///
/// The driver hands out more unified memory than the GPU has. Pages that do not fit are then moved to and fro without end.
#[derive(Debug)]
struct Unified {
    ordinal: u32,
    bytes: usize,
}

impl Unified {
    /// Counts `bytes` more, if they fit the GPU's memory together with all that there are already.
    fn reserve(&mut self, context: &Context, bytes: usize) -> Result<()> {
        let device = context.device();
        if device.attribute(DeviceAttribute::CONCURRENT_MANAGED_ACCESS)? == 0 {
            return Err(Error::NoConcurrentAccess { device: device.name().unwrap_or_default() });
        }
        let free = context.memory_info()?.free;
        let mut counted = Self::counted();
        let in_use = counted.entry(self.ordinal).or_default();
        match in_use.checked_add(bytes).filter(|&together| together <= free) {
            Some(together) => {
                *in_use = together;
                self.bytes += bytes;
                Ok(())
            }
            None => Err(out_of_memory(context, bytes)),
        }
    }

    /// The bytes in use, by the ordinal of the GPU.
    fn counted() -> MutexGuard<'static, BTreeMap<u32, usize>> {
        static COUNTED: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());
        COUNTED.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Unified {
    fn drop(&mut self) {
        if self.bytes > 0
            && let Some(in_use) = Self::counted().get_mut(&self.ordinal)
        {
            *in_use -= self.bytes;
        }
    }
}
