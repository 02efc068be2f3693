//! Moves to another device's memory, which is stored to and never loaded from; and two moves in one launch, whose blocks take turns.
//!
//! A GPU starts all blocks of a kernel before any of the next one, so that two kernels of which one waits for a link and one does not take
//! their times one after the other. Blocks of one kernel that alternate between the two share every multiprocessor: the link's are
//! always there, and the others cost nothing (decision 043).
//!
//! To `tiles` the two places are one more axis of two indices, the fastest that blocks are counted along. Its strides are the distances of the
//! addresses, which are known when it is run. To `rows`, for matrices whose rows start anywhere, they are two matrices of a batch.

use super::canonical::Canonical;
use super::launch::params_of;
use super::plan::{TensorPlan, Way};
use super::problem::problem_of_layouts;
use super::sectors::LINE;
use super::ways::{Estimated, SHAPES, Ways};
use crate::device::Step;
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::launch::{Fields, Launch};
use crate::tensor::TensorLayout;
use crate::{Facts, Result};
use kernel_abi::Kernel;
use kernel_abi::fast::{Batched, InTurns, ROWS};
use kernel_abi::tensor::{
    Axis, BOXES, Boxes, MOST_BLOCK_AXES, PIECES, Pieces, RUNS, Runs, TILES, Tiles,
};

impl TensorPlan {
    /// The same plan for a destination that is far away: sectors of it that are stored in part are not fetched before.
    pub(crate) fn stored_afar(mut self) -> Self {
        if let Way::Launches(launches) = self.way_mut() {
            for launch in launches {
                if let Some(tiles) = params_of(&TILES, launch) {
                    launch.params = Fields::of(&Tiles { fetch: 0, ..tiles });
                } else if let Some(boxes) = params_of(&BOXES, launch) {
                    launch.params = Fields::of(&Boxes { fetch: 0, ..boxes });
                } else if let Some(pieces) = params_of(&PIECES, launch) {
                    let boxes = Boxes { fetch: 0, ..pieces.boxes };
                    launch.params = Fields::of(&Pieces { boxes, ..pieces });
                } else if let Some(runs) = params_of(&RUNS, launch) {
                    launch.params = Fields::of(&Runs { fetch: 0, ..runs });
                }
            }
        }
        self
    }

    /// A plan for moves that [go in pairs](Self::steps_of_two), of elements of so many bytes, laid out like `src` and `dst` in memory that a
    /// device allocates. `None` where no kernel serves them.
    pub(crate) fn for_pairs(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Option<Self>> {
        let problem = problem_of_layouts(element_bytes, src, dst)?;
        if problem.is_empty() {
            return Ok(None);
        }
        let canonical = Canonical::of(&problem);
        let Ok(ways) = Ways::of(&canonical, facts, None) else { return Ok(None) };
        let word = canonical.word_bytes();
        let shapes: Vec<_> = ways.in_tiles(SHAPES, f64::INFINITY).collect();
        let tiles_of = |way: &Estimated| params_of(&TILES, way.launches.first()?);
        let in_lines = |way: &Estimated| {
            tiles_of(way)
                .is_some_and(|tiles| (tiles.rows.tile as usize * word).is_multiple_of(LINE))
        };
        let serves = |way: &Estimated| {
            let blocks = way.launches.iter().map(|launch| launch.grid[0] as usize).sum::<usize>();
            // Word by word they are stored in less than whole lines, which a link takes a third longer for than for both one after the other.
            tiles_of(way)
                .is_some_and(|tiles| (tiles.count as usize) < MOST_BLOCK_AXES && tiles.lanes == 0)
                && blocks.saturating_mul(2) < TOO_LARGE
        };
        let (lines, others): (Vec<_>, Vec<_>) =
            shapes.into_iter().filter(serves).partition(in_lines);
        let in_rows = || ways.as_matrix().filter(|way| way.launches.iter().all(is_one_of_rows));
        let best = lines.into_iter().chain(others).next().or_else(in_rows);
        Ok(best.map(|way| TensorPlan::of_way(&problem, &ways, way)))
    }

    /// Like [`steps`](Self::steps), of two moves at once: between the first pair of addresses, and the second, each of a source and a
    /// destination that are aligned alike.
    pub(crate) fn steps_of_two(&self, first: [u64; 2], second: [u64; 2]) -> Vec<Step> {
        let (start, other) = (self.starts_in(first), self.starts_in(second));
        let distances = [0, 1].map(|side| other[side].wrapping_sub(start[side]) as i64);
        let Way::Launches(launches) = self.way() else { return Vec::new() };
        let twice = |launch: &Launch| Step::Launch(twice(launch, distances), start);
        launches.iter().map(twice).collect()
    }
}

/// Whether a launch is one of `rows`, of one matrix, and a grid has twice its blocks.
fn is_one_of_rows(launch: &Launch) -> bool {
    params_of(&ROWS, launch).is_some()
        && launch.grid[2] == 1
        && (launch.grid[0] as usize).saturating_mul(2) < TOO_LARGE
}

/// The launch, and with it the same one so many bytes further on either side: block by block in turns.
fn twice(launch: &Launch, distances: [i64; 2]) -> Launch {
    let mut twice = match params_of(&TILES, launch) {
        Some(tiles) => tiles_twice(launch, tiles, distances),
        None => rows_twice(launch, distances),
    };
    twice.grid[0] *= 2;
    twice
}

/// Two matrices that take turns.
fn rows_twice(launch: &Launch, distances: [i64; 2]) -> Launch {
    let rows = params_of(&ROWS, launch).expect("a plan for pairs launches tiles or rows");
    let [src_batch, dst_batch] = in_words(&ROWS, launch, distances);
    let matrices = Batched { src_batch, dst_batch, ..rows.matrices };
    Launch { params: Fields::of(&InTurns { matrices, turns: 1 }), ..launch.clone() }
}

/// One more axis of blocks.
fn tiles_twice(launch: &Launch, tiles: Tiles, distances: [i64; 2]) -> Launch {
    let [src, dst] = in_words(&TILES, launch, distances);
    let mut blocks = tiles.blocks;
    blocks.copy_within(..MOST_BLOCK_AXES - 1, 1);
    blocks[0] = Axis { divisor: packed_divisor(2), src, dst };
    // The axes that step along a tile's rows and columns are one further. (Of a run's axis, the upper half says something else.)
    let further =
        |axis: u64| if (axis as u32 as usize) < MOST_BLOCK_AXES { axis + 1 } else { axis };
    let (mut rows, mut cols) = (tiles.rows, tiles.cols);
    (rows.axis, cols.axis) = (further(rows.axis), further(cols.axis));
    let [distance, _] = distances;
    let twice = Tiles {
        blocks,
        count: tiles.count + 1,
        rows,
        cols,
        lowest: tiles.lowest.wrapping_add_signed(distance.min(0)),
        reach: tiles.reach + distance.unsigned_abs(),
        fetch: 0,
        ..tiles
    };
    Launch { params: Fields::of(&twice), ..launch.clone() }
}

/// Distances in the words that a launch of a kernel moves.
fn in_words<P>(kernel: &Kernel<P>, launch: &Launch, distances: [i64; 2]) -> [u64; 2] {
    let entry = kernel.entries.iter().find(|entry| entry.name == launch.entry.name);
    let word = entry.map_or(1, |entry| entry.width.bytes()) as i64;
    distances.map(|bytes| {
        debug_assert_eq!(bytes % word, 0, "both are aligned alike");
        (bytes / word) as u64
    })
}
