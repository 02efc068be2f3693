//! A project outside the workspace, with the packages in the place of crates.io.

use crate::package::Package;
use crate::paths;
use anyhow::Result;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A project in a temporary folder, which goes with it; what is built of it stays.
pub struct Project {
    folder: TempDir,
    name: &'static str,
}

impl Project {
    /// Writes the sources, and a manifest with that one line for the library.
    pub fn new(
        name: &'static str,
        line: &str,
        packages: &[Package],
        sources: &[(String, String)],
    ) -> Result<Self> {
        let project = Project { folder: tempfile::tempdir()?, name };
        let folder = project.folder.path();
        fs::create_dir(folder.join("src"))?;
        for (name, text) in sources {
            fs::write(folder.join("src").join(name), text)?;
        }
        let mut manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{line}\n\n[patch.crates-io]\n"
        );
        for Package { name, folder, .. } in packages {
            manifest += &format!("{name} = {{ path = {folder:?} }}\n");
        }
        fs::write(folder.join("Cargo.toml"), manifest)?;
        for file in ["rust-toolchain.toml", "Cargo.lock"] {
            fs::copy(paths::root().join(file), folder.join(file))?;
        }
        Ok(project)
    }

    /// Where a release build puts the program.
    pub fn release(&self) -> PathBuf {
        self.target().join("release").join(self.name)
    }

    /// The cargo of the project's own toolchain, which knows nothing of this workspace's settings.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new("cargo");
        cargo
            .current_dir(self.folder.path())
            .args(arguments)
            .env("CARGO_TARGET_DIR", self.target());
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            let ours = ["CUDA_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_PROFILE_"];
            if ours.iter().any(|prefix| shown.starts_with(prefix)) || shown == "RUSTUP_TOOLCHAIN" {
                cargo.env_remove(name);
            }
        }
        cargo
    }

    fn target(&self) -> PathBuf {
        paths::scratch(&format!("downstream-{}-target", self.name))
    }
}
