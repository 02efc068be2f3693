//! The effective bandwidth of every kernel of the texts, beside a copy in the same run.
//!
//! `cargo run --release --bin bandwidth -- [--list]`
//!
//! By default this is the table of Ruetsch, Micikevicius and Scudiero: 2048 × 2048 `f32`, 100
//! back-to-back launches between two events. Here the launches rotate over several matrices, so
//! that none finds its data in the L2 cache, and the kernels take turns, so that a drifting clock
//! favours none; the median turn counts. Results are verified on the host after the timing.

use anyhow::Result;
use bench::kernels::{Run, Verifier, block_name, elements, ensure_memory, race};
use bench::limits;
use bench::memory::matrix_bytes;
use bench::output::print;
use bench::program::{self, Common};
use bench::race::{Timing, steps};
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report, line};
use bench::{progress, simulated, with_element};
use bytemuck::Pod;
use clap::Parser;
use std::process::ExitCode;
use study::{Kernel, Source};
use transpose::Device;

/// Measure the effective bandwidth of the kernels of the texts.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 2048; 512 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 2048; 512 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4, value_parser = program::word)]
    element: usize,
    /// Back-to-back launches between two events.
    #[arg(long, default_value_t = 100, value_parser = limits::times)]
    reps: usize,
    /// Times that each kernel takes its turn.
    #[arg(long, default_value_t = 9, value_parser = limits::times)]
    turns: usize,
    /// The kernels, by their names here or in their texts; all of them if not given.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", value_parser = program::named::<Kernel>)]
    kernels: Vec<Kernel>,
    /// Print in GiB/s (2³⁰ bytes a second), as the NVIDIA text's program does, not in GB/s (10⁹).
    #[arg(long)]
    gib: bool,
    /// List the kernels and measure nothing.
    #[arg(long, conflicts_with_all = ["json", "csv", "svg"])]
    list: bool,
    #[command(flatten)]
    common: Common,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    if arguments.list {
        return list();
    }
    let device = arguments.common.open()?;
    with_element!(arguments.element, T => measure::<T>(arguments, &device))
}

/// Prints the kernels, those of each text below its title.
fn list() -> Result<()> {
    let columns = [
        Column::text("kernel", "kernel", 19),
        Column::text("name_in_text", "name in the text", 34),
        Column::text("block", "block", 6),
        Column::text("outcome", "what it does", 0),
    ];
    for source in Source::ALL {
        print(source.title())?;
        print(line(&columns, columns.map(|column| column.heading.to_owned()).to_vec()))?;
        for kernel in Kernel::ALL.iter().filter(|kernel| kernel.source() == source) {
            let (name, block) = (kernel.name().to_owned(), block_name(kernel.default_block()));
            let outcome = format!("{:?}", kernel.outcome());
            print(line(&columns, vec![name, kernel.name_in_text().to_owned(), block, outcome]))?;
        }
    }
    Ok(())
}

fn measure<T: Pod + PartialEq>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 2048 } else { 512 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
    let chosen = if arguments.kernels.is_empty() { Kernel::ALL } else { &arguments.kernels };
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for &kernel in chosen {
        match Run::new(kernel, kernel.default_block(), rows, cols, size_of::<T>()) {
            Ok(run) => runs.push(run),
            Err(reason) => left_out.push(reason.to_string()),
        }
    }
    ensure_memory(device, &runs, bytes)?;
    let host: Vec<T> = elements(rows, cols)?;
    let bar = progress::bar(&arguments.common, steps(runs.len() + 1, arguments.turns) + runs.len());
    let timings = race(device, &host, &runs, arguments.turns, arguments.reps, &bar)?;
    Verifier::new(device, &host)?.verify(&runs, &bar)?;
    bar.finish_and_clear();
    let title = format!("{rows} × {cols} elements of {} bytes", size_of::<T>());
    match timings {
        Some(timings) => {
            report(arguments, device, &title, (rows, cols), &runs, &timings, &left_out)
        }
        None => simulated::report(&arguments.common, device, &title, &host, &runs, &left_out),
    }
}

