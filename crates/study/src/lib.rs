//! What transposes are studied with: the kernels of the texts that the library `transpose` grew from, and memory of
//! other kinds than the device's own.
//!
//! [`Kernel`] is the catalogue of those kernels, under names that a reader of the text
//! recognises. Some are not transposes but measurements; [`Kernel::outcome`] says what each
//! does, and [`Kernel::expected`] does the same on the host. Each runs in the blocks that its
//! text runs it in, and refuses others with the reason:
//!
//! ```
//! use study::{Block, Kernel};
//! use transpose::{Device, DeviceMatrix};
//!
//! # fn main() -> study::Result<()> {
//! let (device, _why_no_gpu) = Device::any();
//! let src = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
//! let mut dst = DeviceMatrix::zeroed(&device, 3, 2)?;
//! study::run(Kernel::NaiveCol, Block { x: 16, y: 16 }, &src, &mut dst)?;
//! assert_eq!(dst.to_host()?, [1, 4, 2, 5, 3, 6]);
//!
//! let refused = study::run(Kernel::Coalesced, Block { x: 16, y: 16 }, &src, &mut dst);
//! assert_eq!(
//!     refused.unwrap_err().to_string(),
//!     "coalesced does not run in blocks of 16×16 threads: \
//!      its blocks are 32×8, which move a tile of 32 × 32 elements"
//! );
//! # Ok(())
//! # }
//! ```
//!
//! [`HostMatrix`] is a matrix in host memory that a GPU reaches, in one of the ways that [`MemoryKind`] names.
//!
//! The crate stands on the public part of `transpose`: its kernels are an image of its own, launched through
//! [`transpose::raw`], and its memory comes from the driver.

mod allocation;
mod block;
mod catalogue;
mod error;
mod image;
mod memory;
mod memory_kind;
mod outcome;
mod plan;

pub use block::{Block, DALMASSO_BLOCKS};
pub use catalogue::{Kernel, Source};
pub use error::{Error, Result};
pub use memory::{HostMatrix, HostMut, HostRef};
pub use memory_kind::MemoryKind;
pub use outcome::Outcome;
pub use plan::{Plan, plan, run};
