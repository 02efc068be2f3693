//! The three stages of Sung et al. for who runs the last two of them part by part, each in a stream of its own.
//!
//! With N = N'·n the first stage brings the elements of n columns together: N' strips, one behind the other, each an M × n matrix. The
//! second and the third transpose each strip in its own memory, so strips may be done side by side (section 6 of the paper).

use super::options::InPlaceOptions;
use super::recipe::Recipe;
use super::shape::Shape;
use super::stages::{self, Stages};
use crate::device::{Buffer, Device};
use crate::layout::Layout;
use crate::{Error, Facts, Result};

/// A matrix that is transposed in three stages.
#[derive(Clone, Debug)]
pub(crate) struct ThreeStages {
    shape: Shape,
    /// Rows and columns of a tile.
    tile: (usize, usize),
    facts: Facts,
}

/// Some of the work: what it needs beside the memory that it is for.
#[derive(Clone, Debug)]
pub(crate) struct Part(Recipe);

impl ThreeStages {
    /// For a matrix without gaps of elements of type `T`.
    ///
    /// # Errors
    /// [`Error::NotServed`] for sides without useful divisors.
    pub fn new<T>(layout: Layout, facts: &Facts) -> Result<Self> {
        let (shape, options) = (Shape::of_layout::<T>(layout), InPlaceOptions::default());
        let Shape { rows, cols, .. } = shape;
        let refused = |reason| Error::NotServed {
            algorithm: "three-stage",
            rows,
            cols,
            element_bytes: shape.element_bytes(),
            reason,
        };
        if rows.checked_mul(cols).is_none_or(|elements| elements >= 1 << 31) {
            return Err(refused("its super-elements may be too many to count in 31 bits"));
        }
        let tile = stages::tile(Stages::Three, &shape, facts, &options)
            .ok_or_else(|| refused("no tile divides it and fits on chip"))?;
        let stages = ThreeStages { shape, tile, facts: facts.clone() };
        // Both parts can be had, or neither is.
        stages.first().and_then(|_| stages.strips(1)).map_err(refused)?;
        Ok(stages)
    }

    /// How many strips there are.
    pub fn count(&self) -> usize {
        self.shape.cols / self.tile.1
    }

    /// Elements of a strip.
    pub fn strip(&self) -> usize {
        self.shape.rows * self.tile.1
    }

    /// The first stage, of the whole matrix.
    fn first(&self) -> Result<Recipe, &'static str> {
        let mut recipe = Recipe::default();
        let (rows, strips) = (self.shape.rows, self.count());
        let slots = (rows, strips, self.tile.1, 1);
        stages::permute(&mut recipe, slots, &self.shape, &self.facts, &InPlaceOptions::default())?;
        Ok(recipe)
    }

    /// The second stage and the third, of so many strips.
    fn strips(&self, count: usize) -> Result<Recipe, &'static str> {
        let (mut recipe, options) = (Recipe::default(), InPlaceOptions::default());
        let ((m, n), tile_rows) = (self.tile, self.shape.rows / self.tile.0);
        let tiles = tile_rows * count;
        if m > 1 && n > 1 {
            let (shape, facts) = (&self.shape, &self.facts);
            stages::transpose_tiles(&mut recipe, self.tile, tiles, shape, facts, &options);
        }
        let slots = (tile_rows, n, m, count);
        stages::permute(&mut recipe, slots, &self.shape, &self.facts, &options)?;
        Ok(recipe)
    }

    /// The part that is done with the whole matrix.
    pub fn whole_part(&self) -> Result<Part> {
        Ok(Part(self.first().map_err(|reason| self.refused(reason))?))
    }

    /// The part that is done with so many strips.
    pub fn strips_part(&self, count: usize) -> Result<Part> {
        Ok(Part(self.strips(count).map_err(|reason| self.refused(reason))?))
    }

    fn refused(&self, reason: &'static str) -> Error {
        let Shape { rows, cols, .. } = self.shape;
        let element_bytes = self.shape.element_bytes();
        Error::NotServed { algorithm: "three-stage", rows, cols, element_bytes, reason }
    }
}

impl Part {
    /// Bytes of scratch memory.
    pub fn scratch(&self) -> usize {
        self.0.scratch
    }

    /// Queues the part's work on memory at an address.
    ///
    /// # Safety
    /// As many elements as the part is for lie at `address` in live memory of the device, and as many bytes of scratch memory at
    /// `scratch`; all that uses them is in order with the queue.
    pub unsafe fn run(
        &self,
        device: &Device,
        address: u64,
        bytes: usize,
        scratch: u64,
    ) -> Result<()> {
        // Others give both back.
        let matrix = Buffer::of_others(device, address, bytes, |_| ());
        let scratch = Buffer::of_others(device, scratch, self.scratch(), |_| ());
        self.0.run(device, &matrix, Some(&scratch))
    }
}
