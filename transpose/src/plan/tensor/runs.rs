//! The planner of `runs`: moves of what lies together on both sides, in stretches of some vectors that start anywhere, or as one.

use super::canonical::{Axis, Canonical, divided};
use super::gaps::Gaps;
use super::launch::{Block, launch, params_of};
use super::model::{RunTally, cost_of_gaps, cost_of_runs, idle, is_small};
use super::side::starts_on;
use super::words::{block_bytes, in_parts};
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::Width;
use kernel_abi::tensor::{RUNS, RUNS_THREADS, Runs, VECTORS_OF_THREAD};

/// Bytes of a word at most: words of 8 are moved one by one at a copy's speed.
const WIDEST: usize = 4;

/// Bytes of a run from which on it is looked at: shorter ones are mostly parts of vectors.
const LEAST: usize = 64;

/// Bytes of a run at most, whole vectors: a kernel counts them in 32 bits.
const MOST: usize = 1 << 30;

/// Bytes that the driver copies together: where either side of a copy starts on no multiple of them, and both in other places of [`ALIKE`], it has 0.64 of the speed that it has
/// otherwise, which this kernel does not. (By copies of 8 and 100 MiB whose sides start 0 to 4097 bytes behind 2 MiB, on an H200, decision 081.)
const WHOLE: u64 = 4;
const ALIKE: u64 = 128;

/// Whether the driver is slow to copy a stretch from the first of these addresses to the second.
pub(super) fn are_askew([src, dst]: [u64; 2]) -> bool {
    !(src | dst).is_multiple_of(WHOLE) && !src.wrapping_sub(dst).is_multiple_of(ALIKE)
}

/// Vectors of a block.
const OF_BLOCK: usize = (RUNS_THREADS * VECTORS_OF_THREAD) as usize;

/// Vectors of a launch: every thread's number, those past the end included, is below what a kernel divides.
const MOST_VECTORS: usize = (1 << 31) - OF_BLOCK;

/// The runs of a move that [`RUNS`] is for.
pub(super) struct Of<'a> {
    canonical: &'a Canonical,
    /// Bytes of a run.
    bytes: usize,
    /// Vectors of the destination that it has bytes of at most.
    vectors: usize,
}

impl<'a> Of<'a> {
    /// Those of a move, if they are long enough, and words so narrow that moving them one by one is slower.
    pub fn new(canonical: &'a Canonical) -> Option<Self> {
        let bytes = canonical.run() * canonical.word_bytes();
        if canonical.word_bytes() > WIDEST || !(LEAST..=MOST).contains(&bytes) {
            return None;
        }
        Some(Self::of_bytes(canonical, bytes))
    }

    /// Those of so many bytes, each as far from the others as the move's, wherever in a run they start that is whole vectors further.
    fn of_bytes(canonical: &'a Canonical, bytes: usize) -> Self {
        let [_, to] = canonical.sides();
        let others = canonical.axes()[1..].iter().map(|axis| axis.dst);
        let before = VECTOR - starts_on(to.address, others, canonical.word_bytes(), VECTOR);
        Of { canonical, bytes, vectors: (bytes + before).div_ceil(VECTOR) }
    }

    /// What the model says of it.
    pub fn cost(&self, facts: &Facts) -> f64 {
        let &Of { canonical, vectors, .. } = self;
        let (words, word) = (canonical.words() as f64, canonical.word_bytes());
        let of_block = OF_BLOCK * VECTOR / word;
        let bytes = |side| block_bytes(canonical, canonical.axes(), side, of_block);
        let [from, to] = canonical.sides();
        // What is repeated comes from a cache, in about half the time.
        let again = (1.0 + 1.0 / canonical.repeated() as f64) / 2.0;
        let read = bytes(from).max(word as f64) * again;
        let runs = words / canonical.run() as f64;
        let tally = RunTally {
            moved: words * (read + bytes(to).max(word as f64)),
            runs,
            gaps: cost_of_gaps(canonical, &Gaps::of(canonical), true),
        };
        cost_of_runs(canonical.word, &tally) * idle(runs * vectors as f64 / OF_BLOCK as f64, facts)
    }

    /// The launches.
    pub fn launches(&self) -> Vec<Launch> {
        self.launches_from(0)
    }

