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
pub const FAMILIES: [&str; 10] = [
    "classic",
    "fast",
    "study",
    "in_place",
    "in_place_studies",
    "tensor",
    "arithmetic_rows",
    "arithmetic_pixels",
    "arithmetic_matrices",
    "arithmetic_tensors",
];

/// The crate that a family ships with: the library, or the study of the texts.
fn home(family: &str) -> PathBuf {
    root().join(if family == "study" { "crates/study" } else { "transpose" })
}

/// The PTX of a family, as it ships.
pub fn shipped_ptx(family: &str) -> PathBuf {
    home(family).join("ptx").join(format!("{family}.ptx"))
}

/// The PTX of a family, packed, as programs have it.
pub fn packed_ptx(family: &str) -> PathBuf {
    home(family).join("ptx").join(format!("{family}.ptx.lzma"))
}

/// The machine code of a family for a chip, packed, as it ships: so that it expands quickly if the first launch of a program that leaves the choice to the library is
/// likely to be one of these kernels, of little memory, on a chip that many have; else so that it is small.
pub fn shipped_cubin(family: &str, chip: &str) -> PathBuf {
    let format = if family == "fast" && chip != "sm_75" { "lz4" } else { "lzma" };
    home(family).join("cubin").join(format!("{family}.{chip}.cubin.{format}"))
}

/// The record of the assembler that the cubins come from.
pub fn assembler_version() -> PathBuf {
    root().join("transpose/cubin/ASSEMBLER")
}

/// The PTX of a family that the machine code for compute capability 9.0 is made of, with more features of the kernel crate: packed, for the tests.
pub fn hopper_ptx(family: &str, features: &[&str]) -> PathBuf {
    let set = if features.is_empty() { "plain".to_owned() } else { features.join("-") };
    root().join("tests/hopper").join(set).join(format!("{family}.ptx.lzma"))
}

/// Scratch space that git ignores.
pub fn scratch(name: &str) -> PathBuf {
    root().join("target/xtask").join(name)
}
