//! What the kernels do to memory, counted by the simulator: no GPU needed.
//!
//! `cargo run --release --bin profile -- [--kernel NAME,…|all] [--rows R] [--cols C]`
//!
//! prints a table, one line a launch. `--json` prints the same for a program, `--annotate` the
//! kernel's PTX with the counts beside each line, `--svg FILE` draws which thread of a block touches
//! which address and bank, `--partitions 8x256` how the blocks that run together spread over the
//! memory partitions of a GTX 280. `--ncu FILE` compares with what a GPU counted:
//!
//! ```text
//! ncu --clock-control none --csv --page raw --metrics "$(profile --metrics)" \
//!     profile --device cuda > counted.csv
//! profile --ncu counted.csv
//! ```

use anyhow::{Context, Result, ensure};
use bench::device::DeviceChoice;
use bench::memory::{ensure_free, matrix_bytes};
use bench::profile::{Partitions, Profile, Shape, ncu, picture, table};
use bench::program::{self, Common, usage};
use bench::progress;
use bench::workloads::Workload;
use bench::{files, output};
use clap::Parser;
use profile::Inspection;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use transpose::Device;
use transpose::simt::{Checks, CounterOptions, TraceOptions};

/// Count what kernels do to memory.
///
/// The simulator counts; a GPU only launches, for a profiler to watch.
#[derive(Parser)]
#[command(mut_arg("device", |device| device.default_value("sim")))]
struct Arguments {
    /// The kernels, or all; `--list` lists them.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", default_value = "all")]
    kernel: Vec<String>,
    /// Rows of the matrix.
    #[arg(long, default_value_t = 1024)]
    rows: usize,
    /// Columns of the matrix.
    #[arg(long, default_value_t = 1024)]
    cols: usize,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4, value_parser = program::word)]
    element: usize,
    /// List the kernels and count nothing.
    #[arg(long, conflicts_with_all = ["json", "csv", "svg"])]
    list: bool,
    /// Print the PTX with the counts beside each line.
    #[arg(long, conflicts_with = "json")]
    annotate: bool,
    /// The block of one kernel that `--svg` draws.
    #[arg(long, requires = "svg", value_name = "X,Y,Z", value_parser = block, default_value = "0,0,0")]
    block: [u32; 3],
    /// Memory partitions and their width in bytes, and how many blocks run together: the sectors
    /// that each partition moves for each set of blocks are printed as bars.
    #[arg(long, value_name = "PxW[xBLOCKS]")]
    partitions: Option<Partitions>,
    /// Let one block, warp or thread do what kernels in place share out among many, so that counts
    /// are the same on every device.
    #[arg(long)]
    in_turn: bool,
    /// Let the simulator also check for races, overlaps and the like.
    #[arg(long)]
    check: bool,
    /// Compare with this output of Nsight Compute for the same arguments and `--device cuda`.
    #[arg(long, value_name = "CSV", conflicts_with_all = ["json", "annotate"])]
    ncu: Option<PathBuf>,
    /// Print the metrics that `--ncu` reads.
    #[arg(long, conflicts_with_all = ["json", "csv", "svg"])]
    metrics: bool,
    #[command(flatten)]
    common: Common,
}

fn block(text: &str) -> Result<[u32; 3]> {
    let axes: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
    axes.try_into().ok().context("a block is three numbers, such as 1,0,0")
}

impl Arguments {
    fn workloads(&self) -> Result<Vec<Workload>> {
        match &self.kernel[..] {
            [all] if all == "all" => Ok(Workload::all()),
            names => names
                .iter()
                .map(|name| name.parse().map_err(|unknown: String| usage(unknown)))
                .collect(),
        }
    }

    fn open(&self) -> Result<Device> {
        let device = match (self.common.setting.device, self.check) {
            (DeviceChoice::Sim, true) => Device::simulated_with(Checks::ALL_UNTRACKED),
            (DeviceChoice::Sim, false) => Device::simulated(),
            (_, true) => {
                return Err(usage("only the simulator checks: --check takes --device sim"));
            }
            (_, false) => self.common.open()?,
        };
        Ok(if self.in_turn { profile::in_turn(&device)? } else { device })
    }

