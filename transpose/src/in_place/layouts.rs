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
use super::plan::{InPlacePlan, Shape, scratch_limit};
use super::recipe::Recipe;
use super::{InPlaceOptions, stages};
use crate::facts::Facts;
use crate::layout::Layout;
use crate::{DeviceMatrix, Error, Result};
use bytemuck::Pod;

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
    /// The layout afterwards, and the steps.
    pub fn recipe(
        self,
        shape: &Shape,
        limits: &Facts,
        options: &InPlaceOptions,
    ) -> Result<(Layout, Recipe)> {
        let Shape { rows, cols, .. } = *shape;
        let mut recipe = Recipe::default();
        let result = match self {
            Conversion::AosToAsta { width } => {
                let count = tiles(rows, width, "records")?;
                Self::tiled(&mut recipe, (width, cols), count, shape, limits, options)?;
                (count * cols, width)
            }
            Conversion::AstaToAos { fields } => {
                let count = tiles(rows, fields, "rows of tiles")?;
                Self::tiled(&mut recipe, (fields, cols), count, shape, limits, options)?;
                (count * cols, fields)
            }
            Conversion::SoaToAsta { width } => {
                let count = tiles(cols, width, "records")?;
                let slots = Slots::dense(rows, count, width, 1);
                Self::moved(&mut recipe, slots, shape, limits, options)?;
                (count * rows, width)
            }
            Conversion::AstaToSoa { fields } => {
                let count = tiles(rows, fields, "rows of tiles")?;
                let slots = Slots::dense(count, fields, cols, 1);
                Self::moved(&mut recipe, slots, shape, limits, options)?;
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
        limits: &Facts,
        options: &InPlaceOptions,
    ) -> Result<()> {
        if rows <= 1 || cols <= 1 || count == 0 || shape.tuple == 0 {
            return Ok(());
        }
        if !stages::tile_fits((rows, cols), shape, limits, options) {
            return Err(not_served("010!", shape, "a tile is larger than fits on chip"));
        }
        stages::transpose_tiles(recipe, (rows, cols), count, shape, limits, options);
        Ok(())
    }

    fn moved(
        recipe: &mut Recipe,
        slots: Slots,
        shape: &Shape,
        limits: &Facts,
        options: &InPlaceOptions,
    ) -> Result<()> {
        if slots.rows <= 1 || slots.cols <= 1 || slots.length == 0 || shape.tuple == 0 {
            return Ok(());
        }
        if !slots.countable() {
            return Err(not_served("100!", shape, "there are 2³¹ super-elements or more"));
        }
        let (launch, flags) = slots.launch(shape.element_bytes(), limits, options);
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

impl<T: Pod> DeviceMatrix<T> {
    /// Turns an array of structures, `records × fields`, into a structure of arrays,
    /// `fields × records`, in its own memory.
    ///
    /// # Errors
    /// As [`transpose_in_place`](Self::transpose_in_place).
    pub fn aos_to_soa(&mut self) -> Result<()> {
        self.transpose_in_place()
    }

    /// Turns a structure of arrays, `fields × records`, into an array of structures,
    /// `records × fields`, in its own memory.
    ///
    /// # Errors
    /// As [`transpose_in_place`](Self::transpose_in_place).
    pub fn soa_to_aos(&mut self) -> Result<()> {
        self.transpose_in_place()
    }

    /// Turns an array of structures, `records × fields`, into an array of structures of tiled
    /// arrays, `(records / width · fields) × width`, in its own memory.
    ///
    /// # Errors
    /// [`Error::TileWidth`] unless `width` divides the records, [`Error::GapsInPlace`],
    /// [`Error::NotServed`] for a tile that does not fit on chip, and what the device reports.
    pub fn aos_to_asta(&mut self, width: usize) -> Result<()> {
        self.aos_to_asta_with(width, &InPlaceOptions::default())
    }

    /// Like [`aos_to_asta`](Self::aos_to_asta), by the kernel that the options name: this is the
    /// elementary transposition 010!.
    ///
    /// # Errors
    /// As [`aos_to_asta`](Self::aos_to_asta).
    pub fn aos_to_asta_with(&mut self, width: usize, options: &InPlaceOptions) -> Result<()> {
        InPlacePlan::converting(self, Conversion::AosToAsta { width }, options)?.run(self)
    }

    /// Turns tiles of `fields × ncols` back into an array of structures, `records × fields`, in
    /// their own memory.
    ///
    /// # Errors
    /// As [`aos_to_asta`](Self::aos_to_asta); `fields` must divide the rows.
    pub fn asta_to_aos(&mut self, fields: usize) -> Result<()> {
        let conversion = Conversion::AstaToAos { fields };
        InPlacePlan::converting(self, conversion, &InPlaceOptions::default())?.run(self)
    }

    /// Turns a structure of arrays, `fields × records`, into tiles of `fields × width`, a matrix
    /// of `(records / width · fields) × width`, in its own memory: the elementary
    /// transposition 100!.
    ///
    /// # Errors
    /// As [`aos_to_asta`](Self::aos_to_asta); [`Error::NotServed`] for a width so small that
    /// the flags would take too much memory.
    pub fn soa_to_asta(&mut self, width: usize) -> Result<()> {
        self.soa_to_asta_with(width, &InPlaceOptions::default())
    }

    /// Like [`soa_to_asta`](Self::soa_to_asta), with super-elements carried as the options say.
    ///
    /// # Errors
    /// As [`soa_to_asta`](Self::soa_to_asta).
    pub fn soa_to_asta_with(&mut self, width: usize, options: &InPlaceOptions) -> Result<()> {
        InPlacePlan::converting(self, Conversion::SoaToAsta { width }, options)?.run(self)
    }

    /// Turns tiles of `fields × ncols` into a structure of arrays, `fields × records`, in their own
    /// memory: the elementary transposition 100!.
    ///
    /// # Errors
    /// As [`soa_to_asta`](Self::soa_to_asta); `fields` must divide the rows.
    pub fn asta_to_soa(&mut self, fields: usize) -> Result<()> {
        let conversion = Conversion::AstaToSoa { fields };
        InPlacePlan::converting(self, conversion, &InPlaceOptions::default())?.run(self)
    }
}
