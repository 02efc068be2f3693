//! Dalmasso's grid-level optimisation: which shape of block suits a kernel?
//!
//! `cargo run --release --bin grid_search -- [--kernels diagonal_col,smem_pad] [--blocks all]`
//!
//! All legal shapes of one kernel race against each other and against a copy; an illegal one is
//! listed with the reason. Results are verified on the host after the timing.

use anyhow::Result;
use bench::kernels::{Run, Verifier, block_name, elements, ensure_memory, race};
use bench::limits;
use bench::memory::matrix_bytes;
use bench::program::{self, Common};
use bench::race::{Timing, steps};
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::{progress, simulated, with_element};
use bytemuck::Pod;
use clap::Parser;
use std::process::ExitCode;
use std::str::FromStr;
use study::{Block, DALMASSO_BLOCKS, Error, Kernel};
use transpose::Device;

/// Find the best shape of block for kernels.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 4096; 256 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 4096; 256 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4, value_parser = program::word)]
    element: usize,
    /// Back-to-back launches between two events.
    #[arg(long, default_value_t = 10, value_parser = limits::times)]
    reps: usize,
    /// Times that each shape takes its turn.
    #[arg(long, default_value_t = 9, value_parser = limits::times)]
    turns: usize,
    /// The kernels, by their names here or in their texts.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,…",
        default_value = "diagonal_col,unroll4_col,smem_unroll_pad_dyn",
        value_parser = program::named::<Kernel>
    )]
    kernels: Vec<Kernel>,
    /// The candidates: `seed` for Dalmasso's, `all` for powers of two, or a list like 32x8,16x16.
    #[arg(long, default_value = "seed")]
    blocks: Blocks,
    #[command(flatten)]
    common: Common,
}

/// The candidates.
#[derive(Clone)]
struct Blocks(Vec<Block>);

impl FromStr for Blocks {
    type Err = Error;

    fn from_str(text: &str) -> study::Result<Self> {
        Ok(Blocks(match text {
            "seed" => DALMASSO_BLOCKS.to_vec(),
            "all" => {
                let powers = |most: u32| (0..=most).map(|power| 1 << power);
                powers(10).flat_map(|x| powers(6).map(move |y| Block { x, y })).collect()
            }
            list => list.split(',').map(str::parse).collect::<study::Result<_>>()?,
        }))
    }
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    with_element!(arguments.element, T => search::<T>(arguments, &device))
}

/// The columns.
const COLUMNS: [Column; 10] = [
    Column::text("kernel", "kernel", 20),
    Column::text("block", "block", 8),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::unseen("element_bytes"),
    Column::number("gb_per_s", "GB/s", 8),
    Column::number("of_copy", "of copy", 8),
    Column::number("slowest_gb_per_s", "slowest, GB/s", 8),
    Column::number("fastest_gb_per_s", "fastest, GB/s", 8),
    Column::text("invalid", "not run because", 0),
];

/// A kernel and the candidates that it does not run in, each with the reason.
type Refused = (Kernel, Vec<(Block, Error)>);

fn search<T: Pod + PartialEq>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 4096 } else { 256 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
    let (mut all, mut refused): (Vec<Vec<Run>>, Vec<Refused>) = Default::default();
    for &kernel in &arguments.kernels {
        let (mut runs, mut reasons) = (Vec::new(), Vec::new());
        for &block in &arguments.blocks.0 {
            match Run::new(kernel, block, rows, cols, size_of::<T>()) {
                Ok(run) => runs.push(run),
                Err(reason) => reasons.push((block, reason)),
            }
        }
        all.push(runs);
        refused.push((kernel, reasons));
    }
    let every: Vec<Run> = all.iter().flatten().copied().collect();
    ensure_memory(device, &every, bytes)?;
    let host: Vec<T> = elements(rows, cols)?;
    let mut verifier = Verifier::new(device, &host)?;
    let total: usize =
        all.iter().map(|runs| steps(runs.len() + 1, arguments.turns) + runs.len()).sum();
    let bar = progress::bar(&arguments.common, total);
    let title = format!("{rows} × {cols} elements of {} bytes", size_of::<T>());
    if !device.is_gpu() {
        bar.set_length(every.len() as u64);
        verifier.verify(&every, &bar)?;
        bar.finish_and_clear();
        let reasons = refused.iter().flat_map(|(kernel, reasons)| {
            reasons.iter().map(move |(block, reason)| {
                format!("{kernel} in blocks of {}: {}", block_name(*block), why(reason))
            })
        });
        let reasons: Vec<String> = reasons.collect();
        return simulated::report(&arguments.common, device, &title, &host, &every, &reasons);
    }
    let verified = format!("{title}, all results verified, the fastest block of each kernel first");
    let mut report = Report::new(&arguments.common, device, verified, &COLUMNS, &bar);
    let shape = [rows, cols, size_of::<T>()];
    let mut bars = Vec::new();
    for (runs, (kernel, reasons)) in all.iter().zip(&refused) {
        bar.set_message(kernel.name());
        let timings = race(device, &host, runs, arguments.turns, arguments.reps, &bar)?;
        verifier.verify(runs, &bar)?;
        let timings = timings.unwrap_or_default();
        rows_of(&mut report, &mut bars, shape, runs, &timings);
        for (block, reason) in reasons {
            let mut cells = vec![kernel.name().into(), block_name(*block).into()];
            cells.extend(shape.map(Cell::from));
            cells.extend([const { Cell::Nothing }; 4]);
            cells.push(why(reason).into());
            report.row(cells);
        }
    }
    report.finish(|| Chart::new(format!("Shapes of blocks, {title}"), "GB/s", bars))
}

/// Why a kernel does not run in a block.
fn why(refusal: &Error) -> String {
    match refusal {
        Error::IllegalBlock { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// Adds the shapes of one kernel, the fastest first. The first timing is a copy's.
fn rows_of(
    report: &mut Report,
    bars: &mut Vec<Bar>,
    shape: [usize; 3],
    runs: &[Run],
    timings: &[Timing],
) {
    let Some((copy, timings)) = timings.split_first() else { return };
    let copy = copy.gb_per_s(shape.iter().product());
    let mut lines: Vec<_> = runs.iter().zip(timings).collect();
    lines.sort_by_key(|(_, timing)| timing.median);
    for (run, timing) in lines {
        let bytes = run.bytes();
        let (speed, spread) = (timing.gb_per_s(bytes), timing.spread(bytes));
        let (name, block) = (run.kernel.name(), run.block_name());
        let label = format!("{name} {block}");
        bars.push(Bar { label, group: name.into(), value: speed, spread });
        let mut cells = vec![name.into(), block.into()];
        cells.extend(shape.map(Cell::from));
        cells.extend([Cell::speed(speed), Cell::fraction(speed / copy)]);
        cells.extend([spread.0, spread.1].map(Cell::speed));
        cells.push(Cell::Nothing);
        report.row(cells);
    }
}
