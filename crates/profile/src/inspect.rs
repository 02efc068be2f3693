//! Collecting the reports of all launches that a piece of work makes.

use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use transpose::simt::{CounterOptions, Counters, Kernel, Options, Progress, Report, TraceOptions};
use transpose::simulator::{Launched, Observer};
use transpose::{Device, Result};

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
    code: &'static Kernel,
}

impl LaunchReport {
    /// The kernel's PTX with the counts beside each line; `None` if nothing was counted.
    pub fn annotated(&self) -> Option<String> {
        self.report.counters.as_ref().map(|counters| counters.annotate(self.code))
    }
}

impl From<Launched> for LaunchReport {
    fn from(launched: Launched) -> Self {
        let Launched { kernel, grid, block, dynamic_shared_bytes, report, code, .. } = launched;
        LaunchReport { kernel, grid, block, dynamic_shared_bytes, report, code }
    }
}

/// Keeps what it is told.
struct Recorder {
    inspection: Inspection,
    launches: RefCell<Vec<LaunchReport>>,
}

impl Observer for Recorder {
    fn prepare(&self, options: &mut Options) {
        let Inspection { counters, trace, progress } = self.inspection.clone();
        (options.counters, options.trace, options.progress) = (counters, trace, progress);
    }

    fn launched(&self, launch: Launched) {
        self.launches.borrow_mut().push(launch.into());
    }
}

/// Runs `work` and returns what the simulator saw in each launch that the calling thread made on `device`, in order. `None`
/// on a GPU, which cannot be looked into.
///
/// # Errors
/// What `work` returns.
pub fn inspect(
    device: &Device,
    inspection: Inspection,
    work: impl FnOnce() -> Result<()>,
) -> Result<Option<Vec<LaunchReport>>> {
    let recorder = Rc::new(Recorder { inspection, launches: RefCell::default() });
    device.observe(recorder.clone(), work)?;
    Ok((!device.is_gpu()).then(|| recorder.launches.take()))
}

/// Runs `work` and returns the sum of what the kernels did to memory that the calling thread launched on `device`. `None` on a
/// GPU, which is asked by a profiler.
///
/// # Errors
/// What `work` returns.
pub fn count(device: &Device, work: impl FnOnce() -> Result<()>) -> Result<Option<Counters>> {
    let counted = inspect(device, Inspection::counting(), work)?.map(|launches| {
        let mut sum = Counters::default();
        let counters = launches.iter().filter_map(|launch| launch.report.counters.as_ref());
        counters.for_each(|counters| sum.add(&counters.total));
        sum
    });
    Ok(counted)
}
