//! Running the suite on the PTX that the machine code for compute capability 9.0 is made of.
//!
//! That PTX is built for the one chip and does not ship, so the library's simulated device does not have it, and a GPU is
//! not always there. It is kept with the tests (`cargo xtask cubin` writes it), which are told here to run it in place of what ships.

use crate::assemble::BUILT_FOR_HOPPER;
use crate::command::{cargo, run};
use crate::{copy, pack, paths};
use anyhow::Result;
use std::fs;
use std::path::PathBuf;

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

/// Runs the tests on that PTX, as it is kept with them.
pub fn simulate() -> Result<()> {
    for (features, tests) in TESTS {
        let folder = unpack(features)?;
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

/// A folder with the PTX that was built with these features, as text.
fn unpack(features: &[&str]) -> Result<PathBuf> {
    let folder = copy::fresh_folder(&format!("hopper-{}", features.join("-")))?;
    for (family, ..) in BUILT_FOR_HOPPER.iter().filter(|(_, with, _)| *with == features) {
        let ptx = pack::read(&paths::hopper_ptx(family, features))?;
        fs::write(folder.join(family).with_extension("ptx"), ptx)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::{BUILT_FOR_HOPPER, TESTS, paths};

    #[test]
    fn all_that_is_built_is_run() {
        for (family, features, name) in BUILT_FOR_HOPPER {
            let kept = |(of, with, _): &(&str, &[&str], &str)| paths::hopper_ptx(of, with);
            let place = paths::hopper_ptx(family, features);
            assert_eq!(
                BUILT_FOR_HOPPER.iter().filter(|one| kept(one) == place).count(),
                1,
                "{name}"
            );
            assert!(TESTS.iter().any(|(of, _)| *of == features), "{name}");
        }
    }
}
