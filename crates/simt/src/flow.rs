//! Control flow of a kernel: where diverged lanes meet again, and which
//! registers might be read before they are written.
//!
//! Lanes that part at a branch meet again at its *immediate post-dominator*: the
//! first instruction that every path from the branch must pass. Paths that end
//! in `trap` never meet anything, so they are left out; otherwise one bounds
//! check would keep a whole kernel diverged.

use crate::isa::{D, EXIT, LiveIn, Op, P, Program, TRUE, W};

/// A register of any kind, as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u32);

const KINDS: u32 = 3;

impl From<W> for Key {
    fn from(w: W) -> Key {
        Key(u32::from(w.0) * KINDS)
    }
}

impl From<D> for Key {
    fn from(d: D) -> Key {
        Key(u32::from(d.0) * KINDS + 1)
    }
}

impl From<P> for Key {
    fn from(p: P) -> Key {
        Key(u32::from(p.0) * KINDS + 2)
    }
}

/// The registers one instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    pub uses: Vec<Key>,
    pub defs: Vec<Key>,
}

/// Fills in [`Program::reconvergence`] and [`Program::live_in`].
pub(crate) fn analyse(program: &mut Program, footprint: &[Footprint]) {
    let successors = successors(program);
    program.reconvergence = reconvergence(program, &successors);
    program.live_in = live_in(program, footprint, &successors);
}

/// The instructions that may follow each; `EXIT` where lanes end.
fn successors(program: &Program) -> Vec<Vec<u32>> {
    let follow = |(at, inst): (usize, &crate::isa::Inst)| {
        let mut next = match inst.op {
            Op::Branch(target) => vec![target],
            Op::BranchTable(_, table) => program.tables[table as usize].clone(),
            Op::Exit | Op::Trap => vec![EXIT],
            _ => Vec::new(),
        };
        if next.is_empty() || inst.guard.p != TRUE {
            next.push(at as u32 + 1);
        }
        next.sort_unstable();
        next.dedup();
        next
    };
    program.code.iter().enumerate().map(follow).collect()
}

/// Whether control, once at an instruction, is certain to end in a `trap`.
fn doomed(program: &Program, successors: &[Vec<u32>]) -> Vec<bool> {
    let mut doomed = vec![false; program.code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..program.code.len()).rev() {
            let inst = &program.code[at];
            let now = match inst.op {
                Op::Trap if inst.guard.p == TRUE => true,
                _ => successors[at].iter().all(|&next| next != EXIT && doomed[next as usize]),
            };
            changed |= now != doomed[at];
            doomed[at] = now;
        }
    }
    doomed
}

/// The immediate post-dominator of every instruction, by the iterative method of
/// Cooper, Harvey and Kennedy run on the reversed graph.
fn reconvergence(program: &Program, successors: &[Vec<u32>]) -> Vec<u32> {
    let count = program.code.len();
    let doomed = doomed(program, successors);
    let index = |next: u32| if next == EXIT { count } else { next as usize };
    let edges: Vec<Vec<usize>> = successors
        .iter()
        .map(|next| {
            let live = |&next: &usize| next == count || !doomed[next];
            next.iter().map(|&next| index(next)).filter(live).collect()
        })
        .collect();
    let mut predecessors = vec![Vec::new(); count + 1];
    for (at, next) in edges.iter().enumerate() {
        next.iter().for_each(|&next| predecessors[next].push(at));
    }
    let order = post_order(count, &predecessors);
    let mut rank = vec![usize::MAX; count + 1];
    order.iter().enumerate().for_each(|(place, &node)| rank[node] = place);

    let mut parent = vec![usize::MAX; count + 1];
    parent[count] = count;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != count) {
            let known = edges[node].iter().copied().filter(|&next| parent[next] != usize::MAX);
            let meet = known.reduce(|a, b| common_ancestor(a, b, &parent, &rank));
            if let Some(meet) = meet.filter(|&meet| parent[node] != meet) {
                parent[node] = meet;
                changed = true;
            }
        }
    }
    parent[..count].iter().map(|&at| if at >= count { EXIT } else { at as u32 }).collect()
}

fn common_ancestor(mut a: usize, mut b: usize, parent: &[usize], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] < rank[b] {
            a = parent[a];
        }
        while rank[b] < rank[a] {
            b = parent[b];
        }
    }
    a
}

/// Nodes reachable from `root` in post-order.
fn post_order(root: usize, edges: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut order = Vec::with_capacity(edges.len());
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, child)) = stack.last_mut() {
        match edges[*node].get(*child) {
            Some(&next) => {
                *child += 1;
                if !seen[next] {
                    seen[next] = true;
                    stack.push((next, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}

/// Registers that some path reads before writing, by backward data flow.
fn live_in(program: &Program, footprint: &[Footprint], successors: &[Vec<u32>]) -> LiveIn {
    let registers = program.words.len().max(program.doubles.len()).max(program.predicates);
    let words = (registers * KINDS as usize).div_ceil(64);
    let mut live = vec![vec![0u64; words]; program.code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..program.code.len()).rev() {
            let mut now = vec![0u64; words];
            for &next in successors[at].iter().filter(|&&next| next != EXIT) {
                now.iter_mut().zip(&live[next as usize]).for_each(|(now, next)| *now |= next);
            }
            // A guarded instruction may leave its target as it was.
            if program.code[at].guard.p == TRUE {
                for key in &footprint[at].defs {
                    now[key.0 as usize / 64] &= !(1 << (key.0 % 64));
                }
            }
            for key in &footprint[at].uses {
                now[key.0 as usize / 64] |= 1 << (key.0 % 64);
            }
            if now != live[at] {
                live[at] = now;
                changed = true;
            }
        }
    }
    collect_live(program, &live[0])
}

fn collect_live(program: &Program, live: &[u64]) -> LiveIn {
    let is_live = |key: Key| live[key.0 as usize / 64] >> (key.0 % 64) & 1 == 1;
    let uninitialised = |inits: &[Option<crate::isa::Init>], key: fn(u16) -> Key| {
        let indices = 0..inits.len() as u16;
        indices.filter(|&at| inits[usize::from(at)].is_none() && is_live(key(at))).collect()
    };
    LiveIn {
        words: uninitialised(&program.words, |at| W(at).into()),
        doubles: uninitialised(&program.doubles, |at| D(at).into()),
        predicates: (1..program.predicates as u16).filter(|&at| is_live(P(at).into())).collect(),
    }
}
