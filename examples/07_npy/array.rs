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
        let size = header.bytes()?;
        // Not `with_capacity(size)`: the header of a damaged file may claim any size.
        let mut bytes = Vec::new();
        reader.take(size as u64).read_to_end(&mut bytes)?;
        require(&header, bytes.len() as u64)?;
        Ok(Array { header, bytes })
    }
}

/// Refuses fewer bytes of elements than there are by the header.
///
/// # Errors
/// Fewer bytes.
pub fn require(header: &Header, found: u64) -> Result<()> {
    let (shape, element_bytes, size) = (&header.shape, header.element_bytes, header.bytes()?);
    ensure!(
        found >= size as u64,
        "truncated: {shape:?} of {element_bytes} bytes are {size} bytes, found {found}"
    );
    Ok(())
}
