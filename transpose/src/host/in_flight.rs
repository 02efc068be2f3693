//! One step on its way: up, into its other order, and down.
//!
//! All steps come up in one stream, are turned in a second, and go down in a third one, in order by marks. With a stream for each step
//! the copies of both directions were seen to take turns, at two thirds of the speed.

use super::options::Bus;
use super::plan::aligned;
use super::schedule::Move;
use super::stretches::{Arrays, copies, gather, in_memory_order, packed, scatter};
use crate::Result;
use crate::device::{Device, Mark, Rows};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::ptr::NonNull;

/// The streams that all steps share.
#[derive(Clone, Copy)]
pub(super) struct Streams<'a> {
    pub up: &'a Device,
    pub turn: &'a Device,
    pub down: &'a Device,
}

/// A slot that steps go through one after the other: memory for one step on the device, twice, and in the ring.
pub(super) struct Flight<'a, T> {
    streams: Streams<'a>,
    /// Of what comes up and of what goes down.
    addresses: [u64; 2],
    /// Pinned memory for what comes up and for what goes down, where a side goes through the ring.
    staging: [Option<NonNull<T>>; 2],
    /// Who brings elements up and down where there is no staging.
    bus: [Bus; 2],
    under_way: Option<UnderWay>,
}

/// What was started and has not ended.
struct UnderWay {
    /// Behind it.
    mark: Mark,
    /// The moves, and where in the slot their elements are, in bytes.
    placed: SmallVec<[(Move, usize); 2]>,
}

// SAFETY: the staging memory is the slot's alone.
unsafe impl<T: Pod> Send for Flight<'_, T> {}

impl<'a, T: Pod> Flight<'a, T> {
    pub fn new(
        streams: Streams<'a>,
        addresses: [u64; 2],
        staging: [Option<NonNull<T>>; 2],
        bus: [Bus; 2],
    ) -> Self {
        Flight { streams, addresses, staging, bus, under_way: None }
    }

    /// Queues all work of a step.
    ///
    /// # Safety
    /// - What was under way has landed.
    /// - The moves' layouts lie in the arrays; until the streams' work is done nobody else writes what is read, nor uses what is
    ///   written. So long the slot's memory lives, which holds the step on the device and in the ring.
    pub unsafe fn start(&mut self, moves: SmallVec<[Move; 2]>, arrays: &Arrays<T>) -> Result<()> {
        let size = size_of::<T>();
        let mut at = 0;
        let placed: SmallVec<[(Move, usize); 2]> = moves
            .into_iter()
            .map(|part| {
                let start = at;
                at += aligned(part.to.len(), size);
                (part, start)
            })
            .collect();
        // SAFETY: the caller's obligations; each move has its own part of the slot.
        unsafe {
            for (part, at) in &placed {
                self.upload(&in_memory_order(&part.from)?, *at, arrays)?;
            }
            let Streams { up, turn, down } = self.streams;
            turn.wait_for(up)?;
            for (Move { from, to }, at) in &placed {
                let [incoming, outgoing] = self.addresses.map(|address| address + *at as u64);
                let source = match self.bus[0] {
                    Bus::Fused => TensorView::<T>::valid(turn, reached(arrays.src), *from),
                    _ => TensorView::valid(turn, incoming, packed(from, size)?),
                };
                let (address, layout) = match self.bus[1] {
                    Bus::Fused => (reached(arrays.dst), *to),
                    _ => (outgoing, packed(to, size)?),
                };
                source.copy_into(TensorViewMut::valid(turn, address, layout))?;
            }
            down.wait_for(turn)?;
            for (part, at) in &placed {
                self.download(&in_memory_order(&part.to)?, *at, arrays)?;
            }
        }
        let mark = self.streams.down.mark(false)?;
        self.streams.down.put(&mark)?;
        self.under_way = Some(UnderWay { mark, placed });
        Ok(())
    }

    /// Queues a copy of elements to the slot, `at` bytes behind its start.
    ///
    /// # Safety
    /// Those of [`start`](Self::start).
    unsafe fn upload(&self, from: &TensorLayout, at: usize, arrays: &Arrays<T>) -> Result<()> {
        let (size, address) = (size_of::<T>(), self.addresses[0] + at as u64);
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = self.staging[0].map(|staging| staging.byte_add(at).as_ptr()) {
                gather(arrays.src, from, staging);
                return self
                    .streams
                    .up
                    .upload_rows_later(one_row(address, from.len() * size), staging.cast());
            }
            match self.bus[0] {
                Bus::Fused => Ok(()),
                Bus::Kernel => {
                    let there = TensorView::<T>::valid(self.streams.up, reached(arrays.src), *from);
                    let here = TensorLayout::contiguous(from.shape(), size)?;
                    there.copy_into(TensorViewMut::valid(self.streams.up, address, here))
                }
                Bus::Engine | Bus::Auto => {
                    copies(from, size, address).try_for_each(|(rows, start)| {
                        self.streams.up.upload_rows_later(rows, arrays.src.add(start).cast())
                    })
                }
            }
        }
    }

    /// Queues a copy of elements from the slot, `at` bytes behind its start.
    ///
    /// # Safety
    /// Those of [`start`](Self::start).
    unsafe fn download(&self, to: &TensorLayout, at: usize, arrays: &Arrays<T>) -> Result<()> {
        let (size, address) = (size_of::<T>(), self.addresses[1] + at as u64);
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = self.staging[1].map(|staging| staging.byte_add(at).as_ptr()) {
                let row = one_row(address, to.len() * size);
                return self.streams.down.download_rows_later(row, staging.cast());
            }
            match self.bus[1] {
                Bus::Fused => Ok(()),
                Bus::Kernel => {
                    let here = TensorLayout::contiguous(to.shape(), size)?;
                    let there = TensorViewMut::valid(self.streams.down, reached(arrays.dst), *to);
                    TensorView::<T>::valid(self.streams.down, address, here).copy_into(there)
                }
                Bus::Engine | Bus::Auto => {
                    copies(to, size, address).try_for_each(|(rows, start)| {
                        self.streams.down.download_rows_later(rows, arrays.dst.add(start).cast())
                    })
                }
            }
        }
    }

    /// Waits for what is under way, and brings it to where it belongs; returns how many elements that were.
    ///
    /// # Safety
    /// Those of [`start`](Self::start), for the same arrays.
    pub unsafe fn land(&mut self, arrays: &Arrays<T>) -> Result<usize> {
        let Some(UnderWay { mark, placed }) = self.under_way.take() else { return Ok(0) };
        mark.synchronize()?;
        let mut elements = 0;
        for (part, at) in placed {
            elements += part.to.len();
            if let Some(staging) = self.staging[1] {
                let to = in_memory_order(&part.to)?;
                // SAFETY: the download is done; the caller vouches for the destination's elements.
                unsafe { scatter(staging.byte_add(at).as_ptr().cast_const(), arrays.dst, &to) };
            }
        }
        Ok(elements)
    }
}

/// Bytes that lie together on both sides.
fn one_row(address: u64, bytes: usize) -> Rows {
    Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes }
}

/// Where kernels find pinned memory: with unified addressing, which every 64-bit driver has, where the host finds it.
fn reached<T>(host: *const T) -> u64 {
    host.expose_provenance() as u64
}
