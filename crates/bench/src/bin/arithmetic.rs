//! The speed of computing on the way, beside a copy: `cargo run --release --bin arithmetic`
//!
//! For each case a copy of as many bytes, the library's plan, cuTENSOR where it computes the same and can be opened, and with `--candidates` every other way that the library has, take turns. GB/s count what is read and what is
//! written: each number of the source, of the destination, and of the destination before if it is added to. Every result is compared, on some of its rows,
//! with what two passes give, of which one moves and one computes. `--peers FOLDER` writes the cases for `arithmetic.py`, which times PyTorch on them and
//! compares its results.

use anyhow::{Context, Result, ensure};
use bench::memory::ensure_free;
use bench::peers::{Peers, Where};
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
    Arithmetic, ArithmeticPlan, ConvertTo, Device, DeviceMatrix, DeviceTensor, E4M3,
    NormalizingPlan, Number, TensorView, TensorViewMut,
};

/// Compare the speed of computing on the way with a copy's.
#[derive(Parser)]
struct Arguments {
    /// Only cases whose name has this in it, or another text that is given so.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Turns that each contestant gets.
    #[arg(long, default_value_t = 9, value_parser = program::count)]
    turns: usize,
    /// Also time every other way that the library has.
    #[arg(long)]
    candidates: bool,
    /// Small cases, as on the simulator.
    #[arg(long)]
    small: bool,
    /// Counts of channels of the cases in which each has a factor and a summand.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [64, 128, 256], value_parser = program::count)]
    channels: Vec<usize>,
    /// Rows, and columns, of their images.
    #[arg(long, value_parser = program::count)]
    side: Option<usize>,
    /// Write the cases to this folder, for others: a table, and the bytes of each small case's source and result.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    common: Common,
}

/// What is computed with beside the source.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Second {
    /// Nothing.
    None,
    /// What the destination holds is added.
    Destination,
    /// Numbers are added: the order of the result's axes in their memory, and the elements of the gap behind each of their rows.
    Numbers(&'static [usize], usize),
    /// Each index of this axis of the result has a factor and a summand.
    Channels(usize),
}

/// Something to compute.
struct Case {
    /// The types of numbers, of the source and of the destination, as PyTorch names them.
    types: [&'static str; 2],
    /// The source's shape, the last axis the fastest.
    shape: Vec<usize>,
    /// For each axis of the result, which axis of the source it is.
    axes: Vec<usize>,
    /// What it is multiplied by, if that is not 1.
    alpha: Option<f32>,
    second: Second,
    measure: fn(&Device, &Case, &Peers, &Arguments) -> Result<Vec<Figures>>,
    write: fn(&Device, &Case, &Path, usize) -> Result<()>,
}

/// What was measured of one way.
struct Figures {
    kernel: String,
    /// Bytes that are read and written.
    bytes: usize,
    /// Speeds of a copy and of this way, in GB/s; `None` on the simulator.
    speeds: Option<[f64; 2]>,
    /// cuTENSOR's, if there is one that computes this.
    cutensor: Option<f64>,
    /// Of lanes, for each number, as the simulator counts them; `None` on a GPU.
    instructions: Option<f64>,
}

impl Case {
    fn name(&self) -> String {
        let [from, to] = self.types;
        let mut name = format!("{from} to {to}, {:?} to {:?}", self.shape, self.axes);
        let _ = self.alpha.map(|alpha| write!(name, ", times {alpha}"));
        match self.second {
            Second::None => name,
            Second::Destination => name + ", added",
            Second::Numbers(order, 0) => format!("{name}, added to {order:?}"),
            Second::Numbers(order, _) => format!("{name}, added to {order:?} with gaps"),
            Second::Channels(axis) => format!("{name}, each of axis {axis}"),
        }
    }

