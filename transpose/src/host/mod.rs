//! Arrays that live in host memory: moved through the device, of any size.
//!
//! [`transpose_into`] and [`copy_into`] take views of host memory ([`HostView`], [`HostViewMut`]) of any strides and any number of axes.
//! An array is cut into tiles, which stream through the device: while one comes up, another one is turned, and a third one goes down,
//! so that both directions of the bus and the kernels are busy at once. The device holds a few tiles and never the array, so arrays may be
//! larger than its memory. Memory of a [`PinnedBuffer`](crate::PinnedBuffer) is read and written where it is; other memory goes through
//! a ring of pinned memory, which several threads fill and empty. Cores may move a part of the array themselves meanwhile
//! ([`HostOptions::cpu_threads`]).
//!
//! | file | what it is about |
//! |---|---|
//! | `view`, `options` | what a caller says |
//! | `tiles`, `schedule`, `budget`, `plan` | how an array is cut up, what that takes, and by which way each side goes: pure arithmetic |
//! | `stretches` | the elements of a move in host memory, and together |
//! | `turn`, `square`, `stores` | one tile by one core: in registers, and past the caches |
//! | `pieces` | a move by cores, piece by piece |
//! | `cargo`, `staging` | what a step moves, and its part of the ring |
//! | `pipeline`, `kernel`, `look_up` | the way through the device: up, into another order, and down |
//! | `ends` | what the device takes, and what cores beside it |
//! | `board`, `crew` | who of several threads does what next, and what that is |
//! | `progress` | how far a move is |
//! | `workspace` | the memory and the streams that moves take |
//! | `threads` | several threads, or as many as there are, doing the work of all |

mod board;
mod budget;
mod cargo;
pub mod cpu;
mod crew;
mod ends;
pub mod files;
mod in_place;
mod kernel;
mod look_up;
mod options;
mod pieces;
mod pipeline;
mod plan;
mod progress;
mod schedule;
mod square;
mod staging;
mod stores;
mod stretches;
mod threads;
mod tiles;
mod turn;
mod view;
mod workspace;

pub use in_place::{HostInPlace, transpose_in_place};
pub use options::{Bus, HostOptions};
pub use progress::{Progress, Watch};
pub use view::{HostView, HostViewMut};
pub use workspace::Workspace;

use crate::Result;
use crate::device::Device;
use bytemuck::Pod;

/// Transposes a host array into another, whose shape is the source's reversed: for a matrix, `cols × rows`.
///
/// ```
/// use transpose::Device;
/// use transpose::host::{HostView, HostViewMut, transpose_into};
/// # fn main() -> transpose::Result<()> {
/// let (device, _) = Device::any();
/// let (src, mut dst) = ([1u8, 2, 3, 4, 5, 6], [0; 6]);
/// transpose_into(&device, HostView::matrix(&src, 2, 3)?, HostViewMut::matrix(&mut dst, 3, 2)?)?;
/// assert_eq!(dst, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`copy_into`].
pub fn transpose_into<T: Pod>(
    device: &Device,
    src: HostView<T>,
    dst: HostViewMut<T>,
) -> Result<()> {
    copy_into(device, src.t(), dst)
}

/// Copies the elements of one host array to another of the same shape, whatever the strides of both. They are there when this returns.
///
/// [`Workspace`] does the same with other options than the default, and again and again with the same memory.
///
/// # Errors
/// [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch), [`Error::OutOfMemory`](crate::Error::OutOfMemory),
/// [`Error::HostMemory`](crate::Error::HostMemory), [`Error::HostBudget`](crate::Error::HostBudget) for limits below what one element
/// takes, and what the device reports. After an error the destination's elements are unspecified; no work uses them any more.
pub fn copy_into<T: Pod>(device: &Device, src: HostView<T>, dst: HostViewMut<T>) -> Result<()> {
    Workspace::new(device, HostOptions::default()).copy_into(src, dst)
}
