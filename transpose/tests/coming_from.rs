//! The tables of `docs/coming-from.md` name functions that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The text of every source file in a folder.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    entries.map(|path| if path.is_dir() { sources(&path) } else { text(&path) }).collect()
}

/// The words in a piece of code that are called.
fn called(code: &str) -> impl Iterator<Item = &str> {
    let ends = code.match_indices('(').map(|(end, _)| &code[..end]);
    let word = |before: &'_ str| {
        before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1)
    };
    ends.map(move |before| &before[word(before)..]).filter(|name| !name.is_empty())
}

/// What the last column of each table calls.
fn names(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = rows.filter_map(|row| row.rsplit(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).flat_map(called).collect()
}

#[test]
fn every_function_named_there_exists() {
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let names = names(include_str!("../coming-from.md"));
    assert!(names.len() > 30 && names.contains("permute_axes"), "{names:?}");
    let defined = |name: &str| {
        [format!("fn {name}("), format!("fn {name}<")].iter().any(|start| sources.contains(start))
    };
    let missing: Vec<_> = names.iter().filter(|name| !defined(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
