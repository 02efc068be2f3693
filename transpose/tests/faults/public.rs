//! Every public function that can fail is in a table of operations, or said to be none that asks the driver.
//!
//! The sources are read as text: a name that several types have counts once.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The tables, and the tests of what is in none of them.
const TRIED: [&str; 5] = [
    include_str!("operations.rs"),
    include_str!("numbers.rs"),
    include_str!("several.rs"),
    include_str!("host.rs"),
    include_str!("interop.rs"),
];

/// Sources that are not public: what their functions ask is asked by those that are.
const INTERNAL: &[&str] = &[
    "device/cuda",
    "device/cuda.rs",
    "device/host_memory.rs",
    "host/board.rs",
    "host/budget.rs",
    "host/cargo.rs",
    "host/crew.rs",
    "host/ends.rs",
    "host/files/turner.rs",
    "host/kernel.rs",
    "host/look_up.rs",
    "host/pieces.rs",
    "host/pipeline.rs",
    "host/plan.rs",
    "host/schedule.rs",
    "host/staging.rs",
    "in_place/layouts.rs",
    "in_place/parts.rs",
    "in_place/recipe.rs",
    "host/stretches.rs",
    "plan/matrix.rs",
    "plan/tensor/conjugating.rs",
    "plan/tensor/plan.rs",
    "sharded/pieces.rs",
    "sharded/processes/mpi",
    "sharded/processes/nccl",
    "sharded/processes/rounds.rs",
    "sharded/processes/wire.rs",
    "simulator/modules.rs",
];

/// Functions that ask the driver for nothing, and why they can fail.
const ASK_NOTHING: &[(&str, &[&str])] = &[
    (
        "they make a view or a layout of another",
        &[
            "broadcast",
            "cast",
            "contiguous",
            "index_axis",
            "insert_axis",
            "permute_axes",
            "pinned",
            "split_at",
            "split_at_col",
            "split_at_col_mut",
            "split_at_row",
            "split_at_row_mut",
            "swap_axes",
        ],
    ),
    (
        "they plan for layouts",
        &[
            "batched_for_layouts",
            "candidates_onto",
            "conjugating_candidates",
            "for_layouts",
            "moving_candidates_for_layouts",
            "census",
            "moving_for_layouts",
            "steps",
            "with_facts",
        ],
    ),
    ("it is of a file", &["save"]),
    ("they vouch for what is there", &["from_raw_parts", "move_to", "of_others"]),
];

/// Functions that ask all GPUs or other processes. The driver of these tests has one GPU and knows no processes: tests/sharded.rs and
/// tests/processes.rs have what becomes of their errors.
const OF_MANY: &[&str] = &[
    "all_gather",
    "connect",
    "from_env",
    "from_shard",
    "listening",
    "of_gpus",
    "receive",
    "receive_into",
    "send",
    "zeroed_for_peers",
];

/// The names of public functions of a file that answer with a `Result`.
fn fallible(source: &str) -> impl Iterator<Item = &str> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let source = source.split("#[cfg(all(test").next().unwrap_or_default();
    source.split("\n    pub ").chain(source.split("\npub ")).skip(1).filter_map(|text| {
        let text = text.trim_start_matches("unsafe ").trim_start_matches("const ");
        let text = text.strip_prefix("fn ")?;
        let signature = text.split([';', '{']).next()?;
        let name = text.split(['(', '<']).next()?;
        signature.rsplit_once("->")?.1.contains("Result<").then_some(name)
    })
}

/// Adds those of all files of a folder that are not internal.
fn collect(folder: &Path, root: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let below = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        if INTERNAL.contains(&below.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, root, names);
        } else if below.ends_with(".rs") {
            let source = fs::read_to_string(&path).unwrap();
            names.extend(fallible(&source).map(str::to_owned));
        }
    }
}

/// Whether a text calls or names a function.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    })
}

#[test]
fn every_public_operation_is_tried() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut public = BTreeSet::new();
    collect(&root, &root, &mut public);
    assert!(public.len() > 100 && public.contains("transpose_in_place"), "{public:?}");
    let known: BTreeSet<&str> =
        ASK_NOTHING.iter().flat_map(|(_, names)| names.iter()).chain(OF_MANY).copied().collect();
    let tried = |name: &&String| TRIED.iter().any(|table| names(table, name));
    let missing: Vec<_> =
        public.iter().filter(|name| !known.contains(name.as_str())).filter(|n| !tried(n)).collect();
    assert!(missing.is_empty(), "in no table of operations: {missing:?}");
    let gone: Vec<_> = known.iter().filter(|name| !public.contains(**name)).collect();
    assert!(gone.is_empty(), "these are no functions any more: {gone:?}");
}
