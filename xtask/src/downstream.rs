//! What a stranger finds: a project outside the workspace, with one line for this library in its manifest, builds
//! on a machine without a CUDA toolkit and runs.

use crate::command::{output, run};
use crate::paths;
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"//! Transposes a matrix on the simulator.

use transpose::{Device, DeviceMatrix};

fn main() -> transpose::Result<()> {
    let a = DeviceMatrix::from_host(&Device::simulated(), 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
    assert_eq!(a.transposed()?.to_host()?, [1, 4, 2, 5, 3, 6]);
    println!("a project outside the workspace transposes; it needed one line and no toolkit");
    Ok(())
}
"#;

/// Makes the project in a temporary folder, builds it and runs it.
pub fn check() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let project = folder.path();
    fs::create_dir(project.join("src"))?;
    fs::write(project.join("src/main.rs"), PROGRAM)?;
    fs::write(project.join("Cargo.toml"), manifest())?;
    for file in ["rust-toolchain.toml", "Cargo.lock"] {
        fs::copy(paths::root().join(file), project.join(file))?;
    }
    run(cargo(project).args(["run", "--quiet"]))?;
    // A toolkit that this machine happens to have would hide that cust asks for one.
    let tree =
        output(cargo(project).args(["tree", "--edges", "normal,build", "--prefix", "none"]))?;
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let of_cust = |line: &&str| line.starts_with("cust ") || line.starts_with("cust_raw ");
    ensure!(!tree.lines().any(|line| of_cust(&line)), "a user gets cust without asking:\n{tree}");
    Ok(())
}

fn manifest() -> String {
    let library = paths::root().join("transpose");
    format!(
        "[package]\nname = \"downstream\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ntranspose = {{ path = {library:?} }}\n"
    )
}

/// The cargo of the project's own toolchain, which knows nothing of this workspace's settings.
fn cargo(project: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(project).env("CARGO_TARGET_DIR", paths::scratch("downstream-target"));
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        let ours = ["CUDA_", "CARGO_PKG_", "CARGO_MANIFEST_"];
        if ours.iter().any(|prefix| shown.starts_with(prefix)) || shown == "RUSTUP_TOOLCHAIN" {
            cargo.env_remove(name);
        }
    }
    cargo
}
