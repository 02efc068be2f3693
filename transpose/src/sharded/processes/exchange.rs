//! An exchange between processes: rounds of packing, carrying and unpacking, each on a stream of its own, so that they overlap.
//!
//! Each process has memory for two rounds of what it sends and of what it receives. In round `k` the pieces of round `k` are packed while those
//! of the round before are on their way and those of the one before that are unpacked; what stays on the device moves meanwhile. The call waits for the
//! end, and looks meanwhile whether every process is still there: that is how it ends in bounded time whatever happens to the others.

use super::array::{DistributedMatrix, DistributedTensor};
use super::transport::{Parcel, Transport};
use super::wire::Deadline;
use super::world::World;
use crate::device::{Buffer, Device, Mark, Urgency, require_one_memory};
use crate::plan::TensorPlan;
use crate::sharded::pieces::{Exchange, Piece, steps};
use crate::sharded::plan::Planner;
use crate::sharded::run::launch;
use crate::sharded::tensor::even;
use crate::tensor::TensorLayout;
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of a round that a process sends, and receives: two rounds of both are 64 MiB.
const ROUND_BYTES: usize = 16 << 20;

/// What parts of a round are aligned to.
const ALIGNMENT: usize = 256;

/// An exchange between the processes of a world that has been checked and only waits to be run, as often as one likes.
#[derive(Debug)]
pub struct DistributedPlan {
    world: World,
    exchange: Exchange,
    rounds: Vec<Round>,
    /// What stays.
    near: Vec<Leg>,
    streams: Streams,
}

/// What is sent and received together.
#[derive(Debug, Default)]
struct Round {
    out: Vec<Leg>,
    into: Vec<Leg>,
}

/// A move between this process's shard and a buffer; or, of what stays, between the shards.
#[derive(Debug)]
struct Leg {
    peer: usize,
    /// Bytes from the start of the shard, or shards, to element `[0, …, 0]`.
    offsets: [u64; 2],
    /// Bytes from the buffer's start.
    place: usize,
    bytes: usize,
    plan: Arc<TensorPlan>,
}

/// The streams of the device that an exchange is queued on.
#[derive(Debug)]
struct Streams {
    pack: Device,
    carry: Device,
    unpack: Device,
    near: Device,
}

impl Streams {
    fn of(device: &Device) -> Result<Self> {
        let stream = |urgency| device.new_stream_of(urgency);
        Ok(Streams {
            pack: stream(Urgency::First)?,
            carry: stream(Urgency::First)?,
            unpack: stream(Urgency::First)?,
            near: stream(Urgency::Usual)?,
        })
    }

    fn all(&self) -> [&Device; 4] {
        [&self.pack, &self.carry, &self.unpack, &self.near]
    }
}

