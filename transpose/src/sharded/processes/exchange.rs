//! An exchange between processes: rounds that are packed, carried and unpacked (`rounds.rs`); what stays on the device moves meanwhile.
//!
//! The call waits for the end, and looks meanwhile whether every process is still there: that is how it ends in bounded time whatever happens
//! to the others.

use super::array::{DistributedMatrix, DistributedTensor};
use super::intent::Intent;
use super::rounds::{ALIGNMENT, Ends, Leg, Round, Rounds, SLOTS, Streams};
use super::transport::Transport;
use super::wire::Deadline;
use super::world::World;
use crate::device::{Buffer, Device, Mark, require_one_memory};
use crate::sharded::options::ExchangeOptions;
use crate::sharded::pieces::{Exchange, Piece, steps};
use crate::sharded::plan::{Of, Planner, Step};
use crate::sharded::run::launch;
use crate::sharded::tensor::even;
use crate::tensor::TensorLayout;
use crate::{Error, Result};
use bytemuck::Pod;
use std::time::Duration;

/// Bytes of a round that a process sends, and receives: all rounds that there is memory for, of both, are 64 MiB.
const ROUND_BYTES: usize = 8 << 20;

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

impl DistributedPlan {
    /// Plans the move of arrays spread like `src` to ones spread like `dst`, which has the same axes in another order: axis `i` of `dst` is
    /// axis `axes[i]` of `src`. Every process makes its own plan, and waits for no other.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`] unless each axis is named once, [`Error::TensorShapeMismatch`] for a destination of another shape,
    /// [`Error::DeviceMismatch`] for shards on two devices, [`Error::World`] for arrays of two worlds, and what the device reports.
    pub fn new<T: Pod>(
        src: &DistributedTensor<T>,
        dst: &DistributedTensor<T>,
        axes: &[usize],
    ) -> Result<Self> {
        require_one_memory(src.device(), dst.device())?;
        if !src.world().is_same(dst.world()) {
            return Err(another_world());
        }
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

    /// Bytes of device memory that a run takes beside source and destination: 64 MiB at most, or what elements of many MiB take, of which each process is sent one at a time; and none where processes
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
    /// [`Error::PlanMismatch`] for arrays spread otherwise, [`Error::TensorShapeMismatch`] for such as have not one shape, and [`Error::NotAPermutation`] for such as have another number of axes; [`Error::Disagreement`] on every other process then, and on all if two of
    /// them are about to do different things, before anything is moved; [`Error::Peer`] for a process that has gone or does not answer within the world's
    /// [timeout](World::timeout), and [`Error::World`] where what is queued does not end in it; [`Error::OutOfMemory`], and what the device and the transport report. With an error that came on the way the world takes no further calls, and **what `dst` holds is unspecified**,
    /// until the other processes have ended: one that is late may still store to it.
    pub fn run<T: Pod>(
        &self,
        src: &DistributedTensor<T>,
        dst: &mut DistributedTensor<T>,
        transport: &dyn Transport,
    ) -> Result<()> {
        let actual = src.exchange_with(dst, &self.exchange.axes);
        let planned = self.exchange.to_string();
        // In another world this process may have another rank, and a shard of another length.
        let is_here =
            [src.world(), dst.world()].into_iter().all(|world| world.is_same(&self.world));
        let fits = is_here
            && actual.as_ref().is_ok_and(|actual| *actual == self.exchange)
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
        if !is_here {
            return Err(another_world());
        }
        if !fits {
            return Err(Error::PlanMismatch { planned, actual: actual?.to_string() });
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
            // Others may reach all, and wait for this process.
            false => transport.reach(&offers).inspect_err(|error| self.world.fail(error))?,
        };
        let ends = [src.shard().device_address(), address];
        let homes = [src.device(), dst.device()];
        // They outlive what is queued, also if anything panics: what is declared later goes first.
        let mut buffers = None;
        let unfinished = Unfinished { plan: self, transport };
        let queued = match &reached {
            // SAFETY: the plan was made for arrays that are spread so, whose memory lives; `dst` is borrowed exclusively; what is queued is
            // done when this returns. All processes have said that they run the same exchange, and that their destinations are ready.
            Some(addresses) => unsafe { self.store(ends[0], addresses, homes) },
            // SAFETY: likewise.
            None => unsafe { self.queue(ends, homes, transport, &mut buffers) },
        };
        let waited = queued.and_then(|()| self.wait(transport));
        // No process leaves before all have what they need of it; one that goes then has not gone in between.
        let done = waited.and_then(|()| self.world.all_gather(&[]));
        match done {
            Ok(_) => {
                std::mem::forget(unfinished);
                Ok(())
            }
            Err(error) => {
                self.world.fail(&error);
                Err(error)
            }
        }
    }

    /// Queues all rounds, and what stays, by `buffers`, which it makes.
    ///
    /// # Safety
    /// The buffers live until all of it is done, whatever this returns. The addresses are those of shards that the plan was made for, in live memory, which nothing else uses but what their homes have queued so
    /// far; the other processes run the same exchange.
    unsafe fn queue(
        &self,
        ends: [u64; 2],
        homes: [&Device; 2],
        transport: &dyn Transport,
        buffers: &mut Option<[Buffer; 2]>,
    ) -> Result<()> {
        let Streams { pack, unpack, near, .. } = &self.streams;
        let [src, dst] = ends;
        pack.wait_for(homes[0])?;
        unpack.wait_for(homes[1])?;
        for home in homes {
            near.wait_for(home)?;
        }
        let buffers = buffers
            .insert([pack.allocate(SLOTS * self.slots[0])?, pack.allocate(SLOTS * self.slots[1])?]);
        let addresses = buffers.each_ref().map(Buffer::address);
        let all = Rounds::new(&self.rounds, &self.streams, addresses, self.slots, transport)?;
        let (count, mut next) = (self.rounds.len(), 0);
        for (turn, rounds) in all.turns().enumerate() {
            // Those too whose slots are free: they are packed while others are carried.
            while next < count.min(rounds.start + SLOTS) {
                // SAFETY: the caller's obligations.
                unsafe { all.pack(next, src)? };
                next += 1;
            }
            // SAFETY: the buffers live until all is done; the other processes carry the same rounds in the same lane.
            unsafe { all.carry(turn, rounds.clone())? };
            // SAFETY: the caller's obligations.
            unsafe { all.unpack(turn, rounds, dst)? };
            if turn == 0 {
                // Once the link is busy.
                self.queue_near(near, ends)?;
            }
        }
        if count == 0 {
            self.queue_near(near, ends)?;
        }
        Ok(())
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

/// An exchange that has begun: if it goes before it has ended, by an error or by a panic, what was queued is given up and waited for.
struct Unfinished<'a> {
    plan: &'a DistributedPlan,
    transport: &'a dyn Transport,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = "an exchange of this process was left by a panic".to_owned();
            self.plan.world.fail(&Error::World { reason });
        }
        self.plan.give_up(self.transport);
    }
}

