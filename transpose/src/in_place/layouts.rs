//! Conversions between layouts of an array of structures, by name.
//!
//! `records` structures of `fields` equally wide fields are, in memory,
//!
//! - AoS: `records × fields`, structure after structure;
//! - SoA: `fields × records`, all values of a field after those of the field before;
//! - ASTA: `(records / width) × fields × width`, SoA in tiles of `width` records: a matrix of
//!   `(records / width · fields) × width` here.
//!
//! The names and the elementary transpositions between them are those of Sung et al. (2012, 2014).

use super::launches::Slots;
use super::options::InPlaceOptions;
use super::recipe::Recipe;
use super::shape::{Shape, scratch_limit};
use super::{stages, studies};
use crate::facts::{Facts, GRID_LIMIT};
use crate::layout::Layout;
use crate::{Error, Result};

/// One layout into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    /// 010!
    AosToAsta { width: usize },
    /// 010!
    AstaToAos { fields: usize },
    /// 100!
    SoaToAsta { width: usize },
    /// 100!
    AstaToSoa { fields: usize },
}

/// The tiles of `width` that `count` of something make.
fn tiles(count: usize, width: usize, what: &'static str) -> Result<usize> {
    if width == 0 || !count.is_multiple_of(width) {
        return Err(Error::TileWidth { count, what, width });
    }
    Ok(count / width)
}

impl Conversion {
    /// The elementary transposition that it is.
    fn name(self) -> &'static str {
        match self {
            Conversion::AosToAsta { .. } | Conversion::AstaToAos { .. } => "010!",
            Conversion::SoaToAsta { .. } | Conversion::AstaToSoa { .. } => "100!",
        }
    }

    /// The layout afterwards, and the steps.
    pub fn recipe(
        self,
        shape: &Shape,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> Result<(Layout, Recipe)> {
        if let Some(reason) = studies::conversion_refusal(options) {
            return Err(not_served(self.name(), shape, reason));
        }
        let Shape { rows, cols, .. } = *shape;
        let mut recipe = Recipe::default();
        let result = match self {
            Conversion::AosToAsta { width } => {
                let count = tiles(rows, width, "records")?;
                Self::tiled(&mut recipe, (width, cols), count, shape, facts, options)?;
                (count * cols, width)
            }
            Conversion::AstaToAos { fields } => {
                let count = tiles(rows, fields, "rows of tiles")?;
                Self::tiled(&mut recipe, (fields, cols), count, shape, facts, options)?;
                (count * cols, fields)
            }
            Conversion::SoaToAsta { width } => {
                let count = tiles(cols, width, "records")?;
                let slots = Slots::dense(rows, count, width, 1);
                Self::moved(&mut recipe, slots, shape, facts, options)?;
                (count * rows, width)
            }
            Conversion::AstaToSoa { fields } => {
                let count = tiles(rows, fields, "rows of tiles")?;
                let slots = Slots::dense(count, fields, cols, 1);
                Self::moved(&mut recipe, slots, shape, facts, options)?;
                (fields, count * cols)
            }
        };
        let (rows, cols) = result;
        Ok((Layout { rows, cols, ld: cols }, recipe))
    }

    fn tiled(
        recipe: &mut Recipe,
        (rows, cols): (usize, usize),
        count: usize,
        shape: &Shape,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> Result<()> {
        if rows <= 1 || cols <= 1 || count == 0 || shape.tuple == 0 {
            return Ok(());
        }
        if !stages::tile_fits((rows, cols), shape, facts, options) {
            return Err(not_served("010!", shape, "a tile is larger than fits on chip"));
        }
        // Each is a block's.
        if count > GRID_LIMIT[0] {
            return Err(not_served("010!", shape, "there are more tiles than a grid has blocks"));
        }
        stages::transpose_tiles(recipe, (rows, cols), count, shape, facts, options);
        Ok(())
    }

    fn moved(
        recipe: &mut Recipe,
        slots: Slots,
        shape: &Shape,
        facts: &Facts,
        options: &InPlaceOptions,
    ) -> Result<()> {
        if slots.rows <= 1 || slots.cols <= 1 || slots.length == 0 || shape.tuple == 0 {
            return Ok(());
        }
        if let Some(reason) = slots.refusal(shape.element_bytes(), facts, options) {
            return Err(not_served("100!", shape, reason));
        }
        let (launch, flags) = slots.launch(shape.element_bytes(), facts, options);
        if flags > scratch_limit(shape) {
            return Err(not_served("100!", shape, "tiles so narrow need too many flags"));
        }
        recipe.pass(launch, flags);
        Ok(())
    }
}

fn not_served(algorithm: &'static str, shape: &Shape, reason: &'static str) -> Error {
    let Shape { rows, cols, .. } = *shape;
    Error::NotServed { algorithm, rows, cols, element_bytes: shape.element_bytes(), reason }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use kernel_abi::Width;

    #[test]
    fn no_more_tiles_than_a_grid_has_blocks() {
        let tiles = |count: usize| {
            let shape = Shape { rows: 2 * count, cols: 2, ld: 2, width: Width::B1, tuple: 1 };
            let conversion = Conversion::AosToAsta { width: 2 };
            conversion.recipe(&shape, &Facts::h200(), &InPlaceOptions::default())
        };
        assert!(tiles(GRID_LIMIT[0]).is_ok());
        for count in [GRID_LIMIT[0] + 1, (1 << 32) + 5] {
            assert!(matches!(tiles(count), Err(Error::NotServed { .. })), "{count}");
        }
    }
}
