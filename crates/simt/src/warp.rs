//! Runs one warp until it ends or has to wait.

use crate::access;
use crate::alu;
use crate::atomic;
use crate::copies::Copies;
use crate::cta::{At, Cta};
use crate::exchange;
use crate::findings::{Finding, FindingKind};
use crate::isa::{Access, Atomic, Barrier, Init, Inst, Op, Special, Unary, W};
use crate::launch::Budget;
use crate::paths::{Paths, State, Wait};
use crate::place::Place;
use crate::program::{Key, Program};
use crate::registers::{ALL, Doubles, LANES, Registers, lanes};

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// All its lanes have exited.
    Done,
    /// It waits for other warps.
    Blocked,
    /// Its turn is over.
    Yield,
}

/// A warp: its registers and paths.
#[derive(Debug)]
pub(crate) struct Warp {
    pub index: u32,
    pub registers: Registers,
    pub paths: Paths,
    copies: Copies,
    /// Instructions since its paths last took turns.
    unturned: u32,
    /// Registers that may be read before they are written, and the lanes in which nothing has been written to them. Empty
    /// where that is not checked.
    undefined: Vec<(Key, u32)>,
}

/// Instructions a warp executes before another gets its turn. Only kernels that
/// wait by spinning need one.
pub(crate) const TURN: u32 = 1 << 16;

/// What the loop over instructions does next.
enum Next {
    /// The instruction behind.
    Step,
    /// An instruction elsewhere, with the same lanes.
    Jump(u32),
    /// Look for a path to run: this one split, ended or waits.
    Switch,
    /// Give other warps a turn.
    Pause,
}

impl Warp {
    /// A warp for blocks of `dims` threads, with everything set that stays the
    /// same from block to block.
    pub(crate) fn new(cta: &Cta<'_>, index: u32) -> Warp {
        let program = cta.launch.program;
        let mut warp = Warp {
            index,
            registers: Registers::new(
                program.words.len(),
                program.doubles.len(),
                program.predicates,
            ),
            paths: Paths::default(),
            copies: Copies::default(),
            unturned: 0,
            undefined: Vec::new(),
        };
        for (at, init) in program.words.iter().enumerate() {
            let Some(init) = init else { continue };
            warp.registers.words[at] = warp_values(cta, index, *init).map(|value| value as u32);
        }
        for (at, init) in program.doubles.iter().enumerate() {
            let Some(init) = init else { continue };
            warp.registers.doubles[at] = warp_values(cta, index, *init);
        }
        warp
    }

    /// Prepares for the block at `cta.block`.
    pub(crate) fn reset(&mut self, cta: &Cta<'_>) {
        let program = cta.launch.program;
        for &(at, axis) in &cta.launch.block_registers {
            self.registers.words[at] = [cta.block[axis]; LANES];
        }
        for &at in &program.live_in.words {
            self.registers.words[usize::from(at)] = [0; LANES];
        }
        for &at in &program.live_in.doubles {
            self.registers.doubles[usize::from(at)] = [0; LANES];
        }
        for &at in &program.live_in.predicates {
            self.registers.predicates[usize::from(at)] = 0;
        }
        let threads = cta.launch.threads - self.index * LANES as u32;
        self.paths.reset(u32::MAX >> (LANES as u32 - threads.min(LANES as u32)));
        self.copies.reset();
        self.unturned = 0;
        self.undefined.clear();
        if cta.watch.as_ref().is_some_and(|watch| watch.checks.uninitialised_registers) {
            self.undefined.extend(program.live_in.keys().map(|key| (key, ALL)));
        }
    }

