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
    /// A `CUgraph`.
    RawGraph
    /// A `CUgraphExec`.
    RawGraphExec
}

impl RawStream {
    /// `CU_STREAM_LEGACY`: the default stream of a context, which is in order with every stream of it that was not made to
    /// be out of order with it.
    pub const LEGACY: Self = RawStream(std::ptr::without_provenance_mut(1));
    /// `CU_STREAM_PER_THREAD`: the default stream of the *calling* thread; in each thread the name means another stream.
    pub const PER_THREAD: Self = RawStream(std::ptr::without_provenance_mut(2));
}

/// A `CUdevice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct RawDevice(pub i32);

/// A `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawMemoryHandle(pub [u8; 64]);

/// A `CUdeviceptr`: an address in the memory of a device.
pub type DeviceAddress = u64;
