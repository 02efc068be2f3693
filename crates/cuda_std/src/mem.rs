//! How much shared memory the launch gave each block.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One function per size: a read of the special register.
macro_rules! size {
    ($($(#[$doc:meta])* $name:ident = $register:literal;)*) => {$(
        $(#[$doc])*
        #[gpu_only]
        #[inline(always)]
        pub fn $name() -> u32 {
            let bytes;
            // SAFETY: reads a register that every thread has.
            unsafe {
                asm!(
                    concat!("mov.u32 {}, ", $register, ";"),
                    out(reg32) bytes,
                    options(pure, nomem, nostack, preserves_flags)
                )
            }
            bytes
        }
    )*};
}

size! {
    /// Bytes of dynamic shared memory per block, as the launch asked for.
    dynamic_smem_size = "%dynamic_smem_size";
    /// Bytes of shared memory per block, static and dynamic, rounded up as the chip does.
    total_smem_size = "%total_smem_size";
}