    /// Runs until the warp ends, waits, or its turn of so many instructions is over.
    pub(crate) fn run<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        turn: u32,
    ) -> Result<Pause, Box<Finding>> {
        let turn = self.allowance(cta)?.min(turn);
        let mut left = turn;
        let pause = loop {
            let Some(at) = self.paths.pick() else {
                match self.settle(cta) {
                    Some(pause) => break pause,
                    None => continue,
                }
            };
            if let Next::Pause = self.run_path::<WATCH>(cta, at, &mut left)? {
                self.end_turn(turn - left);
                break Pause::Yield;
            }
        };
        if let Some(budget) = &cta.launch.budget {
            budget.spend(u64::from(turn - left));
        }
        Ok(pause)
    }

    /// How many instructions the warp may execute now, at most.
    fn allowance(&self, cta: &Cta<'_>) -> Result<u32, Box<Finding>> {
        match cta.launch.budget.as_ref().map(Budget::left) {
            None => Ok(TURN),
            Some(0) => Err(self.limit_reached(cta)),
            Some(left) => Ok(left.min(u64::from(TURN)) as u32),
        }
    }

    /// Runs path `at` until it splits, ends, waits, or no instructions are `left`.
    #[inline(always)]
    fn run_path<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        at: usize,
        left: &mut u32,
    ) -> Result<Next, Box<Finding>> {
        let program = cta.launch.program;
        let path = self.paths.all[at];
        let (mut pc, mask) = (path.pc, path.mask);
        loop {
            if pc == path.rpc {
                self.paths.end(at);
                return Ok(Next::Switch);
            }
            if *left == 0 {
                self.paths.all[at].pc = pc;
                return Ok(Next::Pause);
            }
            *left -= 1;
            let inst = &program.code[pc as usize];
            let exec = mask & self.registers.guard(inst.guard);
            let here = At { pc, warp: self.index, mask: exec };
            // An instruction that waits for a load is executed once, when it goes on.
            let waits = WATCH && exec != 0 && cta.weak.is_some();
            if waits && !cta.weak_settle(&mut self.registers, here) {
                self.paths.all[at].pc = pc;
                return Ok(Next::Pause);
            }
            if WATCH {
                cta.executed(pc, mask, exec);
            }
            if WATCH && !self.undefined.is_empty() {
                self.note_registers(cta, inst, pc, (mask, exec));
            }
            if exec == 0 {
                pc += 1;
                continue;
            }
            match self.step::<WATCH>(cta, inst, at, mask, here)? {
                Next::Step => pc += 1,
                Next::Jump(target) => pc = target,
                other => return Ok(other),
            }
        }
    }

    /// Finds reads of registers that were never written. Moves pass what they read on, which may be needed by nobody.
    #[cold]
    fn note_registers(
        &mut self,
        cta: &mut Cta<'_>,
        inst: &Inst,
        pc: u32,
        (mask, exec): (u32, u32),
    ) {
        let footprint = &cta.launch.program.footprint[pc as usize];
        let moves = matches!(
            inst.op,
            Op::Unary16(Unary::Mov, ..) | Op::Unary32(Unary::Mov, ..) | Op::Unary64(Unary::Mov, ..)
        );
        for (key, lanes) in &mut self.undefined {
            let reading = if *key == Key::from(inst.guard.p) { mask } else { exec };
            let missing = *lanes & reading;
            if missing != 0 && !moves && footprint.uses.contains(key) {
                let here = At { pc, warp: self.index, mask };
                let lane = missing.trailing_zeros() as usize;
                cta.report(cta.finding(FindingKind::UninitialisedRegister, here, lane));
            }
            if footprint.defs.contains(key) {
                *lanes &= !exec;
            }
        }
    }

    /// Lets another path of the warp go first in its next turn.
    fn end_turn(&mut self, executed: u32) {
        self.unturned += executed;
        if self.unturned < TURN {
            return self.paths.rotate();
        }
        self.unturned = 0;
        // A path that gets nowhere may be spinning until lanes go on that wait for it.
        if !self.paths.ended {
            self.paths.detach_waiting();
        }
        self.paths.ended = false;
        self.paths.rotate();
    }

    #[cold]
    fn limit_reached(&self, cta: &Cta<'_>) -> Box<Finding> {
        // A path whose children run may go on behind the last instruction.
        let mut paths = self.paths.all.iter();
        let path = paths.find(|path| matches!(path.state, State::Ready | State::Waiting(_)));
        let here = path.map_or(At { pc: 0, warp: self.index, mask: 1 }, |path| At {
            pc: path.pc,
            warp: self.index,
            mask: path.mask,
        });
        let lane = here.mask.trailing_zeros() as usize % LANES;
        let spent = cta.launch.budget.as_ref().map_or(0, Budget::spent);
        let detail = format!("the launch executed {spent} instructions");
        Box::new(Finding { detail, ..cta.finding(FindingKind::InstructionLimit, here, lane) })
    }

    /// Executes one instruction of path `path`, whose lanes are `mask`.
    #[inline(always)]
    fn step<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        inst: &Inst,
        path: usize,
        mask: u32,
        here: At,
    ) -> Result<Next, Box<Finding>> {
        let program = cta.launch.program;
        match inst.op {
            Op::Load(access) => {
                let access = &program.accesses[access as usize];
                self.meet_copies::<WATCH>(cta, access, false, here);
                access::load::<WATCH>(cta, &mut self.registers, access, here)?;
            }
            Op::Store(access) => {
                let access = &program.accesses[access as usize];
                self.meet_copies::<WATCH>(cta, access, true, here);
                access::store::<WATCH>(cta, &self.registers, access, here)?;
            }
            Op::Branch(target) => {
                if here.mask == mask {
                    return Ok(Next::Jump(target));
                }
                if WATCH {
                    cta.diverged(here.pc);
                }
                let groups = [(mask & !here.mask, here.pc + 1), (here.mask, target)];
                self.paths.diverge(path, &groups, program.reconvergence[here.pc as usize]);
                return Ok(Next::Switch);
            }
            _ => {
                if !alu::execute(&mut self.registers, &inst.op, here.mask) {
                    return self.rare_step::<WATCH>(cta, inst, path, mask, here);
                }
            }
        }
        Ok(Next::Step)
    }

    /// Looks whether these lanes access what they copy and have not waited for.
    #[inline(always)]
    fn meet_copies<const WATCH: bool>(
        &self,
        cta: &mut Cta<'_>,
        access: &Access,
        writes: bool,
        here: At,
    ) {
        if WATCH && !self.copies.is_empty() {
            let place = Place::of(&self.registers, access.window, access.base, access.offset);
            self.copies.meet(cta, &place, access.bytes, writes, here);
        }
    }

    /// The instructions that are neither arithmetic nor plain loads, stores and branches.
    #[inline(never)]
    fn rare_step<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        inst: &Inst,
        path: usize,
        mask: u32,
        here: At,
    ) -> Result<Next, Box<Finding>> {
        let program: &Program = cta.launch.program;
        match inst.op {
            Op::Exit => {
                cta.live_threads -= here.mask.count_ones();
                self.paths.all[path].pc = here.pc + 1;
                self.paths.exit(path, here.mask);
                return Ok(Next::Switch);
            }
            Op::Trap => {
                let lane = here.mask.trailing_zeros() as usize;
                return Err(Box::new(cta.finding(FindingKind::Trap, here, lane)));
            }
            Op::BranchTable(index, table) => {
                let targets = &program.tables[table as usize];
                return self.branch_table::<WATCH>(cta, (index, targets), path, mask, here);
            }
            Op::Atomic(at) => {
                let atomic = &program.atomics[at as usize];
                if WATCH && !self.copies.is_empty() {
                    let Atomic { window, base, offset, bytes, .. } = *atomic;
                    let place = Place::of(&self.registers, window, base, offset);
                    self.copies.meet(cta, &place, bytes, true, here);
                }
                atomic::atomic::<WATCH>(cta, &mut self.registers, atomic, here)?;
            }
            Op::Copy(from) => {
                let accesses = [from, from + 1].map(|access| &program.accesses[access as usize]);
                self.meet_copies::<WATCH>(cta, accesses[1], true, here);
                self.copies.start::<WATCH>(cta, &self.registers, accesses, here)?;
            }
            Op::CloseCopies => self.copies.close(here.mask),
            Op::AwaitCopies(but) => self.copies.wait::<WATCH>(cta, here.mask, but)?,
            Op::Fence(fence) => {
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                if WATCH {
                    cta.weak_fence(here, fence);
                }
            }
            Op::ActiveMask(d) => self.registers.set_w(d, here.mask, &[here.mask; LANES]),
            Op::Barrier(barrier) => return self.barrier(cta, &barrier, path, mask, here),
            Op::WarpBarrier(members) => {
                if let Some(next) = self.gather_lanes(cta, members, true, path, mask, here)? {
                    return Ok(next);
                }
                if WATCH {
                    cta.warp_synchronised(self.index, here.mask);
                }
            }
            Op::Shuffle(shuffle) => {
                if let Some(next) =
                    self.gather_lanes(cta, shuffle.members, false, path, mask, here)?
                {
                    return Ok(next);
                }
                if let Some(lane) = exchange::shuffle(&mut self.registers, &shuffle, here.mask) {
                    cta.report(cta.finding(FindingKind::InactiveLane, here, lane));
                }
            }
            Op::Vote { vote, p, members } => {
                if let Some(next) = self.gather_lanes(cta, members, false, path, mask, here)? {
                    return Ok(next);
                }
                exchange::vote(&mut self.registers, vote, p, here.mask);
            }
            Op::Match(m) => {
                if let Some(next) = self.gather_lanes(cta, m.members, false, path, mask, here)? {
                    return Ok(next);
                }
                exchange::match_lanes(&mut self.registers, &m, here.mask);
            }
            Op::Reduce { op, d, a, members } => {
                if let Some(next) = self.gather_lanes(cta, members, false, path, mask, here)? {
                    return Ok(next);
                }
                exchange::reduce(&mut self.registers, op, d, a, here.mask);
            }
            // Everything else is arithmetic.
            _ => {}
        }
        Ok(Next::Step)
    }

    fn branch_table<const WATCH: bool>(
        &mut self,
        cta: &mut Cta<'_>,
        (index, targets): (W, &[u32]),
        path: usize,
        mask: u32,
        here: At,
    ) -> Result<Next, Box<Finding>> {
        let mut groups: Vec<(u32, u32)> = vec![(mask & !here.mask, here.pc + 1)];
        for lane in lanes(here.mask) {
            let index = self.registers.w(index)[lane];
            let Some(&target) = targets.get(index as usize) else {
                let detail = format!("index {index} into {} branch targets", targets.len());
                let finding = cta.finding(FindingKind::BadOperand, here, lane);
                return Err(Box::new(Finding { detail, ..finding }));
            };
            match groups.iter_mut().find(|(_, known)| *known == target) {
                Some((lanes, _)) => *lanes |= 1 << lane,
                None => groups.push((1 << lane, target)),
            }
        }
        groups.retain(|(lanes, _)| *lanes != 0);
        if let [(_, target)] = groups[..] {
            return Ok(Next::Jump(target));
        }
        if WATCH {
            cta.diverged(here.pc);
        }
        let meet = cta.launch.program.reconvergence[here.pc as usize];
        self.paths.diverge(path, &groups, meet);
        Ok(Next::Switch)
    }

    /// Splits off the lanes whose guard holds, so that they can wait on their own.
    fn split_guarded(&mut self, path: usize, mask: u32, here: At) -> Next {
        let groups = [(here.mask, here.pc), (mask & !here.mask, here.pc + 1)];
        self.paths.diverge(path, &groups, here.pc + 1);
        Next::Switch
    }

    /// Makes the path wait if lanes that `members` names are not with it. `None`
    /// once all are here. Lanes that execute together have to name the same ones,
    /// and themselves: parts of a warp that exchange side by side are refused.
    fn gather_lanes(
        &mut self,
        cta: &Cta<'_>,
        members: W,
        releases: bool,
        path: usize,
        mask: u32,
        here: At,
    ) -> Result<Option<Next>, Box<Finding>> {
        let named = self.registers.w(members);
        let of_first = named[here.mask.trailing_zeros() as usize];
        let is_other = |&lane: &usize| named[lane] != of_first || of_first >> lane & 1 == 0;
        if let Some(lane) = lanes(here.mask).find(is_other) {
            let detail =
                format!("lanes that execute together name {of_first:#x} and {:#x}", named[lane]);
            return Err(Box::new(Finding {
                detail,
                ..cta.finding(FindingKind::BadOperand, here, lane)
            }));
        }
        let members = of_first & self.paths.live;
        if members & !here.mask == 0 {
            return Ok(None);
        }
        if here.mask != mask {
            return Ok(Some(self.split_guarded(path, mask, here)));
        }
        let wait = Wait::Lanes { members, releases };
        self.paths.all[path].pc = here.pc;
        self.paths.all[path].state = State::Waiting(wait);
        Ok(Some(Next::Switch))
    }

    fn barrier(
        &mut self,
        cta: &mut Cta<'_>,
        barrier: &Barrier,
        path: usize,
        mask: u32,
        here: At,
    ) -> Result<Next, Box<Finding>> {
        if here.mask != mask {
            return Ok(self.split_guarded(path, mask, here));
        }
        let first = here.mask.trailing_zeros() as usize;
        let id = self.registers.w(barrier.id)[first];
        let count = barrier.count.map(|count| self.registers.w(count)[first]);
        let fits = count.is_none_or(|count| count > 0 && count.is_multiple_of(LANES as u32));
        if id >= 16 || !fits {
            let detail = match count {
                Some(count) => format!("barrier {id} for {count} threads"),
                None => format!("barrier {id}"),
            };
            let finding = cta.finding(FindingKind::BadOperand, here, first);
            return Err(Box::new(Finding { detail, ..finding }));
        }
        let id = id as u8;
        if barrier.arrive_only {
            self.arrive(cta, id, count, here);
            return Ok(Next::Step);
        }
        if let Some((_, p)) = barrier.reduce {
            cta.barriers[usize::from(id)].reduce(self.registers.guard(p), here.mask);
        }
        // Lanes of other paths may still come to the same barrier: `settle` counts then.
        let arrived = here.mask == self.paths.live;
        if arrived {
            self.arrive(cta, id, count, here);
        }
        let wait = Wait::Barrier { id, count, arrived, divergent: false };
        self.paths.all[path].pc = here.pc;
        self.paths.all[path].state = State::Waiting(wait);
        Ok(Next::Switch)
    }

    /// Counts the lanes of `here` as arrived at a barrier.
    fn arrive(&self, cta: &mut Cta<'_>, id: u8, count: Option<u32>, here: At) {
        let whole = here.mask == self.paths.live;
        // Hardware counts a warp as 32 threads even where the block ends in a smaller one.
        let counted = if whole { LANES as u32 } else { here.mask.count_ones() };
        cta.barriers[usize::from(id)].arrive(count, here.mask.count_ones(), counted);
        cta.arrived(self.index, here.mask, id);
    }

    /// Called when no path can run: joins those that wait at the same place,
    /// counts arrivals, lets go who waits only for others that wait as well.
    /// Returns why the warp pauses, or `None` if a path can run now.
    fn settle(&mut self, cta: &mut Cta<'_>) -> Option<Pause> {
        if self.paths.live == 0 {
            return Some(Pause::Done);
        }
        self.paths.merge_waiting();
        let waiting: Vec<_> =
            self.paths.waiting().map(|(at, path, wait)| (at, *path, wait)).collect();
        // Before any of them goes on: lanes may wait at several barriers for each other.
        let at_warp_barriers = self.lanes_at_warp_barriers();
        let mut resumed = false;
        for (at, path, wait) in waiting {
            match wait {
                Wait::Barrier { arrived: true, .. } => {}
                Wait::Barrier { id, count, .. } => {
                    let here = At { pc: path.pc, warp: self.index, mask: path.mask };
                    let apart = self.paths.lanes_at(path.pc) != self.paths.live;
                    let divergent = apart && cta.is_aligned_barrier(path.pc);
                    if divergent {
                        cta.report_divergent_barrier(here, self.paths.live);
                    }
                    self.arrive(cta, id, count, here);
                    let wait = Wait::Barrier { id, count, arrived: true, divergent };
                    self.paths.all[at].state = State::Waiting(wait);
                }
                Wait::Lanes { members, releases } => {
                    let here = if releases { at_warp_barriers } else { path.mask };
                    if members & self.paths.live & !here == 0 {
                        // Executed again, with all its lanes; a warp barrier is just passed.
                        self.paths.all[at].state = State::Ready;
                        self.paths.all[at].pc += u32::from(releases);
                        resumed = true;
                        if releases {
                            cta.warp_synchronised(self.index, members & self.paths.live);
                        }
                    }
                }
            }
        }
        if resumed { None } else { Some(Pause::Blocked) }
    }

    fn lanes_at_warp_barriers(&self) -> u32 {
        let at_barrier = |wait: &Wait| matches!(wait, Wait::Lanes { releases: true, .. });
        let here = self.paths.waiting().filter(|(_, _, wait)| at_barrier(wait));
        here.fold(0, |mask, (_, path, _)| mask | path.mask)
    }

    /// Whether a path can run, or a count of arrivals is due.
    pub(crate) fn can_run(&self) -> bool {
        self.paths.all.iter().any(|path| path.state == State::Ready)
    }
}

