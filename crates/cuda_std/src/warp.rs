//! What the 32 threads of a warp can do together without shared memory.
//!
//! [`lane_id`] and [`sync_warp`] are the published crate's. The votes and shuffles
//! are additions of this port: a kernel that uses them needs it.
//!
//! Every collective function takes a `mask` with one bit per participating lane.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

#[cfg(target_arch = "nvptx64")]
extern "C" {
    // Intrinsics and not `asm!`, so that LLVM keeps them convergent: see `thread`.
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot_sync(mask: u32, predicate: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any_sync(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.all.sync"]
    fn vote_all_sync(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    fn shfl_sync_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_sync_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_sync_bfly(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
}

/// The mask in which every lane takes part.
pub const FULL_MASK: u32 = u32::MAX;

/// For the `c` operand of a shuffle over a whole warp: the last lane it may reach.
#[cfg(target_arch = "nvptx64")]
const LAST_LANE: u32 = 31;

/// The thread's index in its warp, 0 to 31.
#[gpu_only]
#[inline(always)]
pub fn lane_id() -> u32 {
    let lane;
    // SAFETY: reads a register that every thread has.
    unsafe {
        asm!("mov.u32 {}, %laneid;", out(reg32) lane, options(pure, nomem, nostack, preserves_flags))
    }
    lane
}

/// Waits for the lanes in `mask`; what they wrote before is visible after.
///
/// # Safety
/// - The calling lane is in `mask`, and no lane in `mask` has returned.
/// - Every lane in `mask` comes to a call with this same mask.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { bar_warp_sync(mask) }
}

/// The lanes in `mask` whose `predicate` holds, one bit each.
///
/// # Safety
/// As for [`sync_warp`].
#[gpu_only]
#[inline(always)]
pub unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { vote_ballot_sync(mask, predicate) }
}

/// Whether `predicate` holds in some lane of `mask`.
///
/// # Safety
/// As for [`sync_warp`].
#[gpu_only]
#[inline(always)]
pub unsafe fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { vote_any_sync(mask, predicate) }
}

/// Whether `predicate` holds in every lane of `mask`.
///
/// # Safety
/// As for [`sync_warp`].
#[gpu_only]
#[inline(always)]
pub unsafe fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { vote_all_sync(mask, predicate) }
}

/// `value` as the lane `lane` has it (`lane` is taken modulo 32).
///
/// # Safety
/// As for [`sync_warp`], and `lane` is in `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle(mask: u32, value: u32, lane: u32) -> u32 {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { shfl_sync_idx(mask, value, lane, LAST_LANE) }
}

/// `value` as the lane `delta` below has it; the lowest `delta` lanes keep theirs.
///
/// # Safety
/// As for [`sync_warp`], and the lane read from is in `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle_up(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: the caller's obligations are the instruction's. Lane 0 is the last
    // one that a shuffle upwards may reach.
    unsafe { shfl_sync_up(mask, value, delta, 0) }
}

/// `value` as the lane `delta` above has it; the highest `delta` lanes keep theirs.
///
/// # Safety
/// As for [`sync_warp`], and the lane read from is in `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { shfl_sync_down(mask, value, delta, LAST_LANE) }
}

/// `value` as the lane whose index differs in the bits of `lanes` has it.
///
/// # Safety
/// As for [`sync_warp`], and the lane read from is in `mask`.
#[gpu_only]
#[inline(always)]
pub unsafe fn shuffle_xor(mask: u32, value: u32, lanes: u32) -> u32 {
    // SAFETY: the caller's obligations are the instruction's.
    unsafe { shfl_sync_bfly(mask, value, lanes, LAST_LANE) }
}
