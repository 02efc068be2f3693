//! Transposes of matrices that are spread over several GPUs, beside the driver's peer copies in the same run.
//!
//! `cargo run --release --bin sharded -- [--shape 32768x32768] [--element 4,8] [--split even,uneven] [--sweep | --candidates]`
//!
//! All devices exchange at once. The time is that of the slowest, over exchanges that are queued back to back; GB/s are what a device sends to
//! others, one way. The bound is the same bytes by the driver's peer copies in all directions at once, and what stays on a device copied
//! there; they take turns with the transposes, and the median counts. Every destination is verified on the host, element by element.

mod bounds;
mod candidates;
mod content;
mod processes;

use anyhow::{Context, Result};
use bench::device::DeviceChoice;
use bench::limits;
use bench::memory::{ensure_free, matrix_bytes};
use bench::program::{self, Common, usage};
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::{progress, with_element};
use bounds::{Bounds, Rounds};
use bytemuck::Pod;
use clap::Parser;
use content::Content;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;
use transpose::{Device, DeviceGroup, ExchangeOptions, ShardedMatrix, ShardedPlan, Shares};

/// Measure transposes of matrices that are spread over several GPUs.
#[derive(Parser)]
struct Arguments {
    /// Rows and columns of the whole matrix [default: 32768x32768; 200x130 on the simulator].
    #[arg(long, value_name = "ROWSxCOLS,…", value_delimiter = ',')]
    shape: Vec<Shape>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "4", value_parser = program::word)]
    element: Vec<usize>,
    /// How rows are shared out: even, uneven (shares like 1 to 2 to 3), or first (the first device has none).
    #[arg(long, value_name = "SPLIT,…", value_delimiter = ',', default_value = "even")]
    split: Vec<Split>,
    /// Devices: as many of the GPUs, over and over if there are fewer [default: all GPUs; 2 on the simulator].
    #[arg(long, value_parser = program::few)]
    devices: Option<usize>,
    /// Times that each contestant takes its turn.
    #[arg(long, default_value_t = 5, value_parser = limits::times)]
    turns: usize,
    /// Try steps of several sizes, one stream and two, with and without pairs.
    #[arg(long)]
    sweep: bool,
    /// Measure each kernel that can serve a piece, as it stores to another device.
    #[arg(long, conflicts_with = "sweep")]
    candidates: bool,
    /// How many processes to start, each with a GPU of its own; or with a simulated device, where there is no GPU or sim was asked for.
    #[arg(long, value_parser = program::few, conflicts_with_all = ["devices", "sweep", "candidates", "world"])]
    processes: Option<usize>,
    /// Be one of the processes that torchrun, mpirun or srun has started.
    #[arg(long, conflicts_with_all = ["devices", "sweep", "candidates"])]
    world: bool,
    /// What carries bytes between processes.
    #[arg(long, default_value = "auto")]
    transport: processes::Carrier,
    /// Communicators of NCCL's, each of which carries an exchange at a time.
    #[arg(long, value_name = "LANES", default_value_t = 1, value_parser = program::few)]
    lanes: usize,
    /// How long a process waits for another.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    #[command(flatten)]
    common: Common,
}

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rows: usize,
    cols: usize,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let side = |side: &str| side.parse().ok().filter(|&side: &usize| side > 0);
        let shape = text.split_once('x').and_then(|(rows, cols)| Some((side(rows)?, side(cols)?)));
        let (rows, cols) = shape.ok_or("a shape is two numbers from 1 on, such as 300x200")?;
        Ok(Shape { rows, cols })
    }
}

/// How rows are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Split {
    Even,
    Uneven,
    First,
}

impl Split {
    fn name(self) -> &'static str {
        match self {
            Split::Even => "even",
            Split::Uneven => "uneven",
            Split::First => "first",
        }
    }

    /// The shares of so many rows.
    fn of(self, rows: usize, devices: usize) -> Shares {
        if self == Split::Even || devices < 2 {
            return Shares::even(rows, devices);
        }
        // The first device has a part of 1, the next of 2, …; or nothing, and all others equal parts.
        let part = |device: usize| if self == Split::First { device.min(1) } else { device + 1 };
        let parts: usize = (0..devices).map(part).sum();
        let mut lengths: Vec<usize> =
            (0..devices).map(|device| rows / parts * part(device)).collect();
        lengths[devices - 1] += rows - lengths.iter().sum::<usize>();
        Shares::of_lengths(&lengths)
    }
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    arguments.common.ensure_files()?;
    match arguments.processes {
        Some(_) if arguments.transport == processes::Carrier::Mpi => {
            return Err(usage(
                "processes that exchange by MPI come from its launcher: mpirun -n 4 sharded --world --transport mpi",
            ));
        }
        Some(processes) => return processes::start(arguments, processes),
        None if arguments.world => return processes::run(arguments),
        None => {}
    }
    let group = open(arguments)?;
    let shapes = match (arguments.shape.as_slice(), group.devices()[0].is_gpu()) {
        ([], true) => vec![Shape { rows: 32768, cols: 32768 }],
        ([], false) => vec![Shape { rows: 200, cols: 130 }],
        (shapes, _) => shapes.to_vec(),
    };
    if arguments.candidates {
        return candidates::run(&arguments.common, &group, &shapes, &arguments.element);
    }
    let bar = progress::bar(&arguments.common, shapes.len() * arguments.element.len());
    let device = &group.devices()[0];
    let verified = if arguments.sweep { "samples of all results" } else { "all results" };
    let title = format!("Transposes over {} devices, {verified} verified", group.count());
    let mut report = Report::new(&arguments.common, device, title, &COLUMNS, &bar);
    let mut bars = Vec::new();
    for &shape in &shapes {
        for &element in &arguments.element {
            for &split in &arguments.split {
                let rows =
                    with_element!(element, T => measure::<T>(arguments, &group, shape, split))?;
                for Row { label, value, cells } in rows {
                    bars.push(Bar::plain(label, split.name(), value));
                    report.row(cells);
                }
            }
            bar.inc(1);
        }
    }
    let unit = if device.is_gpu() { "of peer copies" } else { SENT };
    report.finish(|| Chart::new("Transposes over several devices", unit, bars))
}

