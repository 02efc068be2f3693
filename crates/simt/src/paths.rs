//! The paths of a warp: groups of lanes that execute together.
//!
//! A warp starts as one path with all its lanes. At a branch where its lanes
//! disagree the path becomes a *parent* that waits at the branch's reconvergence
//! point, and a child per direction takes over. A child that reaches the point
//! ends; with the last child gone the parent goes on. This is the classic
//! reconvergence stack, except that any leaf may run while another waits at a
//! barrier, as GPUs since Volta allow.

use crate::isa::EXIT;

/// What a path is waiting for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wait {
    /// A barrier of the block.
    Barrier {
        id: u8,
        count: Option<u32>,
        /// Whether its lanes are counted yet.
        arrived: bool,
        /// Reached by a part of the warp only, where all of it should have come.
        divergent: bool,
    },
    /// Other lanes of the warp, at an instruction that names them.
    Lanes { members: u32, releases: bool },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    Free,
    Ready,
    /// Waiting for its children.
    Parent,
    Waiting(Wait),
}

const NO_PARENT: usize = usize::MAX;

/// Lanes that execute together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub pc: u32,
    /// Where the path ends and its parent goes on.
    pub rpc: u32,
    pub mask: u32,
    pub state: State,
    parent: usize,
    children: u32,
}

/// All paths of a warp.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    pub all: Vec<Path>,
    current: usize,
    /// Lanes that have not exited.
    pub live: u32,
    /// Whether a path has ended since this was last set to false.
    pub ended: bool,
}

impl Paths {
    /// One path with the lanes of `mask`, at the first instruction.
    pub(crate) fn reset(&mut self, mask: u32) {
        self.all.clear();
        self.live = mask;
        self.insert(Path {
            pc: 0,
            rpc: EXIT,
            mask,
            state: State::Ready,
            parent: NO_PARENT,
            children: 0,
        });
    }

    fn insert(&mut self, path: Path) {
        let free = self.all.iter().position(|path| path.state == State::Free);
        self.current = free.unwrap_or(self.all.len());
        match free {
            Some(at) => self.all[at] = path,
            None => self.all.push(path),
        }
    }

    /// A path to run: the one that ran last if it can, else the newest.
    pub(crate) fn pick(&mut self) -> Option<usize> {
        let ready = |path: &Path| path.state == State::Ready;
        if !self.all.get(self.current).is_some_and(ready) {
            self.current = self.all.iter().rposition(ready)?;
        }
        Some(self.current)
    }

    /// Makes the next [`Paths::pick`] prefer another path.
    pub(crate) fn rotate(&mut self) {
        let count = self.all.len();
        let next = (1..=count).map(|step| (self.current + step) % count);
        if let Some(next) = next.into_iter().find(|&at| self.all[at].state == State::Ready) {
            self.current = next;
        }
    }

    /// Splits path `at` into `groups` of lanes and their targets, to meet at `meet`.
    pub(crate) fn diverge(&mut self, at: usize, groups: &[(u32, u32)], meet: u32) {
        let old = self.all[at];
        let parts = groups.iter().filter(|(mask, target)| *mask != 0 && *target != meet);
        let count = parts.clone().count() as u32;
        if count == 0 {
            // A branch to the instruction behind it: nobody parts.
            self.all[at].pc = meet;
            return;
        }
        let (parent, children) = if meet == old.rpc {
            // They meet where this path would have ended: its parent waits already.
            self.all[at].state = State::Free;
            (old.parent, count - 1)
        } else {
            self.all[at].state = State::Parent;
            self.all[at].pc = meet;
            self.all[at].children = 0;
            (at, count)
        };
        if parent != NO_PARENT {
            self.all[parent].children += children;
        }
        for &(mask, pc) in parts {
            self.insert(Path { pc, rpc: meet, mask, state: State::Ready, parent, children: 0 });
        }
    }

    /// Ends path `at`, which reached its reconvergence point or has no lanes left.
    pub(crate) fn end(&mut self, mut at: usize) {
        self.ended = true;
        loop {
            self.all[at].state = State::Free;
            at = self.all[at].parent;
            if at == NO_PARENT {
                return;
            }
            self.all[at].children -= 1;
            if self.all[at].children > 0 {
                return;
            }
            self.all[at].mask &= self.live;
            if self.all[at].mask != 0 {
                self.all[at].state = State::Ready;
                self.current = at;
                return;
            }
        }
    }

    /// The lanes of `mask` exit from path `at`; says whether it has any left.
    pub(crate) fn exit(&mut self, at: usize, mask: u32) -> bool {
        self.live &= !mask;
        self.all[at].mask &= !mask;
        let left = self.all[at].mask != 0;
        if !left {
            self.end(at);
        }
        left
    }

    /// Lets lanes that wait for others to reconverge go on without them; says
    /// whether there are any. GPUs since Volta promise every lane progress, so
    /// that a lane may wait for another of its own warp, at a lock say.
    pub(crate) fn detach_waiting(&mut self) -> bool {
        let mut detached = false;
        for at in 0..self.all.len() {
            let parent = self.all[at];
            if parent.state != State::Parent {
                continue;
            }
            let waiting = parent.mask & self.live & !self.lanes_below(at);
            if waiting == 0 {
                continue;
            }
            self.all[at].mask &= !waiting;
            if parent.parent != NO_PARENT {
                self.all[parent.parent].children += 1;
            }
            self.insert(Path { mask: waiting, state: State::Ready, children: 0, ..parent });
            detached = true;
        }
        detached
    }

