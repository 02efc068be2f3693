//! Every access of one block, in order: what a picture of a kernel is drawn from.

use serde::Serialize;

use crate::banks::{BankModel, bank_of};
use crate::findings::Space;

/// Which block to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Index of the block.
    pub block: [u32; 3],
    /// Accesses to keep.
    pub limit: usize,
}

/// How an access moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Motion {
    /// From memory to registers.
    Load,
    /// From registers to memory.
    Store,
    /// Both, as one.
    Atomic,
}

/// One thread's part in an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LaneAccess {
    /// The lane in its warp.
    pub lane: u32,
    /// The thread's index in its block.
    pub thread: [u32; 3],
    /// A global address, or an offset into the block's shared memory.
    pub address: u64,
}

impl LaneAccess {
    /// The bank that the access starts in, for shared memory.
    pub fn bank(&self, model: &BankModel) -> u32 {
        bank_of(model, self.address)
    }
}

/// One instruction of one warp that touched memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEvent {
    /// Position among the block's accesses, as the simulator ran them.
    pub step: u64,
    /// Line in the PTX text, from 1.
    pub line: u32,
    /// The warp in its block.
    pub warp: u32,
    /// Barriers that the block had passed.
    pub interval: u32,
    /// What was touched.
    pub space: Space,
    /// In which direction.
    pub motion: Motion,
    /// Bytes per thread.
    pub bytes: u32,
    /// The active lanes.
    pub lanes: Vec<LaneAccess>,
}

/// The accesses of one block to global and shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// Index of the block.
    pub block: [u32; 3],
    /// Its accesses, in order.
    pub events: Vec<TraceEvent>,
    /// Accesses beyond [`TraceOptions::limit`].
    pub omitted: u64,
}
