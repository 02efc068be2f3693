//! The way through the device: up, into another order, and down.
//!
//! All steps come up in one stream, are turned in a second, and go down in a third one, in order by marks. With a stream for each step
//! the copies of both directions were seen to take turns, at two thirds of the speed. The device has places for what comes up and for what goes
//! down. The streams wait for a place by themselves, so that the host need not be there in time.

use super::board::Way;
use super::cargo::{Cargo, Part};
use super::kernel::{reached, turn};
use super::look_up::LookUp;
use super::options::Bus;
use super::schedule::Move;
use super::staging::Staging;
use super::stretches::{Arrays, copies, packed};
use crate::Result;
use crate::device::{Device, Mark, Rows};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use bytemuck::Pod;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The streams that all steps share: for what comes up, for what is turned, and for what goes down.
#[derive(Clone, Copy)]
pub(super) struct Streams<'a> {
    pub up: &'a Device,
    pub turn: &'a Device,
    pub down: &'a Device,
}

/// The way through the device, which steps go one after the other.
pub(super) struct Pipeline<'a> {
    streams: Streams<'a>,
    /// Of the first place for what comes up; behind these are those for what goes down.
    address: u64,
    /// Of a place.
    bytes: usize,
    /// Who brings elements up and down where there is no staging.
    bus: [Bus; 2],
    /// Who looks up pages for the copy engines.
    look_up: Option<LookUp<'a>>,
    queue: Mutex<Queue>,
}

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

impl<'a> Pipeline<'a> {
    /// So many places for steps of so many bytes, one behind the other from an address on: for what comes up, and for what goes down.
    pub fn new(
        streams: Streams<'a>,
        address: u64,
        bytes: usize,
        places: [usize; 2],
        bus: [Bus; 2],
        look_up: Option<LookUp<'a>>,
    ) -> Result<Self> {
        let mark = || streams.up.mark(false);
        let incoming = |_| Ok(Incoming { up: mark()?, turned: mark()?, used: false });
        let outgoing = |_| Ok(Outgoing { gone: mark()?, used: false });
        let incoming = (0..places[0]).map(incoming).collect::<Result<_>>()?;
        let outgoing = (0..places[1]).map(outgoing).collect::<Result<_>>()?;
        let queue = Mutex::new(Queue { next: 0, incoming, outgoing });
        Ok(Pipeline { streams, address, bytes, bus, look_up, queue })
    }

    /// Queues all work of a step, and puts a mark behind it.
    ///
    /// # Safety
    /// - What comes up through staging memory is there.
    /// - The cargo fits a place and lies in the arrays; until the streams' work is done nobody else writes what is read, nor uses what is
    ///   written. So long the places' memory lives.
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

    /// Has pages of what is copied next looked up, where copy engines reach the host's memory.
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
        let Some(look_up) = self.look_up.filter(|_| by_engine) else { return Ok(()) };
        let mut parts = cargo.parts.iter();
        // SAFETY: the caller's obligations; the stream is the one that turns.
        parts.try_for_each(|part| unsafe { look_up.queue(&part.ordered[way as usize], host) })
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

    /// Queues a copy of elements to the device.
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

    /// Queues a copy of elements from the device.
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

/// Bytes that lie together on both sides.
fn one_row(address: u64, bytes: usize) -> Rows {
    Rows { address, pitch: bytes, row_bytes: bytes, count: 1, host_pitch: bytes }
}