    /// What the page's tables say of it: its group, the types, the shape, and what is computed.
    fn in_words(&self) -> [String; 4] {
        let of = |lengths: &[usize], between: &str| {
            lengths.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
        };
        let mut shape = of(&self.shape, " × ");
        if self.shape.len() > 2 {
            shape = format!("{shape} to {}", of(&self.axes, " "));
        }
        let group = match (self.second, self.shape.len()) {
            (Second::Channels(_), _) => "channels",
            (Second::Numbers(..), _) => "operands",
            (_, 2) if self.axes.is_sorted() => "in order",
            (_, 2) => "transposed",
            _ => "images",
        };
        let [from, to] = self.types;
        let computed = match self.second {
            Second::Channels(_) => "each channel".to_owned(),
            Second::Numbers([1, 0], 0) => "added where both are transposed".to_owned(),
            Second::Numbers(_, 0) => "added in a third order".to_owned(),
            Second::Numbers(_, gap) => format!("added with gaps of {gap} numbers"),
            Second::Destination => "added".to_owned(),
            Second::None if self.alpha.is_none() => "converted".to_owned(),
            Second::None if from == to => "scaled".to_owned(),
            Second::None => "scaled and converted".to_owned(),
        };
        [group.to_owned(), format!("{from} to {to}"), shape, computed]
    }

    /// Whether peers are told of it: their table has no other operands.
    fn is_told(&self) -> bool {
        matches!(self.second, Second::None | Second::Destination)
    }

    /// Whether numbers are added.
    fn adds(&self) -> bool {
        matches!(self.second, Second::Destination | Second::Numbers(..))
    }

    fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Defines a case.
macro_rules! case {
    ($from:literal as $t:ty, $to:literal as $u:ty, $shape:expr, $axes:expr, $alpha:expr, $second:expr) => {
        Case {
            types: [$from, $to],
            shape: $shape.to_vec(),
            axes: $axes.to_vec(),
            alpha: $alpha,
            second: $second,
            measure: measure::<$t, $u>,
            write: write::<$t, $u>,
        }
    };
}

/// Defines a case with a factor and a summand for each channel, along an axis of the result.
macro_rules! channels {
    ($from:literal as $t:ty, $to:literal as $u:ty, $shape:expr, $axes:expr, $alpha:expr, $axis:expr) => {
        Case {
            measure: measure_channels::<$t, $u>,
            ..case!($from as $t, $to as $u, $shape, $axes, $alpha, Second::Channels($axis))
        }
    };
}

/// Sums with other operands than the destination.
fn with_operands(square: [usize; 2], odd: [usize; 2], is_gpu: bool) -> Vec<Case> {
    let cube = if is_gpu { [768, 512, 640] } else { [24, 32, 40] };
    let (turned, gaps) = (Second::Numbers(&[1, 0], 0), Second::Numbers(&[0, 1], 5));
    let third = Second::Numbers(&[2, 0, 1], 0);
    vec![
        case!("float32" as f32, "float32" as f32, square, [1, 0], Some(0.5), turned),
        case!("float16" as f16, "float16" as f16, square, [1, 0], Some(0.5), turned),
        case!("float64" as f64, "float64" as f64, square, [1, 0], Some(0.5), turned),
        case!("complex64" as [f32; 2], "complex64" as [f32; 2], square, [1, 0], Some(0.5), turned),
        case!("float32" as f32, "float32" as f32, odd, [1, 0], Some(0.5), turned),
        case!("float32" as f32, "float32" as f32, square, [1, 0], Some(0.5), gaps),
        case!("float32" as f32, "float32" as f32, odd, [1, 0], Some(0.5), gaps),
        case!("float32" as f32, "float32" as f32, cube, [2, 1, 0], Some(0.5), third),
    ]
}

/// A factor and a summand for each channel of images: `bytes` of pixels in all, or a little more, for each of the counts of channels.
fn with_channels(counts: &[usize], side: usize, bytes: usize) -> Vec<Case> {
    let (last, first, scale) = ([0, 3, 1, 2], [0, 2, 3, 1], Some(1.0 / 255.0));
    let of = |&channels: &usize| {
        let count = bytes.div_ceil(side * side * channels);
        let (images, planes) = ([count, side, side, channels], [count, channels, side, side]);
        [
            channels!("uint8" as u8, "float16" as f16, images, last, scale, 1),
            channels!("uint8" as u8, "float32" as f32, images, last, scale, 1),
            channels!("uint8" as u8, "float16" as f16, planes, first, scale, 3),
            channels!("uint8" as u8, "float32" as f32, planes, first, scale, 3),
        ]
    };
    counts.iter().flat_map(of).collect()
}

/// The cases: of a size for a GPU, or small ones.
fn cases(is_gpu: bool, arguments: &Arguments) -> Vec<Case> {
    let mut all = Vec::new();
    let [square, odd] = if is_gpu { [[16384; 2], [10007, 9973]] } else { [[256; 2], [507, 493]] };
    let images = if is_gpu { 128 } else { 1 };
    let side = if is_gpu { 224 } else { 128 };
    for (shape, axes) in [(square, [1, 0]), (odd, [1, 0]), (square, [0, 1])] {
        all.extend([
            case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), Second::None),
            case!("float32" as f32, "float32" as f32, shape, axes, Some(0.5), Second::Destination),
            case!("float32" as f32, "float16" as f16, shape, axes, None, Second::None),
            case!("float16" as f16, "float32" as f32, shape, axes, None, Second::None),
            case!("float32" as f32, "bfloat16" as bf16, shape, axes, None, Second::None),
            case!("bfloat16" as bf16, "bfloat16" as bf16, shape, axes, Some(0.5), Second::None),
            case!("float64" as f64, "float64" as f64, shape, axes, Some(0.5), Second::None),
            case!("float64" as f64, "float32" as f32, shape, axes, None, Second::None),
            case!(
                "complex64" as [f32; 2],
                "complex64" as [f32; 2],
                shape,
                axes,
                Some(0.5),
                Second::None
            ),
            case!("int32" as i32, "float32" as f32, shape, axes, None, Second::None),
            case!("float32" as f32, "float8_e4m3fn" as E4M3, shape, axes, None, Second::None),
            case!("uint8" as u8, "float16" as f16, shape, axes, None, Second::None),
        ]);
    }
    for (channels, images) in [(3, images), (64, images / 8 + 1)] {
        let (last, first) = ([images, side, side, channels], [images, channels, side, side]);
        for (shape, axes) in [(last, [0, 3, 1, 2]), (first, [0, 2, 3, 1])] {
            all.extend([
                case!(
                    "uint8" as u8,
                    "float16" as f16,
                    shape,
                    axes,
                    Some(1.0 / 255.0),
                    Second::None
                ),
                case!(
                    "uint8" as u8,
                    "float32" as f32,
                    shape,
                    axes,
                    Some(1.0 / 255.0),
                    Second::None
                ),
                case!("float16" as f16, "float32" as f32, shape, axes, None, Second::None),
            ]);
        }
    }
    all.extend(with_operands(square, odd, is_gpu));
    let side = arguments.side.unwrap_or(side);
    let bytes = if is_gpu { 17 * 224 * 224 * 64 } else { 1 << 20 };
    all.extend(with_channels(&arguments.channels, side, bytes));
    all
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    if let Some(folder) = &arguments.peers {
        write_table(&cases(true, arguments), &folder.join("cases.csv"))?;
        write_table(&cases(false, arguments), &folder.join("small.csv"))?;
    }
    let peers = Peers::open(&arguments.common, &device, &arguments.at);
    let is_large = device.is_gpu() && !arguments.small && arguments.peers.is_none();
    let mut cases = cases(is_large, arguments);
    cases.retain(|case| arguments.peers.is_none() || case.is_told());
    let names: Vec<String> = cases.iter().map(Case::name).collect();
    let is_named = |name: &str| arguments.only.iter().any(|only| name.contains(only));
    cases.retain(|case| arguments.only.is_empty() || is_named(&case.name()));
    let none = || {
        let (only, names) = (&arguments.only, names.join("\n  "));
        usage(format!("no case has any of {only:?} in its name; there are\n  {names}"))
    };
    ensure!(!cases.is_empty(), none());
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
        Column::number("way", "way", 3),
        Column::text("kernel", "kernel", 18),
        Column::number("bytes", "bytes read and written", 11),
        Column::number("memcpy_gb_s", "memcpy, GB/s", 7),
        Column::number("gb_s", "GB/s", 7),
        Column::number("of_copy", "of copy", 7),
        Column::number("cutensor_gb_s", "cuTENSOR, GB/s", 7),
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
        for (way, figures) in (case.measure)(&device, case, &peers, arguments)?.iter().enumerate() {
            let Figures { kernel, bytes, speeds, cutensor, instructions } = figures;
            let [copy, ours] = speeds.map_or([None; 2], |speeds| speeds.map(Some));
            let fraction = speeds.map(|[copy, ours]| ours / copy);
            let mut row: Vec<Cell> = case.in_words().into_iter().map(Cell::from).collect();
            row.extend([
                way.into(),
                kernel.as_str().into(),
                (*bytes).into(),
                Cell::speed(copy),
                Cell::speed(ours),
                Cell::fraction(fraction),
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
    for case in cases.iter().filter(|case| case.is_told()) {
        let Case { types: [from, to], shape, axes, alpha, second, .. } = case;
        let (shape, axes, alpha) = (joined(shape), joined(axes), alpha.unwrap_or(1.0));
        let adds = u8::from(*second == Second::Destination);
        writeln!(text, "{from},{to},{shape},{axes},{alpha},{adds}")?;
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
    let none = DeviceMatrix::zeroed(device, 1, 1)?;
    verified::<T, U>(case, &mut pairs, &none, false)?;
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

/// What computes a destination of a source.
type Run<'a> = Box<dyn Fn(&DeviceMatrix<u8>, &mut DeviceMatrix<u8>) -> transpose::Result<()> + 'a>;

/// A way to compute a case's destination of its source.
struct Way<'a> {
    kernel: String,
    run: Run<'a>,
}

/// Bytes of a case's source and destination.
fn bytes_of<T, U>(case: &Case) -> [usize; 2] {
    [size_of::<T>(), size_of::<U>()].map(|bytes| case.elements() * bytes)
}

/// Sources and destinations of a case.
fn memories<T, U>(device: &Device, case: &Case) -> Result<Pairs<DeviceMatrix<u8>>> {
    let [src, dst] = bytes_of::<T, U>(case);
    // The copy reads and writes as many bytes as are read and written here, so both memories have room for the mean of both.
    let most = src.max(dst);
    ensure_free(device, 7 * most, 14 * most)?;
    let pair = || Ok((filled(device, most)?, DeviceMatrix::zeroed(device, 1, most)?));
    Ok(Pairs::new(device, src + dst, pair)?)
}

/// Measures a case of plans.
fn measure<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Vec<Figures>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let mut pairs = memories::<T, U>(device, case)?;
    let other = other_memory::<U>(device, case)?;
    let plans = verified::<T, U>(case, &mut pairs, &other, arguments.candidates)?;
    let other = &other;
    let ways = plans.iter().map(|plan| {
        let mut names = plan.kernel_names();
        names.dedup();
        let run = move |src: &_, dst: &mut _| run_once::<T, U>(plan, case, src, other, dst);
        Way { kernel: names.join("+"), run: Box::new(run) }
    });
    raced::<T, U>(device, case, peers, arguments.turns, &mut pairs, ways.collect())
}

/// Measures a case of factors and summands for each index of an axis: by a plan that has the table on the device, and by calls that bring it there.
fn measure_channels<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    arguments: &Arguments,
) -> Result<Vec<Figures>>
where
    T: ConvertTo<U> + Number<Kind = transpose::kind::Real>,
    U: Number,
{
    let Second::Channels(axis) = case.second else { return Ok(Vec::new()) };
    let channels = case.shape[case.axes[axis]];
    let alpha = f64::from(case.alpha.unwrap_or(1.0));
    let factors: Vec<f64> = (0..channels).map(|at| alpha * (1.0 + at as f64 / 64.0)).collect();
    let summands: Vec<f64> = (0..channels).map(|at| at as f64 / 32.0 - 1.0).collect();
    let mut pairs = memories::<T, U>(device, case)?;
    let (memory, out) = pairs.first();
    let (src, dst) = (source::<T>(memory, case)?, target::<U>(out, case)?);
    let plan = NormalizingPlan::new(src, axis, &factors, &summands, dst)?;
    let planned = |src: &DeviceMatrix<u8>, dst: &mut DeviceMatrix<u8>| {
        plan.run(source::<T>(src, case)?, target::<U>(dst, case)?)
    };
    let called = |src: &DeviceMatrix<u8>, dst: &mut DeviceMatrix<u8>| {
        source::<T>(src, case)?.normalize_into(axis, &factors, &summands, target::<U>(dst, case)?)
    };
    let ways = vec![
        Way { kernel: plan.kernel_names().join("+"), run: Box::new(planned) },
        Way { kernel: "normalize_into".into(), run: Box::new(called) },
    ];
    for way in &ways {
        out.view_mut().fill(0)?;
        (way.run)(memory, out)?;
        let (src, dst) = (source::<T>(memory, case)?, target::<U>(out, case)?);
        for row in some_rows(src.shape()[0]) {
            // In two passes: moved, and computed.
            let moved = src.index_axis(0, row)?.to_tensor()?;
            let expected =
                moved.view().normalized::<U>(axis - 1, &factors, &summands)?.to_host()?;
            let actual = dst.view().index_axis(0, row)?.to_host()?;
            let same =
                bytemuck::cast_slice::<U, u8>(&actual) == bytemuck::cast_slice::<U, u8>(&expected);
            ensure!(same, "{}: row {row} is wrong: {}", case.name(), way.kernel);
        }
    }
    raced::<T, U>(device, case, peers, arguments.turns, &mut pairs, ways)
}

/// Lets a copy, cuTENSOR where it computes the case, and these ways take turns.
fn raced<T, U>(
    device: &Device,
    case: &Case,
    peers: &Peers,
    turns: usize,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    ways: Vec<Way<'_>>,
) -> Result<Vec<Figures>> {
    let [src_bytes, dst_bytes] = bytes_of::<T, U>(case);
    let copied = (src_bytes + dst_bytes) / 2;
    let mut instructions = Vec::new();
    for way in &ways {
        let (src, dst) = pairs.first();
        let counted = profile::count(device, || (way.run)(src, dst))?;
        let all = |counters: Counters| counters.thread_instructions as f64;
        instructions.push(counted.map(|counters| all(counters) / case.elements() as f64));
    }
    let mut contestants: Vec<Contestant<'_, DeviceMatrix<u8>>> = vec![Box::new(move |src, dst| {
        src.submatrix(.., ..copied)?.copy_into(dst.submatrix_mut(.., ..copied)?)
    })];
    for way in &ways {
        contestants.push(Box::new(move |src, dst| (way.run)(src, dst)));
    }
    if case.is_told() {
        let (alpha, adds) = (case.alpha.unwrap_or(1.0), case.second == Second::Destination);
        let of = [&case.shape[..], &case.axes];
        let address = DeviceMatrix::device_address;
        contestants.extend(peers.computing(case.types, of, alpha.into(), adds, address));
    }
    let timings = pairs.race(&mut contestants, turns, 3)?;
    let bytes = src_bytes + dst_bytes * (1 + usize::from(case.adds()));
    let speed = |which: usize, bytes: usize| {
        let timing = timings.as_ref()?.get(which)?;
        Some(bytes as f64 / timing.median.as_secs_f64() / 1e9)
    };
    let cutensor = speed(1 + ways.len(), bytes);
    let figures = ways.iter().zip(instructions).enumerate().map(|(way, (of_way, counted))| {
        let speeds = speed(0, 2 * copied).zip(speed(1 + way, bytes));
        let cutensor = cutensor.filter(|_| way == 0);
        let speeds = speeds.map(|(copy, ours)| [copy, ours]);
        Figures { kernel: of_way.kernel.clone(), bytes, speeds, cutensor, instructions: counted }
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

/// Memory of the second operand that is not the destination; hardly any if there is none.
fn other_memory<U>(device: &Device, case: &Case) -> Result<DeviceMatrix<u8>> {
    let Second::Numbers(order, gap) = case.second else {
        return Ok(DeviceMatrix::zeroed(device, 1, 1)?);
    };
    let elements: usize = laid_out(case, order, gap).iter().product();
    Ok(filled(device, elements * size_of::<U>())?)
}

/// The shape of the second operand's memory, gaps included.
fn laid_out(case: &Case, order: &[usize], gap: usize) -> Vec<usize> {
    let mut shape: Vec<usize> = order.iter().map(|&axis| case.shape[case.axes[axis]]).collect();
    if let Some(last) = shape.last_mut() {
        *last += gap;
    }
    shape
}

/// The second operand's numbers, in the result's order.
fn others<'a, U: Pod>(
    memory: &'a DeviceMatrix<u8>,
    case: &Case,
    order: &[usize],
    gap: usize,
) -> transpose::Result<TensorView<'a, U>> {
    let shape = laid_out(case, order, gap);
    let last = shape.len() - 1;
    let flat = memory.submatrix(.., ..)?.cast::<U>()?;
    let all = TensorView::from(flat).reshape(&shape)?.slice(last, ..shape[last] - gap, 1)?;
    let mut inverse = vec![0; order.len()];
    for (at, &axis) in order.iter().enumerate() {
        inverse[axis] = at;
    }
    all.permute_axes(&inverse)
}

