//! Results as files.

use crate::program::Common;
use anyhow::{Context, Result};
use std::path::Path;

/// Writes records as CSV, the header first.
///
/// # Errors
/// What the file system reports.
pub fn write_csv(
    common: &Common,
    path: &Path,
    records: impl IntoIterator<Item = Vec<String>>,
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record)?;
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
