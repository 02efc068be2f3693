//! Timing several ways to do the same thing, so that they can be compared.
//!
//! The contestants take turns (A B C, A B C, …), because a GPU's clock drifts and whoever runs
//! last would win or lose by it. A turn is a few back-to-back launches between two events; the
//! median over the turns counts. Matrices are rotated, so that no launch finds in the L2 cache what it is about to
//! read: each takes the next of two pairs, or of as many as do not fit together, whoever had the one before.
//! [`Pairs::one`] is for those who want to know how fast the cache is.

use bytemuck::Pod;
use std::time::Duration;
use transpose::{Device, DeviceMatrix, Error, Result};

/// Bytes that fit no L2 cache of today several times over.
const BEYOND_L2: usize = 512 << 20;

/// Matrices, or pairs of them, that are made at most: together they exceed the cache down to some 128 KiB each.
const MOST: usize = 1024;

/// Bytes of memory that they take together at most, unless two take more: rows with gaps take more than is moved.
const MOST_BYTES: usize = 8 << 30;

/// How many matrices, or pairs of them, are rotated, of which each has `moved` bytes that are read or written and takes `taken` bytes of memory: as many as
/// do not fit the L2 cache together, two at least, so that none is in there when its turn comes.
pub(crate) fn rotated(moved: usize, taken: usize) -> usize {
    let most = (MOST_BYTES / taken.max(1)).min(MOST);
    BEYOND_L2.div_ceil(moved.max(1)).min(most).max(2)
}

/// The device's time for one launch.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The median over all turns.
    pub median: Duration,
    /// The shortest turn.
    pub min: Duration,
    /// The longest turn.
    pub max: Duration,
}

impl Timing {
    /// The effective bandwidth of the slowest and of the fastest turn.
    pub fn spread(&self, bytes: usize) -> (f64, f64) {
        let of = |time: Duration| 2.0 * bytes as f64 / time.as_secs_f64() / 1e9;
        (of(self.max), of(self.min))
    }

    /// The effective bandwidth in GB/s (10⁹ bytes a second): a matrix of `bytes` is read once and
    /// written once.
    pub fn gb_per_s(&self, bytes: usize) -> f64 {
        2.0 * bytes as f64 / self.median.as_secs_f64() / 1e9
    }
}

/// One way to get from a source to a destination, memories of type `M`.
pub type Contestant<'a, M> = Box<dyn FnMut(&M, &mut M) -> Result<()> + 'a>;

/// Sources and destinations of one shape, enough of them to exceed the L2 cache together.
pub struct Pairs<M> {
    device: Device,
    pairs: Vec<(M, M)>,
}

/// A pair with a copy of the source, and a destination of the same shape.
fn copy<T: Pod>(
    device: &Device,
    (src, dst): &(DeviceMatrix<T>, DeviceMatrix<T>),
) -> Result<(DeviceMatrix<T>, DeviceMatrix<T>)> {
    let like = |matrix: &DeviceMatrix<T>| {
        let (rows, cols) = matrix.shape();
        DeviceMatrix::zeroed(device, rows, cols)
    };
    let mut copied = like(src)?;
    src.copy_into(&mut copied)?;
    Ok((copied, like(dst)?))
}

impl<T: Pod> Pairs<DeviceMatrix<T>> {
    /// The pair that `pair` makes, and as many copies of it as exceed the cache with it, each of `bytes` in all, and one at
    /// least; none on a simulator, or where there is no memory for more. The copies are made on the device: the way from the host is
    /// long.
    ///
    /// # Errors
    /// Those of `pair`, and what the device reports.
    pub fn new(
        device: &Device,
        bytes: usize,
        pair: impl Fn() -> Result<(DeviceMatrix<T>, DeviceMatrix<T>)>,
    ) -> Result<Self> {
        Self::rotated(device, bytes, bytes, pair()?, |pair| copy(device, pair))
    }

    /// One pair, run again and again: a launch finds in the cache what fits there.
    ///
    /// # Errors
    /// Those of `pair`.
    pub fn one(
        device: &Device,
        pair: impl Fn() -> Result<(DeviceMatrix<T>, DeviceMatrix<T>)>,
    ) -> Result<Self> {
        Ok(Pairs::of(device, vec![pair()?]))
    }
}

