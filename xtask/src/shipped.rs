//! What ships is what the kernels compile and assemble to, and the assembler has made no known fault of it: seen once of these very files, and recorded.
//!
//! To compile and to assemble everything takes a core ten minutes. The outcome depends on nothing but the sources, the compiler, the assembler and what ships,
//! so where none of these has changed since all was found as it should be, it is not looked at again. The record is a digest of them all; where
//! the files have another digest than the recorded one, everything is compiled, assembled and compared.

use crate::{assemble, paths, ptx};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Sources, what makes PTX and machine code of them, what ships, and the PTX that the tests have: files and folders.
const FILES: [&str; 19] = [
    "Cargo.lock",
    "Cargo.toml",
    "crates/cuda_builder",
    "crates/cuda_std",
    "crates/cuda_std_macros",
    "crates/kernel_abi",
    "crates/study/cubin",
    "crates/study/ptx",
    "kernels",
    "tests/hopper",
    "transpose/cubin",
    "transpose/ptx",
    "transpose/src/image",
    "xtask/src/assemble.rs",
    "xtask/src/command.rs",
    "xtask/src/instructions.rs",
    "xtask/src/pack",
    "xtask/src/paths.rs",
    "xtask/src/ptx.rs",
];

/// Checks what ships, unless it is recorded as it is; with `record` checks it in any case, and records it.
pub fn check(record: bool) -> Result<()> {
    let digest = format!("{:016x}\n", digest()?);
    let file = paths::root().join("xtask/shipped.txt");
    if !record && fs::read_to_string(&file).is_ok_and(|recorded| recorded == digest) {
        println!("what ships is recorded to be what the kernels compile and assemble to");
        return Ok(());
    }
    let compared = ptx::ptx(true, None)? & assemble::assemble(false, None)?;
    if !record {
        println!("all was done, for the record is of other files: `cargo xtask shipped --record`");
        return Ok(());
    }
    ensure!(compared, "not recorded: by this compiler or assembler not everything was compared");
    fs::write(&file, digest).with_context(|| file.display().to_string())
}

/// The digest of the files, by name and content, of the compiler and of the assembler.
fn digest() -> Result<u64> {
    let compiler = cuda_builder::Toolchain::find(&paths::kernels())?.version;
    let mut hasher = DefaultHasher::new();
    (compiler, assemble::WHEEL).hash(&mut hasher);
    for file in FILES {
        add(&mut hasher, &paths::root().join(file))?;
    }
    Ok(hasher.finish())
}

/// Adds a file, or all of a folder that git does not ignore.
fn add(hasher: &mut DefaultHasher, path: &Path) -> Result<()> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?;
        entries.retain(|entry| entry.file_name().is_some_and(|name| name != "target"));
        entries.sort();
        return entries.iter().try_for_each(|entry| add(hasher, entry));
    }
    path.strip_prefix(paths::root())?.hash(hasher);
    fs::read(path).with_context(|| path.display().to_string())?.hash(hasher);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::add;
    use std::fs;
    use std::hash::{DefaultHasher, Hasher};

    #[test]
    fn a_digest_tells_names_and_contents_and_leaves_out_what_was_built() {
        let folder = crate::copy::fresh_folder("digests").unwrap();
        let digest = || {
            let mut hasher = DefaultHasher::new();
            add(&mut hasher, &folder).unwrap();
            hasher.finish()
        };
        fs::write(folder.join("a"), "1").unwrap();
        let first = digest();
        fs::create_dir(folder.join("target")).unwrap();
        fs::write(folder.join("target/b"), "2").unwrap();
        assert_eq!(digest(), first);
        fs::write(folder.join("a"), "2").unwrap();
        assert_ne!(digest(), first);
        fs::remove_file(folder.join("a")).unwrap();
        fs::write(folder.join("b"), "1").unwrap();
        assert_ne!(digest(), first);
    }
}
