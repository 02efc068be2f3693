//! Running other programs.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::process::{Command, Output};

/// The cargo that runs this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a program to its end, its output shown.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| describe(command))?;
    ensure!(status.success(), "{} failed: {status}", describe(command));
    Ok(())
}

/// Runs a program to its end and returns what it printed.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| describe(command))?;
    ensure!(
        output.status.success(),
        "{} failed: {}\n{}{}",
        describe(command),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Ok(output)
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
