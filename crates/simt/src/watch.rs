//! The observers of one worker: what a launch is looked into for, and what they have seen.

use crate::clocks::Clocks;
use crate::counters::Tally;
use crate::isa::Window;
use crate::launch::Launch;
use crate::options::{Checks, Options};
use crate::registers::LANES;
use crate::shared_check::SharedCheck;
use crate::trace::Trace;

/// The observers of one worker.
#[derive(Debug)]
pub(crate) struct Watch {
    pub checks: Checks,
    /// Whether more than one traced block is of interest.
    pub every_block: bool,
    pub tally: Option<Tally>,
    pub clocks: Clocks,
    pub shared: Option<SharedCheck>,
    /// The trace being made, and whether the block at hand is the one to trace.
    pub trace: Option<Trace>,
    pub trace_limit: usize,
    pub tracing: bool,
    pub interval: u32,
}

impl Watch {
    pub(crate) fn new(launch: &Launch<'_>, options: &Options) -> Watch {
        let checks = options.checks;
        let check_shared = checks.shared_race || checks.uninitialised_shared;
        let program = launch.program;
        let shared = || {
            let piece = program.narrowest_access(Window::Shared);
            SharedCheck::new(launch.shared_bytes, piece, program.has_strong_accesses())
        };
        let trace = |block| Trace { block, events: Vec::new(), omitted: 0 };
        Watch {
            checks,
            every_block: checks != Checks::NONE || options.counters.is_some(),
            tally: options.counters.map(|o| Tally::new(&o, program.code.len())),
            clocks: Clocks::new(launch.threads.div_ceil(LANES as u32) as usize),
            shared: check_shared.then(shared),
            trace: options.trace.map(|options| trace(options.block)),
            trace_limit: options.trace.map_or(0, |options| options.limit),
            tracing: false,
            interval: 0,
        }
    }

    /// Whether there is anything to watch for.
    pub(crate) fn is_needed(&self) -> bool {
        self.every_block || self.trace.is_some()
    }

    /// Whether the block at `index` need be watched.
    pub(crate) fn cares_about(&self, index: [u32; 3]) -> bool {
        self.every_block || self.trace.as_ref().is_some_and(|trace| trace.block == index)
    }
}
