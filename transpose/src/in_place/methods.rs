//! The methods by which matrices are transposed, and arrays of structures converted, in their own memory.

use super::layouts::Conversion;
use super::options::{InPlace, InPlaceOptions};
use super::plan::InPlacePlan;
use crate::{DeviceMatrix, Result};
use bytemuck::Pod;

impl<T: Pod> DeviceMatrix<T> {
    /// Transposes the matrix in its own memory: rows and columns change places.
    ///
    /// Elements may have any size. Extra device memory is taken for the time of the call: at most a
    /// thousandth of the matrix and 1 MiB (five thousandths, if even the shorter rows are too long for
    /// the chip; on chips that hold little, a bit for each element comes to the thousandth). [`InPlacePlan`] keeps it for many calls, and
    /// reports how much it is.
    ///
    /// # Errors
    /// [`Error::GapsInPlace`](crate::Error::GapsInPlace) for rows with gaps, unless the matrix is square;
    /// [`Error::NotServed`](crate::Error::NotServed) for squares with gaps of elements of which two do not fit on chip, and for 2³¹
    /// elements and more on sides that are both so long that the chip holds too few rows of them;
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what the device reports. After
    /// [`Error::Interrupted`](crate::Error::Interrupted) the contents are unspecified; after any other error they are as
    /// before.
    pub fn transpose_in_place(&mut self) -> Result<()> {
        self.transpose_in_place_with(InPlace::Auto)
    }

    /// Transposes the matrix in its own memory by the given algorithm.
    ///
    /// # Errors
    /// As [`transpose_in_place`](Self::transpose_in_place), and [`Error::NotServed`](crate::Error::NotServed) for a shape
    /// that the algorithm does not serve.
    pub fn transpose_in_place_with(&mut self, algorithm: InPlace) -> Result<()> {
        InPlacePlan::new(self, algorithm)?.run(self)
    }

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
    /// [`Error::TileWidth`](crate::Error::TileWidth) unless `width` divides the records, [`Error::GapsInPlace`](crate::Error::GapsInPlace),
    /// [`Error::NotServed`](crate::Error::NotServed) for a tile that does not fit on chip, and what the device reports.
    pub fn aos_to_asta(&mut self, width: usize) -> Result<()> {
        self.aos_to_asta_with(width, &InPlaceOptions::default())
    }

    /// Like [`aos_to_asta`](Self::aos_to_asta), by the kernel that the options name: this is the
    /// elementary transposition 010!.
    ///
    /// # Errors
    /// As [`aos_to_asta`](Self::aos_to_asta), and [`Error::NotServed`](crate::Error::NotServed) for options that ask for the feature `in_place_studies`.
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
    /// As [`aos_to_asta`](Self::aos_to_asta); [`Error::NotServed`](crate::Error::NotServed) for a width so small that
    /// the flags would take too much memory; [`Error::OutOfMemory`](crate::Error::OutOfMemory) and [`Error::Interrupted`](crate::Error::Interrupted) as
    /// [`transpose_in_place`](Self::transpose_in_place).
    pub fn soa_to_asta(&mut self, width: usize) -> Result<()> {
        self.soa_to_asta_with(width, &InPlaceOptions::default())
    }

    /// Like [`soa_to_asta`](Self::soa_to_asta), with super-elements carried as the options say.
    ///
    /// # Errors
    /// As [`soa_to_asta`](Self::soa_to_asta), and [`Error::NotServed`](crate::Error::NotServed) for options that ask for the feature `in_place_studies`.
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
