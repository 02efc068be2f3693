//! The planner of `tiles`: how much of what lies together on either side a tile has.
//!
//! | file | what it is about |
//! |---|---|
//! | `least` | what is known of rows and columns by themselves, and what tiles of both cost at least |
//! | `early` | rows that tiles load once more, so that they meet on sectors |
//! | `joints` | columns of which two tiles have parts of a sector |
//! | `size` | threads and shared memory of a tile |
//! | `units` | by what rows are loaded, and columns stored |
//! | `launch` | the launch, and the order of its blocks |

mod early;
mod joints;
mod launch;
mod least;
mod size;
mod units;

use super::canonical::Canonical;
use super::cuts::Placed;
use super::gaps::Gaps;
use super::model::{
    ALONE, Tally, are_alone, beside_each_other, cost_of_gaps, cost_of_tiles, have_bursts, idle,
    lines,
};
use super::sectors::{PIECE, SECTOR, float, sectors_of_one};
use super::side::{Side, starts_on};
use crate::divide::TOO_LARGE;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use early::Early;
use joints::{joints, steps};
use kernel_abi::fast::WARP;
use kernel_abi::tensor::{Fetching, MOST_BLOCK_AXES, MOST_RUN_AXES, Mask, TileShape};
pub(super) use launch::describe;
use launch::{count_block_axes, launch_of};
use least::{Least, Moved, Part, are_whole_parts, beside_both};
use size::Size;
use smallvec::SmallVec;
use units::{NARROW, of_few_vectors};

/// Bytes of shared memory that a tile may take.
const MOST_SHARED: usize = 48 << 10;

/// The words that rows and columns of a tile are tried with, about.
const TRIED: [usize; 13] = [16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512, 1024];

/// The words that rows and columns of a tile of bytes are tried with, about: such tiles have the most words. (By 4000 tiles of 121 permutations: 112 · 15 · 15 · 15 · 5 · 32 turned around has 0.79 of a copy by 336 × 96
/// words, and 0.70 by 448 × 64. Decision 083.)
const TRIED_BYTES: [usize; 17] =
    [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512, 768, 1024];

/// The lengths of rows and columns that are tried where words have `word_bytes` bytes.
fn tried(word_bytes: usize) -> &'static [usize] {
    if word_bytes == 1 { &TRIED_BYTES } else { &TRIED }
}

/// A choice of what a tile has, and what it costs.
#[derive(Clone, Copy)]
struct Choice<'a> {
    /// What lies together in the destination: rows of a tile.
    rows: &'a Placed,
    /// What lies together in the source: columns of a tile.
    cols: &'a Placed,
    early: Early,
    cost: f64,
}

impl Choice<'_> {
    /// Whether it has these rows and columns.
    fn is_of(&self, rows: &Moved, cols: &Moved) -> bool {
        std::ptr::eq(self.rows, &rows.placed) && std::ptr::eq(self.cols, &cols.placed)
    }
}

/// The kernel that tiles are planned for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Moving,
    /// It stores units of `unit` elements, which in the destination may have other sizes than in the source.
    Computing {
        unit: usize,
    },
}

impl Kernel {
    /// Bytes that columns are stored by where all start on multiples of them, of words of `word` bytes.
    fn stored_by(self, word: usize) -> usize {
        match self {
            Kernel::Moving => VECTOR,
            Kernel::Computing { unit } => unit * word,
        }
    }
}