    fn inspection(&self) -> Inspection {
        let partitions = self.partitions.map(|Partitions(model)| model);
        let counters = Some(CounterOptions::default().partitions(partitions));
        let block = self.block;
        let trace = self.common.svg.as_ref().map(|_| TraceOptions { block, limit: 1 << 14 });
        Inspection { counters, trace, ..Inspection::default() }
    }
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    if arguments.metrics {
        return output::print(ncu::metrics());
    }
    let workloads = arguments.workloads()?;
    if arguments.list {
        return workloads.iter().try_for_each(output::print);
    }
    ensure!(
        arguments.common.svg.is_none() || workloads.len() == 1,
        usage("a picture shows one kernel: name it with --kernel")
    );
    arguments.common.ensure_files()?;
    let prints = arguments.annotate || arguments.ncu.is_some();
    ensure!(
        !prints || arguments.common.prints_tables(),
        usage("standard output takes one of --annotate, --ncu, --csv - and --svg -")
    );
    // A file that is not there is said before anything is counted.
    arguments.ncu.as_deref().map(read).transpose()?;
    let (rows, cols) = (arguments.rows, arguments.cols);
    let bytes = matrix_bytes(rows, cols, arguments.element)?;
    let device = arguments.open()?;
    // Rows may have gaps as long as they are, and some matrices have other shapes than was asked for.
    ensure_free(&device, bytes, bytes.saturating_mul(4))?;
    let shape = Shape { rows, cols, element_bytes: arguments.element };
    // Blocks that run side by side wait for each other, and count how often they look.
    let workers = if arguments.in_turn { 1 } else { rayon::current_num_threads() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build()?;
    let profile = pool.install(|| profile(arguments, &device, &workloads, shape))?;
    if device.is_gpu() {
        profile.left_out.iter().for_each(|what| output::say(format_args!("left out: {what}")));
        arguments.common.say("launched; what a GPU does is counted by a profiler");
        return Ok(());
    }
    report(arguments, &device, &profile)
}

/// Runs the workloads one after the other; those that the element has no kernel for are left out.
fn profile(
    arguments: &Arguments,
    device: &Device,
    workloads: &[Workload],
    shape: Shape,
) -> Result<Profile> {
    let common = &arguments.common;
    let mut profile = Profile::new(shape);
    let mut defects = Vec::new();
    let bar = progress::bar(common, workloads.len() * progress::BLOCK_STEPS);
    for (index, workload) in workloads.iter().enumerate() {
        let inspection = Inspection {
            progress: Some(progress::by_blocks(&bar, index, workload.name())),
            ..arguments.inspection()
        };
        let size = (shape.rows, shape.cols);
        match workload.run(device, size, shape.element_bytes, inspection) {
            Ok(launches) => profile.add(*workload, launches.unwrap_or_default()),
            Err(reason) if is_defect(&reason) => defects.push(format!("{workload}: {reason}")),
            Err(reason) => profile.left_out.push(format!("{workload}: {reason}")),
        }
    }
    device.synchronize()?;
    bar.finish_and_clear();
    ensure!(defects.is_empty(), "defects of kernels: {}", defects.join("; "));
    let left_out = &profile.left_out;
    let launched = left_out.len() < workloads.len();
    ensure!(launched, "nothing was launched\n  left out: {}", left_out.join("\n  left out: "));
    let nothing = profile.kernels.is_empty() && !device.is_gpu();
    ensure!(!nothing, "nothing was launched: such a matrix takes no kernel");
    if arguments.check {
        let launches = profile.kernels.len();
        common.say(format_args!("checked {launches} launches: nothing found"));
    }
    Ok(profile)
}

/// Whether a check has found something, or the simulator has stopped at a fault.
fn is_defect(error: &anyhow::Error) -> bool {
    use transpose::Error::{KernelDefects, Simulator};
    matches!(error.downcast_ref(), Some(KernelDefects { .. } | Simulator(_)))
}

fn report(arguments: &Arguments, device: &Device, profile: &Profile) -> Result<()> {
    let common = &arguments.common;
    if let Some(path) = &common.svg {
        files::write(common, path, picture::draw(profile)?.as_bytes())?;
    }
    // The picture is drawn, and the JSON is that of a profile.
    let files = Common { svg: None, json: false, ..common.clone() };
    let silent = !common.prints_tables() || arguments.annotate || arguments.ncu.is_some();
    table::report(&files, device, profile, silent)?;
    if let Some(path) = &arguments.ncu {
        output::print(ncu::compare(profile, &read(path)?)?.trim_end())?;
    } else if common.json {
        output::print(serde_json::to_string_pretty(profile)?)?;
    } else if arguments.annotate {
        for kernel in &profile.kernels {
            output::print(format_args!("{} {}", kernel.name, kernel.launch.kernel))?;
            output::print(kernel.launch.annotated().unwrap_or_default().trim_end())?;
        }
    } else if common.prints_tables() {
        let partitions = table::partitions(profile);
        if !partitions.is_empty() {
            output::print(partitions.trim_end())?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
