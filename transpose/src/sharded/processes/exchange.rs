//! An exchange between processes: rounds of packing, carrying and unpacking, each on a stream of its own, so that they overlap.
//!
//! Each process has memory for [`SLOTS`] rounds of what it sends and of what it receives. Some rounds are packed while those before are on
//! their way, as many at a time as the transport has lanes, and those before these are unpacked; what stays on the device moves meanwhile. A
//! carrier is idle between two rounds that follow each other, so with several lanes the link is not.
//!
//! The call waits for the end, and looks meanwhile whether every process is still there: that is how it ends in bounded time whatever happens
//! to the others.

use super::array::{DistributedMatrix, DistributedTensor};
use super::intent::Intent;
use super::transport::{Parcel, Transport};
use super::wire::Deadline;
use super::world::World;
use crate::device::{Buffer, Device, Mark, Urgency, require_one_memory};
use crate::plan::TensorPlan;
use crate::sharded::options::ExchangeOptions;
use crate::sharded::pieces::{Exchange, Piece, steps};
use crate::sharded::plan::{Of, Planner, Step};
use crate::sharded::run::launch;
use crate::sharded::tensor::even;
use crate::tensor::TensorLayout;
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::Arc;
use std::time::Duration;

/// Rounds that there is memory for: round `k` uses the memory of round `k - SLOTS`.
const SLOTS: usize = 4;

/// Bytes of a round that a process sends, and receives: all rounds that there is memory for, of both, are 64 MiB.
const ROUND_BYTES: usize = 8 << 20;

/// What parts of a round are aligned to.
const ALIGNMENT: usize = 256;

/// An exchange between the processes of a world that has been checked and only waits to be run, as often as one likes.
#[derive(Debug)]
pub struct DistributedPlan {
    world: World,
    exchange: Exchange,
    pub(super) streams: Streams,
    rounds: Vec<Round>,
    /// What stays.
    near: Vec<Leg>,
    /// The most bytes that this process sends in a round, and that it receives.
    slots: [usize; 2],
    /// What this process stores to others where it reaches their memory, and what stays then.
    pub(super) stored: [Vec<Step>; 2],
}

/// What is sent and received together.
#[derive(Debug, Default)]
struct Round {
    out: Vec<Leg>,
    into: Vec<Leg>,
}

impl Round {
    /// What is sent (side 0), or received (side 1), in a slot.
    fn parcels(&self, side: usize, slot: u64) -> impl Iterator<Item = Parcel> {
        let legs = if side == 0 { &self.out } else { &self.into };
        legs.iter().map(move |leg| Parcel {
            peer: leg.peer,
            address: slot + leg.place as u64,
            bytes: leg.bytes,
        })
    }
}

/// A move between this process's shard and a buffer; or, of what stays, between the shards.
#[derive(Debug)]
struct Leg {
    peer: usize,
    /// Bytes from the start of the shard, or shards, to element `[0, …, 0]`.
    offsets: [u64; 2],
    /// Bytes from the slot's start, here.
    place: usize,
    bytes: usize,
    plan: Arc<TensorPlan>,
}

/// Where the parcels of each round end that have a place.
#[derive(Clone, Debug, Default)]
struct Ends(Vec<usize>);

impl Ends {
    /// The place of the next parcel of a round.
    fn take(&mut self, round: usize, bytes: usize) -> usize {
        if self.0.len() <= round {
            self.0.resize(round + 1, 0);
        }
        let place = self.0[round];
        self.0[round] = (place + bytes).next_multiple_of(ALIGNMENT);
        place
    }