/// Finds the `most` cheapest launches that move tiles at less than a `limit`, and their costs, cheapest first. There are none where the fastest axis is the
/// same on both sides or has no neighbours on one, or where there are more axes than the kernel takes. On the way they flip these bits.
pub(super) fn best(
    canonical: &Canonical,
    facts: &Facts,
    flips: Option<Mask>,
    kernel: Kernel,
    most: usize,
    limit: f64,
    mut found: impl FnMut(f64, Launch),
) {
    let [from, to] = *canonical.sides();
    // Rows have the destination's fastest axis, columns the source's, and no axis is of both.
    let [Some(of_rows), Some(of_cols)] = [&to, &from].map(|side| side.fastest(canonical)) else {
        return;
    };
    let most_rows = to.axes_without(canonical, of_cols).min(MOST_RUN_AXES);
    let most_cols = from.axes_without(canonical, of_rows).min(MOST_RUN_AXES);
    if most_rows == 0 || most_cols == 0 {
        return;
    }
    let word = canonical.word_bytes();
    let steps = canonical.axes().iter().skip(1).map(|axis| axis.dst);
    let early = Early::least(word, starts_on(to.address, steps, word, SECTOR), kernel);
    let gaps = Gaps::of(canonical);
    let of_gaps = cost_of_gaps(canonical, &gaps, true);
    let (width, words) = (canonical.word, canonical.words() as f64);
    let (mut rows, mut cols) = (Cuts::new(), Cuts::new());
    // With early rows, tiles have about as many as are tried.
    let tried = tried(word);
    let fewer = |words: &usize| words.saturating_sub(early);
    let tried_with_early: SmallVec<[usize; 20]>;
    let tried_rows = if early > 0 {
        tried_with_early = tried.iter().map(fewer).collect();
        &tried_with_early
    } else {
        tried
    };
    // Kernels that compute have none across axes.
    let may_cross = kernel == Kernel::Moving && have_bursts(width);
    to.placed_cuts(canonical, tried_rows, most_rows, may_cross, |cut| {
        add(&mut rows, Moved::rows(width, words, cut, early, kernel));
    });
    from.placed_cuts(canonical, tried, most_cols, may_cross, |cut| {
        let near = canonical.axes()[cut.cut.slowest()].dst;
        add(&mut cols, Moved::cols(width, words, cut, kernel, near));
    });
    let by_words = rows.iter().chain(&cols).any(|moved| moved.placed.aligned < VECTOR);
    Moved::price(&mut rows, Part::Rows, width, words, by_words);
    Moved::price(&mut cols, Part::Cols, width, words, by_words);
    let lower = |least: f64, cost: f64| if cost < least { cost } else { least };
    let of_cols =
        [0, 1].map(|kind| cols.iter().map(|cols| cols.costs[kind]).fold(f64::INFINITY, lower));
    let least = Least::of(canonical, facts, kernel, &gaps, of_gaps);
    let choice = |rows, cols| choice(canonical, facts, &gaps, kernel, rows, cols);
    // Of the pair that may be the cheapest it is known first what it costs: if one is wanted, nothing need be known of what costs more.
    let first = if most == 1 { cheapest(&least, &rows, &cols, limit) } else { None };
    let first = first.and_then(|(rows, cols)| choice(rows, cols));
    let of_first = first.as_ref().map_or(f64::INFINITY, |choice| choice.cost);
    let mut best: SmallVec<[Choice; 2]> = SmallVec::new();
    for (rows, cols) in with_room(&least, &rows, &cols) {
        if !least.may_be_below(rows, of_cols, limit.min(of_first) * NEARLY) {
            continue;
        }
        for cols in cols {
            let limit = if best.len() < most { limit } else { best[most - 1].cost };
            let Some(bound) = least.below(rows, cols, limit.min(of_first) * NEARLY) else {
                continue;
            };
            let choice = match &first {
                Some(first) if first.is_of(rows, cols) => Some(*first),
                _ => choice(rows, cols),
            };
            debug_assert!(choice.is_none_or(|choice| choice.cost * NEARLY >= bound));
            if let Some(choice) = choice.filter(|choice| choice.cost < limit) {
                let at = best.partition_point(|better| better.cost <= choice.cost);
                best.insert(at, choice);
                best.truncate(most);
            }
        }
    }
    for choice in &best {
        if let Some(launch) = launch_of(canonical, facts, &gaps, choice, flips, kernel) {
            found(choice.cost, launch);
        }
    }
}

