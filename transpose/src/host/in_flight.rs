//! Steps on their way through the device: up, into their other order, and down.
//!
//! All steps come up in one stream, are turned in a second, and go down in a third one, in order by marks. With a stream for each step
//! the copies of both directions were seen to take turns, at two thirds of the speed. What a step needs of the device is a lane: memory for
//! what comes up and for what goes down. The streams wait for a lane by themselves, so that the host need not be there in time.

use super::board::Way;
use super::options::Bus;
use super::plan::{LOOK_UP, aligned};
use super::schedule::Move;
use super::stretches::{Arrays, Shares, copies, gather, in_memory_order, packed, samples, scatter};
use super::turn::Stores;
use crate::device::{Device, Mark, Rows};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Plan, Result};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What a step moves.
pub(super) struct Cargo {
    parts: SmallVec<[Part; 2]>,
}

/// One of a step's moves.
struct Part {
    moved: Move,
    /// Where in a slot its elements are, in bytes.
    at: usize,
    /// The elements in the order of the host's memory, where they come from and where they go.
    ordered: [TensorLayout; 2],
    /// What threads bring to the ring and from it, side by side.
    shares: [Shares; 2],
}

impl Cargo {
    /// Some moves, with elements of so many bytes, each in about so many shares.
    pub fn new(moves: SmallVec<[Move; 2]>, element_bytes: usize, shares: usize) -> Result<Self> {
        let mut next = 0;
        let part = |moved: Move| {
            let at = next;
            next += aligned(moved.to.len(), element_bytes);
            let ordered = [in_memory_order(&moved.from)?, in_memory_order(&moved.to)?];
            let shares = ordered.map(|ordered| Shares::new(&ordered, shares));
            Ok(Part { moved, at, ordered, shares })
        };
        Ok(Cargo { parts: moves.into_iter().map(part).collect::<Result<_>>()? })
    }

    /// Shares of one side.
    pub fn shares(&self, way: Way) -> usize {
        self.parts.iter().map(|part| part.shares[way as usize].count()).sum()
    }

    /// Elements that are written.
    pub fn elements(&self) -> usize {
        self.parts.iter().map(|part| part.moved.to.len()).sum()
    }

    /// The elements of a share, and where they lie in a slot, in bytes.
    fn share<T>(&self, way: Way, number: usize) -> Result<(TensorLayout, usize)> {
        let mut rest = number;
        for part in &self.parts {
            let shares = &part.shares[way as usize];
            if rest < shares.count() {
                let (share, before) = shares.get(rest)?;
                return Ok((share, part.at + before * size_of::<T>()));
            }
            rest -= shares.count();
        }
        unreachable!("shares are taken by their numbers")
    }
}

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
    unsafe fn at(&self, way: Way, byte: usize) -> Option<NonNull<T>> {
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

/// The streams that all steps share: for what comes up, for what is turned, and for what goes down.
#[derive(Clone, Copy)]
pub(super) struct Streams<'a> {
    pub up: &'a Device,
    pub turn: &'a Device,
    pub down: &'a Device,
}

/// Device memory that steps go through one after the other.
pub(super) struct Lanes<'a> {
    streams: Streams<'a>,
    /// Of the first place for what comes up; behind these are those for what goes down.
    address: u64,
    /// Of a place.
    bytes: usize,
    /// Who brings elements up and down where there is no staging.
    bus: [Bus; 2],
    /// Where kernels put what they read to have pages looked up, of [`LOOK_UP`] bytes; `None` for no such kernels.
    looked_up: Option<u64>,
    queue: Mutex<Queue>,
}

/// Bytes of host memory of which one look-up is enough: their entries of the page tables are a line of the L2 cache.
const LOOKED_UP_AT_ONCE: usize = 64 << 10;

/// What was queued.
struct Queue {
    /// The number of the next step, which takes one place after the other on both ways.
    next: usize,
    incoming: Vec<Incoming>,
    outgoing: Vec<Outgoing>,
}

/// A place for what comes up.
struct Incoming {
    /// Behind the last step that came up.
    up: Mark,
    /// Behind the kernels that have turned it.
    turned: Mark,
    used: bool,
}

/// A place for what goes down.
struct Outgoing {
    /// Behind the last step that went down.
    gone: Mark,
    used: bool,
}

