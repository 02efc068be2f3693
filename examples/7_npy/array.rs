//! NumPy's `.npy` files as what a permutation of axes needs: a header and bytes.

use crate::header::Header;
use anyhow::{Result, ensure};
use std::io::Read;

/// An array whose elements are opaque.
pub struct Array {
    /// What the elements are, and how they lie.
    pub header: Header,
    /// The elements: in C order with the last axis the fastest, in Fortran order with the first.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Reads the elements that follow a header, and nothing behind them.
    ///
    /// # Errors
    /// What cannot be read, or has fewer bytes than the header says.
    pub fn read(header: Header, reader: impl Read) -> Result<Self> {
        let (shape, element_bytes, size) = (&header.shape, header.element_bytes, header.bytes()?);
        // Not `with_capacity(size)`: the header of a damaged file may claim any size.
        let mut bytes = Vec::new();
        reader.take(size as u64).read_to_end(&mut bytes)?;
        let found = bytes.len();
        ensure!(
            found == size,
            "truncated: {shape:?} of {element_bytes} bytes are {size} bytes, found {found}"
        );
        Ok(Array { header, bytes })
    }

    /// The lengths of the axes as they lie in `bytes`, the fastest last.
    pub fn memory_shape(&self) -> Vec<usize> {
        let mut shape = self.header.shape.clone();
        if self.header.fortran {
            shape.reverse();
        }
        shape
    }

    /// Which of those an axis of the array is.
    pub fn memory_axis(&self, axis: usize) -> usize {
        if self.header.fortran { self.header.shape.len() - 1 - axis } else { axis }
    }
}
