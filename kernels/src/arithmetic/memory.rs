//! Parts of vectors, of global and of shared memory: 1, 2, 4, 8 or 16 bytes, which are multiples of as many.
//!
//! Each is an instruction that stays where it is written, so that the loads of a thread are all on their way before it computes with the first.

use crate::element::{Element, B16};
#[cfg(target_arch = "nvptx64")]
use crate::global::{load_vector, store_vector};
#[cfg(target_arch = "nvptx64")]
use crate::launch::is_hopper;
use crate::opaque::{not_unrolled, opaque};
use crate::shared::{load_u16, load_u32, load_u8, store_u32, store_u32x2};
use crate::slide::{slide, slide_u32};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;
use kernel_abi::fast::VECTOR;

/// The instruction of a load from global memory.
#[cfg(all(target_arch = "nvptx64", not(feature = "evict_last")))]
macro_rules! load {
    ($kind:literal, $to:literal) => {
        concat!("ld.global.", $kind, " ", $to, ", [{address}];")
    };
}

/// The same, with the policy of [`load_vector`].
#[cfg(all(target_arch = "nvptx64", feature = "evict_last"))]
macro_rules! load {
    ($kind:literal, $to:literal) => {
        concat!(
            "{{ .reg .b64 policy; mov.b64 policy, 0x14F0000000000000;\n",
            "ld.global.L2::cache_hint.",
            $kind,
            " ",
            $to,
            ", [{address}], policy; }}"
        )
    };
}

/// Loads the first `bytes` bytes of a vector; what the others are is not said.
///
/// # Safety
/// They are in global memory and readable, and every write to them in the launch is ordered with the load, as for
/// [`Element::load`]; `address` is a multiple of `bytes`.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_part(address: u64, bytes: usize) -> B16 {
    let (x, y): (u32, u32);
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        match bytes {
            1 => asm!(load!("u8", "{x}"), x = out(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags)),
            2 => asm!(load!("u16", "{x}"), x = out(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags)),
            4 => asm!(load!("u32", "{x}"), x = out(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags)),
            8 => {
                asm!(load!("v2.u32", "{{{x}, {y}}}"), x = out(reg32) x, y = out(reg32) y,
                    address = in(reg64) address, options(nostack, preserves_flags));
                return B16(x, y, 0, 0);
            }
            _ => return load_vector(address),
        }
    }
    B16(x, 0, 0, 0)
}

/// Stores the first `bytes` bytes of a vector.
///
/// # Safety
/// They are in global memory and writable, and every other access to them in the launch is ordered with the store; `address` is a multiple of
/// `bytes`.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_part(address: u64, bytes: usize, vector: B16) {
    let B16(x, y, ..) = vector;
    // SAFETY: the caller's obligations.
    unsafe {
        match bytes {
            1 => {
                asm!("st.global.u8 [{address}], {x};", x = in(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags))
            }
            2 => {
                asm!("st.global.u16 [{address}], {x};", x = in(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags))
            }
            4 => {
                asm!("st.global.u32 [{address}], {x};", x = in(reg32) x, address = in(reg64) address,
                options(nostack, preserves_flags))
            }
            8 => {
                asm!("st.global.v2.u32 [{address}], {{{x}, {y}}};", x = in(reg32) x, y = in(reg32) y,
                address = in(reg64) address, options(nostack, preserves_flags))
            }
            _ => store_vector(address, vector),
        }
    }
}

/// Loads the first `bytes` bytes of a vector of shared memory.
///
/// # Safety
/// `address` is a multiple of `bytes`, which are inside the block's shared memory, and were written before the last barrier.
#[inline(always)]
pub unsafe fn load_shared_part(address: u32, bytes: usize) -> B16 {
    // SAFETY: the caller's obligations.
    unsafe {
        match bytes {
            1 => B16(load_u8(address), 0, 0, 0),
            2 => B16(load_u16(address), 0, 0, 0),
            4 => B16(load_u32(address), 0, 0, 0),
            8 => B16::from_u64s([u64::load_shared(address), 0]),
            _ => B16::load_shared(address),
        }
    }
}

/// Stores the first `bytes` bytes of a vector to shared memory.
///
/// # Safety
/// `address` is a multiple of `bytes`, which are inside the block's shared memory and accessed by no other thread before the next barrier.
#[inline(always)]
pub unsafe fn store_shared_part(address: u32, bytes: usize, vector: B16) {
    // SAFETY: the caller's obligations.
    unsafe {
        match bytes {
            1 => (vector.0 as u8).store_shared(address),
            2 => (vector.0 as u16).store_shared(address),
            4 => store_u32(address, vector.0),
            8 => store_u32x2(address, vector.0, vector.1),
            _ => vector.store_shared(address),
        }
    }
}

