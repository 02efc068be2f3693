//! What was written to each place, and who may read which of it.
//!
//! Memory is cut into *pieces* as small as the kernel's narrowest access. Each has its writes in coherence order. A store goes to the end of that
//! order, or to anywhere behind the last write that its thread knows; a read-modify-write goes right behind what it read, and
//! nothing ever comes between. A load takes any write that is not before one that its thread knows.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::Clock;
use super::threads::Releases;
use crate::isa::Scope;

/// Who wrote what was there before the launch.
const NOBODY: u32 = u32::MAX;
/// Between the places of two writes in coherence order, for others to come between.
const STEP: u64 = 1 << 24;
/// Writes of a piece that are kept; older ones can no longer be read, and nothing races with them.
const KEPT: usize = 64;

/// An access of a thread, with all that the thread knew.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub thread: u32,
    pub epoch: u32,
    pub known: Arc<Clock>,
    pub pc: u32,
    pub block: u32,
    /// The scope of a strong access.
    pub strong: Option<Scope>,
    pub address: u64,
    pub bytes: u8,
}

impl Event {
    /// Whether the two may race: both strong, for each other's threads, of the same bytes.
    pub(crate) fn morally_strong(&self, other: &Event) -> bool {
        let reaches = |scope| scope == Scope::Device || self.block == other.block;
        let (Some(mine), Some(theirs)) = (self.strong, other.strong) else { return false };
        reaches(mine)
            && reaches(theirs)
            && (self.address, self.bytes) == (other.address, other.bytes)
    }

    /// Whether the thread of this access was told of another: that one happened before.
    fn knows(&self, other: &Event) -> bool {
        other.thread == NOBODY
            || other.thread == self.thread
            || self.known.of(other.thread) >= other.epoch
    }

    /// Whether the two race: nobody was told of the other's, and not both are strong for each other.
    fn races(&self, other: &Event) -> bool {
        !self.knows(other) && !other.knows(self) && !self.morally_strong(other)
    }

    /// The writes that the access may read, by place in coherence order: not before one that its thread knows, and none of what came
    /// after it, as others know who were told of the access. (It is settled late, perhaps.)
    fn choices(&self, writes: &[Write]) -> (usize, usize) {
        let known = |event: &Event| self.knows(event);
        let knows = |write: &Write| known(&write.event) || write.readers.iter().any(known);
        let first = writes.iter().rposition(knows).unwrap_or(0);
        let later = |event: &Event| event.thread != self.thread && event.knows(self);
        let ends = |(at, write): (usize, &Write)| match later(&write.event) {
            true => Some(at.saturating_sub(1)),
            false => write.readers.iter().any(later).then_some(at),
        };
        let last = writes.iter().enumerate().skip(first).find_map(ends);
        (first, last.unwrap_or(writes.len() - 1).max(first))
    }
}

/// A write, and who read it.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Its place in coherence order.
    order: u64,
    pub bits: u64,
    pub event: Event,
    pub releases: Option<Arc<Releases>>,
    /// Nothing may come between it and the write before it.
    exchange: bool,
    readers: Vec<Event>,
}

impl Write {
    fn initial(bits: u64) -> Write {
        let event = Event {
            thread: NOBODY,
            epoch: 0,
            known: Arc::default(),
            pc: 0,
            block: 0,
            strong: None,
            address: 0,
            bytes: 0,
        };
        Write { order: 0, bits, event, releases: None, exchange: false, readers: Vec::new() }
    }
}

/// The writes to each piece of a state space.
#[derive(Debug, Default)]
pub(crate) struct Histories {
    pieces: HashMap<u64, Vec<Write>>,
    latest: u64,
}

/// Where in coherence order a write goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// As early as another write, by a random number.
    Anywhere(u64),
    /// At the end.
    End,
    /// At the end, right behind what was there.
    Exchange,
}

