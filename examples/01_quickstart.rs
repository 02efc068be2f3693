//! Transposes one matrix with every strategy, and says on a GPU how fast each is beside a copy, on the simulator what each moves.
//!
//! `cargo run --release --example quickstart -- [ROWS COLS]`

use anyhow::{Result, ensure};
use clap::Parser;
use habits::memory::{ensure_free, matrix_bytes};
use habits::program::{self, Common};
use habits::progress;
use habits::svg::{Bar, Chart};
use habits::table::{Cell, Column, Report};
use indicatif::ProgressBar;
use profile::{Inspection, LaunchReport, inspect};
use std::process::ExitCode;
use std::time::Duration;
use transpose::{Device, DeviceMatrix, Strategy};

/// Transpose a matrix of 4-byte elements with every strategy.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix.
    #[arg(default_value_t = 1000)]
    rows: usize,
    /// Columns of the matrix.
    #[arg(default_value_t = 777)]
    cols: usize,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(&Arguments { rows, cols, ref common }: &Arguments) -> Result<()> {
    let bytes = matrix_bytes(rows, cols, size_of::<u32>())?;
    let device = common.open()?;
    // The elements and a result on the host; a source, a destination and a copy on the device.
    ensure_free(&device, bytes.saturating_mul(2), bytes.saturating_mul(3))?;
    let bar = progress::bar(common, Strategy::ALL.len() * progress::BLOCK_STEPS);

    // This is how the library is used.
    let host: Vec<u32> = (0..rows * cols).map(|index| index as u32).collect();
    let matrix = DeviceMatrix::from_host(&device, rows, cols, &host)?;
    let mut moved = Vec::new();
    for (index, &strategy) in Strategy::ALL.iter().enumerate() {
        let mut transposed = DeviceMatrix::zeroed(&device, cols, rows)?;
        moved.push(watched(&device, &bar, index, || {
            matrix.transpose_into_with(&mut transposed, strategy)
        })?);
        // Each element is the number of its place in the matrix.
        let is_right = transposed.to_host()?.chunks(rows).enumerate().all(|(col, column)| {
            column.iter().enumerate().all(|(row, &e)| e == (row * cols + col) as u32)
        });
        ensure!(is_right, "{strategy}: wrong result");
    }

    let times = measure(&device, &matrix)?;
    show(common, &matrix, &bar, &moved, &times)
}

/// Runs a transpose; says how many sectors it loads and stores if it can be looked into, which the simulator can.
fn watched(
    device: &Device,
    bar: &ProgressBar,
    index: usize,
    transpose: impl FnOnce() -> transpose::Result<()>,
) -> Result<[Option<u64>; 2]> {
    let progress = Some(progress::by_blocks(bar, index, Strategy::ALL[index].name()));
    let inspection = Inspection { progress, ..Inspection::counting() };
    let launches = inspect(device, inspection, transpose)?;
    let sum = |sectors: fn(&LaunchReport) -> Option<u64>| {
        launches.iter().flatten().map(sectors).sum::<Option<u64>>().filter(|&sectors| sectors > 0)
    };
    Ok([
        sum(|launch| Some(launch.report.counters.as_ref()?.total.global_load.sectors)),
        sum(|launch| Some(launch.report.counters.as_ref()?.total.global_store.sectors)),
    ])
}

/// Lets the driver's copy and all strategies take turns, and returns the seconds of the median turn of each; nothing where time means
/// nothing.
fn measure(device: &Device, src: &DeviceMatrix<u32>) -> Result<Vec<f64>> {
    const TURNS: usize = 15;
    const LAUNCHES: u32 = 10;
    if !device.is_gpu() {
        return Ok(vec![]);
    }
    let mut copy = DeviceMatrix::zeroed(device, src.nrows(), src.ncols())?;
    let mut dst = DeviceMatrix::zeroed(device, src.ncols(), src.nrows())?;
    let ways: Vec<_> =
        std::iter::once(None).chain(Strategy::ALL.iter().copied().map(Some)).collect();
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..TURNS {
        for (way, times) in ways.iter().zip(&mut times) {
            let mut launch = || match *way {
                None => src.copy_into(&mut copy),
                Some(strategy) => src.transpose_into_with(&mut dst, strategy),
            };
            times.extend(device.time(|| (0..LAUNCHES).try_for_each(|_| launch()))?);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[TURNS / 2].as_secs_f64() / f64::from(LAUNCHES)
    };
    Ok(times.iter_mut().map(median).collect())
}

/// The columns.
const COLUMNS: [Column; 8] = [
    Column::text("strategy", "strategy", 8),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::unseen("element_bytes"),
    Column::number("gb_per_s", "GB/s", 8),
    Column::number("of_copy", "of copy", 8),
    Column::number("loaded_sectors", "loaded sectors", 0),
    Column::number("stored_sectors", "stored sectors", 0),
];

/// A row for the copy, if there are times, and one for each strategy.
fn show(
    common: &Common,
    matrix: &DeviceMatrix<u32>,
    bar: &ProgressBar,
    moved: &[[Option<u64>; 2]],
    seconds: &[f64],
) -> Result<()> {
    let ((rows, cols), element) = (matrix.shape(), size_of::<u32>());
    let bytes = (rows * cols * element) as f64;
    let title = format!("{rows} × {cols} elements of {element} bytes");
    let verified = format!("{title}, all results verified");
    let mut report = Report::new(common, matrix.device(), verified, &COLUMNS, bar);
    if seconds.is_empty() {
        report.note("The simulator's results are exact; its times would mean nothing.");
    }
    // Every element is read once and written once.
    let speed = |index: usize| seconds.get(index).map(|seconds| 2.0 * bytes / seconds / 1e9);
    let of_copy = |index: usize| Some(seconds.first()? / seconds.get(index)?);
    let copy = speed(0).map(|_| ("memcpy", 0, [None; 2]));
    let transposes = Strategy::ALL.iter().zip(moved).enumerate();
    let transposes = transposes.map(|(index, (way, &moved))| (way.name(), index + 1, moved));
    let mut bars = Vec::new();
    for (name, index, moved) in copy.into_iter().chain(transposes) {
        let mut cells = vec![name.into(), rows.into(), cols.into(), element.into()];
        cells.extend([Cell::speed(speed(index)), Cell::fraction(of_copy(index))]);
        cells.extend(moved.map(Cell::from));
        report.row(cells);
        bars.extend(speed(index).map(|speed| Bar::plain(name, "", speed)));
        let [loads, stores] = moved.map(|sectors| Some(32.0 * sectors? as f64 / bytes));
        bars.extend(loads.map(|loads| Bar::plain(name, "loads", loads)));
        bars.extend(stores.map(|stores| Bar::plain("", "stores", stores)));
    }
    let unit = if seconds.is_empty() { "bytes moved for each byte of the result" } else { "GB/s" };
    report.finish(|| Chart::new(format!("Strategies, {title}"), unit, bars))
}
