//! What elements are read from and written to: files, from some byte on, and what else has bytes at places.

use std::io;
use std::path::Path;

/// What elements are read from, at any place and by several threads at once: files, and bytes in memory.
///
/// ```
/// use transpose::TensorLayout;
/// use transpose::host::files::{FileFrom, Through, move_between};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cols.bin");
/// let rows = vec![1u8, 2, 3, 4, 5, 6];
/// let file = std::fs::File::create(&path)?;
/// let dst = FileFrom { file: &file, path: &path, start: 0 };
/// let from = TensorLayout::contiguous(&[2, 3], 1)?.t(); // as 3 × 2
/// let to = TensorLayout::contiguous(&[3, 2], 1)?;
/// move_between::<u8>((&rows, &from), (&dst, &to), Through::Cpu, 1 << 20, &|_progress| ())?;
/// assert_eq!(std::fs::read(&path)?, [1, 4, 2, 5, 3, 6]);
/// let part: &[u8] = &rows[3..]; // of a slice, as a reference to the reference
/// let [from, to] = [from.slice(1, ..1, 1)?, to.slice(1, ..1, 1)?];
/// move_between::<u8>((&part, &from), (&dst, &to), Through::Cpu, 1 << 20, &|_progress| ())?;
/// assert_eq!(std::fs::read(&path)?, [4, 4, 5, 5, 6, 6]);
/// # Ok(())
/// # }
/// ```
pub trait ReadAt: Sync {
    /// Reads all of `bytes` from `at` bytes on.
    ///
    /// # Errors
    /// What the system reports, and an end before.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// What errors call it; `None` if it has no path.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// What elements are written to, at any place and by several threads at once.
pub trait WriteAt: Sync {
    /// Writes all of `bytes` from `at` bytes on.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// What errors call it; `None` if it has no path.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// A file from some byte on.
///
/// A file to write to must not be one that was opened to append: Linux puts at its end whatever is written, wherever that belongs, and reports
/// nothing.
#[cfg(unix)]
#[derive(Debug)]
pub struct FileFrom<'a> {
    /// The file.
    pub file: &'a std::fs::File,
    /// What errors call it: where it is, or will be.
    pub path: &'a Path,
    /// Where the elements start, in bytes.
    pub start: u64,
}

#[cfg(unix)]
impl FileFrom<'_> {
    /// Where a byte of the elements is in the file.
    fn place(&self, at: u64) -> io::Result<u64> {
        self.start.checked_add(at).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(unix)]
impl ReadAt for FileFrom<'_> {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self.file, bytes, self.place(at)?)
    }

    fn path(&self) -> Option<&Path> {
        Some(self.path)
    }
}

#[cfg(unix)]
impl WriteAt for FileFrom<'_> {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.file, bytes, self.place(at)?)
    }

    fn path(&self) -> Option<&Path> {
        Some(self.path)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes.len());
        let there = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(there);
        Ok(())
    }
}

impl ReadAt for &[u8] {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        <[u8]>::read_at(self, bytes, at)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        <[u8]>::read_at(self, bytes, at)
    }
}
