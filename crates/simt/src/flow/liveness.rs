//! The registers that some path reads before it writes them.
//!
//! Only what is live where the kernel starts is asked for, so no set is kept for each place: registers are followed backward from
//! where they are read, 64 at a time, through basic blocks that do not write them.

use super::graph::Graph;
use crate::isa::{D, Init, P, TRUE, W};
use crate::program::{Footprint, Key, LiveIn, Program};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// Registers followed at a time: as many as a word has bits.
const TOGETHER: usize = 64;

pub(super) fn live_in(program: &Program, footprint: &[Footprint], graph: &Graph) -> LiveIn {
    let blocks = Blocks::of(program, footprint, graph);
    let mut live = HashSet::new();
    let mut flow = Flow::new(blocks.predecessors.len());
    for registers in blocks.read_early.chunks(TOGETHER) {
        let entry = flow.run(&blocks, registers);
        let found = registers.iter().enumerate().filter(|(bit, _)| entry >> bit & 1 == 1);
        live.extend(found.map(|(_, (key, _))| *key));
    }
    let unset = |inits: &[Option<Init>], key: fn(u16) -> Key| {
        let indices = 0..inits.len() as u16;
        let live = |at: &u16| inits[usize::from(*at)].is_none() && live.contains(&key(*at));
        indices.filter(live).collect()
    };
    LiveIn {
        words: unset(&program.words, |at| W(at).into()),
        doubles: unset(&program.doubles, |at| D(at).into()),
        predicates: (1..program.predicates as u16)
            .filter(|&at| live.contains(&P(at).into()))
            .collect(),
    }
}

/// Basic blocks that can be reached, numbered so that most come after those that follow them.
struct Blocks {
    predecessors: Vec<Vec<u32>>,
    /// Registers that some blocks read before they write them, with those blocks.
    read_early: Vec<(Key, Vec<u32>)>,
    /// The blocks that surely write a register.
    written: HashMap<Key, Vec<u32>>,
    entry: u32,
}

impl Blocks {
    fn of(program: &Program, footprint: &[Footprint], graph: &Graph) -> Blocks {
        let order = graph.post_order(0);
        let leads = leaders(graph, &order);
        // The block of each node: that of the one before it, unless it leads one.
        let mut block_of = vec![u32::MAX; graph.len()];
        let mut count = 0;
        for &node in order.iter().filter(|&&node| leads[node as usize]) {
            block_of[node as usize] = count;
            count += 1;
        }
        let reached: HashSet<u32> = order.iter().copied().collect();
        for node in 1..graph.len() {
            if !leads[node] && reached.contains(&(node as u32)) {
                block_of[node] = block_of[node - 1];
            }
        }
        let mut predecessors = vec![Vec::new(); count as usize];
        for &node in &order {
            for &next in graph.next(node as usize).iter().filter(|&&next| leads[next as usize]) {
                predecessors[block_of[next as usize] as usize].push(block_of[node as usize]);
            }
        }
        let mut blocks = Blocks {
            predecessors,
            read_early: Vec::new(),
            written: HashMap::new(),
            entry: block_of[0],
        };
        blocks.note_registers(program, footprint, &block_of);
        blocks
    }

    fn note_registers(&mut self, program: &Program, footprint: &[Footprint], block_of: &[u32]) {
        let mut read: HashMap<Key, Vec<u32>> = HashMap::new();
        for (at, touched) in
            footprint.iter().enumerate().filter(|(at, _)| block_of[*at] != u32::MAX)
        {
            let block = block_of[at];
            for key in &touched.uses {
                let written = self.written.get(key).and_then(|blocks| blocks.last());
                let known = read.entry(*key).or_default();
                if written != Some(&block) && known.last() != Some(&block) {
                    known.push(block);
                }
            }
            // A guarded instruction may leave its target as it was.
            if program.code[at].guard.p == TRUE {
                for key in &touched.defs {
                    let known = self.written.entry(*key).or_default();
                    if known.last() != Some(&block) {
                        known.push(block);
                    }
                }
            }
        }
        self.read_early = read.into_iter().filter(|(_, blocks)| !blocks.is_empty()).collect();
        // Neighbours are often read in the same places, and travel together.
        self.read_early.sort_unstable();
    }
}

/// Whether a node is the first of a basic block: the entry, and what has another way in than from the node before it alone.
fn leaders(graph: &Graph, order: &[u32]) -> Vec<bool> {
    let mut leads = vec![false; graph.len()];
    leads[0] = true;
    for &node in order {
        let next = graph.next(node as usize);
        if next != [node + 1] || graph.is_table(node as usize) {
            next.iter().for_each(|&next| leads[next as usize] = true);
        }
    }
    // Tables and the exit have no instruction before them.
    (0..graph.len()).filter(|&node| graph.is_table(node)).for_each(|node| leads[node] = true);
    leads[graph.exit()] = true;
    leads
}

