//! What elements are read from and written to: files, from some byte on, and what else has bytes at places.

use std::io;
use std::path::Path;

/// What elements are read from, at any place and by several threads at once.
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
