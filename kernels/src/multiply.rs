//! The high half of a 32-bit product, by its own instruction.
//!
//! Written as `(left as u64 * right as u64) >> 32`, it becomes a 64-bit multiplication whose high
//! half is taken, and `ptxas` (13.0 and 13.5 were seen to) then rewrites `high(n · magic) · divisor` as
//! `n · high(magic · divisor)` where `magic` and `divisor` are the launch's: a wrong remainder, from
//! correct PTX, that no simulator of PTX can see. `mul.hi` leaves it nothing to rewrite.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;

/// `⌊left · right / 2³²⌋`.
#[gpu_only]
#[inline(always)]
pub fn high(left: u32, right: u32) -> u32 {
    let product: u32;
    // SAFETY: the instruction computes a number from two others and touches nothing else.
    unsafe {
        asm!("mul.hi.u32 {product}, {left}, {right};", product = out(reg32) product,
            left = in(reg32) left, right = in(reg32) right,
            options(pure, nomem, nostack, preserves_flags));
    }
    product
}
