//! Where things are in the repository.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
}

/// The kernel crate.
pub fn kernels() -> PathBuf {
    root().join("kernels")
}

/// The families of kernels: features of the kernel crate, and files that ship.
pub const FAMILIES: [&str; 2] = ["classic", "in_place"];

/// The PTX of a family, as it ships with the library.
pub fn shipped_ptx(family: &str) -> PathBuf {
    root().join("transpose/ptx").join(format!("{family}.ptx"))
}

/// Scratch space that git ignores.
pub fn scratch(name: &str) -> PathBuf {
    root().join("target/xtask").join(name)
}
