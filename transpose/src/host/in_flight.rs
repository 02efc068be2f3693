//! One tile on its way: up, into its other order, and down, in a stream of its own.

use super::plan::HostPlan;
use super::stretches::{copies, gather, in_memory_order, packed, scatter};
use super::tiles::Tile;
use super::workspace::Arrays;
use crate::Result;
use crate::device::{Device, Mark, Rows};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use bytemuck::Pod;
use std::ptr::NonNull;

/// A slot that tiles go through one after the other: a stream, and memory for one tile on the device, twice, and in the ring.
pub(super) struct Flight<'a, T> {
    stream: &'a Device,
    /// Of what comes up and of what goes down.
    addresses: [u64; 2],
    /// Pinned memory for what comes up and for what goes down, where a side goes through the ring.
    staging: [Option<NonNull<T>>; 2],
    under_way: Option<UnderWay>,
}

/// What was started and has not ended.
struct UnderWay {
    /// Behind it.
    mark: Mark,
    /// Where its elements belong, in the order of memory.
    to: TensorLayout,
    /// How many there are.
    len: usize,
}

// SAFETY: the staging memory is the slot's alone.
unsafe impl<T: Pod> Send for Flight<'_, T> {}

impl<'a, T: Pod> Flight<'a, T> {
    pub fn new(stream: &'a Device, addresses: [u64; 2], staging: [Option<NonNull<T>>; 2]) -> Self {
        Flight { stream, addresses, staging, under_way: None }
    }

    /// Queues all work of a tile.
    ///
    /// # Safety
    /// - What was under way has landed.
    /// - The plan's layouts lie in the arrays; until the stream's work is done nobody writes the tile's elements of the source, nor uses
    ///   those of the destination. So long the slot's memory lives, which holds a tile on the device and in the ring.
    pub unsafe fn start(&mut self, plan: &HostPlan, tile: &Tile, arrays: &Arrays<T>) -> Result<()> {
        let size = size_of::<T>();
        let (src, dst) = (tile.of(&plan.src)?, tile.of(&plan.dst)?);
        let (from, to) = (in_memory_order(&src)?, in_memory_order(&dst)?);
        let [up, down] = self.addresses;
        // SAFETY: the caller's obligations.
        unsafe {
            match self.staging[0] {
                Some(staging) => {
                    gather(arrays.src, &from, staging.as_ptr());
                    self.stream.upload_rows_later(
                        one_row(up, from.len() * size),
                        staging.as_ptr().cast(),
                    )?;
                }
                None => {
                    for (rows, start) in copies(&from, size, up) {
                        self.stream.upload_rows_later(rows, arrays.src.add(start).cast())?;
                    }
                }
            }
            let source = TensorView::<T>::valid(self.stream, up, packed(&src, size)?);
            source.copy_into(TensorViewMut::valid(self.stream, down, packed(&dst, size)?))?;
            match self.staging[1] {
                Some(staging) => {
                    let row = one_row(down, to.len() * size);
                    self.stream.download_rows_later(row, staging.as_ptr().cast())?;
                }
                None => {
                    for (rows, start) in copies(&to, size, down) {
                        self.stream.download_rows_later(rows, arrays.dst.add(start).cast())?;
                    }
                }
            }
        }
        let mark = self.stream.mark(false)?;
        self.stream.put(&mark)?;
        let len = to.len();
        self.under_way = Some(UnderWay { mark, to, len });
        Ok(())
    }

    /// Waits for what is under way, and brings it to where it belongs; returns how many elements that were.
    ///
    /// # Safety
    /// Those of [`start`](Self::start), for the same arrays.
    pub unsafe fn land(&mut self, arrays: &Arrays<T>) -> Result<usize> {
        let Some(UnderWay { mark, to, len }) = self.under_way.take() else { return Ok(0) };
        mark.synchronize()?;
        if let Some(staging) = self.staging[1] {
            // SAFETY: the download is done; the caller vouches for the destination's elements.
            unsafe { scatter(staging.as_ptr().cast_const(), arrays.dst, &to) };
        }
        Ok(len)
    }
}

/// Bytes that lie together on both sides.
fn one_row(address: u64, bytes: usize) -> Rows {
    Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes }
}
