//! Building the shipped PTX from the kernel crate, and checking that it is what was built.
//!
//! Each family of kernels is a feature of the kernel crate and a file of its own, so that a
//! program loads no more than it uses. The first lines of a file record the compiler: another
//! compiler may choose other instructions, so only the recorded one is compared with, byte for byte.

use crate::paths;
use anyhow::{Context, Result, bail};
use cuda_builder::{BuildReport, CudaBuilder, NvvmArch};
use similar::TextDiff;
use std::fs;

/// The lines in front of the compiler's output end with this one.
const END_OF_HEADER: &str = "//\n";

/// Builds the families, all or the one named, and writes them or compares.
pub fn ptx(check_only: bool, only: Option<&str>) -> Result<()> {
    if let Some(family) = only.filter(|family| !paths::FAMILIES.contains(family)) {
        bail!("there is no family {family:?}; there are {:?}", paths::FAMILIES);
    }
    for family in paths::FAMILIES.into_iter().filter(|family| only.is_none_or(|o| o == *family)) {
        if check_only { check(family)? } else { write(family)? }
    }
    Ok(())
}

fn write(family: &str) -> Result<()> {
    let (ptx, report) = build(family)?;
    fs::write(paths::shipped_ptx(family), ptx)?;
    println!("{family}: {} kernels, {}", report.entries.len(), report.toolchain.version);
    Ok(())
}

fn check(family: &str) -> Result<()> {
    let path = paths::shipped_ptx(family);
    let shipped = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (built, report) = build(family)?;
    if header(&shipped) != header(&built) {
        return compare_entries(family, &shipped, &report);
    }
    if shipped != built {
        let diff = TextDiff::from_lines(&shipped, &built);
        let diff = diff.unified_diff().context_radius(2).to_string();
        let start: Vec<_> = diff.lines().take(40).collect();
        bail!(
            "{} is not what the kernels compile to; run `cargo xtask ptx`\n{}",
            path.display(),
            start.join("\n")
        );
    }
    println!("{family}: identical, {} kernels", report.entries.len());
    Ok(())
}

/// All that can be compared when the compiler is not the recorded one: the kernels' names.
fn compare_entries(family: &str, shipped: &str, report: &BuildReport) -> Result<()> {
    let shipped: Vec<_> =
        cuda_builder::ptx::entries(shipped).into_iter().map(|entry| entry.name).collect();
    if shipped != report.entries {
        bail!("{family}: the kernels are {:?}, {shipped:?} ship", report.entries);
    }
    println!(
        "{family}: the same {} kernels; the text was not compared, for it was not built by {}",
        shipped.len(),
        report.toolchain.version
    );
    Ok(())
}

/// A family's PTX as it ships, header included.
fn build(family: &str) -> Result<(String, BuildReport)> {
    let report = kernels(family).arch(NvvmArch::Compute70).build_report()?;
    let header = format!(
        "// The `{family}` kernels, built from kernels/ by `cargo xtask ptx`. Do not edit.\n\
         // Compiler: {}\n{END_OF_HEADER}",
        report.toolchain.version
    );
    let ptx = fs::read_to_string(&report.ptx)?;
    Ok((header + &ptx, report))
}

/// A family's PTX with the feature `evict_last`, which is built for one chip and does not ship.
pub fn evict_last(family: &str) -> Result<BuildReport> {
    let features = format!("{family},evict_last");
    Ok(kernels(&features).arch(NvvmArch::Compute90).build_report()?)
}

/// The kernel crate with some of its features.
fn kernels(features: &str) -> CudaBuilder {
    CudaBuilder::new(paths::kernels()).build_args(&[
        "--no-default-features",
        "--features",
        features,
    ])
}

/// Which compiler a family's shipped PTX comes from.
pub fn recorded_compiler(family: &str) -> Result<String> {
    let path = paths::shipped_ptx(family);
    let shipped = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let line = shipped.lines().find_map(|line| line.strip_prefix("// Compiler: "));
    Ok(line.with_context(|| format!("{} names no compiler", path.display()))?.to_owned())
}

/// The lines that record what a file was built from.
fn header(ptx: &str) -> Option<&str> {
    ptx.find(END_OF_HEADER).map(|end| &ptx[..end])
}
