//! The claim "written for rust-cuda", checked: the kernels type-check on the host against the
//! `cuda_std` that is on crates.io, without the port that this repository compiles them with.

use crate::command::{cargo, run};
use crate::copy::{copy_all, fresh_folder};
use crate::paths;
use anyhow::{Context, Result, ensure};
use std::fs;

/// Copies the kernel crate, takes the patch out of its manifest, and runs `cargo check`.
pub fn check() -> Result<()> {
    let folder = fresh_folder("published")?;
    copy_all(&paths::kernels().join("src"), &folder.join("src"))?;
    let manifest = fs::read_to_string(paths::kernels().join("Cargo.toml"))?;
    fs::write(folder.join("Cargo.toml"), elsewhere(&without_patch(&manifest)?)?)?;
    run(cargo()
        .current_dir(&folder)
        .args(["check", "--quiet", "--all-features"])
        .env("CARGO_TARGET_DIR", paths::scratch("published-target")))?;
    let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
    let version = published_version(&lock).context("cuda_std did not come from crates.io")?;
    println!("the kernels type-check against cuda_std {version} as published");
    Ok(())
}

/// The manifest without its `[patch]` table.
fn without_patch(manifest: &str) -> Result<String> {
    let start = manifest.find("[patch.crates-io]").context("the manifest patches nothing")?;
    let end = manifest[start + 1..].find("\n[").map_or(manifest.len(), |at| start + 1 + at);
    Ok(format!("{}{}", &manifest[..start], &manifest[end..]))
}

/// The manifest with its paths into the repository made absolute: it is read from another folder.
fn elsewhere(manifest: &str) -> Result<String> {
    const BESIDE: &str = "path = \"../";
    let root = paths::root().display();
    ensure!(manifest.contains(BESIDE), "the manifest has no path to kernel_abi");
    Ok(manifest.replace(BESIDE, &format!("path = \"{root}/")))
}

/// The version of the `cuda_std` in a lock file that has a registry for a source.
fn published_version(lock: &str) -> Option<&str> {
    let package = lock.split("[[package]]").find(|p| p.contains("name = \"cuda_std\"\n"))?;
    package.contains("source = \"registry+").then_some(())?;
    package.split("version = \"").nth(1)?.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::{published_version, without_patch};

    #[test]
    fn only_the_patch_goes() {
        let manifest = "[a]\nb = 1\n\n[patch.crates-io]\nc = 2\n\n[workspace]\n";
        assert_eq!(without_patch(manifest).unwrap(), "[a]\nb = 1\n\n\n[workspace]\n");
        assert!(without_patch("[a]\n").is_err());
    }

    #[test]
    fn a_path_is_not_a_publication() {
        let path = "[[package]]\nname = \"cuda_std\"\nversion = \"0.2.2\"\n";
        assert_eq!(published_version(path), None);
        let registry = format!("{path}source = \"registry+x\"\n");
        assert_eq!(published_version(&registry), Some("0.2.2"));
    }
}
