//! Matrices in host memory: how long until the transpose is in host memory, beside plain copies over the bus in the same run.
//!
//! `cargo run --release --bin host -- [--rows R] [--cols C] [--ways pinned,pageable] [--sweep]`
//!
//! Wall-clock times from call to result, the median of some repetitions, all pages touched before; results are verified after the
//! timing. This is Table 3 of Sung et al. (PPoPP 2014), with what the bus allows beside it; `--queues 1,2,3,4,6,8,12,16 --svg FILE` draws
//! their figure of Q.

use anyhow::{Result, ensure};
use bench::limits;
use bench::memory::{ensure_free, matrix_bytes};
use bench::peers;
use bench::program::{self, Common};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::verify::{is_transpose_by_all, scramble};
use bench::with_element;
use bytemuck::Pod;
use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use transpose::host::{HostInPlace, HostOptions, HostView, HostViewMut, Workspace, cpu};
use transpose::{Device, DeviceMatrix, PinnedBuffer, TensorLayout};

/// Measure transposition of matrices in host memory.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 32768; 256 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 32768; 192 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4, value_parser = program::word)]
    element: usize,
    /// Repetitions.
    #[arg(long, default_value_t = 5, value_parser = limits::times)]
    reps: usize,
    /// What to measure, with commas between.
    #[arg(
        long,
        value_name = "WAY,…",
        value_delimiter = ',',
        default_value = "pinned,in-place,pageable,cpu"
    )]
    ways: Vec<Way>,
    /// The most device memory, in MiB: the pinned way is measured with it too.
    #[arg(long, value_name = "MIB", value_parser = program::count)]
    limit: Option<usize>,
    /// Numbers of streams for the three stages of Sung et al.
    #[arg(long, value_name = "STREAMS,…", value_delimiter = ',', default_value = "1,2,4,8", value_parser = program::count)]
    queues: Vec<usize>,
    /// Numbers of threads that move parts by the CPU beside the device: the pinned and the pageable way are measured with each of them too.
    #[arg(long, value_name = "THREADS,…", value_delimiter = ',', value_parser = program::count)]
    cpu_threads: Vec<usize>,
    /// Measure other tiles, numbers of streams and of threads too.
    #[arg(long)]
    sweep: bool,
    #[command(flatten)]
    common: Common,
}

/// Where the matrices are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// In pinned memory, which the device reaches.
    Pinned,
    /// In ordinary memory, which goes through a ring.
    Pageable,
    /// In the matrix's own memory, pinned.
    InPlace,
    /// In ordinary memory, by the CPU.
    Cpu,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    with_element!(arguments.element, T => measure::<T>(arguments, &device))
}

fn measure<T: Pod + PartialEq + Send + Sync>(arguments: &Arguments, device: &Device) -> Result<()> {
    let (some, fewer) = if device.is_gpu() { (32768, 32768) } else { (256, 192) };
    let shape = (arguments.rows.unwrap_or(some), arguments.cols.unwrap_or(fewer));
    let bytes = matrix_bytes(shape.0, shape.1, size_of::<T>())?;
    // A source, a destination, and what is compared with them; the device has a matrix and some tiles.
    ensure_free(device, bytes.saturating_mul(3), bytes.saturating_mul(2))?;
    let of = format!("{} × {} elements of {} bytes", shape.0, shape.1, size_of::<T>());
    let bar = progress::bar(&arguments.common, arguments.ways.len());
    let title = format!("{of}, all results verified");
    let report = Report::new(&arguments.common, device, title, &COLUMNS, &bar);
    let (bound, way, bars) = (None, "", Vec::new());
    let mut table = Table { arguments, device, shape, bytes, bar: &bar, report, bound, way, bars };
    if arguments.ways.contains(&Way::Pinned) {
        table.next("pinned");
        table.pinned::<T>()?;
        bar.inc(1);
    }
    if arguments.ways.contains(&Way::InPlace) {
        table.next("in place");
        table.in_place::<T>()?;
        bar.inc(1);
    }
    if arguments.ways.contains(&Way::Cpu) {
        table.next("CPU");
        table.cpu::<T>()?;
        bar.inc(1);
    }
    if arguments.ways.contains(&Way::Pageable) {
        table.next("pageable");
        table.pageable::<T>()?;
        bar.inc(1);
    }
    let Table { report, bars, .. } = table;
    let unit = if device.is_gpu() { "ms from call to result" } else { "MiB of device memory" };
    report.finish(|| Chart::new(format!("{of} in host memory"), unit, bars))
}

