//! Kernels that do not ship, tried in the place of those that do: `cargo xtask hopper` names a folder of them.

use std::fs;
use std::path::PathBuf;
use std::sync::Once;
use transpose::simulator::run_instead;

/// The variable that names the folder; its files are named by the families of the kernels.
const FOLDER: &str = "TRANSPOSE_TESTS_PTX";

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// The PTX of a family: what ships, or what is tried in its place.
pub fn ptx(family: &str, shipped: &str) -> String {
    let tried = folder().map(|folder| folder.join(family).with_extension("ptx"));
    tried
        .filter(|path| path.exists())
        .map_or_else(|| shipped.to_owned(), |path| fs::read_to_string(path).unwrap())
}

/// Has simulated devices run the kernels of the folder, if one is named.
pub(crate) fn replace() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(folder) = folder() else { return };
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let family = path.file_stem().and_then(|stem| stem.to_str()).unwrap();
            let ptx = fs::read_to_string(&path).unwrap();
            assert!(run_instead(family, &ptx).unwrap(), "there is no family {family}");
        }
    });
}
