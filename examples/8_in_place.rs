//! Transposes matrices in their own memory, by every algorithm, beside a copy.
//!
//! `cargo run --release --example in_place -- [TABLE…] [--shape ROWSxCOLS]`

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use support::device::DeviceChoice;
use support::in_place::{Entrant, Outcome, compare, median};
use transpose::{Device, DeviceMatrix, InPlace, InPlaceOptions};

/// Transpose matrices in place and say at what speed.
#[derive(Parser)]
struct Arguments {
    /// The tables to print.
    #[arg(value_enum)]
    tables: Vec<Table>,
    /// A shape of your own, such as 1000x777.
    #[arg(long)]
    shape: Vec<String>,
    /// Bytes of an element of your own shape.
    #[arg(long, default_value_t = 4)]
    bytes: usize,
    /// Algorithms for your own shape; all without this.
    #[arg(long)]
    algorithm: Vec<InPlace>,
    /// Tile or length of the super-elements, such as 64x50.
    #[arg(long)]
    tile: Vec<String>,
    /// Bytes of shared memory that a block may take.
    #[arg(long)]
    on_chip: Option<usize>,
    /// Blocks that may hold parts of one whole.
    #[arg(long)]
    group: Vec<usize>,
    /// How often each is timed.
    #[arg(long, default_value_t = 7)]
    turns: usize,
    /// Also print the time of each step.
    #[arg(long)]
    steps: bool,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

/// The tables.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Square matrices of every element width.
    Square,
    /// The paper's six sizes, beside its Table 2.
    Paper,
    /// Large sizes with many divisors.
    Large,
    /// Sizes with no useful divisors.
    Primes,
    /// Few columns, or few rows.
    Skinny,
    /// 010! by flags in shared memory: spreading factors and padding.
    Spreading,
}

const STAGED: [InPlace; 5] = [
    InPlace::Auto,
    InPlace::Decomposed,
    InPlace::ThreeStage,
    InPlace::FourStage,
    InPlace::FourStageFused,
];

/// Rows, columns, and GB/s of the 3-stage, 4-stage and fused 4-stage algorithms on a Tesla K20:
/// Sung et al. (PPoPP 2014), Table 2. That card's memory has a peak of 208 GB/s.
const PAPER: [(usize, usize, [f64; 3]); 6] = [
    (7200, 1800, [20.59, 7.11, 7.67]),
    (5100, 2500, [18.49, 6.87, 7.38]),
    (4000, 3200, [20.73, 7.23, 7.79]),
    (3300, 3900, [18.80, 7.23, 7.79]),
    (2500, 5100, [17.29, 6.86, 7.37]),
    (1800, 7200, [18.70, 7.07, 7.60]),
];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let device = arguments.device.open()?;
    let bench = Bench { device, turns: arguments.turns, steps: arguments.steps };
    let mut tables = arguments.tables.clone();
    if tables.is_empty() && arguments.shape.is_empty() {
        tables = Table::value_variants().to_vec();
    }
    for table in tables {
        match table {
            Table::Square => bench.square()?,
            Table::Paper => bench.paper()?,
            Table::Large => {
                bench.shapes(&[(20000, 10000), (16384, 8192), (30000, 17000)], &STAGED)?
            }
            Table::Primes => bench.shapes(
                &[(10007, 9973), (9973, 10007), (10006, 9974), (2 * 5003, 10000)],
                &[InPlace::Auto, InPlace::Decomposed],
            )?,
            Table::Skinny => bench.skinny()?,
            Table::Spreading => bench.spreading()?,
        }
    }
    bench.own(&arguments)
}

struct Bench {
    device: Device,
    turns: usize,
    steps: bool,
}

impl Bench {
    /// A length for this device: the simulator gets less to do.
    fn size(&self, length: usize) -> usize {
        if self.device.is_gpu() { length } else { length.div_ceil(100).max(2) }
    }

    fn heading(&self, title: &str) {
        println!("\n{title}");
        println!(
            "{:>17} {:>5} {:<16} {:>8} {:>8} {:>6} {:>11} {:>12}",
            "rows × columns", "bytes", "algorithm", "GB/s", "of copy", "passes", "extra", "tile"
        );
    }

    fn line(&self, (rows, cols): (usize, usize), bytes: usize, outcome: &Outcome) {
        let speed = |value: Option<f64>, digits| {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
        };
        let tile = outcome.tile.map_or_else(String::new, |(m, n)| format!("{m} × {n}"));
        println!(
            "{:>17} {bytes:>5} {:<16} {:>8} {:>8} {:>6} {:>11} {tile:>12}",
            format!("{rows} × {cols}"),
            outcome.algorithm,
            speed(outcome.gb_per_s, 1),
            speed(outcome.of_copy, 3),
            outcome.passes,
            outcome.extra_bytes,
        );
        if self.steps {
            for (step, time) in &outcome.steps {
                if let Some(time) = time {
                    println!("{:>40}{step}: {:.1} µs", "", time.as_secs_f64() * 1e6);
                }
            }
        }
    }

    /// Compares the entrants on one shape and prints a line for each.
    fn run(
        &self,
        (rows, cols): (usize, usize),
        bytes: usize,
        entrants: &[Entrant],
    ) -> Result<Vec<Option<Outcome>>> {
        let compare = match bytes {
            1 => compare::<u8>,
            2 => compare::<u16>,
            4 => compare::<u32>,
            8 => compare::<u64>,
            _ => compare::<u128>,
        };
        let (copy, outcomes) = compare(&self.device, rows, cols, entrants, self.turns)?;
        if let Some(copy) = copy {
            println!("{:>17} {bytes:>5} {:<16} {copy:>8.1}", format!("{rows} × {cols}"), "memcpy");
        }
        for outcome in outcomes.iter().flatten() {
            self.line((rows, cols), bytes, outcome);
        }
        Ok(outcomes)
    }

