//! What goes to crates.io: the published packages are made, looked into, built from what is in them, and documented as docs.rs
//! does it, on a machine without a driver or a toolkit.

use crate::command::{cargo, output, run};
use crate::paths;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// What crates.io takes, in bytes.
const MOST_BYTES: u64 = 10 << 20;

/// What every package has beside its code.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Makes every package and checks it.
pub fn check() -> Result<()> {
    let packages = published()?;
    let names = packages.iter().flat_map(|package| ["-p", &package.name]);
    let target = paths::scratch("package-target");
    run(cargo()
        .current_dir(paths::root())
        // What is not committed yet is packaged too: the check is as good before a commit as after.
        .args(["package", "--quiet", "--allow-dirty", "--target-dir"])
        .arg(&target)
        .args(names.clone()))?;
    for Package { name, version } in &packages {
        let archive = target.join(format!("package/{name}-{version}.crate"));
        let bytes =
            std::fs::metadata(&archive).with_context(|| archive.display().to_string())?.len();
        ensure!(bytes <= MOST_BYTES, "{name} has {bytes} bytes, crates.io takes {MOST_BYTES}");
        let listed = output(Command::new("tar").arg("-tzf").arg(&archive))?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        for file in FILES {
            let path = format!("{name}-{version}/{file}");
            ensure!(listed.lines().any(|line| line == path), "the package has no {path}");
        }
        println!("{name} {version}: {} KiB", bytes >> 10);
    }
    // docs.rs has a nightly compiler, for `doc_cfg`, and says by DOCS_RS who it is; nothing leads to a toolkit there.
    run(cargo()
        .current_dir(paths::root())
        .args(["doc", "--quiet", "--no-deps", "--all-features"])
        .args(names)
        .env("DOCS_RS", "1")
        .env("CUDA_LIBRARY_PATH", "/there is none")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTDOCFLAGS", "--cfg docsrs -D warnings")
        .env("CARGO_TARGET_DIR", paths::scratch("docs-target")))
}

struct Package {
    name: String,
    version: String,
}

/// The members of the workspace that may be published.
fn published() -> Result<Vec<Package>> {
    let metadata = output(cargo().current_dir(paths::root()).args([
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let members = metadata["packages"].as_array().context("cargo names no packages")?;
    // `publish = false` is an empty list of registries; no word on it is null.
    let open = members.iter().filter(|package| package["publish"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: Vec<_> = open
        .map(|package| Package { name: text(&package["name"]), version: text(&package["version"]) })
        .collect();
    ensure!(!packages.is_empty(), "nothing is published");
    Ok(packages)
}