/// What bars mean where nothing is timed, on the simulator.
const SENT: &str = "KB that the device which sends most sends";

/// The devices that were asked for.
fn open(arguments: &Arguments) -> Result<DeviceGroup> {
    let gpus = match arguments.common.setting.device {
        DeviceChoice::Cpu => return Err(usage("devices exchange arrays; the CPU alone is none")),
        DeviceChoice::Sim => None,
        DeviceChoice::Auto => DeviceGroup::of_gpus().ok(),
        DeviceChoice::Cuda(0) => Some(DeviceGroup::of_gpus()?),
        DeviceChoice::Cuda(_) => {
            return Err(usage("all GPUs take part, or as many as --devices says"));
        }
    };
    let group = match gpus {
        None => DeviceGroup::new(&Device::simulated_peers(arguments.devices.unwrap_or(2)))?,
        Some(all) => match arguments.devices.filter(|&count| count != all.count()) {
            None => all,
            Some(count) => {
                let ordinals = (0..count).map(|at| (at % all.count()) as u32);
                let devices = ordinals.map(Device::cuda).collect::<transpose::Result<Vec<_>>>()?;
                DeviceGroup::new(&devices)?
            }
        },
    };
    let pairs = (0..group.count()).flat_map(|from| (0..group.count()).map(move |to| (from, to)));
    let apart = pairs.filter(|&(from, to)| !group.reaches(from, to)).count();
    let reach = match apart {
        0 => "each reaches all others".to_owned(),
        _ => format!("{apart} times one does not reach another"),
    };
    let (count, first) = (group.count(), &group.devices()[0]);
    arguments.common.say(format_args!("{count} devices: {first}, {reach}"));
    Ok(group)
}

const COLUMNS: [Column; 19] = [
    Column::number("rows", "rows", 6),
    Column::number("cols", "cols", 6),
    Column::number("element_bytes", "element, bytes", 2),
    Column::text("split", "split", 6),
    Column::number("devices", "devices", 1),
    Column::text("kernel", "kernel", 10),
    Column::number("step_mib", "step, MiB", 4),
    Column::number("streams", "streams", 1),
    Column::text("pairs", "pairs", 3),
    Column::number("link_bytes", "sent, bytes", 10),
    Column::number("device_bytes", "memory, bytes", 10),
    Column::number("extra_bytes", "of it extra", 8),
    Column::number("ms", "ms", 7),
    Column::number("link_gb_s", "GB/s", 6),
    Column::number("peer_gb_s", "peer copies, GB/s", 6),
    Column::number("of_peer", "of peer copies", 6),
    Column::number("local_ms", "local copy, ms", 7),
    Column::number("of_longer", "time, of the longer", 6),
    Column::unseen("plan_ms"),
];

/// A row of the table, and of the chart.
struct Row {
    label: String,
    /// The length of its bar.
    value: f64,
    cells: Vec<Cell>,
}

/// Bytes of a step, streams for what goes to other devices, and whether it is paired with what stays.
type Choice = (usize, usize, bool);

/// The options that are measured; none for the usual ones.
fn options(arguments: &Arguments) -> Vec<Option<Choice>> {
    if !arguments.sweep {
        return vec![None];
    }
    const WHOLE: usize = 1 << 40;
    let mut all = Vec::new();
    for pairs in [true, false] {
        for (step, streams) in [(WHOLE, 1), (32 << 20, 1), (8 << 20, 1), (8 << 20, 2), (4 << 20, 2)]
        {
            all.push(Some((step, streams, pairs)));
        }
    }
    all
}

