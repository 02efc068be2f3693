//! Memory as weak as the PTX ISA's memory model lets it be, on request: see [`Options::weak_memory`](crate::Options::weak_memory).
//!
//! Ordinarily what a thread stores is seen by all at once. Here each place keeps the history of what was written there
//! ([`history`]), and each thread what it was told of others ([`threads`], [`clock`]): a load takes, by chance, any write that is not older than one
//! its thread knows; a store may come before others in the place's order. Knowledge passes from thread to thread as the model says: by releases that acquires read,
//! through fences, by barriers of a block or a warp, each within its scope; by shuffles and votes not at all. A load's value may also be
//! settled later than the load is executed, until something needs it ([`Pending`]). All blocks run by turns on one host
//! thread ([`crate::weakly`]), and every choice comes from one seed.
//!
//! What is known is also what the race checks go by: two accesses to the same bytes, one of them a store, race unless one thread was told
//! of the other's access or both are strong for each other. So a lock or a flag orders what it orders.
//!
//! Memory itself always holds the last write of each place's order.

mod clock;
mod history;
mod threads;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use threads::Threads;

use crate::findings::Space;
use crate::isa::{Access, Fence, Scope};
use crate::registers::Doubles;

use history::Histories;
use threads::Releases;

pub(crate) use clock::Clock;
pub(crate) use history::{Event, Placement};

/// What the blocks of a launch share.
#[derive(Debug)]
pub(crate) struct Common {
    pub random: Random,
    global: Histories,
    /// What `fence.sc` of the device's scope have told each other.
    total: Arc<Clock>,
    /// Bytes of a piece of memory that has a history of its own.
    pub piece: u64,
}

/// Weak memory as one block sees it.
#[derive(Debug)]
pub(crate) struct Weak {
    common: Rc<RefCell<Common>>,
    shared: Histories,
    pub threads: Threads,
    /// Of each warp, the loads whose values are not settled.
    pub pending: Vec<Vec<Pending>>,
}

impl Weak {
    /// Of block number `block`, which begins.
    pub(crate) fn new(common: &Rc<RefCell<Common>>, block: u64, warps: usize) -> Weak {
        Weak {
            common: Rc::clone(common),
            shared: Histories::default(),
            threads: Threads::new(block as u32, warps as u32),
            pending: vec![Vec::new(); warps],
        }
    }

    /// What the blocks share.
    pub(crate) fn common(&self) -> Rc<RefCell<Common>> {
        Rc::clone(&self.common)
    }

    /// A thread executes a fence.
    pub(crate) fn fence(&mut self, thread: u32, fence: Fence) {
        self.threads.fence(thread, fence, &mut self.common.borrow_mut().total);
    }

    /// The histories of a state space.
    pub(crate) fn histories<'h>(
        &'h mut self,
        common: &'h mut Common,
        space: Space,
    ) -> &'h mut Histories {
        if space == Space::Shared { &mut self.shared } else { &mut common.global }
    }

    /// An access of a thread of the block, now.
    pub(crate) fn event(
        &self,
        thread: u32,
        pc: u32,
        strong: Option<Scope>,
        address: u64,
        bytes: u8,
    ) -> Event {
        let (known, epoch) = self.threads.knowledge(thread);
        let (block, thread) = (self.threads.block, self.threads.first + thread);
        Event { thread, epoch, known, pc, block, strong, address, bytes }
    }

    /// Loads one element: its bits.
    pub(crate) fn load(
        &mut self,
        common: &mut Common,
        space: Space,
        event: &Event,
        acquire: Option<Scope>,
        mut race: impl FnMut(Event),
    ) -> u64 {
        let (piece, random) = (common.piece, common.random.next());
        let thread = event.thread - self.threads.first;
        let mut bits = 0;
        let mut heard = Vec::new();
        {
            let histories =
                if space == Space::Shared { &mut self.shared } else { &mut common.global };
            let order = histories.choose(event, event.address / piece, random);
            for number in pieces(event.address, event.bytes, piece) {
                let Some((write, other)) = histories.load(event, number, order) else { continue };
                bits |= write.bits << (8 * (number * piece - event.address));
                other.into_iter().for_each(&mut race);
                if write.event.morally_strong(event) {
                    heard.extend(write.releases.clone());
                }
            }
        }
        heard.dedup_by(|a, b| Arc::ptr_eq(a, b));
        heard.iter().for_each(|releases| self.threads.hear(thread, releases, acquire));
        bits
    }

    /// The reading half of a read-modify-write, of the last write there is: what that passes on.
    pub(crate) fn exchange(
        &mut self,
        common: &mut Common,
        space: Space,
        event: &Event,
        acquire: Option<Scope>,
        race: impl FnMut(Event),
    ) -> Option<Arc<Releases>> {
        let piece = common.piece;
        let thread = event.thread - self.threads.first;
        let histories = if space == Space::Shared { &mut self.shared } else { &mut common.global };
        let mut passed_on = None;
        let mut races = Vec::new();
        for number in pieces(event.address, event.bytes, piece) {
            let Some((write, other)) = histories.load(event, number, u64::MAX) else { continue };
            races.extend(other);
            if write.event.morally_strong(event) {
                passed_on = write.releases.clone().or(passed_on);
            }
        }
        races.into_iter().take(1).for_each(race);
        if let Some(releases) = &passed_on {
            self.threads.hear(thread, releases, acquire);
        }
        passed_on
    }

    /// Stores one element; returns a write and a read that it races with.
    pub(crate) fn store(
        &mut self,
        common: &mut Common,
        space: Space,
        event: &Event,
        (bits, placement): (u64, Placement),
        releases: Option<Arc<Releases>>,
    ) -> [Option<Event>; 2] {
        let piece = common.piece;
        let histories = if space == Space::Shared { &mut self.shared } else { &mut common.global };
        let numbers = pieces(event.address, event.bytes, piece);
        let order = histories.place(event, numbers.clone(), placement);
        let mut races = [None, None];
        for number in numbers {
            let part = bits >> (8 * (number * piece - event.address));
            let keep = u64::MAX >> (64 - 8 * piece);
            let write = (part & keep, placement);
            let found = histories.store(event, number, order, write, releases.clone());
            for (race, found) in races.iter_mut().zip(found) {
                *race = race.take().or(found);
            }
        }
        races
    }
}

/// A load whose value is not settled.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub access: Access,
    pub space: Space,
    pub pc: u32,
    pub mask: u32,
    pub addresses: Doubles,
    /// Of each lane of the mask, its epoch and what it knew when it executed the load.
    pub issued: Vec<(u32, Arc<Clock>)>,
}

impl Common {
    /// Of a launch with this seed whose narrowest access has `piece` bytes.
    pub(crate) fn new(seed: u64, piece: u64) -> Common {
        let random = Random(seed);
        Common { random, global: Histories::default(), total: Arc::default(), piece }
    }
}

/// The pieces that an access touches, by number.
pub(crate) fn pieces(address: u64, bytes: u8, piece: u64) -> impl Iterator<Item = u64> + Clone {
    address / piece..address.saturating_add(u64::from(bytes)).div_ceil(piece)
}

/// Random numbers that are the same for the same seed: SplitMix64.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
