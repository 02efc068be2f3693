//! NumPy's `.npy` files as what a transpose needs: shape, element width, and bytes.
//!
//! Format: a header that `npyz` parses, then the elements. In C order row follows row; in Fortran
//! order column follows column, which is the same as the rows of the transpose.

use anyhow::{Context, Result, bail, ensure};
use npyz::{NpyHeader, Order};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

/// A two-dimensional array whose elements are opaque.
pub struct Array {
    /// Rows of the array.
    pub rows: usize,
    /// Columns of the array.
    pub cols: usize,
    /// Whether column follows column in `bytes`.
    pub fortran: bool,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// NumPy's description of the element, byte order included.
    pub descr: String,
    /// The elements, `rows * cols * element_bytes` bytes.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, is not `.npy`, is not two-dimensional, holds Python objects,
    /// or does not have as many bytes as its header says.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(path).with_context(|| path.display().to_string())
    }

    fn parse(path: &Path) -> Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let header = NpyHeader::from_reader(&mut file).context("not a .npy file")?;
        let dtype = header.dtype();
        ensure!(!dtype.uses_pickled_array(), "elements are Python objects, which have no bytes");
        let &[rows, cols] = header.shape() else {
            bail!("{} dimensions {:?}; two are needed", header.shape().len(), header.shape());
        };
        let element_bytes = dtype.num_bytes().context("elements of no fixed size")?;
        let (rows, cols) = (usize::try_from(rows)?, usize::try_from(cols)?);
        let size = rows
            .checked_mul(cols)
            .and_then(|elements| elements.checked_mul(element_bytes))
            .filter(|&size| size <= isize::MAX as usize)
            .with_context(|| format!("{rows} × {cols} × {element_bytes} bytes are too many"))?;
        // Not `with_capacity(size)`: the header of a damaged file may claim any size.
        let mut bytes = Vec::new();
        file.take(size as u64).read_to_end(&mut bytes)?;
        let (found, descr) = (bytes.len(), dtype.descr());
        ensure!(
            found == size,
            "truncated: {rows} × {cols} {descr} are {size} bytes, found {found}"
        );
        let fortran = header.order() == Order::Fortran;
        Ok(Array { rows, cols, fortran, element_bytes, descr, bytes })
    }

    /// Writes the array. The file appears whole under its name or not at all.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.write_beside(path).with_context(|| path.display().to_string())
    }

    fn write_beside(&self, path: &Path) -> Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = builder().tempfile_in(folder)?;
        let mut writer = BufWriter::new(file.as_file_mut());
        writer.write_all(&self.header())?;
        writer.write_all(&self.bytes)?;
        writer.flush()?;
        drop(writer);
        file.persist(path)?;
        Ok(())
    }

    /// The header: magic, version, length, and a Python dictionary padded to 64 bytes.
    fn header(&self) -> Vec<u8> {
        let fortran = if self.fortran { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': {}, 'fortran_order': {fortran}, 'shape': ({}, {}), }}",
            self.descr, self.rows, self.cols
        );
        // Version 2 has a four-byte length and, with version 3, allows UTF-8 in field names.
        let version: u8 = if text.is_ascii() { 2 } else { 3 };
        let preamble = b"\x93NUMPY".len() + 2 + 4;
        let padded = (preamble + text.len() + 1).next_multiple_of(64) - preamble;
        text.extend(std::iter::repeat_n(' ', padded - 1 - text.len()));
        text.push('\n');
        let mut header = b"\x93NUMPY".to_vec();
        header.extend([version, 0]);
        header.extend((text.len() as u32).to_le_bytes());
        header.extend(text.into_bytes());
        header
    }
}

/// Temporary files are private by default; this one becomes the result, so it gets the
/// permissions of any new file.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}
