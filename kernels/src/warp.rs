//! What the 32 lanes of a warp tell each other.
//!
//! LLVM's intrinsics by their names, which keep them convergent as `asm!` would not; the `cuda_std` on crates.io
//! has neither votes nor shuffles.

use crate::element::B16;
use cuda_std::gpu_only;

#[cfg(target_arch = "nvptx64")]
extern "C" {
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot_sync(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_sync_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
}

/// The last lane that a shuffle may read.
#[cfg(target_arch = "nvptx64")]
const LAST: u32 = 31;

/// The lanes whose `predicate` holds, one bit each.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[gpu_only]
#[inline(always)]
pub unsafe fn ballot(predicate: bool) -> u32 {
    // SAFETY: the caller's obligation.
    unsafe { vote_ballot_sync(u32::MAX, predicate) }
}

/// A lane's `value`.
///
/// # Safety
/// All 32 lanes of the warp call it together; `lane` is below 32, the same for all.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle(value: u32, lane: u32) -> u32 {
    // SAFETY: the caller's obligation.
    unsafe { shfl_sync_idx(u32::MAX, value, lane, LAST) }
}

/// The `value` of the lane that this one names.
///
/// # Safety
/// All 32 lanes of the warp call it together; `lane` is below 32.
#[gpu_only]
#[inline(always)]
pub unsafe fn exchange(value: u32, lane: u32) -> u32 {
    // SAFETY: the caller's obligation.
    unsafe { shfl_sync_idx(u32::MAX, value, lane, LAST) }
}

/// The first lane's `value`.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[gpu_only]
#[inline(always)]
pub unsafe fn broadcast(value: u32) -> u32 {
    // SAFETY: the caller's obligation.
    unsafe { shfl_sync_idx(u32::MAX, value, 0, LAST) }
}

/// The 64 bits of the lane that this one names.
///
/// # Safety
/// All 32 lanes of the warp call it together; `lane` is below 32.
#[inline(always)]
pub unsafe fn exchange_u64(value: u64, lane: u32) -> u64 {
    // SAFETY: the caller's obligation.
    let half = |half: u32| unsafe { exchange(half, lane) as u64 };
    half(value as u32) | half((value >> 32) as u32) << 32
}

/// The next lane's `value`; the last lane's own.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[gpu_only]
#[inline(always)]
pub unsafe fn next_lanes(value: u32) -> u32 {
    // SAFETY: the caller's obligation.
    unsafe { shfl_sync_down(u32::MAX, value, 1, LAST) }
}

/// The vector that the next lane holds; the last lane's own.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
pub unsafe fn next_lanes_vector(vector: B16) -> B16 {
    // SAFETY: the caller's obligation.
    let next = |part: u32| unsafe { next_lanes(part) };
    B16(next(vector.0), next(vector.1), next(vector.2), next(vector.3))
}