/// The NVIDIA text's columns: GTX 280, M2090 and K20X, in GB/s, for 2048 × 2048 `f32`.
fn in_the_text(kernel: Kernel) -> Option<[f64; 3]> {
    Some(match kernel {
        Kernel::Copy => [96.9, 125.2, 147.6],
        Kernel::CopyShared => [80.9, 110.6, 130.5],
        Kernel::Naive => [2.2, 61.5, 92.0],
        Kernel::Coalesced => [16.5, 92.8, 114.0],
        Kernel::BankConflictFree => [16.6, 103.2, 112.6],
        Kernel::FineGrained => [80.4, 105.8, 115.0],
        Kernel::CoarseGrained => [16.7, 107.2, 123.5],
        Kernel::Diagonal => [69.5, 81.4, 106.7],
        _ => return None,
    })
}

/// The columns; the last three are those of the text.
fn columns(in_gib: bool, the_texts: bool) -> Vec<Column> {
    let [unit, slowest, fastest] = match in_gib {
        true => ["GiB/s", "slowest, GiB/s", "fastest, GiB/s"],
        false => ["GB/s", "slowest, GB/s", "fastest, GB/s"],
    };
    let gpu = |key, heading| match the_texts {
        true => Column::number(key, heading, 12),
        false => Column::unseen(key),
    };
    vec![
        Column::text("kernel", "kernel", 20),
        Column::unseen("name_in_text"),
        Column::unseen("source"),
        Column::text("block", "block", 6),
        Column::unseen("rows"),
        Column::unseen("cols"),
        Column::unseen("element_bytes"),
        Column::unseen("reps"),
        Column::unseen("gb_per_s"),
        Column::unseen("gb_per_s_slowest"),
        Column::unseen("gb_per_s_fastest"),
        Column::number("in_unit", unit, 7),
        Column::number("slowest_in_unit", slowest, 7),
        Column::number("fastest_in_unit", fastest, 7),
        Column::number("of_copy", "of copy", 7),
        gpu("gtx_280_gb_per_s", "GTX 280, GB/s"),
        gpu("m2090_gb_per_s", "M2090, GB/s"),
        gpu("k20x_gb_per_s", "K20X, GB/s"),
    ]
}

fn report(
    arguments: &Arguments,
    device: &Device,
    title: &str,
    (rows, cols): (usize, usize),
    runs: &[Run],
    timings: &[Timing],
    left_out: &[String],
) -> Result<()> {
    let (unit, scale) =
        if arguments.gib { ("GiB/s", 1e9 / (1u64 << 30) as f64) } else { ("GB/s", 1.0) };
    let the_texts = (rows, cols, arguments.element) == (2048, 2048, 4);
    let columns = columns(arguments.gib, the_texts);
    let bar = indicatif::ProgressBar::hidden();
    let verified = format!("{title}, all results verified");
    let mut report = Report::new(&arguments.common, device, verified, &columns, &bar);
    left_out.iter().for_each(|reason| report.leave_out(reason));
    let bytes = rows * cols * arguments.element;
    let copy = timings[0].gb_per_s(bytes);
    let mut bars = Vec::new();
    let lines =
        std::iter::once((None, bytes)).chain(runs.iter().map(|run| (Some(run), run.bytes())));
    for ((run, bytes), timing) in lines.zip(timings) {
        let (speed, (low, high)) = (timing.gb_per_s(bytes), timing.spread(bytes));
        let name = run.map_or("memcpy", |run| run.kernel.name());
        let source = run.map_or("the driver", |run| author(run.kernel.source()));
        let speeds = [speed, low, high];
        let mut cells = vec![
            name.into(),
            run.map(|run| run.kernel.name_in_text()).into(),
            source.into(),
            run.map(Run::block_name).into(),
        ];
        cells.extend([rows, cols, arguments.element, arguments.reps].map(Cell::from));
        cells.extend(speeds.map(Cell::speed));
        cells.extend(speeds.map(|speed| Cell::speed(speed * scale)));
        cells.push(Cell::fraction(speed / copy));
        let then = run.and_then(|run| in_the_text(run.kernel)).filter(|_| the_texts);
        cells.extend(then.map_or([const { Cell::Nothing }; 3], |then| then.map(Cell::speed)));
        report.row(cells);
        let spread = (low * scale, high * scale);
        bars.push(Bar { label: name.into(), group: source.into(), value: speed * scale, spread });
    }
    report.finish(|| Chart::new(format!("Bandwidth, {title}"), unit, bars))
}

/// The source in a word.
fn author(source: Source) -> &'static str {
    match source {
        Source::Nvidia => "NVIDIA",
        Source::Dalmasso => "Dalmasso",
        Source::Amd => "AMD",
        Source::Lecture => "Lecture",
    }
}
