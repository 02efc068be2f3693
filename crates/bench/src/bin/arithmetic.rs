//! The speed of computing on the way, beside a copy: `cargo run --release --bin arithmetic`
//!
//! For each case a copy of as many bytes, the library's plan, and with `--candidates` every other way that the library has, take turns. GB/s count what is read and what is
//! written: each number of the source, of the destination, and of the destination before if it is added to. Every result is compared, on some of its rows,
//! with what two passes give, of which one moves and one computes. `--peers FOLDER` writes the cases for `arithmetic.py`, which times PyTorch on them and
//! compares its results.

use anyhow::{Context, Result, ensure};
use bench::memory::ensure_free;
use bench::program::{self, Common, usage};
use bench::progress;
use bench::race::{Contestant, Pairs};
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use clap::Parser;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use transpose::bytemuck::{self, Pod};
use transpose::interop::half::{bf16, f16};
use transpose::simt::Counters;
use transpose::{
    Arithmetic, ArithmeticPlan, ConvertTo, Device, DeviceMatrix, DeviceTensor, E4M3, Number,
    TensorView, TensorViewMut,
};

/// Compare the speed of computing on the way with a copy's.
#[derive(Parser)]
struct Arguments {
    /// Only cases whose name has this in it.
    #[arg(long, default_value = "")]
    only: String,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9, value_parser = program::count)]
    turns: usize,
    /// Also time every other way that the library has.
    #[arg(long)]
    candidates: bool,
    /// Small cases, as on the simulator.
    #[arg(long)]
    small: bool,
    /// Write the cases to this folder, for others: a table, and the bytes of each small case's source and result.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Something to compute.
