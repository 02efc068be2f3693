//! Device memory that several processes of one host reach.

use std::ffi::c_void;
use std::fmt;

use crate::functions::SharedFunctions;
use crate::handle::RawMemoryHandle;
use crate::{Context, DeviceAddress, Error};

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: of another device too, if this one reaches it.
const FROM_PEERS: u32 = 1;

/// `CU_POINTER_ATTRIBUTE_BUFFER_ID`.
const BUFFER_ID: u32 = 7;

/// What another process needs to [open](OpenedMemory::open) an allocation: bytes to be sent to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MemoryHandle(pub [u8; 64]);

impl fmt::Debug for MemoryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryHandle")
    }
}

impl Context {
    /// The handle of the allocation that starts at an address, and came from [`allocate`](Self::allocate) or its likes. Memory of a pool has
    /// none.
    ///
    /// # Errors
    /// What the driver answers, and [`Error::Call`] with code 801 where processes share no memory.
    pub fn share(&self, address: DeviceAddress) -> Result<MemoryHandle, Error> {
        let functions = shared(self)?;
        let _current = self.enter()?;
        let mut handle = RawMemoryHandle([0; 64]);
        // SAFETY: `handle` is a place for one; the address is only looked up.
        unsafe { functions.cuIpcGetMemHandle(&mut handle, address) }?;
        Ok(MemoryHandle(handle.0))
    }

    /// A number that no other allocation of the process has, has had, or will have.
    ///
    /// # Errors
    /// What the driver answers: code 1 for an address that lies in no memory of the driver's.
    pub fn allocation_id(&self, address: DeviceAddress) -> Result<u64, Error> {
        let _current = self.enter()?;
        let mut id = 0u64;
        let place = (&raw mut id).cast::<c_void>();
        // SAFETY: this attribute is a number of 64 bits; the address is only looked up.
        unsafe { self.functions().cuPointerGetAttribute(place, BUFFER_ID, address) }?;
        Ok(id)
    }
}

/// Memory of another process, at an address of this one. Dropped, it is closed, which waits for what the device does.
pub struct OpenedMemory {
    context: Context,
    functions: &'static SharedFunctions,
    address: DeviceAddress,
}

impl OpenedMemory {
    /// Opens what another process of this host [shares](Context::share), on whatever device of this process it is.
    ///
    /// # Errors
    /// What the driver answers: code 217 where the device does not reach the memory, 400 or 1 for a handle that is none of this host's.
    pub fn open(context: &Context, handle: &MemoryHandle) -> Result<Self, Error> {
        let functions = shared(context)?;
        let _current = context.enter()?;
        let mut address = 0;
        // SAFETY: `address` is a place for an address; whatever the handle's bytes are, the driver checks them.
        unsafe {
            functions.cuIpcOpenMemHandle_v2(&mut address, RawMemoryHandle(handle.0), FROM_PEERS)
        }?;
        Ok(OpenedMemory { context: context.clone(), functions, address })
    }

    /// Where the allocation starts in this process.
    pub fn address(&self) -> DeviceAddress {
        self.address
    }
}

impl Drop for OpenedMemory {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // SAFETY: it was opened once, and nobody has its address any more. A failure is one of earlier work: nobody is left to tell.
            let _ = unsafe { self.functions.cuIpcCloseMemHandle(self.address) };
        }
    }
}

impl fmt::Debug for OpenedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenedMemory").field(&self.address).finish()
    }
}

fn shared(context: &Context) -> Result<&'static SharedFunctions, Error> {
    /// `CUDA_ERROR_NOT_SUPPORTED`.
    const NOT_SUPPORTED: u32 = 801;
    let functions = context.device().driver.shared.as_ref();
    functions.ok_or_else(|| Error::call("cuIpcGetMemHandle", NOT_SUPPORTED))
}