fn measure<T: Pod + PartialEq + Sync + Send>(
    arguments: &Arguments,
    group: &DeviceGroup,
    Shape { rows, cols }: Shape,
    split: Split,
) -> Result<Vec<Row>> {
    let [of_rows, of_cols] = [rows, cols].map(|length| split.of(length, group.count()));
    let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
    ensure_free(&group.devices()[0], 0, bytes.saturating_mul(2))?;
    let content = Content::new(cols * size_of::<T>());
    let mut src = ShardedMatrix::<T>::zeroed_shared(group, &of_rows, cols)?;
    content.fill(src.as_tensor_mut())?;
    let mut dst = ShardedMatrix::<T>::zeroed_shared(group, &of_cols, rows)?;
    let bounds = Bounds::new(src.as_tensor(), dst.as_tensor_mut())?;
    let mut found = Vec::new();
    for chosen in options(arguments) {
        let (step, streams, pairs) = chosen.unwrap_or((0, 0, true));
        let options = match chosen {
            None => ExchangeOptions::default(),
            Some(_) => {
                ExchangeOptions::default().step_bytes(step).far_streams(streams).pairs(pairs)
            }
        };
        let start = Instant::now();
        let plan = ShardedPlan::with_options(src.as_tensor(), dst.as_tensor(), &[1, 0], options)?;
        let plan_ms = start.elapsed().as_secs_f64() * 1e3;
        let sent = plan.link_bytes().into_iter().max().unwrap_or(0);
        let mut rounds = Rounds::new(group, sent, arguments.turns);
        let times = rounds.race(&bounds, || Ok(plan.run(src.as_tensor(), dst.as_tensor_mut())?))?;
        content.forget(dst.as_tensor_mut())?;
        plan.run(src.as_tensor(), dst.as_tensor_mut())?;
        content.verify(dst.as_tensor(), rows, arguments.sweep).with_context(|| plan.to_string())?;
        let speed = |seconds: f64| sent as f64 / seconds / 1e9;
        let number = |value: Option<f64>, digits| {
            value.map_or(Cell::Nothing, |value| Cell::Number(value, digits, 4))
        };
        let of_peer = times.map(|times| times.peer / times.exchange).filter(|_| sent > 0);
        let way = match arguments.sweep {
            true => {
                format!(", {} MiB on {streams}{}", step >> 20, if pairs { " in pairs" } else { "" })
            }
            false => String::new(),
        };
        let bytes = size_of::<T>();
        let label = format!("{rows} × {cols} of {bytes} B, {}{way}", split.name());
        // Of the device that takes most.
        let [of_device, extra] = memory(&plan, &src, &dst);
        let chosen = |cell: Cell| if arguments.sweep { cell } else { Cell::Nothing };
        found.push(Row {
            label,
            value: if times.is_some() { of_peer.unwrap_or(0.0) } else { sent as f64 / 1e3 },
            cells: vec![
                rows.into(),
                cols.into(),
                size_of::<T>().into(),
                split.name().into(),
                group.count().into(),
                plan.kernel_names(0).first().copied().unwrap_or("").into(),
                chosen((step >> 20).into()),
                chosen(streams.into()),
                chosen(if pairs { "yes" } else { "no" }.into()),
                sent.into(),
                of_device.into(),
                extra.into(),
                number(times.map(|times| times.exchange * 1e3), 3),
                Cell::speed(times.map(|times| speed(times.exchange))),
                Cell::speed(times.map(|times| speed(times.peer)).filter(|_| sent > 0)),
                Cell::fraction(of_peer),
                number(times.map(|times| times.local * 1e3), 3),
                Cell::fraction(times.map(|times| times.exchange / times.peer.max(times.local))),
                number(Some(plan_ms), 3),
            ],
        });
    }
    Ok(found)
}

/// The most bytes that a device takes: for its shards and beside them, and what is beside them.
fn memory<T: Pod>(plan: &ShardedPlan, src: &ShardedMatrix<T>, dst: &ShardedMatrix<T>) -> [u64; 2] {
    let shard = |matrix: &ShardedMatrix<T>, device| {
        matrix.as_tensor().shard(device).map_or(0, |shard| (shard.len() * size_of::<T>()) as u64)
    };
    let extra = plan.extra_bytes();
    let all = |device: usize| shard(src, device) + shard(dst, device) + extra[device];
    let most = (0..extra.len()).map(all).max().unwrap_or(0);
    [most, extra.iter().copied().max().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::{Shape, Split};

    #[test]
    fn shapes_are_two_numbers() {
        assert_eq!("30x20".parse(), Ok(Shape { rows: 30, cols: 20 }));
        for odd in ["", "30", "30x", "0x3", "3x-1", "3x3x3"] {
            assert!(odd.parse::<Shape>().is_err(), "{odd}");
        }
    }

    #[test]
    fn splits_make_the_whole() {
        let lengths =
            |split: Split, rows, devices| split.of(rows, devices).lengths().collect::<Vec<_>>();
        assert_eq!(lengths(Split::Uneven, 100, 3), [16, 32, 52]);
        assert_eq!(lengths(Split::First, 100, 3), [0, 50, 50]);
        assert_eq!(lengths(Split::First, 100, 1), [100]);
    }
}
