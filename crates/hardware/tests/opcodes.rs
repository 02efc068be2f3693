//! The simulator against the table of what a GPU answered: every instruction that it has, every combination of edges, and ten thousand
//! random operands each.

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
