//! Control flow of a kernel: where diverged lanes meet again, and which
//! registers might be read before they are written.
//!
//! Lanes that part at a branch meet again at its *immediate post-dominator*: the
//! first instruction that every path from the branch must pass. Paths that end
//! in `trap` never meet anything, so they are left out; otherwise one bounds
//! check would keep a whole kernel diverged.
//!
//! All of it takes time and memory in proportion to the text, or nearly so, whatever the text is.

mod dominators;
mod graph;
mod liveness;

use crate::isa::{EXIT, Op, TRUE};
use crate::program::Program;
use dominators::immediate_dominators;
use graph::Graph;

/// Fills in [`Program::reconvergence`] and [`Program::live_in`].
pub(crate) fn analyse(program: &mut Program) {
    let graph = Graph::of(program);
    program.reconvergence = reconvergence(program, &graph);
    program.live_in = liveness::live_in(program, &program.footprint, &graph);
}

/// Whether control, once at a node, is certain to end in a `trap`.
fn doomed(program: &Program, graph: &Graph, predecessors: &Graph) -> Vec<bool> {
    let trap = |inst: &crate::isa::Inst| inst.op == Op::Trap && inst.guard.p == TRUE;
    let mut hopes: Vec<usize> = (0..graph.len()).map(|node| graph.next(node).len()).collect();
    let mut doomed = vec![false; graph.len()];
    let mut found: Vec<usize> =
        (0..program.code.len()).filter(|&at| trap(&program.code[at])).collect();
    while let Some(node) = found.pop() {
        if std::mem::replace(&mut doomed[node], true) {
            continue;
        }
        for &before in predecessors.next(node) {
            hopes[before as usize] -= 1;
            if hopes[before as usize] == 0 {
                found.push(before as usize);
            }
        }
    }
    doomed
}

/// The immediate post-dominator of every instruction: its dominator on the way back from the exit.
fn reconvergence(program: &Program, graph: &Graph) -> Vec<u32> {
    let doomed = doomed(program, graph, &graph.reversed());
    let hopeful = graph.without_edges_to(&doomed);
    let meets = immediate_dominators(&hopeful.reversed(), &hopeful, graph.exit());
    let instructions = program.code.len();
    let meet = |at: usize| {
        let mut node = meets[at];
        // A table is where no lane can be: what comes after it is.
        while let Some(table) = node.filter(|&node| graph.is_table(node)) {
            node = meets[table];
        }
        node.filter(|&node| node < instructions).map_or(EXIT, |node| node as u32)
    };
    (0..instructions).map(meet).collect()
}