struct Case {
    /// The types of numbers, of the source and of the destination, as PyTorch names them.
    types: [&'static str; 2],
    /// The source's shape, the last axis the fastest.
    shape: Vec<usize>,
    /// For each axis of the result, which axis of the source it is.
    axes: Vec<usize>,
    /// What it is multiplied by, if that is not 1; and whether what the destination has is added.
    alpha: Option<f32>,
    adds: bool,
    measure: fn(&Device, &Case, &Arguments) -> Result<Vec<Figures>>,
    write: fn(&Device, &Case, &Path, usize) -> Result<()>,
}

/// What was measured of one way.
struct Figures {
    kernel: String,
    /// Bytes that are read and written.
    bytes: usize,
    /// Speeds of a copy and of this way, in GB/s; `None` on the simulator.
    speeds: Option<[f64; 2]>,
    /// Of lanes, for each number, as the simulator counts them; `None` on a GPU.
    instructions: Option<f64>,
}

impl Case {
    fn name(&self) -> String {
        let [from, to] = self.types;
        let mut name = format!("{from} to {to}, {:?} to {:?}", self.shape, self.axes);
        let _ = self.alpha.map(|alpha| write!(name, ", times {alpha}"));
        if self.adds { name + ", added" } else { name }
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The cases: of a size for a GPU, or small ones.
fn cases(is_gpu: bool) -> Vec<Case> {
    macro_rules! case {
        ($from:literal as $t:ty, $to:literal as $u:ty, $shape:expr, $axes:expr, $alpha:expr, $adds:expr) => {
            Case {
                types: [$from, $to],
                shape: $shape.to_vec(),
                axes: $axes.to_vec(),
                alpha: $alpha,
                adds: $adds,
                measure: measure::<$t, $u>,
                write: write::<$t, $u>,
            }
        };
    }
    let mut all = Vec::new();
    let [square, odd] = if is_gpu { [[16384; 2], [10007, 9973]] } else { [[256; 2], [507, 493]] };
    let images = if is_gpu { 128 } else { 1 };
    let side = if is_gpu { 224 } else { 128 };
    for (shape, axes) in [(square, [1, 0]), (odd, [1, 0]), (square, [0, 1])] {
        all.extend([
            case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), false),
            case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), true),
            case!("float32" as f32, "float16" as f16, shape, axes, None, false),
            case!("float16" as f16, "float32" as f32, shape, axes, None, false),
            case!("float32" as f32, "bfloat16" as bf16, shape, axes, None, false),
            case!("bfloat16" as bf16, "bfloat16" as bf16, shape, axes, Some(0.5), false),
            case!("float64" as f64, "float64" as f64, shape, axes, Some(0.5), false),
            case!("float64" as f64, "float32" as f32, shape, axes, None, false),
            case!("complex64" as [f32; 2], "complex64" as [f32; 2], shape, axes, Some(0.5), false),
            case!("int32" as i32, "float32" as f32, shape, axes, None, false),
            case!("float32" as f32, "float8_e4m3fn" as E4M3, shape, axes, None, false),
            case!("uint8" as u8, "float16" as f16, shape, axes, None, false),
        ]);
    }
    for (channels, images) in [(3, images), (64, images / 8 + 1)] {
        let (last, first) = ([images, side, side, channels], [images, channels, side, side]);
        for (shape, axes) in [(last, [0, 3, 1, 2]), (first, [0, 2, 3, 1])] {
            all.extend([
                case!("uint8" as u8, "float16" as f16, shape, axes, Some(1.0 / 255.0), false),
                case!("uint8" as u8, "float32" as f32, shape, axes, Some(1.0 / 255.0), false),
                case!("float16" as f16, "float32" as f32, shape, axes, None, false),
            ]);
        }
    }
    all
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    if let Some(folder) = &arguments.peers {
        write_table(&cases(true), &folder.join("cases.csv"))?;
        write_table(&cases(false), &folder.join("small.csv"))?;
    }
    let mut cases = cases(device.is_gpu() && !arguments.small && arguments.peers.is_none());
    cases.retain(|case| case.name().contains(&arguments.only));
    let none = || usage(format!("no case has {:?} in its name", arguments.only));
    ensure!(!cases.is_empty(), none());
    let longest = cases.iter().map(|case| case.name().chars().count()).max().unwrap_or(0);
    let bar = progress::bar(&arguments.common, cases.len());
    let columns = [
        Column::text("case", "case", longest as u16),
        Column::number("way", "way", 3),
        Column::text("kernel", "kernel", 18),
        Column::number("bytes", "bytes read and written", 11),
        Column::number("memcpy_gb_s", "memcpy, GB/s", 7),
        Column::number("gb_s", "GB/s", 7),
        Column::number("of_copy", "of copy", 7),
        Column::number("instructions", "instructions for a number", 7),
    ];
    let title = "Computed on the way, all results verified";
    let mut report = Report::new(&arguments.common, &device, title, &columns, &bar);
    let mut bars = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        if let Some(folder) = &arguments.peers {
            (case.write)(&device, case, folder, number)?;
            continue;
        }
        for (way, figures) in (case.measure)(&device, case, arguments)?.iter().enumerate() {
            let Figures { kernel, bytes, speeds, instructions } = figures;
            let [copy, ours] = speeds.map_or([None; 2], |speeds| speeds.map(Some));
            let fraction = speeds.map(|[copy, ours]| ours / copy);
            report.row(vec![
                case.name().into(),
                way.into(),
                kernel.as_str().into(),
                (*bytes).into(),
                Cell::speed(copy),
                Cell::speed(ours),
                Cell::fraction(fraction),
                Cell::speed(*instructions),
            ]);
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
    if arguments.peers.is_some() {
        return Ok(());
    }
    let unit = if device.is_gpu() { "of a copy's speed" } else { "instructions for a number" };
    report.finish(|| Chart::new("Computed on the way", unit, bars))
}

/// The cases as a table for another program: types, shape, axes, factor, and whether it is added.
fn write_table(cases: &[Case], file: &Path) -> Result<()> {
    let joined = |all: &[usize]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut text = "from,to,shape,axes,alpha,adds\n".to_owned();
    for Case { types: [from, to], shape, axes, alpha, adds, .. } in cases {
        let (shape, axes, alpha) = (joined(shape), joined(axes), alpha.unwrap_or(1.0));
        writeln!(text, "{from},{to},{shape},{axes},{alpha},{}", u8::from(*adds))?;
    }
    std::fs::write(file, text).with_context(|| file.display().to_string())
}

