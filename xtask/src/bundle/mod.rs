//! A folder for a GPU machine that has no Rust: every test, table and example as a program, and the module for Python, in one archive, and the
//! scripts that run them, compare counts with the GPU's, and look for defects there.
//!
//! Each program carries the same kernels. The archive's dictionary spans several programs, so it holds them about once.

use crate::command::{cargo, output, run};
use crate::copy::fresh_folder;
use crate::{downstream, paths};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What makes cargo build the programs.
const BUILDS: [&[&str]; 3] = [
    &["test", "--no-run", "-p", "cuda-transpose", "-p", "transpose-tests"],
    &[
        "build",
        "--bins",
        "--examples",
        "-p",
        "transpose-bench",
        "-p",
        "transpose-examples",
        "-p",
        "transpose-interop",
        "-p",
        "transpose-npy",
    ],
    &["build", "-p", "transpose-dlpack"],
];

/// What goes beside the module for Python: the program that uses it, and what that reads.
const BESIDE_THE_MODULE: [&str; 2] =
    ["examples/15_dlpack/from_python.py", "crates/bench/src/permutations.txt"];

/// The folders in the archive, one for each kind of program.
const FOLDERS: [&str; 4] = ["bench", "examples", "python", "tests"];

/// What a bundle's user calls, and what those share.
const SCRIPTS: [(&str, &str); 5] = [
    ("run.sh", include_str!("run.sh")),
    ("counters.sh", include_str!("counters.sh")),
    ("samples.sh", include_str!("samples.sh")),
    ("sanitize.sh", include_str!("sanitize.sh")),
    ("unpack.sh", include_str!("unpack.sh")),
];

/// The programs, packed.
const ARCHIVE: &str = "programs.tar.xz";

/// What the names of the folders begin with that scripts of a bundle make in it.
const MADE: [&str; 2] = ["programs-", "unpacking."];

/// Compresses the archive: quickly, but with a dictionary larger than two programs.
const COMPRESSOR: &str = "xz --threads=1 --lzma2=preset=1,dict=64MiB";

/// The bytes that a bundle may have, for it to be carried to a machine that takes 64 MiB.
const LIMIT: u64 = 60 << 20;

/// Builds everything and writes `folder`.
pub fn bundle(folder: &Path) -> Result<()> {
    ensure_ours(folder)?;
    let programs = fresh_folder("bundle")?;
    for kind in FOLDERS {
        fs::create_dir_all(programs.join(kind))?;
    }
    for arguments in BUILDS {
        for Executable { folder, name, path } in executables(arguments)? {
            let place = programs.join(folder).join(name);
            ensure!(!place.exists(), "two programs would be {}", place.display());
            fs::copy(&path, place).with_context(|| path.display().to_string())?;
        }
    }
    for file in BESIDE_THE_MODULE.map(|file| paths::root().join(file)) {
        let name = file.file_name().context("a file has a name")?;
        fs::copy(&file, programs.join("python").join(name))
            .with_context(|| file.display().to_string())?;
    }
    fs::copy(downstream::guide_program()?, programs.join("examples/guide"))?;
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, script) in SCRIPTS {
        write_script(&folder.join(name), script)?;
    }
    let archive = folder.join(ARCHIVE);
    run(Command::new("tar")
        .arg(format!("--use-compress-program={COMPRESSOR}"))
        .arg("--create")
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(&programs)
        .args(FOLDERS))?;
    let bytes = fs::metadata(&archive)?.len();
    ensure!(bytes <= LIMIT, "{} has {bytes} bytes, more than {LIMIT}", archive.display());
    println!(
        "{}, {:.1} MB: copy it to the GPU machine and run run.sh there",
        folder.display(),
        bytes as f64 / 1e6
    );
    Ok(())
}

/// A program that cargo has built.
struct Executable {
    /// The folder in the archive.
    folder: &'static str,
    name: String,
    path: PathBuf,
}

impl Executable {
    /// The program, or the module for Python, that a message of cargo's tells of, if it does.
    fn of(message: &Value) -> Option<Self> {
        let name = message["target"]["name"].as_str()?.to_owned();
        let kind = message["target"]["kind"][0].as_str()?;
        if kind == "cdylib" {
            let path = message["filenames"][0].as_str()?.into();
            return Some(Executable { folder: "python", name: format!("{name}.abi3.so"), path });
        }
        let path = message["executable"].as_str()?.into();
        let folder = match kind {
            "bin" => "bench",
            "example" => "examples",
            _ => "tests",
        };
        Some(Executable { folder, name, path })
    }
}

/// Refuses a folder that has anything but an earlier bundle: it would be lost.
fn ensure_ours(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let is_ours = name == ARCHIVE
            || SCRIPTS.iter().any(|(script, _)| name == *script)
            || MADE.iter().any(|made| name.starts_with(made));
        let folder = folder.display();
        ensure!(is_ours, "{folder} has {name} in it, which is of no bundle, and would be replaced");
    }
    Ok(())
}

/// The programs that a cargo command builds.
fn executables(arguments: &[&str]) -> Result<Vec<Executable>> {
    let (subcommand, rest) = arguments.split_first().context("no subcommand")?;
    let messages = output(
        cargo()
            .current_dir(paths::root())
            .arg(subcommand)
            .args(["--profile", "bundle", "--message-format=json-render-diagnostics"])
            .args(rest)
            .stderr(Stdio::inherit()),
    )?;
    let mut programs = Vec::new();
    for line in String::from_utf8(messages.stdout)?.lines() {
        programs.extend(Executable::of(&serde_json::from_str(line)?));
    }
    Ok(programs)
}

fn write_script(path: &Path, script: &str) -> Result<()> {
    fs::write(path, script)?;
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::write_script;
    use std::fs;
    use std::process::Command;

    #[test]
    fn a_name_is_of_one_program_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        write_script(&folder.path().join("run.sh"), include_str!("run.sh")).unwrap();
        fs::write(folder.path().join("unpack.sh"), "programs=$here/programs\n").unwrap();
        for program in ["bench/host", "tests/host", "tests/huge", "examples/plan"] {
            let path = folder.path().join("programs").join(program);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            write_script(&path, &format!("#!/bin/sh\necho {program} \"$@\"\n")).unwrap();
        }
        let run = |name| {
            let ran = Command::new(folder.path().join("run.sh")).args([name, "2 3"]).output();
            let ran = ran.unwrap();
            let said = [ran.stdout, ran.stderr].concat();
            (ran.status.success(), String::from_utf8(said).unwrap().trim().to_owned())
        };
        for (name, program) in [
            ("huge", "tests/huge"),
            ("plan", "examples/plan"),
            ("tests/host", "tests/host"),
            ("bench/host", "bench/host"),
        ] {
            assert_eq!(run(name), (true, format!("{program} 2 3")));
        }
        let several = "several programs are called host; say which: bench/host tests/host";
        assert_eq!(run("host"), (false, several.to_owned()));
        assert!(!run("typo").0);
    }
}
