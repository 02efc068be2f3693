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
use std::path::PathBuf;

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
    if !shipped.starts_with(&header(family, &report)) {
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
    let ptx = fs::read_to_string(&report.ptx)?;
    Ok((header(family, &report) + &ptx, report))
}

/// A family's PTX with the feature `evict_last`, which is built for one chip and does not ship; and whether the compiler
/// is the one that the shipped PTX is recorded to come from.
pub fn evict_last(family: &str) -> Result<(PathBuf, bool)> {
    let features = format!("{family},evict_last");
    let report = kernels(&features).arch(NvvmArch::Compute90).build_report()?;
    let path = paths::shipped_ptx(family);
    let shipped = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let recorded = shipped.starts_with(&header(family, &report));
    Ok((report.ptx, recorded))
}

/// The kernel crate with some of its features.
fn kernels(features: &str) -> CudaBuilder {
    CudaBuilder::new(paths::kernels()).build_args(&[
        "--no-default-features",
        "--features",
        features,
    ])
}

/// The lines that record what a file was built from.
fn header(family: &str, report: &BuildReport) -> String {
    format!(
        "// The `{family}` kernels, built from kernels/ by `cargo xtask ptx`. Do not edit.\n\
         // Compiler: {}\n//\n",
        report.toolchain.version
    )
}