/// Writes the bytes of a case's source and of its result.
fn write<T, U>(device: &Device, case: &Case, folder: &Path, number: usize) -> Result<()>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let elements = case.elements();
    let src = filled(device, elements * size_of::<T>())?;
    let mut pairs =
        Pairs::of(device, vec![(src, DeviceMatrix::zeroed(device, 1, elements * size_of::<U>())?)]);
    verified::<T, U>(case, &mut pairs, false)?;
    let (src, dst) = pairs.first();
    std::fs::write(folder.join(format!("{number}.src")), src.to_host()?)?;
    std::fs::write(folder.join(format!("{number}.dst")), dst.to_host()?)?;
    Ok(())
}

/// So many bytes of a pattern on a device.
fn filled(device: &Device, bytes: usize) -> transpose::Result<DeviceMatrix<u8>> {
    let byte = |at: usize| ((at * at * 7 + at * 31) >> 3) as u8 & 0x77;
    let pattern: Vec<u8> = (0..PATTERN).map(byte).collect();
    let mut memory = DeviceMatrix::zeroed(device, 1, bytes)?;
    let repeated = DeviceMatrix::from_host(device, 1, PATTERN, &pattern)?;
    for start in (0..bytes).step_by(PATTERN) {
        let part = PATTERN.min(bytes - start);
        let to = memory.submatrix_mut(.., start..start + part)?;
        repeated.submatrix(.., ..part)?.copy_into(to)?;
    }
    Ok(memory)
}

/// The numbers of a memory, in some order.
fn source<'a, T: Pod>(
    memory: &'a DeviceMatrix<u8>,
    case: &Case,
) -> transpose::Result<TensorView<'a, T>> {
    let bytes = case.elements() * size_of::<T>();
    let flat = memory.submatrix(.., ..bytes)?.cast::<T>()?;
    TensorView::from(flat).reshape(&case.shape)?.permute_axes(&case.axes)
}

/// The numbers of a destination.
fn target<'a, U: Pod>(
    memory: &'a mut DeviceMatrix<u8>,
    case: &Case,
) -> transpose::Result<TensorViewMut<'a, U>> {
    let bytes = case.elements() * size_of::<U>();
    let flat = memory.submatrix_mut(.., ..bytes)?.cast::<U>()?;
    let shape: Vec<usize> = case.axes.iter().map(|&axis| case.shape[axis]).collect();
    TensorViewMut::from(flat).reshape(&shape)
}

/// Measures a case.
fn measure<T, U>(device: &Device, case: &Case, arguments: &Arguments) -> Result<Vec<Figures>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let elements = case.elements();
    let [src_bytes, dst_bytes] = [elements * size_of::<T>(), elements * size_of::<U>()];
    // The copy reads and writes as many bytes as are read and written here, so both memories have room for the mean of both.
    let (most, copied) = (src_bytes.max(dst_bytes), (src_bytes + dst_bytes) / 2);
    ensure_free(device, 6 * most, 12 * most)?;
    let pair = || Ok((filled(device, most)?, DeviceMatrix::zeroed(device, 1, most)?));
    let mut pairs = Pairs::new(device, src_bytes + dst_bytes, pair)?;
    let plans = verified::<T, U>(case, &mut pairs, arguments.candidates)?;
    let mut instructions = Vec::new();
    for plan in &plans {
        let (src, dst) = pairs.first();
        let counted = profile::count(device, || run_once::<T, U>(plan, case, src, dst))?;
        let of_each = |counters: Counters| counters.thread_instructions as f64 / elements as f64;
        instructions.push(counted.map(of_each));
    }
    let mut contestants: Vec<Contestant<'_, DeviceMatrix<u8>>> = vec![Box::new(move |src, dst| {
        src.submatrix(.., ..copied)?.copy_into(dst.submatrix_mut(.., ..copied)?)
    })];
    for plan in &plans {
        contestants.push(Box::new(move |src, dst| run_once::<T, U>(plan, case, src, dst)));
    }
    let timings = pairs.race(&mut contestants, arguments.turns, 3)?;
    let bytes = src_bytes + dst_bytes * (1 + usize::from(case.adds));
    let figures = plans.iter().enumerate().map(|(way, plan)| {
        let speed = |which: usize, bytes: usize| {
            timings.as_ref().map(|t| bytes as f64 / t[which].median.as_secs_f64() / 1e9)
        };
        let speeds = speed(0, 2 * copied).zip(speed(1 + way, bytes));
        let mut names = plan.kernel_names();
        names.dedup();
        Figures {
            kernel: names.join("+"),
            bytes,
            speeds: speeds.map(|(copy, ours)| [copy, ours]),
            instructions: instructions[way],
        }
    });
    Ok(figures.collect())
}