/// Puts an element of `bytes` bytes, the first of a vector whose other bits are 0, to the `j`-th place of words of which these are 0.
#[inline(always)]
pub fn put(words: &mut [u32; 4], j: usize, bytes: usize, element: B16) {
    let parts = element.u32s();
    for k in 0..bytes.div_ceil(4) {
        words[j * bytes / 4 + k] |= parts[k] << (8 * (j * bytes % 4));
    }
}

/// The `j`-th element of `bytes` bytes, as the first of a vector.
#[inline(always)]
pub fn get(vector: B16, j: usize, bytes: usize) -> B16 {
    let (words, mut element) = (vector.u32s(), [0u32; 4]);
    for k in 0..bytes.div_ceil(4) {
        element[k] = words[j * bytes / 4 + k] >> (8 * (j * bytes % 4));
    }
    B16::from_u32s(element)
}

/// The start of the unit of `bytes` bytes, a power of two, that an address is in.
#[inline(always)]
pub fn unit_start(address: u64, bytes: u64) -> u64 {
    address & !(bytes - 1)
}

/// Loads elements of a unit one by one, from the last to the first, to their places in it: from one to before another.
///
/// # Safety
/// They are readable; `address` is that of the first of them.
#[inline(always)]
pub unsafe fn load_elements(address: u64, bytes: usize, [begin, end]: [u32; 2]) -> B16 {
    let (mut unit, mut left) = (B16(0, 0, 0, 0), opaque(end));
    while left > 0 {
        not_unrolled();
        left -= 1;
        let mut element = B16(0, 0, 0, 0);
        if left >= begin {
            // SAFETY: the caller's obligation.
            element = unsafe { load_part(address + (left - begin) as u64 * bytes as u64, bytes) };
        }
        unit = push(unit, bytes, element);
    }
    unit
}

/// An element of `bytes` bytes, 4 at most, before those of a vector, of which the last falls out.
#[inline(always)]
pub fn push(vector: B16, bytes: usize, element: B16) -> B16 {
    let B16(x, y, z, w) = vector;
    if bytes >= 4 {
        return B16(element.0, x, y, z);
    }
    let past = (4 - bytes) as u32;
    let before = |low: u32, high: u32| slide_u32(low, high, past);
    B16(x << (8 * bytes) | element.0, before(x, y), before(y, z), before(z, w))
}

/// The `bytes` bytes from byte `past`, modulo as many, on of as many and as many again: elements of `size` bytes.
#[inline(always)]
pub fn slide_part(size: usize, bytes: usize, first: B16, second: B16, past: u32) -> B16 {
    match bytes {
        2 => B16(slide_u32(first.0 | second.0 << 16, 0, past % 2), 0, 0, 0),
        4 => B16(slide_u32(first.0, second.0, past), 0, 0, 0),
        8 => {
            let is_past = past & 4 != 0;
            let (a, b, c) =
                if is_past { (first.1, second.0, second.1) } else { (first.0, first.1, second.0) };
            if size >= 4 {
                B16(a, b, 0, 0)
            } else {
                B16(slide_u32(a, b, past), slide_u32(b, c, past), 0, 0)
            }
        }
        _ => match size {
            8.. => slide::<u64>(first, second, past % VECTOR),
            4 => slide::<u32>(first, second, past % VECTOR),
            _ => slide::<u8>(first, second, past % VECTOR),
        },
    }
}

/// The vector itself, of which the compiler knows nothing more: it does not compute with what a branch loads inside that branch.
#[inline(always)]
pub fn arrived(vector: B16) -> B16 {
    B16(opaque(vector.0), opaque(vector.1), opaque(vector.2), opaque(vector.3))
}

/// Starts to copy 4, 8 or 16 bytes to shared memory, without waiting for them where the code is built for compute capability 9.0.
///
/// # Safety
/// `to` and `from` are multiples of `bytes`. Those from `from` on are in global memory and readable, and nothing writes to them before this thread's next [`await_copies`]; those from `to` on are
/// inside the block's shared memory, and no thread accesses them before that.
#[gpu_only]
#[inline(always)]
pub unsafe fn start_copy(to: u32, from: u64, bytes: usize) {
    // SAFETY: the caller's obligations.
    unsafe {
        if !is_hopper() {
            return store_shared_part(to, bytes, load_part(from, bytes));
        }
        match bytes {
            4 => asm!("cp.async.ca.shared.global [{to}], [{from}], 4;", to = in(reg32) to,
                from = in(reg64) from, options(nostack, preserves_flags)),
            8 => asm!("cp.async.ca.shared.global [{to}], [{from}], 8;", to = in(reg32) to,
                from = in(reg64) from, options(nostack, preserves_flags)),
            _ => asm!("cp.async.cg.shared.global [{to}], [{from}], 16;", to = in(reg32) to,
                from = in(reg64) from, options(nostack, preserves_flags)),
        }
    }
}

/// Waits for all copies that this thread has started: it may read what they stored.
#[gpu_only]
#[inline(always)]
pub fn await_copies() {
    if is_hopper() {
        // SAFETY: waiting has no preconditions. Memory is taken to be changed by it, so no access moves to before.
        unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
    }
}
