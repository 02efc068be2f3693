//! Queueing a kernel: after all that is before it, a little earlier, or with all of its blocks at a time.

use std::ffi::c_void;
use std::ptr::null_mut;

use crate::{Error, Function, RawStream, Stream};

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid: x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y, z.
    pub block: [u32; 3],
    /// Bytes of shared memory of a block, beyond what the kernel declares.
    pub dynamic_shared: u32,
    /// When its blocks start.
    pub start: Start,
}

/// When a kernel's blocks start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// When all that was queued before is done.
    InOrder,
    /// Perhaps before that, as soon as every block of the kernel before has ended or said that others may start; the
    /// kernel itself waits for what it needs (`griddepcontrol.wait`). See "Programmatic Dependent Launch and
    /// Synchronization" in the CUDA C++ Programming Guide. As [`InOrder`](Self::InOrder) with a driver before CUDA 11.8.
    Early,
    /// When all that was queued before is done and there is room for all blocks at a time, so that they may wait for each
    /// other; the driver refuses a grid for which there is never room (code 720).
    Cooperative,
}

impl Stream {
    /// Queues a kernel.
    ///
    /// # Safety
    /// - `arguments` has, for each parameter that the kernel declares, a pointer to a value of the parameter's size.
    /// - The kernel is sound for this grid: it touches no memory but what lives in the function's context until the work
    ///   is done, and what else uses that memory is ordered before or after the work.
    /// - A kernel that starts [early](Start::Early) waits by itself for the work before it.
    ///
    /// # Errors
    /// What the driver answers: code 400 for a function of another context, 720 for a cooperative launch of more blocks
    /// than there is room for.
    pub unsafe fn launch(
        &self,
        function: &Function,
        config: &LaunchConfig,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let _current = self.context().enter()?;
        let driver = self.context().device().driver;
        let arguments = arguments.as_mut_ptr();
        if let (Some(functions), Some(attribute)) = (&driver.launches, config.start.attribute()) {
            let config = RawLaunchConfig::new(config, self.as_raw(), attribute);
            let raw = function.as_raw();
            // SAFETY: the driver reads arguments, configuration and attribute before it returns; the rest is the caller's
            // obligation.
            return unsafe { functions.cuLaunchKernelEx(&config, raw, arguments, null_mut()) };
        }
        let (raw, stream) = (function.as_raw(), self.as_raw());
        let LaunchConfig { grid: [x, y, z], block: [bx, by, bz], dynamic_shared, start } = *config;
        let functions = &driver.functions;
        // SAFETY: the driver reads the arguments before it returns; the rest is the caller's obligation.
        unsafe {
            match start {
                Start::Cooperative => functions.cuLaunchCooperativeKernel(
                    raw,
                    x,
                    y,
                    z,
                    bx,
                    by,
                    bz,
                    dynamic_shared,
                    stream,
                    arguments,
                ),
                Start::InOrder | Start::Early => functions.cuLaunchKernel(
                    raw,
                    x,
                    y,
                    z,
                    bx,
                    by,
                    bz,
                    dynamic_shared,
                    stream,
                    arguments,
                    null_mut(),
                ),
            }
        }
    }
}

impl Start {
    /// The attribute that asks for it; `None` if it is what comes without asking.
    fn attribute(self) -> Option<&'static RawLaunchAttribute> {
        // CU_LAUNCH_ATTRIBUTE_COOPERATIVE and CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
        static COOPERATIVE: RawLaunchAttribute = RawLaunchAttribute::yes(2);
        static EARLY: RawLaunchAttribute = RawLaunchAttribute::yes(6);
        match self {
            Start::InOrder => None,
            Start::Early => Some(&EARLY),
            Start::Cooperative => Some(&COOPERATIVE),
        }
    }
}

/// `CUlaunchAttribute`: its number, and 64 bytes for its value, of which a number takes the first four.
#[repr(C)]
struct RawLaunchAttribute {
    id: u32,
    padding: u32,
    value: [i32; 16],
}

impl RawLaunchAttribute {
    const fn yes(id: u32) -> Self {
        let mut value = [0; 16];
        value[0] = 1;
        RawLaunchAttribute { id, padding: 0, value }
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct RawLaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    stream: RawStream,
    attributes: *const RawLaunchAttribute,
    attribute_count: u32,
}

impl RawLaunchConfig {
    fn new(
        config: &LaunchConfig,
        stream: RawStream,
        attribute: &'static RawLaunchAttribute,
    ) -> Self {
        let LaunchConfig { grid, block, dynamic_shared, .. } = *config;
        let attributes = std::ptr::from_ref(attribute);
        RawLaunchConfig { grid, block, dynamic_shared, stream, attributes, attribute_count: 1 }
    }
}

// As cuda.h lays them out.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawLaunchAttribute>() == 72 && size_of::<RawLaunchConfig>() == 56);
