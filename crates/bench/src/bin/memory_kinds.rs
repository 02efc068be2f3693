//! Pageable, pinned, mapped and unified memory, and tiles that stream through the device: how fast to the GPU and back, and how long until
//! a matrix in host memory is transposed in host memory.
//!
//! `cargo run --release --bin memory_kinds -- [--rows R] [--cols C]`
//!
//! Wall-clock times from call to readable result, the median of some repetitions; the host has
//! touched all of its memory before each. Results are verified after the timing. This is the
//! comparison of Grossi's lecture 7, which measured the first two kinds on a Tesla K40.

use anyhow::{Result, ensure};
use bench::kernels::elements;
use bench::limits;
use bench::memory::{ensure_free, matrix_bytes};
use bench::program::{self, Common};
use bench::progress;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::verify::is_transpose_by_all;
use bench::with_element;
use bytemuck::Pod;
use clap::Parser;
use indicatif::ProgressBar;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use study::{HostMatrix, MemoryKind};
use transpose::host::{HostOptions, HostView, HostViewMut, Workspace};
use transpose::{
    Device, DeviceMatrix, MatrixView, MatrixViewMut, PinnedBuffer, Plan, Strategy, TensorLayout,
};

/// Compare the kinds of memory that a GPU can reach.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 8192; 512 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 8192; 512 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4, value_parser = program::word)]
    element: usize,
    /// Repetitions.
    #[arg(long, default_value_t = 5, value_parser = limits::times)]
    reps: usize,
    /// How to transpose: naive, tiled, padded, diagonal or auto. The kernels of auto are made for
    /// the GPU's own memory and are slower than padded over the bus.
    #[arg(long, default_value = "padded")]
    strategy: Strategy,
    #[command(flatten)]
    common: Common,
}

/// What is being compared: a kind of memory and a way to use it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Copies to the device and back, from and to an ordinary slice.
    Pageable,
    /// Copies to the device and back, from and to memory of that kind.
    Copied(MemoryKind),
    /// Kernels that reach the host's memory of that kind.
    Reached(MemoryKind),
    /// Tiles that stream through the device, from and to pinned memory or ordinary slices.
    Streamed { pinned: bool },
}

const WAYS: [Way; 6] = [
    Way::Pageable,
    Way::Copied(MemoryKind::Pinned),
    Way::Reached(MemoryKind::Mapped),
    Way::Reached(MemoryKind::Unified),
    Way::Streamed { pinned: false },
    Way::Streamed { pinned: true },
];

impl Way {
    fn name(self) -> String {
        match self {
            Way::Pageable => "pageable, copied".to_owned(),
            Way::Copied(kind) => format!("{kind}, copied"),
            Way::Reached(kind) => format!("{kind}, by kernels"),
            Way::Streamed { pinned: false } => "pageable, streamed".to_owned(),
            Way::Streamed { pinned: true } => "pinned, streamed".to_owned(),
        }
    }
}

/// The median times of one way, and all of them.
struct Times {
    to_device: Vec<Duration>,
    back: Vec<Duration>,
    transposed: Vec<Duration>,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let device = arguments.common.open()?;
    with_element!(arguments.element, T => compare::<T>(arguments, &device))
}

fn compare<T: Pod + PartialEq + Send + Sync>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 8192 } else { 512 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
    // The elements, a source and a destination of some kind; two matrices.
    ensure_free(device, bytes.saturating_mul(3), bytes.saturating_mul(2))?;
    let host: Vec<T> = elements(rows, cols)?;
    // Without a clock one repetition is as good as many.
    let reps = if device.is_gpu() { arguments.reps } else { 0 };
    let bench = Bench { device, rows, cols, host: &host, reps, strategy: arguments.strategy };
    let bar = progress::bar(&arguments.common, WAYS.len() * (reps + 1));
    let mut times = Vec::new();
    for way in WAYS {
        bar.set_message(way.name());
        times.push(match way {
            Way::Pageable => bench.pageable(&bar)?,
            Way::Copied(kind) => bench.copied(kind, &bar)?,
            Way::Reached(kind) => bench.reached(kind, &bar)?,
            Way::Streamed { pinned } => bench.streamed(pinned, &bar)?,
        });
    }
    bench.report(&times, &bar, &arguments.common)
}

struct Bench<'a, T> {
    device: &'a Device,
    rows: usize,
    cols: usize,
    host: &'a [T],
    reps: usize,
    strategy: Strategy,
}

