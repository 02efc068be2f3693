//! What nobody has taken of a move's steps: the device takes it from the front, cores from the back, until they meet.
//!
//! Nothing is shared out beforehand, so nobody waits for a slower one but at the very end, and there not long: cores take a slice of a step at a time,
//! and the device a whole step, or what is left of it, but never more than half of all that is left. `crates/models` runs this file through all
//! interleavings.

use crate::sync::{Mutex, MutexGuard, PoisonError};
use std::ops::Range;

/// The slices that are left, of which those from the back are cut to pieces of a kind `P`; clones are the same.
pub(super) struct Ends<P> {
    /// Of a step.
    slices: usize,
    left: Mutex<Left<P>>,
}

struct Left<P> {
    slices: Range<usize>,
    /// The slice that cores have taken, and those of its pieces that nobody has.
    open: Option<(P, Range<usize>)>,
}

/// Slices of one step that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub step: usize,
    pub slices: Range<usize>,
}

impl<P: Clone> Ends<P> {
    /// All of so many steps, each of so many slices.
    pub fn new(steps: usize, slices: usize) -> Self {
        let all = 0..steps.saturating_mul(slices);
        Ends { slices, left: Mutex::new(Left { slices: all, open: None }) }
    }

    /// The first step that is left, or some slices of it.
    pub fn front(&self) -> Option<Taken> {
        let mut left = self.left();
        let first = left.slices.start;
        let of_step = self.slices - first % self.slices;
        let end = first + of_step.min(left.slices.len().div_ceil(2));
        left.slices.start = end;
        (first < end).then(|| self.taken(first..end))
    }

    /// A piece of the last slice that is left, and its number; `cut` says what a slice is, and in how many pieces.
    pub fn back<E>(
        &self,
        cut: impl Fn(Taken) -> Result<(P, usize), E>,
    ) -> Result<Option<(P, usize)>, E> {
        let mut left = self.left();
        loop {
            if let Some((slice, pieces)) = &mut left.open
                && let Some(piece) = pieces.next()
            {
                return Ok(Some((slice.clone(), piece)));
            }
            left.open = None;
            let Some(last) = left.slices.next_back() else { return Ok(None) };
            let (slice, pieces) = cut(self.taken(last..last + 1))?;
            left.open = Some((slice, 0..pieces));
        }
    }

    /// Does some of the work. If that fails, or panics, nothing is left for anybody.
    pub fn or_stop<E>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let stop = Stop(self);
        work()?;
        std::mem::forget(stop);
        Ok(())
    }

    /// Slices that are numbered through all steps.
    fn taken(&self, slices: Range<usize>) -> Taken {
        let step = slices.start / self.slices;
        let before = step * self.slices;
        Taken { step, slices: slices.start - before..slices.end - before }
    }

    fn left(&self) -> MutexGuard<'_, Left<P>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves nothing to anybody when it goes.
struct Stop<'a, P: Clone>(&'a Ends<P>);

impl<P: Clone> Drop for Stop<'_, P> {
    fn drop(&mut self) {
        *self.0.left() = Left { slices: 0..0, open: None };
    }
}
