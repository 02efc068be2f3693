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
use bench::profile::{Partitions, Profile, Shape, ncu, picture, table};
use bench::progress;
use bench::workloads::Workload;
use clap::Parser;
use profile::Inspection;
use std::path::PathBuf;
use transpose::Device;
use transpose::simt::{Checks, CounterOptions, TraceOptions};

/// Count what kernels do to memory.
#[derive(Parser)]
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
    #[arg(long, default_value_t = 4)]
    element: usize,
    /// List the kernels and count nothing.
    #[arg(long)]
    list: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print the PTX with the counts beside each line.
    #[arg(long)]
    annotate: bool,
    /// Draw one block of one kernel.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The block to draw.
    #[arg(long, value_name = "X,Y,Z", value_parser = block, default_value = "0,0,0")]
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
    #[arg(long, value_name = "CSV")]
    ncu: Option<PathBuf>,
    /// Print the metrics that `--ncu` reads.
    #[arg(long)]
    metrics: bool,
    /// Where to run: sim counts; cuda only launches, for a profiler to watch.
    #[arg(long, default_value = "sim")]
    device: DeviceChoice,
}

fn block(text: &str) -> Result<[u32; 3]> {
    let axes: Vec<u32> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
    axes.try_into().ok().context("a block is three numbers, such as 1,0,0")
}

impl Arguments {
    fn workloads(&self) -> Result<Vec<Workload>> {
        match &self.kernel[..] {
            [all] if all == "all" => Ok(Workload::all()),
            names => names.iter().map(|name| name.parse().map_err(anyhow::Error::msg)).collect(),
        }
    }

    fn open(&self) -> Result<Device> {
        let device = match (self.device, self.check) {
            (DeviceChoice::Sim, true) => Device::simulated_with(Checks::ALL_UNTRACKED),
            (DeviceChoice::Sim, false) => Device::simulated(),
            (device, _) => device.open()?,
        };
        Ok(if self.in_turn { profile::in_turn(&device)? } else { device })
    }

    fn inspection(&self) -> Inspection {
        let partitions = self.partitions.map(|Partitions(model)| model);
        let counters = Some(CounterOptions { partitions, ..CounterOptions::default() });
        let block = self.block;
        let trace = self.svg.as_ref().map(|_| TraceOptions { block, limit: 1 << 14 });
        Inspection { counters, trace, ..Inspection::default() }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.metrics {
        println!("{}", ncu::metrics());
        return Ok(());
    }
    let workloads = arguments.workloads()?;
    if arguments.list {
        workloads.iter().for_each(|workload| println!("{workload}"));
        return Ok(());
    }
    ensure!(arguments.rows > 0 && arguments.cols > 0, "an empty matrix keeps no kernel busy");
    let shape =
        Shape { rows: arguments.rows, cols: arguments.cols, element_bytes: arguments.element };
    // Blocks that run side by side wait for each other, and count how often they look.
    let workers = if arguments.in_turn { 1 } else { rayon::current_num_threads() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build()?;
    let profile = pool.install(|| profile(&arguments, &workloads, shape))?;
    if profile.kernels.is_empty() {
        return Ok(());
    }
    report(&arguments, &profile)
}

/// Runs the workloads one after the other; those that the element has no kernel for are left out.
fn profile(arguments: &Arguments, workloads: &[Workload], shape: Shape) -> Result<Profile> {
    let device = arguments.open()?;
    let mut profile = Profile::new(shape);
    let bar = progress::bar(workloads.len() * progress::BLOCK_STEPS);
    for (index, workload) in workloads.iter().enumerate() {
        let inspection = Inspection {
            progress: Some(progress::by_blocks(&bar, index, workload.name())),
            ..arguments.inspection()
        };
        let size = (shape.rows, shape.cols);
        match workload.run(&device, size, shape.element_bytes, inspection) {
            Ok(launches) => profile.add(*workload, launches.unwrap_or_default()),
            Err(reason) if workloads.len() > 1 => {
                bar.suspend(|| eprintln!("left out: {workload}: {reason}"));
            }
            Err(reason) => return Err(reason),
        }
    }
    device.synchronize()?;
    bar.finish_and_clear();
    Ok(profile)
}

fn report(arguments: &Arguments, profile: &Profile) -> Result<()> {
    if let Some(path) = &arguments.svg {
        let svg = picture::draw(profile)?;
        std::fs::write(path, svg).with_context(|| path.display().to_string())?;
        eprintln!("wrote {}", path.display());
    }
    if let Some(path) = &arguments.ncu {
        let csv = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        print!("{}", ncu::compare(profile, &csv)?);
    } else if arguments.json {
        println!("{}", serde_json::to_string_pretty(profile)?);
    } else if arguments.annotate {
        for kernel in &profile.kernels {
            println!("{} {}", kernel.name, kernel.launch.kernel);
            print!("{}", kernel.launch.annotated().unwrap_or_default());
        }
    } else {
        print!("{}", table::table(profile));
        print!("{}", table::partitions(profile));
    }
    Ok(())
}
