//! The planner of `tiles`: which axes lie together on either side, and how much of them a tile has.

use super::canonical::{Axis, Canonical, starts_on};
use super::launch;
use super::model::{SECTOR, WEIGHTS, sectors};
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{
    Axis as Divided, MOST_AXES, MOST_BLOCK_AXES, MOST_RUN_AXES, Run, RunAxis, TILES, TileShape,
    Tiles, divisor,
};

/// The words that runs of a tile are tried with, about.
const TRIED: [usize; 10] = [16, 24, 32, 48, 64, 96, 128, 256, 512, 1024];

/// Bytes of shared memory that a tile may take.
const MOST_SHARED: usize = 48 << 10;

/// More than kernels can divide.
const TOO_MANY: usize = 1 << 31;

/// What lies together on one side: some axes, and of the slowest of them so many indices for each tile.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// The axes, by their numbers, the fastest first.
    axes: [usize; MOST_RUN_AXES],
    count: usize,
    /// Indices of the slowest axis that a tile has.
    indices: usize,
    /// Words of a tile, of all tiles together, and how many tiles.
    words: usize,
    all: usize,
    tiles: usize,
}

impl Cut {
    /// Its axes.
    fn axes(&self) -> &[usize] {
        &self.axes[..self.count]
    }

    /// The slowest of them, which tiles have a part of.
    fn slowest(&self) -> usize {
        self.axes[self.count - 1]
    }

    /// Bytes of sectors that all tiles' parts of it lie in, each starting on a multiple of `aligned` bytes.
    fn sectors(&self, word_bytes: usize, aligned: usize) -> f64 {
        let last = self.all - (self.tiles - 1) * self.words;
        let whole = (self.tiles - 1) as f64 * sectors(self.words * word_bytes, aligned);
        whole + sectors(last * word_bytes, aligned)
    }
}

/// A choice of what a tile has, and what it costs.
#[derive(Clone, Copy)]
struct Choice {
    rows: Cut,
    cols: Cut,
    cost: f64,
}

/// The launch that moves tiles, and its cost; `None` where the fastest axis is the same on both sides or has no neighbours on one, or
/// where there are more axes than the kernel takes.
pub(super) fn best(canonical: &Canonical) -> Option<(f64, Launch)> {
    let rows = cuts(canonical, |axis| axis.dst);
    let cols = cuts(canonical, |axis| axis.src);
    let pairs = rows.iter().flat_map(|rows| cols.iter().map(move |cols| (rows, cols)));
    let choices = pairs.filter_map(|(rows, cols)| choice(canonical, rows, cols));
    let best = choices.min_by(|a, b| a.cost.total_cmp(&b.cost))?;
    Some((best.cost, launch_of(canonical, &best)?))
}

/// The ways to cut what lies together on a side.
fn cuts(canonical: &Canonical, stride: impl Fn(&Axis) -> isize) -> Vec<Cut> {
    let axes = canonical.axes();
    let sector = SECTOR / canonical.word_bytes();
    let mut cuts: Vec<Cut> = Vec::new();
    let mut run = [0; MOST_RUN_AXES];
    let mut inner = 1usize;
    for count in 1..=MOST_RUN_AXES {
        let next = axes.iter().position(|axis| stride(axis) == inner as isize);
        let Some(next) = next.filter(|next| !run[..count - 1].contains(next)) else { break };
        run[count - 1] = next;
        let length = axes[next].length;
        let Some(all) = inner.checked_mul(length).filter(|&all| all < TOO_MANY) else { break };
        for tried in TRIED.iter().filter(|&&tried| tried >= inner) {
            // As few tiles as that makes, of about the same length, in whole sectors if it can be.
            let tiles = length.div_ceil((tried / inner).min(length));
            let indices = length.div_ceil(tiles);
            let whole = indices.next_multiple_of(sector / gcd(inner, sector)).min(length);
            let indices = if inner * whole <= tried + sector { whole } else { indices };
            let (words, tiles) = (inner * indices, length.div_ceil(indices));
            let cut = Cut { axes: run, count, indices, words, all, tiles };
            if !cuts.contains(&cut) {
                cuts.push(cut);
            }
        }
        inner = all;
    }
    cuts
}

/// What a tile of these would cost, if there can be one.
fn choice(canonical: &Canonical, rows: &Cut, cols: &Cut) -> Option<Choice> {
    if rows.axes().iter().any(|axis| cols.axes().contains(axis)) {
        return None;
    }
    let size = Size::of(canonical, rows, cols);
    if size.micro_blocks > size.most || size.shared > MOST_SHARED {
        return None;
    }
    let word = canonical.word_bytes();
    let others = canonical.words() as f64 / (rows.all as f64 * cols.all as f64);
    let [src, dst] = aligned(canonical, rows, cols, SECTOR);
    let loaded = rows.all as f64 * cols.sectors(word, src);
    let stored = cols.all as f64 * rows.sectors(word, dst);
    let moved = others * (loaded + stored);
    let tiles = others * rows.tiles as f64 * cols.tiles as f64;
    let single = [src, dst].iter().filter(|&&aligned| aligned < VECTOR).count();
    let singles = single as f64 * canonical.words() as f64;
    Some(Choice { rows: *rows, cols: *cols, cost: WEIGHTS.tiles(moved, tiles, singles) })
}

/// What a tile takes of a block.
struct Size {
    /// Vectors of a row, the last perhaps in part.
    row_vectors: usize,
    /// Vectors of a column, the last perhaps in part.
    col_vectors: usize,
    /// Micro-blocks, and how many there may be.
    micro_blocks: usize,
    most: usize,
    /// Bytes from a column to the next.
    pitch: usize,
    /// Bytes of the transposed tile, and of shared memory, the tables included.
    tile: usize,
    shared: usize,
}

