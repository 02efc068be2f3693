//! The planner of `compute_tiles`, and of `compute_tiles_by_pairs` where channels have a factor and a summand each: tiles as the moves without arithmetic have them, of elements of the source.

use super::super::canonical;
use super::super::tiles::{self, Kernel};
use super::channel_places::Places;
use super::operands::{Axis, DST, Operands, SRC, scaled_alignment};
use super::part::{Part, entry};
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::{Fields, Launch};
use kernel_abi::Width;
use kernel_abi::arithmetic::{
    COMPUTE_TILES, COMPUTE_TILES_BY_PAIRS, ComputeTiles, ComputeTilesByPairs, Operation, flags,
};
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
    let channels = operands.has_channels().then(|| Places::of(operands)).flatten();
    let serves = match channels {
        None => operands.other_is_like_destination(),
        Some(_) => operands.has_narrow_pairs(operation),
    };
    if !serves {
        return Vec::new();
    }
    let mut computing = Vec::new();
    let found = |cost, launch| {
        let told = of_move(operands, operation, &launch).zip(Some(launch));
        computing.extend(told.and_then(|((longer, params), launch)| {
            let launch = match channels {
                None => computing_all(operands, params, launch),
                Some(channels) => by_pairs(operands, params, channels, launch, facts)?,
            };
            Some((longer, cost, Part::of(launch)))
        }));
    };
    let kernel = Kernel::Computing { unit: operands.unit() };
    tiles::best(&in_words(operands), facts, None, kernel, most, f64::INFINITY, found);
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

/// What a launch of a move is told that computes, and how many times as long a sum takes as the model of moves expects; `None` if the kernel has no such tiles. (By 1600 tiles of 126 random sums, decision 106.)
fn of_move(
    operands: &Operands,
    operation: &Operation,
    launch: &Launch,
) -> Option<(f64, ComputeTiles)> {
    let tiles: Tiles = launch.params.to()?;
    let whole = tiles.early == 0 && operands.start_on_units(&axes_of_columns(&tiles), &[DST]);
    let unit = operands.unit();
    let units = most_units(&tiles, unit, whole);
    let fetches = if operands.gain_by_fetching() { flags::FETCH } else { 0 };
    let params = ComputeTiles {
        operation: Operation { flags: operation.flags | fetches, ..*operation },
        tiles,
        col_units: packed_divisor(units),
        unit: unit as u64,
        whole: u64::from(whole),
    };
    let longer = 1.0 - LONGER * (tiles.rows.tile as f64 / ROWS).log2();
    Some((longer, params))
}

/// The launch that computes all elements alike.
fn computing_all(operands: &Operands, params: ComputeTiles, launch: Launch) -> Launch {
    let entry = entry(&COMPUTE_TILES, operands.bytes[SRC]);
    Launch { entry, params: Fields::of(&params), ..launch }
}

/// The launch that computes elements by the pairs of their channels; `None` if a block has no room for these.
fn by_pairs(
    operands: &Operands,
    tiles: ComputeTiles,
    channels: Places,
    launch: Launch,
    facts: &Facts,
) -> Option<Launch> {
    let (channels, dynamic_shared_bytes) =
        channels.told(operands.bytes[DST], launch.dynamic_shared_bytes);
    let params = Fields::of(&ComputeTilesByPairs { tiles, channels });
    let entry = entry(&COMPUTE_TILES_BY_PAIRS, operands.bytes[SRC]);
    let fits = dynamic_shared_bytes as usize <= facts.block_shared && launch.offsets == [0, 0];
    fits.then_some(Launch { entry, params, dynamic_shared_bytes, ..launch })
}

/// The most units that a tile stores of a column: where tiles meet on units, the last one of a run perhaps more than others.
fn most_units(tiles: &Tiles, unit: usize, whole: bool) -> usize {
    let [tile, all] = [tiles.rows.tile, tiles.rows.all].map(|rows| rows as usize);
    if tiles.early == 0 {
        return tile.div_ceil(unit) + usize::from(!whole);
    }
    let last = (all - 1) % tile + 1;
    tile.max(last + unit - 1).div_ceil(unit)
}

/// The axes along which columns of tiles start at different places of the destination.
fn axes_of_columns(tiles: &Tiles) -> Vec<Axis> {
    let blocks = tiles.blocks[..tiles.count as usize].iter().map(|axis| axis.dst);
    let columns = tiles.cols.inner.iter().map(|axis| axis.stride).chain([tiles.cols.outer]);
    let strides = blocks.chain(columns).map(|stride| [0, stride as isize, stride as isize]);
    strides.map(|strides| Axis { length: 2, strides }).collect()
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;

    /// The parameters of the best tiles of a transpose: `shape` is the source's rows and columns, `bytes` those of an element of the source and of the destination.
    fn best_tiles(shape: [usize; 2], bytes: [usize; 2]) -> ComputeTiles {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let dst = TensorLayout::contiguous(&[shape[1], shape[0]], 8).unwrap();
        let src = TensorLayout::contiguous(&shape, 8).unwrap().t();
        let operand = |layout, element_bytes| Operand { layout, element_bytes, align: 32 };
        let (src, dst) = (operand(src, bytes[0]), operand(dst, bytes[1]));
        let operands = Operands::of(&src, &dst, &Other::None);
        let (_, part) = best(&operands, &operation, &Facts::h200(), 1).remove(0);
        part.launch.params.to().unwrap()
    }

    #[test]
    fn tiles_meet_on_units_where_columns_start_on_none() {
        let told = |shape, bytes| {
            let tiles = best_tiles(shape, bytes);
            (tiles.tiles.early, tiles.whole)
        };
        assert_eq!(told([28589, 2347], [2, 2]), (8, 0));
        assert_eq!(told([28589, 2347], [4, 2]), (4, 0));
        assert_eq!(told([28589, 2347], [1, 2]), (8, 0));
        // Columns start on units of four wider elements, but not on vectors of the source's.
        assert_eq!(told([28588, 2347], [2, 4]), (0, 1));
        // A unit of two has one element where it is not whole.
        assert_eq!(told([28589, 2347], [8, 8]), (0, 0));
    }

    #[test]
    fn units_of_a_column_are_as_many_as_any_tile_has() {
        let mut tiles = best_tiles([28589, 2347], [2, 2]).tiles;
        for (tile, all) in (1..40).flat_map(|tile| (tile + 1..150).map(move |all| (tile, all))) {
            (tiles.rows.tile, tiles.rows.all) = (tile, all);
            for unit in [4, 8] {
                tiles.early = unit;
                // For a column that starts `behind` elements behind a unit's start: the unit that each tile begins with, and the first one that the tile has nothing of.
                let most = (0..unit).flat_map(|behind| {
                    (0..all.div_ceil(tile)).map(move |number| {
                        let border = |rows: u64| (behind + rows) / unit;
                        let begin = border(number * tile);
                        let is_last = (number + 1) * tile >= all;
                        let end = if is_last {
                            (behind + all).div_ceil(unit)
                        } else {
                            border((number + 1) * tile)
                        };
                        end - begin
                    })
                });
                let most = most.max().unwrap();
                assert!(
                    most_units(&tiles, unit as usize, false) as u64 >= most,
                    "{tile} {all} {unit}"
                );
            }
        }
    }
}