impl<T: Pod + PartialEq + Send + Sync> Bench<'_, T> {
    /// Runs `step` as often as asked for, and once before for nothing.
    fn repeat(
        &self,
        bar: &ProgressBar,
        mut step: impl FnMut() -> Result<[Duration; 3]>,
    ) -> Result<Times> {
        let mut times = Times { to_device: vec![], back: vec![], transposed: vec![] };
        for repetition in 0..=self.reps {
            let [to_device, back, transposed] = step()?;
            if repetition > 0 {
                times.to_device.push(to_device);
                times.back.push(back);
                times.transposed.push(transposed);
            }
            bar.inc(1);
        }
        Ok(times)
    }

    fn verify(&self, result: &[T]) -> Result<()> {
        ensure!(is_transpose_by_all(self.host, (self.rows, self.cols), result), "wrong result");
        Ok(())
    }

    /// From a slice and to a slice.
    fn pageable(&self, bar: &ProgressBar) -> Result<Times> {
        let mut result = self.host.to_vec();
        let (mut a, mut b) = self.matrices()?;
        let times = self.repeat(bar, || self.copies(self.host, &mut result, &mut a, &mut b))?;
        self.verify(&result)?;
        Ok(times)
    }

    /// From and to host memory of that kind, copied.
    fn copied(&self, kind: MemoryKind, bar: &ProgressBar) -> Result<Times> {
        let mut src = HostMatrix::zeroed(self.device, kind, self.rows, self.cols)?;
        src.write()?.copy_from_slice(self.host);
        let mut dst = HostMatrix::zeroed(self.device, kind, self.cols, self.rows)?;
        let (mut a, mut b) = self.matrices()?;
        let times =
            self.repeat(bar, || self.copies(&src.read()?, &mut dst.write()?, &mut a, &mut b))?;
        self.verify(&dst.read()?)?;
        Ok(times)
    }

    /// One repetition with copies: to the device; back; to the device, transposed, and back.
    fn copies(
        &self,
        src: &[T],
        dst: &mut [T],
        a: &mut DeviceMatrix<T>,
        b: &mut DeviceMatrix<T>,
    ) -> Result<[Duration; 3]> {
        let to_device = timed(|| Ok(a.copy_from_host(src)?))?;
        let back = timed(|| Ok(b.copy_to_host(dst)?))?;
        let transposed = timed(|| {
            a.copy_from_host(src)?;
            a.transpose_into_with(&mut *b, self.strategy)?;
            Ok(b.copy_to_host(dst)?)
        })?;
        Ok([to_device, back, transposed])
    }

    /// In host memory of that kind, reached by kernels.
    fn reached(&self, kind: MemoryKind, bar: &ProgressBar) -> Result<Times> {
        let mut src = HostMatrix::zeroed(self.device, kind, self.rows, self.cols)?;
        let mut dst = HostMatrix::zeroed(self.device, kind, self.cols, self.rows)?;
        let (mut a, b) = self.matrices()?;
        let times = self.repeat(bar, || {
            // The host has touched everything before each measurement: unified pages are here.
            src.write()?.copy_from_slice(self.host);
            let to_device = timed(|| {
                copy(src.view()?, (&mut a).into())?;
                Ok(self.device.synchronize()?)
            })?;
            touch(&dst.read()?);
            let back = timed(|| {
                copy((&b).into(), dst.view_mut()?)?;
                touch(&dst.read()?);
                Ok(())
            })?;
            src.write()?.copy_from_slice(self.host);
            let transposed = timed(|| {
                src.view()?.transpose_into_with(dst.view_mut()?, self.strategy)?;
                touch(&dst.read()?);
                Ok(())
            })?;
            Ok([to_device, back, transposed])
        })?;
        self.verify(&dst.read()?)?;
        Ok(times)
    }

    /// Tile by tile through the device: there is no time at which the matrix is there.
    fn streamed(&self, pinned: bool, bar: &ProgressBar) -> Result<Times> {
        let (rows, cols) = (self.rows, self.cols);
        let layout = TensorLayout::contiguous(&[rows, cols], size_of::<T>())?;
        let out = TensorLayout::contiguous(&[cols, rows], size_of::<T>())?;
        let mut workspace = Workspace::new(self.device, HostOptions::default());
        let buffer = |wanted: bool| {
            PinnedBuffer::zeroed(self.device, if wanted { self.host.len() } else { 0 })
        };
        let (mut src, mut dst) = (buffer(pinned)?, buffer(pinned)?);
        let mut result = if pinned { Vec::new() } else { self.host.to_vec() };
        if pinned {
            src.write()?.copy_from_slice(self.host);
        }
        let mut times = self.repeat(bar, || {
            let transposed = timed(|| {
                let (from, to) = match pinned {
                    true => {
                        (HostView::pinned(&src, &layout)?, HostViewMut::pinned(&mut dst, &out)?)
                    }
                    false => {
                        (HostView::new(self.host, &layout)?, HostViewMut::new(&mut result, &out)?)
                    }
                };
                Ok(workspace.transpose_into(from, to)?)
            })?;
            Ok([transposed; 3])
        })?;
        (times.to_device, times.back) = (vec![], vec![]);
        self.verify(if pinned { dst.read()? } else { &result })?;
        Ok(times)
    }

    /// The device's time for the transpose alone.
    fn on_the_device(&self) -> Result<Option<Duration>> {
        let (a, mut b) = self.matrices()?;
        let mut times = Vec::new();
        for _ in 0..=self.reps {
            let transpose = || a.transpose_into_with(&mut b, self.strategy);
            times.extend(self.device.time(transpose)?);
        }
        Ok(median(times.get(1..).unwrap_or_default()))
    }

    fn matrices(&self) -> transpose::Result<(DeviceMatrix<T>, DeviceMatrix<T>)> {
        let a = DeviceMatrix::zeroed(self.device, self.rows, self.cols)?;
        Ok((a, DeviceMatrix::zeroed(self.device, self.cols, self.rows)?))
    }

    fn report(&self, times: &[Times], bar: &ProgressBar, common: &Common) -> Result<()> {
        let (rows, cols, element) = (self.rows, self.cols, size_of::<T>());
        let bytes = size_of_val(self.host) as f64;
        let title = format!("{rows} × {cols} elements of {element} bytes");
        let verified = format!("{title}, all results verified");
        let mut report = Report::new(common, self.device, verified, &COLUMNS, bar);
        if !self.device.is_gpu() {
            report.note("No GPU, so no times, and the simulator has one kind of memory for all.");
        }
        let speed = |time: Duration| bytes / time.as_secs_f64() / 1e9;
        let ms = |time: Duration| Cell::Number(time.as_secs_f64() * 1e3, 2, 3);
        let unmoved = [None; 2];
        let row = |name: String,
                   speeds: [Option<f64>; 2],
                   transposed: Option<Duration>,
                   sectors: [Option<u64>; 2]| {
            let speeds = speeds.map(|speed| speed.map(|speed| Cell::Number(speed, 1, 2)).into());
            let mut cells = vec![name.into(), rows.into(), cols.into(), element.into()];
            cells.extend(speeds);
            cells.push(transposed.map(ms).into());
            cells.extend(sectors.map(Cell::from));
            cells
        };
        let mut bars = Vec::new();
        for (way, times) in WAYS.iter().zip(times) {
            let name = way.name();
            let speeds = [&times.to_device, &times.back].map(|times| median(times).map(speed));
            report.row(row(name.clone(), speeds, median(&times.transposed), unmoved));
            let both = [("to device", &times.to_device, name), ("back", &times.back, "".into())];
            for (what, times, label) in both {
                let (Some(middle), Some((least, most))) = (median(times), spread(times)) else {
                    continue;
                };
                let spread = (speed(most), speed(least));
                bars.push(Bar { label, group: what.into(), value: speed(middle), spread });
            }
        }
        let sectors = self.sectors()?;
        report.row(row("device memory".into(), [None; 2], self.on_the_device()?, sectors));
        let [loaded, stored] =
            sectors.map(|sectors| sectors.map(|sectors| 32.0 * sectors as f64 / bytes));
        bars.extend(loaded.map(|moved| Bar::plain("device memory", "loads", moved)));
        bars.extend(stored.map(|moved| Bar::plain("", "stores", moved)));
        let unit =
            if loaded.is_some() { "bytes moved for each byte of the result" } else { "GB/s" };
        report.finish(|| Chart::new(format!("Kinds of memory, {title}"), unit, bars))
    }

    /// The sectors that the transpose alone loads and stores, if they can be counted.
    fn sectors(&self) -> Result<[Option<u64>; 2]> {
        let (a, mut b) = self.matrices()?;
        let transpose = || a.transpose_into_with(&mut b, self.strategy);
        let counted = profile::count(self.device, transpose)?;
        let sectors = counted.map(|c| [c.global_load.sectors, c.global_store.sectors]);
        Ok(sectors.map_or([None; 2], |sectors| sectors.map(Some)))
    }
}

/// The columns.
const COLUMNS: [Column; 9] = [
    Column::text("memory", "memory", 19),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::unseen("element_bytes"),
    Column::number("to_device_gb_per_s", "to device, GB/s", 0),
    Column::number("back_gb_per_s", "back, GB/s", 0),
    Column::number("transposed_ms", "transposed, ms", 0),
    Column::number("loaded_sectors", "loaded sectors", 0),
    Column::number("stored_sectors", "stored sectors", 0),
];

/// The wall-clock time of `work`.
fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Copies by a kernel.
fn copy<T: Pod>(src: MatrixView<'_, T>, mut dst: MatrixViewMut<'_, T>) -> transpose::Result<()> {
    Plan::copy(src, dst.reborrow())?.run(src, dst)
}

/// Reads from every page, so that all of them are here.
fn touch<T: Copy>(elements: &[T]) {
    const PAGE: usize = 4096;
    for element in elements.iter().step_by(PAGE / size_of::<T>()) {
        black_box(*element);
    }
}

/// The median, if there are times.
fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied()
}

/// The least and the greatest, if there are times.
fn spread(times: &[Duration]) -> Option<(Duration, Duration)> {
    Some((*times.iter().min()?, *times.iter().max()?))
}
