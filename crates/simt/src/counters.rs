//! What an instrumented launch counts, per instruction and in all.

use serde::Serialize;

use crate::banks::{BankModel, bank_cost};
use crate::coalesce::{CoalesceModel, Coalesced, coalesce};
use crate::isa::Op;
use crate::partitions::{PartitionModel, PartitionReport, Partitions};
use crate::program::Program;
use crate::registers::Doubles;

/// What to count, and by which rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterOptions {
    /// How global accesses are grouped.
    pub coalescing: CoalesceModel,
    /// How shared memory is divided into banks.
    pub banks: BankModel,
    /// How global memory is divided into partitions, to be counted per set of
    /// blocks that run together.
    pub partitions: Option<PartitionModel>,
}

impl CounterOptions {
    /// These, with global accesses grouped like that.
    pub fn coalescing(mut self, coalescing: CoalesceModel) -> Self {
        self.coalescing = coalescing;
        self
    }

    /// These, with shared memory divided like that.
    pub fn banks(mut self, banks: BankModel) -> Self {
        self.banks = banks;
        self
    }

    /// These, with traffic to such partitions counted.
    pub fn partitions(mut self, partitions: impl Into<Option<PartitionModel>>) -> Self {
        self.partitions = partitions.into();
        self
    }
}

/// Traffic to global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GlobalTraffic {
    /// Instructions of warps that had an active lane (half-warps, if so modelled).
    pub requests: u64,
    /// Sectors moved.
    pub sectors: u64,
    /// Sectors that would do for the bytes requested, densely packed.
    pub ideal_sectors: u64,
    /// Cache lines looked up.
    pub lines: u64,
    /// Bytes that lanes asked for.
    pub requested_bytes: u64,
    /// Bytes of the sectors moved.
    pub moved_bytes: u64,
}

impl GlobalTraffic {
    /// Requested over moved bytes, which profilers call `gld_efficiency` and
    /// `gst_efficiency`; `None` without traffic. Above 1 where lanes share data.
    pub fn efficiency(&self) -> Option<f64> {
        (self.moved_bytes > 0).then(|| self.requested_bytes as f64 / self.moved_bytes as f64)
    }

    /// Sectors per request; `None` without traffic.
    pub fn sectors_per_request(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.sectors as f64 / self.requests as f64)
    }

    pub(crate) fn add(&mut self, other: &GlobalTraffic) {
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.ideal_sectors += other.ideal_sectors;
        self.lines += other.lines;
        self.requested_bytes += other.requested_bytes;
        self.moved_bytes += other.moved_bytes;
    }
}

/// Traffic to shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SharedTraffic {
    /// Instructions of warps that had an active lane.
    pub requests: u64,
    /// Cycles of shared memory.
    pub wavefronts: u64,
    /// Cycles that would do without bank conflicts.
    pub ideal_wavefronts: u64,
    /// Cycles lost to bank conflicts.
    pub conflicts: u64,
    /// Bytes that lanes asked for.
    pub requested_bytes: u64,
}

impl SharedTraffic {
    /// Wavefronts per request; `None` without traffic.
    pub fn wavefronts_per_request(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.wavefronts as f64 / self.requests as f64)
    }

    /// How many lanes take turns on average: 1 without conflicts, 32 at worst;
    /// `None` without traffic.
    pub fn ways(&self) -> Option<f64> {
        (self.ideal_wavefronts > 0).then(|| self.wavefronts as f64 / self.ideal_wavefronts as f64)
    }

    pub(crate) fn add(&mut self, other: &SharedTraffic) {
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
        self.conflicts += other.conflicts;
        self.requested_bytes += other.requested_bytes;
    }
}

/// What one instruction, or a whole launch, did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Instructions executed by warps, predicated-off ones included.
    pub warp_instructions: u64,
    /// The same, counted once per lane of the path that executed them.
    pub thread_instructions: u64,
    /// The same, without lanes whose predicate was false.
    pub predicated_on_thread_instructions: u64,
    /// Branches at which a warp's lanes disagreed.
    pub divergent_branches: u64,
    /// Loads from global memory.
    pub global_load: GlobalTraffic,
    /// Stores to global memory.
    pub global_store: GlobalTraffic,
    /// Atomics on global memory.
    pub global_atomic: GlobalTraffic,
    /// Loads from shared memory.
    pub shared_load: SharedTraffic,
    /// Stores to shared memory.
    pub shared_store: SharedTraffic,
    /// Atomics on shared memory.
    pub shared_atomic: SharedTraffic,
}

impl Counters {
    /// Active lanes over lanes there are: 1 where every warp is full and none
    /// diverges; `None` if nothing was executed.
    pub fn lane_efficiency(&self) -> Option<f64> {
        let ideal = 32.0 * self.warp_instructions as f64;
        (self.warp_instructions > 0).then(|| self.thread_instructions as f64 / ideal)
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Counters) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.predicated_on_thread_instructions += other.predicated_on_thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.global_load.add(&other.global_load);
        self.global_store.add(&other.global_store);
        self.global_atomic.add(&other.global_atomic);
        self.shared_load.add(&other.shared_load);
        self.shared_store.add(&other.shared_store);
        self.shared_atomic.add(&other.shared_atomic);
    }
}

/// The counts of one instruction of the PTX.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstructionCounters {
    /// Its line in the PTX text, from 1.
    pub line: u32,
    /// That line, trimmed.
    pub text: String,
    /// What it did.
    pub counters: Counters,
}

/// Everything counted in a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CounterReport {
    /// The whole launch.
    pub total: Counters,
    /// Each instruction, in order of the text; those never executed too.
    pub instructions: Vec<InstructionCounters>,
    /// Traffic by partition, if asked for.
    pub partitions: Option<PartitionReport>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Executed {
    warps: u64,
    lanes: u64,
    on: u64,
    divergent: u64,
}

