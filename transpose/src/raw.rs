//! Kernels of a program's own, on a device's memory and in its queue, beside those of this library.
//!
//! An [`Image`] is such kernels as data: PTX, and machine code if there is some. [`launch`] queues one of its entry points. It works on
//! a GPU and on the simulator, which runs the PTX.
//!
//! The entry point takes two addresses, of a source and of a destination, and one structure by value: a type that
//! implements [`Params`]. In Rust that is `unsafe extern "ptx-kernel" fn(src: *const S, dst: *mut D, params: P)`.

use crate::Result;
use crate::device::across;
pub use crate::image::{Image, MachineCode};
use crate::launch::{Fields, Launch};
use crate::matrix::view::{MatrixView, MatrixViewMut};
use bytemuck::Pod;
pub use kernel_abi::Params;

/// How many blocks of how many threads, along x, y and z, and the bytes of dynamic shared memory of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: [u32; 3],
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Shared memory of a block, in bytes, beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
}

impl Grid {
    /// The blocks that there may be along x, y and z: the same for every GPU since 2012.
    pub const MOST_BLOCKS: [usize; 3] = crate::facts::GRID_LIMIT;
}

/// The library's own kernels as they ship, by families that are loaded together.
pub fn images() -> impl Iterator<Item = &'static Image> {
    crate::kernels::images()
}

/// Queues the entry point `name` of an image: it is given the addresses of the first elements of `src` and `dst`, and `params`.
///
/// The image is loaded on the device with the first launch of one of its kernels.
///
/// # Errors
/// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for views on two devices, and what the device reports: of an image
/// that it cannot load, a name that the image does not have, a grid or a block that it refuses.
///
/// # Safety
/// - The entry point has the parameters described in the module's page, and `P` is the type of the third.
/// - What the kernel reads lies inside the memory that `src` is taken from, or in `dst`, and is
///   initialized; what it writes lies inside `dst`, and every bit pattern that it writes is a `D`.
/// - Its threads do not race, and its blocks do not wait for each other.
pub unsafe fn launch<S: Pod, D: Pod, P: Params>(
    image: &'static Image,
    name: &'static str,
    grid: Grid,
    src: MatrixView<'_, S>,
    dst: MatrixViewMut<'_, D>,
    params: &P,
) -> Result<()> {
    let launch = Launch {
        entry: image.entry(name),
        grid: grid.blocks,
        block: grid.threads,
        dynamic_shared_bytes: grid.dynamic_shared_bytes,
        blocks_per_multiprocessor: 0,
        evict_last: false,
        cooperative: false,
        offsets: [0, 0],
        params: Fields::of(params),
    };
    let addresses = [src.address, dst.address];
    // SAFETY: the caller vouches that the kernel stays inside the memory of the two views.
    across(src.device, dst.device, |device| unsafe { device.launch(&launch, addresses) })
}
