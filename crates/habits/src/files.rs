//! Results in files.

use crate::output::is_stdout;
use crate::program::Common;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file of CSV that grows by a record at a time: a program that is cut off leaves what it had found.
pub struct Csv {
    path: PathBuf,
    writer: csv::Writer<Box<dyn Write>>,
}

impl Csv {
    /// A new file, which begins with a header.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn create(path: &Path, header: impl IntoIterator<Item = String>) -> Result<Self> {
        let file: Box<dyn Write> = match is_stdout(path) {
            true => Box::new(io::stdout()),
            false => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        };
        let mut csv = Csv { path: path.to_owned(), writer: csv::Writer::from_writer(file) };
        csv.record(header)?;
        Ok(csv)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn record(&mut self, cells: impl IntoIterator<Item = String>) -> Result<()> {
        let path = &self.path;
        let written = self.writer.write_record(cells.into_iter().collect::<Vec<_>>());
        written.with_context(|| path.display().to_string())?;
        self.writer.flush().with_context(|| path.display().to_string())
    }

    /// Says that the file is written.
    pub fn finish(self, common: &Common) {
        if !is_stdout(&self.path) {
            common.say(format_args!("wrote {}", self.path.display()));
        }
    }
}

/// Writes a file, and says so.
///
/// # Errors
/// What the file system reports.
pub fn write(common: &Common, path: &Path, contents: &[u8]) -> Result<()> {
    if is_stdout(path) {
        return io::stdout().lock().write_all(contents).context("standard output");
    }
    std::fs::write(path, contents).with_context(|| path.display().to_string())?;
    common.say(format_args!("wrote {}", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Csv;

    #[test]
    fn a_program_that_is_cut_off_leaves_its_records() {
        let name = format!("transpose-habits-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        let cells = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut csv = Csv::create(&path, cells("shape of_copy")).unwrap();
        csv.record(cells("2 0.5")).unwrap();
        let found = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(found, "shape,of_copy\n2,0.5\n");
    }
}
