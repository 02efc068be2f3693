//! What the blocks of a launch share.

use std::sync::Arc;

use crate::global_check::GlobalCheck;
use crate::isa::Program;
use crate::local::Local;
use crate::memory::{Allocation, Memory, Table};
use crate::options::LaunchConfig;

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
    pub instruction_limit: Option<u64>,
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
