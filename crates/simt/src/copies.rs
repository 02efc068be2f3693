//! Copies from global to shared memory that the thread which makes them does not wait for (`cp.async`).
//!
//! What is copied is read at once, and is stored when the thread waits for the group that it has put the copy in. Until then shared memory has what it
//! had: a kernel that does not wait, or not for the right group, finds that. A GPU may read and store it at any time from the copy on, so it races with what nothing orders before the
//! copy, though it may be ordered before the wait, and with what its own thread does before it has waited.

use crate::access;
use crate::clocks::Known;
use crate::cta::{At, Cta};
use crate::findings::{Finding, FindingKind, Space, Touched};
use crate::isa::Access;
use crate::place::{Place, addresses};
use crate::registers::{Doubles, LANES, Registers, Words, lanes};

/// A warp's copies that are not done.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// How many groups each lane has closed.
    closed: [u32; LANES],
    waiting: Vec<Copied>,
}

/// A copy that has been read.
#[derive(Debug)]
struct Copied {
    to: Access,
    sources: Doubles,
    addresses: Doubles,
    words: [Words; 4],
    /// The lanes for which it is still to be stored.
    at: At,
    /// The group that it is part of, of each lane.
    group: [u32; LANES],
    /// What the warp knew of the others when it was begun, if anybody asks for that.
    known: Option<Known>,
}

impl Copies {
    /// Forgets the block before.
    pub(crate) fn reset(&mut self) {
        self.closed = [0; LANES];
        self.waiting.clear();
    }

    /// Reads what is to be copied.
    pub(crate) fn start<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        registers: &Registers,
        [from, to]: [&Access; 2],
        at: At,
    ) -> Result<(), Box<Finding>> {
        let words = access::read::<WATCH>(cta, registers, from, at)?;
        let [sources, addresses] =
            [from, to].map(|side| addresses(registers, side.base, side.offset));
        let known = if WATCH { cta.known_clocks(at.warp) } else { None };
        let group = self.closed;
        self.waiting.push(Copied { to: *to, sources, addresses, words, at, group, known });
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reports accesses of these lanes to what they copy themselves and have not waited for: of any kind to where it goes, and writes to
    /// where it comes from.
    #[cold]
    pub(crate) fn meet(&self, cta: &mut Cta<'_>, place: &Place, bytes: u8, writes: bool, at: At) {
        for copied in &self.waiting {
            for lane in lanes(copied.at.mask & at.mask) {
                let (space, address) = place.at(lane);
                let (start, kind) = match space {
                    Space::Shared => (copied.addresses[lane], FindingKind::SharedRace),
                    Space::Global if writes => {
                        (copied.sources[lane], FindingKind::GlobalReadWriteRace)
                    }
                    _ => continue,
                };
                let apart = address.wrapping_sub(start) >= u64::from(copied.to.bytes)
                    && start.wrapping_sub(address) >= u64::from(bytes);
                if !apart {
                    let touched = Touched { space, address, bytes: u32::from(bytes) };
                    cta.report_race(at, kind, lane, touched, cta.site(copied.at, lane));
                }
            }
        }
    }

    /// Closes the group of these lanes.
    pub(crate) fn close(&mut self, mask: u32) {
        lanes(mask).for_each(|lane| self.closed[lane] += 1);
    }

    /// Stores what these lanes have copied, but for their last `but` groups that are closed; with `None` all of it.
    pub(crate) fn wait<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        mask: u32,
        but: Option<u32>,
    ) -> Result<(), Box<Finding>> {
        for copied in &mut self.waiting {
            let is_due = |lane: &usize| {
                but.is_none_or(|but| {
                    u64::from(copied.group[*lane]) + u64::from(but) < u64::from(self.closed[*lane])
                })
            };
            let due = lanes(copied.at.mask & mask).filter(is_due);
            let due = due.fold(0, |all, lane| all | 1 << lane);
            if due != 0 {
                let at = At { mask: due, ..copied.at };
                let Copied { to, addresses, words, known, .. } = copied;
                cta.exchange_known_clocks(at.warp, known);
                let stored = access::write::<WATCH>(cta, to, at, addresses, words);
                cta.exchange_known_clocks(at.warp, known);
                stored?;
                copied.at.mask &= !due;
            }
        }
        self.waiting.retain(|copied| copied.at.mask != 0);
        Ok(())
    }
}