    /// The launches that move runs which start so many bytes into those of the move.
    fn launches_from(&self, start: usize) -> Vec<Launch> {
        let &Of { canonical, bytes, vectors } = self;
        let (below, reach) = canonical.source_range();
        let fetch = Gaps::of(canonical).fetch_ends_of(canonical.run());
        let each = canonical.word_bytes() as isize;
        let in_bytes =
            |&Axis { length, src, dst }: &Axis| Axis { length, src: src * each, dst: dst * each };
        let along = Axis { length: vectors, src: 0, dst: 0 };
        let axes: Vec<Axis> = [along].iter().chain(&canonical.axes()[1..]).copied().collect();
        in_parts(&axes, MOST_VECTORS, &|part, offsets| {
            let vectors = part.first().map_or(1, |axis| axis.length);
            let others: Vec<Axis> = part.iter().skip(1).map(in_bytes).collect();
            let all = part.iter().map(|axis| axis.length).product::<usize>();
            let offsets = offsets.map(|words| words * each + start as isize);
            let params = Runs {
                axes: divided(&others).expect("a move has one axis more at most"),
                count: others.len() as u64,
                bytes: bytes as u64,
                vectors: packed_divisor(vectors),
                all: all as u64,
                lowest: (below - offsets[0]) as u64,
                reach: reach as u64,
                fetch: fetch as u64,
            };
            let block = Block { threads: RUNS_THREADS, shared: 0 };
            let blocks = all.div_ceil(OF_BLOCK);
            launch(&RUNS, Width::B1, blocks, block, offsets, &params)
        })
    }
}

/// The launches that move one stretch, if it is so long that they make a difference, and may start where the driver is slow to copy it.
pub(super) fn launches_of_stretch(canonical: &Canonical) -> Vec<Launch> {
    let is_never_slow = canonical.aligned.iter().all(|&starts| starts as u64 >= WHOLE);
    if is_never_slow || is_small(canonical) {
        return Vec::new();
    }
    let bytes = canonical.words() * canonical.word_bytes();
    // Of about the same length, for no run may be so short that it starts and ends in one vector.
    let each = bytes.div_ceil(bytes.div_ceil(MOST)).next_multiple_of(VECTOR);
    let parts = (0..bytes).step_by(each);
    parts.flat_map(|at| Of::of_bytes(canonical, each.min(bytes - at)).launches_from(at)).collect()
}

/// What a launch of the kernel moves at a time; `None` for one of another kernel.
pub(super) fn describe(launch: &Launch) -> Option<String> {
    let Runs { bytes, vectors, fetch, .. } = params_of(&RUNS, launch)?;
    let fetched = if fetch == 0 { "" } else { ", ends fetched" };
    // A packed divisor has the number in its lower half.
    Some(format!("runs of {bytes} bytes in {} vectors{fetched}", vectors as u32))
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;

    /// The launches for one stretch of so many words of some bytes.
    fn of_stretch(words: usize, bytes: usize, align: usize) -> Vec<Launch> {
        let layout = TensorLayout::contiguous(&[words], bytes).unwrap();
        let (src, dst) = (&layout, &layout);
        let problem =
            TensorProblem { element_bytes: bytes, src, dst, src_align: align, dst_align: align };
        launches_of_stretch(&Canonical::of(&problem))
    }

    #[test]
    fn a_long_stretch_is_several_runs() {
        // A byte more than whole runs, a few vectors more, and as much as there may be.
        for bytes in [MOST, MOST + 1, 2 * MOST + 70, 3 * MOST - 1, 37 * MOST + 5] {
            let launches = of_stretch(bytes, 1, 1);
            let mut reached = 0usize;
            for launch in &launches {
                let run = params_of::<Runs>(&RUNS, launch).unwrap();
                assert_eq!(launch.offsets, [reached as u64; 2]);
                assert!(reached.is_multiple_of(VECTOR));
                assert!((LEAST..=MOST).contains(&(run.bytes as usize)), "{run:?}");
                reached += run.bytes as usize;
            }
            assert_eq!(reached, bytes);
        }
    }

    #[test]
    fn the_driver_copies_what_it_copies_fast() {
        assert_eq!(of_stretch(1 << 20, 4, 4).len(), 0);
        assert_eq!(of_stretch((1 << 20) + 1, 1, 4).len(), 0);
        assert_eq!(of_stretch(1 << 10, 1, 1).len(), 0);
        let slow = [[0x1001, 0x2000], [0x1003, 0x2007], [0x1002, 0x2012]];
        assert!(slow.into_iter().all(are_askew));
        let fast = [[0x1004, 0x2008], [0x1003, 0x2003], [0x1000, 0x2000]];
        assert!(!fast.into_iter().any(are_askew));
    }
}
