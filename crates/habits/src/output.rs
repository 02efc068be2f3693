//! Lines on standard output and standard error. `-` as the name of a file is standard output.

use anyhow::{Context, Result, ensure};
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

/// Prints a line of results.
///
/// # Errors
/// Standard output that takes no more, such as a file on a disk that is full.
pub fn print(line: impl fmt::Display) -> Result<()> {
    writeln!(io::stdout().lock(), "{line}").context("standard output")
}

/// Says something on standard error. Nobody can be told that nobody listens.
pub fn say(line: impl fmt::Display) {
    _ = writeln!(io::stderr().lock(), "{line}");
}

/// Whether a file is standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Makes sure, before anything is measured, that a file can be where it shall be.
///
/// # Errors
/// A folder of that name, and a folder that is not there.
pub fn ensure_writable(path: &Path) -> Result<()> {
    let name = path.display();
    ensure!(!path.is_dir(), "{name}: this is a folder");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    ensure!(folder.is_none_or(Path::is_dir), "{name}: there is no such folder");
    Ok(())
}

/// The date, as year-month-day.
pub fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}
