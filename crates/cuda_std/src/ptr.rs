//! Pointers and the address spaces they point into.
//!
//! A Rust pointer is *generic*: the hardware finds out at run time which memory it
//! means. A *specific* address names a place within one kind of memory, and
//! instructions such as `ld.shared` take those.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// The device's memory.
    Global,
    /// Memory of a block.
    Shared,
    /// Read-only memory of the device.
    Constant,
    /// Memory of a thread.
    Local,
}

/// Emits one instruction per address space; `$space` is a value, so a constant one
/// leaves a single instruction.
#[cfg(target_arch = "nvptx64")]
macro_rules! in_space {
    ($space:expr, $before:literal, $after:literal, $($operands:tt)*) => {
        match $space {
            AddressSpace::Global => in_space!(@emit $before, "global", $after, $($operands)*),
            AddressSpace::Shared => in_space!(@emit $before, "shared", $after, $($operands)*),
            AddressSpace::Constant => in_space!(@emit $before, "const", $after, $($operands)*),
            AddressSpace::Local => in_space!(@emit $before, "local", $after, $($operands)*),
        }
    };
    (@emit $before:literal, $space:literal, $after:literal, $($operands:tt)*) => {
        asm!(
            concat!($before, $space, $after),
            $($operands)*,
            options(pure, nomem, nostack, preserves_flags)
        )
    };
}

/// Whether a generic pointer points into `address_space`.
///
/// # Safety
/// - `ptr` points to a live `T`.
#[gpu_only]
#[inline(always)]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    let inside: u32;
    // SAFETY: compares an address with the bounds of a window.
    unsafe {
        in_space!(
            address_space,
            "{{ .reg .pred %inside; isspacep.",
            " %inside, {0}; selp.u32 {1}, 1, 0, %inside; }}",
            in(reg64) ptr,
            out(reg32) inside
        )
    }
    inside != 0
}

/// The address within `address_space` of a generic pointer into it.
///
/// The result is no longer a pointer that Rust can follow: pass it to `asm!`.
///
/// # Safety
/// - `ptr` points to a live `T` in `address_space`.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let specific;
    // SAFETY: arithmetic on an address; the caller vouches for the space.
    unsafe {
        in_space!(
            address_space,
            "cvta.to.",
            ".u64 {}, {};",
            out(reg64) specific,
            in(reg64) ptr
        )
    }
    specific
}

/// The generic pointer for an address within `address_space`.
///
/// # Safety
/// - `ptr` is the address of a live `T` within `address_space`.
#[gpu_only]
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    ptr: *const T,
    address_space: AddressSpace,
) -> *const T {
    let generic;
    // SAFETY: arithmetic on an address; the caller vouches for the space.
    unsafe {
        in_space!(
            address_space,
            "cvta.",
            ".u64 {}, {};",
            out(reg64) generic,
            in(reg64) ptr
        )
    }
    generic
}
