//! The staged transpositions of Sung et al. (PPoPP 2014), section 4.
//!
//! With `M = M' · m` and `N = N' · n`, `(M', m, N', n)` becomes `(N', n, M', m)`:
//!
//! ```text
//! 3 stages   (M, N', n)      → (N', M, n)        100!    super-elements of n
//!            (N', M', m, n)  → (N', M', n, m)    0010!   each tile transposed
//!            (N', M', n, m)  → (N', n, M', m)    0100!   super-elements of m
//! 4 stages   (M', m, N', n)  → (M', N', m, n)    0100!   super-elements of n
//!            (M', N', m, n)  → (M', N', n, m)    0010!   each tile transposed
//!            (M', N', n·m)   → (N', M', n·m)     1000!   whole tiles
//!            (N', M', n, m)  → (N', n, M', m)    0100!   super-elements of m
//! ```
//!
//! The four stages are those of Gustavson, Karlsson and Kågström; their second and third can be one
//! that moves a tile and transposes it.

use super::launches::{self, Panels, Slots};
use super::options::InPlaceOptions;
use super::recipe::Recipe;
use super::shape::Shape;
use super::tiles;
use crate::facts::Facts;

/// How many stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stages {
    Three,
    Four,
    FourFused,
}

/// The tile's rows and columns: what the options say, or the heuristic.
pub(super) fn tile(
    stages: Stages,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Option<(usize, usize)> {
    let Shape { rows, cols, .. } = *shape;
    if let Some((m, n)) = options.tile {
        return (m > 0
            && n > 0
            && rows % m == 0
            && cols % n == 0
            && fits(stages, (m, n), shape, facts, options))
        .then_some((m, n));
    }
    candidates(stages, shape, facts, options).into_iter().next()
}

/// All tiles that the stages can be run with, best first by the heuristic.
pub(super) fn candidates(
    stages: Stages,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Vec<(usize, usize)> {
    let elements = facts.block_shared / shape.element_bytes();
    let mut candidates = tiles::candidates(shape.rows, shape.cols, elements);
    candidates.retain(|&tile| fits(stages, tile, shape, facts, options));
    candidates
}

fn fits(
    stages: Stages,
    (m, n): (usize, usize),
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> bool {
    let shared = match (stages, options.flags) {
        // Only whole tiles are moved as tuples.
        (Stages::FourFused, _) | (_, Some(_)) if shape.tuple != 1 => return false,
        (Stages::FourFused, _) => launches::fused_shared_bytes(m, n, shape.width),
        (_, Some((spread, _))) if !spread.is_power_of_two() || spread > 32 => return false,
        (_, Some((spread, _))) => m.saturating_mul(n).saturating_mul(spread) / 31 * 4 + 8,
        (_, None) => whole_tiles(m, n, 1, shape).shared_bytes(shape.width),
    };
    shared <= facts.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX))
}

/// Whether a tile can be transposed by one block.
pub(super) fn tile_fits(
    tile: (usize, usize),
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> bool {
    fits(Stages::Three, tile, shape, facts, options)
}

/// Tiles of consecutive memory, each held by one block.
fn whole_tiles(rows: usize, cols: usize, count: usize, shape: &Shape) -> Panels {
    Panels {
        length: rows,
        width: cols,
        panels: count,
        gap: 0,
        to_rows: false,
        tile_length: rows,
        tile_width: cols,
        threads: 512,
        tuple: shape.tuple,
    }
}

/// Transposes `count` tiles of consecutive memory: 0010!, by barriers or by flags.
pub(super) fn transpose_tiles(
    recipe: &mut Recipe,
    (rows, cols): (usize, usize),
    count: usize,
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) {
    let launch = match options.flags {
        Some((spread, padding)) => {
            launches::flags(count, rows, cols, spread, padding, shape.width, facts)
        }
        None => whole_tiles(rows, cols, count, shape).launch(shape.width),
    };
    recipe.pass(launch, 0);
}

/// Transposes `instances` matrices of `rows × cols` super-elements of `length` elements, or says why it cannot be done.
pub(super) fn permute(
    recipe: &mut Recipe,
    (rows, cols, length, instances): (usize, usize, usize, usize),
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Result<(), &'static str> {
    // One row or one column of super-elements stays as it is.
    if rows > 1 && cols > 1 {
        let slots = Slots::dense(rows, cols, length, instances);
        if let Some(reason) = slots.refusal(shape.element_bytes(), facts, options) {
            return Err(reason);
        }
        let (launch, flags) = slots.launch(shape.element_bytes(), facts, options);
        recipe.pass(launch, flags);
    }
    Ok(())
}

/// The steps with a tile of `m × n`, or why there are none.
pub(super) fn recipe(
    stages: Stages,
    (m, n): (usize, usize),
    shape: &Shape,
    facts: &Facts,
    options: &InPlaceOptions,
) -> Result<Recipe, &'static str> {
    let Shape { rows, cols, .. } = *shape;
    let (tile_rows, tile_cols) = (rows / m, cols / n);
    let mut recipe = Recipe { tile: Some((m, n)), ..Recipe::default() };
    let permute = |recipe: &mut Recipe, rows, cols, length, instances| {
        permute(recipe, (rows, cols, length, instances), shape, facts, options)
    };
    match stages {
        Stages::Three => permute(&mut recipe, rows, tile_cols, n, 1)?,
        Stages::Four | Stages::FourFused => permute(&mut recipe, m, tile_cols, n, tile_rows)?,
    }
    match stages {
        Stages::FourFused => {
            let (launch, flags) =
                launches::fused((tile_rows, tile_cols), (m, n), shape.width, facts);
            recipe.pass(launch, flags);
        }
        Stages::Three | Stages::Four => {
            if m > 1 && n > 1 {
                transpose_tiles(&mut recipe, (m, n), tile_rows * tile_cols, shape, facts, options);
            }
        }
    }
    if stages == Stages::Four {
        permute(&mut recipe, tile_rows, tile_cols, m * n, 1)?;
    }
    permute(&mut recipe, tile_rows, n, m, tile_cols)?;
    Ok(recipe)
}
