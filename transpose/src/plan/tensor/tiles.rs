//! The planner of `tiles`: how much of what lies together on either side a tile has.

use super::canonical::{Axis, Canonical, divided};
use super::cuts::{Cut, Placed};
use super::gaps::Gaps;
use super::launch::{Block, launch, params_of};
use super::model::{
    Tally, are_fours, cost_of_block, cost_of_block_of_fours, cost_of_fours, cost_of_gaps,
    cost_of_part, cost_of_tiles, idle, least_of_sectors,
};
use super::sectors::{SECTOR, sectors_of_one};
use super::side::starts_on;
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::Width;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::{
    Loading, MOST_AXES, MOST_BLOCK_AXES, MOST_RUN_AXES, Mask, PLACE_BYTES, Run, RunAxis, TILES,
    TILES_XOR, TileShape, Tiles, TilesXor,
};
use smallvec::SmallVec;

/// Bytes of shared memory that a tile may take.
const MOST_SHARED: usize = 48 << 10;

/// The words that rows and columns of a tile are tried with, about.
const TRIED: [usize; 13] = [16, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 512, 1024];

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

/// Whether tiles may load rows that others load as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    No,
    /// Where that makes them meet on sectors of the destination.
    Wanted,
}

/// Rows that tiles but the first of a run have before their own, so that tiles meet where sectors of the destination do.
#[derive(Clone, Copy, Default)]
struct Early {
    rows: usize,
    /// Indices of the run's slowest axis that these are.
    indices: usize,
}

impl Early {
    /// A sector's: one more than may lie in it before another word, so that tiles have whole groups of rows. None where columns start on vectors, which are
    /// stored as such.
    fn least(word: usize, aligned: usize, overlap: Overlap) -> usize {
        let serves = overlap == Overlap::Wanted && aligned < VECTOR;
        if serves { SECTOR / word } else { 0 }
    }

    /// At least so many rows; none where tiles have all of their run, or little of what lies together in the source: those are faster without.
    fn of(least: usize, word: usize, rows: &Placed, cols: &Placed) -> Self {
        /// Bytes of a row, at least.
        const ROW: usize = 3 * SECTOR;
        /// How many times as many rows there are at least as early ones.
        const RARE: usize = 7;
        /// The same of narrow words.
        const NARROW_ROW: usize = 2 * SECTOR;
        const NARROW_RARE: usize = 4;
        let (row, rare) = if word < 4 { (NARROW_ROW, NARROW_RARE) } else { (ROW, RARE) };
        let cut = &rows.cut;
        let indices = least.div_ceil(cut.words / cut.indices);
        let are_parts = cut.tiles > 1 && rows.aligned < VECTOR && !is_in_units(word, rows);
        let serves = are_parts && cols.cut.words * word >= row;
        if least == 0 || !serves || indices * rare > cut.indices {
            return Early::default();
        }
        Early { rows: indices * (cut.words / cut.indices), indices }
    }
}

