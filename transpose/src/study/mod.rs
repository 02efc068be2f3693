//! What transposes are studied with: copies to measure them against, the kernels of the texts
//! that this library grew from, and memory of other kinds than the device's own.
//!
//! [`Kernel`] is the catalogue of those kernels, under names that a reader of the text
//! recognises. Some are not transposes but measurements; [`Kernel::outcome`] says what each
//! does, and [`Kernel::expected`] does the same on the host. Each runs in the blocks that its
//! text runs it in, and refuses others with the reason:
//!
//! ```
//! use transpose::study::{self, Block, Kernel};
//! use transpose::{Device, DeviceMatrix};
//!
//! # fn main() -> transpose::Result<()> {
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

mod block;
mod catalogue;
mod copies;
mod launches;
mod memory;
mod outcome;

pub use crate::in_place::census as in_place_cycles;
pub use crate::memory_kind::MemoryKind;
pub use block::{Block, SEED_BLOCKS};
pub use catalogue::{Kernel, Source};
pub use copies::{copy_into, driver_copy};
pub use launches::{plan, run};
pub use memory::{HostMatrix, HostMut, HostRef};
pub use outcome::Outcome;
#[cfg(feature = "simulator")]
pub use simt::{Counters, GlobalTraffic, SharedTraffic};