/// All rows, each with the columns that are not too long for them: both ascend, so these are ever fewer.
fn with_room<'a>(
    least: &Least,
    rows: &'a [Moved],
    mut cols: &'a [Moved],
) -> impl Iterator<Item = (&'a Moved, &'a [Moved])> {
    rows.iter().map(move |rows| {
        while let [fewer @ .., last] = cols
            && !least.fit(rows, last)
        {
            cols = fewer;
        }
        (rows, cols)
    })
}

/// Of tiles that have about as many columns as go with their rows, those that may cost the least, if that is less than a `limit`.
fn cheapest<'a>(
    least: &Least,
    rows: &'a [Moved],
    cols: &'a [Moved],
    limit: f64,
) -> Option<(&'a Moved, &'a Moved)> {
    /// How many are looked at for each: the cheapest are among few, and others take time.
    const LONGEST: usize = 2;
    let (mut lowest, mut cheapest) = (limit, None);
    for (rows, cols) in with_room(least, rows, cols) {
        for cols in cols.iter().rev().take(LONGEST) {
            if let Some(cost) = least.below(rows, cols, lowest) {
                (lowest, cheapest) = (cost, Some((rows, cols)));
            }
        }
    }
    cheapest
}

/// How many times as much a cost can be by a sum of the same in another order, or more.
const NEARLY: f64 = 1.0 + 1e-9;

/// The cuts of a side: allocating memory would take a tenth of the time.
type Cuts = SmallVec<[Moved; 36]>;

/// Adds a cut to those of its side, which ascend: of all but those across axes it is the largest. What is made on the way here and then moved takes a tenth of the
/// time: inlined it is made where it stays.
#[inline(always)]
fn add(cuts: &mut Cuts, cut: Moved) {
    let words = |cut: &Moved| cut.placed.cut.words;
    match cuts.last() {
        Some(last) if words(last) > words(&cut) => {
            let at = cuts.partition_point(|other| words(other) <= words(&cut));
            cuts.insert(at, cut);
        }
        _ => cuts.push(cut),
    }
}

/// What a row costs that another tile loads as well, of what it costs otherwise.
const LOADED_AGAIN: f64 = 0.3;