/// The `most` cheapest launches that move tiles at less than a `limit`, and their costs, cheapest first. There are none where the fastest axis is the
/// same on both sides or has no neighbours on one, or where there are more axes than the kernel takes. On the way they flip these bits.
pub(super) fn best(
    canonical: &Canonical,
    facts: &Facts,
    flips: Option<Mask>,
    overlap: Overlap,
    most: usize,
    limit: f64,
) -> Vec<(f64, Launch)> {
    let [from, to] = canonical.sides;
    let word = canonical.word_bytes();
    let steps = canonical.axes().iter().skip(1).map(|axis| axis.dst);
    let early = Early::least(word, starts_on(to.address, steps, word, SECTOR), overlap);
    let gaps = cost_of_gaps(canonical, true);
    let (width, words) = (canonical.word, canonical.words() as f64);
    let (mut rows, mut cols) = (Cuts::new(), Cuts::new());
    // With early rows, tiles have about as many as are tried.
    let tried = TRIED.map(|words| words.saturating_sub(early));
    to.placed_cuts(canonical, &tried, MOST_RUN_AXES, |cut| {
        rows.push(Moved::rows(width, words, cut, early));
    });
    from.placed_cuts(canonical, &TRIED, MOST_RUN_AXES, |cut| {
        cols.push(Moved::cols(width, words, cut));
    });
    let pairs = pairs(&Least::of(canonical, gaps), &rows, &cols, limit);
    let choice = |rows, cols| choice(canonical, facts, gaps, early, overlap, rows, cols);
    // Of the pair that may be the cheapest it is known first what it costs: if one is wanted, nothing need be known of what costs more.
    let first = pairs.iter().filter(|_| most == 1);
    let first = first.reduce(|least, pair| if pair.0 < least.0 { pair } else { least });
    let first = first.and_then(|(_, rows, cols)| choice(rows, cols));
    let first = first.map_or(f64::INFINITY, |choice| choice.cost);
    let mut best: Vec<Choice> = Vec::with_capacity(most + 1);
    for (least, rows, cols) in pairs {
        let limit = if best.len() < most { limit } else { best[most - 1].cost };
        if least > limit.min(first) * NEARLY {
            continue;
        }
        if let Some(choice) = choice(rows, cols).filter(|choice| choice.cost < limit) {
            let at = best.partition_point(|better| better.cost <= choice.cost);
            best.insert(at, choice);
            best.truncate(most);
        }
    }
    let launch =
        |choice: &Choice| Some((choice.cost, launch_of(canonical, facts, choice, flips, overlap)?));
    best.iter().filter_map(launch).collect()
}

/// The rows and columns that there can be tiles of at less than a `limit`, with what those cost at least.
fn pairs<'a>(
    least: &Least,
    rows: &'a [Moved],
    cols: &'a [Moved],
    limit: f64,
) -> Vec<(f64, &'a Moved, &'a Moved)> {
    let mut pairs = Vec::with_capacity(rows.len() * cols.len());
    for rows in rows {
        for cols in cols {
            let least = least.cost(rows, cols);
            if least <= limit * NEARLY && least < f64::INFINITY {
                pairs.push((least, rows, cols));
            }
        }
    }
    pairs
}

/// How many times as much a cost can be by a sum of the same in another order, or more.
const NEARLY: f64 = 1.0 + 1e-9;

/// The cuts of a side: allocating memory would take a tenth of the time.
type Cuts = SmallVec<[Moved; 36]>;

/// A cut that is tried, and what of it is the same whatever it is tried with.
struct Moved {
    placed: Placed,
    /// Bytes of sectors that tiles move for one stretch of it.
    each: f64,
    /// The least that it can be for all.
    moved: f64,
    /// What that costs, and what else there is of it: where all are vectors, and where not.
    costs: [f64; 2],
    /// Tiles for each of its words.
    tiles: f64,
    /// Vectors of a tile's part of it.
    vectors: usize,
    /// Bytes of bursts beside it, for all: of words for which that counts.
    beside: f64,
}

impl Moved {
    /// Rows, perhaps with others before them so that sectors are stored once.
    fn rows(word: Width, words: f64, placed: Placed, early: usize) -> Self {
        let Placed { cut, aligned, nearest, .. } = &placed;
        let each = placed.sectors(word.bytes());
        let once = sectors_of_one(cut.all, *nearest, word.bytes(), *aligned);
        let each_least = if early > 0 { each.min(once) } else { each };
        let all = words / cut.all as f64;
        let cols = all * cut.tiles as f64;
        let in_units = is_in_units(word.bytes(), &placed);
        let stored = if *aligned < VECTOR && !in_units { [words, cols] } else { [0.0; 2] };
        let in_units = if in_units { words } else { 0.0 };
        let moved = all * each_least;
        let beside = beside_in_bursts(word, &placed, all);
        let beside = [0.0, beside];
        let least = Tally { moved, beside, cols, stored, in_units, ..Tally::default() };
        Self::of(word, placed, each, &least)
    }

    /// Columns.
    fn cols(word: Width, words: f64, placed: Placed) -> Self {
        let Placed { cut, aligned, .. } = &placed;
        let each = placed.sectors(word.bytes());
        let all = words / cut.all as f64;
        let rows = all * cut.tiles as f64;
        let loaded = if *aligned < VECTOR { words } else { 0.0 };
        let beside = beside_in_bursts(word, &placed, all);
        let beside = [beside, 0.0];
        let least = Tally { moved: all * each, beside, rows, loaded, ..Tally::default() };
        Self::of(word, placed, each, &least)
    }

