//! Building the shipped PTX from the kernel crate, and checking that it is what was built.
//!
//! Each family of kernels is a feature of the kernel crate and a file of its own, so that a
//! program loads no more than it uses. The first lines of a file record the compiler: another
//! compiler may choose other instructions, so only the recorded one is compared with, byte for byte.

use crate::{pack, paths};
use anyhow::{Context, Result, bail};
use cuda_builder::{BuildReport, CudaBuilder, NvvmArch};
use similar::TextDiff;
use std::fs;
use std::path::PathBuf;

/// Builds the families, all or the one named, and writes them or compares; whether all their text was compared.
pub fn ptx(check_only: bool, only: Option<&str>) -> Result<bool> {
    let mut compared = check_only;
    for family in paths::FAMILIES.into_iter().filter(|family| only.is_none_or(|o| o == *family)) {
        if check_only {
            compared &= check(family)?;
        } else {
            write(family)?;
        }
    }
    Ok(compared)
}

fn write(family: &str) -> Result<()> {
    let (ptx, report) = build(family)?;
    let packed = paths::packed_ptx(family);
    fs::write(&packed, pack::pack(&packed, uncommented(&ptx).as_bytes())?)?;
    fs::write(paths::shipped_ptx(family), ptx)?;
    println!("{family}: {} kernels, {}", report.entries.len(), report.toolchain.version);
    Ok(())
}

/// PTX as programs have it: without comments, which are 2 % of it once it is packed, and each line under its number.
fn uncommented(ptx: &str) -> String {
    ptx.lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim_end().to_owned() + "\n")
        .collect()
}

/// Compares a family with what is built, by its text if the compiler is the recorded one; whether it is.
fn check(family: &str) -> Result<bool> {
    let path = paths::shipped_ptx(family);
    let shipped = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let packed = paths::packed_ptx(family);
    if pack::read(&packed)? != uncommented(&shipped).as_bytes() {
        bail!("{} is not {}; run `cargo xtask ptx`", packed.display(), path.display());
    }
    let (built, report) = build(family)?;
    if !shipped.starts_with(&header(family, &report)) {
        return compare_entries(family, &shipped, &report).map(|()| false);
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
    Ok(true)
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

/// Builds a family's PTX for compute capability 9.0 alone, with more features of the kernel crate, and writes what is kept of it for the tests, or compares it;
/// where it was built, and whether the compiler is the one that the shipped PTX is recorded to come from. Another may choose other instructions, and is not compared.
///
/// Its version is 8.0, the first that has prefetches of single sectors. Programs have the machine code of it alone.
pub fn for_hopper(family: &str, features: &[&str], write: bool) -> Result<(PathBuf, bool)> {
    let all = [&[family], features].concat().join(",");
    let report = kernels(&all).arch(NvvmArch::Compute90).ptx_version(8, 0).build_report()?;
    let built = fs::read_to_string(&report.ptx)?;
    if let Some(entry) = not_waiting(&built) {
        bail!("{entry} does not wait for the launch before it: {}", report.ptx.display());
    }
    let path = paths::shipped_ptx(family);
    let shipped = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let recorded = shipped.starts_with(&header(family, &report));
    let kept = paths::hopper_ptx(family, features);
    let built = uncommented(&built);
    if write {
        fs::write(&kept, pack::pack(&kept, built.as_bytes())?)?;
    } else if recorded && pack::read(&kept)? != built.as_bytes() {
        bail!("{} is not what the kernels compile to: `cargo xtask cubin`", kept.display());
    }
    Ok((report.ptx, recorded))
}

/// A kernel that may access memory, or end, before it waits for the launch before: one that does not begin with
/// `griddepcontrol.wait`, but for reading its parameters. Launches of such code must not come early.
fn not_waiting(ptx: &str) -> Option<&str> {
    const HARMLESS: [&str; 4] = [".reg", "ld.param", "cvta", "mov."];
    ptx.split(".entry ").skip(1).find_map(|kernel| {
        let (name, rest) = kernel.split_once('(')?;
        let (_, body) = rest.split_once("\n{")?;
        let first = body.split([';', '\n']).map(str::trim).find(|text| {
            let harmless = HARMLESS.iter().any(|start| text.starts_with(start));
            !(text.is_empty() || text.starts_with("//") || harmless)
        });
        (first != Some("griddepcontrol.wait")).then_some(name)
    })
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

#[cfg(test)]
mod tests {
    use super::not_waiting;

    #[test]
    fn kernels_that_do_not_wait_are_found() {
        let module = |second: &str| {
            format!(
                ".visible .entry first(\n\t.param .u64 p\n)\n.maxnreg 32\n{{\n\t.reg .b64 \t%rd<9>;\n\n\
                 \tld.param.b64 \t%rd1, [p];\n\t// begin inline asm\n\tgriddepcontrol.wait;\n\tld.global.b64 %rd2, [%rd1];\n\tret;\n}}\n\
                 .visible .entry second(\n)\n{{\n{second}\tret;\n}}\n"
            )
        };
        let wait = "\tgriddepcontrol.wait;\n";
        assert_eq!(not_waiting(&module(wait)), None);
        assert_eq!(not_waiting(&module("")), Some("second"));
        for before in ["\tld.global.b64 %rd2, [%rd1];\n", "\t@%p1 bra $L1;\n", "$L1:\n"] {
            assert_eq!(not_waiting(&module(&(before.to_owned() + wait))), Some("second"));
        }
    }
}