    /// The lanes that path `at` waits for.
    fn lanes_below(&self, at: usize) -> u32 {
        let children = self.all.iter().filter(|path| path.parent == at);
        let live = children.filter(|path| path.state != State::Free);
        live.fold(0, |mask, path| mask | path.mask)
    }

    /// Joins waiting paths that stand at the same instruction and end together.
    pub(crate) fn merge_waiting(&mut self) {
        for a in 0..self.all.len() {
            for b in a + 1..self.all.len() {
                let (first, second) = (self.all[a], self.all[b]);
                let waiting = |path: &Path| match path.state {
                    State::Waiting(Wait::Barrier { arrived, .. }) => !arrived,
                    State::Waiting(Wait::Lanes { .. }) => true,
                    _ => false,
                };
                let together = first.pc == second.pc
                    && first.rpc == second.rpc
                    && first.parent == second.parent;
                if together && waiting(&first) && waiting(&second) {
                    self.all[a].mask |= second.mask;
                    self.all[b].state = State::Free;
                    if first.parent != NO_PARENT {
                        self.all[first.parent].children -= 1;
                    }
                }
            }
        }
    }

    /// The waiting paths.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (usize, &Path, Wait)> {
        self.all.iter().enumerate().filter_map(|(at, path)| match path.state {
            State::Waiting(wait) => Some((at, path, wait)),
            _ => None,
        })
    }

    /// Lanes of `path`'s warp that stand at the same instruction as it.
    pub(crate) fn lanes_at(&self, pc: u32) -> u32 {
        let here = self.waiting().filter(|(_, path, _)| path.pc == pc);
        here.fold(0, |mask, (_, path, _)| mask | path.mask)
    }

    /// Lets path `at` go on behind the instruction it waited at.
    pub(crate) fn release(&mut self, at: usize) {
        self.all[at].state = State::Ready;
        self.all[at].pc += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::LANES;

    fn leaves(paths: &Paths) -> Vec<(u32, u32)> {
        let ready = paths.all.iter().filter(|path| path.state == State::Ready);
        let mut leaves: Vec<_> = ready.map(|path| (path.pc, path.mask)).collect();
        leaves.sort_unstable();
        leaves
    }

    #[test]
    fn a_branch_to_where_lanes_meet_parts_nobody() {
        let mut paths = Paths::default();
        paths.reset(0xff);
        let at = paths.pick().unwrap();
        paths.diverge(at, &[(0xf, 30), (0xf0, 30)], 30);
        assert_eq!(leaves(&paths), [(30, 0xff)]);
        // Also where a path that has others beside it ends.
        paths.diverge(at, &[(0xf, 40), (0xf0, 50)], 60);
        let part = paths.pick().unwrap();
        paths.diverge(part, &[(0x30, 60), (0xc0, 60)], 60);
        assert_eq!(leaves(&paths), [(40, 0xf), (60, 0xf0)]);
    }

    #[test]
    fn both_directions_meet_again() {
        let mut paths = Paths::default();
        paths.reset(0xff);
        let at = paths.pick().unwrap();
        paths.diverge(at, &[(0xf, 10), (0xf0, 20)], 30);
        assert_eq!(leaves(&paths), [(10, 0xf), (20, 0xf0)]);
        let first = paths.pick().unwrap();
        paths.end(first);
        let second = paths.pick().unwrap();
        paths.end(second);
        assert_eq!(leaves(&paths), [(30, 0xff)]);
    }

    #[test]
    fn lanes_that_skip_wait_in_the_parent() {
        let mut paths = Paths::default();
        paths.reset(0xff);
        paths.diverge(0, &[(0xf, 10), (0xf0, 30)], 30);
        assert_eq!(leaves(&paths), [(10, 0xf)]);
        let child = paths.pick().unwrap();
        assert!(!paths.exit(child, 0xf), "the child's lanes exit");
        assert_eq!(leaves(&paths), [(30, 0xf0)]);
    }

    #[test]
    fn a_loop_does_not_pile_up_paths() {
        let mut paths = Paths::default();
        paths.reset(u32::MAX);
        for lane in 0..31 {
            let at = paths.pick().unwrap();
            let stay = u32::MAX << (lane + 1);
            paths.diverge(at, &[(stay, 5), (1 << lane, 9)], 9);
        }
        assert!(paths.all.len() <= 2);
        let last = paths.pick().unwrap();
        paths.end(last);
        assert_eq!(leaves(&paths), [(9, u32::MAX)]);
    }

    #[test]
    fn waiting_lanes_can_be_let_go() {
        let mut paths = Paths::default();
        paths.reset(0xff);
        paths.diverge(0, &[(0xf, 10), (0xf0, 30)], 30);
        assert!(paths.detach_waiting());
        assert!(!paths.detach_waiting(), "they are gone");
        assert_eq!(leaves(&paths), [(10, 0xf), (30, 0xf0)]);
        let slow = paths.all.iter().position(|path| path.pc == 10).unwrap();
        paths.end(slow);
        assert_eq!(leaves(&paths), [(30, 0xf), (30, 0xf0)]);
    }

    #[test]
    fn all_exits_leave_nothing() {
        let mut paths = Paths::default();
        paths.reset(0b11);
        paths.diverge(0, &[(1, 5), (2, 7)], EXIT);
        while let Some(at) = paths.pick() {
            let mask = paths.all[at].mask;
            paths.exit(at, mask);
        }
        assert_eq!(paths.live, 0);
        assert!(paths.all.iter().all(|path| path.state == State::Free));
        assert!(paths.all.len() <= 2 * LANES);
    }
}
