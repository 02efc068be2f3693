//! Where a thread is in the launch, barriers and fences.
//!
//! A launch is a *grid* of *blocks* of *threads*, each up to three-dimensional. The
//! threads of a block run on one multiprocessor, share its shared memory and can
//! wait for each other; blocks run in any order.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, nvptx};
use vek::{Vec2, Vec3};

#[cfg(target_arch = "nvptx64")]
extern "C" {
    // Barriers are intrinsics and not `asm!`: LLVM knows the intrinsics to be
    // convergent and so never moves or copies them into a branch that only some
    // threads of a warp take. It knows nothing of the kind about assembly.
    // (rustc itself does not know either: see cuda_builder, which turns off the
    // one pass of rustc that copies calls.)
    #[link_name = "llvm.nvvm.barrier.cta.red.popc.aligned.all"]
    fn barrier_popc(barrier: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.barrier.cta.red.and.aligned.all"]
    fn barrier_and(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.barrier.cta.red.or.aligned.all"]
    fn barrier_or(barrier: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.membar.gl"]
    fn membar_gl();
    #[link_name = "llvm.nvvm.membar.sys"]
    fn membar_sys();
}

/// One function per coordinate: a read of the special register.
macro_rules! coordinate {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident;)*) => {$(
        $(#[$doc])*
        #[gpu_only]
        #[inline(always)]
        pub fn $name() -> u32 {
            // SAFETY: reads a register that every thread has.
            // The cast is for compilers whose intrinsic returns `i32`.
            #[allow(clippy::unnecessary_cast)]
            unsafe {
                nvptx::$intrinsic() as u32
            }
        }
    )*};
}

coordinate! {
    /// The thread's index in its block along x.
    thread_idx_x = _thread_idx_x;
    /// The thread's index in its block along y.
    thread_idx_y = _thread_idx_y;
    /// The thread's index in its block along z.
    thread_idx_z = _thread_idx_z;
    /// The block's index in the grid along x.
    block_idx_x = _block_idx_x;
    /// The block's index in the grid along y.
    block_idx_y = _block_idx_y;
    /// The block's index in the grid along z.
    block_idx_z = _block_idx_z;
    /// The number of threads in a block along x.
    block_dim_x = _block_dim_x;
    /// The number of threads in a block along y.
    block_dim_y = _block_dim_y;
    /// The number of threads in a block along z.
    block_dim_z = _block_dim_z;
    /// The number of blocks in the grid along x.
    grid_dim_x = _grid_dim_x;
    /// The number of blocks in the grid along y.
    grid_dim_y = _grid_dim_y;
    /// The number of blocks in the grid along z.
    grid_dim_z = _grid_dim_z;
}

/// The thread's index in its block.
#[inline(always)]
pub fn thread_idx() -> Vec3<u32> {
    Vec3::new(thread_idx_x(), thread_idx_y(), thread_idx_z())
}

/// The block's index in the grid.
#[inline(always)]
pub fn block_idx() -> Vec3<u32> {
    Vec3::new(block_idx_x(), block_idx_y(), block_idx_z())
}

/// The number of threads in a block, along each axis.
#[inline(always)]
pub fn block_dim() -> Vec3<u32> {
    Vec3::new(block_dim_x(), block_dim_y(), block_dim_z())
}

/// The number of blocks in the grid, along each axis.
#[inline(always)]
pub fn grid_dim() -> Vec3<u32> {
    Vec3::new(grid_dim_x(), grid_dim_y(), grid_dim_z())
}

/// A number that no other thread of the launch has, whatever the launch's shape.
///
/// It is 32 bits wide, as in the published crate, and wraps in a launch of more
/// than 2³² threads.
#[inline(always)]
pub fn index() -> u32 {
    let (grid, block) = (grid_dim(), block_idx());
    let (dim, thread) = (block_dim(), thread_idx());
    let block_number = block.x + grid.x * (block.y + grid.y * block.z);
    let thread_number = thread.x + dim.x * (thread.y + dim.y * thread.z);
    block_number * (dim.x * dim.y * dim.z) + thread_number
}

/// The thread's position in a launch whose blocks and grid are one-dimensional.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// The thread's position along x and y in a launch of two dimensions.
#[inline(always)]
pub fn index_2d() -> Vec2<u32> {
    Vec2::new(index_1d(), block_idx_y() * block_dim_y() + thread_idx_y())
}

/// The thread's position along x, y and z.
#[inline(always)]
pub fn index_3d() -> Vec3<u32> {
    let Vec2 { x, y } = index_2d();
    Vec3::new(x, y, block_idx_z() * block_dim_z() + thread_idx_z())
}

/// Whether this thread is number zero of block zero: true in one thread of a launch.
#[inline(always)]
pub fn first() -> bool {
    let (block, thread) = (block_idx(), thread_idx());
    (block.x | block.y | block.z | thread.x | thread.y | thread.z) == 0
}

/// The number of threads in a warp, 32 on every chip so far.
#[gpu_only]
#[inline(always)]
pub fn warp_size() -> u32 {
    let size;
    // SAFETY: reads a constant of the chip.
    unsafe {
        asm!("mov.u32 {}, WARP_SZ;", out(reg32) size, options(pure, nomem, nostack, preserves_flags))
    }
    size
}

/// Waits for every thread of the block; what they wrote before is visible after.
///
/// All threads of the block that have not returned must come to the same call.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier; it touches no memory itself.
    unsafe { nvptx::_syncthreads() }
}

/// [`sync_threads`], and in how many threads `predicate` was not zero.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_count(predicate: u32) -> u32 {
    // SAFETY: a barrier; it touches no memory itself.
    unsafe { barrier_popc(0, predicate != 0) }
}

/// [`sync_threads`], and not zero if `predicate` was not zero in every thread.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_and(predicate: u32) -> u32 {
    // SAFETY: a barrier; it touches no memory itself.
    unsafe { barrier_and(0, predicate != 0) as u32 }
}

/// [`sync_threads`], and not zero if `predicate` was not zero in some thread.
#[gpu_only]
#[inline(always)]
pub fn sync_threads_or(predicate: u32) -> u32 {
    // SAFETY: a barrier; it touches no memory itself.
    unsafe { barrier_or(0, predicate != 0) as u32 }
}

/// Orders this thread's memory accesses as every thread of the launch sees them.
/// A fence is not a barrier: nobody waits.
///
/// The published crate says the same and emits a fence for the block only; this
/// one is the device's, which keeps the promise.
#[gpu_only]
#[inline(always)]
pub fn grid_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { membar_gl() }
}

/// Orders this thread's memory accesses as the whole device sees them.
#[gpu_only]
#[inline(always)]
pub fn device_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { membar_gl() }
}

/// Orders this thread's memory accesses as every device and the host see them.
#[gpu_only]
#[inline(always)]
pub fn system_fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { membar_sys() }
}

/// Sleeps for about `nanos` nanoseconds. Needs compute capability 7.0.
#[gpu_only]
#[inline(always)]
pub fn nanosleep(nanos: u32) {
    // SAFETY: suspends the thread, nothing else.
    unsafe { asm!("nanosleep.u32 {};", in(reg32) nanos, options(nomem, nostack, preserves_flags)) }
}
