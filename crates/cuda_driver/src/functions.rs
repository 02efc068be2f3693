//! The driver's functions, typed as `cuda.h` declares them, with `CUresult` as an integer.
//!
//! A table holds functions that come together: a driver has all of them, or is taken to have none.
//! The names are those that the library exports, with `_v2` where a function has several versions.

#![allow(non_snake_case, reason = "the names are the driver's")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::Error;
use crate::handle::{
    DeviceAddress, RawContext, RawDevice, RawEvent, RawFunction, RawGraph, RawGraphExec,
    RawMemoryHandle, RawMemoryPool, RawModule, RawStream,
};
use crate::launch::RawLaunchConfig;
use crate::library::Library;
use crate::stream::RawCopy2D;

macro_rules! table {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($argument:ident: $type:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $($name: unsafe extern "C" fn($($type),*) -> u32,)*
        }

        #[allow(clippy::too_many_arguments, reason = "as many as the driver's function has")]
        impl $table {
            /// The functions of a library; or the first that it lacks.
            pub(crate) fn of(library: &Library) -> Result<Self, &'static str> {
                type Address = *const c_void;
                Ok($table { $($name: {
                    let address = library.symbol(stringify!($name)).ok_or(stringify!($name))?;
                    // SAFETY: an exported function of that name has this type in cuda.h.
                    unsafe {
                        std::mem::transmute::<Address, unsafe extern "C" fn($($type),*) -> u32>(address)
                    }
                },)* })
            }

            $(
                /// # Safety
                /// What the driver's documentation of the function asks for.
                pub(crate) unsafe fn $name(&self, $($argument: $type),*) -> Result<(), Error> {
                    // SAFETY: the caller's obligation.
                    match unsafe { (self.$name)($($argument),*) } {
                        0 => Ok(()),
                        code => Err(Error::call(stringify!($name), code)),
                    }
                }
            )*
        }
    };
}

table! {
    /// What every driver has since CUDA 11.0.
    Functions {
        cuInit(flags: c_uint);
        cuDriverGetVersion(version: *mut c_int);

        cuDeviceGetCount(count: *mut c_int);
        cuDeviceGet(device: *mut RawDevice, ordinal: c_int);
        cuDeviceGetName(name: *mut c_char, length: c_int, device: RawDevice);
        cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: RawDevice);
        cuDeviceTotalMem_v2(bytes: *mut usize, device: RawDevice);
        cuDeviceCanAccessPeer(can: *mut c_int, device: RawDevice, peer: RawDevice);

        cuDevicePrimaryCtxRetain(context: *mut RawContext, device: RawDevice);
        cuDevicePrimaryCtxRelease_v2(device: RawDevice);
        cuCtxGetCurrent(context: *mut RawContext);
        cuCtxGetDevice(device: *mut RawDevice);
        cuCtxSynchronize();
        cuCtxPushCurrent_v2(context: RawContext);
        cuCtxPopCurrent_v2(context: *mut RawContext);
        cuCtxEnablePeerAccess(peer: RawContext, flags: c_uint);
        cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int);

        cuStreamCreate(stream: *mut RawStream, flags: c_uint);
        cuStreamCreateWithPriority(stream: *mut RawStream, flags: c_uint, priority: c_int);
        cuStreamDestroy_v2(stream: RawStream);
        cuStreamGetCtx(stream: RawStream, context: *mut RawContext);
        cuStreamSynchronize(stream: RawStream);
        cuStreamWaitEvent(stream: RawStream, event: RawEvent, flags: c_uint);
        cuEventCreate(event: *mut RawEvent, flags: c_uint);
        cuEventDestroy_v2(event: RawEvent);
        cuEventRecord(event: RawEvent, stream: RawStream);
        cuEventQuery(event: RawEvent);
        cuEventSynchronize(event: RawEvent);
        cuEventElapsedTime(milliseconds: *mut f32, start: RawEvent, stop: RawEvent);

        cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        cuMemAlloc_v2(address: *mut DeviceAddress, bytes: usize);
        cuMemAllocManaged(address: *mut DeviceAddress, bytes: usize, flags: c_uint);
        cuMemFree_v2(address: DeviceAddress);
        cuMemGetAddressRange_v2(
            base: *mut DeviceAddress,
            bytes: *mut usize,
            address: DeviceAddress,
        );
        cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: DeviceAddress);
        cuMemHostAlloc(host: *mut *mut c_void, bytes: usize, flags: c_uint);
        cuMemHostGetDevicePointer_v2(
            address: *mut DeviceAddress,
            host: *mut c_void,
            flags: c_uint,
        );
        cuMemFreeHost(host: *mut c_void);
        cuMemHostRegister_v2(host: *mut c_void, bytes: usize, flags: c_uint);
        cuMemHostUnregister(host: *mut c_void);

        cuMemsetD8Async(address: DeviceAddress, byte: u8, bytes: usize, stream: RawStream);
        cuMemcpyHtoDAsync_v2(
            to: DeviceAddress,
            from: *const c_void,
            bytes: usize,
            stream: RawStream,
        );
        cuMemcpyDtoHAsync_v2(
            to: *mut c_void,
            from: DeviceAddress,
            bytes: usize,
            stream: RawStream,
        );
        cuMemcpyDtoDAsync_v2(
            to: DeviceAddress,
            from: DeviceAddress,
            bytes: usize,
            stream: RawStream,
        );
        cuMemcpy2DAsync_v2(copy: *const RawCopy2D, stream: RawStream);
        cuMemcpyPeerAsync(
            to: DeviceAddress,
            to_context: RawContext,
            from: DeviceAddress,
            from_context: RawContext,
            bytes: usize,
            stream: RawStream,
        );

        cuModuleLoadData(module: *mut RawModule, image: *const c_void);
        cuModuleUnload(module: RawModule);
        cuModuleGetFunction(function: *mut RawFunction, module: RawModule, name: *const c_char);
        cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: RawFunction);
        cuFuncSetAttribute(function: RawFunction, attribute: c_uint, value: c_int);
        cuOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: *mut c_int,
            function: RawFunction,
            threads: c_int,
            dynamic_shared: usize,
        );

        cuLaunchKernel(
            function: RawFunction,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            dynamic_shared: c_uint,
            stream: RawStream,
            arguments: *mut *mut c_void,
            extra: *mut *mut c_void,
        );
        cuLaunchCooperativeKernel(
            function: RawFunction,
            grid_x: c_uint,
            grid_y: c_uint,
            grid_z: c_uint,
            block_x: c_uint,
            block_y: c_uint,
            block_z: c_uint,
            dynamic_shared: c_uint,
            stream: RawStream,
            arguments: *mut *mut c_void,
        );
    }
}

