//! Pageable, pinned, mapped and unified memory: how fast to the GPU and back, and how long until
//! a matrix in host memory is transposed in host memory.
//!
//! `cargo run --release --bin memory_kinds -- [--rows R] [--cols C]`
//!
//! Wall-clock times from call to readable result, the median of some repetitions; the host has
//! touched all of its memory before each. Results are verified after the timing. This is the
//! comparison of Grossi's lecture 7, which measured the first two kinds on a Tesla K40.

use anyhow::{Result, ensure};
use bench::device::DeviceChoice;
use bench::kernels::elements;
use bench::output::Files;
use bench::progress;
use bench::svg::{Bar, bar_chart};
use bench::verify::is_transpose;
use bench::with_element;
use bytemuck::Pod;
use clap::Parser;
use indicatif::ProgressBar;
use std::hint::black_box;
use std::time::{Duration, Instant};
use study::{HostMatrix, MemoryKind};
use transpose::simt::Counters;
use transpose::{Device, DeviceMatrix, MatrixView, MatrixViewMut, Plan, Strategy};

/// Compare the kinds of memory that a GPU can reach.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix [default: 16384; 512 on the simulator].
    #[arg(long)]
    rows: Option<usize>,
    /// Columns of the matrix [default: 16384; 512 on the simulator].
    #[arg(long)]
    cols: Option<usize>,
    /// Bytes of an element: 1, 2, 4, 8 or 16.
    #[arg(long, default_value_t = 4)]
    element: usize,
    /// Repetitions.
    #[arg(long, default_value_t = 7)]
    reps: usize,
    /// How to transpose: naive, tiled, padded, diagonal or auto. The kernels of auto are made for
    /// the GPU's own memory and are slower than padded over the bus.
    #[arg(long, default_value = "padded")]
    strategy: Strategy,
    #[command(flatten)]
    files: Files,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
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
}

const WAYS: [Way; 4] = [
    Way::Pageable,
    Way::Copied(MemoryKind::Pinned),
    Way::Reached(MemoryKind::Mapped),
    Way::Reached(MemoryKind::Unified),
];

impl Way {
    fn name(self) -> String {
        match self {
            Way::Pageable => "pageable, copied".to_owned(),
            Way::Copied(kind) => format!("{kind}, copied"),
            Way::Reached(kind) => format!("{kind}, by kernels"),
        }
    }
}

/// The median times of one way, and all of them.
struct Times {
    to_device: Vec<Duration>,
    back: Vec<Duration>,
    transposed: Vec<Duration>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.reps > 0, "no repetitions, no measurement");
    let device = arguments.device.open()?;
    with_element!(arguments.element, T => compare::<T>(&arguments, &device))
}

fn compare<T: Pod + PartialEq>(arguments: &Arguments, device: &Device) -> Result<()> {
    let default = if device.is_gpu() { 16384 } else { 512 };
    let (rows, cols) = (arguments.rows.unwrap_or(default), arguments.cols.unwrap_or(default));
    let host: Vec<T> = elements(rows, cols)?;
    println!(
        "{rows} × {cols} elements of {} bytes, {:.1} MB",
        size_of::<T>(),
        size_of_val(&host[..]) as f64 / 1e6
    );
    let bench = Bench {
        device,
        rows,
        cols,
        host: &host,
        reps: arguments.reps,
        strategy: arguments.strategy,
    };
    let bar = progress::bar(WAYS.len() * (arguments.reps + 1));
    let mut times = Vec::new();
    for way in WAYS {
        times.push(match way {
            Way::Pageable => bench.pageable(&bar)?,
            Way::Copied(kind) => bench.copied(kind, &bar)?,
            Way::Reached(kind) => bench.reached(kind, &bar)?,
        });
    }
    bar.finish_and_clear();
    if !device.is_gpu() {
        return bench.simulated();
    }
    bench.report(&times, bench.on_the_device()?, &arguments.files)
}