    #[inline(always)]
    fn of(word: Width, placed: Placed, each: f64, least: &Tally) -> Self {
        let vectors = (placed.cut.words * word.bytes()).div_ceil(VECTOR);
        let beside = least.beside[0] + least.beside[1];
        let moved = least.moved;
        let costs = [cost_of_part(word, least, true), cost_of_part(word, least, false)];
        let tiles = placed.cut.tiles as f64 / placed.cut.all as f64;
        Moved { placed, each, moved, costs, tiles, vectors, beside }
    }
}

/// Bytes of bursts beside such parts, of a run that there are so many of.
fn beside_in_bursts(word: Width, placed: &Placed, all: f64) -> f64 {
    if are_fours(word) { all * placed.beside_in_bursts(word.bytes()) } else { 0.0 }
}

/// What tiles cost at least.
struct Least {
    word: Width,
    /// What gaps do.
    gaps: f64,
    /// What a block does beside what it moves, for each word of the move: where all are vectors, and where not.
    blocks: [f64; 2],
    /// Words of the move, if they are such that a block of vectors costs more the more warps it has; and what is the same of all of those.
    fours: Option<(f64, f64)>,
    /// The most words that a tile may have.
    words: usize,
}

impl Least {
    fn of(canonical: &Canonical, gaps: f64) -> Self {
        let (word, words) = (canonical.word, canonical.words() as f64);
        let TileShape { block_rows, micro_blocks } = TileShape::of(word);
        let of_thread = micro_blocks * block_rows * TileShape::vector(word);
        let are_few = Gaps::of(canonical).are_all;
        let most = if are_few { FEW_THREADS } else { TileShape::most_threads(word) };
        let threads = (most * of_thread) as usize;
        let blocks = [true, false].map(|vectors| words * cost_of_block(word, vectors));
        let of_fours = || (words, cost_of_fours(words * word.bytes() as f64));
        let fours = are_fours(word).then(of_fours);
        Least { word, gaps, blocks, fours, words: threads.min(MOST_SHARED / word.bytes()) }
    }

    /// That of such rows and columns; infinitely much if there can be no such tiles.
    fn cost(&self, rows: &Moved, cols: &Moved) -> f64 {
        let words = rows.placed.cut.words * cols.placed.cut.words;
        if rows.placed.cut.bits & cols.placed.cut.bits != 0 || words > self.words {
            return f64::INFINITY;
        }
        let vectors = rows.placed.aligned.min(cols.placed.aligned) >= VECTOR;
        let kind = usize::from(!vectors);
        let (block, same) = match self.fours {
            // A micro-block is a vector of as many rows as it has words.
            Some((words, same)) if vectors => {
                match cost_of_block_of_fours(self.word, rows.vectors * cols.vectors) {
                    Some(block) => (words * block, same),
                    None => return f64::INFINITY,
                }
            }
            _ => (self.blocks[kind], 0.0),
        };
        let blocks = block * rows.tiles * cols.tiles;
        let cost = rows.costs[kind] + cols.costs[kind] + blocks + same;
        self.gaps + cost.max(least_of_sectors(self.word, rows.moved + cols.moved, vectors))
    }
}

/// Threads beyond which a multiprocessor has registers for two tiles of narrow words that start anywhere and no third one, and what those cost.
const NARROW_THREADS: usize = 416;
const OF_LARGE: f64 = 1.12;

/// What tiles of bytes cost of which half of the lanes, or all, have no next lane in their row: they load one vector after the other.
const OF_FEW: f64 = 1.25;

/// What a row costs that another tile loads as well, of what it costs otherwise.
const LOADED_AGAIN: f64 = 0.3;