/// The counters of one worker.
#[derive(Debug)]
pub(crate) struct Tally {
    options: CounterOptions,
    executed: Vec<Executed>,
    global: Vec<GlobalTraffic>,
    shared: Vec<SharedTraffic>,
    partitions: Option<Partitions>,
}

impl Tally {
    pub(crate) fn new(options: &CounterOptions, instructions: usize) -> Tally {
        Tally {
            options: *options,
            executed: vec![Executed::default(); instructions],
            global: vec![GlobalTraffic::default(); instructions],
            shared: vec![SharedTraffic::default(); instructions],
            partitions: options.partitions.map(Partitions::new),
        }
    }

    pub(crate) fn begin_block(&mut self, block: u64) {
        if let Some(partitions) = &mut self.partitions {
            partitions.begin_block(block);
        }
    }

    #[inline(always)]
    pub(crate) fn executed(&mut self, pc: u32, lanes: u32, on: u32) {
        let executed = &mut self.executed[pc as usize];
        executed.warps += 1;
        executed.lanes += u64::from(lanes.count_ones());
        executed.on += u64::from(on.count_ones());
    }

    pub(crate) fn diverged(&mut self, pc: u32) {
        self.executed[pc as usize].divergent += 1;
    }

    pub(crate) fn global(
        &mut self,
        pc: u32,
        stores: bool,
        addresses: &Doubles,
        mask: u32,
        bytes: u32,
    ) {
        let model = &self.options.coalescing;
        let touched = coalesce(model, addresses, mask);
        let traffic = &mut self.global[pc as usize];
        let requested = u64::from(mask.count_ones() * bytes);
        let sectors = touched.sectors().len() as u64;
        traffic.requests += u64::from(touched.requests);
        traffic.sectors += sectors;
        traffic.ideal_sectors += ideal_sectors(model, mask, bytes);
        traffic.lines += u64::from(touched.lines);
        traffic.requested_bytes += requested;
        traffic.moved_bytes += sectors * u64::from(model.sector_bytes);
        if let Some(partitions) = &mut self.partitions {
            count_partitions(partitions, stores, &touched);
        }
    }

    pub(crate) fn shared(
        &mut self,
        pc: u32,
        stores: bool,
        addresses: &Doubles,
        mask: u32,
        bytes: u32,
    ) {
        let cost = bank_cost(&self.options.banks, !stores, addresses, mask, bytes);
        let traffic = &mut self.shared[pc as usize];
        traffic.requests += 1;
        traffic.wavefronts += u64::from(cost.wavefronts);
        traffic.ideal_wavefronts += u64::from(cost.ideal);
        traffic.conflicts += u64::from(cost.wavefronts - cost.ideal);
        traffic.requested_bytes += u64::from(mask.count_ones() * bytes);
    }

    pub(crate) fn merge(&mut self, other: Tally) {
        for (mine, other) in self.executed.iter_mut().zip(&other.executed) {
            mine.warps += other.warps;
            mine.lanes += other.lanes;
            mine.on += other.on;
            mine.divergent += other.divergent;
        }
        self.global.iter_mut().zip(&other.global).for_each(|(mine, other)| mine.add(other));
        self.shared.iter_mut().zip(&other.shared).for_each(|(mine, other)| mine.add(other));
        if let (Some(mine), Some(other)) = (&mut self.partitions, other.partitions) {
            mine.merge(other);
        }
    }

    pub(crate) fn into_report(self, program: &Program, source: &str) -> CounterReport {
        let lines: Vec<&str> = source.lines().collect();
        let mut report = CounterReport::default();
        for at in 0..program.code.len() {
            let counters = self.instruction(at, program.code[at].op);
            report.total.add(&counters);
            let line = program.code[at].line;
            let text = lines.get((line as usize).wrapping_sub(1)).map_or("", |text| text.trim());
            let text = text.to_owned();
            report.instructions.push(InstructionCounters { line, text, counters });
        }
        // The return that stands behind every kernel's text is none of it.
        if report.instructions.last().is_some_and(|last| last.counters == Counters::default()) {
            report.instructions.pop();
        }
        report.partitions = self.partitions.map(Partitions::into_report);
        report
    }

    fn instruction(&self, at: usize, op: Op) -> Counters {
        let executed = self.executed[at];
        let mut counters = Counters {
            warp_instructions: executed.warps,
            thread_instructions: executed.lanes,
            predicated_on_thread_instructions: executed.on,
            divergent_branches: executed.divergent,
            ..Counters::default()
        };
        match op {
            Op::Load(_) => {
                (counters.global_load, counters.shared_load) = (self.global[at], self.shared[at]);
            }
            Op::Store(_) => {
                (counters.global_store, counters.shared_store) = (self.global[at], self.shared[at]);
            }
            Op::Copy(_) => {
                (counters.global_load, counters.shared_store) = (self.global[at], self.shared[at]);
            }
            _ => {
                (counters.global_atomic, counters.shared_atomic) =
                    (self.global[at], self.shared[at]);
            }
        }
        counters
    }
}

/// Sectors that the bytes of each request would fill.
fn ideal_sectors(model: &CoalesceModel, mask: u32, bytes: u32) -> u64 {
    let group = u32::MAX >> (32 - model.lanes);
    let groups = (0..32).step_by(model.lanes as usize).map(|first| mask & group << first);
    groups
        .map(|members| u64::from((members.count_ones() * bytes).div_ceil(model.sector_bytes)))
        .sum()
}

fn count_partitions(partitions: &mut Partitions, stores: bool, touched: &Coalesced) {
    touched.sectors().iter().for_each(|&sector| partitions.count(stores, sector));
}
