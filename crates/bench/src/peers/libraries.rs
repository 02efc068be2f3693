//! Where NVIDIA's libraries are: where the loader finds them, or in Python's wheels.

use libloading::Library;
use std::env;
use std::fs::read_dir;
use std::path::{Path, PathBuf};

/// Opens the first of some libraries that there is: those that the loader finds by name, then those in wheels.
///
/// # Errors
/// Why the last one cannot be opened.
pub fn open(names: &[&str]) -> Result<Library, String> {
    let by_name = names.iter().map(PathBuf::from);
    let all = by_name.chain(names.iter().flat_map(|name| in_wheels(&packages(), name)));
    let mut reason = String::new();
    for path in all {
        match open_file(&path) {
            Ok(library) => return Ok(library),
            // That a file which is there cannot be opened says more than that the loader finds none.
            Err(error) if path.is_absolute() || reason.is_empty() => reason = error,
            Err(_) => {}
        }
    }
    Err(reason)
}

/// Opens a library: one of a path, or of a name.
///
/// # Errors
/// Why it cannot be opened.
pub fn open_file(path: &Path) -> Result<Library, String> {
    // SAFETY: the initializers of NVIDIA's libraries do nothing that this program relies on not being done.
    unsafe { Library::new(path) }.map_err(|error| error.to_string())
}

/// The files of a name that wheels have in these folders of packages.
fn in_wheels(packages: &[PathBuf], name: &str) -> Vec<PathBuf> {
    /// Folders of NVIDIA's wheels.
    const WHEELS: [&str; 4] =
        ["cutensor/lib", "nvidia/cu13/lib", "nvidia/cublas/lib", "nvidia/cu12/lib"];
    let files = packages
        .iter()
        .flat_map(|folder| WHEELS.iter().map(move |wheel| folder.join(wheel).join(name)));
    files.filter(|file| file.is_file()).collect()
}

/// The folders that Python has its packages in: those of an environment that is active, of each `python3` on the path, and of the user.
fn packages() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let pythons = env::split_paths(&path).map(|folder| folder.join("python3"));
    let pythons = pythons.filter_map(|python| {
        Some(python.is_file().then_some(python)?.parent()?.parent()?.to_path_buf())
    });
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let user = env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    let roots = active.into_iter().chain(pythons).chain(user).chain([PathBuf::from("/usr/local")]);
    roots.flat_map(|root| packages_of(&root)).collect()
}

/// The folders of packages below a prefix: `lib/python3.12/site-packages`, of any version.
fn packages_of(root: &Path) -> Vec<PathBuf> {
    let versions = read_dir(root.join("lib")).into_iter().flatten().flatten();
    let versions =
        versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    let folders = versions.flat_map(|entry| {
        ["site-packages", "dist-packages"].map(|packages| entry.path().join(packages))
    });
    folders.filter(|folder| folder.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn wheels_are_found_below_a_prefix() -> std::io::Result<()> {
        let root = tempfile::tempdir()?;
        let site = root.path().join("lib/python3.12/site-packages");
        fs::create_dir_all(site.join("cutensor/lib"))?;
        fs::create_dir_all(root.path().join("lib/other/site-packages"))?;
        let file = site.join("cutensor/lib/libcutensor.so.2");
        fs::write(&file, "no library")?;
        assert_eq!(packages_of(root.path()), [site]);
        assert_eq!(in_wheels(&packages_of(root.path()), "libcutensor.so.2"), [&*file]);
        assert!(in_wheels(&packages_of(root.path()), "libcublas.so.13").is_empty());
        assert!(open_file(&file).is_err());
        assert!(packages_of(&root.path().join("nowhere")).is_empty());
        Ok(())
    }
}