/// What tiles of these rows and columns would cost, if there can be any.
fn choice<'a>(
    canonical: &Canonical,
    facts: &Facts,
    gaps: &Gaps,
    kernel: Kernel,
    rows: &'a Moved,
    cols: &'a Moved,
) -> Option<Choice<'a>> {
    let [mut row_sectors, mut col_sectors] = [rows.each, cols.each];
    let beside = [
        beside_both(canonical, cols, &rows.placed.cut, |axis| axis.src),
        beside_both(canonical, rows, &cols.placed.cut, |axis| axis.dst),
    ];
    let word = canonical.word_bytes();
    let early = rows.early.with(word, &cols.placed, kernel);
    let [in_units, rows_in_units] = [rows.in_units, cols.in_units];
    let asked_again = cols.asked_again;
    let [rows, cols] = [&rows.placed, &cols.placed];
    let size = Size::of(canonical, early, rows, cols, kernel);
    if size.threads > TileShape::most_threads(canonical.word) as usize || size.shared > MOST_SHARED
    {
        return None;
    }
    let words = float(canonical.words());
    let others = words / (float(rows.cut.all) * float(cols.cut.all));
    let each_row = others * float(rows.cut.all);
    let each_col = others * float(cols.cut.all);
    let singly = |placed: &Placed, count: f64| if placed.aligned < VECTOR { count } else { 0.0 };
    let (all_rows, all_cols) = (each_row * float(cols.cut.tiles), each_col * float(rows.cut.tiles));
    let blocks = others * float(rows.cut.tiles) * float(cols.cut.tiles);
    if blocks >= TOO_LARGE as f64 || count_block_axes(canonical, rows, cols) > MOST_BLOCK_AXES {
        return None;
    }
    if early.rows > 0 {
        // Each sector is stored once, and what others load as well is found in the cache.
        row_sectors = sectors_of_one(rows.cut.all, rows.nearest, word, rows.aligned);
        col_sectors *= 1.0 + float(early.rows) / float(rows.cut.words) * LOADED_AGAIN;
    }
    let warps = size.threads.div_ceil(WARP as usize);
    let tally = Tally {
        moved: each_row * col_sectors + each_col * row_sectors,
        words,
        bytes: words * float(word),
        beside,
        gaps_read: if word < NARROW { gaps_read(canonical) } else { 0.0 },
        whole: if are_whole_parts(word, cols) { [words, all_rows] } else { [0.0; 2] },
        blocks,
        shares: blocks / float(beside_each_other(warps, size.shared, facts)),
        warps: blocks * (float(size.threads) / f64::from(WARP)),
        rows: lines(canonical.word, all_rows, words),
        cols: lines(canonical.word, all_cols, words),
        by_vectors: rows.aligned.min(cols.aligned) >= VECTOR,
        loaded: match rows_in_units {
            true => [0.0; 2],
            false => [singly(cols, words), singly(cols, all_rows)],
        },
        asked_again: all_rows * asked_again,
        stored: match in_units {
            true => [0.0; 2],
            false => [singly(rows, words), singly(rows, all_cols)],
        },
        ragged: if in_units || early.rows > 0 { 0.0 } else { singly(rows, all_cols) },
        in_units: if in_units { words } else { 0.0 },
        joints: if early.rows > 0 { 0.0 } else { joints(canonical, rows, cols, all_cols) },
    };
    let few = if rows_in_units && !tally.by_vectors {
        of_few_vectors(word, words_beside_others(canonical, rows, cols))
    } else {
        1.0
    };
    let of_tiles = cost_of_tiles(canonical.word, &tally) * few;
    // Tiles of few of the rows between two gaps fetch nothing: most of it would be the next tile's as well.
    let is_fetched = !gaps.fetch || gaps.fetch_ends_of(rows.cut.words) != Fetching::None;
    let of_gaps = cost_of_gaps(canonical, gaps, is_fetched);
    let are_alone = are_alone(rows.cut.words * word, steps(canonical, cols));
    let of_gaps = if are_alone { of_gaps + all_cols * ALONE } else { of_gaps };
    let cost = (of_gaps + of_tiles) * idle(blocks, facts);
    Some(Choice { rows, cols, early, cost })
}

/// Words that lie together in the source in a tile, and have beside them what other tiles move; as many as can be where nothing is beside them.
fn words_beside_others(canonical: &Canonical, rows: &Placed, cols: &Placed) -> usize {
    if cols.cut.tiles > 1 {
        cols.cut.words
    } else if cols.goes_on() {
        cols.together(canonical.axes(), |axis| axis.src, &rows.cut)
    } else {
        usize::MAX
    }
}

/// Bytes of gaps in the source that memory reads with the sectors beside them: the pieces of 64 bytes that a stretch lies in have a sector more than it lies in, in the mean, wherever it starts. Of gaps that are shorter other
/// stretches have a part.
fn gaps_read(canonical: &Canonical) -> f64 {
    let [Side { together, pitch, .. }, _] = *canonical.sides();
    if pitch == usize::MAX {
        return 0.0;
    }
    let gap = float(pitch - together) * float(canonical.word_bytes());
    let stretches = canonical.words() as f64 / together as f64;
    stretches * float(PIECE - SECTOR) * (gap / float(PIECE)).min(1.0)
}

/// Which tiles are chosen.
#[cfg(all(test, feature = "simulator"))]
mod choices {
    use super::super::launch::params_of;
    use super::super::problem::TensorProblem;
    use super::size::FEW_BYTES;
    use super::*;
    use crate::tensor::TensorLayout;
    use kernel_abi::tensor::{Fetching, Run, TILES, Tiles};

