//! The speed of computing on the way, beside a copy: `cargo run --release --bin arithmetic`
//!
//! For each case a copy of as many bytes, the library's plan, cuTENSOR where it computes the same and can be opened, and with `--candidates` every other way that the library has, take turns. GB/s count what is read and what is
//! written: each number of the source, of the destination, and of the destination before if it is added to. What memory allows, as a fraction of a copy's speed, counts the pieces of 64 bytes
//! that hold them. Every result is compared, on some of its rows,
//! with what two passes give, of which one moves and one computes. `--peers FOLDER` writes the cases for `arithmetic.py`, which times PyTorch on them and
//! compares its results.
//!
//! `case` says what a case is, `cases` which there are, `random` draws arrays that nobody chose (`--sweep SEED`, `--windows`, `--crops`, `--turned`, `--each`), `measuring` times it, `verifying` compares results, `told` writes what others are told.

mod case;
mod cases;
mod factor;
mod measuring;
mod memory;
mod random;
mod told;
mod verifying;

use anyhow::{Context, Result, ensure};
use bench::limits;
use bench::peers::{Peers, Where};
use bench::program::{self, Common, usage};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use case::{Case, Figures};
use cases::cases;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use told::write_table;
use transpose::Device;

/// Compare the speed of computing on the way with a copy's.
#[derive(Parser)]
struct Arguments {
    /// Only cases whose name has this in it, or another text that is given so.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9, value_parser = limits::times)]
    turns: usize,
    /// Also time every other way that the library has.
    #[arg(long)]
    candidates: bool,
    /// Small cases, as on the simulator.
    #[arg(long)]
    small: bool,
    /// Only matrices of this shape, such as 1000x777, transposed and in order, or a batch of them, such as 50x1000x777.
    #[arg(long, value_parser = shape, value_name = "[COUNTx]ROWSxCOLS")]
    shape: Vec<Shape>,
    /// Only random arrays, which depend on this number.
    #[arg(long, value_name = "SEED", group = "has_others")]
    sweep: Option<u64>,
    /// Random arrays of other types: 8-bit floats, integers, results of one byte, and between 32 and 64 bits; or windows out of images of bytes that stay bytes; or images whose numbers are computed in 64 bits.
    #[arg(long, requires = "has_others")]
    others: bool,
    /// Only random windows, rows of arrays that start anywhere, which depend on this number.
    #[arg(long, value_name = "SEED")]
    windows: Option<u64>,
    /// Only random windows cut out of images of one to four channels, which depend on this number.
    #[arg(long, value_name = "SEED", group = "has_others")]
    crops: Option<u64>,
    /// Windows with gaps behind all of their rows in the result, too.
    #[arg(long, requires = "crops")]
    padded: bool,
    /// Only random arrays in another order, with gaps between the rows of all memories, which depend on this number.
    #[arg(long, value_name = "SEED")]
    turned: Option<u64>,
    /// Only random images whose channels have a factor and a summand each, which depend on this number.
    #[arg(long, value_name = "SEED", group = "has_others")]
    each: Option<u64>,
    /// How many random arrays, windows, or batches of images.
    #[arg(long, default_value_t = 90, value_parser = limits::times)]
    count: usize,
    /// Counts of channels of the cases in which each has a factor and a summand: 64, 128 and 256 without this, and of random images any.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", value_parser = program::count)]
    channels: Vec<usize>,
    /// Rows, and columns, of their images: 224 without this; of random images the most, 300 without this.
    #[arg(long, value_parser = program::count)]
    side: Option<usize>,
    /// Write the cases to this folder, for others: a table of the large ones, one of the small ones, and the bytes of each small case's source and result. `--only` names
    /// a case by either.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    common: Common,
}

/// The lengths of two or three axes.
#[derive(Clone)]
struct Shape(Vec<usize>);