table! {
    /// Memory that is given and taken back in the order of a stream: since CUDA 11.2.
    PoolFunctions {
        cuMemPoolCreate(pool: *mut RawMemoryPool, properties: *const RawPoolProperties);
        cuMemPoolDestroy(pool: RawMemoryPool);
        cuMemPoolSetAttribute(pool: RawMemoryPool, attribute: c_uint, value: *mut c_void);
        cuMemPoolTrimTo(pool: RawMemoryPool, bytes: usize);
        cuMemPoolSetAccess(pool: RawMemoryPool, access: *const RawAccess, count: usize);
        cuMemAllocFromPoolAsync(
            address: *mut DeviceAddress,
            bytes: usize,
            pool: RawMemoryPool,
            stream: RawStream,
        );
        cuMemFreeAsync(address: DeviceAddress, stream: RawStream);
    }
}

table! {
    /// Memory that processes of one host share: since CUDA 11.0, where the system has it.
    SharedFunctions {
        cuIpcGetMemHandle(handle: *mut RawMemoryHandle, address: DeviceAddress);
        cuIpcOpenMemHandle_v2(address: *mut DeviceAddress, handle: RawMemoryHandle, flags: c_uint);
        cuIpcCloseMemHandle(address: DeviceAddress);
    }
}

table! {
    /// Launches with attributes: since CUDA 11.8.
    LaunchFunctions {
        cuLaunchKernelEx(
            config: *const RawLaunchConfig,
            function: RawFunction,
            arguments: *mut *mut c_void,
            extra: *mut *mut c_void,
        );
    }
}

table! {
    /// What was queued once, to be queued again as a whole: since CUDA 11.4.
    GraphFunctions {
        cuStreamBeginCapture_v2(stream: RawStream, mode: c_uint);
        cuStreamEndCapture(stream: RawStream, graph: *mut RawGraph);
        cuGraphInstantiateWithFlags(exec: *mut RawGraphExec, graph: RawGraph, flags: u64);
        cuGraphLaunch(exec: RawGraphExec, stream: RawStream);
        cuGraphExecDestroy(exec: RawGraphExec);
        cuGraphDestroy(graph: RawGraph);
    }
}

/// `CUmemPoolProps`.
#[repr(C)]
pub(crate) struct RawPoolProperties {
    allocation_type: u32,
    handle_types: u32,
    location_type: u32,
    location_id: i32,
    security_attributes: *mut c_void,
    /// The maximal size and the usage, which older drivers do not know: zero for their defaults.
    reserved: [u8; 64],
}

impl RawPoolProperties {
    /// Ordinary memory of one device, not shared with other processes.
    pub(crate) fn on_device(ordinal: i32) -> Self {
        RawPoolProperties {
            allocation_type: 1, // CU_MEM_ALLOCATION_TYPE_PINNED
            handle_types: 0,    // CU_MEM_HANDLE_TYPE_NONE
            location_type: 1,   // CU_MEM_LOCATION_TYPE_DEVICE
            location_id: ordinal,
            security_attributes: std::ptr::null_mut(),
            reserved: [0; 64],
        }
    }
}

/// `CUmemAccessDesc`.
#[repr(C)]
pub(crate) struct RawAccess {
    location_type: u32,
    location_id: i32,
    flags: u32,
}

impl RawAccess {
    /// One device may read and write.
    pub(crate) fn of_device(ordinal: i32) -> Self {
        RawAccess {
            location_type: 1, // CU_MEM_LOCATION_TYPE_DEVICE
            location_id: ordinal,
            flags: 3, // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        }
    }
}

// As cuda.h lays it out.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawPoolProperties>() == 88);