    /// The best launch for a move from a source that starts on a sector.
    fn best_for(element_bytes: usize, src: TensorLayout, dst: TensorLayout) -> Launch {
        best_at(element_bytes, 32, src, dst)
    }

    /// The best launch for a move from a source that starts on a multiple of `src_align` bytes, to a destination that starts on a sector.
    fn best_at(
        element_bytes: usize,
        src_align: usize,
        src: TensorLayout,
        dst: TensorLayout,
    ) -> Launch {
        let dst_align = 32;
        let problem = TensorProblem { element_bytes, src: &src, dst: &dst, src_align, dst_align };
        let canonical = Canonical::of(&problem);
        let mut launches = Vec::new();
        let found = |_, launch| launches.push(launch);
        best(&canonical, &Facts::h200(), None, Kernel::Moving, 1, f64::INFINITY, found);
        launches.remove(0)
    }

    #[test]
    fn tiles_fill_a_multiprocessor_with_bursts() {
        for shape in [[96, 75, 12, 608], [608, 75, 12, 96], [384, 355, 6, 384]] {
            let src = TensorLayout::contiguous(&shape, 8).unwrap().permute_axes(&[3, 2, 1, 0]);
            let src = src.unwrap();
            let dst = TensorLayout::contiguous(src.shape(), 8).unwrap();
            let launch = best_for(8, src, dst);
            let tiles = params_of(&TILES, &launch).unwrap();
            for words in [tiles.rows.tile, tiles.cols.tile] {
                assert!((words as usize * 8).is_multiple_of(super::super::sectors::BURST));
            }
            assert_eq!(48 % (launch.block[0] / WARP), 0, "{launch:?}");
        }
    }

    /// The launch for this permutation of a contiguous array of elements of 4 bytes.
    fn best_of(shape: &[usize], order: &[usize]) -> Tiles {
        let src = TensorLayout::contiguous(shape, 4).unwrap().permute_axes(order).unwrap();
        let dst = TensorLayout::contiguous(src.shape(), 4).unwrap();
        params_of(&TILES, &best_for(4, src, dst)).unwrap()
    }

