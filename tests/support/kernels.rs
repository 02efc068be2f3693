//! Kernels that do not ship, tried in the place of those that do: `cargo xtask hopper` names a folder of them.

use std::fs;
use std::sync::Once;
use transpose::simulator::run_instead;

/// The variable that names the folder; its files are named by the families of the kernels.
const FOLDER: &str = "TRANSPOSE_TESTS_PTX";

/// Has simulated devices run the kernels of the folder, if one is named.
pub(crate) fn replace() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(folder) = std::env::var_os(FOLDER) else { return };
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let family = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
            let ptx = fs::read_to_string(&path).unwrap();
            assert!(run_instead(family, &ptx).unwrap(), "there is no family {family}");
        }
    });
}