/// Runs a plan as its case says.
fn run_once<T: ConvertTo<U>, U: Number>(
    plan: &ArithmeticPlan<T, U>,
    case: &Case,
    src: &DeviceMatrix<u8>,
    other: &DeviceMatrix<u8>,
    dst: &mut DeviceMatrix<u8>,
) -> transpose::Result<()> {
    let (src, dst) = (source::<T>(src, case)?, target::<U>(dst, case)?);
    match case.second {
        Second::None | Second::Channels(_) => plan.run(src, dst),
        Second::Destination => plan.run_onto(src, dst),
        Second::Numbers(order, gap) => {
            plan.run_adding(src, others::<U>(other, case, order, gap)?, dst)
        }
    }
}

/// The plans of a case, the library's own first, after each has been compared with two passes, of which one moves and one computes.
fn verified<T, U>(
    case: &Case,
    pairs: &mut Pairs<DeviceMatrix<u8>>,
    other: &DeviceMatrix<u8>,
    candidates: bool,
) -> Result<Vec<ArithmeticPlan<T, U>>>
where
    T: ConvertTo<U>,
    U: Number<Factor: FromF32>,
{
    let scaling = case
        .alpha
        .map_or(Arithmetic::converting(), |alpha| Arithmetic::scaling(U::Factor::of(alpha)));
    let (one, alpha) = (U::Factor::of(1.0), U::Factor::of(case.alpha.unwrap_or(1.0)));
    let (memory, out) = pairs.first();
    let src = source::<T>(memory, case)?;
    let rows = some_rows(src.shape()[0]);
    let mut expected = Vec::new();
    for &row in &rows {
        let moved: DeviceTensor<T> = src.index_axis(0, row)?.to_tensor()?;
        let mut computed = DeviceTensor::<U>::zeroed(src.device(), moved.shape())?;
        if let Second::Numbers(order, gap) = case.second {
            let added = others::<U>(other, case, order, gap)?.index_axis(0, row)?.to_tensor()?;
            moved.view().add_into(alpha, &added, one, &mut computed)?;
        } else {
            ArithmeticPlan::new(&scaling, &moved, &mut computed)?.run(&moved, &mut computed)?;
        }
        expected.push(computed.to_host()?);
    }
    let dst = target::<U>(out, case)?;
    let mut plans = match case.second {
        Second::None | Second::Channels(_) => ArithmeticPlan::candidates(&scaling, src, dst)?,
        Second::Destination => ArithmeticPlan::candidates_onto(&scaling, src, one, dst)?,
        Second::Numbers(order, gap) => {
            let added = others::<U>(other, case, order, gap)?;
            ArithmeticPlan::candidates_adding(&scaling, src, one, added, dst)?
        }
    };
    if !candidates {
        plans.truncate(1);
    }
    for plan in &plans {
        out.view_mut().fill(0)?;
        run_once::<T, U>(plan, case, memory, other, out)?;
        let dst = target::<U>(out, case)?;
        for (&row, expected) in rows.iter().zip(&expected) {
            let actual = dst.view().index_axis(0, row)?.to_host()?;
            let same =
                bytemuck::cast_slice::<U, u8>(&actual) == bytemuck::cast_slice::<U, u8>(expected);
            // What a destination is added to are zeros: of a negative zero and one the sum is not negative.
            ensure!(
                same || case.second == Second::Destination && close(&actual, expected),
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
