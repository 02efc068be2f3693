//! Loads, stores and atomics under weak memory.
//!
//! Each is first made as ordinarily, which checks addresses, counts and traces; then what a load reads is chosen anew, and what a
//! store leaves is the last write of the place's order.

use std::sync::Arc;

use crate::cta::{At, Cta};
use crate::findings::{FindingKind, Site, Space, Touched};
use crate::isa::{Access, Atomic, Fence};
use crate::registers::{Doubles, LANES, Words, lanes};
use crate::weak::{self, Clock, Event, Placement};

type Buffer = [Words; 4];

/// A race that an access found: its kind, the lane, the place, and the other access.
struct Race {
    kind: FindingKind,
    lane: usize,
    touched: Touched,
    other: Event,
}

impl Cta<'_> {
    /// Reads and writes the low bits of memory at a place that is inside it.
    fn peek(&self, space: Space, address: u64, bytes: u64) -> u64 {
        match space {
            Space::Shared => self.shared.peek(address, bytes),
            _ => self
                .global_at(address, bytes)
                .map_or(0, |(memory, offset)| memory.peek(offset, bytes)),
        }
    }

    fn poke(&mut self, space: Space, address: u64, bytes: u64, bits: u64) {
        match space {
            Space::Shared => self.shared.poke(address, bytes, bits),
            _ => {
                if let Some((memory, offset)) = self.global_at(address, bytes) {
                    memory.poke(offset, bytes, bits);
                }
            }
        }
    }

    /// The pieces of memory that lanes touch get a history, if they have none.
    pub(crate) fn weak_touch(&mut self, space: Space, at: At, addresses: &Doubles, bytes: u8) {
        let Some(mut weak) = self.weak.take() else { return };
        let common = weak.common();
        let common = &mut *common.borrow_mut();
        let piece = common.piece;
        let histories = weak.histories(common, space);
        for lane in lanes(at.mask) {
            for number in weak::pieces(addresses[lane], bytes, piece) {
                histories.touch(number, || self.peek(space, number * piece, piece));
            }
        }
        self.weak = Some(weak);
    }

    /// Chooses what a load reads. One that was executed before comes with what each lane knew then.
    pub(crate) fn weak_load(
        &mut self,
        access: &Access,
        space: Space,
        at: At,
        addresses: &Doubles,
        issued: Option<&[(u32, Arc<Clock>)]>,
        buffer: &mut Buffer,
    ) {
        self.weak_touch(space, at, addresses, access.bytes);
        let Some(mut weak) = self.weak.take() else { return };
        let mut races = Vec::new();
        let common = weak.common();
        let common = &mut *common.borrow_mut();
        let acquire = (access.strong && access.ordering).then_some(access.scope);
        for (number, lane) in lanes(at.mask).enumerate() {
            for (start, bytes) in elements(access) {
                let thread = at.warp * LANES as u32 + lane as u32;
                let address = addresses[lane] + start;
                let strong = access.strong.then_some(access.scope);
                let mut event = weak.event(thread, at.pc, strong, address, bytes);
                if let Some((epoch, known)) = issued.and_then(|issued| issued.get(number)) {
                    (event.epoch, event.known) = (*epoch, Arc::clone(known));
                }
                let bits = weak.load(common, space, &event, acquire, |other| {
                    races.push(race(FindingKind::GlobalReadWriteRace, space, lane, &event, other));
                });
                put(buffer, lane, start, bytes, bits);
            }
        }
        self.weak = Some(weak);
        self.report_races(at, races);
    }

    /// Takes note of a store that was made.
    pub(crate) fn weak_store(
        &mut self,
        access: &Access,
        space: Space,
        at: At,
        addresses: &Doubles,
        buffer: &Buffer,
    ) {
        let Some(mut weak) = self.weak.take() else { return };
        let mut races = Vec::new();
        let mut settled = Vec::new();
        {
            let common = weak.common();
            let common = &mut *common.borrow_mut();
            let release = (access.strong && access.ordering).then_some(access.scope);
            for lane in lanes(at.mask) {
                for (start, bytes) in elements(access) {
                    let thread = at.warp * LANES as u32 + lane as u32;
                    let address = addresses[lane] + start;
                    let strong = access.strong.then_some(access.scope);
                    let event = weak.event(thread, at.pc, strong, address, bytes);
                    let releases =
                        strong.and_then(|_| weak.threads.releases(thread, release, None));
                    let bits = get(buffer, lane, start, bytes);
                    let random = common.random.next();
                    let placement = match random % 3 {
                        0 => Placement::Anywhere(random >> 8),
                        _ => Placement::End,
                    };
                    let found = weak.store(common, space, &event, (bits, placement), releases);
                    note_races(&mut races, space, lane, &event, found);
                    settled.push((address, bytes));
                }
            }
            let piece = common.piece;
            let histories = weak.histories(common, space);
            for (address, bytes) in settled {
                for number in weak::pieces(address, bytes, piece) {
                    if let Some(last) = histories.last(number) {
                        self.poke(space, number * piece, piece, last.bits);
                    }
                }
            }
        }
        self.weak = Some(weak);
        self.report_races(at, races);
    }

    /// Takes note of a read-modify-write of one lane that was made; `wrote` says whether it stored (a failed `cas` does not).
    pub(crate) fn weak_atomic(
        &mut self,
        atomic: &Atomic,
        space: Space,
        at: At,
        (lane, address): (usize, u64),
        wrote: bool,
    ) {
        let new = self.peek(space, address, u64::from(atomic.bytes));
        let Some(mut weak) = self.weak.take() else { return };
        let mut races = Vec::new();
        {
            let common = weak.common();
            let common = &mut *common.borrow_mut();
            let thread = at.warp * LANES as u32 + lane as u32;
            let strong = Some(atomic.scope);
            let event = weak.event(thread, at.pc, strong, address, atomic.bytes);
            let acquire = atomic.acquire.then_some(atomic.scope);
            let passed_on = weak.exchange(common, space, &event, acquire, |other| {
                races.push(race(FindingKind::GlobalReadWriteRace, space, lane, &event, other));
            });
            if wrote {
                let release = atomic.release.then_some(atomic.scope);
                let releases = weak.threads.releases(thread, release, passed_on.as_deref());
                let write = (new, Placement::Exchange);
                let found = weak.store(common, space, &event, write, releases);
                note_races(&mut races, space, lane, &event, found);
            }
        }
        self.weak = Some(weak);
        self.report_races(at, races);
    }

    /// A warp executes a fence.
    pub(crate) fn weak_fence(&mut self, at: At, fence: Fence) {
        let Some(weak) = &mut self.weak else { return };
        for lane in lanes(at.mask) {
            weak.fence(at.warp * LANES as u32 + lane as u32, fence);
        }
    }

    fn report_races(&mut self, at: At, races: Vec<Race>) {
        let launch = self.launch;
        // Threads are numbered by whole warps, through all blocks.
        let of_a_block = launch.threads.next_multiple_of(LANES as u32);
        for Race { kind, lane, touched, other } in races {
            let other = Site {
                line: launch.program.code[other.pc as usize].line,
                block: launch.block_index(u64::from(other.block)),
                thread: launch.thread_index(other.thread - other.block * of_a_block),
            };
            self.report_race(at, kind, lane, touched, other);
        }
    }
}

