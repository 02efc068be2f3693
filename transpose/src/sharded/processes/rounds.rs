//! Rounds of an exchange: packing, carrying and unpacking, each on a stream of its own, so that they overlap.
//!
//! Each process has memory for [`SLOTS`] rounds of what it sends and of what it receives. Some rounds are packed while those before are on
//! their way, as many at a time as the transport has lanes, and those before these are unpacked. A carrier is idle between two rounds that
//! follow each other, so with several lanes the link is not.

use super::transport::{Parcel, Transport};
use crate::Result;
use crate::device::{Device, Mark, Urgency};
use crate::plan::TensorPlan;
use crate::sharded::run::launch;
use std::ops::Range;
use std::sync::Arc;

/// Rounds that there is memory for: round `k` uses the memory of round `k - SLOTS`.
pub const SLOTS: usize = 4;

/// What parts of a round are aligned to.
pub const ALIGNMENT: usize = 256;

/// What is sent and received together.
#[derive(Debug, Default)]
pub struct Round {
    pub out: Vec<Leg>,
    pub into: Vec<Leg>,
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
pub struct Leg {
    pub peer: usize,
    /// Bytes from the start of the shard, or shards, to element `[0, …, 0]`.
    pub offsets: [u64; 2],
    /// Bytes from the slot's start, here.
    pub place: usize,
    pub bytes: usize,
    pub plan: Arc<TensorPlan>,
}

/// Where the parcels of each round end that have a place.
#[derive(Clone, Debug, Default)]
pub struct Ends(Vec<usize>);

impl Ends {
    /// The place of the next parcel of a round.
    pub fn take(&mut self, round: usize, bytes: usize) -> usize {
        if self.0.len() <= round {
            self.0.resize(round + 1, 0);
        }
        let place = self.0[round];
        self.0[round] = (place + bytes).next_multiple_of(ALIGNMENT);
        place
    }

    /// Bytes of the largest round.
    pub fn most(&self) -> usize {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

/// The streams of the device that an exchange is queued on.
#[derive(Debug)]
pub struct Streams {
    pub pack: Device,
    /// One a lane.
    carry: Vec<Device>,
    pub unpack: Device,
    pub near: Device,
}

impl Streams {
    pub fn of(device: &Device) -> Result<Self> {
        let stream = |urgency| device.new_stream_of(urgency);
        Ok(Streams {
            pack: stream(Urgency::First)?,
            carry: (0..SLOTS).map(|_| stream(Urgency::First)).collect::<Result<_>>()?,
            unpack: stream(Urgency::First)?,
            near: stream(Urgency::Usual)?,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &Device> {
        [&self.pack, &self.unpack, &self.near].into_iter().chain(&self.carry)
    }
}

/// Rounds on their way: their streams, their slots, and the marks between the streams.
pub struct Rounds<'a> {
    rounds: &'a [Round],
    streams: &'a Streams,
    transport: &'a dyn Transport,
    /// Where the slots start of what is sent (side 0) and of what is received (side 1), and how many bytes each has.
    addresses: [u64; 2],
    bytes: [usize; 2],
    /// How many rounds go together.
    together: usize,
    lanes: usize,
    /// Put again and again, for who waits for a mark waits for where it was put last.
    packed: Vec<Mark>,
    carried: Vec<Mark>,
    unpacked: Vec<Mark>,
}

impl<'a> Rounds<'a> {
    /// In slots of so many bytes at these addresses.
    pub fn new(
        rounds: &'a [Round],
        streams: &'a Streams,
        addresses: [u64; 2],
        bytes: [usize; 2],
        transport: &'a dyn Transport,
    ) -> Result<Self> {
        let lanes = transport.lanes().clamp(1, SLOTS);
        // One carrier alone is idle least with long parcels; half of the slots are packed meanwhile.
        let together = if lanes > 1 { 1 } else { SLOTS / 2 };
        let marks = |stream: &Device| -> Result<Vec<Mark>> {
            (0..SLOTS.min(rounds.len())).map(|_| stream.mark(false)).collect()
        };
        let packed = marks(&streams.pack)?;
        let (carried, unpacked) = (marks(&streams.unpack)?, marks(&streams.unpack)?);
        Ok(Rounds {
            rounds,
            streams,
            transport,
            addresses,
            bytes,
            together,
            lanes,
            packed,
            carried,
            unpacked,
        })
    }

    /// The rounds that each turn carries.
    pub fn turns(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, together) = (self.rounds.len(), self.together);
        (0..count).step_by(together).map(move |first| first..count.min(first + together))
    }

    fn slot(&self, side: usize, round: usize) -> u64 {
        self.addresses[side] + (round % SLOTS * self.bytes[side]) as u64
    }

    /// Queues the packing of a round, behind the turn that has carried what its slot held.
    ///
    /// # Safety
    /// The slots are live memory of the device, which nothing else uses; the shard of the plan is live at `src`.
    pub unsafe fn pack(&self, round: usize, src: u64) -> Result<()> {
        let pack = &self.streams.pack;
        if let Some(before) = round.checked_sub(SLOTS) {
            pack.wait_for_mark(&self.carried[before / self.together % SLOTS])?;
        }
        for leg in &self.rounds[round].out {
            let to = self.slot(0, round) + leg.place as u64;
            // SAFETY: the caller's obligations; the slot holds the leg, and what read it is waited for.
            unsafe { launch(&leg.plan, pack, pack, [src + leg.offsets[0], to])? };
        }
        pack.put(&self.packed[round % SLOTS])
    }

    /// Queues the exchange of a turn's rounds, behind their packing and the unpacking of what their slots held.
    ///
    /// # Safety
    /// The slots are live memory of the device, until the exchange is done, and nothing else uses them. The other processes carry the same
    /// rounds in this turn.
    pub unsafe fn carry(&self, turn: usize, rounds: Range<usize>) -> Result<()> {
        let (lane, last) = (turn % self.lanes, rounds.end - 1);
        let carry = &self.streams.carry[lane];
        carry.wait_for_mark(&self.packed[last % SLOTS])?;
        if let Some(before) = last.checked_sub(SLOTS) {
            carry.wait_for_mark(&self.unpacked[before % SLOTS])?;
        }
        let [out, into] = [0, 1].map(|side| {
            rounds
                .clone()
                .flat_map(|round| self.rounds[round].parcels(side, self.slot(side, round)))
                .collect::<Vec<_>>()
        });
        // SAFETY: the slots hold all parcels side by side; what else uses them is in order with this stream; the rest are the caller's
        // obligations.
        unsafe { self.transport.exchange(lane, carry, &out, &into)? };
        carry.put(&self.carried[turn % SLOTS])
    }

    /// Queues the unpacking of a turn's rounds, behind their exchange.
    ///
    /// # Safety
    /// The slots are live memory of the device, which nothing else uses; the shard of the plan is live at `dst`, and nothing else uses it.
    pub unsafe fn unpack(&self, turn: usize, rounds: Range<usize>, dst: u64) -> Result<()> {
        let unpack = &self.streams.unpack;
        unpack.wait_for_mark(&self.carried[turn % SLOTS])?;
        for round in rounds {
            for leg in &self.rounds[round].into {
                let ends = [self.slot(1, round) + leg.place as u64, dst + leg.offsets[1]];
                // SAFETY: the caller's obligations; the slot holds the leg, and what filled it is waited for.
                unsafe { launch(&leg.plan, unpack, unpack, ends)? };
            }
            unpack.put(&self.unpacked[round % SLOTS])?;
        }
        Ok(())
    }
}
