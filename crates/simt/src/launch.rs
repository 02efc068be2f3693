//! What the blocks of a launch share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::global_check::GlobalCheck;
use crate::local::Local;
use crate::memory::{Allocation, Memory, Table};
use crate::options::LaunchConfig;
use crate::program::Program;

/// Everything about a launch that its blocks share.
pub(crate) struct Launch<'a> {
    pub name: Arc<str>,
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub table: &'a Table,
    /// Stands for "no allocation".
    pub nothing: &'a Allocation,
    pub params: Local,
    pub config: LaunchConfig,
    /// Threads of a block.
    pub threads: u32,
    pub blocks: u64,
    pub shared_bytes: u64,
    pub dynamic_shared_at: u64,
    /// Registers that hold `%ctaid`, and the axis.
    pub block_registers: Vec<(usize, usize)>,
    pub budget: Option<Budget>,
    pub findings_limit: usize,
    /// Present where accesses to global memory are checked or recorded.
    pub global_check: Option<GlobalCheck>,
}

impl Launch<'_> {
    /// The index of block number `linear`, `x` fastest.
    pub(crate) fn block_index(&self, linear: u64) -> [u32; 3] {
        unravel(linear, self.config.grid)
    }

    /// The index of thread number `linear` in its block, `x` fastest.
    pub(crate) fn thread_index(&self, linear: u32) -> [u32; 3] {
        unravel(u64::from(linear), self.config.block)
    }
}

fn unravel(linear: u64, extent: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(extent[0]), u64::from(extent[1]));
    [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
}

/// The instructions that a launch may execute, shared by its workers. They may pass it by a turn each.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    spent: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Budget {
        Budget { limit, spent: AtomicU64::new(0) }
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Relaxed)
    }

    pub(crate) fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent())
    }

    pub(crate) fn spend(&self, instructions: u64) {
        // A launch ends soon after its limit, long before the sum could overflow.
        self.spent.fetch_add(instructions, Relaxed);
    }
}

impl Launch<'_> {
    /// What the start of a block costs, in instructions: memory and registers that are set.
    pub(crate) fn start_cost(&self) -> u64 {
        let live = &self.program.live_in;
        let registers = live.words.len() + live.doubles.len() + live.predicates.len();
        let warps = u64::from(self.threads.div_ceil(32));
        self.shared_bytes / 128 + warps * registers as u64
    }
}
