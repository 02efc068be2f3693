//! The planner of `compute_tiles`: tiles as the moves without arithmetic have them, of elements of the source.

use super::super::canonical;
use super::super::tiles::{self, Overlap};
use super::operands::{Axis, DST, Operands, SRC, scaled_alignment};
use super::part::{Part, entry};
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::{Fields, Launch};
use kernel_abi::Width;
use kernel_abi::arithmetic::{COMPUTE_TILES, ComputeTiles, Operation};
use kernel_abi::tensor::Tiles;

/// The rows of a tile of a sum that is as fast as the model of moves expects, and by what part one of twice as many is faster beside others of the same sum.
const ROWS: f64 = 64.0;
const LONGER: f64 = 0.05;

/// The `most` launches that the model of moves expects to be fastest, with what it says that they cost; of sums those of long columns go before. None where tiles do not serve.
pub(super) fn best(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    most: usize,
) -> Vec<(f64, Part)> {
    if !operands.other_is_like_destination() {
        return Vec::new();
    }
    let mut computing = Vec::new();
    let found = |cost, launch| {
        computing.extend(of_move(operands, operation, launch).map(|(by, part)| (by, cost, part)));
    };
    tiles::best(&in_words(operands), facts, None, Overlap::No, most, f64::INFINITY, found);
    if operands.other.is_added() {
        computing.sort_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1)));
    }
    computing.into_iter().map(|(_, cost, part)| (cost, part)).collect()
}

/// The same move as one without arithmetic: of words of the source's elements' size, on both sides.
pub(super) fn in_words(operands: &Operands) -> canonical::Canonical {
    in_words_of(operands, SRC)
}

/// The move as one without arithmetic, of words of the size that elements have on a side: elements of the other side are taken to have that size too.
pub(super) fn in_words_of(operands: &Operands, side: usize) -> canonical::Canonical {
    let word = operands.bytes[side];
    let width = Width::of_bytes(word).expect("a number has the bytes of a word");
    let axes = operands.axes.iter().map(|axis| canonical::Axis {
        length: axis.length,
        src: axis.strides[SRC],
        dst: axis.strides[DST],
    });
    let aligned =
        [SRC, DST].map(|of| scaled_alignment(operands.aligned[of], operands.bytes[of], word));
    canonical::Canonical::of_elements(axes, width, aligned)
}

/// A move's launch, that computes, and how many times as long a sum takes as the model of moves expects; `None` if the kernel has no such tiles. (By 1600 tiles of 126 random sums, decision 106.)
fn of_move(operands: &Operands, operation: &Operation, launch: Launch) -> Option<(f64, Part)> {
    let tiles: Tiles = launch.params.to()?;
    let whole = operands.start_on_units(&axes_of_columns(&tiles), &[DST]);
    let units = (tiles.rows.tile as usize).div_ceil(operands.unit()) + usize::from(!whole);
    let (col_units, whole) = (packed_divisor(units), u64::from(whole));
    let params = ComputeTiles { operation: *operation, tiles, col_units, whole };
    let entry = entry(&COMPUTE_TILES, operands.bytes[SRC]);
    let longer = 1.0 - LONGER * (tiles.rows.tile as f64 / ROWS).log2();
    Some((longer, Part::of(Launch { entry, params: Fields::of(&params), ..launch })))
}

/// The axes along which columns of tiles start at different places of the destination.
fn axes_of_columns(tiles: &Tiles) -> Vec<Axis> {
    let blocks = tiles.blocks[..tiles.count as usize].iter().map(|axis| axis.dst);
    let columns = tiles.cols.inner.iter().map(|axis| axis.stride).chain([tiles.cols.outer]);
    let strides = blocks.chain(columns).map(|stride| [0, stride as isize, stride as isize]);
    strides.map(|strides| Axis { length: 2, strides }).collect()
}
