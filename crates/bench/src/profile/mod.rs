//! What the program `profile` prints and draws of simulated launches.

pub mod ncu;
pub mod picture;
pub mod table;

use crate::workloads::Workload;
use ::profile::LaunchReport;
use serde::Serialize;
use std::str::FromStr;
use transpose::simt::{Counters, PartitionModel};

/// What was profiled, and what was seen. Its JSON is for programs to read: names stay as they are.
#[derive(Serialize)]
pub struct Profile {
    /// The matrix.
    #[serde(flatten)]
    pub shape: Shape,
    /// A line for each launch of each kernel.
    pub kernels: Vec<Line>,
    /// What was not launched, and why.
    pub left_out: Vec<String>,
}

/// The matrix that each workload was made for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shape {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Bytes of an element.
    pub element_bytes: usize,
}

/// One launch.
#[derive(Serialize)]
pub struct Line {
    /// The workload's name.
    pub name: &'static str,
    /// Ratios of the counts.
    pub ratios: Ratios,
    /// The launch and its counts.
    #[serde(flatten)]
    pub launch: LaunchReport,
}

/// The numbers by which people compare kernels; none where there was nothing of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ratios {
    /// 32-byte sectors per global load instruction of a warp.
    pub load_sectors_per_request: Option<f64>,
    /// Requested over moved bytes of global loads: `gld_efficiency`.
    pub load_efficiency: Option<f64>,
    /// 32-byte sectors per global store instruction of a warp.
    pub store_sectors_per_request: Option<f64>,
    /// Requested over moved bytes of global stores: `gst_efficiency`.
    pub store_efficiency: Option<f64>,
    /// Wavefronts per shared load instruction of a warp.
    pub shared_load_wavefronts_per_request: Option<f64>,
    /// Wavefronts per shared store instruction of a warp.
    pub shared_store_wavefronts_per_request: Option<f64>,
    /// Lanes active per instruction of a warp, of 32.
    pub active_lanes: Option<f64>,
    /// Partitions that the loads of blocks that run together keep busy.
    pub busy_partitions_for_loads: Option<f64>,
    /// The same of stores.
    pub busy_partitions_for_stores: Option<f64>,
}

impl Ratios {
    /// Those of a launch.
    pub fn of(launch: &LaunchReport) -> Ratios {
        let Some(counted) = &launch.report.counters else { return Ratios::default() };
        let total = &counted.total;
        let partitions = counted.partitions.as_ref();
        Ratios {
            load_sectors_per_request: total.global_load.sectors_per_request(),
            load_efficiency: total.global_load.efficiency(),
            store_sectors_per_request: total.global_store.sectors_per_request(),
            store_efficiency: total.global_store.efficiency(),
            shared_load_wavefronts_per_request: total.shared_load.wavefronts_per_request(),
            shared_store_wavefronts_per_request: total.shared_store.wavefronts_per_request(),
            active_lanes: total.lane_efficiency().map(|efficiency| 32.0 * efficiency),
            busy_partitions_for_loads: partitions.and_then(|report| report.busy_for_loads()),
            busy_partitions_for_stores: partitions.and_then(|report| report.busy_for_stores()),
        }
    }
}

impl Profile {
    /// A profile without launches.
    pub fn new(shape: Shape) -> Self {
        Profile { shape, kernels: Vec::new(), left_out: Vec::new() }
    }

    /// Adds the launches of a workload.
    pub fn add(&mut self, workload: Workload, launches: Vec<LaunchReport>) {
        let line = |launch| Line { name: workload.name(), ratios: Ratios::of(&launch), launch };
        self.kernels.extend(launches.into_iter().map(line));
    }
}

impl Line {
    /// The counts of the whole launch; zeros if nothing was counted.
    pub fn total(&self) -> Counters {
        self.launch.report.counters.as_ref().map(|counted| counted.total).unwrap_or_default()
    }
}

/// A division of memory, as the command line has it: `8x256` or, with the number of blocks that
/// run together, `8x256x30`.
#[derive(Clone, Copy, Debug)]
pub struct Partitions(pub PartitionModel);

impl FromStr for Partitions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u64>> = text.split('x').map(|part| part.parse().ok()).collect();
        let (count, width, blocks) = match numbers.as_deref() {
            Some(&[count, width]) => (count, width, PartitionModel::GTX_280.concurrent_blocks),
            Some(&[count, width, blocks]) => (count, width, blocks),
            _ => return Err(format!("{text:?} is not like 8x256 or 8x256x30")),
        };
        let possible = (1..=1024).contains(&count) && width.is_power_of_two() && width >= 32;
        if !possible || blocks == 0 {
            return Err("there are 1 to 1024 partitions, of a power of two of 32 bytes at least; \
                        a block at least runs"
                .to_owned());
        }
        let narrow = |number: u64| u32::try_from(number).map_err(|error| error.to_string());
        Ok(Partitions(PartitionModel {
            count: narrow(count)?,
            width: narrow(width)?,
            concurrent_blocks: blocks,
            ..PartitionModel::GTX_280
        }))
    }
}
