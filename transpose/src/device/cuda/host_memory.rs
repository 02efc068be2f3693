//! Host memory that the GPU can reach: pinned, mapped and unified.

use super::check;
use crate::device::HostAllocation;
use crate::study::MemoryKind;
use crate::{Error, Result};
use cust::device::Device;
use cust::sys::{self, CUdevice_attribute};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

/// The driver's answer when there is no memory left.
const OUT_OF_MEMORY: u32 = 2;

/// Page-locked for every context of the process, not only the current one (`PORTABLE`).
const PORTABLE: u32 = 1;

/// In the address space of the GPU (`DEVICEMAP`).
const MAPPED: u32 = 2;

/// Reachable from every stream (`CU_MEM_ATTACH_GLOBAL`).
const ATTACH_GLOBAL: u32 = 1;

/// What allocates host memory for a device.
pub(super) struct HostMemory {
    device: Device,
    /// The bytes of unified memory in use.
    unified: AtomicU64,
}

impl HostMemory {
    pub fn new(device: Device) -> Self {
        HostMemory { device, unified: AtomicU64::new(0) }
    }

    /// `bytes` zero bytes. The device's context is current.
    pub fn allocate(&self, kind: MemoryKind, bytes: u64) -> Result<HostAllocation> {
        let count = usize::try_from(bytes).map_err(|_| Error::Cuda {
            operation: "allocating host memory",
            code: OUT_OF_MEMORY,
        })?;
        let (host, address) = match kind {
            MemoryKind::Pinned => (page_locked(count, PORTABLE)?, 0),
            MemoryKind::Mapped => {
                let host = page_locked(count, PORTABLE | MAPPED)?;
                (host, address_of_mapped(host).inspect_err(|_| free_page_locked(host))?)
            }
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
    /// It came from `allocate` for that kind; neither host nor GPU uses it any more; the device's
    /// context is current.
    pub unsafe fn free(&self, kind: MemoryKind, allocation: HostAllocation) {
        let Some(host) = allocation.host else { return };
        match kind {
            MemoryKind::Pinned | MemoryKind::Mapped => free_page_locked(host.as_ptr()),
            MemoryKind::Unified => {
                let bytes = unified_size(allocation.address);
                // SAFETY: the caller gives the allocation up. A failure would be one of earlier
                // work, which later calls report.
                let _ = unsafe { sys::cuMemFree_v2(allocation.address) };
                self.unified.fetch_sub(bytes, Ordering::Relaxed);
            }
        }
    }

    /// Unified memory that the host may touch at any time, and that fits the GPU's own memory
    /// together with all that there is already: pages that do not fit are moved to and fro
    /// without end.
    fn unified(&self, bytes: usize) -> Result<u64> {
        use CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS as CONCURRENT;
        const OPERATION: &str = "allocating unified memory";
        if attribute(&self.device, CONCURRENT)? == 0 {
            return Err(Error::Unsupported {
                device: self.device.name().unwrap_or_default(),
                what: "unified memory that the host may touch while kernels run",
            });
        }
        let (mut free, mut total) = (0, 0);
        // SAFETY: both outlive the call, which writes them.
        check("asking for free memory", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        let in_use = self.unified.fetch_add(bytes as u64, Ordering::Relaxed);
        let give_back = || self.unified.fetch_sub(bytes as u64, Ordering::Relaxed);
        if in_use.saturating_add(bytes as u64) > free as u64 {
            give_back();
            return Err(Error::Cuda { operation: OPERATION, code: OUT_OF_MEMORY });
        }
        let mut address = 0;
        // SAFETY: `address` outlives the call, which writes it.
        check(OPERATION, unsafe { sys::cuMemAllocManaged(&mut address, bytes, ATTACH_GLOBAL) })
            .inspect_err(|_| _ = give_back())?;
        Ok(address)
    }
}

/// Page-locked host memory.
fn page_locked(bytes: usize, flags: u32) -> Result<*mut u8> {
    let mut host: *mut c_void = null_mut();
    // SAFETY: `host` outlives the call, which writes it.
    check("allocating page-locked memory", unsafe {
        sys::cuMemHostAlloc(&mut host, bytes, flags)
    })?;
    Ok(host.cast())
}

/// Gives back what `page_locked` returned.
fn free_page_locked(host: *mut u8) {
    // SAFETY: the pointer came from `cuMemHostAlloc`, and its owner is giving it up. A failure
    // would be one of earlier work, which later calls report.
    let _ = unsafe { sys::cuMemFreeHost(host.cast()) };
}

/// Where kernels find mapped memory.
fn address_of_mapped(host: *mut u8) -> Result<u64> {
    let mut address = 0;
    // SAFETY: the pointer came from `cuMemHostAlloc`; `address` outlives the call.
    check("asking for the address of mapped memory", unsafe {
        sys::cuMemHostGetDevicePointer_v2(&mut address, host.cast(), 0)
    })?;
    Ok(address)
}

/// The size of a unified allocation.
fn unified_size(address: u64) -> u64 {
    let (mut base, mut size) = (0, 0);
    // SAFETY: both outlive the call; the address is only looked up.
    let answer = unsafe { sys::cuMemGetAddressRange_v2(&mut base, &mut size, address) };
    if answer as u32 == 0 { size as u64 } else { 0 }
}

fn attribute(device: &Device, attribute: CUdevice_attribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: `value` outlives the call, which writes it.
    check("asking for a device attribute", unsafe {
        sys::cuDeviceGetAttribute(&mut value, attribute, device.as_raw())
    })?;
    Ok(value)
}