impl DistributedPlan {
    /// Plans the move of arrays spread like `src` to ones spread like `dst`, which has the same axes in another order: axis `i` of `dst` is
    /// axis `axes[i]` of `src`. Every process makes its own plan, and waits for no other.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`] unless each axis is named once, [`Error::TensorShapeMismatch`] for a destination of another shape,
    /// [`Error::DeviceMismatch`] for shards on two devices, and what the device reports.
    pub fn new<T: Pod>(
        src: &DistributedTensor<T>,
        dst: &DistributedTensor<T>,
        axes: &[usize],
    ) -> Result<Self> {
        require_one_memory(src.device(), dst.device())?;
        let (world, facts) = (src.world(), src.device().facts());
        let exchange = src.exchange_with(dst, axes)?;
        exchange.require(world.size())?;
        let (rank, bytes) = (world.rank(), exchange.element_bytes);
        // Each part of a round may be followed by a gap.
        let others = world.size().saturating_sub(1).max(1);
        let most = (ROUND_BYTES / others).saturating_sub(ALIGNMENT).max(bytes);
        let mut planner = Planner::new(bytes);
        let (mut rounds, mut near): (Vec<Round>, _) = (Vec::new(), Vec::new());
        for Piece { src, dst, layouts } in exchange.pieces()? {
            let steps = steps(layouts, bytes, most)?;
            // All processes make as many rounds, also those that have nothing to send or to receive in one.
            if src != dst && rounds.len() < steps.len() {
                rounds.resize_with(steps.len(), Round::default);
            }
            if src != rank && dst != rank {
                continue;
            }
            for (round, [from, to]) in steps.into_iter().enumerate() {
                let offset = |layout: &TensorLayout| (layout.offset() * bytes) as u64;
                let packed = TensorLayout::contiguous(from.shape(), bytes)?;
                let offsets = [offset(&from), offset(&to)];
                let mut leg = |peer, layouts| -> Result<Leg> {
                    let plan = planner.plan(layouts, facts, false)?;
                    Ok(Leg { peer, offsets, place: 0, bytes: from.len() * bytes, plan })
                };
                if src == dst {
                    near.push(leg(rank, [from, to])?);
                    continue;
                }
                let Round { out, into } = &mut rounds[round];
                if src == rank {
                    out.push(leg(dst, [from, packed])?);
                } else {
                    into.push(leg(src, [packed, to])?);
                }
            }
        }
        for legs in rounds.iter_mut().flat_map(|round| [&mut round.out, &mut round.into]) {
            let mut next = 0;
            for leg in legs {
                leg.place = next;
                next = (next + leg.bytes).next_multiple_of(ALIGNMENT);
            }
        }
        let streams = Streams::of(src.device())?;
        Ok(DistributedPlan { world: world.clone(), exchange, rounds, near, streams })
    }

    /// Bytes of device memory that a run takes beside source and destination: 64 MiB at most.
    pub fn extra_bytes(&self) -> usize {
        let [out, into] = self.slot_bytes();
        2 * (out + into)
    }

    /// Bytes that this process sends to others.
    pub fn link_bytes(&self) -> u64 {
        self.rounds.iter().flat_map(|round| &round.out).map(|leg| leg.bytes as u64).sum()
    }

    /// The most bytes of a round, of what is sent and of what is received.
    fn slot_bytes(&self) -> [usize; 2] {
        let most = |legs: fn(&Round) -> &Vec<Leg>| {
            let end = |round: &Round| legs(round).last().map_or(0, |leg| leg.place + leg.bytes);
            self.rounds.iter().map(end).max().unwrap_or(0).next_multiple_of(ALIGNMENT)
        };
        [most(|round| &round.out), most(|round| &round.into)]
    }

    /// Moves `src` to `dst`, both spread as the plan was made for, and waits for it. All processes call this with plans of the same exchange and
    /// transports of one kind.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for arrays spread otherwise; [`Error::Disagreement`] on every process if two of them are about to do
    /// different things, before anything is moved; and [`Error::Peer`] for a process that has gone or does not answer within the world's
    /// [timeout](World::timeout). With an error that came on the way the world takes no further calls, and **what `dst` holds is unspecified**.
    pub fn run<T: Pod>(
        &self,
        src: &DistributedTensor<T>,
        dst: &mut DistributedTensor<T>,
        transport: &dyn Transport,
    ) -> Result<()> {
        let actual = src.exchange_with(dst, &self.exchange.axes)?;
        let (planned, given) = (self.exchange.to_string(), actual.to_string());
        let fits = actual == self.exchange
            && require_one_memory(src.device(), &self.streams.near)
                .and(require_one_memory(dst.device(), &self.streams.near))
                .is_ok();
        // A process whose arrays do not fit says so to all, for they would wait for it.
        let said = if fits { planned.clone() } else { String::new() };
        let all = self.world.all_gather(said.as_bytes())?;
        if !fits {
            return Err(Error::PlanMismatch { planned, actual: given });
        }
        if let Some(rank) = all.iter().position(|theirs| theirs != said.as_bytes()) {
            let theirs = String::from_utf8_lossy(&all[rank]).into_owned();
            return Err(Error::Disagreement { rank, mine: said, theirs });
        }
        let ends = [src.shard().device_address(), dst.shard().device_address()];
        let homes = [src.device(), dst.device()];
        // SAFETY: the plan was made for arrays that are spread so, whose memory lives; `dst` is borrowed exclusively; what is queued is done
        // when this returns. All processes have said that they run the same exchange.
        let done = unsafe { self.queue(ends, homes, transport) }.and_then(|buffers| {
            let waited = self.wait(transport);
            // No process leaves before all have what they need of it; one that goes then has not gone in between.
            waited.and_then(|()| self.world.all_gather(&[])).map(|_| drop(buffers))
        });
        done.inspect_err(|error| {
            self.world.fail(error);
            transport.abort();
            for stream in self.streams.all() {
                // A failure is that of the work that was given up.
                let _ = stream.synchronize();
            }
        })
    }