/// What a tile of these would cost, if there can be one, with at least so many early rows if any.
fn choice<'a>(
    canonical: &Canonical,
    facts: &Facts,
    gaps: f64,
    early: usize,
    overlap: Overlap,
    rows: &'a Moved,
    cols: &'a Moved,
) -> Option<Choice<'a>> {
    let [mut row_sectors, mut col_sectors] = [rows.each, cols.each];
    let beside = [cols.beside, rows.beside];
    let [rows, cols] = [&rows.placed, &cols.placed];
    let word = canonical.word_bytes();
    let early = Early::of(early, word, rows, cols);
    let size = Size::of(canonical, early, rows, cols, overlap);
    if size.threads > TileShape::most_threads(canonical.word) as usize || size.shared > MOST_SHARED
    {
        return None;
    }
    let words = canonical.words() as f64;
    let others = words / (rows.cut.all as f64 * cols.cut.all as f64);
    let each_row = others * rows.cut.all as f64;
    let each_col = others * cols.cut.all as f64;
    let singly = |placed: &Placed, count: f64| if placed.aligned < VECTOR { count } else { 0.0 };
    let (all_rows, all_cols) = (each_row * cols.cut.tiles as f64, each_col * rows.cut.tiles as f64);
    let blocks = others * rows.cut.tiles as f64 * cols.cut.tiles as f64;
    if blocks >= TOO_LARGE as f64 || count_block_axes(canonical, rows, cols) > MOST_BLOCK_AXES {
        return None;
    }
    if early.rows > 0 {
        // Each sector is stored once, and what others load as well is found in the cache.
        row_sectors = sectors_of_one(rows.cut.all, rows.nearest, word, rows.aligned);
        col_sectors *= 1.0 + early.rows as f64 / rows.cut.words as f64 * LOADED_AGAIN;
    }
    let in_units = is_in_units(word, rows);
    let tally = Tally {
        moved: each_row * col_sectors + each_col * row_sectors,
        bytes: words * word as f64,
        beside,
        blocks,
        warps: blocks * (size.threads as f64 / f64::from(WARP)),
        rows: all_rows,
        cols: all_cols,
        loaded: singly(cols, words),
        asked_again: if cols.aligned < VECTOR {
            all_rows * asked_again(canonical, cols)
        } else {
            0.0
        },
        stored: match in_units {
            true => [0.0; 2],
            false => [singly(rows, words), singly(rows, all_cols)],
        },
        in_units: if in_units { words } else { 0.0 },
        joints: if early.rows > 0 { 0.0 } else { joints(canonical, rows, cols, all_cols) },
    };
    let are_slid = word < 4 && tally.loaded + tally.stored[0] > 0.0;
    let large = if are_slid && size.threads > NARROW_THREADS { OF_LARGE } else { 1.0 };
    let few = if are_slid && word == 1 && size.row_vectors <= 2 { OF_FEW } else { 1.0 };
    let cost = (gaps + cost_of_tiles(canonical.word, &tally) * large * few) * idle(blocks, facts);
    Some(Choice { rows, cols, early, cost })
}

/// Sectors of a row that warps ask for beyond those that it lies in, where the words of a thread's vector are as far apart as a row has vectors.
fn asked_again(canonical: &Canonical, cols: &Placed) -> f64 {
    let (word, words) = (canonical.word_bytes(), cols.cut.words);
    let vector = TileShape::vector(canonical.word) as usize;
    let beside = words.div_ceil(vector);
    let times = words.div_ceil(beside).min(vector);
    let of = |words: usize| (words * word + SECTOR - word) as f64 / SECTOR as f64;
    (times as f64 * of(beside) - of(words)).max(0.0)
}

/// What a tile takes of a block.
struct Size {
    /// Vectors of a row, the last perhaps in part.
    row_vectors: usize,
    /// Vectors of a column, the last perhaps in part.
    col_vectors: usize,
    threads: usize,
    /// Bytes from a column to the next, and between the columns of a vector of a row and the next.
    pitch: usize,
    padding: usize,
    /// Bytes of the transposed tile, and of shared memory, the tables included.
    tile: usize,
    shared: usize,
}

