//! Running the suite on the PTX that the machine code for compute capability 9.0 is made of.
//!
//! That PTX is built for the one chip and does not ship, so the library's simulated device does not have it, and a GPU is
//! not always there. Here a copy of the repository gets it in place of what ships, and the copy's tests are run.

use crate::assemble::BUILT_FOR_HOPPER;
use crate::command::{cargo, run};
use crate::copy::{copy_all, fresh_folder};
use crate::{pack, paths, ptx};
use anyhow::Result;
use std::fs;

/// What cargo needs of the repository.
const PARTS: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "examples",
    "rust-toolchain.toml",
    "tests",
    "transpose",
    "xtask",
];

/// The tests that run kernels of those families.
const TESTS: [&str; 6] =
    ["fast_paths", "in_place", "lifetimes", "memory_order", "permutations", "transposes"];

/// Runs the tests on that PTX.
pub fn simulate() -> Result<()> {
    let copy = fresh_folder("hopper")?;
    for part in PARTS {
        copy_all(&paths::root().join(part), &copy.join(part))?;
    }
    // Of a family that is built in two ways, the one with more features comes last, and is what stays.
    for (family, features, _) in BUILT_FOR_HOPPER {
        let (built, _) = ptx::for_hopper(family, features)?;
        let packed = copy.join("transpose/ptx").join(format!("{family}.ptx.zst"));
        fs::write(&packed, pack::pack(&packed, &fs::read(built)?)?)?;
    }
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    run(cargo()
        .current_dir(&copy)
        .args(["test", "--quiet", "-p", "transpose-tests"])
        .args(tests)
        // Cargo takes what is built in one folder for what the other would be: the copy's library differs in a file, not in its name.
        .env("CARGO_TARGET_DIR", paths::scratch("hopper-target")))
}
