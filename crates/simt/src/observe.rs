//! What an instrumented block tells its observers: the hooks that execution calls, and where they lead.

use crate::clocks::Known;
use crate::cta::{At, Cta};
use crate::findings::{Finding, FindingKind, Site, Space, Touched};
use crate::global_check::{GlobalAccess, GlobalRace};
use crate::isa::{Op, Scope};
use crate::registers::{Doubles, LANES, lanes};
use crate::shared_check::{SharedAccess, SharedCheck, SharedDefect};
use crate::trace::{LaneAccess, Motion, TraceEvent};
use crate::watch::Watch;

/// What happened between threads, before it is put in words.
struct Defect {
    kind: FindingKind,
    lane: usize,
    other: Option<Site>,
    touched: Touched,
}

impl Cta<'_> {
    /// A block begins.
    pub(crate) fn begin_block(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        if watch.clocks.begin_block() {
            watch.shared.iter_mut().for_each(SharedCheck::clear);
        }
        watch.tracing = watch.trace.as_ref().is_some_and(|trace| trace.block == self.block);
        watch.interval = 0;
        watch.tally.iter_mut().for_each(|tally| tally.begin_block(self.linear));
    }

    /// A warp executes an instruction: lanes of its path, and those whose guard holds.
    #[inline(always)]
    pub(crate) fn executed(&mut self, pc: u32, mask: u32, on: u32) {
        if let Some(tally) = self.watch.as_mut().and_then(|watch| watch.tally.as_mut()) {
            tally.executed(pc, mask, on);
        }
    }

    /// A warp's lanes disagree at a branch.
    pub(crate) fn diverged(&mut self, pc: u32) {
        if let Some(tally) = self.watch.as_mut().and_then(|watch| watch.tally.as_mut()) {
            tally.diverged(pc);
        }
    }

    /// Lanes of a warp have waited for each other.
    pub(crate) fn warp_synchronised(&mut self, warp: u32, mask: u32) {
        if let Some(watch) = &mut self.watch {
            watch.clocks.warp_synchronised(warp as usize, mask);
        }
        if let Some(weak) = &mut self.weak {
            weak.threads.synchronise_warp(warp, mask);
        }
    }

    /// What a warp knows of the clocks of others, if anybody watches.
    pub(crate) fn known_clocks(&self, warp: u32) -> Option<Known> {
        self.watch.as_ref().map(|watch| watch.clocks.known(warp as usize))
    }

    /// Has a warp know of the clocks of others what is given, and the other way round.
    pub(crate) fn exchange_known_clocks(&mut self, warp: u32, known: &mut Option<Known>) {
        if let (Some(watch), Some(known)) = (&mut self.watch, known) {
            watch.clocks.exchange_known(warp as usize, known);
        }
    }

    /// Lanes of a warp come to a barrier.
    pub(crate) fn arrived(&mut self, warp: u32, mask: u32, id: u8) {
        if let Some(watch) = &mut self.watch {
            watch.clocks.arrive(warp as usize, mask, usize::from(id));
        }
        if let Some(weak) = &mut self.weak {
            weak.threads.arrive(warp, mask, usize::from(id));
        }
    }

    /// Lanes of a warp pass a barrier.
    pub(crate) fn passed(&mut self, warp: u32, mask: u32, id: u8) {
        if let Some(watch) = &mut self.watch {
            watch.clocks.pass(warp as usize, mask, usize::from(id));
        }
        if let Some(weak) = &mut self.weak {
            weak.threads.pass(warp, mask, usize::from(id));
        }
    }

    /// Everyone who waited at a barrier has passed it.
    pub(crate) fn closed(&mut self, id: u8) {
        if let Some(watch) = &mut self.watch {
            watch.clocks.close(usize::from(id));
            watch.interval += 1;
        }
        if let Some(weak) = &mut self.weak {
            weak.threads.close(usize::from(id));
        }
    }

    /// A warp accesses memory, strongly within a scope or weakly; the access has been made and was in bounds.
    pub(crate) fn observe(
        &mut self,
        at: At,
        space: Space,
        motion: Motion,
        strength: Option<Scope>,
        bytes: u8,
        addresses: &Doubles,
    ) {
        let Some(mut watch) = self.watch.take() else { return };
        let bytes = u32::from(bytes);
        match space {
            Space::Global => {
                self.observe_global(&mut watch, at, motion, strength, bytes, addresses)
            }
            Space::Shared => {
                self.observe_shared(&mut watch, at, motion, strength, bytes, addresses)
            }
            Space::Param => {}
        }
        if watch.tracing && space != Space::Param {
            self.record(&mut watch, at, space, motion, bytes, addresses);
        }
        self.watch = Some(watch);
    }

    fn observe_global(
        &mut self,
        watch: &mut Watch,
        at: At,
        motion: Motion,
        strength: Option<Scope>,
        bytes: u32,
        addresses: &Doubles,
    ) {
        if let Some(tally) = &mut watch.tally {
            tally.global(at.pc, motion != Motion::Load, addresses, at.mask, bytes);
        }
        let touched =
            |lane: usize| Touched { space: Space::Global, address: addresses[lane], bytes };
        if watch.checks.uninitialised_global && motion != Motion::Store {
            for lane in lanes(at.mask) {
                if self.is_initialised(addresses[lane], bytes) {
                    continue;
                }
                let kind = FindingKind::UninitialisedGlobal;
                self.report_defect(at, Defect { kind, lane, other: None, touched: touched(lane) });
            }
        }
        let launch = self.launch;
        let Some(check) = &launch.global_check else { return };
        let constant = match launch.program.code[at.pc as usize].op {
            Op::Load(access) => launch.program.accesses[access as usize].constant,
            _ => false,
        };
        let mut near = 0;
        for lane in lanes(at.mask) {
            let thread = at.warp * LANES as u32 + lane as u32;
            let (address, block, pc) = (addresses[lane], self.linear, at.pc);
            let access =
                GlobalAccess { motion, strength, constant, address, bytes, block, thread, pc };
            let race = check.access(launch.table, &mut near, &watch.clocks, &access);
            let Some(race) = race else { continue };
            let (kind, then) = match race {
                GlobalRace::WriteWrite(then) => (FindingKind::GlobalWriteRace, Some(then)),
                GlobalRace::ReadWrite(then) => (FindingKind::GlobalReadWriteRace, Some(then)),
                GlobalRace::Constant => (FindingKind::ConstantWritten, None),
                GlobalRace::Exhausted => (FindingKind::ClockExhausted, None),
            };
            let other = then.map(|then| Site {
                line: launch.program.line(then.pc()),
                block: launch.block_index(then.block()),
                thread: launch.thread_index(then.thread()),
            });
            self.report_defect(at, Defect { kind, lane, other, touched: touched(lane) });
        }
    }

    fn is_initialised(&self, address: u64, bytes: u32) -> bool {
        let table = self.launch.table;
        match crate::memory::find(table, address, u64::from(bytes)) {
            Some(at) => table[at].is_written(address - table[at].base, u64::from(bytes)),
            None => true,
        }
    }

    fn observe_shared(
        &mut self,
        watch: &mut Watch,
        at: At,
        motion: Motion,
        strength: Option<Scope>,
        bytes: u32,
        addresses: &Doubles,
    ) {
        if let Some(tally) = &mut watch.tally {
            tally.shared(at.pc, motion != Motion::Load, addresses, at.mask, bytes);
        }
        let Some(check) = &mut watch.shared else { return };
        for lane in lanes(at.mask) {
            let thread = at.warp * LANES as u32 + lane as u32;
            let (address, pc, strong) = (addresses[lane], at.pc, strength.is_some());
            let access = SharedAccess { motion, strong, address, bytes, thread, pc };
            for defect in check.access(&watch.clocks, &access).into_iter().flatten() {
                let (kind, other) = match defect {
                    SharedDefect::Uninitialised => (FindingKind::UninitialisedShared, None),
                    SharedDefect::Race(then) => {
                        let line = self.launch.program.line(then.pc());
                        let thread = self.launch.thread_index(then.thread());
                        let other = Site { line, block: self.block, thread };
                        (FindingKind::SharedRace, Some(other))
                    }
                };
                let wanted = match kind {
                    FindingKind::UninitialisedShared => watch.checks.uninitialised_shared,
                    // Who was told of what decides instead.
                    _ if self.weak.is_some() => false,
                    _ => watch.checks.shared_race,
                };
                if wanted {
                    let touched = Touched { space: Space::Shared, address, bytes };
                    self.report_defect(at, Defect { kind, lane, other, touched });
                }
            }
        }
    }

    /// Reports a race between an access and an earlier one, if such races are to be found.
    pub(crate) fn report_race(
        &mut self,
        at: At,
        kind: FindingKind,
        lane: usize,
        touched: Touched,
        other: Site,
    ) {
        let Some(checks) = self.watch.as_ref().map(|watch| watch.checks) else { return };
        let wanted = match kind {
            FindingKind::GlobalWriteRace => checks.global_write_race,
            FindingKind::GlobalReadWriteRace => checks.global_read_race,
            _ => checks.shared_race,
        };
        if wanted {
            self.report_defect(at, Defect { kind, lane, other: Some(other), touched });
        }
    }

    fn report_defect(&mut self, at: At, defect: Defect) {
        let line = self.launch.program.code[at.pc as usize].line;
        let other_line = defect.other.map(|other| other.line);
        // A broken kernel repeats itself millions of times.
        if self.findings.repeats(self.linear, (defect.kind, line, other_line)) {
            return;
        }
        let finding = self.finding(defect.kind, at, defect.lane);
        let touched = Some(defect.touched);
        self.report(Finding { other: defect.other, touched, ..finding });
    }

    fn record(
        &self,
        watch: &mut Watch,
        at: At,
        space: Space,
        motion: Motion,
        bytes: u32,
        addresses: &Doubles,
    ) {
        let Some(trace) = &mut watch.trace else { return };
        if trace.events.len() >= watch.trace_limit {
            trace.omitted += 1;
            return;
        }
        let lane = |lane: usize| LaneAccess {
            lane: lane as u32,
            thread: self.launch.thread_index(at.warp * LANES as u32 + lane as u32),
            address: addresses[lane],
        };
        trace.events.push(TraceEvent {
            step: trace.events.len() as u64,
            line: self.launch.program.code[at.pc as usize].line,
            warp: at.warp,
            interval: watch.interval,
            space,
            motion,
            bytes,
            lanes: lanes(at.mask).map(lane).collect(),
        });
    }
}