impl Size {
    fn of(
        canonical: &Canonical,
        early: Early,
        rows: &Placed,
        cols: &Placed,
        overlap: Overlap,
    ) -> Self {
        let shape = TileShape::of(canonical.word);
        let tile_rows = rows.cut.words + early.rows;
        let (vector, block_rows) =
            (TileShape::vector(canonical.word) as usize, shape.block_rows as usize);
        // Of narrow words whole vectors of a column are kept.
        let kept = if canonical.word_bytes() < NARROW {
            tile_rows.next_multiple_of(vector)
        } else {
            tile_rows
        };
        let groups = kept.div_ceil(block_rows);
        let row_vectors = cols.cut.words.div_ceil(vector);
        let col_bytes = (groups * block_rows).max(vector) * canonical.word_bytes();
        // Kernels that compute, of which none overlap, turn the vectors of columns, and each warp of theirs finds the tile's place.
        let moves = overlap == Overlap::Wanted;
        let (pitch, padding) = if !moves || !are_fours(canonical.word) {
            (col_bytes.next_multiple_of(128), 0)
        } else if cols.aligned >= VECTOR {
            (col_bytes, padding(vector * col_bytes, row_vectors))
        } else {
            (col_bytes + padding(col_bytes, row_vectors), 0)
        };
        let tile = row_vectors * (vector * pitch + padding);
        let place = if moves && canonical.word_bytes() < VECTOR { PLACE_BYTES as usize } else { 0 };
        let tables = place + (tile_rows + cols.cut.words) * size_of::<u64>();
        Size {
            row_vectors,
            col_vectors: tile_rows.div_ceil(vector),
            threads: shape.threads(groups * row_vectors),
            pitch,
            padding,
            tile,
            shared: tile + tables,
        }
    }
}

/// Bytes behind so many whole vectors that the threads of a row step by in shared memory, so that eight neighbouring threads store to eight different groups of banks: the
/// step is an odd number of vectors, or of eighths of all banks where a row has no more than that many vectors.
fn padding(step: usize, row_vectors: usize) -> usize {
    /// Vectors that are all banks.
    const BANKS: usize = 8;
    let least = match row_vectors {
        1 => return 0,
        2 | 4 => BANKS / row_vectors * VECTOR,
        _ => VECTOR,
    };
    // To an odd multiple of the least.
    (step + least).next_multiple_of(2 * least) - least - step
}

/// Bytes that the blocks of a multiprocessor have on their way where memory moves little else than sectors in part, and threads of such a block, at most.
const FEW_BYTES: usize = 32 << 10;
const FEW_THREADS: u32 = 128;

/// Bytes of shared memory with which a block has no more others beside it than have [`FEW_BYTES`] on their way together.
fn alone(size: &Size, facts: &Facts) -> usize {
    /// Bytes that a thread loads.
    const OF_THREAD: usize = 4 * VECTOR;
    /// What a block takes beside what it asks for.
    const TAKEN: usize = 1 << 10;
    let beside = (FEW_BYTES / (size.threads * OF_THREAD)).max(1);
    (facts.multiprocessor_shared / beside).saturating_sub(TAKEN).min(MOST_SHARED)
}

/// How many axes blocks are counted along.
fn count_block_axes(canonical: &Canonical, rows: &Placed, cols: &Placed) -> usize {
    let left = |cut: &Cut| cut.count() - usize::from(cut.tiles > 1);
    canonical.axes().len() - left(&rows.cut) - left(&cols.cut)
}

/// The axes that blocks are counted along, the destination's fastest first; of words of 4 and 8 bytes that are only moved, second the one along which the
/// source goes on behind a tile's columns, if it is of few steps and near; and which of them steps along the rows and the columns.
fn block_axes(
    canonical: &Canonical,
    rows: &Cut,
    cols: &Cut,
    overlap: Overlap,
) -> (SmallVec<[Axis; MOST_AXES]>, [usize; 2]) {
    /// Bytes of the destination that a step of few is near within. Blocks beside each other store to few pages of 2 MiB then, and load what lies together in the
    /// source; with steps of several MiB they are up to 0.09 of a copy slower. (By 1456 tiles of the permutations of the literature in either order on an H200,
    /// decision 072.)
    const NEAR: usize = 512 << 10;
    const FEW: usize = 16;
    let mut axes: SmallVec<[(Axis, Option<usize>); MOST_AXES]> = SmallVec::new();
    for (number, axis) in canonical.axes().iter().enumerate() {
        let which = [rows, cols].into_iter().position(|cut| cut.has(number));
        let cut = which.map(|which| [rows, cols][which]);
        match cut {
            None => axes.push((*axis, None)),
            Some(cut) if cut.slowest() == number && cut.tiles > 1 => {
                let by = cut.indices as isize;
                let steps = Axis { length: cut.tiles, src: axis.src * by, dst: axis.dst * by };
                axes.push((steps, which));
            }
            Some(_) => {}
        }
    }
    axes.sort_by_key(|(axis, _)| axis.dst);
    if overlap == Overlap::Wanted && are_fours(canonical.word) {
        let near = (NEAR / canonical.word_bytes()) as isize;
        let goes_on = |&number: &usize| {
            let axis = axes[number].0;
            axis.src.unsigned_abs() <= cols.words && axis.length <= FEW && axis.dst < near
        };
        if let Some(number) = (1..axes.len()).find(goes_on) {
            axes[1..=number].rotate_right(1);
        }
    }
    let number =
        |which| axes.iter().position(|&(_, w)| w == Some(which)).unwrap_or(MOST_BLOCK_AXES);
    let steps = [number(0), number(1)];
    (axes.into_iter().map(|(axis, _)| axis).collect(), steps)
}