impl<M> Pairs<M> {
    /// These pairs, one at least.
    pub fn of(device: &Device, pairs: Vec<(M, M)>) -> Self {
        Pairs { device: device.clone(), pairs }
    }

    /// The pair, and as many copies of it, which `copy` makes, as exceed the cache with it; none on a simulator, or where there is no memory for more. A pair
    /// has `moved` bytes that are read or written, and takes `taken` bytes of memory.
    ///
    /// # Errors
    /// Those of `copy`.
    pub fn rotated(
        device: &Device,
        moved: usize,
        taken: usize,
        pair: (M, M),
        copy: impl Fn(&(M, M)) -> Result<(M, M)>,
    ) -> Result<Self> {
        let count = if device.is_gpu() { rotated(moved, taken) } else { 1 };
        let mut pairs = vec![pair];
        while pairs.len() < count {
            match copy(&pairs[0]) {
                Ok(more) => pairs.push(more),
                Err(Error::OutOfMemory { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self::of(device, pairs))
    }

    /// One of the pairs.
    pub fn first(&mut self) -> (&M, &mut M) {
        let (src, dst) = &mut self.pairs[0];
        (src, dst)
    }

    /// Lets the contestants take turns and returns a timing for each, or `None` on a device
    /// whose time means nothing.
    ///
    /// # Errors
    /// What a contestant returns or the device reports.
    pub fn race(
        &mut self,
        contestants: &mut [Contestant<'_, M>],
        turns: usize,
        launches_per_turn: usize,
    ) -> Result<Option<Vec<Timing>>> {
        self.race_and_tell(contestants, turns, launches_per_turn, &mut || ())
    }

    /// Like [`race`](Self::race); calls `told` after each of [`steps`] contestants' turns.
    ///
    /// # Errors
    /// As [`race`](Self::race).
    pub fn race_and_tell(
        &mut self,
        contestants: &mut [Contestant<'_, M>],
        turns: usize,
        launches_per_turn: usize,
        told: &mut dyn FnMut(),
    ) -> Result<Option<Vec<Timing>>> {
        if !self.device.is_gpu() {
            return Ok(None);
        }
        let mut times = vec![Vec::with_capacity(turns); contestants.len()];
        let mut next = 0;
        for turn in 0..=turns {
            for (contestant, times) in contestants.iter_mut().zip(&mut times) {
                let elapsed = self.device.time(|| {
                    for _ in 0..launches_per_turn {
                        let (src, dst) = &mut self.pairs[next];
                        contestant(src, dst)?;
                        next = (next + 1) % self.pairs.len();
                    }
                    Ok(())
                })?;
                // The first turn loads kernels and fills caches; it does not count.
                if let (1.., Some(elapsed)) = (turn, elapsed) {
                    times.push(elapsed / launches_per_turn as u32);
                }
                told();
            }
        }
        Ok(Some(times.into_iter().map(timing).collect()))
    }
}

/// How often a race of so many contestants tells that it goes on, the uncounted turn included.
pub fn steps(contestants: usize, turns: usize) -> usize {
    contestants * (turns + 1)
}

/// The order statistics of at least one time.
fn timing(mut times: Vec<Duration>) -> Timing {
    times.sort();
    Timing { median: times[times.len() / 2], min: times[0], max: times[times.len() - 1] }
}

#[cfg(test)]
mod tests {
    use super::rotated;

    #[test]
    fn what_is_rotated_exceeds_caches_and_not_memory() {
        const MIB: usize = 1 << 20;
        for moved in [128 << 10, MIB, 2 * MIB, 16 * MIB, 300 * MIB] {
            let all = rotated(moved, moved) * moved;
            assert!((128 * MIB..=1200 * MIB).contains(&all), "{moved}: {all}");
        }
        // One element of 64 is moved.
        assert_eq!(rotated(2 * MIB, 128 * MIB), 64);
        assert_eq!((rotated(0, 0), rotated(MIB, usize::MAX)), (1024, 2));
    }
}