impl<'a> Lanes<'a> {
    /// So many places for steps of so many bytes, one behind the other from an address on: for what comes up, and for what goes down.
    pub fn new(
        streams: Streams<'a>,
        address: u64,
        bytes: usize,
        places: [usize; 2],
        bus: [Bus; 2],
        looked_up: Option<u64>,
    ) -> Result<Self> {
        let mark = || streams.up.mark(false);
        let incoming = |_| Ok(Incoming { up: mark()?, turned: mark()?, used: false });
        let outgoing = |_| Ok(Outgoing { gone: mark()?, used: false });
        let incoming = (0..places[0]).map(incoming).collect::<Result<_>>()?;
        let outgoing = (0..places[1]).map(outgoing).collect::<Result<_>>()?;
        let queue = Mutex::new(Queue { next: 0, incoming, outgoing });
        Ok(Lanes { streams, address, bytes, bus, looked_up, queue })
    }

    /// Queues all work of a step, and puts a mark behind it.
    ///
    /// # Safety
    /// - What comes up through staging memory is there.
    /// - The cargo fits a lane and lies in the arrays; until the streams' work is done nobody else writes what is read, nor uses what is
    ///   written. So long the lanes' memory lives.
    pub unsafe fn launch<T: Pod>(
        &self,
        cargo: &Cargo,
        staging: &Staging<T>,
        arrays: &Arrays<T>,
        behind: &Mark,
    ) -> Result<()> {
        // One step at a time: others would come between its copies.
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Queue { next, incoming, outgoing } = &mut *queue;
        // One place on each way is for those who want one step after the other.
        let alone = outgoing.len() == 1;
        let places = [*next % incoming.len(), *next % outgoing.len()];
        *next += 1;
        let address = |place: usize| self.address + (place * self.bytes) as u64;
        let addresses = [address(places[0]), address(incoming.len() + places[1])];
        let (coming, going) = (&mut incoming[places[0]], &mut outgoing[places[1]]);
        let [incoming, outgoing] = addresses;
        let Streams { up, turn, down } = self.streams;
        // SAFETY: the caller's obligations. What comes up is looked up behind the kernel of the step before.
        unsafe { self.look_up(Way::Up, cargo, staging, arrays.src)? };
        if coming.used {
            up.wait_for_mark(if alone { &going.gone } else { &coming.turned })?;
        }
        if going.used {
            turn.wait_for_mark(&going.gone)?;
        }
        (coming.used, going.used) = (true, true);
        // SAFETY: the caller's obligations; each move has its own part of the places, which the streams wait for.
        unsafe {
            for part in &cargo.parts {
                let host = staging.at(Way::Up, part.at);
                self.upload(part, incoming + part.at as u64, host, arrays)?;
            }
            up.put(&coming.up)?;
            turn.wait_for_mark(&coming.up)?;
            for part in &cargo.parts {
                let [incoming, outgoing] = [incoming, outgoing].map(|start| start + part.at as u64);
                self.turn(part.moved, [incoming, outgoing], arrays)?;
            }
            self.look_up(Way::Down, cargo, staging, arrays.dst.cast_const())?;
            turn.put(&coming.turned)?;
            down.wait_for_mark(&coming.turned)?;
            for part in &cargo.parts {
                let host = staging.at(Way::Down, part.at);
                self.download(part, outgoing + part.at as u64, host, arrays)?;
            }
        }
        down.put(&going.gone)?;
        down.put(behind)
    }

    /// Queues kernels that read some of the elements that copies of rows will read or write next in host memory.
    ///
    /// Copy engines look up pages of host memory in tables that lie in device memory. Where the L2 cache has the entries, rows of some KiB are
    /// copied nearly as fast as whole memory; but a kernel that moves more than the cache holds leaves it without them, and then engines wait
    /// for each row. Kernels look up thousands of pages at a time, and leave the entries in the cache.
    ///
    /// # Safety
    /// Those of [`launch`](Self::launch).
    unsafe fn look_up<T: Pod>(
        &self,
        way: Way,
        cargo: &Cargo,
        staging: &Staging<T>,
        host: *const T,
    ) -> Result<()> {
        let by_engine = self.bus[way as usize] == Bus::Engine && !staging.has(way);
        let Some(address) = self.looked_up.filter(|_| by_engine) else { return Ok(()) };
        let (stream, size) = (self.streams.turn, size_of::<T>());
        for part in &cargo.parts {
            let ordered = &part.ordered[way as usize];
            let samples = samples(ordered, size, LOOKED_UP_AT_ONCE)?;
            // Long rows have few pages that others have too; what is short is in the cache still.
            let pays = |samples: &TensorLayout| {
                samples.len() * size <= LOOK_UP && ordered.run() * size < LOOKED_UP_AT_ONCE
            };
            if let Some(samples) = samples.filter(pays) {
                let here = TensorLayout::contiguous(samples.shape(), size)?;
                // SAFETY: samples are elements of the arrays; the memory for them is of this stream alone.
                unsafe {
                    let there = TensorView::<T>::valid(stream, reached(host), samples);
                    turn(there, TensorViewMut::valid(stream, address, here))?;
                }
            }
        }
        Ok(())
    }