/// The launch of a choice, that flips these bits, and may load narrow words by units.
fn launch_of(
    canonical: &Canonical,
    facts: &Facts,
    choice: &Choice,
    flips: Option<Mask>,
    overlap: Overlap,
) -> Option<Launch> {
    let Choice { rows, cols, early, .. } = choice;
    let (axes, [along_rows, along_cols]) = block_axes(canonical, &rows.cut, &cols.cut, overlap);
    let blocks = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    if blocks >= TOO_LARGE {
        return None;
    }
    let size = Size::of(canonical, *early, rows, cols, overlap);
    let (lowest, reach) = canonical.source_range();
    let gaps = Gaps::of(canonical);
    let word = canonical.word_bytes();
    let tiles = Tiles {
        blocks: divided(&axes)?,
        count: axes.len() as u64,
        rows: run(canonical, &rows.cut, |axis| axis.src, along_rows),
        cols: run(canonical, &cols.cut, |axis| axis.dst, along_cols),
        row_vectors: packed_divisor(size.row_vectors),
        col_vectors: packed_divisor(size.col_vectors),
        pitch: size.pitch as u64 | (size.padding as u64) << 32,
        tile: size.tile as u64,
        loading: loading(word, cols, overlap) as u64,
        lowest: lowest as u64,
        reach: reach as u64,
        lanes: match units(word, rows) {
            Some(unit) => u64::from(unit.trailing_zeros()),
            None if rows.aligned >= VECTOR => 0,
            None => lanes(rows.cut.words, word),
        },
        fetch: gaps.fetch_ends_of(rows.cut.words) as u64,
        early: early.rows as u64,
        units: match units(word, rows) {
            Some(unit) => packed_divisor((rows.cut.words * word / unit).min(size.threads)),
            None => 0,
        },
        early_from: (early.indices as isize * canonical.axes()[rows.cut.slowest()].src) as u64,
    };
    let shared = if gaps.are_all { size.shared.max(alone(&size, facts)) } else { size.shared };
    let block = Block { threads: size.threads as u32, shared };
    Some(match flips {
        None => launch(&TILES, canonical, blocks, block, [0, 0], &tiles),
        Some(mask) => {
            launch(&TILES_XOR, canonical, blocks, block, [0, 0], &TilesXor { tiles, mask })
        }
    })
}

/// What a launch of the kernel moves at a time; `None` for one of another kernel.
pub(super) fn describe(launch: &Launch) -> Option<String> {
    let flipping = || params_of(&TILES_XOR, launch).map(|TilesXor { tiles, .. }| tiles);
    let tiles = params_of(&TILES, launch).or_else(flipping)?;
    let Tiles { rows, cols, loading, lanes, fetch, early, units, .. } = tiles;
    let loaded = match loading {
        loading if loading == Loading::Vectors as u64 => "vectors",
        loading if loading == Loading::Slid as u64 => "slid vectors",
        loading if loading == Loading::Fours as u64 => "units of 4 bytes",
        loading if loading == Loading::Eights as u64 => "units of 8 bytes",
        _ => "words",
    };
    let stored = match (lanes, units) {
        (0, _) => "vectors",
        (_, 0) => "words",
        (4, _) => "vectors",
        (3, _) => "units of 8 bytes",
        _ => "units of 4 bytes",
    };
    let (rows, cols) = (rows.tile, cols.tile);
    let fetched = if fetch == 0 { "" } else { ", ends fetched" };
    let early = if early == 0 { String::new() } else { format!(", {early} early") };
    Some(format!(
        "tiles of {rows} rows{early} of {cols} words, loaded by {loaded}, stored by {stored}{fetched}"
    ))
}

