//! The driver's names for its objects, as the driver has them.

use std::ffi::c_void;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        ///
        /// A name, not the object: it may outlive what it names, and copying it copies nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub *mut c_void);

        impl $name {
            /// No object.
            pub const NULL: Self = $name(std::ptr::null_mut());
        }

        // SAFETY: the driver takes its names from any thread; nothing is reached through the pointer here.
        unsafe impl Send for $name {}
        // SAFETY: a name is copied, and nothing is reached through the pointer.
        unsafe impl Sync for $name {}
    )* };
}

handles! {
    /// A `CUcontext`.
    RawContext
    /// A `CUstream`.
    RawStream
    /// A `CUevent`.
    RawEvent
    /// A `CUmodule`.
    RawModule
    /// A `CUfunction`.
    RawFunction
    /// A `CUmemoryPool`.
    RawMemoryPool
}

/// A `CUdevice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawDevice(pub i32);

/// A `CUdeviceptr`: an address in the memory of a device.
pub type DeviceAddress = u64;