impl Size {
    fn of(canonical: &Canonical, rows: &Cut, cols: &Cut) -> Self {
        let shape = TileShape::of(canonical.word);
        let (vector, block_rows) =
            (TileShape::vector(canonical.word) as usize, shape.block_rows as usize);
        let groups = rows.words.div_ceil(block_rows);
        let row_vectors = cols.words.div_ceil(vector);
        let col_bytes = (groups * block_rows).max(vector) * canonical.word_bytes();
        let pitch = col_bytes.next_multiple_of(128);
        let tile = row_vectors * vector * pitch;
        let tables = (rows.words + cols.words) * size_of::<u64>();
        Size {
            row_vectors,
            col_vectors: rows.words.div_ceil(vector),
            micro_blocks: groups * row_vectors,
            most: shape.most_micro_blocks() as usize,
            pitch,
            tile,
            shared: tile + tables,
        }
    }
}

/// The axes that blocks are counted along, the destination's fastest first; and which of them steps along the rows and the columns.
fn block_axes(canonical: &Canonical, rows: &Cut, cols: &Cut) -> (Vec<Axis>, [usize; 2]) {
    let mut axes: Vec<(Axis, Option<usize>)> = Vec::with_capacity(MOST_AXES);
    for (number, axis) in canonical.axes().iter().enumerate() {
        let cut = [rows, cols].into_iter().position(|cut| cut.axes().contains(&number));
        match cut.map(|which| (which, [rows, cols][which])) {
            None => axes.push((*axis, None)),
            Some((which, cut)) if cut.slowest() == number && cut.tiles > 1 => {
                let by = cut.indices as isize;
                let steps = Axis { length: cut.tiles, src: axis.src * by, dst: axis.dst * by };
                axes.push((steps, Some(which)));
            }
            Some(_) => {}
        }
    }
    axes.sort_by_key(|(axis, _)| axis.dst);
    let number =
        |which| axes.iter().position(|&(_, w)| w == Some(which)).unwrap_or(MOST_BLOCK_AXES);
    let steps = [number(0), number(1)];
    (axes.into_iter().map(|(axis, _)| axis).collect(), steps)
}

/// Bytes, up to `most`, that all rows of all tiles start on a multiple of in the source, and all columns in the destination.
fn aligned(canonical: &Canonical, rows: &Cut, cols: &Cut, most: usize) -> [usize; 2] {
    let (blocks, _) = block_axes(canonical, rows, cols);
    let of = |cut: &Cut, address, stride: fn(&Axis) -> isize| {
        let within = cut.axes().iter().map(|&number| stride(&canonical.axes()[number]));
        let strides = within.chain(blocks.iter().map(stride));
        starts_on(address, strides, canonical.word_bytes(), most)
    };
    let [src, dst] = canonical.aligned;
    [of(rows, src, |axis| axis.src), of(cols, dst, |axis| axis.dst)]
}

/// The launch of a choice.
fn launch_of(canonical: &Canonical, choice: &Choice) -> Option<Launch> {
    let Choice { rows, cols, .. } = choice;
    let (axes, [along_rows, along_cols]) = block_axes(canonical, rows, cols);
    let blocks = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    if axes.len() > MOST_BLOCK_AXES || blocks >= TOO_MANY {
        return None;
    }
    let mut divided = [Divided { divisor: divisor(1), src: 0, dst: 0 }; MOST_BLOCK_AXES];
    for (divided, axis) in divided.iter_mut().zip(&axes) {
        *divided = Divided {
            divisor: divisor(axis.length as u32),
            src: axis.src as u64,
            dst: axis.dst as u64,
        };
    }
    let size = Size::of(canonical, rows, cols);
    let [src, dst] = aligned(canonical, rows, cols, VECTOR);
    let params = Tiles {
        blocks: divided,
        count: axes.len() as u64,
        rows: run(canonical, rows, |axis| axis.src, along_rows),
        cols: run(canonical, cols, |axis| axis.dst, along_cols),
        row_vectors: divisor(size.row_vectors as u32),
        col_vectors: divisor(size.col_vectors as u32),
        pitch: size.pitch as u64,
        tile: size.tile as u64,
        src_vectors: u64::from(src == VECTOR),
        lanes: if dst == VECTOR { 0 } else { lanes(rows.words) },
    };
    Some(launch(&TILES, canonical, blocks, size.shared, [0, 0], &params))
}

/// A run as the kernel is told of it: `stride` is that of the other side.
fn run(canonical: &Canonical, cut: &Cut, stride: fn(&Axis) -> isize, axis: usize) -> Run {
    let mut inner = [RunAxis { divisor: divisor(1), stride: 0 }; MOST_RUN_AXES - 1];
    let (slowest, faster) = cut.axes().split_last().expect("a run has an axis");
    for (inner, &number) in inner.iter_mut().zip(faster) {
        let axis = &canonical.axes()[number];
        *inner = RunAxis { divisor: divisor(axis.length as u32), stride: stride(axis) as u64 };
    }
    Run {
        inner,
        outer: stride(&canonical.axes()[*slowest]) as u64,
        tile: cut.words as u64,
        all: cut.all as u64,
        axis: axis as u64,
    }
}

/// How many lanes store a column of so many words, as a power of two: as many as leave the fewest without a word.
fn lanes(words: usize) -> u64 {
    let idle = |lanes: u32| words.next_multiple_of(1 << lanes);
    // Of equals the first is taken, which has the most lanes.
    [5, 4, 3].into_iter().min_by_key(|&lanes| idle(lanes)).map_or(5, u64::from)
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
