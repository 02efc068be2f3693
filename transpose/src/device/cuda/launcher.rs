//! Giving a kernel to the driver: so that it starts when all before is done, or, if it waits for that by itself, a little
//! earlier.
//!
//! Between two kernels of a stream the GPU is idle for about a microsecond, which is what moving 4 MB takes. A launch
//! with the attribute "programmatic stream serialization" is set up in that time. See `kernels/src/launch.rs` for the kernel's
//! part. Source: CUDA C++ Programming Guide, "Programmatic Dependent Launch and Synchronization".

use super::check;
use super::function::Function;
use crate::Result;
use cust::stream::Stream;
use cust::sys;
use std::ffi::{c_int, c_uint, c_void};

/// How many blocks of how many threads, and the bytes of dynamic shared memory of each block.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub blocks: [u32; 3],
    pub threads: [u32; 3],
    pub dynamic_shared: u32,
}

/// `CUlaunchAttribute`: its number, and 64 bytes for its value, of which ours uses the first four.
#[repr(C)]
struct Attribute {
    id: c_uint,
    padding: c_uint,
    value: [c_int; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`: the launch need not wait for the kernel before it.
const MAY_COME_EARLY: Attribute = {
    let mut value = [0; 16];
    value[0] = 1;
    Attribute { id: 6, padding: 0, value }
};

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    blocks: [c_uint; 3],
    threads: [c_uint; 3],
    dynamic_shared: c_uint,
    stream: sys::CUstream,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

// As cuda.h lays them out.
const _: () = assert!(size_of::<Attribute>() == 72 && size_of::<Config>() == 56);

/// `cuLaunchKernelEx`.
type LaunchKernelEx = unsafe extern "C" fn(
    *const Config,
    sys::CUfunction,
    *mut *mut c_void,
    *mut *mut c_void,
) -> sys::CUresult;

/// The driver's functions that launch a kernel.
pub(super) struct Launcher {
    /// None in drivers before CUDA 11.8, and `cust` does not know it.
    extended: Option<LaunchKernelEx>,
}

impl Launcher {
    pub fn new() -> Self {
        let extended = cuda_driver::symbol("cuLaunchKernelEx").map(|address| {
            // SAFETY: this is the function's type in cuda.h.
            unsafe { std::mem::transmute::<*const c_void, LaunchKernelEx>(address) }
        });
        Launcher { extended }
    }

    /// Queues a kernel.
    ///
    /// # Safety
    /// `arguments` point to the kernel's parameters, as many as it declares, and the kernel touches no
    /// memory that it must not.
    pub unsafe fn launch(
        &self,
        function: &Function,
        Grid { blocks, threads, dynamic_shared }: Grid,
        stream: &Stream,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        let (handle, stream) = (function.handle(), stream.as_inner());
        let arguments = arguments.as_mut_ptr();
        let nothing = std::ptr::null_mut();
        // SAFETY: the driver reads the arguments and the configuration before it returns; the caller vouches for what they
        // point to. A launch that may come early is one of a kernel that waits.
        let code = unsafe {
            match self.extended.filter(|_| function.waits()) {
                Some(launch) => {
                    let config = Config {
                        blocks,
                        threads,
                        dynamic_shared,
                        stream,
                        attributes: &MAY_COME_EARLY,
                        attribute_count: 1,
                    };
                    launch(&config, handle, arguments, nothing)
                }
                None => {
                    let ([x, y, z], [block_x, block_y, block_z]) = (blocks, threads);
                    sys::cuLaunchKernel(
                        handle,
                        x,
                        y,
                        z,
                        block_x,
                        block_y,
                        block_z,
                        dynamic_shared,
                        stream,
                        arguments,
                        nothing,
                    )
                }
            }
        };
        check("launching a kernel", code)
    }
}