    /// Queues all rounds, and what stays. The buffers must live until all of it is done.
    ///
    /// # Safety
    /// The addresses are those of shards that the plan was made for, in live memory, which nothing else uses but what their homes have queued so
    /// far; the other processes run the same exchange.
    unsafe fn queue(
        &self,
        ends: [u64; 2],
        homes: [&Device; 2],
        transport: &dyn Transport,
    ) -> Result<[Buffer; 2]> {
        let Streams { pack, carry, unpack, near } = &self.streams;
        let [src, dst] = ends;
        pack.wait_for(homes[0])?;
        unpack.wait_for(homes[1])?;
        for home in homes {
            near.wait_for(home)?;
        }
        let slots = self.slot_bytes();
        let buffers = [pack.allocate(2 * slots[0])?, pack.allocate(2 * slots[1])?];
        let queued = || {
            let slot =
                |side: usize, at: usize| buffers[side].address() + (at % 2 * slots[side]) as u64;
            let pack_round = |at: usize| -> Result<Mark> {
                for leg in &self.rounds[at].out {
                    let to = slot(0, at) + leg.place as u64;
                    // SAFETY: the caller's obligations; the slot holds the leg, and what read it is waited for.
                    unsafe { launch(&leg.plan, pack, pack, [src + leg.offsets[0], to])? };
                }
                behind(pack)
            };
            let (mut packed, mut carried, mut unpacked) = (Vec::new(), Vec::new(), Vec::new());
            for (at, round) in self.rounds.iter().enumerate() {
                // The next round too, as soon as its slot is free: it is packed while this one is carried.
                for next in packed.len()..self.rounds.len().min(at + 2) {
                    if let Some(before) = next.checked_sub(2) {
                        pack.wait_for_mark(&carried[before])?;
                    }
                    packed.push(pack_round(next)?);
                }
                carry.wait_for_mark(&packed[at])?;
                if let Some(before) = at.checked_sub(2) {
                    carry.wait_for_mark(&unpacked[before])?;
                }
                let (sent, received) =
                    (parcels(&round.out, slot(0, at)), parcels(&round.into, slot(1, at)));
                // SAFETY: the slots hold all parcels side by side, and live until the caller has waited; what else uses them is in order with
                // this stream; the other processes carry the same round.
                unsafe { transport.exchange(carry, &sent, &received)? };
                carried.push(behind(carry)?);
                unpack.wait_for_mark(&carried[at])?;
                for leg in &round.into {
                    let from = slot(1, at) + leg.place as u64;
                    // SAFETY: as above.
                    unsafe { launch(&leg.plan, unpack, unpack, [from, dst + leg.offsets[1]])? };
                }
                unpacked.push(behind(unpack)?);
                if at == 0 {
                    // Once the link is busy.
                    self.queue_near(near, ends)?;
                }
            }
            if self.rounds.is_empty() {
                self.queue_near(near, ends)?;
            }
            Ok(())
        };
        match queued() {
            Ok(()) => Ok(buffers),
            Err(error) => {
                // What was queued uses the buffers.
                transport.abort();
                for stream in self.streams.all() {
                    let _ = stream.synchronize();
                }
                Err(error)
            }
        }
    }