/// The race of an access with another.
fn race(kind: FindingKind, space: Space, lane: usize, event: &Event, other: Event) -> Race {
    let kind = if space == Space::Shared { FindingKind::SharedRace } else { kind };
    let touched = Touched { space, address: event.address, bytes: u32::from(event.bytes) };
    Race { kind, lane, touched, other }
}

/// The races of a store with a write and with a read.
fn note_races(
    races: &mut Vec<Race>,
    space: Space,
    lane: usize,
    event: &Event,
    [write, read]: [Option<Event>; 2],
) {
    let kinds = [FindingKind::GlobalWriteRace, FindingKind::GlobalReadWriteRace];
    for (kind, other) in kinds.into_iter().zip([write, read]) {
        races.extend(other.map(|other| race(kind, space, lane, event, other)));
    }
}

/// Where the elements of an access start, and their bytes; one of 16 bytes counts as two.
fn elements(access: &Access) -> impl Iterator<Item = (u64, u8)> + use<> {
    let bytes = access.element.min(8);
    (0..u64::from(access.bytes / bytes)).map(move |at| (at * u64::from(bytes), bytes))
}

/// Puts the bits of an element into a lane's words.
fn put(buffer: &mut Buffer, lane: usize, start: u64, bytes: u8, bits: u64) {
    let (word, shift) = ((start / 4) as usize, 8 * (start % 4) as u32);
    if bytes == 8 {
        buffer[word + 1][lane] = (bits >> 32) as u32;
        buffer[word][lane] = bits as u32;
        return;
    }
    let mask = (u64::MAX >> (64 - 8 * u32::from(bytes))) as u32;
    buffer[word][lane] = buffer[word][lane] & !(mask << shift) | (bits as u32 & mask) << shift;
}

/// The bits of an element in a lane's words.
fn get(buffer: &Buffer, lane: usize, start: u64, bytes: u8) -> u64 {
    let (word, shift) = ((start / 4) as usize, 8 * (start % 4) as u32);
    let low = u64::from(buffer[word][lane]);
    let high = if bytes == 8 { u64::from(buffer[word + 1][lane]) } else { 0 };
    ((low | high << 32) >> shift) & u64::MAX >> (64 - 8 * u32::from(bytes))
}
