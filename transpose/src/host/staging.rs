//! The part of the ring that a step has, which threads fill and empty.

use super::board::Way;
use super::cargo::Cargo;
use super::stores::Stores;
use super::stretches::{Arrays, gather, scatter};
use crate::Result;
use bytemuck::Pod;
use std::ptr::NonNull;

/// Pinned memory for one step: for what comes up and for what goes down, where a side goes through the ring.
#[derive(Clone, Copy)]
pub(super) struct Staging<T>(pub [Option<NonNull<T>>; 2]);

// SAFETY: the memory is pinned memory of the workspace, whose threads each use parts of their own.
unsafe impl<T: Pod> Send for Staging<T> {}
// SAFETY: as above.
unsafe impl<T: Pod> Sync for Staging<T> {}

impl<T: Pod> Staging<T> {
    /// Whether a side goes through the ring.
    pub fn has(&self, way: Way) -> bool {
        self.0[way as usize].is_some()
    }

    /// Where a byte of the step is.
    ///
    /// # Safety
    /// The byte lies in the step.
    pub unsafe fn at(&self, way: Way, byte: usize) -> Option<NonNull<T>> {
        // SAFETY: the caller's obligation.
        self.0[way as usize].map(|start| unsafe { start.byte_add(byte) })
    }

    /// Brings a share of what comes up to the ring.
    ///
    /// # Safety
    /// The cargo fits, lies in the arrays, and nobody else uses the share on either side.
    pub unsafe fn fill(&self, cargo: &Cargo, share: usize, arrays: &Arrays<T>) -> Result<()> {
        let (from, at) = cargo.share::<T>(Way::Up, share)?;
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = self.at(Way::Up, at) {
                gather(arrays.src, &from, staging.as_ptr());
            }
        }
        Ok(())
    }

    /// Brings a share of what has come down to where it belongs.
    ///
    /// # Safety
    /// Those of [`fill`](Self::fill).
    pub unsafe fn empty(
        &self,
        cargo: &Cargo,
        share: usize,
        arrays: &Arrays<T>,
        stores: Stores,
    ) -> Result<()> {
        let (to, at) = cargo.share::<T>(Way::Down, share)?;
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = self.at(Way::Down, at) {
                scatter(staging.as_ptr().cast_const(), arrays.dst, &to, stores);
            }
        }
        Ok(())
    }
}
