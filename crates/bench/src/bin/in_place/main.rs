//! Transposes matrices in their own memory, by every algorithm, beside a copy.
//!
//! `cargo run --release --bin in_place -- [TABLE…] [--shape ROWSxCOLS]`
//!
//! `tables` says what each table has, `elementary` measures single steps, `batches` squares.

mod batches;
mod elementary;
mod tables;

use anyhow::{Context, Result, ensure};
use batches::Batch;
use bench::in_place::{Compared, Entrant, Outcome, compare, steps};
use bench::limits;
use bench::program::{self, Common, usage};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use clap::{Parser, ValueEnum};
use elementary::Step;
use indicatif::ProgressBar;
use std::process::ExitCode;
use tables::{Job, Table};
use transpose::{Carry, Device, InPlace, InPlaceOptions};

/// Transpose matrices in place and say at what speed.
#[derive(Parser)]
struct Arguments {
    /// The tables to print; all of them, unless there is a shape of your own.
    #[arg(value_enum)]
    tables: Vec<Table>,
    /// A shape of your own, such as 1000x777.
    #[arg(long, value_parser = pair, value_name = "ROWSxCOLS")]
    shape: Vec<(usize, usize)>,
    /// Bytes of an element of your own shape.
    #[arg(long, default_value_t = 4, value_parser = program::element)]
    bytes: usize,
    /// Algorithms for your own shape; all without this.
    #[arg(long, requires = "shape", value_parser = program::named::<InPlace>)]
    algorithm: Vec<InPlace>,
    /// Tile or length of the super-elements, such as 64x50.
    #[arg(long, value_parser = pair, requires = "shape", value_name = "MxN")]
    tile: Vec<(usize, usize)>,
    /// Bytes of shared memory that a block may take.
    #[arg(long, requires = "shape", value_name = "BYTES")]
    on_chip: Option<usize>,
    /// Blocks that may hold parts of one whole.
    #[arg(long, requires = "shape", value_name = "BLOCKS")]
    group: Vec<usize>,
    /// Carry super-elements through shared memory, a step at a time.
    #[arg(long, requires = "shape")]
    shared_carry: bool,
    /// How often each is timed.
    #[arg(long, default_value_t = 7, value_parser = limits::times)]
    turns: usize,
    /// Also print the time of each step.
    #[arg(long)]
    steps: bool,
    #[command(flatten)]
    common: Common,
}

/// The columns.
const COLUMNS: [Column; 13] = [
    Column::unseen("table"),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::text("shape", "rows × columns", 17),
    Column::number("element_bytes", "element, bytes", 0),
    Column::text("algorithm", "algorithm", 16),
    Column::number("gb_per_s", "GB/s", 7),
    Column::number("of_copy", "of copy", 0),
    Column::number("passes", "passes", 0),
    Column::number("extra_bytes", "extra, bytes", 0),
    Column::text("tile", "tile", 11),
    Column::text("how", "how", 0),
    Column::text("not_run_because", "not run because", 0),
];

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let mut tables = arguments.tables.clone();
    if tables.is_empty() && arguments.shape.is_empty() {
        tables = Table::value_variants().to_vec();
    }
    // Before anything else is done: is there such an element?
    by_bytes(arguments.bytes)?;
    let device = arguments.common.open()?;
    // The simulator gets less to do.
    let size = |length: usize| if device.is_gpu() { length } else { length.div_ceil(100).max(2) };
    let mut groups: Vec<(&str, Option<Table>, Vec<Job>)> =
        tables.iter().map(|&table| (table.title(), Some(table), distinct(table, &size))).collect();
    if !arguments.shape.is_empty() {
        groups.push(("As asked", None, own(arguments)));
    }
    let bar = progress::bar(&arguments.common, total(&groups, &device, arguments.turns));
    let title = "Transposed in place, all results verified";
    let report = Report::new(&arguments.common, &device, title, &COLUMNS, &bar);
    let mut bench = Bench {
        arguments,
        device: &device,
        report,
        bar,
        bars: Vec::new(),
        has_run: false,
        not_run: Vec::new(),
    };
    for (title, table, jobs) in groups {
        bench.report.note(&format!("\n{title}"));
        for job in jobs {
            bench.compare(title, job)?;
        }
        match table {
            Some(Table::Batches) => bench.batches(title, size(1 << 29))?,
            Some(Table::Carrying) => bench.steps(title, size(1 << 29), elementary::carrying)?,
            Some(Table::Spreading) => bench.steps(title, size(1 << 27), elementary::spreading)?,
            _ => {}
        }
    }
    ensure!(bench.has_run, "nothing was transposed: {}", bench.not_run.join("; "));
    let bars = bench.bars;
    let unit = if device.is_gpu() { "of a copy's speed" } else { "passes over the matrix" };
    bench.report.finish(|| Chart::new("Transposes in place", unit, bars))
}