    /// Queues the kernel that brings elements into their other order.
    ///
    /// # Safety
    /// Those of [`launch`](Self::launch).
    unsafe fn turn<T: Pod>(
        &self,
        Move { from, to }: Move,
        [incoming, outgoing]: [u64; 2],
        arrays: &Arrays<T>,
    ) -> Result<()> {
        let (stream, size) = (self.streams.turn, size_of::<T>());
        // SAFETY: the caller's obligations.
        unsafe {
            let source = match self.bus[0] {
                Bus::Fused => TensorView::<T>::valid(stream, reached(arrays.src), from),
                _ => TensorView::valid(stream, incoming, packed(&from, size)?),
            };
            let (address, layout) = match self.bus[1] {
                Bus::Fused => (reached(arrays.dst), to),
                _ => (outgoing, packed(&to, size)?),
            };
            turn(source, TensorViewMut::valid(stream, address, layout))
        }
    }

    /// Queues a copy of elements to a lane.
    ///
    /// # Safety
    /// Those of [`launch`](Self::launch).
    unsafe fn upload<T: Pod>(
        &self,
        part: &Part,
        address: u64,
        staging: Option<NonNull<T>>,
        arrays: &Arrays<T>,
    ) -> Result<()> {
        let (size, stream, from) = (size_of::<T>(), self.streams.up, &part.ordered[0]);
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = staging {
                let row = one_row(address, from.len() * size);
                return stream.upload_rows_later(row, staging.as_ptr().cast());
            }
            match self.bus[0] {
                Bus::Fused => Ok(()),
                Bus::Kernel => {
                    let there = TensorView::<T>::valid(stream, reached(arrays.src), *from);
                    let here = TensorLayout::contiguous(from.shape(), size)?;
                    there.copy_into(TensorViewMut::valid(stream, address, here))
                }
                Bus::Engine | Bus::Auto => {
                    copies(from, size, address).try_for_each(|(rows, start)| {
                        stream.upload_rows_later(rows, arrays.src.add(start).cast())
                    })
                }
            }
        }
    }

    /// Queues a copy of elements from a lane.
    ///
    /// # Safety
    /// Those of [`launch`](Self::launch).
    unsafe fn download<T: Pod>(
        &self,
        part: &Part,
        address: u64,
        staging: Option<NonNull<T>>,
        arrays: &Arrays<T>,
    ) -> Result<()> {
        let (size, stream, to) = (size_of::<T>(), self.streams.down, &part.ordered[1]);
        // SAFETY: the caller's obligations.
        unsafe {
            if let Some(staging) = staging {
                let row = one_row(address, to.len() * size);
                return stream.download_rows_later(row, staging.as_ptr().cast());
            }
            match self.bus[1] {
                Bus::Fused => Ok(()),
                Bus::Kernel => {
                    let here = TensorLayout::contiguous(to.shape(), size)?;
                    let there = TensorViewMut::valid(stream, reached(arrays.dst), *to);
                    TensorView::<T>::valid(stream, address, here).copy_into(there)
                }
                Bus::Engine | Bus::Auto => {
                    copies(to, size, address).try_for_each(|(rows, start)| {
                        stream.download_rows_later(rows, arrays.dst.add(start).cast())
                    })
                }
            }
        }
    }
}

/// Queues a kernel that copies from one view to another.
///
/// What it reads goes from the L2 cache as usual, for nothing reads it again. Kept there (`evict_last`) it makes copies no slower:
/// those wait for page tables whichever way a kernel reads (`docs/decisions/048-rows-over-the-bus.md`).
pub(super) fn turn<T: Pod>(src: TensorView<T>, mut dst: TensorViewMut<T>) -> Result<()> {
    Plan::moving(src, dst.reborrow())?.evict_last(false).run(src, dst)
}

/// Bytes that lie together on both sides.
fn one_row(address: u64, bytes: usize) -> Rows {
    Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes }
}

/// Where kernels find pinned memory: with unified addressing, which every 64-bit driver has, where the host finds it.
fn reached<T>(host: *const T) -> u64 {
    host.expose_provenance() as u64
}
