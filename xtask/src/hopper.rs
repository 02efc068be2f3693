//! Running the suite on the PTX that the machine code for compute capability 9.0 is made of.
//!
//! That PTX is built for the one chip and does not ship, so the library's simulated device does not have it, and a GPU is
//! not always there. Here the tests are told to run it in place of what ships.

use crate::assemble::BUILT_FOR_HOPPER;
use crate::command::{cargo, run};
use crate::copy::fresh_folder;
use crate::{paths, ptx};
use anyhow::Result;
use std::fs;

/// The tests that run kernels of those families.
const TESTS: [&str; 7] = [
    "arithmetic",
    "fast_paths",
    "in_place",
    "lifetimes",
    "memory_order",
    "permutations",
    "transposes",
];

/// Runs the tests on that PTX.
pub fn simulate() -> Result<()> {
    let folder = fresh_folder("hopper")?;
    // Of a family that is built in two ways, the one with more features comes last, and is what stays.
    for (family, features, _) in BUILT_FOR_HOPPER {
        let (built, _) = ptx::for_hopper(family, features)?;
        fs::copy(built, folder.join(family).with_extension("ptx"))?;
    }
    // Of the whole workspace, so that nothing is built again that the other tests have built.
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    run(cargo()
        .current_dir(paths::root())
        .args(["test", "--quiet", "--workspace"])
        .args(tests)
        .env("TRANSPOSE_TESTS_PTX", folder))
}
