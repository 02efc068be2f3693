//! Runs one block: its warps in turn, its barriers, its shared memory.

use crate::cta::{At, BarrierState, Cta};
use crate::findings::{Finding, FindingKind, Site};
use crate::isa::{BarrierReduce, Op};
use crate::paths::{State, Wait};
use crate::registers::LANES;
use crate::warp::{Pause, TURN, Warp};

impl<'k> Cta<'k> {
    /// Makes everything ready for block number `linear`.
    pub(crate) fn begin<const WATCH: bool>(&mut self, warps: &mut [Warp], linear: u64) {
        self.linear = linear;
        self.block = self.launch.block_index(linear);
        self.shared.reset(self.launch.shared_bytes);
        self.barriers = Default::default();
        if let Some(budget) = &self.launch.budget {
            budget.spend(self.launch.start_cost());
        }
        self.live_threads = self.launch.threads;
        if WATCH {
            self.begin_block();
        }
        warps.iter_mut().for_each(|warp| warp.reset(self));
    }

    /// Runs block number `linear` to its end.
    pub(crate) fn run<const WATCH: bool>(
        &mut self,
        warps: &mut [Warp],
        linear: u64,
    ) -> Result<(), Box<Finding>> {
        self.begin::<WATCH>(warps, linear);
        let mut left = warps.len();
        while left > 0 {
            let mut ran = false;
            for at in 0..warps.len() {
                if !warps[at].can_run() {
                    continue;
                }
                ran = true;
                match warps[at].run::<WATCH>(self, TURN)? {
                    Pause::Done => left -= 1,
                    Pause::Blocked | Pause::Yield => {}
                }
                self.open_barriers(warps);
            }
            if !ran && left > 0 {
                self.resolve_deadlock(warps)?;
            }
        }
        Ok(())
    }

    /// Opens every barrier at which all expected threads have arrived.
    pub(crate) fn open_barriers(&mut self, warps: &mut [Warp]) {
        for id in 0..self.barriers.len() {
            if self.barriers[id].is_complete(self.live_threads) {
                self.open_barrier(warps, id as u8);
            }
        }
    }

    fn open_barrier(&mut self, warps: &mut [Warp], id: u8) {
        let barrier = std::mem::take(&mut self.barriers[usize::from(id)]);
        let exited = self.launch.threads - self.live_threads;
        let mut early_exit = (barrier.expected.is_none() && exited > 0).then_some(exited);
        for warp in warps.iter_mut() {
            for at in 0..warp.paths.all.len() {
                let path = warp.paths.all[at];
                let State::Waiting(Wait::Barrier { id: waits_for, arrived: true, .. }) = path.state
                else {
                    continue;
                };
                if waits_for != id {
                    continue;
                }
                let here = At { pc: path.pc, warp: warp.index, mask: path.mask };
                if let Some(exited) = early_exit.take() {
                    let finding = self.finding(
                        FindingKind::BarrierAfterExit,
                        here,
                        path.mask.trailing_zeros() as usize,
                    );
                    let detail = format!("{exited} of the block's {} threads", self.launch.threads);
                    self.report(Finding { detail, ..finding });
                }
                self.give_reduction(warp, &barrier, here);
                warp.paths.release(at);
                self.passed(warp.index, path.mask, id);
            }
        }
        self.closed(id);
    }

    /// Writes what a reducing barrier found to the lanes that waited at it.
    fn give_reduction(&self, warp: &mut Warp, barrier: &BarrierState, here: At) {
        let Op::Barrier(instruction) = self.launch.program.code[here.pc as usize].op else {
            return;
        };
        let spread = |yes: bool| if yes { u32::MAX } else { 0 };
        match instruction.reduce {
            Some((BarrierReduce::Popc(d), _)) => {
                warp.registers.set_w(d, here.mask, &[barrier.votes; LANES]);
            }
            Some((BarrierReduce::And(d), _)) => {
                warp.registers.set_p(d, here.mask, spread(barrier.votes == barrier.voters));
            }
            Some((BarrierReduce::Or(d), _)) => {
                warp.registers.set_p(d, here.mask, spread(barrier.votes > 0));
            }
            None => {}
        }
    }

