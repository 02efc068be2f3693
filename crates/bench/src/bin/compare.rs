//! The library's speed, beside a copy and beside what else there is:
//! `cargo run --release --bin compare -- [--group GROUP] [--cpu] [--csv FILE] [--svg FILE]`, or `--sweep SEED --count N [--words 1,2] [--kind runs]`, or `--awkward`
//!
//! On each shape all contestants take turns: the driver's device-to-device copy of as many bytes, this
//! library's `Auto` on a prepared plan, cuBLAS's `geam` if a libcublas can be opened, and cuTENSOR's permutation if a
//! libcutensor can. With `--cpu` also a transpose on all cores of the host. Every result is compared with the source on the host.
//! With `--sweep` shapes, strides and elements are random, with `--awkward` they were once slow; speeds are fractions of what the sectors
//! allow that must move.

use anyhow::{Context, Result, ensure};
use bench::cases::{Case, cases, groups};
use bench::device::DeviceChoice;
use bench::limits;
use bench::memory::ensure_free;
use bench::peers::{self, Peers, cpu};
use bench::program::{self, Common, usage};
use bench::progress;
use bench::race::{Contestant, Pairs};
use bench::svg::{Bar, Chart};
use bench::sweep::{self, Which};
use bench::table::{Cell, Column, Report};
use bench::verify::scrambled;
use bench::with_element;
use bytemuck::Pod;
use clap::Parser;
use rayon::prelude::*;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use transpose::{Device, DeviceMatrix, Plan, Strategy};

/// Compare the speed of transposes with a copy's.
#[derive(Parser)]
struct Arguments {
    /// Only this group.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(groups()))]
    group: Option<String>,
    /// Only elements of so many bytes.
    #[arg(long, value_parser = program::element)]
    element: Option<usize>,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9, value_parser = limits::times)]
    turns: usize,
    /// Also transpose on the CPU.
    #[arg(long)]
    cpu: bool,
    /// Instead, random moves of every kind, from this seed on.
    #[arg(long, value_name = "SEED", conflicts_with_all = ["group", "element", "cpu"])]
    sweep: Option<u64>,
    /// How many random moves.
    #[arg(long, default_value_t = 200, requires = "sweep", value_parser = limits::times)]
    count: usize,
    /// Bytes of a random move, about.
    #[arg(long, default_value_t = 96 << 20, requires = "sweep", value_parser = program::count)]
    bytes: usize,
    /// Only random moves whose widest word is one of these: the word that their strides, starts and elements are all multiples of.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', requires = "sweep", value_parser = program::element)]
    words: Vec<usize>,
    /// Only random moves of this kind.
    #[arg(long, requires = "sweep", value_parser = clap::builder::PossibleValuesParser::new(sweep::kinds()))]
    kind: Option<String>,
    /// Instead, moves that were once slow: few rows or columns, gaps, elements of several words.
    #[arg(long, conflicts_with_all = ["group", "element", "cpu", "sweep"])]
    awkward: bool,
    /// Also time every other way that random or awkward moves can go.
    #[arg(long)]
    candidates: bool,
    /// Time every other way of those moves alone whose speed is below this fraction of what memory allows.
    #[arg(long, value_name = "FRACTION", conflicts_with = "candidates")]
    below: Option<f64>,
    #[command(flatten)]
    peers: peers::Where,
    #[command(flatten)]
    common: Common,
}

impl Arguments {
    /// The cases that are asked for.
    fn cases(&self) -> Result<Vec<Case>> {
        let in_group = |case: &Case| self.group.as_ref().is_none_or(|group| group == case.group);
        let group: Vec<Case> = cases().into_iter().filter(in_group).collect();
        let is_wanted = |case: &&Case| self.element.is_none_or(|bytes| bytes == case.element);
        let wanted: Vec<Case> = group.iter().filter(is_wanted).copied().collect();
        ensure!(!wanted.is_empty(), usage(no_such_element(&group)));
        Ok(wanted)
    }