/// Bytes after which sources repeat themselves.
const PATTERN: usize = 3 << 20;

/// A factor.
trait FromF32: Copy {
    fn of(value: f32) -> Self;
}

impl FromF32 for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl FromF32 for f64 {
    fn of(value: f32) -> Self {
        f64::from(value)
    }
}

impl FromF32 for [f32; 2] {
    fn of(value: f32) -> Self {
        [value, 0.0]
    }
}

/// Runs a plan as its case says.
fn run_once<T: ConvertTo<U>, U: Number>(
    plan: &ArithmeticPlan<T, U>,
    case: &Case,
    src: &DeviceMatrix<u8>,
    dst: &mut DeviceMatrix<u8>,
) -> transpose::Result<()> {
    let (src, dst) = (source::<T>(src, case)?, target::<U>(dst, case)?);
    if case.adds { plan.run_onto(src, dst) } else { plan.run(src, dst) }
}

/// The plans of a case, the library's own first, after each has been compared with two passes, where nothing is added.
fn verified<T, U>(
    case: &Case,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    candidates: bool,
) -> Result<Vec<ArithmeticPlan<T, U>>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let scaling = case
        .alpha
        .map_or(Arithmetic::converting(), |alpha| Arithmetic::scaling(U::Factor::of(alpha)));
    let (memory, out) = pairs.first();
    let src = source::<T>(memory, case)?;
    let rows = some_rows(src.shape()[0]);
    let mut expected = Vec::new();
    for &row in &rows {
        let moved: DeviceTensor<T> = src.index_axis(0, row)?.to_tensor()?;
        let mut computed = DeviceTensor::<U>::zeroed(src.device(), moved.shape())?;
        ArithmeticPlan::new(&scaling, &moved, &mut computed)?.run(&moved, &mut computed)?;
        expected.push(computed.to_host()?);
    }
    let dst = target::<U>(out, case)?;
    let mut plans = if case.adds {
        ArithmeticPlan::candidates_onto(&scaling, src, U::Factor::of(1.0), dst)?
    } else {
        ArithmeticPlan::candidates(&scaling, src, dst)?
    };
    if !candidates {
        plans.truncate(1);
    }
    for plan in &plans {
        out.view_mut().fill(0)?;
        run_once::<T, U>(plan, case, memory, out)?;
        let dst = target::<U>(out, case)?;
        for (&row, expected) in rows.iter().zip(&expected) {
            let actual = dst.view().index_axis(0, row)?.to_host()?;
            let same =
                bytemuck::cast_slice::<U, u8>(&actual) == bytemuck::cast_slice::<U, u8>(expected);
            // What is added to are zeros: of a negative zero and one the sum is not negative.
            ensure!(
                same || case.adds && close(&actual, expected),
                "{}: row {row} is wrong: {plan}",
                case.name()
            );
        }
    }
    Ok(plans)
}

/// Whether numbers differ in nothing but the signs of zeros.
fn close<U: Pod>(actual: &[U], expected: &[U]) -> bool {
    let words = |all: &[U]| bytemuck::cast_slice::<U, u8>(all).to_vec();
    let pairs = words(actual).into_iter().zip(words(expected));
    pairs.filter(|(a, b)| a != b).all(|(a, b)| a == 0 && b == 0x80)
}

/// Some of so many rows: the first, the last, and a few between them.
fn some_rows(rows: usize) -> Vec<usize> {
    let mut some: Vec<usize> = (0..7).map(|at| at * (rows - 1) / 6).collect();
    some.dedup();
    some
}
