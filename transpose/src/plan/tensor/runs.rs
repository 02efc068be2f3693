//! The planner of `runs`: moves of what lies together on both sides, in stretches of some vectors that start anywhere.

use super::canonical::{Axis, Canonical, divided};
use super::gaps::Gaps;
use super::launch::{Block, launch, params_of};
use super::model::{RunTally, cost_of_gaps, cost_of_runs, idle};
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

/// Bytes of a run at most: a kernel counts them in 32 bits.
const MOST: usize = 1 << 30;

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
        let [_, to] = canonical.sides();
        let others = canonical.axes()[1..].iter().map(|axis| axis.dst);
        let before = VECTOR - starts_on(to.address, others, canonical.word_bytes(), VECTOR);
        let vectors = (bytes + before).div_ceil(VECTOR);
        Some(Of { canonical, bytes, vectors })
    }

    /// What the model says of it.
    pub fn cost(&self, facts: &Facts) -> f64 {
        let &Of { canonical, vectors, .. } = self;
        let (words, word) = (canonical.words() as f64, canonical.word_bytes());
        let of_block = OF_BLOCK * VECTOR / word;
        let bytes = |side| block_bytes(canonical, canonical.axes(), side, of_block);
        let [from, to] = canonical.sides();
        let runs = words / canonical.run() as f64;
        let tally = RunTally {
            moved: words * (bytes(from).max(word as f64) + bytes(to).max(word as f64)),
            runs,
            gaps: cost_of_gaps(canonical, &Gaps::of(canonical), true),
        };
        cost_of_runs(canonical.word, &tally) * idle(runs * vectors as f64 / OF_BLOCK as f64, facts)
    }

    /// The launches.
    pub fn launches(&self) -> Vec<Launch> {
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
            let offsets = offsets.map(|words| words * each);
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

/// What a launch of the kernel moves at a time; `None` for one of another kernel.
pub(super) fn describe(launch: &Launch) -> Option<String> {
    let Runs { bytes, vectors, fetch, .. } = params_of(&RUNS, launch)?;
    let fetched = if fetch == 0 { "" } else { ", ends fetched" };
    // A packed divisor has the number in its lower half.
    Some(format!("runs of {bytes} bytes in {} vectors{fetched}", vectors as u32))
}
