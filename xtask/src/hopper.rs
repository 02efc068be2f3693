//! Running the suite on the PTX that the machine code for compute capability 9.0 is made of.
//!
//! That PTX is built for the one chip and does not ship, so the library's simulated device does not have it, and a GPU is
//! not always there. Here the tests are told to run it in place of what ships.

use crate::assemble::BUILT_FOR_HOPPER;
use crate::command::{cargo, run};
use crate::{paths, ptx};
use anyhow::{Result, ensure};

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

/// Runs the tests on that PTX, which is built first unless it is there.
pub fn simulate(built: bool) -> Result<()> {
    if !built {
        for (family, features, _) in BUILT_FOR_HOPPER {
            ptx::for_hopper(family, features)?;
        }
    }
    let folder = paths::hopper_folder();
    ensure!(folder.is_dir(), "{} is not there: `cargo xtask assemble` writes it", folder.display());
    // Of the whole workspace, so that nothing is built again that the other tests have built.
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    run(cargo()
        .current_dir(paths::root())
        .args(["test", "--quiet", "--workspace"])
        .args(tests)
        .env("TRANSPOSE_TESTS_PTX", folder))
}
