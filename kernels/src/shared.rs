//! Accesses to shared memory as wide as they are needed, and byte permutation.

use crate::element::B16;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;

/// Defines a load of one register from shared memory, zero-extended.
macro_rules! load {
    ($name:ident, $doc:literal, $instruction:literal) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// `address` is aligned, inside the block's shared memory, and was written before the last
        /// barrier.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name(address: u32) -> u32 {
            let value: u32;
            // SAFETY: the caller's obligations.
            unsafe {
                asm!(concat!($instruction, " {value}, [{address}];"), value = out(reg32) value,
                    address = in(reg32) address, options(nostack, preserves_flags));
            }
            value
        }
    };
}

load!(load_u8, "Loads a byte.", "ld.shared.u8");
load!(load_u16, "Loads two bytes.", "ld.shared.u16");
load!(load_u32, "Loads four bytes.", "ld.shared.u32");

/// Loads eight bytes.
///
/// # Safety
/// `address` is a multiple of eight, and the eight bytes there are inside the block's shared memory and were written before the last barrier.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_u32x2(address: u32) -> [u32; 2] {
    let (low, high);
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("ld.shared.v2.u32 {{{low}, {high}}}, [{address}];", low = out(reg32) low,
            high = out(reg32) high, address = in(reg32) address, options(nostack, preserves_flags));
    }
    [low, high]
}

/// Stores four bytes.
///
/// # Safety
/// `address` is aligned, inside the block's shared memory, and accessed by no other thread before
/// the next barrier.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_u32(address: u32, value: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.shared.u32 [{address}], {value};", value = in(reg32) value,
            address = in(reg32) address, options(nostack, preserves_flags));
    }
}

/// Stores eight bytes.
///
/// # Safety
/// `address` is a multiple of eight, and the eight bytes there are inside the block's shared memory and accessed by no
/// other thread before the next barrier.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_u32x2(address: u32, low: u32, high: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.shared.v2.u32 [{address}], {{{low}, {high}}};", low = in(reg32) low,
            high = in(reg32) high, address = in(reg32) address, options(nostack, preserves_flags));
    }
}

/// Stores a vector four bytes at a time: `address` need only be a multiple of four.
///
/// # Safety
/// The 16 bytes at `address` are inside the block's shared memory and accessed by no other thread before the next barrier.
#[inline(always)]
pub unsafe fn store_u32x4(address: u32, vector: B16) {
    // SAFETY: the caller's obligations.
    unsafe {
        store_u32(address, vector.0);
        store_u32(address + 4, vector.1);
        store_u32(address + 8, vector.2);
        store_u32(address + 12, vector.3);
    }
}

/// Loads a vector four bytes at a time: `address` need only be a multiple of four.
///
/// # Safety
/// The 16 bytes at `address` are inside the block's shared memory and were written before the last barrier.
#[inline(always)]
pub unsafe fn load_u32x4(address: u32) -> B16 {
    // SAFETY: the caller's obligations.
    unsafe {
        B16(load_u32(address), load_u32(address + 4), load_u32(address + 8), load_u32(address + 12))
    }
}

/// Four bytes out of eight: byte `i` of the result is the one that nibble `i` of `selector` numbers,
/// 0 to 3 being those of `low`, 4 to 7 those of `high`.
#[gpu_only]
#[inline(always)]
pub fn permute(low: u32, high: u32, selector: u32) -> u32 {
    let value: u32;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("prmt.b32 {value}, {low}, {high}, {selector};", value = out(reg32) value,
            low = in(reg32) low, high = in(reg32) high, selector = in(reg32) selector,
            options(pure, nomem, nostack, preserves_flags));
    }
    value
}
