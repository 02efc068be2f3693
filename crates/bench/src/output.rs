//! Results as files.

use crate::program::Common;
use crate::table::{Cell, Column};
use anyhow::{Context, Result};
use std::path::Path;

/// Writes rows as CSV, below the keys of the columns.
///
/// # Errors
/// What the file system reports.
pub fn write_csv(
    common: &Common,
    path: &Path,
    columns: &[Column],
    rows: &[Vec<Cell>],
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| column.key))?;
    for row in rows {
        writer.write_record(row.iter().map(Cell::kept))?;
    }
    write(common, path, &writer.into_inner().context("CSV")?)
}

/// Writes a file, and says so.
///
/// # Errors
/// What the file system reports.
pub fn write(common: &Common, path: &Path, contents: &[u8]) -> Result<()> {
    std::fs::write(path, contents).with_context(|| path.display().to_string())?;
    common.say(format_args!("wrote {}", path.display()));
    Ok(())
}

/// The date, as year-month-day.
pub fn today() -> String {
    time::OffsetDateTime::now_utc().date().to_string()
}
