//! Which instruction may follow which.

use crate::isa::{EXIT, Op, TRUE};
use crate::program::Program;

/// Instructions, then the tables of branch targets, then the exit: the nodes, and the edges from each to others.
///
/// A table is a node of its own, so that many branches through one long table have an edge each, and not one to each target.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Where each node's edges start in `targets`, and where the last one's end.
    starts: Vec<u32>,
    targets: Vec<u32>,
    instructions: usize,
}

impl Graph {
    pub fn of(program: &Program) -> Graph {
        let instructions = program.code.len();
        let exit = (instructions + program.tables.len()) as u32;
        let node = |target: u32| if target == EXIT { exit } else { target };
        let mut graph = Graph { starts: vec![0], targets: Vec::new(), instructions };
        let mut next = Vec::new();
        for (at, inst) in program.code.iter().enumerate() {
            match inst.op {
                Op::Branch(target) => next.push(node(target)),
                Op::BranchTable(_, table) => next.push(instructions as u32 + table),
                Op::Exit | Op::Trap => next.push(exit),
                _ => {}
            }
            if next.is_empty() || inst.guard.p != TRUE {
                next.push(at as u32 + 1);
            }
            graph.push(&mut next);
        }
        for table in &program.tables {
            next.extend(table.iter().map(|&target| node(target)));
            graph.push(&mut next);
        }
        graph.push(&mut next);
        graph
    }

    /// Adds a node with edges to `next`, and empties that.
    fn push(&mut self, next: &mut Vec<u32>) {
        next.sort_unstable();
        next.dedup();
        self.targets.append(next);
        self.starts.push(self.targets.len() as u32);
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Where all lanes end.
    pub fn exit(&self) -> usize {
        self.len() - 1
    }

    pub fn is_table(&self, node: usize) -> bool {
        (self.instructions..self.exit()).contains(&node)
    }

    /// The nodes that there are edges to, from `node`.
    pub fn next(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }

    /// Every edge, `(from, to)`.
    fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..self.len()).flat_map(|from| self.next(from).iter().map(move |&to| (from as u32, to)))
    }

    /// The same nodes with every edge turned round.
    pub fn reversed(&self) -> Graph {
        let mut starts = vec![0u32; self.len() + 2];
        self.targets.iter().for_each(|&to| starts[to as usize + 2] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        let mut targets = vec![0; self.targets.len()];
        for (from, to) in self.edges() {
            let place = &mut starts[to as usize + 1];
            targets[*place as usize] = from;
            *place += 1;
        }
        starts.pop();
        Graph { starts, targets, instructions: self.instructions }
    }

    /// The same nodes without the edges to those of `left_out`.
    pub fn without_edges_to(&self, left_out: &[bool]) -> Graph {
        let mut graph =
            Graph { starts: vec![0], targets: Vec::new(), instructions: self.instructions };
        let mut kept = Vec::new();
        for node in 0..self.len() {
            kept.extend(self.next(node).iter().filter(|&&to| !left_out[to as usize]));
            graph.push(&mut kept);
        }
        graph
    }

    /// What can be reached from `root`, each node after those that are reached from it first.
    pub fn post_order(&self, root: usize) -> Vec<u32> {
        let mut seen = vec![false; self.len()];
        let mut order = Vec::new();
        let mut stack = vec![(root, 0)];
        seen[root] = true;
        while let Some((node, child)) = stack.last_mut() {
            match self.next(*node).get(*child) {
                Some(&next) => {
                    *child += 1;
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        stack.push((next as usize, 0));
                    }
                }
                None => {
                    order.push(*node as u32);
                    stack.pop();
                }
            }
        }
        order
    }
}
