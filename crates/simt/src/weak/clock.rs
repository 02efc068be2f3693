//! What a thread knows of others: of each, up to which of its epochs.
//!
//! A thread's *epoch* moves on whenever it tells others what it did so far. Clocks are sparse, and the part for each warp is shared between
//! clocks: after a barrier a whole block has the same one.

use std::sync::Arc;

use crate::registers::LANES;

type Part = Arc<[u32; LANES]>;

/// Of each thread the epoch up to which it is known; 0 for nothing. Sorted by warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Vec<(u32, Part)>);

impl Clock {
    /// The epoch up to which `thread` is known.
    pub(crate) fn of(&self, thread: u32) -> u32 {
        let (warp, lane) = (thread / LANES as u32, thread as usize % LANES);
        self.0.binary_search_by_key(&warp, |(warp, _)| *warp).map_or(0, |at| self.0[at].1[lane])
    }

    /// Knows of `thread` up to `epoch`.
    pub(crate) fn raise(&mut self, thread: u32, epoch: u32) {
        let (warp, lane) = (thread / LANES as u32, thread as usize % LANES);
        let at = self.0.binary_search_by_key(&warp, |(warp, _)| *warp).unwrap_or_else(|at| {
            self.0.insert(at, (warp, Arc::new([0; LANES])));
            at
        });
        let part = Arc::make_mut(&mut self.0[at].1);
        part[lane] = part[lane].max(epoch);
    }

    /// Knows all that `other` knows, too.
    pub(crate) fn join(&mut self, other: &Clock) {
        let mut at = 0;
        for (warp, theirs) in &other.0 {
            while self.0.get(at).is_some_and(|(mine, _)| mine < warp) {
                at += 1;
            }
            match self.0.get_mut(at) {
                Some((mine, part)) if mine == warp => join_parts(part, theirs),
                _ => self.0.insert(at, (*warp, Arc::clone(theirs))),
            }
        }
    }

    /// Whether all that `other` knows is known.
    fn covers(&self, other: &Clock) -> bool {
        let covered = |(warp, theirs): &(u32, Part)| {
            let found = self.0.binary_search_by_key(warp, |(warp, _)| *warp);
            found.is_ok_and(|at| Arc::ptr_eq(&self.0[at].1, theirs) || le(theirs, &self.0[at].1))
        };
        other.0.iter().all(covered)
    }
}

fn le(a: &Part, b: &Part) -> bool {
    a.iter().zip(b.iter()).all(|(a, b)| a <= b)
}

fn join_parts(mine: &mut Part, theirs: &Part) {
    if Arc::ptr_eq(mine, theirs) || le(theirs, mine) {
        return;
    }
    if le(mine, theirs) {
        *mine = Arc::clone(theirs);
        return;
    }
    let mine = Arc::make_mut(mine);
    mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

/// Joins a shared clock with another; where one covers the other nothing is copied.
pub(crate) fn join(into: &mut Arc<Clock>, other: &Arc<Clock>) {
    if Arc::ptr_eq(into, other) || into.covers(other) {
        return;
    }
    if other.covers(into) {
        *into = Arc::clone(other);
        return;
    }
    Arc::make_mut(into).join(other);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_join() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.raise(3, 5);
        a.raise(70, 1);
        b.raise(3, 2);
        b.raise(40, 9);
        let mut both = Arc::new(a.clone());
        join(&mut both, &Arc::new(b.clone()));
        assert_eq!([3, 40, 70, 4].map(|thread| both.of(thread)), [5, 9, 1, 0]);
        assert!(both.covers(&a) && both.covers(&b) && !a.covers(&b));
    }
}
