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