    fn square(&self) -> Result<()> {
        self.heading("Square");
        let side = self.size(16384);
        for bytes in [4, 8, 16, 1, 2] {
            self.run((side, side), bytes, &[InPlace::Auto.into()])?;
        }
        Ok(())
    }

    fn shapes(&self, shapes: &[(usize, usize)], algorithms: &[InPlace]) -> Result<()> {
        self.heading("Large");
        let entrants: Vec<Entrant> = algorithms.iter().map(|&a| a.into()).collect();
        for &(rows, cols) in shapes {
            for bytes in [4, 8] {
                self.run((self.size(rows), self.size(cols)), bytes, &entrants)?;
            }
        }
        Ok(())
    }

    fn paper(&self) -> Result<()> {
        self.heading("The paper's sizes (its Tesla K20: GB/s with 3 stages, 4, 4 fused)");
        let entrants: Vec<Entrant> = STAGED.iter().map(|&a| a.into()).collect();
        for (rows, cols, k20) in PAPER {
            self.run((self.size(rows), self.size(cols)), 4, &entrants)?;
            let peak = k20.map(|speed| format!("{speed} ({:.3} of peak)", speed / 208.0));
            println!("{:>17}       K20: {}", "", peak.join(", "));
        }
        Ok(())
    }

    fn skinny(&self) -> Result<()> {
        self.heading("Skinny");
        let records = self.size(1_000_000);
        for fields in [2, 3, 4, 8, 16, 32, 64] {
            for shape in [(records, fields), (fields, records)] {
                self.run(shape, 4, &[InPlace::Auto.into(), InPlace::Decomposed.into()])?;
            }
        }
        Ok(())
    }

    /// 010! alone: tiles of `m × n` elements transposed by flags, and by barriers.
    fn spreading(&self) -> Result<()> {
        println!("\n010! by flags in shared memory, u32: GB/s by spreading factor");
        println!("{:>9} {:>8} {:>47} {:>8}", "m × n", "padding", "1, 2, 4, 8, 16, 32", "BS");
        for n in [32, 64, 100, 215] {
            for m in [16, 32, 64] {
                let count = self.size(1 << 27) / (m * n * 4);
                let mut records = DeviceMatrix::<u32>::zeroed(&self.device, m * count.max(1), n)?;
                let whole = self.elementary(&mut records, m, InPlaceOptions::default())?;
                for padding in [false, true] {
                    let mut speeds = String::new();
                    for spreading in [1, 2, 4, 8, 16, 32] {
                        let flags = Some((spreading, padding));
                        let options = InPlaceOptions { flags, ..InPlaceOptions::default() };
                        let speed = self.elementary(&mut records, m, options)?;
                        speeds += &format!(" {speed:>7.1}");
                    }
                    println!("{:>9} {padding:>8} {speeds} {whole:>8.1}", format!("{m} × {n}"));
                }
            }
        }
        Ok(())
    }

    /// GB/s of 010! by the options, 0 on the simulator. The contents do not matter to it.
    fn elementary(
        &self,
        records: &mut DeviceMatrix<u32>,
        width: usize,
        options: InPlaceOptions,
    ) -> Result<f64> {
        let fields = records.ncols();
        let bytes = 4 * records.nrows() * fields;
        let mut times = Vec::new();
        for _ in 0..self.turns {
            times.push(self.device.time(|| records.aos_to_asta_with(width, &options))?);
            records.asta_to_aos(fields)?;
        }
        let speed = |time: std::time::Duration| 2.0 * bytes as f64 / time.as_secs_f64() / 1e9;
        Ok(median(times).map_or(0.0, speed))
    }

    /// The shapes, tiles and groups of the command line.
    fn own(&self, arguments: &Arguments) -> Result<()> {
        if arguments.shape.is_empty() {
            return Ok(());
        }
        self.heading("As asked");
        let algorithms =
            if arguments.algorithm.is_empty() { &InPlace::ALL[..] } else { &arguments.algorithm };
        let tiles: Vec<_> =
            arguments.tile.iter().map(|t| pair(t).map(Some)).collect::<Result<_>>()?;
        let tiles = if tiles.is_empty() { vec![None] } else { tiles };
        let groups: Vec<_> = arguments.group.iter().map(|&group| Some(group)).collect();
        let groups = if groups.is_empty() { vec![None] } else { groups };
        let mut entrants = Vec::new();
        for &algorithm in algorithms {
            for &tile in &tiles {
                for &max_group in &groups {
                    let on_chip_bytes = arguments.on_chip;
                    let flags = None;
                    let options = InPlaceOptions { tile, on_chip_bytes, max_group, flags };
                    entrants.push(Entrant { algorithm, options });
                }
            }
        }
        for shape in &arguments.shape {
            self.run(pair(shape)?, arguments.bytes, &entrants)?;
        }
        Ok(())
    }
}

/// Two numbers with an x between them.
fn pair(text: &str) -> Result<(usize, usize)> {
    let (first, second) = text.split_once('x').with_context(|| format!("{text:?} is no AxB"))?;
    Ok((first.parse()?, second.parse()?))
}
