//! What a stranger finds: projects outside the workspace, with one line for this library in their manifests, build from the published
//! packages on a machine without a CUDA toolkit, and run.
//!
//! One runs every sample of the pages. The other, without the simulator, is what a program for a GPU adds to itself.

mod project;
mod samples;

use crate::command::{output, run};
use crate::package::{self, Package};
use crate::paths;
use anyhow::{Context, Result, ensure};
use project::Project;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The pages with samples.
const PAGES: [&str; 5] = [
    "docs/guide.md",
    "docs/coming-from.md",
    "docs/sharded.md",
    "docs/arithmetic.md",
    "docs/host.md",
];

/// The most that a release program with one transpose on a GPU may have, in bytes.
const MOST_BYTES: u64 = 3_000_000;

/// The features that ask for a CUDA toolkit when they are built.
const OF_TOOLKITS: [&str; 1] = ["cust"];

/// The one line of a program that is for GPUs only.
const GPUS_ONLY: &str = "cuda-transpose = { version = \"0.1\", default-features = false }";

/// One transpose on a GPU, or the reason why not.
const SMALL: &str = r#"//! Transposes a matrix on a GPU.

use transpose::{Device, DeviceMatrix};

fn main() -> transpose::Result<()> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(reason) => {
            println!("not transposed: {reason}");
            return Ok(());
        }
    };
    let a = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
    assert_eq!(a.transposed()?.to_host()?, [1, 4, 2, 5, 3, 6]);
    println!("transposed on {device}");
    Ok(())
}
"#;

/// Builds both projects and runs them.
pub fn check() -> Result<()> {
    let packages = package::unpacked()?;
    let guide = guide(&packages)?;
    run(&mut guide.cargo(&["run", "--quiet"]))?;
    without_cust(&guide)?;
    small(&packages)
}

/// The program that runs every sample, built for release, for a GPU machine that has no Rust.
pub fn guide_program() -> Result<PathBuf> {
    let guide = guide(&package::unpacked()?)?;
    run(&mut guide.cargo(&[
        "build",
        "--quiet",
        "--release",
        "--config",
        "profile.release.strip=true",
    ]))?;
    Ok(guide.release())
}

fn guide(packages: &[Package]) -> Result<Project> {
    let mut samples = Vec::new();
    for page in PAGES {
        samples.extend(samples::samples(&fs::read_to_string(paths::root().join(page))?)?);
    }
    let library = packages.iter().find(|package| package.name == "cuda-transpose");
    let mut features = library.context("the library is not published")?.features.clone();
    features.retain(|feature| !OF_TOOLKITS.contains(&feature.as_str()));
    // Some samples show a feature.
    let line = format!("cuda-transpose = {{ version = \"0.1\", features = {features:?} }}");
    Project::new("guide", &line, packages, &samples::program(&samples))
}

/// A toolkit that this machine happens to have would hide that cust asks for one.
fn without_cust(project: &Project) -> Result<()> {
    let tree =
        output(&mut project.cargo(&["tree", "--edges", "normal,build", "--prefix", "none"]))?;
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let of_cust = |line: &str| line.starts_with("cust ") || line.starts_with("cust_raw ");
    ensure!(!tree.lines().any(of_cust), "a user gets cust without asking:\n{tree}");
    Ok(())
}

/// Builds the program for GPUs from nothing, says how long that takes, and holds it to its size.
fn small(packages: &[Package]) -> Result<()> {
    let sources = [("main.rs".to_owned(), SMALL.to_owned())];
    let project = Project::new("small", GPUS_ONLY, packages, &sources)?;
    run(&mut project.cargo(&["clean", "--quiet"]))?;
    let start = Instant::now();
    run(&mut project.cargo(&["build", "--quiet", "--release"]))?;
    let seconds = start.elapsed().as_secs();
    let program = project.release();
    let bytes = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    println!("a release program without the simulator: built in {seconds} s, {} KiB", bytes >> 10);
    ensure!(bytes <= MOST_BYTES, "it has {bytes} bytes, more than {MOST_BYTES}");
    run(&mut Command::new(program))
}
