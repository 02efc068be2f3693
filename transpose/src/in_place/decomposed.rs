//! Launching the C2R/R2C decomposition: rows and strips of columns, each held on chip.
//!
//! See `decomposition` for the arithmetic. A tall matrix is decomposed as it is, by C2R; a wide one
//! by R2C of the transposed shape, so that the rows that are shuffled have the shorter length.
//! Three passes, or two if the sides have no common divisor. Rows that are too long for a block are
//! shuffled into scratch memory, as many at a time as it has room for, and copied back.

use super::decomposition::Decomposition;
use super::launches::{self, Columns};
use super::options::InPlaceOptions;
use super::recipe::{Recipe, Step};
use super::shape::Shape;
use crate::facts::Facts;
use kernel_abi::in_place::DECOMPOSED_SIDE;

/// Bytes of a strip's row: whole sectors, so that nothing is moved in vain.
const STRIP_BYTES: usize = 64;

/// Bytes of rows that one block holds, if they are short.
const ROW_BYTES: usize = 48 << 10;

/// The most rows of a grid.
const GRID_ROWS: usize = 65_535;

/// The most scratch memory that staged rows may take: five thousandths of the matrix, and 1 MiB.
fn staging_limit(shape: &Shape) -> usize {
    shape.rows * shape.cols * shape.element_bytes() / 200 + (1 << 20)
}

/// The steps, or `None` if strips are longer than the chip can hold, as all are whose length the kernels do not count to.
pub(super) fn recipe(shape: &Shape, facts: &Facts, options: &InPlaceOptions) -> Option<Recipe> {
    let bytes = shape.element_bytes();
    let on_chip = facts.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX));
    let backwards = shape.rows < shape.cols;
    let (long, short) = (shape.rows.max(shape.cols), shape.rows.min(shape.cols));
    if long as u64 >= DECOMPOSED_SIDE {
        return None;
    }
    let d = Decomposition::new(long, short);
    let (strip, part_rows) = strip(&d, bytes, on_chip, facts, options)?;
    let columns = |shuffle| Columns { shuffle, backwards, strip, part_rows };

    let mut recipe = Recipe { tile: Some((part_rows, strip)), ..Recipe::default() };
    let column_pass = |recipe: &mut Recipe, shuffle| {
        let columns = columns(shuffle);
        let launch = columns.launch(&d, shape.width);
        recipe.pass_together(launch, d.rows.div_ceil(part_rows), columns.counter_bytes(&d));
    };
    let row_pass = |recipe: &mut Recipe| {
        if options.stage_rows || d.cols * bytes > on_chip {
            return stage_rows(recipe, &d, backwards, shape);
        }
        let block_rows = (ROW_BYTES.min(on_chip) / (d.cols * bytes)).clamp(1, d.rows);
        recipe.pass(launches::shuffle_rows(&d, block_rows, backwards, shape.width), 0);
        Some(())
    };
    if backwards {
        column_pass(&mut recipe, true);
        row_pass(&mut recipe)?;
        if d.common > 1 {
            column_pass(&mut recipe, false);
        }
    } else {
        if d.common > 1 {
            column_pass(&mut recipe, false);
        }
        row_pass(&mut recipe)?;
        column_pass(&mut recipe, true);
    }
    Some(recipe)
}

/// The shuffle of rows that are too long for the chip. `None` if they are too long for the scratch
/// memory too, which takes less than 200 rows, and that in rows longer than columns.
fn stage_rows(
    recipe: &mut Recipe,
    d: &Decomposition,
    backwards: bool,
    shape: &Shape,
) -> Option<()> {
    let row_bytes = d.cols * shape.element_bytes();
    let at_a_time = (staging_limit(shape) / row_bytes).min(d.rows).min(GRID_ROWS);
    if at_a_time == 0 {
        return None;
    }
    for first in (0..d.rows).step_by(at_a_time) {
        let count = at_a_time.min(d.rows - first);
        let launch = launches::stage_rows(d, (first, count), backwards, shape.width);
        recipe.steps.push(Step::Launch(launch));
        let (matrix, bytes) = (first * row_bytes, count * row_bytes);
        recipe.steps.push(Step::Restore { scratch: 0, matrix, bytes });
    }
    recipe.scratch = recipe.scratch.max(at_a_time * row_bytes);
    // Through the scratch memory: twice.
    recipe.passes += 2;
    Some(())
}

/// The columns of a strip, and the rows of it that one block holds.
fn strip(
    d: &Decomposition,
    bytes: usize,
    on_chip: usize,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Option<(usize, usize)> {
    let wanted = (STRIP_BYTES / bytes).clamp(1, d.cols);
    // Several blocks to a multiprocessor, if parts may be small.
    let tile = on_chip.min(facts.multiprocessor_shared / 2 - 1024);
    let blocks = if facts.side_by_side { facts.multiprocessors } else { 1 };
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