    #[test]
    fn tiles_go_across_axes_where_that_makes_them_bursts() {
        let across = |tiles: &Tiles| [tiles.rows, tiles.cols].map(|run| run.axis >> 32);
        // Both runs are 48 * 28 words, 21 bursts; 96 * 75 are 112 and a half; 64 are one.
        let both = best_of(&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0]);
        assert_eq!(across(&both), [both.rows.tile, both.cols.tile]);
        assert!(across(&both).iter().all(|words| words % 64 == 0), "{:?}", across(&both));
        for shape in [[96, 75, 75, 96], [64, 75, 75, 64]] {
            assert_eq!(across(&best_of(&shape, &[3, 2, 1, 0])), [0, 0]);
        }
        // The next of 680 is 896 bytes away in the destination: columns go across with rows that are bursts, or not at all.
        let near = best_of(&[224, 680, 352], &[2, 1, 0]);
        assert!(across(&near)[1] == 0 || near.rows.tile.is_multiple_of(64), "{near:?}");
    }

    #[test]
    fn columns_far_apart_that_share_sectors_are_long() {
        // What lies together in the destination is 17 times 45 times 66 words; columns are 200 KB apart and more.
        let far = best_of(&[17, 66, 4, 45, 49, 2], &[2, 5, 4, 0, 3, 1]);
        assert!(far.rows.tile > 66, "{far:?}");
    }

    #[test]
    fn short_parts_of_rows_with_gaps_behind_them_fetch_what_is_beside() {
        // 1024 rows of 79 words, 80 apart, 247 times: by parts of 16 words, whose ends are mostly the next part's, that had 0.52 of a copy on an H200, and 0.81 by parts of 24.
        let layout = |strides: &[isize]| TensorLayout::strided(&[247, 1024, 79], strides, 0, 4);
        let (src, dst) = (layout(&[80_896, 1, 1024]), layout(&[81_920, 80, 1]));
        let tiles = params_of(&TILES, &best_at(4, 8, src.unwrap(), dst.unwrap())).unwrap();
        assert_ne!(tiles.fetch, Fetching::None as u64, "{tiles:?}");
    }

    #[test]
    fn short_rows_of_bytes_beside_what_other_tiles_move_are_few() {
        // Rows of 28 bytes had 0.48 of a copy on an H200: the two rows beside each are moved by tiles of another time. Rows of 84 had 0.87.
        let shape = [28, 3, 447_254, 3];
        let src = TensorLayout::strided(&shape, &[1, 28, 84, 37_569_336], 0, 1).unwrap();
        let dst = TensorLayout::strided(&shape, &[4_025_295, 1_341_765, 3, 1], 0, 1).unwrap();
        let tiles = params_of(&TILES, &best_for(1, src, dst)).unwrap();
        assert_eq!(tiles.cols.tile, 84, "{tiles:?}");
    }

    #[test]
    fn short_rows_whose_bursts_other_tiles_move_are_few() {
        // The source goes on behind two words along axes that lie together in the destination: rows of two words leave their bursts to other tiles.
        let src = TensorLayout::strided(&[357, 2, 9, 341, 13], &[221650, 1, 2, 50, 17050], 0, 8);
        let dst = TensorLayout::contiguous(&[357, 2, 9, 341, 13], 8).unwrap();
        let tiles = params_of(&TILES, &best_for(8, src.unwrap(), dst)).unwrap();
        assert!(tiles.cols.tile > 2, "{tiles:?}");
    }

    #[test]
    fn blocks_go_along_the_source_where_that_is_near_in_the_destination() {
        let second = |tiles: Tiles| [tiles.blocks[1].src, tiles.blocks[1].dst];
        // 96 words further in the source, 75264 in the destination.
        let near = best_of(&[48, 28, 28, 27, 48], &[4, 3, 2, 1, 0]);
        assert_eq!((near.cols.tile, second(near)), (96, [96, 75264]));
        // What follows in the source is 5.5 MB away in the destination; or near, but of 38 steps.
        let far = best_of(&[75, 96, 75, 96], &[2, 0, 3, 1]);
        assert_eq!(second(far), [75 * 96 * 96, 96 * 96]);
        let many = best_of(&[96, 75, 75, 96], &[3, 2, 1, 0]);
        assert_eq!(second(many), [75 * 96, 96]);
        for tiles in [near, far, many] {
            let steps = |run: Run, side: fn(&kernel_abi::tensor::Axis) -> u64, stride: u64| {
                let axis = tiles.blocks.get(run.axis as u32 as usize);
                axis.is_none_or(|axis| side(axis) == stride)
            };
            assert!(steps(tiles.rows, |axis| axis.dst, tiles.rows.tile));
            assert!(steps(tiles.cols, |axis| axis.src, tiles.cols.tile));
        }
    }

    #[test]
    fn few_blocks_are_side_by_side_where_memory_moves_sectors_in_part() {
        for (cols, pitch) in [(3, 20), (5, 20), (3, 48)] {
            let rows = 1_500_000;
            let layout = |strides| TensorLayout::strided(&[rows, cols], strides, 0, 16).unwrap();
            let launch = best_for(16, layout(&[1, rows as isize]), layout(&[pitch, 1]));
            assert_eq!(params_of(&TILES, &launch).unwrap().fetch, Fetching::Sectors as u64);
            let beside = Facts::h200().multiprocessor_shared / launch.dynamic_shared_bytes as usize;
            let on_their_way = beside * launch.block[0] as usize * 4 * VECTOR;
            assert!(on_their_way <= FEW_BYTES, "{on_their_way}");
        }
    }
}
