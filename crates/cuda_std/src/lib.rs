//! The part of Rust that a GPU kernel is written in: a port of rust-cuda's
//! `cuda_std` 0.2 from its own compiler backend to the one that rustc carries.
//!
//! The published crate needs `rustc_codegen_nvvm` and a nightly compiler from 2021
//! to compile for the GPU. This one has the same names, types and meanings, and
//! compiles with a current rustc. A kernel crate says `cuda_std = "0.2"` and
//! redirects that to here:
//!
//! ```toml
//! [patch.crates-io]
//! cuda_std = { path = "../crates/cuda_std" }
//! ```
//!
//! The day upstream publishes a release for current compilers, deleting these two
//! lines is the migration. On the host the same kernel crate type-checks against
//! either of the two, as long as it keeps to the names that both have.
//!
//! # What a kernel crate looks like
//!
//! ```
//! #![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
//! use cuda_std::prelude::*;
//!
//! #[kernel]
//! pub unsafe fn double(values: *mut f32, len: usize) {
//!     let index = thread::index_1d() as usize;
//!     if index < len {
//!         *values.add(index) *= 2.0;
//!     }
//! }
//! ```
//!
//! `abi_ptx` is for [`macro@kernel`], `asm_experimental_arch` for [`shared_array!`]: those
//! macros expand to code that needs them. `cuda_builder` lets a stable rustc accept
//! the features.
//!
//! # Differences from the published crate
//!
//! Left out, so that using them is a compile error:
//! - `print!`, `println!`, the allocator and what is built on it (`Box`, `Vec`,
//!   `format!` in the prelude): they are calls into the driver, and the PTX that
//!   `cuda_builder` accepts has no calls.
//! - `float`, `float_ext` and `intrinsics`: they are libdevice. `atomic`: use
//!   `core::sync::atomic`, which rustc's backend does compile.
//! - `nvptx-nvidia-cuda` (32 bit), which rustc dropped.
//!
//! Different:
//! - [`macro@kernel`] refuses slices: here they would be one kernel parameter, there two.
//! - [`assert_eq!`] and [`assert_ne!`] stop the kernel with a trap and print nothing.
//!   A panic does the same.
//! - [`macro@address_space`] refuses everything but `global`.
//! - [`shared_array!`] takes at most the 48 KiB that static shared memory may have,
//!   and aligns to 16 bytes at least.
//! - [`cfg::ComputeCapability`] has the newer chips.
//!
//! Added (a kernel that uses them no longer compiles with the published crate):
//! shuffles and votes in [`warp`].

#![no_std]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(asm_experimental_arch, link_llvm_intrinsics, stdarch_nvptx)
)]
// The intrinsics below are declared under LLVM's names.
#![allow(internal_features)]

pub mod cfg;
pub mod io;
pub mod mem;
pub mod misc;
pub mod ptr;
pub mod shared;
pub mod thread;
pub mod warp;

pub use cuda_std_macros::*;
pub use half;
pub use half::{bf16, f16};
pub use vek;

/// What nearly every kernel crate imports.
///
/// `assert_eq` and `assert_ne` are not in it, unlike in the published crate: since
/// Rust put its own into scope everywhere, a glob import makes the names ambiguous.
pub mod prelude {
    pub use crate::f16;
    pub use crate::kernel;
    pub use crate::thread;
}

#[cfg(target_arch = "nvptx64")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // SAFETY: `trap` ends the kernel with an error; there is nothing to uphold.
    unsafe { core::arch::nvptx::trap() }
}
