//! Accesses that other blocks may race with, and the flags that settle the races.
//!
//! A kernel that follows cycles reads places that another warp may be overwriting, and finds out
//! afterwards, by a flag, whether what it read counts. In the PTX memory model that takes *strong*
//! accesses: relaxed loads and stores of the GPU's scope, fences, and atomics.

use crate::element::{Element, B16};
use cuda_std::gpu_only;

/// An element that can be moved by strong accesses.
pub trait Strong: Element {
    /// Loads from global memory, whoever writes there meanwhile.
    ///
    /// # Safety
    /// `from` is aligned and readable, and reached by strong accesses only.
    unsafe fn load_strong(from: *const Self) -> Self;

    /// Stores to global memory, whoever reads there meanwhile.
    ///
    /// # Safety
    /// `to` is aligned and writable, and reached by strong accesses only.
    unsafe fn store_strong(self, to: *mut Self);
}

/// Implements [`Strong`] for an integer that fits a register of class `$class`.
macro_rules! strong {
    ($element:ty: $class:ident as $register:ty, $load:literal, $store:literal) => {
        impl Strong for $element {
            #[gpu_only]
            #[inline(always)]
            unsafe fn load_strong(from: *const Self) -> Self {
                let value: $register;
                // SAFETY: the caller vouches for the address.
                unsafe {
                    core::arch::asm!($load, value = out($class) value, from = in(reg64) from,
                        options(nostack, preserves_flags));
                }
                value as Self
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn store_strong(self, to: *mut Self) {
                // SAFETY: the caller vouches for the address.
                unsafe {
                    core::arch::asm!($store, value = in($class) self as $register, to = in(reg64) to,
                        options(nostack, preserves_flags));
                }
            }
        }
    };
}

strong!(u8: reg32 as u32, "ld.relaxed.gpu.global.u8 {value}, [{from}];", "st.relaxed.gpu.global.u8 [{to}], {value};");
strong!(u16: reg32 as u32, "ld.relaxed.gpu.global.u16 {value}, [{from}];", "st.relaxed.gpu.global.u16 [{to}], {value};");
strong!(u32: reg32 as u32, "ld.relaxed.gpu.global.u32 {value}, [{from}];", "st.relaxed.gpu.global.u32 [{to}], {value};");
strong!(u64: reg64 as u64, "ld.relaxed.gpu.global.u64 {value}, [{from}];", "st.relaxed.gpu.global.u64 [{to}], {value};");

impl Strong for B16 {
    #[gpu_only]
    #[inline(always)]
    unsafe fn load_strong(from: *const Self) -> Self {
        let (x, y, z, w);
        // SAFETY: the caller vouches for the address.
        unsafe {
            core::arch::asm!("ld.relaxed.gpu.global.v4.u32 {{{x}, {y}, {z}, {w}}}, [{from}];",
                x = out(reg32) x, y = out(reg32) y, z = out(reg32) z, w = out(reg32) w,
                from = in(reg64) from, options(nostack, preserves_flags));
        }
        B16::from_words([x, y, z, w])
    }

    #[gpu_only]
    #[inline(always)]
    unsafe fn store_strong(self, to: *mut Self) {
        let [x, y, z, w] = self.words();
        // SAFETY: the caller vouches for the address.
        unsafe {
            core::arch::asm!("st.relaxed.gpu.global.v4.u32 [{to}], {{{x}, {y}, {z}, {w}}};",
                x = in(reg32) x, y = in(reg32) y, z = in(reg32) z, w = in(reg32) w,
                to = in(reg64) to, options(nostack, preserves_flags));
        }
    }
}

/// Bit `index` of an array of flags in global memory: sets it and says whether it was clear.
///
/// # Safety
/// The flag lies inside the array, which only flag operations access.
#[inline(always)]
pub unsafe fn claim(flags: *mut u32, index: u64) -> bool {
    let bit = 1u32 << (index & 31);
    // SAFETY: the caller vouches for the flag.
    unsafe { fetch_or(flags.add((index >> 5) as usize), bit) & bit == 0 }
}

/// Whether bit `index` of an array of flags in global memory is clear, at some time.
///
/// # Safety
/// As for [`claim`].
#[inline(always)]
pub unsafe fn is_clear(flags: *mut u32, index: u64) -> bool {
    // SAFETY: the caller's obligation.
    unsafe { u32::load_strong(flags.add((index >> 5) as usize)) >> (index & 31) & 1 == 0 }
}

/// Sets bits of a word in global memory and returns what it held; later accesses stay behind it.
///
/// # Safety
/// `word` is aligned, writable, and reached by strong accesses only.
#[gpu_only]
#[inline(always)]
pub unsafe fn fetch_or(word: *mut u32, bits: u32) -> u32 {
    let old;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.acquire.gpu.global.or.b32 {old}, [{word}], {bits};",
            old = out(reg32) old, word = in(reg64) word, bits = in(reg32) bits,
            options(nostack, preserves_flags));
    }
    old
}

/// Sets bits of a word in shared memory and returns what it held.
///
/// # Safety
/// `address` is aligned and inside the block's shared memory.
#[gpu_only]
#[inline(always)]
pub unsafe fn fetch_or_shared(address: u32, bits: u32) -> u32 {
    let old;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.shared.or.b32 {old}, [{address}], {bits};",
            old = out(reg32) old, address = in(reg32) address, bits = in(reg32) bits,
            options(nostack, preserves_flags));
    }
    old
}

/// Adds to a counter in global memory and returns what it held; earlier accesses stay before it.
///
/// # Safety
/// `counter` is aligned, writable, and reached by strong accesses only.
#[gpu_only]
#[inline(always)]
pub unsafe fn fetch_add(counter: *mut u32, value: u32) -> u32 {
    let old;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.acq_rel.gpu.global.add.u32 {old}, [{counter}], {value};",
            old = out(reg32) old, counter = in(reg64) counter, value = in(reg32) value,
            options(nostack, preserves_flags));
    }
    old
}

/// Loads a word that other blocks write; later accesses stay behind the load.
///
/// # Safety
/// `from` is aligned, readable, and reached by strong accesses only.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_acquire(from: *const u32) -> u32 {
    let value;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("ld.acquire.gpu.global.u32 {value}, [{from}];",
            value = out(reg32) value, from = in(reg64) from, options(nostack, preserves_flags));
    }
    value
}

/// Keeps this thread's accesses before from those after, as the whole GPU sees them.
#[gpu_only]
#[inline(always)]
pub fn fence() {
    // SAFETY: a fence has no preconditions.
    unsafe { core::arch::asm!("fence.acq_rel.gpu;", options(nostack, preserves_flags)) }
}

/// Keeps this thread's accesses before from those after, as its block sees them.
#[gpu_only]
#[inline(always)]
pub fn fence_block() {
    // SAFETY: a fence has no preconditions.
    unsafe { core::arch::asm!("fence.acq_rel.cta;", options(nostack, preserves_flags)) }
}
