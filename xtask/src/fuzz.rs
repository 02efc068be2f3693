//! Looks for inputs that break something, with a fuzzer that sees which code each input runs; what runs code that nothing else ran is
//! kept in `crates/fuzz/tests/__fuzz__`, and run by every `cargo test`.
//!
//! The fuzzer is libFuzzer, which cargo-bolero builds the targets for, by the stable compiler with its unstable options unlocked. It needs a
//! C++ compiler.

use crate::command::{cargo, run};
use crate::paths;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The targets: tests of `crates/fuzz`.
pub const TARGETS: [&str; 7] = ["ptx", "npy", "cache", "matrices", "tensors", "absurd", "choices"];

/// The package that has them.
const PACKAGE: &str = "transpose-fuzz";

/// The most inputs of a target that are kept, the shortest first.
const MOST_KEPT: usize = 100;

/// The most bytes of an input that is kept.
const LONGEST_KEPT: u64 = 1024;

/// Fuzzes one target, or each, for so long.
pub fn fuzz(target: Option<&str>, seconds: u32) -> Result<()> {
    let tools = paths::root().join("target/tools");
    run(cargo()
        .args(["install", "--quiet", "--locked", "--debug", "--root"])
        .arg(&tools)
        .arg("cargo-bolero@0.13.5"))?;
    for name in TARGETS.into_iter().filter(|name| target.is_none_or(|target| target == *name)) {
        println!("{name}: {seconds} seconds");
        let time = format!("{seconds}s");
        bolero(&tools, &["test", name, "-T", &time])?;
        bolero(&tools, &["reduce", name])?;
        keep_the_shortest(&corpus(name))?;
    }
    Ok(())
}

/// Runs cargo-bolero: what to do, with which target, and how.
fn bolero(tools: &Path, arguments: &[&str]) -> Result<()> {
    let ours = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools.join("bin")).chain(std::env::split_paths(&ours));
    run(cargo()
        .current_dir(paths::root())
        .env("PATH", std::env::join_paths(folders)?)
        .arg("bolero")
        .args(arguments)
        .args(["-p", PACKAGE, "--sanitizer", "NONE", "--rustc-bootstrap", "--target-dir"])
        .arg(paths::scratch("fuzz-target")))
}

fn corpus(target: &str) -> PathBuf {
    paths::root().join("crates/fuzz/tests/__fuzz__").join(target).join("corpus")
}

/// Deletes inputs that are long, and then those that are too many.
fn keep_the_shortest(corpus: &Path) -> Result<()> {
    let context = || corpus.display().to_string();
    let mut inputs = Vec::new();
    for entry in fs::read_dir(corpus).with_context(context)? {
        let entry = entry?;
        inputs.push((entry.metadata()?.len(), entry.path()));
    }
    inputs.sort();
    let most = inputs.iter().take_while(|(bytes, _)| *bytes <= LONGEST_KEPT).count();
    inputs.drain(..most.min(MOST_KEPT));
    inputs.iter().try_for_each(|(_, path)| fs::remove_file(path)).with_context(context)
}
