//! NumPy's `.npy` files as what a permutation of axes needs: shape, element width, and bytes.
//!
//! Format: a header that `npyz` parses, then the elements: in C order with the last axis the fastest, in Fortran order with the first.

use anyhow::{Context, Result, ensure};
use npyz::{NpyHeader, Order};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

/// An array whose elements are opaque.
pub struct Array {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// Whether the first axis is the fastest in `bytes`, not the last.
    pub fortran: bool,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// NumPy's description of the element, byte order included.
    pub descr: String,
    /// The elements, as many times `element_bytes` bytes as the lengths of the axes multiply to.
    pub bytes: Vec<u8>,
}

impl Array {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, is not `.npy`, holds Python objects, or does not have as many bytes as its header says.
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(path).with_context(|| path.display().to_string())
    }

    fn parse(path: &Path) -> Result<Self> {
        let mut file = BufReader::new(File::open(path)?);
        let header = NpyHeader::from_reader(&mut file).context("not a .npy file")?;
        let dtype = header.dtype();
        ensure!(!dtype.uses_pickled_array(), "elements are Python objects, which have no bytes");
        let element_bytes = dtype.num_bytes().context("elements of no fixed size")?;
        let shape: Vec<usize> = header
            .shape()
            .iter()
            .map(|&length| usize::try_from(length))
            .collect::<Result<_, _>>()?;
        let size = shape
            .iter()
            .try_fold(element_bytes, |size, &length| size.checked_mul(length))
            .filter(|&size| size <= isize::MAX as usize)
            .with_context(|| format!("{shape:?} × {element_bytes} bytes are too many"))?;
        // Not `with_capacity(size)`: the header of a damaged file may claim any size.
        let mut bytes = Vec::new();
        file.take(size as u64).read_to_end(&mut bytes)?;
        let (found, descr) = (bytes.len(), dtype.descr());
        ensure!(found == size, "truncated: {shape:?} of {descr} are {size} bytes, found {found}");
        let fortran = header.order() == Order::Fortran;
        Ok(Array { shape, fortran, element_bytes, descr, bytes })
    }

    /// The lengths of the axes as they lie in `bytes`, the fastest last.
    pub fn memory_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if self.fortran {
            shape.reverse();
        }
        shape
    }

    /// Which of those an axis of the array is.
    pub fn memory_axis(&self, axis: usize) -> usize {
        if self.fortran { self.shape.len() - 1 - axis } else { axis }
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
        // A Python tuple: a comma behind every length, which one alone needs.
        let shape: String = self.shape.iter().map(|length| format!("{length}, ")).collect();
        let mut text = format!(
            "{{'descr': {}, 'fortran_order': {fortran}, 'shape': ({}), }}",
            self.descr,
            shape.trim_end()
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
