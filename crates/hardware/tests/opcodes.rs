//! The simulator against the table of what a GPU answered: every instruction that it has, every combination of edges, and ten thousand
//! random operands each; and that it is every instruction that the kernels have.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hardware::opcodes::{self, Case};
use hardware::probe::{self, Operands};
use hardware::table::{Answer, Table};

fn table() -> Table {
    Table::from_zstd(include_bytes!("../data/opcodes.zst")).unwrap()
}

/// What differs between the simulator's answer and the GPU's.
fn difference(case: &Case, table: &Table) -> Option<String> {
    let operands = Operands::new(case, table.seed);
    let Some(there) = table.get(case) else {
        return Some(format!("{}: the simulator has it, the GPU has not", case.body));
    };
    let results = probe::simulate(case, &operands).unwrap_or_else(|e| panic!("{}: {e}", case.body));
    let here = Answer::new(&operands, &results);
    if here == *there {
        return None;
    }
    let count = operands.edges;
    let differs = (0..here.edges.len()).filter(|at| here.edges[*at] != there.edges[*at]);
    let shown = differs.clone().take(4).map(|at| {
        format!(
            " {:x?}: {:#x} here, {:#x} there;",
            operands.of(at % count),
            here.edges[at],
            there.edges[at]
        )
    });
    let shown: String = shown.collect();
    let random = if here.hash == there.hash { "" } else { " random operands too" };
    Some(format!(
        "{}: {} of {} edges differ,{random}:{shown}",
        case.body,
        differs.count(),
        here.edges.len()
    ))
}

#[test]
fn the_simulator_says_what_the_gpu_says() {
    let table = table();
    let simulated: Vec<Case> = opcodes::all().into_iter().filter(probe::is_simulated).collect();
    assert!(simulated.len() > 600, "{} instructions", simulated.len());
    let differences: Vec<String> =
        simulated.iter().filter_map(|case| difference(case, &table)).collect();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// What has no result that operands decide: it goes on elsewhere, waits, orders, hints, or makes addresses.
const WITHOUT_RESULT: [&str; 11] = [
    "bar",
    "barrier",
    "bra",
    "brx",
    "cvta",
    "exit",
    "fence",
    "griddepcontrol",
    "prefetch",
    "ret",
    "trap",
];

/// An opcode; of one that accesses memory what it does, without where and in which order.
fn kind(opcode: &str) -> String {
    const WHERE: [&str; 14] = [
        "acq_rel",
        "acquire",
        "cta",
        "global",
        "gpu",
        "nc",
        "param",
        "relaxed",
        "release",
        "shared",
        "sys",
        "volatile",
        "weak",
        "evict_last",
    ];
    let accesses = ["ld.", "st.", "atom.", "red."].iter().any(|base| opcode.starts_with(base));
    let parts = opcode.split('.').filter(|part| {
        let is_hint = WHERE.contains(part) || part.starts_with("L1::") || part.starts_with("L2::");
        !(accesses && is_hint)
    });
    parts.collect::<Vec<_>>().join(".")
}

/// The opcodes in a text, statement by statement, without those that have no result.
fn opcodes_of(ptx: &str) -> BTreeSet<String> {
    let statements = ptx.lines().flat_map(|line| line.split(';'));
    let opcode = |statement: &str| {
        let mut words = statement.split_whitespace().skip_while(|word| word.starts_with('@'));
        let word = words
            .next()
            .filter(|word| word.starts_with(|first: char| first.is_ascii_lowercase()))?;
        let base = word.split('.').next()?;
        (word.contains('.') && !WITHOUT_RESULT.contains(&base)).then(|| kind(word))
    };
    statements.filter_map(opcode).collect()
}

/// Whatever kernel is added, its instructions are among those that a GPU was asked about.
#[test]
fn what_the_kernels_have_is_in_the_table() {
    let table = table();
    let known: BTreeSet<String> = opcodes::all()
        .iter()
        .filter(|case| table.get(case).is_some())
        .flat_map(|case| opcodes_of(&case.body))
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seen = BTreeSet::new();
    for folder in ["transpose/ptx", "crates/study/ptx"] {
        for file in fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|extension| extension == "ptx") {
                seen.extend(opcodes_of(&fs::read_to_string(file).unwrap()));
            }
        }
    }
    assert!(seen.len() > 100, "{} opcodes", seen.len());
    let unknown: Vec<_> = seen.difference(&known).collect();
    assert!(unknown.is_empty(), "no GPU was asked about {unknown:?}");
}
