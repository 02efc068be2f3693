//! Vectors of global memory.
//!
//! The fast kernels compute with addresses, not with pointers. A pointer made from a number could point
//! anywhere: it compiles to a generic access, which finds out the memory space at run time and is
//! slower by a quarter. So global memory is said to be meant.

use crate::element::B16;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;

/// Loads a vector.
///
/// # Safety
/// The 16 bytes at `address` are in global memory, readable, and written by nobody during the launch;
/// `address` is a multiple of 16.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_vector(address: u64) -> B16 {
    let (x, y, z, w);
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("ld.global.v4.u32 {{{x}, {y}, {z}, {w}}}, [{address}];",
            x = out(reg32) x, y = out(reg32) y, z = out(reg32) z, w = out(reg32) w,
            address = in(reg64) address, options(nostack, preserves_flags));
    }
    B16(x, y, z, w)
}

/// Stores a vector.
///
/// # Safety
/// The 16 bytes at `address` are in global memory, writable, and accessed by no other thread during
/// the launch; `address` is a multiple of 16.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_vector(address: u64, vector: B16) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.global.v4.u32 [{address}], {{{x}, {y}, {z}, {w}}};",
            x = in(reg32) vector.0, y = in(reg32) vector.1, z = in(reg32) vector.2,
            w = in(reg32) vector.3, address = in(reg64) address,
            options(nostack, preserves_flags));
    }
}
