//! Plans of recent moves, kept so that asking for one again takes no planning.
//!
//! A program that holds its plans needs none of this; one that calls `copy_into` and the like asks for the same few moves in every step. What is found is what would be
//! planned: all that planning goes by is compared, and the hash only says where to look. The memory is bounded, and nobody waits: who finds a set of
//! entries locked by another thread plans.

use crate::Facts;
use std::hash::{Hash, Hasher};
use std::sync::Mutex;

/// Sets of entries, by hash.
const SETS: usize = 64;

/// Entries of a set: beyond them the one that was asked for longest ago goes.
const WAYS: usize = 8;

/// Launches of a plan that is kept, at most: nearly all have one, and what is kept is bounded.
pub(super) const MOST_KEPT: usize = 4;

/// The most recent of some entries.
pub(super) struct Memo<E>([Mutex<Vec<E>>; SETS]);

impl<E: Clone> Memo<E> {
    pub const fn new() -> Self {
        Memo([const { Mutex::new(Vec::new()) }; SETS])
    }

    /// The entry whose key has this hash and which is the one that is looked for, if it is there and nobody is looking beside it.
    fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<E> {
        let mut set = self.set(hash).try_lock().ok()?;
        let at = set.iter().position(is_it)?;
        set[..=at].rotate_right(1);
        set.first().cloned()
    }

    /// The entry that is looked for, or one that is made, and kept if that is worth it.
    pub fn find_or(
        &self,
        hash: u64,
        is_it: impl Fn(&E) -> bool,
        make: impl FnOnce() -> E,
        is_worth_it: impl FnOnce(&E) -> bool,
    ) -> E {
        if let Some(entry) = self.find(hash, is_it) {
            return entry;
        }
        let entry = make();
        if is_worth_it(&entry) {
            self.keep(hash, entry.clone());
        }
        entry
    }

    /// Keeps an entry, the most recent of its set.
    fn keep(&self, hash: u64, entry: E) {
        let Ok(mut set) = self.set(hash).try_lock() else { return };
        let oldest = if set.len() < WAYS { None } else { set.pop() };
        set.insert(0, entry);
        // Others need not wait while its memory is given back.
        drop(set);
        drop(oldest);
    }

    fn set(&self, hash: u64) -> &Mutex<Vec<E>> {
        // The highest bits depend on all of a key.
        &self.0[(hash >> (u64::BITS - SETS.ilog2())) as usize]
    }
}

/// What planning goes by of a device's facts: all but the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chip {
    compute_capability: (i32, i32),
    multiprocessors: usize,
    block_shared: usize,
    multiprocessor_shared: usize,
    side_by_side: bool,
    in_turn: bool,
}

impl Chip {
    pub fn of(facts: &Facts) -> Self {
        let &Facts {
            name: _,
            compute_capability,
            multiprocessors,
            block_shared,
            multiprocessor_shared,
            side_by_side,
            in_turn,
        } = facts;
        Chip {
            compute_capability,
            multiprocessors,
            block_shared,
            multiprocessor_shared,
            side_by_side,
            in_turn,
        }
    }
}

/// The hash of a key of a few numbers: a multiplication each. It need not withstand who looks for keys that meet: those are planned each time.
pub(super) fn hash_of(key: impl Hash) -> u64 {
    let mut mixed = Mixed(0);
    key.hash(&mut mixed);
    mixed.finish()
}

/// Words, each mixed into what the ones before came to.
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, word: u64) {
        /// 2⁶⁴ divided by the golden ratio.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_recent_are_found() {
        let memo = Memo::<usize>::new();
        for entry in 0..10 * WAYS {
            memo.keep(1 << 60, entry);
            assert_eq!(memo.find(1 << 60, |&kept| kept == entry), Some(entry));
        }
        let oldest = 9 * WAYS;
        // What was asked for stays longest; nothing is found by another hash.
        assert_eq!(memo.find(1 << 60, |&kept| kept == oldest), Some(oldest));
        memo.keep(1 << 60, 10 * WAYS);
        let found = |entry: usize| memo.find(1 << 60, |&kept| kept == entry).is_some();
        assert_eq!([oldest, oldest + 1, oldest + 2].map(found), [true, false, true]);
        assert_eq!(memo.find(0, |_| true), None);
        assert!(memo.0.iter().all(|set| set.lock().unwrap().len() <= WAYS));
    }

    #[test]
    fn who_finds_a_set_locked_goes_without() {
        let memo = Memo::<usize>::new();
        memo.keep(0, 1);
        let locked = memo.0[0].lock().unwrap();
        assert_eq!(memo.find(0, |_| true), None);
        memo.keep(0, 2);
        drop(locked);
        assert_eq!(memo.find(0, |&kept| kept == 2), None);
        assert_eq!(memo.find(0, |_| true), Some(1));
    }

    #[test]
    fn hashes_are_spread_over_the_sets() {
        let mut kept = [0; SETS];
        for rows in 1..33usize {
            for cols in 1..33usize {
                kept[(hash_of([rows * 64, cols * 32, rows]) >> 58) as usize] += 1;
            }
        }
        assert!(kept.iter().all(|&keys| (4..33).contains(&keys)), "{kept:?}");
    }
}
