//! Executes PTX on the CPU, counts its memory transactions, finds its races.
//!
//! A [`Module`] is PTX text, parsed and decoded; a [`Kernel`] of it runs on a
//! [`Memory`] with [`Kernel::launch`]. Nothing here knows what a kernel is for:
//! it runs the instructions that the GPU's assembler would be given.
//!
//! The model is that of GPUs since Volta: warps of 32 lanes that diverge and
//! meet again, blocks with shared memory and barriers, a grid whose blocks run
//! in any order. Blocks run in parallel, on all cores if they have enough threads.
//!
//! On request a launch also
//!
//! - *counts* ([`Options::counters`]): instructions, active lanes, divergent
//!   branches, sectors and lines of global memory, wavefronts and bank conflicts
//!   of shared memory, per instruction and in all ([`CounterReport`]). The rules
//!   are pure functions with their reasons: [`banks`] and [`coalesce`].
//! - *checks* ([`Options::checks`]): races, reads of what nobody wrote, bytes that
//!   should have been written. What is found is data: a [`Finding`] with kernel,
//!   PTX line, block, thread and address. Accesses out of bounds or misaligned,
//!   deadlocks and traps stop a launch in any case: [`Error::Fault`].
//! - *traces* ([`Options::trace`]): every access of one block, in order ([`Trace`]).
//!
//! # What it does not do
//!
//! - PTX that kernels of this kind do not need is refused when a kernel is
//!   decoded, with its line: calls, local memory, textures, asynchronous copies,
//!   tensor cores, 16-bit floating point, approximate functions, clusters.
//! - Time does not pass: there are no caches, no latencies, no `%clock`.
//! - Counts are of PTX instructions. The assembler may merge or drop some, so
//!   that a GPU executes fewer; memory transactions are the same.
//! - An order that a kernel makes by flags and fences is obeyed but not known to
//!   the race checks, which see barriers only. [`Options::weak_memory`] knows it:
//!   there memory is as weak as the memory model of PTX lets it be, and a missing
//!   fence shows.
//!
//! # Example
//!
//! ```
//! let ptx = "
//!     .version 6.0
//!     .target sm_70
//!     .address_size 64
//!     .visible .entry twice(.param .u64 data)
//!     {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         cvta.to.global.u64 %rd2, %rd1;
//!         mov.u32 %r1, %tid.x;
//!         mad.wide.u32 %rd3, %r1, 4, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         add.u32 %r2, %r2, %r2;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }";
//! let module = simt::Module::parse(ptx)?;
//! let memory = simt::Memory::new(1 << 20);
//! let data = memory.alloc(12)?;
//! memory.write(data, &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])?;
//! let config = simt::LaunchConfig { grid: [1; 3], block: [3, 1, 1], dynamic_shared_bytes: 0 };
//! module.kernel("twice")?.launch(&memory, &config, &[&data.to_le_bytes()], &Default::default())?;
//! let mut out = [0; 12];
//! memory.read(data, &mut out)?;
//! assert_eq!(out, [2, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0]);
//! # Ok::<(), simt::Error>(())
//! ```

#![deny(clippy::missing_errors_doc)]
#![forbid(unsafe_code)]
// A lane number indexes several registers at once.
#![allow(clippy::needless_range_loop)]

mod access;
mod alu;
mod annotate;
mod atomic;
pub mod banks;
mod block;
mod clocks;
pub mod coalesce;
mod copies;
mod counters;
mod cta;
mod decode;
mod done;
mod error;
mod exchange;
mod findings;
mod flow;
mod global_check;
mod half;
mod isa;
mod launch;
mod lexer;
mod local;
mod meeting;
mod memory;
mod module;
mod number;
mod observe;
mod options;
mod parser;
mod partitions;
mod paths;
mod place;
mod program;
mod registers;
mod report;
mod shared_check;
mod start;
mod sync;
mod syntax;
mod tickets;
mod trace;
mod warp;
mod watch;
mod weak;
mod weakly;
mod workers;

pub use counters::{
    CounterOptions, CounterReport, Counters, GlobalTraffic, InstructionCounters, SharedTraffic,
};
pub use error::Error;
pub use findings::{Fault, Finding, FindingKind, Site, Space, Touched};
pub use global_check::Writes;
pub use memory::Memory;
pub use module::{Kernel, Module, Param};
pub use options::{Checks, LaunchConfig, Options, Progress};
pub use partitions::{PartitionModel, PartitionReport, PartitionSet};
pub use report::Report;
pub use trace::{LaneAccess, Motion, Trace, TraceEvent, TraceOptions};
