//! Running the suite on the PTX that the machine code for compute capability 9.0 is made of.
//!
//! That PTX is built for the one chip and does not ship, so the library's simulated device does not have it, and a GPU is
//! not always there. Here the tests are told to run it in place of what ships.

use crate::command::{cargo, run};
use crate::{assemble, paths};
use anyhow::{Result, ensure};

/// For each set of features that some of that PTX is built with, the tests that run kernels of its families.
const TESTS: [(&[&str], &[&str]); 2] = [
    (
        &["evict_last"],
        &[
            "arithmetic",
            "batches",
            "conjugation",
            "fast_paths",
            "in_place",
            "lifetimes",
            "memory_order",
            "permutations",
            "squares",
            "transposes",
        ],
    ),
    (&[], &["batches", "fast_paths", "transposes"]),
];

/// Runs the tests on that PTX, which is built first unless it is there.
pub fn simulate(built: bool) -> Result<()> {
    if !built {
        assemble::build_for_hopper()?;
    }
    for (features, tests) in TESTS {
        let folder = paths::hopper_folder(features);
        let there = folder.is_dir();
        ensure!(there, "{} is not there: `cargo xtask assemble` writes it", folder.display());
        // Of the whole workspace, so that nothing is built again that the other tests have built.
        let tests = tests.iter().flat_map(|test| ["--test", test]);
        run(cargo()
            .current_dir(paths::root())
            .args(["test", "--quiet", "--workspace"])
            .args(tests)
            .env("TRANSPOSE_TESTS_PTX", folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::TESTS;
    use crate::assemble::BUILT_FOR_HOPPER;

    #[test]
    fn all_that_is_built_is_run() {
        for (family, features, name) in BUILT_FOR_HOPPER {
            let place = crate::paths::hopper_folder(features).join(family);
            let same = |&(of, with, _): &(&str, &[&str], &str)| {
                crate::paths::hopper_folder(with).join(of) == place
            };
            assert_eq!(BUILT_FOR_HOPPER.iter().filter(|one| same(one)).count(), 1, "{name}");
            assert!(TESTS.iter().any(|(of, _)| *of == features), "{name}");
        }
    }
}