struct Table<'a> {
    arguments: &'a Arguments,
    device: &'a Device,
    shape: (usize, usize),
    bytes: usize,
    bar: &'a ProgressBar,
    report: Report<'a>,
    /// The time of the slower direction's plain copy.
    bound: Option<Duration>,
    /// What is measured: a colour of the chart.
    way: &'static str,
    bars: Vec<Bar>,
}

const MIB: usize = 1 << 20;

/// Options with some of them chosen.
fn options(change: impl FnOnce(&mut HostOptions)) -> HostOptions {
    let mut options = HostOptions::default();
    change(&mut options);
    options
}

impl Table<'_> {
    /// The median time of some calls, after one that does not count; `None` where times mean nothing.
    fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<Option<Duration>> {
        if !self.device.is_gpu() {
            work()?;
            return Ok(None);
        }
        self.time_of_host(work)
    }

    /// The median time of some calls that only the host works for, after one that does not count: on every machine it means something.
    fn time_of_host(&self, mut work: impl FnMut() -> Result<()>) -> Result<Option<Duration>> {
        work()?;
        let mut times = Vec::new();
        for _ in 0..self.arguments.reps {
            let start = Instant::now();
            work()?;
            times.push(start.elapsed());
        }
        times.sort();
        Ok(Some(times[times.len() / 2]))
    }

    fn next(&mut self, way: &'static str) {
        self.way = way;
        self.bar.set_message(way);
    }

    fn row(&mut self, name: String, time: Option<Duration>, workspace: Option<&Workspace>) {
        let seconds = time.map(|time| time.as_secs_f64());
        // Without a clock the chart is of what is known.
        let taken = workspace.map(|space| space.device_bytes() as f64 / MIB as f64);
        let drawn = if self.device.is_gpu() { seconds.map(|time| time * 1e3) } else { taken };
        self.bars.extend(drawn.map(|value| Bar::plain(&name, self.way, value)));
        let of_bound = self.bound.zip(seconds).map(|(bound, time)| bound.as_secs_f64() / time);
        let mib = |bytes: usize| (bytes > 0).then(|| Cell::Number(bytes as f64 / MIB as f64, 2, 4));
        self.report.row(vec![
            name.into(),
            self.shape.0.into(),
            self.shape.1.into(),
            seconds.map(|time| Cell::Number(time * 1e3, 2, 3)).into(),
            Cell::speed(seconds.map(|time| self.bytes as f64 / time / 1e9)),
            Cell::fraction(of_bound),
            workspace.and_then(|space| mib(space.device_bytes())).into(),
            workspace.and_then(|space| mib(space.ring_bytes())).into(),
        ]);
    }

    /// Plain copies of as many bytes each way, one after the other and at once.
    fn plain<T: Pod>(&mut self, src: &PinnedBuffer<T>, dst: &mut PinnedBuffer<T>) -> Result<()> {
        let (rows, cols) = self.shape;
        let (up, down) = (self.device.new_stream()?, self.device.new_stream()?);
        let mut a = DeviceMatrix::<T>::zeroed(&up, rows, cols)?;
        let b = DeviceMatrix::<T>::zeroed(&down, rows, cols)?;
        let to = self.time(|| {
            a.upload_from(src)?;
            Ok(up.synchronize()?)
        })?;
        let from = self.time(|| {
            b.download_into(dst)?;
            Ok(down.synchronize()?)
        })?;
        let both = self.time(|| {
            a.upload_from(src)?;
            b.download_into(dst)?;
            up.synchronize()?;
            Ok(down.synchronize()?)
        })?;
        self.bound = to.max(from);
        self.row("plain copy to the device".into(), to, None);
        self.row("plain copy from the device".into(), from, None);
        self.row("plain copies both ways at once".into(), both, None);
        Ok(())
    }

    fn pinned<T: Pod + PartialEq + Send + Sync>(&mut self) -> Result<()> {
        let (rows, cols) = self.shape;
        let mut src = PinnedBuffer::<T>::zeroed(self.device, rows * cols)?;
        let mut dst = PinnedBuffer::<T>::zeroed(self.device, rows * cols)?;
        scramble(src.write()?);
        self.plain(&src, &mut dst)?;
        let layout = TensorLayout::contiguous(&[rows, cols], size_of::<T>())?;
        let out = TensorLayout::contiguous(&[cols, rows], size_of::<T>())?;
        let mut one = |table: &mut Self, name: String, options: HostOptions| -> Result<()> {
            let mut workspace = Workspace::new(table.device, options);
            let time = table.time(|| {
                let from = HostView::pinned(&src, &layout)?;
                Ok(workspace.transpose_into(from, HostViewMut::pinned(&mut dst, &out)?)?)
            })?;
            table.row(name, time, Some(&workspace));
            ensure!(is_transpose_by_all(src.read()?, table.shape, dst.read()?), "wrong result");
            // What is verified next is not what is there.
            dst.write()?.iter_mut().step_by(997).for_each(|element| *element = T::zeroed());
            Ok(())
        };
        one(self, "pinned, one stream".into(), options(|options| options.streams = 1))?;
        one(self, "pinned".into(), HostOptions::default())?;
        if let Some(mib) = self.arguments.limit {
            let limited = options(|options| options.device_memory = mib.saturating_mul(MIB));
            one(self, format!("pinned, {mib} MiB of device memory"), limited)?;
        }
        for &threads in &self.arguments.cpu_threads {
            let options = HostOptions::default().cpu_threads(threads);
            one(self, format!("pinned, and {threads} CPU threads"), options)?;
            if let Some(mib) = self.arguments.limit {
                let limited = options.device_memory(mib.saturating_mul(MIB));
                one(self, format!("pinned, {mib} MiB, and {threads} CPU threads"), limited)?;
            }
        }
        if self.arguments.sweep {
            for (mib, lean) in
                [(2, 0), (4, 0), (16, 0), (32, 1), (64, 0), (64, 2), (128, 1), (256, 0)]
            {
                for streams in [4, 8] {
                    let chosen = options(|options| {
                        (options.tile_bytes, options.lean) = (mib * MIB, lean);
                        options.streams = streams;
                    });
                    let name = format!("{mib} MiB, lean {lean}, {streams} under way");
                    one(self, name, chosen)?;
                }
            }
        }
        Ok(())
    }

    /// In place: once, which is verified, and then there and back again.
    fn in_place<T: Pod + PartialEq + Send + Sync>(&mut self) -> Result<()> {
        // Half as many columns make what no square does.
        let mut shapes = vec![self.shape];
        if self.shape.1.is_multiple_of(2) {
            shapes.push((self.shape.0 * 2, self.shape.1 / 2));
        }
        let elements = self.shape.0 * self.shape.1;
        let original: Vec<T> = bench::verify::scrambled(elements);
        let mut buffer = PinnedBuffer::<T>::zeroed(self.device, elements)?;
        for (rows, cols) in shapes {
            for (algorithm, name, options) in self.in_place_ways(rows == cols) {
                let mut workspace = Workspace::new(self.device, options);
                let mut turn = |buffer: &mut PinnedBuffer<T>, down, along| -> Result<()> {
                    let layout = TensorLayout::contiguous(&[down, along], size_of::<T>())?;
                    let matrix = HostViewMut::pinned(buffer, &layout)?;
                    Ok(workspace.transpose_in_place(matrix, algorithm)?)
                };
                buffer.write()?.copy_from_slice(&original);
                turn(&mut buffer, rows, cols)?;
                let right = is_transpose_by_all(&original, (rows, cols), buffer.read()?);
                ensure!(right, "wrong result in place");
                let mut next = [(cols, rows), (rows, cols)].into_iter().cycle();
                let time = self.time(|| {
                    let (down, along) = next.next().unwrap_or((rows, cols));
                    turn(&mut buffer, down, along)
                })?;
                self.row(format!("in place, {name}, {rows} × {cols}"), time, Some(&workspace));
            }
        }
        Ok(())
    }

    /// The algorithms in place, and by how many streams.
    fn in_place_ways(&self, square: bool) -> Vec<(HostInPlace, String, HostOptions)> {
        let plain =
            |algorithm: HostInPlace| (algorithm, algorithm.to_string(), HostOptions::default());
        let queues = |algorithm: HostInPlace, streams: usize| {
            let name = format!("{algorithm}, Q = {streams}");
            (algorithm, name, options(|options| options.streams = streams))
        };
        let mut ways = vec![];
        if square {
            ways.extend([queues(HostInPlace::Pairs, 1), plain(HostInPlace::Pairs)]);
        }
        ways.push(plain(HostInPlace::Frontier));
        let three_stages = |&streams| queues(HostInPlace::ThreeStage, streams);
        ways.extend(self.arguments.queues.iter().map(three_stages));
        ways
    }

    /// The CPU alone, beside a copy by all of its cores.
    fn cpu<T: Pod + PartialEq + Send + Sync>(&mut self) -> Result<()> {
        let (rows, cols) = self.shape;
        let src: Vec<T> = bench::verify::scrambled(rows * cols);
        let mut dst: Vec<T> = bench::verify::scrambled(rows * cols);
        for threads in [1, 0] {
            dst.fill(T::zeroed());
            let time = self.time_of_host(|| {
                let from = HostView::matrix(&src, rows, cols)?;
                Ok(cpu::transpose_into(from, HostViewMut::matrix(&mut dst, cols, rows)?, threads)?)
            })?;
            ensure!(is_transpose_by_all(&src, self.shape, &dst), "wrong result");
            let name = if threads == 1 { "CPU, one core" } else { "CPU, all cores" };
            self.row(name.into(), time, None);
        }
        let time = self.time_of_host(|| {
            let chunks = dst.par_chunks_mut(4 * MIB).zip(src.par_chunks(4 * MIB));
            chunks.for_each(|(to, from)| to.copy_from_slice(from));
            Ok(())
        })?;
        self.row("copy from memory to memory by all cores".into(), time, None);
        type Peer<T> = fn(&[T], &mut [T], usize, usize);
        let others: [(&str, Peer<T>); 2] = [
            ("CPU, all cores, by the crate transpose", peers::cpu::transpose_crate),
            ("CPU, all cores, by ndarray", peers::cpu::ndarray_crate),
        ];
        for (name, peer) in others {
            dst.fill(T::zeroed());
            let time = self.time_of_host(|| {
                peer(&src, &mut dst, rows, cols);
                Ok(())
            })?;
            ensure!(is_transpose_by_all(&src, self.shape, &dst), "wrong result by a peer");
            self.row(name.into(), time, None);
        }
        Ok(())
    }

    fn pageable<T: Pod + PartialEq + Send + Sync>(&mut self) -> Result<()> {
        let (rows, cols) = self.shape;
        let src: Vec<T> = bench::verify::scrambled(rows * cols);
        let mut dst: Vec<T> = bench::verify::scrambled(rows * cols);
        let mut one = |table: &mut Self, name: String, options: HostOptions| -> Result<()> {
            let mut workspace = Workspace::new(table.device, options);
            let time = table.time(|| {
                let from = HostView::matrix(&src, rows, cols)?;
                Ok(workspace.transpose_into(from, HostViewMut::matrix(&mut dst, cols, rows)?)?)
            })?;
            table.row(name, time, Some(&workspace));
            ensure!(is_transpose_by_all(&src, table.shape, &dst), "wrong result");
            dst.iter_mut().step_by(997).for_each(|element| *element = T::zeroed());
            Ok(())
        };
        one(self, "pageable".into(), HostOptions::default())?;
        one(self, "pageable, locked for the call".into(), HostOptions::default().register(true))?;
        for &threads in &self.arguments.cpu_threads {
            let options = HostOptions::default().cpu_threads(threads);
            one(self, format!("pageable, and {threads} CPU threads"), options)?;
        }
        if self.arguments.sweep {
            for threads in [8, 16, 24, 32] {
                for (mib, under_way) in [(4, 16), (8, 6), (8, 8), (16, 4)] {
                    let name = format!("{threads} threads, {under_way} tiles of {mib} MiB");
                    let chosen = HostOptions::default().threads(threads).streams(under_way);
                    one(self, name, chosen.tile_bytes(mib * MIB))?;
                }
            }
        }
        dst.fill(T::zeroed());
        let start = Instant::now();
        let from = HostView::matrix(&src, rows, cols)?;
        transpose::host::transpose_into(
            self.device,
            from,
            HostViewMut::matrix(&mut dst, cols, rows)?,
        )?;
        let first = self.device.is_gpu().then(|| start.elapsed());
        ensure!(is_transpose_by_all(&src, self.shape, &dst), "wrong result");
        self.row("pageable, one call alone".into(), first, None);
        Ok(())
    }
}

/// The columns.
const COLUMNS: [Column; 8] = [
    Column::text("way", "way", 44),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::number("ms", "ms", 8),
    Column::number("gb_per_s", "GB/s", 6),
    Column::number("of_plain_copy", "of the slower plain copy", 6),
    Column::number("device_mib", "device memory, MiB", 8),
    Column::number("ring_mib", "ring, MiB", 8),
];
