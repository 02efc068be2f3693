//! Assembling the shipped PTX with NVIDIA's `ptxas`: does every supported chip take it, do the kernels
//! stay in registers, and is the machine code that ships what comes out?
//!
//! `ptxas` is taken from the variable `PTXAS`, from the path, or from its wheel on PyPI. Its version is
//! recorded beside the cubins: another version may choose other instructions, so only the
//! recorded one is compared with, byte for byte.

use crate::command::{output, run};
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The chips that the library supports: Turing, Ampere, Hopper, Blackwell. Code for one runs on all
/// later ones of its generation.
const CHIPS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// The wheel that carries the assembler.
const WHEEL: &str = "nvidia-cuda-nvcc==13.5.37";

/// Assembles every family for every chip; writes the cubins or compares them with what ships.
pub fn assemble(write: bool) -> Result<()> {
    let ptxas = ptxas()?;
    let version = version(&ptxas)?;
    let recorded = fs::read_to_string(paths::assembler_version()).unwrap_or_default();
    fs::create_dir_all(paths::scratch(""))?;
    let cubin = paths::scratch("assemble.cubin");
    for family in paths::FAMILIES {
        for chip in CHIPS {
            let report = output(
                Command::new(&ptxas)
                    .arg("-v")
                    .arg(format!("-arch={chip}"))
                    .arg(paths::shipped_ptx(family))
                    .arg("-o")
                    .arg(&cubin),
            )?;
            let Resources { kernels, registers } =
                Resources::of(&String::from_utf8_lossy(&report.stderr))?;
            let mut outcome = String::new();
            if paths::FAMILIES_WITH_CUBINS.contains(&family) {
                let shipped = paths::shipped_cubin(family, chip);
                if write {
                    fs::copy(&cubin, &shipped).with_context(|| shipped.display().to_string())?;
                    outcome = ", cubin written".to_owned();
                } else if version == recorded {
                    let same = fs::read(&shipped)? == fs::read(&cubin)?;
                    let path = shipped.display();
                    ensure!(same, "{path} is not what the PTX assembles to: `cargo xtask cubin`");
                    outcome = ", cubin identical".to_owned();
                } else {
                    ensure!(shipped.is_file(), "{} is missing", shipped.display());
                }
            }
            println!(
                "{family} on {chip}: {kernels} kernels, at most {registers} registers, \
                 no stack, no spills{outcome}"
            );
        }
    }
    if write {
        fs::write(paths::assembler_version(), version)?;
    } else if version != recorded {
        println!("the cubins were not compared: they are not recorded to be built by {version}");
    }
    Ok(())
}

/// The line in which an assembler names its version.
fn version(ptxas: &Path) -> Result<String> {
    let output = output(Command::new(ptxas).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("release")).context("no version")?;
    Ok(line.to_owned())
}

/// What `ptxas -v` reports of all kernels together.
#[derive(Debug, PartialEq)]
struct Resources {
    kernels: usize,
    registers: u32,
}

impl Resources {
    /// Reads a report; a kernel that uses its stack is an error.
    fn of(report: &str) -> Result<Self> {
        let mut resources = Resources { kernels: 0, registers: 0 };
        let mut kernel = "";
        for line in report.lines() {
            if let Some((_, name)) = line.split_once("Compiling entry function ") {
                kernel = name;
            } else if line.contains("bytes stack frame") {
                let clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
                if line.trim() != clean {
                    bail!("{kernel}: {}", line.trim());
                }
            } else if let Some((_, used)) = line.split_once(": Used ") {
                let count = used.split(' ').next().context("no register count")?;
                resources.kernels += 1;
                resources.registers = resources.registers.max(count.parse()?);
            }
        }
        ensure!(resources.kernels > 0, "the assembler reported no kernel:\n{report}");
        Ok(resources)
    }
}

/// The assembler, fetched if it is nowhere.
fn ptxas() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PTXAS") {
        return Ok(path.into());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    if let Some(path) =
        std::env::split_paths(&search).map(|p| p.join("ptxas")).find(|p| p.is_file())
    {
        return Ok(path);
    }
    let folder = paths::scratch("cuda-nvcc");
    let path = folder.join("nvidia/cu13/bin/ptxas");
    if !path.is_file() {
        println!("fetching {WHEEL}");
        run(Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg(WHEEL))
        .context("ptxas: set PTXAS, or put it on the path, or let pip fetch it")?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::Resources;

    const CLEAN: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'copy_b4' for 'sm_90'
ptxas info    : Function properties for copy_b4
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 400 bytes cmem[0]
";

    #[test]
    fn a_clean_report_passes() {
        assert_eq!(Resources::of(CLEAN).unwrap(), Resources { kernels: 1, registers: 24 });
    }

    #[test]
    fn stack_and_spills_are_refused_by_name() {
        for (clean, used) in
            [("0 bytes stack", "16 bytes stack"), ("0 bytes spill l", "4 bytes spill l")]
        {
            let error = Resources::of(&CLEAN.replace(clean, used)).unwrap_err().to_string();
            assert!(error.contains("copy_b4"), "{error}");
        }
        assert!(Resources::of("").is_err());
    }
}
