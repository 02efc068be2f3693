//! How to launch: shape, checks and what to report.

use std::fmt;
use std::sync::Arc;

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

/// What to do besides running.
#[derive(Clone, Debug)]
pub struct Options {
    /// Distinct findings to keep.
    pub findings_limit: usize,
    /// Instructions after which a warp is stopped; `None` lets kernels run for ever.
    pub instruction_limit: Option<u64>,
    /// Most shared memory a block may have, in bytes. By default 227 KiB, as on Hopper.
    pub shared_memory_limit: u64,
    /// Told how far the launch is.
    pub progress: Option<Progress>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            findings_limit: 64,
            instruction_limit: None,
            shared_memory_limit: 227 << 10,
            progress: None,
        }
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
