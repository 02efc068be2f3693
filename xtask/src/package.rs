//! What goes to crates.io: the published packages are made and looked into, and documented as docs.rs does it, on a machine without a
//! driver or a toolkit. And what of other crates shows in the library's interface: their breaking changes are its own.
//!
//! That programs can be built from the packages is for `downstream` to show.

use crate::command::{cargo, output, run};
use crate::copy::fresh_folder;
use crate::paths;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What crates.io takes, in bytes.
const MOST_BYTES: u64 = 10 << 20;

/// What every package has beside its code.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// The crates that may show in the library's interface without a feature of their own: `Pod` is what an element is, and the
/// others are of this repository, released with the library.
const SHOWN: [&str; 4] = ["bytemuck", "cuda_driver", "kernel_abi", "simt"];

/// A published package, unpacked.
pub struct Package {
    pub name: String,
    pub folder: PathBuf,
    pub features: Vec<String>,
}

/// Checks everything about the packages that can be checked without building a program from them.
pub fn check() -> Result<()> {
    let packages = unpacked()?;
    for Package { name, folder, .. } in &packages {
        for file in FILES {
            ensure!(folder.join(file).is_file(), "the package {name} has no {file}");
        }
    }
    interface()?;
    documentation(&packages)
}

/// Makes the packages, of what is not committed yet too, and unpacks them in the scratch space.
pub fn unpacked() -> Result<Vec<Package>> {
    let members = published()?;
    let target = fresh_folder("packages")?;
    // Cargo's own verification would keep what it unpacks by name and version, and build that the next time, whatever has changed.
    run(cargo()
        .current_dir(paths::root())
        .args(["package", "--quiet", "--allow-dirty", "--no-verify", "--target-dir"])
        .arg(&target)
        .args(members.iter().flat_map(|member| ["-p", &member.name])))?;
    members.into_iter().map(|member| unpack(&target, member)).collect()
}

fn unpack(target: &Path, member: Member) -> Result<Package> {
    let Member { name, version, features } = member;
    let archive = target.join(format!("package/{name}-{version}.crate"));
    let bytes = fs::metadata(&archive).with_context(|| archive.display().to_string())?.len();
    ensure!(bytes <= MOST_BYTES, "{name} has {bytes} bytes, crates.io takes {MOST_BYTES}");
    println!("{name} {version}: {} KiB", bytes >> 10);
    // Files get the time of now: packages give them all the same, by which cargo would not see that one has changed.
    output(Command::new("tar").arg("-xmzf").arg(&archive).arg("-C").arg(target))?;
    let folder = target.join(format!("{name}-{version}"));
    Ok(Package { name, folder, features: features.into_keys().collect() })
}

/// A member of the workspace, as cargo describes it.
#[derive(Deserialize)]
struct Member {
    name: String,
    version: String,
    features: BTreeMap<String, Vec<String>>,
}

/// The members that may be published.
fn published() -> Result<Vec<Member>> {
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
    let members: Vec<Member> = open.map(Member::deserialize).collect::<Result<_, _>>()?;
    ensure!(!members.is_empty(), "nothing is published");
    Ok(members)
}

/// Lets the compiler list every type of another crate in the library's interface. What it calls a private dependency is any, for
/// no manifest names public ones: that is not stable yet, nor is the flag.
fn interface() -> Result<()> {
    let checked = output(
        cargo()
            .current_dir(paths::root())
            .args(["check", "-p", "cuda-transpose", "-Zpublic-dependency"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", paths::scratch("docs-target")),
    )?;
    let said = String::from_utf8_lossy(&checked.stderr).into_owned();
    let shown = |line: &str| {
        Some(line.split("private dependency '").nth(1)?.split('\'').next()?.to_owned())
    };
    let shown: BTreeSet<_> = said.lines().filter_map(shown).collect();
    ensure!(shown.contains("bytemuck"), "the compiler lists nothing:\n{said}");
    let surplus: Vec<_> = shown.iter().filter(|name| !SHOWN.contains(&name.as_str())).collect();
    ensure!(surplus.is_empty(), "the library's interface has types of {surplus:?}:\n{said}");
    Ok(())
}

/// docs.rs has a nightly compiler, for `doc_cfg`, and says by DOCS_RS who it is; nothing leads to a toolkit there.
fn documentation(packages: &[Package]) -> Result<()> {
    run(cargo()
        .current_dir(paths::root())
        .args(["doc", "--quiet", "--no-deps", "--all-features"])
        .args(packages.iter().flat_map(|package| ["-p", &package.name]))
        .env("DOCS_RS", "1")
        .env("CUDA_LIBRARY_PATH", "/there is none")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTDOCFLAGS", "--cfg docsrs -D warnings")
        .env("CARGO_TARGET_DIR", paths::scratch("docs-target")))
}
