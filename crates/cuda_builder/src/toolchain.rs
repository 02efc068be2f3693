//! Finds a compiler that can make PTX.

use crate::CudaBuilderError;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt};

/// The variable that names the compiler to use.
const OVERRIDE: &str = "CUDA_BUILDER_RUSTC";

/// Where a distribution's package puts its compiler.
const SYSTEM_RUSTC: &str = "/usr/bin/rustc";

/// The target that all this is about.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// Where a compiler was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// `CUDA_BUILDER_RUSTC` names it.
    Override,
    /// It is what `rustc` means here.
    Active,
    /// It is the system's.
    System,
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Override => OVERRIDE,
            Self::Active => "the active toolchain",
            Self::System => "the system's compiler",
        })
    }
}

/// A compiler that can make PTX.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Toolchain {
    /// The compiler.
    pub rustc: PathBuf,
    /// What it says about itself: `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub version: String,
    /// The LLVM in it: `22.1.8`.
    pub llvm_version: String,
    /// Where it was found.
    pub origin: Origin,
    /// Whether `core` is built from source for each set of options. Otherwise the
    /// compiler brought it along.
    pub builds_core: bool,
}

impl fmt::Display for Toolchain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = if self.builds_core { "built" } else { "installed" };
        let (rustc, llvm) = (self.rustc.display(), &self.llvm_version);
        write!(out, "{} with LLVM {llvm}, {rustc} ({}, core {core})", self.version, self.origin)
    }
}

impl Toolchain {
    /// The first compiler, in the order of the [crate's page](crate), that can build
    /// the crate in `path_to_crate`. The error lists what was missing in each.
    pub fn find(path_to_crate: &Path) -> Result<Self, CudaBuilderError> {
        let candidates = match env::var_os(OVERRIDE).filter(|value| !value.is_empty()) {
            // A compiler asked for by name and not fit is an error, not a suggestion.
            Some(rustc) => vec![(Origin::Override, from_here(PathBuf::from(rustc)))],
            None => vec![
                (Origin::Active, env::var_os("RUSTC").unwrap_or("rustc".into()).into()),
                (Origin::System, SYSTEM_RUSTC.into()),
            ],
        };
        let mut missing = Vec::new();
        for (origin, rustc) in candidates {
            match Self::probe(origin, &rustc, path_to_crate) {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => missing.push(format!("{origin} ({}): {reason}", rustc.display())),
            }
        }
        Err(CudaBuilderError::NoCompiler(missing))
    }

    /// Asks a compiler what it is and looks whether it has what is needed. The folder
    /// matters as rustup chooses a toolchain by it.
    fn probe(origin: Origin, rustc: &Path, folder: &Path) -> Result<Self, String> {
        let about = ask(rustc, &["-vV"], folder)?;
        let field = |name: &str| {
            about
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .unwrap_or("unknown")
                .to_owned()
        };
        let sysroot = PathBuf::from(ask(rustc, &["--print=sysroot"], folder)?.trim());
        let builds_core = core_must_be_built(&sysroot)?;
        Ok(Self {
            rustc: behind_proxy(rustc, &sysroot),
            version: about.lines().next().unwrap_or("unknown").to_owned(),
            llvm_version: field("LLVM version"),
            origin,
            builds_core,
        })
    }
}

/// A path, which means one in the folder of this process; a bare name stays as it is.
fn from_here(program: PathBuf) -> PathBuf {
    match program.components().count() {
        0 | 1 => program,
        _ => std::path::absolute(&program).unwrap_or(program),
    }
}

/// Whether `core` for the GPU is there (`false`) or its source is (`true`).
fn core_must_be_built(sysroot: &Path) -> Result<bool, String> {
    let installed = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    if has_core(&installed) {
        return Ok(false);
    }
    let source = sysroot.join("lib/rustlib/src/rust/library");
    if source.join("core/Cargo.toml").is_file() {
        return Ok(true);
    }
    Err(format!(
        "has neither the target ({}) nor the library's source ({})",
        installed.display(),
        source.display()
    ))
}

/// Whether a compiled `core` is in a folder.
fn has_core(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libcore-") && name.ends_with(".rlib")
        })
    })
}

/// The compiler itself where `rustc` is rustup's proxy, which would choose again.
fn behind_proxy(rustc: &Path, sysroot: &Path) -> PathBuf {
    let name = format!("rustc{}", env::consts::EXE_SUFFIX);
    let inside = sysroot.join("bin").join(name);
    if inside.is_file() { inside } else { rustc.to_owned() }
}

/// What a compiler answers on standard output.
fn ask(rustc: &Path, args: &[&str], folder: &Path) -> Result<String, String> {
    let output = Command::new(rustc)
        .args(args)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("fails: {}", said.lines().next().unwrap_or("it says nothing")))
    }
}