/// Refuses arrays that other processes hold.
fn another_world() -> Error {
    Error::World { reason: "the arrays and the plan are of one world".to_owned() }
}

/// What was made for an exchange that all are about to make. If it could not be made, the other processes hear that this one takes no part: they
/// would wait for it.
fn told<R>(world: &World, made: Result<R>) -> Result<R> {
    made.inspect_err(|_| {
        let none = Intent { exchange: String::new(), offer: Vec::new() };
        // The error that comes first is the one that is reported.
        let _ = world.all_gather(&none.to_bytes());
    })
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
    /// Those of [`DistributedPlan::new`], of which every other process hears by [`Error::Disagreement`], and of [`DistributedPlan::run`].
    pub fn permute_into(
        &self,
        axes: &[usize],
        dst: &mut DistributedTensor<T>,
        transport: &dyn Transport,
    ) -> Result<()> {
        let plan = told(self.world(), DistributedPlan::new(self, dst, axes))?;
        plan.run(self, dst, transport)
    }

    /// The same array, spread along another axis in even shares. All processes call this.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::OutOfMemory`], and those of [`permute_into`](Self::permute_into).
    pub fn all_to_all(&self, axis: usize, transport: &dyn Transport) -> Result<Self> {
        let world = self.world();
        let shares = told(world, even(world.size(), self.shape(), axis))?;
        let made = Self::uninitialized(world, self.device(), self.shape(), axis, &shares);
        let mut dst = told(world, made)?;
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
        let world = tensor.world();
        let shares = told(world, even(world.size(), &shape, 0))?;
        let made = DistributedTensor::uninitialized(world, tensor.device(), &shape, 0, &shares);
        let mut dst = told(world, made)?;
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