/// The jobs of a table. Sizes that differ by little are one where they are cut small.
fn distinct(table: Table, size: &dyn Fn(usize) -> usize) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for job in table.jobs(size) {
        if !jobs.iter().any(|other| (other.shape, other.bytes) == (job.shape, job.bytes)) {
            jobs.push(job);
        }
    }
    jobs
}

/// How often the bar moves.
fn total(groups: &[(&str, Option<Table>, Vec<Job>)], device: &Device, turns: usize) -> usize {
    let turns = if device.is_gpu() { turns } else { 0 };
    let of = |(_, table, jobs): &(&str, Option<Table>, Vec<Job>)| {
        let single = match table {
            Some(Table::Batches) => batches::BATCHES,
            Some(Table::Carrying) => elementary::CARRYING,
            Some(Table::Spreading) => elementary::SPREADING,
            _ => 0,
        };
        single + jobs.iter().map(|job| steps(job.entrants.len(), turns)).sum::<usize>()
    };
    groups.iter().map(of).sum()
}

/// [`compare`] for elements of some type.
type Comparison =
    fn(&Device, (usize, usize), &[Entrant], usize, &mut dyn FnMut(usize)) -> Result<Compared>;

/// What measures single steps of matrices of so many bytes, on so many turns, and tells of each.
type Measure = fn(&Device, usize, usize, &mut dyn FnMut(Step)) -> Result<()>;

/// [`compare`] for elements of so many bytes.
fn by_bytes(bytes: usize) -> Result<Comparison> {
    Ok(match bytes {
        1 => compare::<u8>,
        2 => compare::<u16>,
        4 => compare::<u32>,
        8 => compare::<u64>,
        16 => compare::<u128>,
        3 => compare::<[u8; 3]>,
        6 => compare::<[u16; 3]>,
        7 => compare::<[u8; 7]>,
        12 => compare::<[u32; 3]>,
        24 => compare::<[u64; 3]>,
        32 => compare::<[u128; 2]>,
        48 => compare::<[u128; 3]>,
        128 => compare::<[u128; 8]>,
        512 => compare::<[u128; 32]>,
        _ => {
            let known = "1, 2, 3, 4, 6, 7, 8, 12, 16, 24, 32, 48, 128 and 512";
            return Err(usage(format!("elements here have {known} bytes, not {bytes}")));
        }
    })
}

/// What is asked for by the command line's shapes, tiles and groups.
fn own(arguments: &Arguments) -> Vec<Job> {
    let Arguments { shape, bytes, algorithm, tile, group, on_chip, .. } = arguments;
    let algorithms = if algorithm.is_empty() { InPlace::ALL } else { algorithm };
    let tiles = all_or_none(tile);
    let groups = all_or_none(group);
    let carry = if arguments.shared_carry { Carry::SharedMemory } else { Carry::Registers };
    let mut entrants = Vec::new();
    for &algorithm in algorithms {
        for &tile in &tiles {
            for &max_group in &groups {
                let options = InPlaceOptions::default()
                    .tile(tile)
                    .on_chip_bytes(*on_chip)
                    .max_group(max_group)
                    .carry(carry);
                entrants.push(Entrant { algorithm, options });
            }
        }
    }
    let job = |&shape| Job { shape, bytes: *bytes, entrants: entrants.clone(), note: None };
    shape.iter().map(job).collect()
}

/// Each, or none once.
fn all_or_none<T: Copy>(all: &[T]) -> Vec<Option<T>> {
    if all.is_empty() { vec![None] } else { all.iter().copied().map(Some).collect() }
}

/// What is being found.
struct Bench<'a> {
    arguments: &'a Arguments,
    device: &'a Device,
    report: Report<'a>,
    bar: ProgressBar,
    bars: Vec<Bar>,
    /// Whether anything has been transposed, and why something was not.
    has_run: bool,
    not_run: Vec<String>,
}