/// The registers that are live at the start of each block, as bits; all 0 between runs.
struct Flow {
    live: Vec<u64>,
    written: Vec<u64>,
    waiting: BinaryHeap<Reverse<u32>>,
    queued: Vec<bool>,
}

impl Flow {
    fn new(blocks: usize) -> Flow {
        Flow {
            live: vec![0; blocks],
            written: vec![0; blocks],
            waiting: BinaryHeap::new(),
            queued: vec![false; blocks],
        }
    }

    /// Which of `registers` are live at the entry.
    fn run(&mut self, blocks: &Blocks, registers: &[(Key, Vec<u32>)]) -> u64 {
        let written_in = |key| blocks.written.get(key).map_or(&[][..], Vec::as_slice);
        for (bit, (key, read)) in registers.iter().enumerate() {
            written_in(key).iter().for_each(|&block| self.written[block as usize] |= 1 << bit);
            read.iter().for_each(|&block| self.reach(block, 1 << bit));
        }
        let mut touched: Vec<u32> = Vec::new();
        while let Some(Reverse(block)) = self.waiting.pop() {
            self.queued[block as usize] = false;
            touched.push(block);
            for &before in &blocks.predecessors[block as usize] {
                let passed = self.live[block as usize] & !self.written[before as usize];
                self.reach(before, passed);
            }
        }
        let entry = self.live[blocks.entry as usize];
        touched.iter().for_each(|&block| self.live[block as usize] = 0);
        for (key, _) in registers {
            written_in(key).iter().for_each(|&block| self.written[block as usize] = 0);
        }
        entry
    }

    fn reach(&mut self, block: u32, registers: u64) {
        let live = &mut self.live[block as usize];
        if registers & !*live != 0 {
            *live |= registers;
            if !std::mem::replace(&mut self.queued[block as usize], true) {
                self.waiting.push(Reverse(block));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::{EXIT, Guard, Inst, Op};
    use proptest::prelude::*;

    /// One step of a random kernel: its kind, where it jumps to, its guard, what it reads and writes.
    type Step = (u8, u32, bool, Vec<u16>, Vec<u16>);

    fn kernel(steps: &[Step], table: &[u32]) -> (Program, Vec<Footprint>) {
        let count = steps.len() as u32;
        let target = |n: u32| if n % (count + 1) == count { EXIT } else { n % (count + 1) };
        let mut program = Program {
            words: vec![None; 100],
            predicates: 3,
            tables: vec![table.iter().map(|&to| target(to)).collect()],
            ..Program::default()
        };
        let mut footprint = Vec::new();
        for (kind, to, guarded, uses, defs) in steps {
            let op = match kind {
                0 | 1 => Op::Branch(target(*to)),
                2 => Op::BranchTable(W(0), 0),
                3 => Op::Exit,
                _ => Op::Hint,
            };
            let guard = Guard { p: if *guarded { P(2) } else { TRUE }, flip: 0 };
            program.code.push(Inst { guard, op, line: 1 });
            let keys = |registers: &[u16]| registers.iter().map(|&w| W(w).into()).collect();
            footprint.push(Footprint { uses: keys(uses), defs: keys(defs) });
        }
        program.code.push(Inst { guard: Guard::ALWAYS, op: Op::Exit, line: 1 });
        footprint.push(Footprint::default());
        (program, footprint)
    }

    /// Looks for a way from the entry to a reader, around all writers.
    fn naive(program: &Program, footprint: &[Footprint], graph: &Graph, w: u16) -> bool {
        let key = Key::from(W(w));
        let mut seen = vec![false; graph.len()];
        let mut stack = vec![0];
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            let touched = footprint.get(node);
            if touched.is_some_and(|touched| touched.uses.contains(&key)) {
                return true;
            }
            let writes = touched.is_some_and(|touched| touched.defs.contains(&key));
            if !(writes && program.code[node].guard.p == TRUE) {
                stack.extend(graph.next(node).iter().map(|&to| to as usize));
            }
        }
        false
    }

    proptest! {
        #[test]
        fn live_is_what_is_read_around_all_writes(
            steps in prop::collection::vec(
                (
                    0u8..10, any::<u32>(), any::<bool>(),
                    prop::collection::vec(0u16..100, 0..3), prop::collection::vec(0u16..100, 0..8),
                ),
                1..40,
            ),
            table in prop::collection::vec(any::<u32>(), 1..4),
        ) {
            let (program, footprint) = kernel(&steps, &table);
            let graph = Graph::of(&program);
            let found = live_in(&program, &footprint, &graph).words;
            let expected: Vec<u16> =
                (0..100).filter(|&w| naive(&program, &footprint, &graph, w)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
