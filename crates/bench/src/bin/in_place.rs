//! Transposes matrices in their own memory, by every algorithm, beside a copy.
//!
//! `cargo run --release --bin in_place -- [TABLE…] [--shape ROWSxCOLS]`

use anyhow::{Context, Result, bail};
use bench::device::DeviceChoice;
use bench::in_place::{Entrant, Outcome, compare, median};
use clap::{Parser, ValueEnum};
use transpose::{Carry, Device, DeviceMatrix, InPlace, InPlaceOptions};

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
    /// Carry super-elements through shared memory, a step at a time.
    #[arg(long)]
    shared_carry: bool,
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
    /// Elements that are no power of two wide, and wider ones.
    Tuples,
    /// Rows that do not fit on chip.
    Staged,
    /// 010! by flags in shared memory: spreading factors and padding.
    Spreading,
    /// 100! through registers and through shared memory.
    Carrying,
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
            Table::Tuples => bench.tuples()?,
            Table::Staged => bench.staged()?,
            Table::Spreading => bench.spreading()?,
            Table::Carrying => bench.carrying()?,
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
            // Steps of one name together: there may be hundreds.
            let mut sums: Vec<(&str, usize, f64)> = Vec::new();
            for (step, time) in &outcome.steps {
                let time = time.map_or(0.0, |time| time.as_secs_f64() * 1e6);
                match sums.iter_mut().find(|(name, ..)| name == step) {
                    Some((_, count, sum)) => (*count, *sum) = (*count + 1, *sum + time),
                    None => sums.push((step, 1, time)),
                }
            }
            for (step, count, time) in sums {
                println!("{:>40}{count} × {step}: {time:.1} µs", "");
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
            _ => bail!("there is no element of {bytes} bytes here"),
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

    fn tuples(&self) -> Result<()> {
        self.heading("Elements of several words");
        for bytes in [3, 6, 7, 12, 24, 32, 48, 128, 512] {
            let side = ((1 << 30) / bytes) as f64;
            let side = self.size(side.sqrt() as usize / 80 * 80);
            let (long, short) = (side * 5 / 4, side * 4 / 5);
            // The last has no divisors to make use of, and rows that begin anywhere.
            for shape in [(side, side), (long, short), (short, long), (long | 1, short | 1)] {
                self.run(shape, bytes, &[InPlace::Auto.into()])?;
            }
        }
        self.run((self.size(1_000_000), 8), 12, &[InPlace::Auto.into()])?;
        self.run((8, self.size(1_000_000)), 12, &[InPlace::Auto.into()])?;
        Ok(())
    }

    /// Rows of more than 227 KiB, which a multiprocessor does not hold.
    fn staged(&self) -> Result<()> {
        self.heading("Rows that do not fit on chip");
        for (rows, cols) in [(16000, 15000), (15000, 16000), (14951, 14939)] {
            let entrants = [InPlace::Auto.into(), InPlace::Decomposed.into()];
            self.run((self.size(rows), self.size(cols)), 16, &entrants)?;
        }
        Ok(())
    }

    /// 100! alone: super-elements of `m` elements moved along their cycles.
    fn carrying(&self) -> Result<()> {
        println!("\n100!, u32: GB/s through registers and through shared memory");
        println!("{:>5} {:>10} {:>14}", "m", "registers", "shared memory");
        for m in [16, 31, 32, 45, 64, 96, 100, 128, 160, 200, 256, 500, 1000, 2000, 5000] {
            let (fields, bytes) = (100, self.size(1 << 29));
            let tiles = (bytes / 4 / fields / m).max(2);
            let mut matrix = DeviceMatrix::<u32>::zeroed(&self.device, fields, tiles * m)?;
            let mut speeds = Vec::new();
            for carry in [Carry::Registers, Carry::SharedMemory] {
                let options = InPlaceOptions { carry, ..InPlaceOptions::default() };
                let mut times = Vec::new();
                for _ in 0..self.turns {
                    let time = self.device.time(|| matrix.soa_to_asta_with(m, &options))?;
                    times.push(time);
                    matrix.asta_to_soa(fields)?;
                }
                let moved = 2.0 * (4 * fields * tiles * m) as f64;
                speeds.push(median(times).map_or(0.0, |time| moved / time.as_secs_f64() / 1e9));
            }
            println!("{m:>5} {:>10.1} {:>14.1}", speeds[0], speeds[1]);
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
                    let carry =
                        if arguments.shared_carry { Carry::SharedMemory } else { Carry::Registers };
                    let flags = None;
                    let options = InPlaceOptions {
                        tile,
                        on_chip_bytes,
                        max_group,
                        flags,
                        carry,
                        ..InPlaceOptions::default()
                    };
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
