//! A folder of programs for a GPU machine that has no Rust: every test and every example, and the
//! scripts that run them, compare counts with the GPU's, and look for defects there.

use crate::command::{cargo, output};
use crate::paths;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The library, told apart from the package on crates.io of the same name that the examples
/// compare with.
const LIBRARY: &str = concat!("transpose@", env!("CARGO_PKG_VERSION"));

/// What a bundle's user calls.
const SCRIPTS: [(&str, &str); 3] = [
    ("run.sh", include_str!("run.sh")),
    ("counters.sh", include_str!("counters.sh")),
    ("sanitize.sh", include_str!("sanitize.sh")),
];

/// Builds in release mode and writes `folder`.
pub fn bundle(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let tests = executables(&["test", "--no-run", "-p", LIBRARY, "-p", "transpose-tests"])?;
    let examples = executables(&["build", "--examples", "-p", "transpose-examples"])?;
    for (kind, programs) in [("tests", tests), ("examples", examples)] {
        fs::create_dir_all(folder.join(kind))?;
        for (name, program) in programs {
            place(&program, &folder.join(kind).join(name))?;
        }
    }
    for (name, script) in SCRIPTS {
        write_script(&folder.join(name), script)?;
    }
    println!("{}: copy it to the GPU machine and run run.sh there", folder.display());
    Ok(())
}

/// The programs that a cargo command builds, by name.
fn executables(arguments: &[&str]) -> Result<Vec<(String, PathBuf)>> {
    let (subcommand, rest) = arguments.split_first().context("no subcommand")?;
    let messages = output(
        cargo()
            .current_dir(paths::root())
            .arg(subcommand)
            .args(["--release", "--message-format=json-render-diagnostics"])
            .args(rest)
            .stderr(Stdio::inherit()),
    )?;
    let mut programs = Vec::new();
    for line in String::from_utf8(messages.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        let (name, program) = (&message["target"]["name"], &message["executable"]);
        if let (Some(name), Some(program)) = (name.as_str(), program.as_str()) {
            programs.push((name.to_owned(), program.into()));
        }
    }
    Ok(programs)
}

/// Copies a program and, where there is a `strip`, leaves its symbols behind.
fn place(program: &Path, target: &Path) -> Result<()> {
    fs::copy(program, target).with_context(|| program.display().to_string())?;
    if Command::new("strip").arg(target).status().is_err() {
        eprintln!("no strip on the path: {} keeps its symbols", target.display());
    }
    Ok(())
}

fn write_script(path: &Path, script: &str) -> Result<()> {
    fs::write(path, script)?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}
