//! Vectors of global memory.
//!
//! Kernels that use them compute with addresses, not with pointers. A pointer made from a number could point
//! anywhere: it compiles to a generic access, which finds out the memory space at run time and is
//! slower by a quarter. So global memory is said to be meant.
//!
//! # What the cache should keep
//! A transpose of a large matrix reads and writes everything once. The L2 cache need not keep any of it, but it matters
//! in which order it gives things up: with the feature `evict_last` what is loaded stays longest, and what is stored
//! leaves before. On compute capability 9.0 that makes all kernels faster, and the other way round makes them
//! slower (`docs/decisions/010-cache-policies.md`). PTX ISA, "Cache Eviction Priority Hints".

use crate::element::B16;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::cfg::ComputeCapability;
use cuda_std::gpu_only;
use kernel_abi::fast::SECTOR;
#[cfg(target_arch = "nvptx64")]
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::Fetching;

/// The instruction that loads some registers, as [`load_vector`] does.
#[cfg(all(target_arch = "nvptx64", not(feature = "evict_last")))]
macro_rules! load {
    ($kind:literal, $registers:literal) => {
        concat!("ld.global.", $kind, " ", $registers, ", [{address}];")
    };
}

/// The instruction that loads some registers, as [`load_vector`] does, and that the L2 cache gives what is loaded up last.
///
/// The number is the policy that `createpolicy.fractional.L2::evict_last` with a fraction of 1 makes on compute
/// capability 9.0. As a number it is part of the load; made by that instruction, the assembler keeps it in
/// registers, up to 16 more of them.
#[cfg(all(target_arch = "nvptx64", feature = "evict_last"))]
macro_rules! load {
    ($kind:literal, $registers:literal) => {
        concat!(
            "{{ .reg .b64 policy; mov.b64 policy, 0x14F0000000000000;\n",
            "ld.global.L2::cache_hint.",
            $kind,
            " ",
            $registers,
            ", [{address}], policy; }}"
        )
    };
}

/// The instruction that copies so many bytes, as [`copy_vector`] does: past the L1 cache (`cg`) or through it (`ca`).
#[cfg(all(target_arch = "nvptx64", not(feature = "evict_last")))]
macro_rules! copy {
    ($cache:literal, $bytes:literal) => {
        concat!("cp.async.", $cache, ".shared.global [{to}], [{from}], ", $bytes, ";")
    };
}

/// The instruction that copies so many bytes, with the policy of [`load_vector`].
#[cfg(all(target_arch = "nvptx64", feature = "evict_last"))]
macro_rules! copy {
    ($cache:literal, $bytes:literal) => {
        concat!(
            "{{ .reg .b64 policy; mov.b64 policy, 0x14F0000000000000;\n",
            "cp.async.",
            $cache,
            ".shared.global.L2::cache_hint [{to}], [{from}], ",
            $bytes,
            ", policy; }}"
        )
    };
}

/// Loads a vector.
///
/// # Safety
/// The 16 bytes at `address` are in global memory and readable, and every write in the launch to those of them that are looked at is ordered with the load, as
/// for [`Element::load`](crate::element::Element::load); `address` is a multiple of 16.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_vector(address: u64) -> B16 {
    let (x, y, z, w);
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(load!("v4.u32", "{{{x}, {y}, {z}, {w}}}"),
            x = out(reg32) x, y = out(reg32) y, z = out(reg32) z, w = out(reg32) w,
            address = in(reg64) address, options(nostack, preserves_flags));
    }
    B16(x, y, z, w)
}

/// Loads 4 bytes.
///
/// # Safety
/// Those of [`load_vector`], of 4 bytes at a multiple of 4.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_four(address: u64) -> u32 {
    let x;
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(load!("u32", "{x}"), x = out(reg32) x, address = in(reg64) address,
            options(nostack, preserves_flags));
    }
    x
}

/// Loads 8 bytes.
///
/// # Safety
/// Those of [`load_vector`], of 8 bytes at a multiple of 8.
#[gpu_only]
#[inline(always)]
pub unsafe fn load_eight(address: u64) -> [u32; 2] {
    let (x, y);
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(load!("v2.u32", "{{{x}, {y}}}"), x = out(reg32) x, y = out(reg32) y,
            address = in(reg64) address, options(nostack, preserves_flags));
    }
    [x, y]
}

/// Whether the chip that the code is built for has [`copy_vector`].
#[inline(always)]
pub fn can_copy() -> bool {
    ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute80
}

/// Begins to copy a vector to shared memory. It is there when the thread has [awaited](await_copies) it.
///
/// # Safety
/// Those of [`load_vector`]; `to` is a multiple of 16, and the 16 bytes there are shared memory that nothing else accesses until then.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_vector(to: u32, from: u64) {
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(copy!("cg", "16"), to = in(reg32) to, from = in(reg64) from, options(nostack, preserves_flags));
    }
}

/// Begins to copy a vector to shared memory through the L1 cache, as [`copy_vector`] does past it.
///
/// Two lanes whose vectors are one sector have it fetched once if their places in shared memory are as far behind multiples of 32 bytes as the vectors are in memory, and so side by side; else
/// each has it fetched, and only this cache knows that it has come already. On an H200 that is twice as much as is copied where all places are 16 bytes off, and 1.5 times as much where stretches
/// of many vectors start anywhere (decision 108).
///
/// # Safety
/// Those of [`copy_vector`].
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_vector_cached(to: u32, from: u64) {
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(copy!("ca", "16"), to = in(reg32) to, from = in(reg64) from, options(nostack, preserves_flags));
    }
}

