//! Launching the C2R/R2C decomposition: rows and strips of columns, each held on chip.
//!
//! See `decomposition` for the arithmetic. A tall matrix is decomposed as it is, by C2R; a wide one
//! by R2C of the transposed shape, so that the rows that are shuffled have the shorter length.
//! Three passes, or two if the sides have no common divisor.

use super::InPlaceOptions;
use super::decomposition::Decomposition;
use super::launches::{self, Columns};
use super::plan::Shape;
use super::recipe::Recipe;
use crate::device::Limits;

/// Bytes of a strip's row: whole sectors, so that nothing is moved in vain.
const STRIP_BYTES: usize = 64;

/// Bytes of rows that one block holds, if they are short.
const ROW_BYTES: usize = 48 << 10;

/// The steps, or `None` if rows are longer than a block can hold or strips longer than the chip.
pub(super) fn recipe(shape: &Shape, limits: &Limits, options: &InPlaceOptions) -> Option<Recipe> {
    let bytes = shape.element_bytes();
    let on_chip = limits.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX));
    let backwards = shape.rows < shape.cols;
    let d = Decomposition::new(shape.rows.max(shape.cols), shape.rows.min(shape.cols));
    if d.cols * bytes > on_chip {
        return None;
    }
    let block_rows = (ROW_BYTES.min(on_chip) / (d.cols * bytes)).clamp(1, d.rows);
    let rows = launches::shuffle_rows(&d, block_rows, backwards, shape.width);
    let (strip, part_rows) = strip(&d, bytes, on_chip, limits, options)?;
    let columns = |shuffle| Columns { shuffle, backwards, strip, part_rows };

    let mut recipe = Recipe { tile: Some((part_rows, strip)), ..Recipe::default() };
    let column_pass = |recipe: &mut Recipe, shuffle| {
        let columns = columns(shuffle);
        let launch = columns.launch(&d, shape.width);
        recipe.group(launch, d.rows.div_ceil(part_rows));
        recipe.pass(launch, columns.counter_bytes(&d));
    };
    if backwards {
        column_pass(&mut recipe, true);
        recipe.pass(rows, 0);
        if d.common > 1 {
            column_pass(&mut recipe, false);
        }
    } else {
        if d.common > 1 {
            column_pass(&mut recipe, false);
        }
        recipe.pass(rows, 0);
        column_pass(&mut recipe, true);
    }
    Some(recipe)
}

/// The columns of a strip, and the rows of it that one block holds.
fn strip(
    d: &Decomposition,
    bytes: usize,
    on_chip: usize,
    limits: &Limits,
    options: &InPlaceOptions,
) -> Option<(usize, usize)> {
    let wanted = (STRIP_BYTES / bytes).clamp(1, d.cols);
    // Several blocks to a multiprocessor, if parts may be small.
    let tile = on_chip.min(limits.multiprocessor_shared / 2 - 1024);
    let blocks = if limits.side_by_side { limits.multiprocessors } else { 1 };
    let group = options.max_group.unwrap_or(blocks / 2).clamp(1, blocks);
    let mut strip = wanted;
    loop {
        for tile in [tile, on_chip] {
            let held = tile / (strip * bytes);
            if held >= strip {
                let part_rows = (held - (strip - 1)).min(d.rows);
                let parts = d.rows.div_ceil(part_rows);
                if parts <= group {
                    return Some((strip, d.rows.div_ceil(parts)));
                }
            }
        }
        if strip == 1 {
            return None;
        }
        strip /= 2;
    }
}
