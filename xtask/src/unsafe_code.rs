//! How much unsafe code there is, and what proves each part of it.
//!
//! `docs/results/unsafe.csv` has a row for each part: a folder or a file, how many unsafe blocks it has, how many functions, traits and
//! implementations, and what holds its arguments to be true. The counts are written here; the proof is written by hand. A file with unsafe code
//! that is in no part is an error: somebody has to say what proves it. (That each block has an argument is a lint.)

use crate::paths;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Part {
    /// The package.
    package: String,
    /// The file, or the folder, from the repository's root.
    part: String,
    blocks: usize,
    declarations: usize,
    proof: String,
}

/// Where unsafe code may be.
const FOLDERS: [&str; 5] = ["crates", "examples", "kernels", "tests", "transpose"];

/// Counts, and writes the table; with `check` it writes nothing and fails if a count would change.
pub fn count(check: bool) -> Result<()> {
    let path = paths::root().join("docs/results/unsafe.csv");
    let mut reader = csv::Reader::from_path(&path).with_context(|| path.display().to_string())?;
    let old: Vec<Part> = reader.deserialize().collect::<Result<_, _>>()?;
    let mut new: Vec<Part> =
        old.iter().map(|part| Part { blocks: 0, declarations: 0, ..part.clone() }).collect();
    for folder in FOLDERS {
        count_in(&paths::root().join(folder), &mut new)?;
    }
    if let Some(part) = new.iter().find(|part| part.blocks + part.declarations == 0) {
        anyhow::bail!("there is no unsafe code in {}", part.part);
    }
    print_by_package(&new);
    if check {
        let stale: Vec<_> =
            old.iter().zip(&new).filter(|(old, new)| old != new).map(|(_, new)| new).collect();
        ensure!(stale.is_empty(), "not what `cargo xtask unsafe` counts: {stale:?}");
        return Ok(());
    }
    let mut writer = csv::Writer::from_path(&path)?;
    new.iter().try_for_each(|part| writer.serialize(part))?;
    Ok(writer.flush()?)
}

fn print_by_package(parts: &[Part]) {
    let mut packages: Vec<&str> = parts.iter().map(|part| part.package.as_str()).collect();
    packages.dedup();
    for package in packages {
        let mine = parts.iter().filter(|part| part.package == package);
        let (blocks, declarations) =
            mine.fold((0, 0), |(b, d), part| (b + part.blocks, d + part.declarations));
        println!(
            "{package}: {blocks} blocks, {declarations} functions, traits and implementations"
        );
    }
}

/// Counts what is in a folder, and adds it to the parts that it belongs to.
fn count_in(folder: &Path, parts: &mut [Part]) -> Result<()> {
    let mut entries: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "target" {
            count_in(&path, parts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            count_file(&path, parts)?;
        }
    }
    Ok(())
}

fn count_file(path: &Path, parts: &mut [Part]) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let (blocks, declarations) = unsafe_in(&text);
    if blocks + declarations == 0 {
        return Ok(());
    }
    let path = path.strip_prefix(paths::root())?;
    let of = |part: &Part| path.starts_with(&part.part);
    // The longest is the closest.
    let part = parts.iter_mut().filter(|part| of(part)).max_by_key(|part| part.part.len());
    let part = part.with_context(|| {
        format!("nothing says what proves the unsafe code in {}", path.display())
    })?;
    part.blocks += blocks;
    part.declarations += declarations;
    Ok(())
}

/// The blocks, and the functions, traits and implementations, that a text says to be unsafe, comments left out.
fn unsafe_in(text: &str) -> (usize, usize) {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut counts = (0, 0);
    for line in code {
        for (at, word) in line.match_indices("unsafe") {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].trim_start();
            if before.is_some_and(|c| c.is_alphanumeric() || "_(\"`#".contains(c)) {
                continue;
            }
            if after.starts_with('{') {
                counts.0 += 1;
            } else if ["fn ", "extern", "impl", "trait"].iter().any(|word| after.starts_with(word))
            {
                counts.1 += 1;
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::unsafe_in;

    #[test]
    fn blocks_and_declarations_are_told_apart() {
        let text = "unsafe fn a() {}\nlet b = unsafe { c() }; // unsafe { }\n#[unsafe(no_mangle)]\n\
                    pub unsafe extern \"C\" fn d() { unsafe { e() } }\nunsafe impl Send for F {}\nlet not_unsafe = 1;";
        assert_eq!(unsafe_in(text), (2, 3));
    }
}
