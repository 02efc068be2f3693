//! What the simulator tells about launches, besides running them.

use crate::Result;
use crate::kernels::Entry;
use serde::Serialize;
use simt::{CounterOptions, Progress, Report, TraceOptions};

/// What to report of launches on a simulated device.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Which memory transactions to count, and by which rules; `None` for none.
    pub counters: Option<CounterOptions>,
    /// The block whose accesses to list.
    pub trace: Option<TraceOptions>,
    /// Told how far each launch is.
    pub progress: Option<Progress>,
}

impl Inspection {
    /// Counts by the rules of current GPUs.
    pub fn counting() -> Self {
        Inspection { counters: Some(CounterOptions::default()), ..Inspection::default() }
    }
}

/// One launch of a kernel on a simulated device, and what came of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct LaunchReport {
    /// The kernel's name in the PTX.
    pub kernel: &'static str,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// What was counted and traced. It has no findings: those are errors of the launch.
    pub report: Report,
    #[serde(skip)]
    pub(super) entry: Entry,
}

impl LaunchReport {
    /// The kernel's PTX with the counts beside each line; `None` if nothing was counted.
    ///
    /// # Errors
    /// None in practice: that the kernel, which has run, cannot be decoded.
    pub fn annotated(&self) -> Result<Option<String>> {
        let kernel = super::simulated::kernel(self.entry)?;
        Ok(self.report.counters.as_ref().map(|counters| counters.annotate(kernel)))
    }
}
