//! The effective bandwidth of every kernel of the texts, beside a copy in the same run.
//!
//! `cargo run --release --bin bandwidth -- [--list]`
//!
//! By default this is the table of Ruetsch, Micikevicius and Scudiero: 2048 × 2048 `f32`, 100
//! back-to-back launches between two events. Here the launches rotate over several matrices, so
//! that none finds its data in the L2 cache, and the kernels take turns, so that a drifting clock
//! favours none; the median turn counts. Results are verified on the host after the timing.

use anyhow::{Result, ensure};
use bench::device::DeviceChoice;
use bench::kernels::{Run, elements, race, verify};
use bench::output::Files;
use bench::race::{Timing, steps};
use bench::svg::{Bar, bar_chart};
use bench::{progress, simulated, with_element};
use bytemuck::Pod;
use clap::Parser;
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
    #[arg(long, default_value_t = 4)]
    element: usize,
    /// Back-to-back launches between two events.
    #[arg(long, default_value_t = 100)]
    reps: usize,
    /// Times that each kernel takes its turn.
    #[arg(long, default_value_t = 9)]
    turns: usize,
    /// The kernels, by their names here or in their texts; all of them if not given.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    kernels: Vec<Kernel>,
    /// Print in GiB/s (2³⁰ bytes a second), as the NVIDIA text's program does, not in GB/s (10⁹).
    #[arg(long)]
    gib: bool,
    /// List the kernels and measure nothing.
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    files: Files,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        list();
        return Ok(());
    }
    ensure!(arguments.reps > 0 && arguments.turns > 0, "no repetitions, no measurement");
    let device = arguments.device.open()?;
    with_element!(arguments.element, T => measure::<T>(&arguments, &device))
}

fn list() {
    for source in Source::ALL {
        println!("{}", source.title());
        for kernel in Kernel::ALL.iter().filter(|kernel| kernel.source() == source) {
            println!(
                "  {:<20} {:<36} {:<8} {:?}",
                kernel.name(),
                kernel.name_in_text(),
                kernel.default_block(),
                kernel.outcome()
            );
        }
    }
}

fn measure<T: Pod + PartialEq>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 2048 } else { 512 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let host: Vec<T> = elements(rows, cols)?;
    let chosen = if arguments.kernels.is_empty() { Kernel::ALL } else { &arguments.kernels };
    let mut runs = Vec::new();
    for &kernel in chosen {
        match Run::new(kernel, kernel.default_block(), rows, cols, size_of::<T>()) {
            Ok(run) => runs.push(run),
            Err(reason) => eprintln!("left out: {reason}"),
        }
    }
    let bar = progress::bar(steps(runs.len() + 1, arguments.turns) + runs.len());
    let timings = race(device, &host, &runs, arguments.turns, arguments.reps, &bar)?;
    verify(device, &host, &runs, &bar)?;
    bar.finish_and_clear();
    println!("{rows} × {cols} elements of {} bytes, all results verified", size_of::<T>());
    match timings {
        Some(timings) => report(arguments, (rows, cols), size_of_val(&host[..]), &runs, &timings),
        None => simulated::report(device, &host, &runs, &arguments.files),
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

fn report(
    arguments: &Arguments,
    (rows, cols): (usize, usize),
    bytes: usize,
    runs: &[Run],
    timings: &[Timing],
) -> Result<()> {
    let (unit, scale) =
        if arguments.gib { ("GiB/s", 1e9 / (1u64 << 30) as f64) } else { ("GB/s", 1.0) };
    let the_texts = (rows, cols, arguments.element) == (2048, 2048, 4);
    let heads = if the_texts { "   GTX 280    M2090     K20X" } else { "" };
    println!("{:<20} {:<8} {unit:>8} {:>8}  {:<15}{heads}", "", "block", "of copy", "spread");
    let copy = timings[0].gb_per_s(bytes);
    let mut bars = Vec::new();
    let mut records = Vec::new();
    let lines =
        std::iter::once((None, bytes)).chain(runs.iter().map(|run| (Some(run), run.bytes())));
    for ((run, bytes), timing) in lines.zip(timings) {
        let (speed, (low, high)) = (timing.gb_per_s(bytes), timing.spread(bytes));
        let name = run.map_or("memcpy", |run| run.kernel.name());
        let block = run.map(|run| run.block.to_string()).unwrap_or_default();
        let source = run.map_or("the driver", |run| author(run.kernel.source()));
        let spread = format!("{:.0}–{:.0}", low * scale, high * scale);
        print!("{name:<20} {block:<8} {:>8.1} {:>8.3}  {spread:<15}", speed * scale, speed / copy);
        if let Some(speeds) = run.and_then(|run| in_the_text(run.kernel)).filter(|_| the_texts) {
            print!("{:>10.1}{:>9.1}{:>9.1}", speeds[0], speeds[1], speeds[2]);
        }
        println!();
        let spread = (low * scale, high * scale);
        bars.push(Bar { label: name.into(), group: source.into(), value: speed * scale, spread });
        let name_in_text = run.map_or("", |run| run.kernel.name_in_text());
        let numbers = [speed, low, high].map(|speed| format!("{speed:.1}"));
        let mut record = [name, name_in_text, source, &block].map(str::to_owned).to_vec();
        record.extend([rows, cols, arguments.element, arguments.reps].map(|n| n.to_string()));
        record.extend(numbers);
        record.push(format!("{:.4}", speed / copy));
        records.push(record);
    }
    let header = [
        "kernel",
        "name_in_text",
        "source",
        "block",
        "rows",
        "cols",
        "element_bytes",
        "reps",
        "gb_per_s",
        "gb_per_s_slowest",
        "gb_per_s_fastest",
        "of_copy",
    ];
    let title = format!("{rows} × {cols}, {} bytes an element", arguments.element);
    arguments.files.write(&header, &records, || bar_chart(&title, unit, &bars))
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