    /// Queues what stays on the device.
    fn queue_near(&self, near: &Device, [src, dst]: [u64; 2]) -> Result<()> {
        self.near.iter().try_for_each(|leg| {
            let addresses = [src + leg.offsets[0], dst + leg.offsets[1]];
            // SAFETY: `queue`, which calls this, is given addresses of shards that the plan was made for, and orders the stream.
            unsafe { launch(&leg.plan, near, near, addresses) }
        })
    }

    /// Waits until all is done, as long as all processes are there.
    fn wait(&self, transport: &dyn Transport) -> Result<()> {
        /// Between two looks at the others.
        const LOOK: u32 = 64;
        let marks = self.streams.all().map(behind);
        let deadline = Deadline::after(self.world.timeout());
        for mark in marks {
            let mark = mark?;
            let mut looks = 0u32;
            while !mark.is_done()? {
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOK) {
                    transport.check()?;
                    let late =
                        |_| Error::World { reason: "the exchange did not end in time".into() };
                    deadline.left().map_err(late)?;
                    // Not at once: an exchange may take less than a thread needs to wake up.
                    if looks > 100 * LOOK {
                        std::thread::sleep(Duration::from_micros(20));
                    }
                }
                std::hint::spin_loop();
            }
        }
        transport.check()
    }
}

/// What legs send, or receive, in a slot.
fn parcels(legs: &[Leg], slot: u64) -> Vec<Parcel> {
    let parcel =
        |leg: &Leg| Parcel { peer: leg.peer, address: slot + leg.place as u64, bytes: leg.bytes };
    legs.iter().map(parcel).collect()
}

/// A mark behind all that a stream has queued.
fn behind(stream: &Device) -> Result<Mark> {
    let mark = stream.mark(false)?;
    stream.put(&mark)?;
    Ok(mark)
}

impl<T: Pod> DistributedTensor<T> {
    /// Moves the array to `dst`, whose axis `i` is axis `axes[i]` of this; it may be spread in any way. All processes call this. To move arrays of
    /// one kind often, make a [`DistributedPlan`] once.
    ///
    /// # Errors
    /// Those of [`DistributedPlan::new`] and of [`DistributedPlan::run`].
    pub fn permute_into(
        &self,
        axes: &[usize],
        dst: &mut DistributedTensor<T>,
        transport: &dyn Transport,
    ) -> Result<()> {
        DistributedPlan::new(self, dst, axes)?.run(self, dst, transport)
    }

    /// The same array, spread along another axis in even shares. All processes call this.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::OutOfMemory`], and those of [`permute_into`](Self::permute_into).
    pub fn all_to_all(&self, axis: usize, transport: &dyn Transport) -> Result<Self> {
        let shares = even(self.world().size(), self.shape(), axis)?;
        let mut dst =
            Self::uninitialized(self.world(), self.device(), self.shape(), axis, &shares)?;
        let axes: Vec<usize> = (0..self.shape().len()).collect();
        self.permute_into(&axes, &mut dst, transport)?;
        Ok(dst)
    }
}

impl<T: Pod> DistributedMatrix<T> {
    /// The transpose, in even shares of its rows. All processes call this.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], and those of [`DistributedTensor::permute_into`].
    pub fn transposed(&self, transport: &dyn Transport) -> Result<Self> {
        let tensor = self.as_tensor();
        let shape = [self.ncols(), self.nrows()];
        let shares = even(tensor.world().size(), &shape, 0)?;
        let mut dst =
            DistributedTensor::uninitialized(tensor.world(), tensor.device(), &shape, 0, &shares)?;
        tensor.permute_into(&[1, 0], &mut dst, transport)?;
        Self::from_tensor(dst)
    }

    /// Transposes into `dst`, whose rows may be spread in any way. All processes call this.
    ///
    /// # Errors
    /// Those of [`DistributedTensor::permute_into`].
    pub fn transpose_into(&self, dst: &mut Self, transport: &dyn Transport) -> Result<()> {
        self.as_tensor().permute_into(&[1, 0], dst.as_tensor_mut(), transport)
    }
}