/// What a register holds for each lane before the first instruction.
fn warp_values(cta: &Cta<'_>, warp: u32, init: Init) -> Doubles {
    match init {
        Init::Const(value) => [value; LANES],
        Init::DynamicShared => [cta.launch.dynamic_shared_at; LANES],
        Init::Special(special) => std::array::from_fn(|lane| lane_value(cta, warp, lane, special)),
    }
}

/// What a special register holds for a lane.
fn lane_value(cta: &Cta<'_>, warp: u32, lane: usize, special: Special) -> u64 {
    let launch = cta.launch;
    let thread = launch.thread_index(warp * LANES as u32 + lane as u32);
    let bit = 1u32 << lane;
    u64::from(match special {
        Special::Tid(axis) => thread[usize::from(axis)],
        Special::Ntid(axis) => launch.config.block[usize::from(axis)],
        // Set for every block.
        Special::Ctaid(_) => 0,
        Special::Nctaid(axis) => launch.config.grid[usize::from(axis)],
        Special::LaneId => lane as u32,
        Special::WarpId => warp,
        Special::LaneMaskEq => bit,
        Special::LaneMaskLe => bit | (bit - 1),
        Special::LaneMaskLt => bit - 1,
        Special::LaneMaskGe => !(bit - 1),
        Special::LaneMaskGt => !(bit | (bit - 1)),
        Special::DynamicSharedBytes => launch.config.dynamic_shared_bytes,
        // Chips of compute capability 8.0 and later give shared memory out by 128 bytes.
        Special::TotalSharedBytes => launch.shared_bytes.next_multiple_of(128) as u32,
    })
}