    /// No warp can run. Lanes that wait for others of their warp to reconverge may
    /// be the ones these wait for, and are let go. Barriers that only a part of a warp reached are opened,
    /// as that defect is already reported; anything else is a deadlock.
    pub(crate) fn resolve_deadlock(&mut self, warps: &mut [Warp]) -> Result<(), Box<Finding>> {
        let stuck = warps.iter().flat_map(waits).find_map(|(_, wait)| match wait {
            Wait::Barrier { id, divergent: true, .. } => Some(id),
            _ => None,
        });
        if let Some(id) = stuck {
            self.open_barrier(warps, id);
            return Ok(());
        }
        let mut detached = false;
        for warp in warps.iter_mut() {
            detached |= warp.paths.detach_waiting();
        }
        if detached {
            return Ok(());
        }
        let waiting = || warps.iter().flat_map(waits);
        let mut reasons: Vec<String> =
            waiting().map(|(at, wait)| self.describe_wait(at, wait)).collect();
        reasons.dedup();
        let more = reasons.len().saturating_sub(4);
        reasons.truncate(4);
        if more > 0 {
            reasons.push(format!("and {more} more"));
        }
        // A block that is not done has threads that wait.
        let at = waiting().next().map_or(At { pc: 0, warp: 0, mask: 1 }, |(at, _)| at);
        let finding = self.finding(FindingKind::Deadlock, at, at.mask.trailing_zeros() as usize);
        Err(Box::new(Finding { detail: reasons.join("; "), ..finding }))
    }

    fn describe_wait(&self, at: At, wait: Wait) -> String {
        let line = self.launch.program.code[at.pc as usize].line;
        match wait {
            Wait::Barrier { id, .. } => {
                let barrier = &self.barriers[usize::from(id)];
                let expected = barrier.expected.unwrap_or(self.live_threads);
                let arrived = barrier.arrived;
                format!("line {line}: barrier {id} has {arrived} of {expected} threads")
            }
            Wait::Lanes { members, .. } => {
                let missing = members & !at.mask;
                format!("line {line}: warp {} waits for lanes {missing:#010x}", at.warp)
            }
        }
    }

    /// Whether the instruction is a barrier that a warp must reach as a whole.
    pub(crate) fn is_aligned_barrier(&self, pc: u32) -> bool {
        matches!(self.launch.program.code[pc as usize].op, Op::Barrier(barrier) if barrier.aligned)
    }

    #[cold]
    pub(crate) fn report_divergent_barrier(&mut self, here: At, live: u32) {
        let lane = here.mask.trailing_zeros() as usize;
        let finding = self.finding(FindingKind::DivergentBarrier, here, lane);
        let detail = format!(
            "reached by {} of the warp's {} threads",
            here.mask.count_ones(),
            live.count_ones()
        );
        self.report(Finding { detail, ..finding });
    }

    /// A finding about lane `lane` of the warp at hand, still without details.
    pub(crate) fn finding(&self, kind: FindingKind, at: At, lane: usize) -> Finding {
        Finding {
            kind,
            kernel: self.launch.name.to_string(),
            site: self.site(at, lane),
            touched: None,
            other: None,
            detail: String::new(),
            occurrences: 1,
        }
    }

    pub(crate) fn site(&self, at: At, lane: usize) -> Site {
        Site {
            line: self.launch.program.code[at.pc as usize].line,
            block: self.block,
            thread: self.launch.thread_index(at.warp * LANES as u32 + lane as u32),
        }
    }

    pub(crate) fn report(&mut self, finding: Finding) {
        self.findings.add(self.linear, finding);
    }
}

/// What the lanes of a warp wait for.
fn waits(warp: &Warp) -> impl Iterator<Item = (At, Wait)> {
    warp.paths
        .waiting()
        .map(|(_, path, wait)| (At { pc: path.pc, warp: warp.index, mask: path.mask }, wait))
}