/// Of several reads of a thread the first is the one that others may have been told of, the latest the one that a store races with.
fn note_reader(readers: &mut Vec<Event>, event: &Event) {
    let alike = |known: &Event| {
        (known.thread, known.strong, known.bytes) == (event.thread, event.strong, event.bytes)
    };
    let mut found = readers.iter_mut().filter(|known| alike(known)).skip(1);
    match found.next() {
        Some(latest) => *latest = event.clone(),
        None => readers.push(event.clone()),
    }
}

impl Histories {
    /// Starts the history of a piece with what is there now.
    pub(crate) fn touch(&mut self, piece: u64, now: impl FnOnce() -> u64) {
        self.pieces.entry(piece).or_insert_with(|| vec![Write::initial(now())]);
    }

    /// What a piece holds in the end.
    pub(crate) fn last(&self, piece: u64) -> Option<&Write> {
        self.pieces.get(&piece)?.last()
    }

    /// Chooses how old what a load sees is, by a random number: a place in coherence order up to which it sees writes.
    pub(crate) fn choose(&self, event: &Event, piece: u64, random: u64) -> u64 {
        let Some(writes) = self.pieces.get(&piece) else { return u64::MAX };
        let (first, last) = event.choices(writes);
        match random % 2 {
            0 => writes[last].order,
            _ => writes[first + (random >> 8) as usize % (last + 1 - first)].order,
        }
    }

    /// Loads a piece, as it was at a place in coherence order. Returns what was read and a write that the load races with.
    pub(crate) fn load(
        &mut self,
        event: &Event,
        piece: u64,
        order: u64,
    ) -> Option<(&Write, Option<Event>)> {
        let writes = self.pieces.get_mut(&piece)?;
        let at = writes.partition_point(|write| write.order <= order).saturating_sub(1);
        let (first, last) = event.choices(writes);
        let race =
            writes.iter().map(|write| &write.event).find(|other| event.races(other)).cloned();
        let write = &mut writes[at.clamp(first, last)];
        note_reader(&mut write.readers, event);
        Some((write, race))
    }

    /// Where a store to `pieces` goes in coherence order.
    pub(crate) fn place(
        &mut self,
        event: &Event,
        mut pieces: impl Iterator<Item = u64> + Clone,
        placement: Placement,
    ) -> u64 {
        self.latest += STEP;
        let (Placement::Anywhere(random), Some(piece)) = (placement, pieces.clone().next()) else {
            return self.latest;
        };
        let Some(writes) = self.pieces.get(&piece) else { return self.latest };
        let (first, _) = event.choices(writes);
        let behind = first + random as usize % (writes.len() - first);
        let Some(next) = writes.get(behind + 1) else { return self.latest };
        let order = writes[behind].order.midpoint(next.order);
        let fits = |piece: u64| {
            let Some(writes) = self.pieces.get(&piece) else { return false };
            let at = writes.partition_point(|write| write.order < order);
            at > event.choices(writes).0
                && writes.get(at).is_none_or(|next| !next.exchange && next.order != order)
        };
        if pieces.all(fits) { order } else { self.latest }
    }

    /// Writes a piece; returns accesses that the store races with: a write, and a read.
    pub(crate) fn store(
        &mut self,
        event: &Event,
        piece: u64,
        order: u64,
        (bits, placement): (u64, Placement),
        releases: Option<Arc<Releases>>,
    ) -> [Option<Event>; 2] {
        let writes = self.pieces.entry(piece).or_default();
        let races = |other: &&Event| event.races(other);
        let write = writes.iter().map(|write| &write.event).find(races).cloned();
        let read = writes.iter().flat_map(|write| &write.readers).find(races).cloned();
        let at = writes.partition_point(|write| write.order < order);
        let exchange = placement == Placement::Exchange;
        let (event, readers) = (event.clone(), Vec::new());
        writes.insert(at, Write { order, bits, event, releases, exchange, readers });
        if writes.len() > KEPT {
            writes.remove(0);
        }
        [write, read]
    }
}