    /// The moves that are asked for instead of cases, if any are.
    fn moves(&self) -> Result<Option<Which<'_>>> {
        let &Arguments { count, bytes, .. } = self;
        let kind = self.kind.as_deref();
        let random = self.sweep.map(|seed| Which::Random { seed, count, bytes, kind });
        let which = random.or(self.awkward.then_some(Which::Awkward));
        let instead = "`--candidates` and `--below` are about the ways of `--sweep` or `--awkward`";
        ensure!(which.is_some() || self.below() == 0.0, usage(instead));
        Ok(which)
    }

    /// Below which fraction of what memory allows all ways of a move are timed.
    fn below(&self) -> f64 {
        if self.candidates { f64::INFINITY } else { self.below.unwrap_or(0.0) }
    }

    /// Opens the GPU.
    fn open(&self) -> Result<Device> {
        self.common.ensure_files()?;
        let mut setting = self.common.setting.clone();
        if setting.device == DeviceChoice::Auto {
            setting.device = DeviceChoice::Cuda(0);
        }
        let device = setting.open();
        let instead = "this program measures times, which only a GPU has; \
                       `permute`, `profile` and `in_place` verify and count on the simulator";
        let device = device.context(instead)?;
        ensure!(device.is_gpu(), usage(instead));
        Ok(device)
    }
}

/// Says of what sizes there are elements.
fn no_such_element(cases: &[Case]) -> String {
    let mut sizes: Vec<usize> = cases.iter().map(|case| case.element).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("there are elements of {} bytes here", sizes.join(", "))
}

/// What was measured, in GB/s.
struct Figures {
    case: Case,
    kernel: String,
    copy: f64,
    ours: f64,
    /// In the order of [`peers::NAMES`].
    peers: [Option<f64>; 2],
    cpu: Option<f64>,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let cases = arguments.cases()?;
    let moves = arguments.moves()?;
    let device = arguments.open()?;
    if let Some(which) = moves {
        let Arguments { common, turns, words, .. } = arguments;
        return sweep::run(common, &device, which, words, arguments.below(), *turns);
    }
    let first = first_transpose(&device)?;
    let peers = Peers::open(&arguments.common, &device, &arguments.peers);
    let bar = progress::bar(&arguments.common, cases.len());
    let title = "Transposes beside a copy and beside other libraries, all results verified";
    let mut report = Report::new(&arguments.common, &device, title, &COLUMNS, &bar);
    let first = first.as_secs_f64() * 1e3;
    report.note(&format!("first transpose on this device, kernels loaded: {first:.2} ms"));
    latencies(&device, &peers)?.iter().for_each(|line| report.note(line));
    let mut bars = Vec::new();
    for case in cases {
        let figures = measure_element(&device, case, &peers, arguments)?;
        report.row(row(&figures));
        bars.extend(bars_of(&figures));
        bar.inc(1);
    }
    report.finish(|| Chart::new("Transposes, rows × columns", "of a copy's speed", bars))
}

/// The time from a device that has done nothing to a transposed matrix.
fn first_transpose(device: &Device) -> Result<Duration> {
    let src = DeviceMatrix::<f32>::zeroed(device, 64, 64)?;
    let mut dst = DeviceMatrix::zeroed(device, 64, 64)?;
    device.synchronize()?;
    let start = Instant::now();
    src.transpose_into(&mut dst)?;
    device.synchronize()?;
    Ok(start.elapsed())
}

/// What a small matrix costs: planning it, and transposing it back to back on a prepared plan.
fn latencies(device: &Device, peers: &Peers) -> Result<Vec<String>> {
    const CALLS: u32 = 10_000;
    let src = DeviceMatrix::<f32>::zeroed(device, 64, 64)?;
    let mut dst = DeviceMatrix::zeroed(device, 64, 64)?;
    let plan = Plan::new(&src, &mut dst, Strategy::Auto)?;
    let mut each = |call: &mut dyn FnMut(&mut DeviceMatrix<f32>) -> Result<()>| {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            device.synchronize()?;
            let start = Instant::now();
            for _ in 0..CALLS {
                call(&mut dst)?;
            }
            device.synchronize()?;
            best = best.min(start.elapsed() / CALLS);
        }
        anyhow::Ok(best.as_secs_f64() * 1e6)
    };
    let planning = each(&mut |dst| {
        std::hint::black_box(Plan::new(&src, dst, Strategy::Auto)?);
        Ok(())
    })?;
    let ours = each(&mut |dst| Ok(plan.run(&src, dst)?))?;
    let copy = each(&mut |dst| Ok(src.copy_into(dst)?))?;
    let mut lines = vec![
        format!("64 × 64 f32: planning {planning:.2} µs; a call, back to back:"),
        format!("    plan.run {ours:.2} µs, memcpy {copy:.2} µs"),
    ];
    for (peer, mut transpose) in peers.contestants(64, 64) {
        let time = each(&mut |dst| Ok(transpose(&src, dst)?))?;
        lines.push(format!("    {} {time:.2} µs", peers::NAMES[peer]));
    }
    Ok(lines)
}

