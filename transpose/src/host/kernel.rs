//! The kernel that brings elements from one view to another, and where it finds the host's memory.

use crate::tensor::{TensorView, TensorViewMut};
use crate::{Plan, Result};
use bytemuck::Pod;

/// Queues a kernel that copies from one view to another.
///
/// What it reads goes from the L2 cache as usual, for nothing reads it again. Kept there (`evict_last`) it makes copies no slower:
/// those wait for page tables whichever way a kernel reads (`docs/decisions/048-rows-over-the-bus.md`).
pub(super) fn turn<T: Pod>(src: TensorView<T>, mut dst: TensorViewMut<T>) -> Result<()> {
    Plan::moving(src, dst.reborrow())?.evict_last(false).run(src, dst)
}

/// Where kernels find pinned memory: with unified addressing, which every 64-bit driver has, where the host finds it.
pub(super) fn reached<T>(host: *const T) -> u64 {
    host.expose_provenance() as u64
}
