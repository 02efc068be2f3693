//! What can go wrong here, beside what goes wrong in the library.

use crate::memory_kind::MemoryKind;
use std::fmt::{self, Formatter};

/// What can go wrong: a variant per violated fact, with the numbers in it.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that no kernel has.
    ///
    /// Shown as `{:#}`, the names that there are follow on a line of their own.
    #[error(fmt = unknown_kernel)]
    UnknownKernel {
        /// The name.
        name: String,
        /// The names that there are, with commas between them.
        known: String,
    },

    /// A text that is not the shape of a block.
    #[error("{text:?} is not the shape of a block, such as 32x8")]
    BlockSyntax {
        /// The text.
        text: String,
    },

    /// A block that a kernel does not run in.
    #[error("{kernel} does not run in blocks of {}×{} threads: {reason}", block[0], block[1])]
    IllegalBlock {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads of the block asked for, along x and along y.
        block: [u32; 2],
        /// What the kernel wants instead, and why.
        reason: String,
    },

    /// A source that a kernel makes nothing of.
    #[error("{kernel} takes no {rows} × {cols} elements of {element_bytes} bytes: {reason}")]
    Source {
        /// The kernel's name.
        kernel: &'static str,
        /// Rows of the source.
        rows: usize,
        /// Columns of the source.
        cols: usize,
        /// Bytes of an element.
        element_bytes: usize,
        /// What the kernel wants instead.
        reason: &'static str,
    },

    /// A destination that a kernel's result does not go into.
    #[error("{kernel} needs a destination of {needed}, this one has {actual}")]
    Destination {
        /// The kernel's name.
        kernel: &'static str,
        /// What the kernel needs.
        needed: String,
        /// What the destination is.
        actual: String,
    },

    /// A matrix that needs more blocks than a grid has.
    #[error(
        "{kernel} in blocks of {}×{} threads: {rows} × {cols} elements are too many blocks",
        block[0],
        block[1]
    )]
    GridLimit {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads of the block asked for, along x and along y.
        block: [u32; 2],
        /// Rows of the source.
        rows: usize,
        /// Columns of the source.
        cols: usize,
    },

    /// Memory that kernels cannot reach, asked for as a matrix to run one on.
    #[error("{kind} memory is only for copies: kernels cannot reach it")]
    NotMapped {
        /// The kind of memory.
        kind: MemoryKind,
    },

    /// Elements that the host wants aligned to more than its memory is that a device can reach.
    #[error("elements aligned to {needed} bytes in host memory that is aligned to {given}")]
    HostAlignment {
        /// Bytes that the element type is aligned to.
        needed: usize,
        /// Bytes that the memory is aligned to.
        given: usize,
    },

    /// Unified memory on a GPU that does not let the host touch it while kernels run.
    #[error("{device} has no unified memory that the host may touch while kernels run")]
    NoConcurrentAccess {
        /// The device.
        device: String,
    },

    /// What the library reports.
    #[error(transparent)]
    Transpose(#[from] transpose::Error),
}

fn unknown_kernel(name: &String, known: &String, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "there is no study kernel {name:?}")?;
    if f.alternate() { write!(f, "\n  there are {known}") } else { Ok(()) }
}

/// What the driver answers is reported as the library does.
impl From<cuda_driver::Error> for Error {
    fn from(error: cuda_driver::Error) -> Self {
        Error::Transpose(error.into())
    }
}

/// A result whose error is this crate's.
pub type Result<T, E = Error> = std::result::Result<T, E>;
