//! Compiles a Rust GPU crate to PTX: a port of rust-cuda's `cuda_builder` 0.3 from
//! its own compiler backend to the one that rustc carries.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! let ptx = CudaBuilder::new("kernels")
//!     .arch(NvvmArch::Compute70)
//!     .copy_to("resources/kernels.ptx")
//!     .build()?;
//! # Ok::<(), cuda_builder::CudaBuilderError>(())
//! ```
//!
//! # The compiler
//!
//! Every rustc has the `nvptx64-nvidia-cuda` target; what may be missing is `core`
//! for it. [`Toolchain::find`] looks, in this order, at
//!
//! 1. the compiler that the variable `CUDA_BUILDER_RUSTC` names,
//! 2. the active toolchain, if it has the target (`rustup target add nvptx64-nvidia-cuda`),
//! 3. the active toolchain, if it has the library's source (`rustup component add rust-src`),
//! 4. `/usr/bin/rustc`, if it has either (Debian: `apt-get install rustc-web rust-web-src`),
//!
//! and the error for finding none says what was missing in each. The features
//! involved are unstable, so `RUSTC_BOOTSTRAP=1` is set for this one build. With the
//! library's source, `core` is built to abort at a panic rather than to format a
//! message, and a bounds check costs a compare and a trap. The pre-built `core`
//! cannot do that: there a kernel that may panic has a call in it, and is refused.
//! Tried with rustc 1.95 and 1.96.
//!
//! # What it promises about the PTX
//!
//! - It comes from the options given here and from nothing around: the variables
//!   and the profile settings that cargo would pick up are replaced.
//! - It does not depend on where the crate lies: paths are trimmed, and the hashes of
//!   paths that are in the names of private items are replaced by numbers.
//! - It has no `.local` memory, no `call`, no unresolved `.extern`, and no high half of a 64-bit product that
//!   `ptxas` would get wrong ([`ptx`]).
//! - No barrier is copied into a branch. rustc's own jump threading (a MIR pass) does
//!   that, because it does not know what a barrier is: `if a { … } sync(); if a { … }`
//!   becomes two branches with a barrier each, which is undefined when the threads of a
//!   warp part there ([rust-lang/rust#137086]). The pass is off in this build, as it
//!   will be in later compilers; LLVM's passes know better.
//!
//! # Directives
//!
//! A kernel may say something about itself that rustc has no attribute for, in its body: the line
//! `//@entry .maxnreg 32` of an `asm!` becomes the directive `.maxnreg 32` of the kernel that it stands in.
//!
//! # Differences from the published crate
//!
//! - Added: [`CudaBuilder::ptx_version`], [`CudaBuilder::target_dir`],
//!   [`CudaBuilder::build_report`], newer chips in [`NvvmArch`], variants of
//!   [`CudaBuilderError`].
//! - `ftz`, `optix`, `override_libm`, `nvptx_32`, and `nvvm_opts(false)` answer
//!   [`CudaBuilderError::Unsupported`]. `override_libm` is therefore `false` by default.
//! - `release(false)` means debug assertions and overflow checks; the code is optimized
//!   all the same, since unoptimized Rust is full of calls.
//! - Builds go to `target/cuda_builder` in the kernel crate, the PTX into a folder of its
//!   own for each set of options.
//!
//! [rust-lang/rust#137086]: https://github.com/rust-lang/rust/issues/137086

mod arch;
mod cargo;
mod directives;
mod error;
mod options;
pub mod ptx;
mod symbols;
mod toolchain;

pub use arch::NvvmArch;
pub use error::CudaBuilderError;
pub use options::{CudaBuilder, DebugInfo, EmitOption};
pub use toolchain::{Origin, Toolchain};

use std::path::PathBuf;

/// What a build made, and with what.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildReport {
    /// The PTX: where [`CudaBuilder::copy_to`] put it, else where the compiler did.
    pub ptx: PathBuf,
    /// The LLVM IR or bitcode, if it was asked for.
    pub ir: Option<PathBuf>,
    /// The kernels in the PTX, in order.
    pub entries: Vec<String>,
    /// The compiler that was used and how it was found.
    pub toolchain: Toolchain,
}
