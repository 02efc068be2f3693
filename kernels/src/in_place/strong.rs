//! Accesses that race, and the flags that settle the races.
//!
//! A kernel that follows cycles loads places that others may be overwriting, and finds out
//! afterwards, by a flag, whether what it loaded counts.
//!
//! # The rule
//! A *place* is what moves as one: an element (`flags`), a chunk of a super-element (`permute`, `permute_bytes`, `carry`) or
//! a tile (`fused`). It has a flag, a bit that is clear at first and that only [`claim`] sets. A *party* is
//! what moves a place: a thread, a warp, a block. The party whose claim sets the flag of a place owns what
//! stood there, and stores it to the next place of the cycle. With every place that it comes to, a party does
//! this, in this order:
//!
//! 1. its threads load the elements of the place, each some of them;
//! 2. a barrier of the party: `bar.warp.sync` of a warp, `bar.sync` of a block, none of a thread;
//! 3. one of its threads claims the place, by an atomic operation with `.acq_rel`;
//! 4. the barrier again;
//! 5. if it owns the place before in the cycle, its threads store to the place, each some elements.
//!
//! # Why that is enough
//! In the terms of "Memory Consistency Model" in the PTX ISA. Take one element of a place, and each pair of
//! accesses to it that conflict:
//!
//! - **A load L of the owner and the store S** of another party. Let A be the owner's claim and B the claim
//!   in step 3 of the party that stores. L precedes A in *base causality order*: by *program order* alone
//!   if one thread does both; else by program order up to the barrier, which *synchronizes* with that
//!   of the claiming thread, and by program order from there. In the same way B precedes S. A set the bit and B
//!   found it set. After the word was zeroed only claims write it. They are *morally strong* relative to each
//!   other (atomic, complete overlap, a scope that has both threads), so by the axiom "Atomicity" each reads what the one
//!   before it in *coherence order* wrote, and A precedes B in *observation order*. A is a *release pattern* on the word
//!   and B an *acquire pattern*, so A synchronizes with B. Together L, A, B, S are in base causality order, and because
//!   L and S access one address by the generic *proxy*, in *causality order*. By the axiom "Causality" L does not read
//!   from S: it reads what stood there before the launch.
//! - **A load L of the owner and the store S** of the same party: A alone stands between them, as release and acquire stand there.
//! - **A load of a party that does not own the place and the store S**: they race. Both are strong, of one width,
//!   of a scope that has both threads, so they are morally strong and this is no *data-race*. What was
//!   loaded is thrown away, because the claim found the flag set.
//! - **Two stores**: there is one to each element. One place comes before in the cycle, one party owns it, and that
//!   stores it once.
//!
//! Vectors count as their words, each loaded and stored as a whole. Where places start anywhere in a word (`permute_bytes`), some of a place's bytes
//! are accessed four at a time and some singly. Which ones depends on the place's address alone, so all accesses to a byte are of one
//! width and overlap completely, as the rule asks. The words of flags are only accessed by strong
//! operations of 32 bits; what zeroes them is an earlier operation of the stream (or stands before a barrier:
//! `flags`). The order between launches is the stream's; launches that come early wait for it (`launch::begin`).
//!
//! That `bar.sync` synchronizes is in the list of "Memory synchronization"; of `bar.warp.sync` the
//! instruction's own description says that it "guarantees memory ordering among participating threads". Votes and shuffles
//! guarantee none: they only pass on what the claim found. The atomic's `.acq_rel` is cumulative: base causality
//! order is transitive, so other threads' accesses before the barrier count, and no thread but the claiming one needs
//! a fence.

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
        B16::from_u32s([x, y, z, w])
    }

    #[gpu_only]
    #[inline(always)]
    unsafe fn store_strong(self, to: *mut Self) {
        let [x, y, z, w] = self.u32s();
        // SAFETY: the caller vouches for the address.
        unsafe {
            core::arch::asm!("st.relaxed.gpu.global.v4.u32 [{to}], {{{x}, {y}, {z}, {w}}};",
                x = in(reg32) x, y = in(reg32) y, z = in(reg32) z, w = in(reg32) w,
                to = in(reg64) to, options(nostack, preserves_flags));
        }
    }
}

/// Claims the place of bit `index` of an array of flags in global memory: sets the bit and says whether it was clear.
///
/// # Safety
/// The flag lies inside the array, which is reached by strong accesses only.
#[inline(always)]
pub unsafe fn claim(flags: *mut u32, index: u64) -> bool {
    // SAFETY: the caller's obligation.
    unsafe { claim_if(true, flags, index) }
}

/// [`claim`] if `wanted`. Otherwise nothing is set and the answer is no: then this is for the order alone, of a
/// place that somebody else is known to own.
///
/// # Safety
/// The obligations of [`claim`].
#[inline(always)]
pub unsafe fn claim_if(wanted: bool, flags: *mut u32, index: u64) -> bool {
    let bit = u32::from(wanted) << (index & 31);
    // SAFETY: the caller vouches for the flag.
    unsafe { !fetch_or(flags.add((index >> 5) as usize), bit) & bit != 0 }
}

/// Whether bit `index` of an array of flags in global memory is clear, at some time. A hint: it orders nothing.
///
/// # Safety
/// The obligations of [`claim`].
#[inline(always)]
pub unsafe fn is_clear(flags: *mut u32, index: u64) -> bool {
    // SAFETY: the caller's obligation.
    unsafe { u32::load_strong(flags.add((index >> 5) as usize)) >> (index & 31) & 1 == 0 }
}

/// Sets bits of a word in global memory and returns what it held. A release and an acquire pattern on the word,
/// for the whole GPU.
///
/// # Safety
/// `word` is aligned, writable, and reached by strong accesses only.
#[gpu_only]
#[inline(always)]
unsafe fn fetch_or(word: *mut u32, bits: u32) -> u32 {
    let old;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.acq_rel.gpu.global.or.b32 {old}, [{word}], {bits};",
            old = out(reg32) old, word = in(reg64) word, bits = in(reg32) bits,
            options(nostack, preserves_flags));
    }
    old
}

/// Sets bits of a word in shared memory and returns what it held. A release and an acquire pattern on the word,
/// for the block.
///
/// # Safety
/// `address` is aligned and inside the block's shared memory; since a barrier the word is only reached by this.
#[gpu_only]
#[inline(always)]
pub unsafe fn fetch_or_shared(address: u32, bits: u32) -> u32 {
    let old;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.acq_rel.cta.shared.or.b32 {old}, [{address}], {bits};",
            old = out(reg32) old, address = in(reg32) address, bits = in(reg32) bits,
            options(nostack, preserves_flags));
    }
    old
}

/// Adds to a counter in global memory and returns what it held. A release and an acquire pattern on the counter,
/// for the whole GPU.
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

/// Adds 1 to a counter in global memory and returns what it held: a number that nobody else gets. It orders nothing.
///
/// # Safety
/// The obligations of [`fetch_add`].
#[gpu_only]
#[inline(always)]
pub unsafe fn take_number(counter: *mut u32) -> u32 {
    let number;
    // SAFETY: the caller vouches for the address.
    unsafe {
        core::arch::asm!("atom.relaxed.gpu.global.add.u32 {number}, [{counter}], 1;",
            number = out(reg32) number, counter = in(reg64) counter, options(nostack, preserves_flags));
    }
    number
}

/// Loads a word that other blocks write. An acquire pattern on the word, for the whole GPU.
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