impl Bench<'_> {
    /// Compares the entrants on one matrix: a row for each.
    fn compare(&mut self, table: &str, job: Job) -> Result<()> {
        let Job { shape, bytes, entrants, note } = job;
        let compare = by_bytes(bytes)?;
        let mut told = |steps| self.bar.inc(steps as u64);
        let (copy, outcomes) =
            compare(self.device, shape, &entrants, self.arguments.turns, &mut told)?;
        let start = |algorithm: &str| -> Vec<Cell> {
            let (rows, cols) = shape;
            let name = format!("{rows} × {cols}");
            vec![
                table.into(),
                rows.into(),
                cols.into(),
                name.into(),
                bytes.into(),
                algorithm.into(),
            ]
        };
        if let Some(copy) = copy {
            let mut cells = start("memcpy");
            cells.extend([Cell::speed(copy), Cell::fraction(1.0)]);
            cells.extend([const { Cell::Nothing }; 5]);
            self.report.row(cells);
        }
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        let mut label = format!("{} × {} of {bytes} {unit}", shape.0, shape.1);
        for (entrant, outcome) in entrants.iter().zip(outcomes) {
            let name = match &outcome {
                Ok(outcome) => outcome.algorithm.name(),
                Err(_) => entrant.algorithm.name(),
            };
            // Beside the algorithm itself, the row of `Auto` says what it is.
            let beside = entrants.iter().any(|entrant| entrant.algorithm.name() == name);
            let name = match entrant.algorithm {
                InPlace::Auto if beside => format!("auto: {name}"),
                _ => name.to_owned(),
            };
            let mut cells = start(&name);
            match &outcome {
                Ok(outcome) => {
                    let tile = outcome.tile.map(|(m, n)| format!("{m} × {n}"));
                    cells.extend([Cell::speed(outcome.gb_per_s), Cell::fraction(outcome.of_copy)]);
                    cells.extend([outcome.passes, outcome.extra_bytes].map(Cell::from));
                    cells.extend([tile.into(), Cell::Nothing, Cell::Nothing]);
                }
                Err(reason) => {
                    cells.extend([const { Cell::Nothing }; 6]);
                    cells.push(reason.as_str().into());
                    self.not_run.push(format!("{name}: {reason}"));
                }
            }
            self.report.row(cells);
            if let Ok(outcome) = outcome {
                self.has_run = true;
                // A label for all bars of a matrix.
                let label = std::mem::take(&mut label);
                // Without a clock the chart is of what is known.
                let value = if self.device.is_gpu() { outcome.of_copy } else { None };
                let value = value.unwrap_or(outcome.passes as f64);
                self.bars.push(Bar::plain(label, name, value));
                self.times(&outcome);
            }
        }
        if let Some(note) = &note {
            self.report.below(note);
        }
        Ok(())
    }

    /// The times of the steps, if they were asked for.
    fn times(&mut self, outcome: &Outcome) {
        if !self.arguments.steps {
            return;
        }
        // Steps of one name together: there may be hundreds.
        let mut sums: Vec<(&str, usize, Option<f64>)> = Vec::new();
        for (step, time) in &outcome.steps {
            let time = time.map(|time| time.as_secs_f64() * 1e6);
            match sums.iter_mut().find(|(name, ..)| name == step) {
                Some((_, count, sum)) => {
                    *count += 1;
                    *sum = sum.zip(time).map(|(sum, time)| sum + time);
                }
                None => sums.push((step, 1, time)),
            }
        }
        for (step, count, time) in sums {
            let time = time.map_or("–".to_owned(), |time| format!("{time:.1} µs"));
            self.report.below(&format!("    {count} × {step}: {time}"));
        }
    }

    /// Measures batches of squares: a row for each.
    fn batches(&mut self, table: &str, bytes: usize) -> Result<()> {
        batches::batches(self.device, bytes, self.arguments.turns, &mut |batch| {
            self.has_run = true;
            self.bar.inc(1);
            let Batch { count, side, bytes, gb_per_s } = batch;
            let (rows, shape) = (count * side, format!("{count} × {side} × {side}"));
            let mut cells: Vec<Cell> = vec![table.into(), rows.into(), side.into(), shape.into()];
            cells.extend([bytes.into(), "squares".into()]);
            cells.push(Cell::speed(gb_per_s.map(|(_, speed)| speed)));
            cells.push(Cell::fraction(gb_per_s.map(|(copy, speed)| speed / copy)));
            cells.extend([const { Cell::Nothing }; 5]);
            self.report.row(cells);
        })
    }

    /// Measures single steps: a row for each.
    fn steps(&mut self, table: &str, bytes: usize, measure: Measure) -> Result<()> {
        measure(self.device, bytes, self.arguments.turns, &mut |step| {
            self.has_run = true;
            self.bar.inc(1);
            let Step { name, shape: (rows, cols), tile: (m, n), how, gb_per_s } = step;
            let shape = format!("{rows} × {cols}");
            let mut cells: Vec<Cell> = vec![table.into(), rows.into(), cols.into(), shape.into()];
            cells.extend([Cell::from(4usize), name.into(), Cell::speed(gb_per_s)]);
            cells.extend([const { Cell::Nothing }; 3]);
            cells.extend([format!("{m} × {n}").into(), how.into(), Cell::Nothing]);
            self.report.row(cells);
        })
    }
}

/// Two numbers with an x between them.
fn pair(text: &str) -> Result<(usize, usize)> {
    let of = || {
        Some(text.split_once(['x', '×'])?)
            .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
    };
    of().with_context(|| {
        format!("{text:?} is not two numbers with an x between them, such as 64x50")
    })
}