struct Bench<'a, T> {
    device: &'a Device,
    rows: usize,
    cols: usize,
    host: &'a [T],
    reps: usize,
    strategy: Strategy,
}

impl<T: Pod + PartialEq> Bench<'_, T> {
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
        ensure!(is_transpose(self.host, self.rows, self.cols, result), "wrong result");
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

    /// The device's time for the transpose alone.
    fn on_the_device(&self) -> Result<Duration> {
        let (a, mut b) = self.matrices()?;
        let mut times = Vec::new();
        for _ in 0..=self.reps {
            let transpose = || a.transpose_into_with(&mut b, self.strategy);
            times.extend(self.device.time(transpose)?);
        }
        Ok(median(&times[1..]))
    }

    /// What can be said without a GPU.
    fn simulated(&self) -> Result<()> {
        println!("all results verified");
        let (a, mut b) = self.matrices()?;
        let transpose = || a.transpose_into_with(&mut b, self.strategy);
        if let Some(Counters { global_load, global_store, .. }) =
            profile::count(self.device, transpose)?
        {
            println!("no GPU, so no times, and the simulator has one kind of memory for all;");
            println!(
                "a transpose loads {} bytes in {} sectors",
                global_load.requested_bytes, global_load.sectors
            );
            println!(
                "and stores {} bytes in {} sectors",
                global_store.requested_bytes, global_store.sectors
            );
        }
        Ok(())
    }

    fn matrices(&self) -> transpose::Result<(DeviceMatrix<T>, DeviceMatrix<T>)> {
        let a = DeviceMatrix::zeroed(self.device, self.rows, self.cols)?;
        Ok((a, DeviceMatrix::zeroed(self.device, self.cols, self.rows)?))
    }

    fn report(&self, times: &[Times], device_alone: Duration, files: &Files) -> Result<()> {
        let bytes = size_of_val(self.host) as f64;
        let speed = |time: Duration| bytes / time.as_secs_f64() / 1e9;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!(
            "{:<20} {:>14} {:>12} {:>16}",
            "", "to device GB/s", "back GB/s", "transposed in ms"
        );
        let (mut bars, mut records) = (Vec::new(), Vec::new());
        for (way, times) in WAYS.iter().zip(times) {
            let name = way.name();
            let medians = [&times.to_device, &times.back, &times.transposed].map(|t| median(t));
            let [to_device, back] = [speed(medians[0]), speed(medians[1])];
            let transposed = ms(medians[2]);
            println!("{name:<20} {to_device:>14.1} {back:>12.1} {transposed:>16.2}");
            records.push(vec![
                name.clone(),
                format!("{to_device:.2}"),
                format!("{back:.2}"),
                format!("{transposed:.3}"),
            ]);
            for (what, times) in [("to device", &times.to_device), ("back", &times.back)] {
                let spread = spread(times);
                let bar = Bar {
                    label: format!("{name}, {what}"),
                    group: what.into(),
                    value: speed(median(times)),
                    spread: (speed(spread.1), speed(spread.0)),
                };
                bars.push(bar);
            }
        }
        println!("{:<20} {:>14} {:>12} {:>16.2}", "device memory", "", "", ms(device_alone));
        records.push(vec![
            "device memory".into(),
            String::new(),
            String::new(),
            format!("{:.3}", ms(device_alone)),
        ]);
        println!("all results verified");
        let header = ["memory", "to_device_gb_per_s", "back_gb_per_s", "transposed_ms"];
        let title = format!("{} × {}, {} bytes an element", self.rows, self.cols, size_of::<T>());
        files.write(&header, &records, || bar_chart(&title, "GB/s", &bars))
    }
}

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

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn spread(times: &[Duration]) -> (Duration, Duration) {
    let (min, max) = (times.iter().min(), times.iter().max());
    (min.copied().unwrap_or_default(), max.copied().unwrap_or_default())
}