    /// Bytes of the largest round.
    fn most(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// The streams of the device that an exchange is queued on.
#[derive(Debug)]
pub(super) struct Streams {
    pub pack: Device,
    /// One a lane.
    carry: Vec<Device>,
    unpack: Device,
    pub near: Device,
}

impl Streams {
    fn of(device: &Device) -> Result<Self> {
        let stream = |urgency| device.new_stream_of(urgency);
        Ok(Streams {
            pack: stream(Urgency::First)?,
            carry: (0..SLOTS).map(|_| stream(Urgency::First)).collect::<Result<_>>()?,
            unpack: stream(Urgency::First)?,
            near: stream(Urgency::Usual)?,
        })
    }

    fn all(&self) -> impl Iterator<Item = &Device> {
        [&self.pack, &self.unpack, &self.near].into_iter().chain(&self.carry)
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
        let others = world.size().saturating_sub(1).max(1);
        // With the gap that may follow it, no part of a round has more.
        let most = (ROUND_BYTES / others / ALIGNMENT * ALIGNMENT).max(bytes);
        let mut planner = Planner::new(bytes);
        let (mut rounds, mut near): (Vec<Round>, _) = (Vec::new(), Vec::new());
        // Where the next parcel of each round goes that this process sends, and that it receives.
        let (mut sent, mut received) = (Ends::default(), Ends::default());
        let pieces = exchange.pieces()?;
        for Piece { src, dst, layouts } in pieces.iter().cloned() {
            let offset = |layout: &TensorLayout| (layout.offset() * bytes) as u64;
            if src == dst {
                if src == rank {
                    let offsets = layouts.each_ref().map(offset);
                    let length = layouts[0].len() * bytes;
                    let plan = planner.plan(layouts, facts, false)?;
                    near.push(Leg { peer: rank, offsets, place: 0, bytes: length, plan });
                }
                continue;
            }
            let steps = steps(layouts, bytes, most)?;
            // All processes make as many rounds, also those that have nothing to send or to receive in one.
            if rounds.len() < steps.len() {
                rounds.resize_with(steps.len(), Round::default);
            }
            for (round, [from, to]) in steps.into_iter().enumerate() {
                let length = from.len() * bytes;
                if src != rank && dst != rank {
                    continue;
                }
                let packed = TensorLayout::contiguous(from.shape(), bytes)?;
                let offsets = [offset(&from), offset(&to)];
                let mut leg = |peer, place, layouts| -> Result<Leg> {
                    let plan = planner.plan(layouts, facts, false)?;
                    Ok(Leg { peer, offsets, place, bytes: length, plan })
                };
                let Round { out, into } = &mut rounds[round];
                if src == rank {
                    out.push(leg(dst, sent.take(round, length), [from, packed])?);
                } else {
                    into.push(leg(src, received.take(round, length), [packed, to])?);
                }
            }
        }
        let slots = [sent.most(), received.most()];
        let of = Of {
            device: rank,
            options: ExchangeOptions::default(),
            facts: |_| facts,
            reached: |_| true,
        };
        let stored = planner.steps(&exchange, &pieces, &of)?;
        let streams = Streams::of(src.device())?;
        let world = world.clone();
        Ok(DistributedPlan { world, exchange, rounds, near, slots, stored, streams })
    }

    /// Bytes of device memory that a run takes beside source and destination: 64 MiB at most, and none where processes
    /// [store to each other's memory](Transport::reach).
    pub fn extra_bytes(&self) -> usize {
        let [leaving, arriving] = self.slots;
        SLOTS * (leaving + arriving)
    }

    /// Which process this is.
    pub(super) fn rank(&self) -> usize {
        self.world.rank()
    }

    /// Bytes that this process sends to others.
    pub fn link_bytes(&self) -> u64 {
        self.rounds.iter().flat_map(|round| &round.out).map(|leg| leg.bytes as u64).sum()
    }

    /// Moves `src` to `dst`, both spread as the plan was made for, and waits for it. All processes call this with plans of the same exchange and
    /// transports of one kind.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for arrays spread otherwise; [`Error::Disagreement`] on every process if two of them are about to do
    /// different things, before anything is moved; and [`Error::Peer`] for a process that has gone or does not answer within the world's
    /// [timeout](World::timeout). With an error that came on the way the world takes no further calls, and **what `dst` holds is unspecified**,
    /// until the other processes have ended: one that is late may still store to it.
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
        let (address, bytes) = (dst.shard().device_address(), dst.shard().len() * size_of::<T>());
        let offer = if fits { transport.offer(address, bytes) } else { Vec::new() };
        // Others may store to the destination as soon as they are told of it.
        let ready = if offer.is_empty() { Ok(()) } else { dst.device().synchronize() };
        // A process that takes no part says so to all, for they would wait for it.
        let said = if fits && ready.is_ok() { planned.clone() } else { String::new() };
        let all = self.world.all_gather(&Intent { exchange: said.clone(), offer }.to_bytes())?;
        if !fits {
            return Err(Error::PlanMismatch { planned, actual: given });
        }
        ready?;
        let all: Vec<Intent> = all.iter().map(|bytes| Intent::of(bytes)).collect();
        if let Some(rank) = all.iter().position(|theirs| theirs.exchange != said) {
            let theirs = all[rank].exchange.clone();
            return Err(Error::Disagreement { rank, mine: said, theirs });
        }
        let offers: Vec<Vec<u8>> = all.into_iter().map(|intent| intent.offer).collect();
        let reached = match offers.iter().any(Vec::is_empty) {
            true => None,
            false => transport.reach(&offers)?,
        };
        let ends = [src.shard().device_address(), address];
        let homes = [src.device(), dst.device()];
        let queued = match &reached {
            // SAFETY: the plan was made for arrays that are spread so, whose memory lives; `dst` is borrowed exclusively; what is queued is
            // done when this returns. All processes have said that they run the same exchange, and that their destinations are ready.
            Some(addresses) => unsafe { self.store(ends[0], addresses, homes) }.map(|()| None),
            // SAFETY: likewise.
            None => unsafe { self.queue(ends, homes, transport) }.map(Some),
        };
        let done = queued.and_then(|buffers| {
            let waited = self.wait(transport);
            // No process leaves before all have what they need of it; one that goes then has not gone in between.
            waited.and_then(|()| self.world.all_gather(&[])).map(|_| drop(buffers))
        });
        done.inspect_err(|error| {
            self.world.fail(error);
            self.give_up(transport);
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
        let buffers =
            [pack.allocate(SLOTS * self.slots[0])?, pack.allocate(SLOTS * self.slots[1])?];
        let slot = |side: usize, at: usize| {
            buffers[side].address() + (at % SLOTS * self.slots[side]) as u64
        };
        let lanes = transport.lanes().clamp(1, SLOTS);
        // One carrier alone is idle least with long parcels; half of the slots are packed meanwhile.
        let together = if lanes > 1 { 1 } else { SLOTS / 2 };
        let queued = || {
            let count = self.rounds.len();
            // Put again and again, for who waits for a mark waits for where it was put last.
            let marks = |stream: &Device| -> Result<Vec<Mark>> {
                (0..SLOTS.min(count)).map(|_| stream.mark(false)).collect()
            };
            let (packed, carried, unpacked) = (marks(pack)?, marks(unpack)?, marks(unpack)?);
            let pack_round = |at: usize| -> Result<()> {
                if let Some(before) = at.checked_sub(SLOTS) {
                    pack.wait_for_mark(&carried[before / together % SLOTS])?;
                }
                for leg in &self.rounds[at].out {
                    let to = slot(0, at) + leg.place as u64;
                    // SAFETY: the caller's obligations; the slot holds the leg, and what read it is waited for.
                    unsafe { launch(&leg.plan, pack, pack, [src + leg.offsets[0], to])? };
                }
                pack.put(&packed[at % SLOTS])
            };
            let mut next = 0;
            for (turn, first) in (0..count).step_by(together).enumerate() {
                let rounds = first..count.min(first + together);
                // Those too whose slots are free: they are packed while others are carried.
                while next < count.min(first + SLOTS) {
                    pack_round(next)?;
                    next += 1;
                }
                let carry = &carry[turn % lanes];
                carry.wait_for_mark(&packed[(rounds.end - 1) % SLOTS])?;
                if let Some(before) = (rounds.end - 1).checked_sub(SLOTS) {
                    carry.wait_for_mark(&unpacked[before % SLOTS])?;
                }
                let parcels = [0, 1].map(|side| {
                    rounds
                        .clone()
                        .flat_map(|at| self.rounds[at].parcels(side, slot(side, at)))
                        .collect::<Vec<_>>()
                });
                // SAFETY: the slots hold all parcels side by side, and live until the caller has waited; what else uses them is in order with
                // this stream; the other processes carry the same rounds in the same lane.
                unsafe { transport.exchange(turn % lanes, carry, &parcels[0], &parcels[1])? };
                carry.put(&carried[turn % SLOTS])?;
                unpack.wait_for_mark(&carried[turn % SLOTS])?;
                for at in rounds {
                    for leg in &self.rounds[at].into {
                        let ends = [slot(1, at) + leg.place as u64, dst + leg.offsets[1]];
                        // SAFETY: as above.
                        unsafe { launch(&leg.plan, unpack, unpack, ends)? };
                    }
                    unpack.put(&unpacked[at % SLOTS])?;
                }
                if turn == 0 {
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
                self.give_up(transport);
                Err(error)
            }
        }
    }

    /// Ends what was queued, and waits until all streams have.
    fn give_up(&self, transport: &dyn Transport) {
        transport.abort();
        for stream in self.streams.all() {
            // A failure is that of the work that was given up.
            let _ = stream.synchronize();
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
        let marks: Vec<_> = self.streams.all().map(behind).collect();
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
