//! What a call costs: planning, the same small transpose on one stream, between two, as part of a graph, in memory of cust and of
//! cudarc, and by a copy, cuBLAS's `geam` and cuTENSOR in its place.
//!
//! `cargo run --release --bin calls -- [--side N] [--reps R]`
//!
//! Microseconds a call, the median of some rounds: until the last of many calls has returned, which is what the host spends to queue
//! them, and until all of them are done. The matrix is small, so that the device does not hold the host up for long. Results are
//! verified after the timing.

use anyhow::{Context, Result, ensure};
use bench::limits;
use bench::memory::{ensure_free, matrix_bytes};
use bench::moves::Drawn;
use bench::peers::{self, Peers};
use bench::program::{self, Common};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::sweep;
use bench::table::{Cell, Column, Report};
use clap::Parser;
use cudarc::driver::CudaContext;
use cust::memory::{CopyDestination, DeviceBuffer};
use indicatif::ProgressBar;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use transpose::interop::{cudarc as of_cudarc, cust as of_cust};
use transpose::{
    Device, DeviceMatrix, DeviceTensor, Facts, Graph, PinnedBuffer, Plan, Strategy, TensorLayout,
    TensorView, TensorViewMut, copy_all,
};

/// Measure what calls cost.
#[derive(Parser)]
struct Arguments {
    /// Rows and columns of the matrices, of 4-byte elements.
    #[arg(long, default_value_t = 64)]
    side: usize,
    /// Calls in a round [default: 1000; once on the simulator, which has no times].
    #[arg(long, value_parser = limits::times)]
    reps: Option<usize>,
    #[command(flatten)]
    peers: peers::Where,
    #[command(flatten)]
    common: Common,
}

/// The table's columns.
const COLUMNS: [Column; 3] = [
    Column::text("call", "call", 41),
    Column::number("queued_us", "queued, µs", 10),
    Column::number("done_us", "done, µs", 10),
];

/// Rounds of which the median counts, after one that does not.
const ROUNDS: usize = 9;

/// Kinds of calls on the simulator, and on a GPU.
const CALLS: [usize; 2] = [20, 29];

/// Moves of a graph.
const MOVES: usize = 64;

/// Times rounds of calls and keeps what came of it.
struct Table<'a> {
    device: Device,
    reps: usize,
    report: Report<'a>,
    bar: ProgressBar,
    bars: Vec<Bar>,
}

impl Table<'_> {
    /// Times `call`, which does `moves` moves.
    fn time(
        &mut self,
        what: &str,
        moves: usize,
        mut call: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        if self.device.is_gpu() {
            return self.time_of_host(what, moves, call);
        }
        // How long the simulator takes means nothing; what it does is verified.
        call()?;
        self.bar.inc(1);
        self.report.row(vec![what.into(), Cell::Nothing, Cell::Nothing]);
        Ok(())
    }

    /// Times what the host does by itself, or with a GPU.
    fn time_of_host(
        &mut self,
        what: &str,
        moves: usize,
        mut call: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let (mut queued, mut done) = (Vec::new(), Vec::new());
        for _ in 0..=ROUNDS {
            self.device.synchronize()?;
            let start = Instant::now();
            (0..self.reps).try_for_each(|_| call())?;
            queued.push(start.elapsed());
            self.device.synchronize()?;
            done.push(start.elapsed());
        }
        let median = |times: &mut Vec<Duration>| {
            times.remove(0);
            times.sort();
            times[ROUNDS / 2].as_secs_f64() * 1e6 / (self.reps * moves) as f64
        };
        let (queued, done) = (median(&mut queued), median(&mut done));
        self.bar.inc(1);
        let [first, second] = [queued, done].map(|micros| Cell::Number(micros, 2, 2));
        self.report.row(vec![what.into(), first, second]);
        self.bars.push(Bar::plain(what, "", done));
        Ok(())
    }
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    let reps = arguments.reps.unwrap_or(1000);
    let side = arguments.side;
    let bytes = matrix_bytes(side, side, size_of::<f32>())?;
    // The graph's sources and destinations, and a few beside them.
    ensure_free(&device, bytes.saturating_mul(4), bytes.saturating_mul(2 * MOVES + 4))?;
    let title = format!("Calls that move {side} × {side} elements of 4 bytes, verified");
    let bar = progress::bar(&arguments.common, CALLS[usize::from(device.is_gpu())]);
    let report = Report::new(&arguments.common, &device, &title, &COLUMNS, &bar);
    let peers = Peers::open(&arguments.common, &device, &arguments.peers);
    let mut table = Table { device, reps, report, bar, bars: Vec::new() };
    planning(&mut table, side, &peers)?;
    streams(&mut table, side)?;
    in_its_place(&mut table, side, &peers)?;
    graphs(&mut table, side)?;
    if table.device.is_gpu() {
        with_cust(&mut table, side)?;
        with_cudarc(&mut table, side)?;
    }
    let Table { report, bars, .. } = table;
    report.finish(|| Chart::new(&title, "µs a move, until it is done", bars))
}

