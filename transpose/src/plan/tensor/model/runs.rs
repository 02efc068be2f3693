//! What moving runs costs.

use super::of_width;
use kernel_abi::Width;

/// What moving runs takes that lie together on both sides.
pub(in super::super) struct RunTally {
    /// Bytes of the sectors that blocks' words lie in, on both sides.
    pub moved: f64,
    /// Runs.
    pub runs: f64,
    /// What gaps cost that are fetched.
    pub gaps: f64,
}

/// The weights of what is counted, of words of 1, 2 and 4 bytes.
struct Weights {
    /// Of a byte of a sector that `runs` moves, of a run, and of what gaps cost. (By 86 random moves of runs of 112 bytes to 43 MB, decision 103, and of gaps by 263, decision 079; of wider words there are none.)
    moved: [f64; 3],
    run: [f64; 3],
    gaps: [f64; 3],
}

const WEIGHTS: Weights =
    Weights { moved: [0.945, 0.93, 0.94], run: [66.0, 66.0, 38.0], gaps: [0.4, 1.5, 1.8] };

/// What moving runs costs: of words of up to 4 bytes.
pub(in super::super) fn cost_of_runs(word: Width, tally: &RunTally) -> f64 {
    let (w, k) = (&WEIGHTS, of_width(word));
    let RunTally { moved, runs, gaps } = tally;
    moved * w.moved[k] + runs * w.run[k] + gaps * w.gaps[k]
}

/// What the instructions of a warp cost each lane of which computes `steps` units: all lanes of one run if it `is_one`, else of several. (By 168 sets of runs of 33 to 5003 numbers of seven pairs of types, with gaps, with something added
/// and without, decision 109: within a tenth for most.)
pub(in super::super) fn cost_of_computed_units(steps: usize, is_one: bool, is_sum: bool) -> f64 {
    const WARP: f64 = 1000.0;
    const WARP_OF_SEVERAL: f64 = 1300.0;
    const STEP: f64 = 570.0;
    const STEP_OF_SUM: f64 = 900.0;
    let warp = if is_one { WARP } else { WARP_OF_SEVERAL };
    warp + steps as f64 * if is_sum { STEP_OF_SUM } else { STEP }
}

/// What computing runs costs: the bytes of the sectors of all memories, or instructions, whichever is more, and what gaps cost that are fetched.
pub(in super::super) fn cost_of_computed_runs(moved: f64, issued: f64, gaps: f64) -> f64 {
    const MOVED: f64 = 0.97;
    (moved * MOVED).max(issued) + gaps
}