/// Measures a case with an element type of its size.
fn measure_element(
    device: &Device,
    case: Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Figures> {
    let measure = with_element!(case.element, T => measure::<T>, bytes => match bytes {
        3 => measure::<[u8; 3]>,
        6 => measure::<[u16; 3]>,
        12 => measure::<[u32; 3]>,
        24 => measure::<[u64; 3]>,
        _ => measure::<[u128; 2]>,
    });
    measure(device, case, peers, arguments)
}

fn measure<T: Pod + PartialEq + Send + Sync>(
    device: &Device,
    case: Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Figures> {
    let (src_bytes, dst_bytes) = (case.src_len() * size_of::<T>(), case.dst_len() * size_of::<T>());
    ensure_free(device, src_bytes + dst_bytes, src_bytes + dst_bytes)?;
    let host = scrambled::<T>(case.src_len());
    let bytes = case.elements() * size_of::<T>();
    let pair = || {
        let src = DeviceMatrix::from_host(device, 1, case.src_len(), &host)?;
        Ok((src, DeviceMatrix::zeroed(device, 1, case.dst_len())?))
    };
    let mut pairs = match case.is_warm() {
        true => Pairs::one(device, pair)?,
        false => Pairs::new(device, 2 * bytes, pair)?,
    };

    let Case { offset, rows, cols, .. } = case;
    let (src, dst) = pairs.first();
    let plan = Plan::batched(
        src.window(offset, rows, cols, case.src_ld())?,
        dst.window_mut(offset, cols, rows, case.dst_ld())?,
        case.batch(),
    )?;
    let mut contestants: Vec<Contestant<DeviceMatrix<T>>> = vec![
        Box::new(|src, dst| {
            let count = case.elements();
            src.window(0, 1, count, count)?.copy_into(dst.window_mut(0, 1, count, count)?)
        }),
        Box::new(|src, dst| {
            let src = src.window(offset, rows, cols, case.src_ld())?;
            plan.run(src, dst.window_mut(offset, cols, rows, case.dst_ld())?)
        }),
    ];
    let plain = case.src_slack + case.dst_slack + offset == 0 && case.count == 1;
    let (entered, others): (Vec<_>, Vec<_>) = match plain {
        true => peers.contestants(rows, cols).into_iter().unzip(),
        false => Default::default(),
    };
    contestants.extend(others);
    let launches = (4_000_000_000 / (2 * bytes)).clamp(3, 50);
    let timings = pairs.race(&mut contestants, arguments.turns, launches)?.unwrap_or_default();
    ensure!(timings.len() >= 2, "this device has no clock");
    drop(contestants);

    let (src, dst) = pairs.first();
    // The last of the race has left its result there.
    dst.view_mut().fill(T::zeroed())?;
    plan.run(
        src.window(offset, rows, cols, case.src_ld())?,
        dst.window_mut(offset, cols, rows, case.dst_ld())?,
    )?;
    ensure!(is_transposed(&case, &host, &dst.to_host()?), "{}: wrong result", case.name());
    let mut speeds = timings.iter().map(|timing| timing.gb_per_s(bytes));
    let (copy, ours) = (speeds.next().unwrap_or(0.0), speeds.next().unwrap_or(0.0));
    let mut peers = [None; 2];
    entered.into_iter().zip(speeds).for_each(|(peer, speed)| peers[peer] = Some(speed));
    Ok(Figures {
        case,
        kernel: names(&plan),
        copy,
        ours,
        peers,
        cpu: (arguments.cpu && plain).then(|| on_the_cpu(&host, rows, cols)),
    })
}

/// The kernels of a plan, one name for launches of the same.
fn names(plan: &Plan) -> String {
    let mut names = plan.kernel_names();
    names.dedup();
    names.join("+")
}

/// Whether all matrices of a case are transposed in `dst`.
fn is_transposed<T: PartialEq + Sync>(case: &Case, src: &[T], dst: &[T]) -> bool {
    const BLOCK: usize = 64;
    let batch = case.batch();
    (0..case.count).into_par_iter().all(|number| {
        let src = &src[case.offset + number * batch.src_stride..];
        let dst = &dst[case.offset + number * batch.dst_stride..];
        (0..case.cols.div_ceil(BLOCK)).into_par_iter().all(|block| {
            let cols = block * BLOCK..case.cols.min((block + 1) * BLOCK);
            (0..case.rows.div_ceil(BLOCK)).into_par_iter().with_min_len(64).all(|number| {
                let first = number * BLOCK;
                cols.clone().all(|col| {
                    (first..case.rows.min(first + BLOCK))
                        .all(|row| src[row * case.src_ld() + col] == dst[col * case.dst_ld() + row])
                })
            })
        })
    })
}

/// The speed of a transpose on all cores.
fn on_the_cpu<T: Pod + Send + Sync>(host: &[T], rows: usize, cols: usize) -> f64 {
    let mut result = vec![T::zeroed(); rows * cols];
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        cpu::transpose_crate(host, &mut result, rows, cols);
        best = best.min(start.elapsed());
    }
    2.0 * size_of_val(host) as f64 / best.as_secs_f64() / 1e9
}

/// The columns.
const COLUMNS: [Column; 13] = [
    Column::text("group", "group", 9),
    Column::number("element_bytes", "element, bytes", 0),
    Column::text("shape", "rows × columns", 26),
    Column::text("kernel", "kernel", 11),
    Column::number("memcpy_gb_s", "memcpy, GB/s", 0),
    Column::number("gb_s", "GB/s", 7),
    Column::number("of_copy", "of copy", 0),
    Column::unseen("geam_gb_s"),
    Column::number("geam_of_copy", peers::NAMES[0], 6),
    Column::unseen("cutensor_gb_s"),
    Column::number("cutensor_of_copy", peers::NAMES[1], 8),
    Column::number("cpu_gb_s", "CPU, GB/s", 0),
    Column::unseen("cpu_of_copy"),
];

fn row(figures: &Figures) -> Vec<Cell> {
    let Figures { case, kernel, copy, ours, peers: [geam, cutensor], cpu } = figures;
    let of_copy = |speed: &Option<f64>| Cell::fraction(speed.map(|speed| speed / copy));
    vec![
        case.group.into(),
        case.element.into(),
        case.name().into(),
        kernel.clone().into(),
        Cell::speed(*copy),
        Cell::speed(*ours),
        of_copy(&Some(*ours)),
        Cell::speed(*geam),
        of_copy(geam),
        Cell::speed(*cutensor),
        of_copy(cutensor),
        Cell::speed(*cpu),
        of_copy(cpu),
    ]
}

/// A row of bars.
fn bars_of(figures: &Figures) -> Vec<Bar> {
    let Figures { case, copy, ours, peers, .. } = figures;
    let label = format!("{}: {} B, {}", case.group, case.element, case.name());
    let others = peers::NAMES.into_iter().zip(peers);
    let others = others.filter_map(|(name, speed)| Some(Bar::plain("", name, (*speed)? / copy)));
    std::iter::once(Bar::plain(label, "transpose", ours / copy)).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let (case, kernel) = (cases()[0], "micro_b1".to_owned());
        let figures =
            Figures { case, kernel, copy: 100.0, ours: 90.0, peers: [None, Some(50.0)], cpu: None };
        let row = row(&figures);
        let field = |key| {
            let index = COLUMNS.iter().position(|column| column.key == key).unwrap();
            row[index].kept()
        };
        assert_eq!(row.len(), COLUMNS.len());
        assert_eq!([field("of_copy"), field("geam_of_copy")], ["0.9000", ""]);
        assert_eq!([field("cutensor_gb_s"), field("cutensor_of_copy")], ["50.0", "0.5000"]);
        assert_eq!(bars_of(&figures).len(), 2);
    }
}
