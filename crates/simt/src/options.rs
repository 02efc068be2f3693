//! How to launch: shape, checks and what to report.

use std::fmt;
use std::sync::Arc;

use crate::counters::CounterOptions;
use crate::trace::TraceOptions;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
}

/// What to check while running. Accesses out of bounds or misaligned, barriers
/// that only a part of a warp reaches and deadlocks are found in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checks {
    /// Reads of shared memory that no thread of the block has written.
    pub uninitialised_shared: bool,
    /// Reads of global memory that neither host nor kernel has written. Needs
    /// [`Memory::tracking_initialised`](crate::Memory::tracking_initialised).
    pub uninitialised_global: bool,
    /// Reads of registers that the thread has not written, moves apart.
    pub uninitialised_registers: bool,
    /// Two threads touch the same shared bytes, at least one writing, unordered.
    pub shared_race: bool,
    /// Two threads write the same global bytes, unordered. Takes 8 bytes of host
    /// memory for each piece of global memory written, a piece being the
    /// kernel's narrowest access.
    pub global_write_race: bool,
    /// One thread reads what another writes, unordered; or the launch writes what it loads as constant (`.nc`). Takes 24 bytes a piece.
    pub global_read_race: bool,
    /// Keep which bytes were written, for [`Report::writes`](crate::Report::writes).
    pub record_writes: bool,
}

impl Checks {
    /// No check.
    pub const NONE: Checks = Checks {
        uninitialised_shared: false,
        uninitialised_global: false,
        uninitialised_registers: false,
        shared_race: false,
        global_write_race: false,
        global_read_race: false,
        record_writes: false,
    };

    /// Every check that works on any [`Memory`](crate::Memory): all but
    /// [`Checks::uninitialised_global`].
    pub const ALL_UNTRACKED: Checks = Checks {
        uninitialised_shared: true,
        uninitialised_global: false,
        uninitialised_registers: true,
        shared_race: true,
        global_write_race: true,
        global_read_race: true,
        record_writes: true,
    };

    /// Every check there is.
    pub const ALL: Checks = Checks { uninitialised_global: true, ..Checks::ALL_UNTRACKED };
}

impl Checks {
    /// These, with or without [that check](#structfield.uninitialised_shared).
    pub const fn uninitialised_shared(mut self, uninitialised_shared: bool) -> Self {
        self.uninitialised_shared = uninitialised_shared;
        self
    }

    /// These, with or without [that check](#structfield.uninitialised_global).
    pub const fn uninitialised_global(mut self, uninitialised_global: bool) -> Self {
        self.uninitialised_global = uninitialised_global;
        self
    }

    /// These, with or without [that check](#structfield.uninitialised_registers).
    pub const fn uninitialised_registers(mut self, uninitialised_registers: bool) -> Self {
        self.uninitialised_registers = uninitialised_registers;
        self
    }

    /// These, with or without [that check](#structfield.shared_race).
    pub const fn shared_race(mut self, shared_race: bool) -> Self {
        self.shared_race = shared_race;
        self
    }

    /// These, with or without [that check](#structfield.global_write_race).
    pub const fn global_write_race(mut self, global_write_race: bool) -> Self {
        self.global_write_race = global_write_race;
        self
    }

    /// These, with or without [that check](#structfield.global_read_race).
    pub const fn global_read_race(mut self, global_read_race: bool) -> Self {
        self.global_read_race = global_read_race;
        self
    }

    /// These, with or without [that record](#structfield.record_writes).
    pub const fn record_writes(mut self, record_writes: bool) -> Self {
        self.record_writes = record_writes;
        self
    }
}

/// What to do besides running.
///
/// ```
/// use simt::{Checks, Options};
/// let options = Options::default().checks(Checks::ALL_UNTRACKED).instruction_limit(1 << 20);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What to check.
    pub checks: Checks,
    /// What to count; `None` for nothing.
    pub counters: Option<CounterOptions>,
    /// The block whose accesses to list.
    pub trace: Option<TraceOptions>,
    /// Distinct findings to keep.
    pub findings_limit: usize,
    /// Instructions after which a launch is stopped, those of all its warps counted together; `None` lets kernels run for
    /// ever. A block that starts counts as one instruction for each 128 bytes of its shared memory and for each register
    /// of a warp that is set to zero.
    pub instruction_limit: Option<u64>,
    /// Most shared memory a block may have, in bytes. By default 227 KiB, as on Hopper.
    pub shared_memory_limit: u64,
    /// Memory as weak as the PTX ISA's memory model lets it be: loads may be old and late and stores out of order, as chance has it
    /// that starts from this number. Every choice comes from it, so a launch can be replayed. Races are then found by what threads
    /// were told of each other, through atomics and fences too. Blocks run by turns on one host thread: slowly. `None`
    /// for memory that everyone sees alike.
    pub weak_memory: Option<u64>,
    /// Told how far the launch is.
    pub progress: Option<Progress>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            checks: Checks::NONE,
            counters: None,
            trace: None,
            findings_limit: 64,
            instruction_limit: None,
            shared_memory_limit: 227 << 10,
            weak_memory: None,
            progress: None,
        }
    }
}

impl Options {
    /// These, with those checks.
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// These, with that counted.
    pub fn counters(mut self, counters: impl Into<Option<CounterOptions>>) -> Self {
        self.counters = counters.into();
        self
    }

    /// These, with the accesses of that block listed.
    pub fn trace(mut self, trace: impl Into<Option<TraceOptions>>) -> Self {
        self.trace = trace.into();
        self
    }

    /// These, with so many distinct findings kept.
    pub fn findings_limit(mut self, findings_limit: usize) -> Self {
        self.findings_limit = findings_limit;
        self
    }

    /// These, with the launch stopped after so many instructions of all its warps.
    pub fn instruction_limit(mut self, instruction_limit: impl Into<Option<u64>>) -> Self {
        self.instruction_limit = instruction_limit.into();
        self
    }

    /// These, with at most so much shared memory to a block, in bytes.
    pub fn shared_memory_limit(mut self, shared_memory_limit: u64) -> Self {
        self.shared_memory_limit = shared_memory_limit;
        self
    }

    /// These, with memory as weak as the memory model lets it be, by chance that starts from that number.
    pub fn weak_memory(mut self, seed: impl Into<Option<u64>>) -> Self {
        self.weak_memory = seed.into();
        self
    }

    /// These, with that told how far the launch is.
    pub fn progress(mut self, progress: impl Into<Option<Progress>>) -> Self {
        self.progress = progress.into();
        self
    }
}

/// A function that is told how many blocks are done, and of how many. It is
/// called from several threads.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(u64, u64) + Send + Sync>);

impl Progress {
    /// Wraps `f(done, total)`.
    pub fn new(f: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress(Arc::new(f))
    }

    pub(crate) fn call(&self, done: u64, total: u64) {
        (self.0)(done, total);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