fn numbers(side: usize) -> Vec<f32> {
    (0..side * side).map(|index| index as f32).collect()
}

fn verify(side: usize, elements: &[f32]) -> Result<()> {
    let right = (0..side * side).all(|at| elements[at] == (at % side * side + at / side) as f32);
    ensure!(right, "a wrong element");
    Ok(())
}

/// Plans, which need no device, for the first time and again: so often that the time means something on the simulator too.
fn planning(table: &mut Table, side: usize, peers: &Peers) -> Result<()> {
    /// cuTENSOR's plans are kept.
    const OF_CUTENSOR: usize = 20;
    /// Random moves, of which the mean counts, and the bytes of each, about.
    const RANDOM: usize = 100;
    const BYTES: usize = 64 << 20;
    let device = table.device.clone();
    let chips = chips(device.facts());
    let mut turns = chips.iter().cycle();
    let reps = std::mem::replace(&mut table.reps, 1000);
    let src = DeviceMatrix::from_host(&device, side, side, &numbers(side))?;
    let mut dst = DeviceMatrix::zeroed(&device, side, side)?;
    table.time_of_host("planning a matrix", 1, || {
        black_box(Plan::new(&src, &mut dst, Strategy::Auto)?);
        Ok(())
    })?;
    let element = size_of::<f32>();
    for (what, shape, axes) in [
        ("planning a matrix as a tensor", vec![side, side], vec![1, 0]),
        ("planning NHWC to NCHW", vec![64, 56, 56, 64], vec![0, 3, 1, 2]),
        ("planning the same of 3 channels", vec![32, 224, 224, 3], vec![0, 3, 1, 2]),
        ("planning 5 axes, reversed", vec![48, 28, 28, 48, 28], vec![4, 3, 2, 1, 0]),
    ] {
        let from = TensorLayout::contiguous(&shape, element)?.permute_axes(&axes)?;
        let to = TensorLayout::contiguous(from.shape(), element)?;
        let plan = |facts: &Facts| {
            black_box(Plan::moving_for_layouts(element, &from, &to, facts)?);
            Ok(())
        };
        table.time_of_host(what, 1, || turns.next().map_or(Ok(()), plan))?;
        table.time_of_host(&format!("{what}, again"), 1, || plan(device.facts()))?;
        let plan = || peers.permutation(element, &shape, &axes, |_: &()| 0).is_some();
        if plan() {
            table.reps = OF_CUTENSOR;
            table.time(&format!("{what}, cuTENSOR"), 1, || {
                ensure!(plan(), "cuTENSOR has made this plan before");
                Ok(())
            })?;
            table.reps = 1000;
        }
    }
    let random = sweep::drawn(44, RANDOM, BYTES, usize::MAX)?;
    table.reps = 10;
    let plan = |facts: &Facts| {
        random.iter().try_for_each(|Drawn { of, .. }| {
            black_box(Plan::moving_for_layouts(1, &of.src, &of.dst, facts)?);
            Ok(())
        })
    };
    let what = "planning a random move";
    table.time_of_host(what, RANDOM, || turns.next().map_or(Ok(()), plan))?;
    table.time_of_host(&format!("{what}, again"), RANDOM, || plan(device.facts()))?;
    table.reps = reps;
    Ok(())
}

/// Chips that differ in nothing to speak of. Plans of recent moves are kept: who plans a move for one of these after all others plans anew.
fn chips(facts: &Facts) -> Vec<Facts> {
    /// More than are kept of one move.
    const CHIPS: usize = 16;
    let chip = |number: usize| {
        let mut chip = facts.clone();
        chip.multiprocessor_shared += 16 * number;
        chip
    };
    (0..CHIPS).map(chip).collect()
}

/// What a program might call instead.
fn in_its_place(table: &mut Table, side: usize, peers: &Peers) -> Result<()> {
    let device = table.device.clone();
    let src = DeviceMatrix::from_host(&device, side, side, &numbers(side))?;
    let mut dst = DeviceMatrix::zeroed(&device, side, side)?;
    table.time("a copy by the driver", 1, || Ok(src.copy_into(&mut dst)?))?;
    for (peer, mut transpose) in peers.contestants(side, side) {
        dst.fill(0.0)?;
        table.time(peers::NAMES[peer], 1, || Ok(transpose(&src, &mut dst)?))?;
        verify(side, &dst.to_host()?)?;
    }
    Ok(())
}

