//! The launch of tiles, and the axes that its blocks are counted along.

use super::super::canonical::{Axis, Canonical, divided};
use super::super::cuts::{Cut, Placed};
use super::super::gaps::Gaps;
use super::super::launch::{Block, launch, params_of};
use super::super::model::are_fours;
use super::size::{Size, alone};
use super::units::{NARROW, lanes, lanes_of_vectors, loading, units};
use super::{Choice, Kernel};
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{
    Loading, MOST_BLOCK_AXES, MOST_RUN_AXES, Mask, Run, RunAxis, TILES, TILES_XOR, Tiles, TilesXor,
};
use smallvec::SmallVec;

/// How many axes blocks are counted along.
pub(super) fn count_block_axes(canonical: &Canonical, rows: &Placed, cols: &Placed) -> usize {
    let left = |cut: &Cut| cut.count() - usize::from(cut.tiles > 1);
    canonical.axes().len() - left(&rows.cut) - left(&cols.cut)
}

/// Axes that blocks are counted along, each with the number of the cut whose tiles it steps along: 0 for rows, 1 for columns.
type BlockAxes = SmallVec<[(Axis, Option<usize>); MOST_BLOCK_AXES]>;

/// An axis as launches go along it.
fn directed(canonical: &Canonical, number: usize, axis: Axis) -> Axis {
    let descends = canonical.stride_to(number) < 0;
    Axis { dst: if descends { -axis.dst } else { axis.dst }, ..axis }
}

/// The axes that blocks are counted along, the destination's fastest first; of words of 4 and 8 bytes that are only moved, second the one along which the
/// source goes on behind a tile's columns, if it is of few steps and near; and which of them steps along the rows and the columns.
pub(super) fn block_axes(
    canonical: &Canonical,
    rows: &Cut,
    cols: &Cut,
    kernel: Kernel,
) -> (BlockAxes, [usize; 2]) {
    /// Bytes of the destination that a step of few is near within. Blocks beside each other store to few pages of 2 MiB then, and load what lies together in the
    /// source; with steps of several MiB they are up to 0.09 of a copy slower. (By 1456 tiles of the permutations of the literature in either order on an H200,
    /// decision 072.)
    const NEAR: usize = 512 << 10;
    const FEW: usize = 16;
    let mut axes = BlockAxes::new();
    for (number, axis) in canonical.axes().iter().enumerate() {
        let which = [rows, cols].into_iter().position(|cut| cut.has(number));
        let cut = which.map(|which| [rows, cols][which]);
        match cut {
            None => axes.push((directed(canonical, number, *axis), None)),
            Some(cut) if cut.slowest() == number && cut.tiles > 1 => {
                axes.push((directed(canonical, number, steps(cut, axis)), which));
            }
            Some(_) => {}
        }
    }
    axes.sort_by_key(|(axis, _)| axis.dst.unsigned_abs());
    if kernel == Kernel::Moving && are_fours(canonical.word) {
        let near = (NEAR / canonical.word_bytes()) as isize;
        let goes_on = |&number: &usize| {
            let axis = axes[number].0;
            axis.src.unsigned_abs() <= cols.words && axis.length <= FEW && axis.dst.abs() < near
        };
        if let Some(number) = (1..axes.len()).find(goes_on) {
            axes[1..=number].rotate_right(1);
        }
    }
    let number =
        |which| axes.iter().position(|&(_, w)| w == Some(which)).unwrap_or(MOST_BLOCK_AXES);
    let steps = [number(0), number(1)];
    if rows.is_across() {
        axes[steps[0]].0.src = 0;
    }
    if cols.is_across() {
        axes[steps[1]].0.dst = 0;
    }
    (axes, steps)
}

/// The steps from tile to tile of a cut along its slowest axis: of one across axes, about as far on the other side as they take a tile there.
fn steps(cut: &Cut, axis: &Axis) -> Axis {
    let step = |stride: isize| match cut.indices {
        0 => stride.saturating_mul(cut.words as isize) / (cut.all / axis.length) as isize,
        indices => stride * indices as isize,
    };
    Axis { length: cut.tiles, src: step(axis.src), dst: step(axis.dst) }
}