/// Begins to copy 4 bytes to shared memory, as [`copy_vector`] does.
///
/// # Safety
/// Those of [`copy_vector`], of 4 bytes at multiples of 4.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_four(to: u32, from: u64) {
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(copy!("ca", "4"), to = in(reg32) to, from = in(reg64) from, options(nostack, preserves_flags));
    }
}

/// Begins to copy 8 bytes to shared memory, as [`copy_vector`] does.
///
/// # Safety
/// Those of [`copy_vector`], of 8 bytes at multiples of 8.
#[gpu_only]
#[inline(always)]
pub unsafe fn copy_eight(to: u32, from: u64) {
    // SAFETY: the caller's obligations; a policy changes no value.
    unsafe {
        asm!(copy!("ca", "8"), to = in(reg32) to, from = in(reg64) from, options(nostack, preserves_flags));
    }
}

/// Waits until all vectors are there that this thread copies.
#[gpu_only]
#[inline(always)]
pub fn await_copies() {
    // SAFETY: it has no preconditions.
    unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) }
}

/// Has the sector of an address fetched into the L2 cache, if it is not there.
///
/// What only a part of a sector is stored of, the cache keeps as a part, and reads the rest when it gives the sector up, one at a time: on an H200
/// that made storing rows of 48 bytes out of 96 slower by 2.3. A sector that is there as a whole is changed there.
///
/// # Safety
/// The address is one of global memory that the launch may access. Nothing is read by this, as far as other accesses can tell.
#[gpu_only]
#[inline(always)]
pub unsafe fn fetch_sector(address: u64) {
    // SAFETY: the caller's obligation; a hint.
    unsafe {
        asm!("prefetch.global.L2 [{address}];", address = in(reg64) address,
            options(nostack, preserves_flags));
    }
}

/// As [`fetch_sector`], and nothing beside it but the sector that memory moves with it: the other instruction has the whole cache line fetched. It takes
/// longer to ask for.
///
/// # Safety
/// That of [`fetch_sector`].
#[gpu_only]
#[inline(always)]
unsafe fn fetch_sector_alone(address: u64) {
    let vector = address - address % VECTOR as u64;
    // SAFETY: the caller's obligation; a hint.
    unsafe {
        asm!("cp.async.bulk.prefetch.L2.global [{vector}], {bytes};", vector = in(reg64) vector,
            bytes = const VECTOR, options(nostack, preserves_flags));
    }
}

/// Fetches the sectors that a stretch of memory starts and ends inside: those of `bytes` bytes from `start` on that others have bytes of; `how` is a
/// [`Fetching`].
///
/// # Safety
/// The stretch has a byte, and is one of global memory that the launch may access.
#[inline(always)]
pub unsafe fn fetch_ends(start: u64, bytes: u32, how: u64) {
    // No other target has the instruction, and the published `cuda_std`, which others are checked with, does not know the chip.
    #[cfg(not(target_arch = "nvptx64"))]
    let can_fetch_alone = false;
    #[cfg(target_arch = "nvptx64")]
    let can_fetch_alone = ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute90;
    // SAFETY: the caller's obligation.
    let fetch = |address: u64| unsafe {
        if can_fetch_alone && how == Fetching::Sectors as u64 {
            fetch_sector_alone(address)
        } else {
            fetch_sector(address)
        }
    };
    let end = start + bytes as u64;
    if !start.is_multiple_of(SECTOR as u64) {
        fetch(start);
    }
    if !end.is_multiple_of(SECTOR as u64) {
        fetch(end - 1);
    }
}

/// Stores a byte.
///
/// # Safety
/// Those of [`store_vector`], of one byte.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_one(address: u64, x: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.global.u8 [{address}], {x};", x = in(reg32) x, address = in(reg64) address,
            options(nostack, preserves_flags));
    }
}

/// Stores 2 bytes.
///
/// # Safety
/// Those of [`store_vector`], of 2 bytes at a multiple of 2.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_two(address: u64, x: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("{{ .reg .u16 low; cvt.u16.u32 low, {x}; st.global.u16 [{address}], low; }}",
            x = in(reg32) x, address = in(reg64) address, options(nostack, preserves_flags));
    }
}

/// Stores 4 bytes.
///
/// # Safety
/// Those of [`store_vector`], of 4 bytes at a multiple of 4.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_four(address: u64, x: u32) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.global.u32 [{address}], {x};", x = in(reg32) x, address = in(reg64) address,
            options(nostack, preserves_flags));
    }
}

/// Stores 8 bytes.
///
/// # Safety
/// Those of [`store_vector`], of 8 bytes at a multiple of 8.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_eight(address: u64, [x, y]: [u32; 2]) {
    // SAFETY: the caller's obligations.
    unsafe {
        asm!("st.global.v2.u32 [{address}], {{{x}, {y}}};", x = in(reg32) x, y = in(reg32) y,
            address = in(reg64) address, options(nostack, preserves_flags));
    }
}

/// Stores a vector.
///
/// # Safety
/// The 16 bytes at `address` are in global memory and writable, and every other access to them in the launch is ordered with the store, as
/// for [`Element::load`](crate::element::Element::load); `address` is a multiple of 16.
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