/// A run as the kernel is told of it: `stride` is that of the other side.
fn run(canonical: &Canonical, cut: &Cut, stride: fn(&Axis) -> isize, axis: usize) -> Run {
    let mut inner = [RunAxis { divisor: packed_divisor(1), stride: 0 }; MOST_RUN_AXES - 1];
    for (inner, number) in inner.iter_mut().zip(cut.axes().take(cut.count() - 1)) {
        let axis = &canonical.axes()[number];
        *inner = RunAxis { divisor: packed_divisor(axis.length), stride: stride(axis) as u64 };
    }
    Run {
        inner,
        outer: stride(&canonical.axes()[cut.slowest()]) as u64,
        tile: cut.words as u64,
        all: cut.all as u64,
        axis: axis as u64,
    }
}

/// How rows are loaded, perhaps by units.
fn loading(word: usize, cols: &Placed, overlap: Overlap) -> Loading {
    // Kernels that compute, of which none overlap, load no units.
    let by_units = overlap == Overlap::Wanted;
    match units(word, cols) {
        _ if cols.aligned >= VECTOR => Loading::Vectors,
        _ if word >= NARROW => Loading::Words,
        Some(8) if by_units => Loading::Eights,
        Some(_) if by_units => Loading::Fours,
        _ => Loading::Slid,
    }
}

/// Bytes of narrow words that a lane loads or stores at a time, the largest first: a vector, if the destination's columns are whole ones, or a part.
const UNITS: [usize; 3] = [VECTOR, 8, 4];

/// Narrow words have less bytes.
const NARROW: usize = 4;

/// The largest units that rows or columns of narrow words all start and end on.
fn units(word: usize, placed: &Placed) -> Option<usize> {
    let [tile, all] = [placed.cut.words, placed.cut.all].map(|words| words * word);
    let are_whole = |unit: &usize| (placed.aligned | tile | all).is_multiple_of(*unit);
    UNITS.into_iter().filter(|_| word < NARROW).find(are_whole)
}

/// Whether there are such units.
fn is_in_units(word: usize, placed: &Placed) -> bool {
    placed.aligned < VECTOR && units(word, placed).is_some()
}

/// How many of `count` columns of narrow words end inside a sector that another tile goes on in.
fn joints(canonical: &Canonical, rows: &Placed, cols: &Placed, count: f64) -> f64 {
    let word = canonical.word_bytes();
    if word >= NARROW {
        return 0.0;
    }
    // Where what follows a column is most often another of the tile's.
    let goes_on = |&axis: &usize| canonical.axes()[axis].dst == rows.cut.all as isize;
    let count = match cols.cut.axes().find(goes_on) {
        Some(_) if rows.cut.tiles > 1 => count,
        Some(axis) if axis == cols.cut.slowest() => count / cols.cut.indices as f64,
        Some(_) => return 0.0,
        None => count,
    };
    let bytes = rows.cut.words * word;
    let ends = rows.aligned.min(1 << bytes.trailing_zeros()).min(SECTOR);
    count * (1.0 - ends as f64 / SECTOR as f64)
}

/// How many lanes store a column of so many words, as a power of two. Of narrow words a lane stores vectors, from a sector's start on, and finding a column
/// takes about as long as storing one. Of others as many as leave few idle: those that lanes store together are in nearly a sector more than they have bytes
/// for, as columns start anywhere, which with 8 lanes is twice as much to store.
fn lanes(words: usize, word_bytes: usize) -> u64 {
    let cost = |lanes: u32| {
        if word_bytes < 4 {
            let vectors = (words * word_bytes + SECTOR).div_ceil(VECTOR);
            return (1 + vectors.div_ceil(1 << lanes)) << lanes;
        }
        // In quarters of a lane's store.
        const OF_SECTOR: usize = 7;
        let together = words.div_ceil(1 << lanes);
        4 * (together << lanes) + OF_SECTOR * together
    };
    // Of equals the first is taken, which has the most lanes.
    [5, 4, 3].into_iter().min_by_key(|&lanes| cost(lanes)).map_or(5, u64::from)
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_are_neither_idle_nor_in_many_sectors() {
        assert_eq!([504, 512, 36, 48].map(|words| lanes(words, 4)), [5, 5, 3, 4]);
        assert_eq!([32, 96, 512].map(|words| lanes(words, 2)), [3, 3, 3]);
    }
}