/// The launch of a choice, that flips these bits, and may load narrow words by units.
pub(super) fn launch_of(
    canonical: &Canonical,
    facts: &Facts,
    gaps: &Gaps,
    choice: &Choice,
    flips: Option<Mask>,
    kernel: Kernel,
) -> Option<Launch> {
    let Choice { rows, cols, early, .. } = choice;
    let (axes, [along_rows, along_cols]) = block_axes(canonical, &rows.cut, &cols.cut, kernel);
    let axes = axes.iter().map(|(axis, _)| axis);
    let blocks = axes.clone().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    if blocks >= TOO_LARGE {
        return None;
    }
    let size = Size::of(canonical, *early, rows, cols, kernel);
    let (lowest, reach) = canonical.source_range();
    let word = canonical.word_bytes();
    let tiles = Tiles {
        count: axes.len() as u64,
        blocks: divided(axes)?,
        rows: run(canonical, &rows.cut, |axis| canonical.axes()[axis].src, along_rows),
        cols: run(canonical, &cols.cut, |axis| canonical.stride_to(axis), along_cols),
        row_vectors: packed_divisor(size.row_vectors),
        col_vectors: packed_divisor(size.col_vectors),
        pitch: size.pitch as u64 | (size.padding as u64) << 32,
        tile: size.tile as u64,
        loading: loading(word, cols, kernel) as u64,
        lowest: lowest as u64,
        reach: reach as u64,
        lanes: match units(word, rows) {
            Some(unit) => u64::from(unit.trailing_zeros()),
            None if rows.aligned >= VECTOR => 0,
            None if word < NARROW => 1,
            None => lanes(rows.cut.words),
        },
        fetch: gaps.fetch_ends_of(rows.cut.words) as u64,
        early: early.rows as u64,
        units: match units(word, rows) {
            Some(unit) => packed_divisor((rows.cut.words * word / unit).min(size.threads)),
            None if rows.aligned < VECTOR && word < NARROW => {
                packed_divisor(lanes_of_vectors((rows.cut.words + early.rows) * word))
            }
            None => 0,
        },
        early_from: (early.indices as isize * canonical.axes()[rows.cut.slowest()].src) as u64,
    };
    let shared = if gaps.are_all { size.shared.max(alone(&size, facts)) } else { size.shared };
    let block = Block { threads: size.threads as u32, shared };
    Some(match flips {
        None => launch(&TILES, canonical.word, blocks, block, canonical.ahead(), &tiles),
        Some(mask) => {
            let params = TilesXor { tiles, mask };
            launch(&TILES_XOR, canonical.word, blocks, block, canonical.ahead(), &params)
        }
    })
}

/// What a launch of the kernel moves at a time; `None` for one of another kernel.
pub(in super::super) fn describe(launch: &Launch) -> Option<String> {
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
        (0, _) | (4, 1..) => "vectors",
        (1, 1..) => "slid vectors",
        (3, 1..) => "units of 8 bytes",
        (2, 1..) => "units of 4 bytes",
        _ => "words",
    };
    let across = |run: Run| if run.axis >> 32 == 0 { "" } else { " across axes" };
    let (rows_across, cols_across) = (across(rows), across(cols));
    let (rows, cols) = (rows.tile, cols.tile);
    let fetched = if fetch == 0 { "" } else { ", ends fetched" };
    let early = if early == 0 { String::new() } else { format!(", {early} early") };
    Some(format!(
        "tiles of {rows} rows{rows_across}{early} of {cols} words{cols_across}, loaded by {loaded}, stored by {stored}{fetched}"
    ))
}

/// A run as the kernel is told of it: `stride` is that of the other side.
pub(super) fn run(
    canonical: &Canonical,
    cut: &Cut,
    stride: impl Fn(usize) -> isize,
    axis: usize,
) -> Run {
    let mut inner =
        [const { RunAxis { divisor: packed_divisor(1), stride: 0 } }; MOST_RUN_AXES - 1];
    for (inner, number) in inner.iter_mut().zip(cut.axes().take(cut.count() - 1)) {
        let divisor = packed_divisor(canonical.axes()[number].length);
        *inner = RunAxis { divisor, stride: stride(number) as u64 };
    }
    let across = if cut.is_across() { cut.words as u64 } else { 0 };
    Run {
        inner,
        outer: stride(cut.slowest()) as u64,
        tile: cut.words as u64,
        all: cut.all as u64,
        axis: axis as u64 | across << 32,
    }
}
