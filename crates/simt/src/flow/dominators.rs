//! Immediate dominators, by the algorithm of Lengauer and Tarjan (1979) in its simple form: `E log N`, whatever the graph.

use super::graph::Graph;

/// No node.
const NONE: u32 = u32::MAX;

/// The immediate dominator of each node on the ways from `root`; `None` for `root` and what is not reached. `backward`
/// is `graph` with its edges turned round.
pub(super) fn immediate_dominators(
    graph: &Graph,
    backward: &Graph,
    root: usize,
) -> Vec<Option<usize>> {
    let mut forest = Forest::of(graph, root);
    let count = forest.nodes.len() as u32;
    let mut semi: Vec<u32> = (0..count).collect();
    let mut dominators = vec![0; count as usize];
    // The nodes whose semidominator is this one, each with the next.
    let mut first = vec![NONE; count as usize];
    let mut next = vec![NONE; count as usize];
    for node in (1..count).rev() {
        for &before in backward.next(forest.nodes[node as usize] as usize) {
            let before = forest.numbers[before as usize];
            if before != NONE {
                let least = forest.least(before, &semi);
                semi[node as usize] = semi[node as usize].min(semi[least as usize]);
            }
        }
        let bucket = &mut first[semi[node as usize] as usize];
        next[node as usize] = std::mem::replace(bucket, node);
        let parent = forest.parents[node as usize];
        forest.ancestors[node as usize] = parent;
        let mut waiting = std::mem::replace(&mut first[parent as usize], NONE);
        while waiting != NONE {
            let least = forest.least(waiting, &semi);
            let nearer = semi[least as usize] < semi[waiting as usize];
            dominators[waiting as usize] = if nearer { least } else { parent };
            waiting = next[waiting as usize];
        }
    }
    let mut found = vec![None; graph.len()];
    for node in 1..count as usize {
        if dominators[node] != semi[node] {
            dominators[node] = dominators[dominators[node] as usize];
        }
        let dominator = forest.nodes[dominators[node] as usize];
        found[forest.nodes[node] as usize] = Some(dominator as usize);
    }
    found
}

/// The nodes that are reached, numbered in the order of a depth-first search, and what the search has linked so far.
struct Forest {
    /// The node of each number.
    nodes: Vec<u32>,
    /// The number of each node.
    numbers: Vec<u32>,
    /// By number: the one it was reached from.
    parents: Vec<u32>,
    /// By number: one further up the linked tree, and the best on the way there.
    ancestors: Vec<u32>,
    best: Vec<u32>,
}

impl Forest {
    fn of(graph: &Graph, root: usize) -> Forest {
        let mut numbers = vec![NONE; graph.len()];
        let (mut nodes, mut parents) = (Vec::new(), Vec::new());
        let mut stack = vec![(root as u32, 0u32)];
        while let Some((node, parent)) = stack.pop() {
            if numbers[node as usize] != NONE {
                continue;
            }
            let number = nodes.len() as u32;
            numbers[node as usize] = number;
            nodes.push(node);
            parents.push(parent);
            let new = graph.next(node as usize).iter().filter(|&&to| numbers[to as usize] == NONE);
            stack.extend(new.map(|&to| (to, number)));
        }
        let best = (0..nodes.len() as u32).collect();
        Forest { ancestors: vec![NONE; nodes.len()], nodes, numbers, parents, best }
    }

    /// The node of the least semidominator between `node` and the root of its linked tree; ways are made short in passing.
    fn least(&mut self, node: u32, semi: &[u32]) -> u32 {
        let mut way = Vec::new();
        let mut at = node;
        while self.ancestors[at as usize] != NONE {
            way.push(at);
            at = self.ancestors[at as usize];
        }
        // The highest two know already: what is above them is the root of the tree.
        let mut above = match way.pop() {
            Some(top) => top,
            None => return node,
        };
        let root = self.ancestors[above as usize];
        for at in way.into_iter().rev() {
            let (mine, theirs) = (self.best[at as usize], self.best[above as usize]);
            if semi[theirs as usize] < semi[mine as usize] {
                self.best[at as usize] = theirs;
            }
            self.ancestors[at as usize] = root;
            above = at;
        }
        self.best[node as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{EXIT, Guard, Inst, Op, P, W};
    use crate::program::Program;
    use proptest::prelude::*;

    /// The definition: `a` dominates `b` if nothing reaches `b` without `a`.
    fn naive(graph: &Graph, root: usize) -> Vec<Option<usize>> {
        let reached = |without: usize| {
            let mut seen = vec![false; graph.len()];
            let mut stack = vec![root];
            while let Some(node) = stack.pop().filter(|_| root != without) {
                if node != without && !std::mem::replace(&mut seen[node], true) {
                    stack.extend(graph.next(node).iter().map(|&to| to as usize));
                }
            }
            seen
        };
        let all = reached(usize::MAX);
        let without: Vec<_> = (0..graph.len()).map(reached).collect();
        let dominates = |a: usize, b: usize| a != b && all[a] && all[b] && !without[a][b];
        let immediate = |b: usize| {
            let candidates = (0..graph.len()).filter(|&a| dominates(a, b));
            candidates.clone().find(|&a| candidates.clone().all(|c| c == a || dominates(c, a)))
        };
        (0..graph.len()).map(immediate).collect()
    }

    fn program(ops: &[(u8, u32, bool)], table: &[u32]) -> Program {
        let count = ops.len() as u32;
        let target = |n: u32| if n % (count + 1) == count { EXIT } else { n % (count + 1) };
        let inst = |&(kind, to, guarded): &(u8, u32, bool)| {
            let op = match kind {
                0 | 1 => Op::Branch(target(to)),
                2 => Op::BranchTable(W(0), 0),
                3 => Op::Exit,
                4 => Op::Trap,
                _ => Op::Hint,
            };
            let guard = Guard { p: if guarded { P(2) } else { crate::isa::TRUE }, flip: 0 };
            Inst { guard, op, line: 1 }
        };
        let mut program = Program { code: ops.iter().map(inst).collect(), ..Program::default() };
        program.code.push(Inst { guard: Guard::ALWAYS, op: Op::Exit, line: 1 });
        program.tables.push(table.iter().map(|&to| target(to)).collect());
        program
    }

    proptest! {
        #[test]
        fn dominators_are_what_cannot_be_avoided(
            ops in prop::collection::vec((0u8..8, any::<u32>(), any::<bool>()), 1..24),
            table in prop::collection::vec(any::<u32>(), 1..6),
        ) {
            let graph = Graph::of(&program(&ops, &table));
            let back = graph.reversed();
            prop_assert_eq!(immediate_dominators(&graph, &back, 0), naive(&graph, 0));
            let exit = graph.exit();
            prop_assert_eq!(immediate_dominators(&back, &graph, exit), naive(&back, exit));
        }
    }
}