/// Which tiles are chosen.
#[cfg(all(test, feature = "simulator"))]
mod choices {
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;
    use kernel_abi::tensor::Fetching;

    /// What an H200 is planned for.
    fn facts() -> Facts {
        Facts { multiprocessors: 132, ..Facts::simulated() }
    }

    /// The best launch for such a move.
    fn best_for(element_bytes: usize, src: TensorLayout, dst: TensorLayout) -> Launch {
        let (src_align, dst_align) = (16, 16);
        let problem = TensorProblem { element_bytes, src: &src, dst: &dst, src_align, dst_align };
        let canonical = Canonical::of(&problem);
        best(&canonical, &facts(), None, Overlap::Wanted, 1, f64::INFINITY).remove(0).1
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
    fn blocks_go_along_the_source_where_that_is_near_in_the_destination() {
        let second = |tiles: Tiles| [tiles.blocks[1].src, tiles.blocks[1].dst];
        // 96 words further in the source, 75264 in the destination.
        let near = best_of(&[48, 28, 28, 28, 48], &[4, 3, 2, 1, 0]);
        assert_eq!((near.cols.tile, second(near)), (96, [96, 75264]));
        // What follows in the source is 5.5 MB away in the destination; or near, but of 38 steps.
        let far = best_of(&[75, 96, 75, 96], &[2, 0, 3, 1]);
        assert_eq!(second(far), [75 * 96 * 96, 96 * 96]);
        let many = best_of(&[96, 75, 75, 96], &[3, 2, 1, 0]);
        assert_eq!(second(many), [75 * 96, 96]);
        for tiles in [near, far, many] {
            let steps = |run: Run, side: fn(&kernel_abi::tensor::Axis) -> u64, stride: u64| {
                let axis = tiles.blocks.get(run.axis as usize);
                axis.is_none_or(|axis| side(axis) == stride)
            };
            assert!(steps(tiles.rows, |axis| axis.dst, tiles.rows.tile));
            assert!(steps(tiles.cols, |axis| axis.src, tiles.cols.tile));
        }
    }

    #[test]
    fn padding_keeps_neighbours_out_of_each_others_banks() {
        for (step, vectors) in (1..64).flat_map(|step| (1..40).map(move |vectors| (step, vectors)))
        {
            let padded = step + padding(step * VECTOR, vectors) / VECTOR;
            assert!(padded < step + 8, "{step} {vectors}");
            // Eight neighbours from any on, if they are of one row, or rows are a power of two of vectors.
            for first in 0..2 * vectors {
                let eight = first..first + 8;
                let is_one_row = first / vectors == (first + 7) / vectors;
                if is_one_row || vectors.is_power_of_two() && first.is_multiple_of(8) {
                    let banks = eight.map(|at| (at % vectors * padded + at / vectors) % 8);
                    let banks: std::collections::HashSet<usize> = banks.collect();
                    assert_eq!(banks.len(), 8, "{step} {vectors} {first}");
                }
            }
        }
    }

    #[test]
    fn few_blocks_are_side_by_side_where_memory_moves_sectors_in_part() {
        for (cols, pitch) in [(3, 20), (5, 20), (3, 48)] {
            let rows = 1_500_000;
            let layout = |strides| TensorLayout::strided(&[rows, cols], strides, 0, 16).unwrap();
            let launch = best_for(16, layout(&[1, rows as isize]), layout(&[pitch, 1]));
            assert_eq!(params_of(&TILES, &launch).unwrap().fetch, Fetching::Sectors as u64);
            let beside = facts().multiprocessor_shared / launch.dynamic_shared_bytes as usize;
            let on_their_way = beside * launch.block[0] as usize * 4 * VECTOR;
            assert!(on_their_way <= FEW_BYTES, "{on_their_way}");
        }
    }
}