/// On one stream and on two, and copies that do not wait.
fn streams(table: &mut Table, side: usize) -> Result<()> {
    let device = table.device.clone();
    let stream = device.new_stream()?;
    let src = DeviceMatrix::from_host(&device, side, side, &numbers(side))?;
    let mut here = DeviceMatrix::zeroed(&device, side, side)?;
    let mut there = DeviceMatrix::zeroed(&stream, side, side)?;
    let plan = Plan::new(&src, &mut here, Strategy::Auto)?;
    table.time("a plan on one stream", 1, || Ok(plan.run(&src, &mut here)?))?;
    verify(side, &here.to_host()?)?;
    here.view_mut().fill(0.0)?;
    table.time("planned by each call", 1, || Ok(src.transpose_into(&mut here)?))?;
    table.time("a plan between two streams", 1, || Ok(plan.run(&src, &mut there)?))?;
    verify(side, &here.to_host()?)?;
    verify(side, &there.to_host()?)?;
    table.time("memory to another stream and back", 1, || {
        there.move_to_stream(&device)?;
        Ok(there.move_to_stream(&stream)?)
    })?;
    let mut buffer = PinnedBuffer::from_slice(&device, &numbers(side))?;
    let pinned = "an upload and a download, pinned";
    table.time(pinned, 1, || {
        here.upload_from(&buffer)?;
        Ok(here.download_into(&mut buffer)?)
    })?;
    let mut host = numbers(side);
    table.time("an upload and a download that wait", 1, || {
        here.copy_from_host(&host)?;
        Ok(here.copy_to_host(&mut host)?)
    })?;
    ensure!(buffer.read()? == numbers(side) && host == numbers(side), "a wrong copy");
    Ok(())
}

/// Moves one by one, and as a graph.
fn graphs(table: &mut Table, side: usize) -> Result<()> {
    let device = table.device.clone();
    let tensor = || DeviceTensor::from_host(&device, &[side, side], &numbers(side));
    let sources = (0..MOVES).map(|_| tensor()).collect::<transpose::Result<Vec<_>>>()?;
    let mut turned = (0..MOVES).map(|_| tensor()).collect::<transpose::Result<Vec<_>>>()?;
    fn moves<'a>(
        sources: &'a [DeviceTensor<f32>],
        turned: &'a mut [DeviceTensor<f32>],
    ) -> impl Iterator<Item = (TensorView<'a, f32>, TensorViewMut<'a, f32>)> {
        sources.iter().zip(turned).map(|(src, dst)| (src.view().t(), dst.view_mut()))
    }
    let check = |turned: &[DeviceTensor<f32>]| -> Result<()> {
        turned.iter().try_for_each(|one| verify(side, &one.to_host()?))
    };
    let reps = table.reps;
    table.reps = reps.div_ceil(10);
    table.time("64 moves by copy_all", MOVES, || Ok(copy_all(moves(&sources, &mut turned))?))?;
    check(&turned)?;
    turned.iter_mut().try_for_each(|one| one.view_mut().fill(0.0))?;
    let graph = Graph::capture(&device, moves(&sources, &mut turned))?;
    table.time("64 moves as a graph", MOVES, || Ok(graph.replay(moves(&sources, &mut turned))?))?;
    table.reps = reps;
    check(&turned)
}

/// In buffers of cust, lent to a device on another stream.
fn with_cust(table: &mut Table, side: usize) -> Result<()> {
    let device = table.device.clone();
    cust::init(cust::CudaFlags::empty())?;
    let number = device.cuda_ordinal().context("cust knows devices by their numbers")?;
    let _context = cust::context::Context::new(cust::device::Device::get_device(number)?)?;
    let src = DeviceBuffer::from_slice(&numbers(side))?;
    let mut dst = DeviceBuffer::from_slice(&numbers(side))?;
    table.time("buffers of cust, lent", 1, || {
        of_cust::with_view(&device, &src, |src| {
            of_cust::with_view_mut(&device, &mut dst, |dst| turn(side, src, dst))
        })?;
        Ok(())
    })?;
    let mut back = numbers(side);
    dst.copy_to(&mut back)?;
    verify(side, &back)
}

/// In slices of cudarc, of another stream and of the device's own.
fn with_cudarc(table: &mut Table, side: usize) -> Result<()> {
    let number = table.device.cuda_ordinal().context("cudarc knows devices by their numbers")?;
    let stream = CudaContext::new(number as usize)?.new_stream()?;
    let (beside, own) = (table.device.clone(), of_cudarc::device(stream.clone())?);
    let src = stream.clone_htod(&numbers(side))?;
    for (what, device) in [("of cudarc, two streams", beside), ("of cudarc, one stream", own)] {
        let mut dst = stream.alloc_zeros::<f32>(side * side)?;
        table.device = device.clone();
        table.time(what, 1, || {
            of_cudarc::with_view(&device, src.as_view(), |src| {
                of_cudarc::with_view_mut(&device, dst.as_view_mut(), |dst| turn(side, src, dst))
            })?;
            Ok(())
        })?;
        verify(side, &stream.clone_dtoh(&dst)?)?;
    }
    Ok(())
}

fn turn(
    side: usize,
    src: TensorView<'_, f32>,
    dst: TensorViewMut<'_, f32>,
) -> transpose::Result<()> {
    src.reshape(&[side, side])?.t().copy_into(dst.reshape(&[side, side])?)
}
