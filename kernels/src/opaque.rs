//! Keeping the compiler from computing early what is needed late.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;

/// The value itself, of which the compiler knows nothing more. What is computed from it is computed there: a rarely
/// taken path's values are not kept up to date by every turn of the loop around, and addresses that were needed
/// before a barrier are not held until they are needed again.
#[gpu_only]
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    let same: u32;
    // SAFETY: a copy of a register. Not pure, so that it stays where it is.
    unsafe {
        asm!("mov.u32 {same}, {value};", same = out(reg32) same, value = in(reg32) value,
            options(nomem, nostack, preserves_flags));
    }
    same
}

/// The lane's number, found out in another way than from the thread's, of which the assembler does not know that it is the same.
///
/// Where a thread loads some elements, each if it is inside, and stores them under the same condition, the assembler sees
/// that a register is stored only if it was loaded, and does not clear it before. So the load writes it in part of all cases
/// only, and the register counts as in use ever since the kernel began: in a kernel that does that in several places of a loop, 25 of
/// 72 registers. Stores whose condition is computed from this number make it clear them, which costs little.
#[inline(always)]
pub fn lane_again() -> u32 {
    cuda_std::warp::lane_id()
}

/// The thread's number in its block, found out anew: it does not wait in a register from where it was found before.
#[gpu_only]
#[inline(always)]
pub fn thread_again() -> u32 {
    let thread: u32;
    // SAFETY: a copy of a register. Not pure, so that it stays where it is.
    unsafe {
        asm!("mov.u32 {thread}, %tid.x;", thread = out(reg32) thread, options(nomem, nostack, preserves_flags));
    }
    thread
}

/// A 64-bit value itself, of which the compiler knows nothing more: what is computed from it is not taken apart into what it was
/// computed from.
#[gpu_only]
#[inline(always)]
pub fn opaque_u64(value: u64) -> u64 {
    let same: u64;
    // SAFETY: a copy of a register. Not pure, so that it stays where it is.
    unsafe {
        asm!("mov.u64 {same}, {value};", same = out(reg64) same, value = in(reg64) value,
            options(nomem, nostack, preserves_flags));
    }
    same
}

/// Keeps the assembler from writing the loop out several times whose body begins with this: for loops of few turns, which would be no faster and take more
/// of the instruction cache. Source: PTX ISA, "nounroll".
#[gpu_only]
#[inline(always)]
pub fn not_unrolled() {
    // SAFETY: a directive for the assembler. Not pure, so that it stays where it is.
    unsafe { asm!(".pragma \"nounroll\";", options(nomem, nostack, preserves_flags)) }
}

/// Begins what few launches do: the compiler leaves it in its branch, where it would do it for all and choose between the results.
#[gpu_only]
#[inline(always)]
pub fn apart_from_others() {
    // SAFETY: no instruction. Not pure, so that it stays where it is.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) }
}
