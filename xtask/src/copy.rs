//! Copies of parts of the repository, in which something is changed and tried.

use crate::paths;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// An empty folder of that name in the scratch space, whatever was there before.
pub fn fresh_folder(name: &str) -> Result<PathBuf> {
    let folder = paths::scratch(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Copies a file, or a folder without what cargo has built in it.
pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        fs::copy(from, to).with_context(|| from.display().to_string())?;
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name != "target" {
            copy_all(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}
