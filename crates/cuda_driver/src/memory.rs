//! Memory of a context: the device's own, unified, and the host's, page-locked.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::{Context, DeviceAddress, Error};

/// How page-locked host memory may be used: flags of `cuMemHostAlloc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemoryFlags(u32);

impl HostMemoryFlags {
    /// For copies to and from every device.
    pub const PORTABLE: Self = HostMemoryFlags(1);
    /// That, and kernels reach it (see [`Context::address_of_host`]).
    pub const PORTABLE_MAPPED: Self = HostMemoryFlags(1 | 2);
}

/// `CU_MEM_ATTACH_GLOBAL`: unified memory that every stream reaches.
const ATTACH_GLOBAL: u32 = 1;

/// Bytes of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// What could be allocated now.
    pub free: usize,
    /// All that there is.
    pub total: usize,
}

impl Context {
    /// How much of the device's memory is free.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn memory_info(&self) -> Result<MemoryInfo, Error> {
        let _current = self.enter()?;
        let mut info = MemoryInfo { free: 0, total: 0 };
        // SAFETY: both are places for a size.
        unsafe { self.functions().cuMemGetInfo_v2(&mut info.free, &mut info.total) }?;
        Ok(info)
    }

    /// `bytes` > 0 bytes of device memory, aligned to 256, holding whatever they held.
    ///
    /// # Errors
    /// What the driver answers: [`Error::OUT_OF_MEMORY`] where it has none.
    pub fn allocate(&self, bytes: usize) -> Result<DeviceAddress, Error> {
        let _current = self.enter()?;
        let mut address = 0;
        // SAFETY: `address` is a place for an address.
        unsafe { self.functions().cuMemAlloc_v2(&mut address, bytes) }?;
        Ok(address)
    }

    /// `bytes` > 0 bytes of unified memory, which host and kernels find at the same address.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn allocate_unified(&self, bytes: usize) -> Result<DeviceAddress, Error> {
        let _current = self.enter()?;
        let mut address = 0;
        // SAFETY: `address` is a place for an address.
        unsafe { self.functions().cuMemAllocManaged(&mut address, bytes, ATTACH_GLOBAL) }?;
        Ok(address)
    }

    /// Gives device or unified memory back.
    ///
    /// # Safety
    /// - The address came from [`allocate`](Self::allocate) or [`allocate_unified`](Self::allocate_unified) of this
    ///   context, and is given back once.
    /// - Nothing uses the memory any more: all work on it is done, not only queued.
    ///
    /// # Errors
    /// What the driver answers, failures of earlier work included.
    pub unsafe fn free(&self, address: DeviceAddress) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.functions().cuMemFree_v2(address) }
    }

    /// The allocation that an address lies in: its first address and its bytes.
    ///
    /// # Errors
    /// What the driver answers: code 500 for an address that lies in none.
    pub fn allocation_around(
        &self,
        address: DeviceAddress,
    ) -> Result<(DeviceAddress, usize), Error> {
        let _current = self.enter()?;
        let (mut base, mut bytes) = (0, 0);
        // SAFETY: both are places for a number; the address is only looked up.
        unsafe { self.functions().cuMemGetAddressRange_v2(&mut base, &mut bytes, address) }?;
        Ok((base, bytes))
    }

    /// `bytes` > 0 bytes of page-locked host memory, aligned to a page, holding whatever they held.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn allocate_host(&self, bytes: usize, flags: HostMemoryFlags) -> Result<*mut u8, Error> {
        let _current = self.enter()?;
        let mut host: *mut c_void = null_mut();
        // SAFETY: `host` is a place for a pointer.
        unsafe { self.functions().cuMemHostAlloc(&mut host, bytes, flags.0) }?;
        Ok(host.cast())
    }

    /// Locks the pages of a program's own memory, so that every device reaches it.
    ///
    /// # Safety
    /// `bytes` > 0 bytes from `host` on are memory of this process, and stay so until they are
    /// [unregistered](Self::unregister_host).
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn register_host(
        &self,
        host: *mut u8,
        bytes: usize,
        flags: HostMemoryFlags,
    ) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: the caller's obligation.
        unsafe { self.functions().cuMemHostRegister_v2(host.cast(), bytes, flags.0) }
    }

    /// Unlocks memory that was [registered](Self::register_host).
    ///
    /// # Safety
    /// - The pointer was registered with this context, and is unregistered once.
    /// - No work of any device uses the memory any more.
    ///
    /// # Errors
    /// What the driver answers, failures of earlier work included.
    pub unsafe fn unregister_host(&self, host: *mut u8) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.functions().cuMemHostUnregister(host.cast()) }
    }

    /// Where kernels find page-locked memory that is mapped.
    ///
    /// # Safety
    /// The pointer came from [`allocate_host`](Self::allocate_host) of this context, and was not given back.
    ///
    /// # Errors
    /// What the driver answers: code 1 for memory that is not mapped.
    pub unsafe fn address_of_host(&self, host: *mut u8) -> Result<DeviceAddress, Error> {
        let _current = self.enter()?;
        let mut address = 0;
        // SAFETY: `address` is a place for an address; the rest is the caller's obligation.
        unsafe { self.functions().cuMemHostGetDevicePointer_v2(&mut address, host.cast(), 0) }?;
        Ok(address)
    }

    /// Gives page-locked host memory back.
    ///
    /// # Safety
    /// - The pointer came from [`allocate_host`](Self::allocate_host) of this context, and is given back once.
    /// - Neither the host nor work of any device uses the memory any more.
    ///
    /// # Errors
    /// What the driver answers, failures of earlier work included.
    pub unsafe fn free_host(&self, host: *mut u8) -> Result<(), Error> {
        let _current = self.enter()?;
        // SAFETY: the caller's obligations.
        unsafe { self.functions().cuMemFreeHost(host.cast()) }
    }
}
