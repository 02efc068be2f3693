//! Results as files: CSV and SVG, if asked for.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The files to write results to.
#[derive(clap::Args)]
pub struct Files {
    /// Write the numbers as CSV to this file.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the bars as SVG to this file.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

impl Files {
    /// Writes what was asked for. `header` names the fields of a row.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write(
        &self,
        header: &[&str],
        rows: &[Vec<String>],
        svg: impl FnOnce() -> String,
    ) -> Result<()> {
        if let Some(path) = &self.csv {
            let mut text = record(header.iter().copied());
            for row in rows {
                text += &record(row.iter().map(String::as_str));
            }
            write(path, &text)?;
        }
        if let Some(path) = &self.svg {
            write(path, &svg())?;
        }
        Ok(())
    }
}

/// One line of CSV (RFC 4180).
fn record<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let quoted = |field: &str| match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    };
    fields.map(quoted).collect::<Vec<_>>().join(",") + "\n"
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| path.display().to_string())?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::record;

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(record(["a", "b, c", "d \"e\""].into_iter()), "a,\"b, c\",\"d \"\"e\"\"\"\n");
    }
}
