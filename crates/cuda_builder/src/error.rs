//! Everything that can go wrong in a build.

use crate::ptx::Finding;
use std::path::PathBuf;
use std::{fmt, io};

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder given to [`CudaBuilder::new`](crate::CudaBuilder::new) has no `Cargo.toml`.
    #[error("there is no crate at {0}: it has no Cargo.toml")]
    CratePathDoesntExist(PathBuf),

    /// The PTX was made but could not be put where it was wanted.
    #[error("cannot copy the PTX: {0}")]
    FailedToCopyPtxFile(#[source] io::Error),

    /// Cargo or the compiler failed; what they said is on standard error.
    #[error("the GPU crate does not build (see the compiler's messages above)")]
    BuildFailed,

    /// No compiler here can make PTX. Holds a line for each that was looked at.
    #[error("no compiler for nvptx64-nvidia-cuda:{}{HOW_TO_GET_ONE}", lines(.0))]
    NoCompiler(Vec<String>),

    /// An option that rustc's backend cannot honour.
    #[error("cuda_builder cannot do `{option}` with rustc's NVPTX backend: {reason}")]
    Unsupported {
        /// The method that set it.
        option: &'static str,
        /// Why not.
        reason: &'static str,
    },

    /// The PTX has something in it that it must not have.
    #[error("refused {}:{}", path.display(), lines(findings))]
    ForbiddenPtx {
        /// The refused file.
        path: PathBuf,
        /// Each place.
        findings: Vec<Finding>,
    },

    /// The build says it succeeded, and there is no PTX.
    #[error("the build left no PTX at {}: delete that folder and try again", .0.display())]
    NoPtx(PathBuf),

    /// A program could not be started.
    #[error("cannot run {}: {source}", program.display())]
    CannotRun {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The folder to build in could not be made.
    #[error("cannot write to {}: {source}", path.display())]
    CannotWrite {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    CannotRead {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The end of the message for [`CudaBuilderError::NoCompiler`].
const HOW_TO_GET_ONE: &str = "
Any one of these helps:
  rustup target add nvptx64-nvidia-cuda
  rustup component add rust-src
  apt-get install --no-install-recommends rustc-web rust-web-src   (Debian)
  CUDA_BUILDER_RUSTC=/path/to/rustc   (one that has the target or its library source)";

/// One indented line each.
fn lines<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}