/// Two or three numbers with an x between them.
fn shape(text: &str) -> Result<Shape> {
    let lengths = text.split(['x', '×']).map(str::parse).collect::<Result<Vec<usize>, _>>();
    let lengths = lengths.ok().filter(|lengths| matches!(lengths.len(), 2 | 3));
    lengths
        .map(Shape)
        .with_context(|| format!("{text:?} is not two or three numbers with an x between them"))
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

/// Refuses arrays of nothing, and of more elements than any memory has.
fn ensure_possible(arguments: &Arguments) -> Result<()> {
    const MOST: usize = 1 << 40;
    /// Each has a factor and a summand, which the host has, too.
    const MOST_CHANNELS: usize = 1 << 24;
    let is_possible = |lengths: &[usize]| {
        let product = |all: usize, &length: &usize| all.checked_mul(length);
        let all = lengths.iter().try_fold(1, product);
        all.is_some_and(|all| (1..=MOST).contains(&all))
    };
    for Shape(lengths) in &arguments.shape {
        ensure!(is_possible(lengths), usage(format!("there is no array of {lengths:?} elements")));
    }
    let side = arguments.side.unwrap_or(1);
    for &channels in arguments.channels.iter().chain(&[1]) {
        ensure!(
            channels <= MOST_CHANNELS && is_possible(&[side, side, channels]),
            usage(format!("there are no images of {side} × {side} × {channels} elements"))
        );
    }
    Ok(())
}

/// Keeps those whose names have one of these texts in them; all if there is no text.
fn keep_named<C>(all: &mut Vec<C>, only: &[String], names: impl Fn(&C) -> String) -> Result<()> {
    let known: Vec<String> = all.iter().map(&names).collect();
    all.retain(|case| only.is_empty() || only.iter().any(|only| names(case).contains(only)));
    let none = || {
        let known = known.join("\n  ");
        usage(format!("no case has any of {only:?} in its name; there are\n  {known}"))
    };
    ensure!(!all.is_empty(), none());
    Ok(())
}

/// Writes what others are told: tables of the same cases, large ones and small ones, whose rows have the numbers of the small ones' bytes.
fn tell(device: &Device, arguments: &Arguments, folder: &Path) -> Result<()> {
    let [large, small] = [true, false].map(|is_large| cases(is_large, arguments));
    let mut both: Vec<(Case, Case)> = large.into_iter().zip(small).collect();
    both.retain(|(_, small)| small.is_told());
    let names =
        |(large, small): &(Case, Case)| format!("{}; small: {}", large.name(), small.name());
    keep_named(&mut both, &arguments.only, names)?;
    let (large, small): (Vec<Case>, Vec<Case>) = both.into_iter().unzip();
    write_table(&large, &folder.join("cases.csv"))?;
    write_table(&small, &folder.join("small.csv"))?;
    let bar = progress::bar(&arguments.common, small.len());
    for (number, case) in small.iter().enumerate() {
        (case.write)(device, case, folder, number)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn run(arguments: &Arguments) -> Result<()> {
    ensure_possible(arguments)?;
    let device = arguments.common.open()?;
    if let Some(folder) = &arguments.peers {
        return tell(&device, arguments, folder);
    }
    let peers = Peers::open(&arguments.common, &device, &arguments.at);
    let mut cases = cases(device.is_gpu() && !arguments.small, arguments);
    keep_named(&mut cases, &arguments.only, Case::name)?;
    let longest = |word: usize| {
        let lengths = cases.iter().map(|case| case.in_words()[word].chars().count());
        lengths.max().unwrap_or(0) as u16
    };
    let bar = progress::bar(&arguments.common, cases.len());
    let columns = [
        Column::text("group", "group", longest(0)),
        Column::text("types", "types", longest(1)),
        Column::text("shape", "shape", longest(2)),
        Column::text("computed", "computed", longest(3)),
        Column::text("gaps", "indices before rows", 11),
        Column::number("way", "way", 3),
        Column::text("kernel", "kernel", 18),
        Column::number("bytes", "bytes read and written", 11),
        Column::number("memcpy_gb_s", "memcpy, GB/s", 7),
        Column::number("gb_s", "GB/s", 7),
        Column::number("of_copy", "of copy", 7),
        Column::number("memory_bound", "memory's bound", 7),
        Column::number("cutensor_gb_s", "cuTENSOR, GB/s", 7),
        Column::number("instructions", "instructions for a number", 7),
    ];
    let title = "Computed on the way, all results verified";
    let mut report = Report::new(&arguments.common, &device, title, &columns, &bar);
    let mut bars = Vec::new();
    for case in &cases {
        for (way, figures) in (case.measure)(&device, case, &peers, arguments)?.iter().enumerate() {
            let Figures { kernel, bytes, moved, speeds, cutensor, instructions } = figures;
            let [copy, ours] = speeds.map_or([None; 2], |speeds| speeds.map(Some));
            let fraction = speeds.map(|[copy, ours]| ours / copy);
            let mut row: Vec<Cell> = case.in_words().into_iter().map(Cell::from).collect();
            let [src, dst] = case.gaps;
            row.extend([
                format!("{src} to {dst}").into(),
                way.into(),
                kernel.as_str().into(),
                (*bytes).into(),
                Cell::speed(copy),
                Cell::speed(ours),
                Cell::fraction(fraction),
                Cell::fraction(*bytes as f64 / *moved as f64),
                Cell::speed(*cutensor),
                Cell::speed(*instructions),
            ]);
            report.row(row);
            if way == 0 {
                // Without a clock the chart is of what is counted.
                let value = fraction.or(*instructions);
                // A colour for each kernel, whatever its words.
                let family = kernel.rsplit_once("_b").map_or(kernel.as_str(), |(family, _)| family);
                bars.extend(value.map(|value| Bar::plain(case.name(), family, value)));
            }
        }
        bar.inc(1);
    }
    let unit = if device.is_gpu() { "of a copy's speed" } else { "instructions for a number" };
    report.finish(|| Chart::new("Computed on the way", unit, bars))
}
