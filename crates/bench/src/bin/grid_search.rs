//! Dalmasso's grid-level optimisation: which shape of block suits a kernel?
//!
//! `cargo run --release --bin grid_search -- [--kernels diagonal_col,smem_pad] [--blocks all]`
//!
//! All legal shapes of one kernel race against each other and against a copy; an illegal one is
//! listed with the reason. Results are verified on the host after the timing.

use anyhow::{Result, ensure};
use bench::device::DeviceChoice;
use bench::kernels::{Run, elements, race, verify};
use bench::output::Files;
use bench::race::{Timing, steps};
use bench::svg::{Bar, bar_chart};
use bench::{progress, simulated, with_element};
use bytemuck::Pod;
use clap::Parser;
use std::str::FromStr;
use study::{Block, DALMASSO_BLOCKS, Error, Kernel};
use transpose::Device;

/// Find the best shape of block for kernels.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 8192; 256 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 8192; 256 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4)]
    element: usize,
    /// Back-to-back launches between two events.
    #[arg(long, default_value_t = 10)]
    reps: usize,
    /// Times that each shape takes its turn.
    #[arg(long, default_value_t = 9)]
    turns: usize,
    /// The kernels, by their names here or in their texts.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAME,…",
        default_value = "diagonal_col,unroll4_col,smem_unroll_pad_dyn"
    )]
    kernels: Vec<Kernel>,
    /// The candidates: `seed` for Dalmasso's, `all` for powers of two, or a list like 32x8,16x16.
    #[arg(long, default_value = "seed")]
    blocks: Blocks,
    #[command(flatten)]
    files: Files,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
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

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.reps > 0 && arguments.turns > 0, "no repetitions, no measurement");
    let device = arguments.device.open()?;
    with_element!(arguments.element, T => search::<T>(&arguments, &device))
}

fn search<T: Pod + PartialEq>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 8192 } else { 256 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let host: Vec<T> = elements(rows, cols)?;
    let mut bars = Vec::new();
    let mut records = Vec::new();
    let mut without_times = Vec::new();
    for &kernel in &arguments.kernels {
        let (mut runs, mut refused) = (Vec::new(), Vec::new());
        for &block in &arguments.blocks.0 {
            match Run::new(kernel, block, rows, cols, size_of::<T>()) {
                Ok(run) => runs.push(run),
                Err(reason) => refused.push((block, reason)),
            }
        }
        let bar = progress::bar(steps(runs.len() + 1, arguments.turns) + runs.len())
            .with_message(kernel.name());
        let timings = race(device, &host, &runs, arguments.turns, arguments.reps, &bar)?;
        verify(device, &host, &runs, &bar)?;
        bar.finish_and_clear();
        println!("{kernel}, {rows} × {cols} elements of {} bytes, verified", size_of::<T>());
        match timings {
            Some(timings) => {
                let copy = timings[0].gb_per_s(size_of_val(&host[..]));
                report(&runs, &timings[1..], copy, &mut bars, &mut records);
            }
            None => without_times.extend(runs),
        }
        for (block, refusal) in refused {
            let reason = match refusal {
                Error::IllegalBlock { reason, .. } => reason,
                other => other.to_string(),
            };
            println!("  {block:<8}  invalid: {reason}");
            records.push(vec![
                kernel.name().into(),
                block.to_string(),
                String::new(),
                String::new(),
                reason,
            ]);
        }
        println!();
    }
    if !device.is_gpu() {
        return simulated::report(device, &host, &without_times, &arguments.files);
    }
    let header = ["kernel", "block", "gb_per_s", "of_copy", "invalid"];
    let title = format!("{rows} × {cols}, {} bytes an element", arguments.element);
    arguments.files.write(&header, &records, || bar_chart(&title, "GB/s", &bars))
}

/// Prints the shapes of one kernel, the fastest first.
fn report(
    runs: &[Run],
    timings: &[Timing],
    copy: f64,
    bars: &mut Vec<Bar>,
    records: &mut Vec<Vec<String>>,
) {
    let mut lines: Vec<_> = runs.iter().zip(timings).collect();
    lines.sort_by_key(|(_, timing)| timing.median);
    println!("  {:<8} {:>8} {:>8} {:>10}  spread", "block", "GB/s", "of copy", "time");
    for (place, (run, timing)) in lines.iter().enumerate() {
        let bytes = run.bytes();
        let (speed, spread) = (timing.gb_per_s(bytes), timing.spread(bytes));
        let best = if place == 0 { "  ← best" } else { "" };
        println!(
            "  {:<8} {speed:>8.1} {:>8.3} {:>7.1} µs  {:.0}–{:.0}{best}",
            run.block,
            speed / copy,
            timing.median.as_secs_f64() * 1e6,
            spread.0,
            spread.1,
        );
        let (name, block) = (run.kernel.name(), run.block.to_string());
        bars.push(Bar {
            label: format!("{name} {block}"),
            group: name.into(),
            value: speed,
            spread,
        });
        records.push(vec![
            name.into(),
            block,
            format!("{speed:.1}"),
            format!("{:.4}", speed / copy),
            String::new(),
        ]);
    }
}
