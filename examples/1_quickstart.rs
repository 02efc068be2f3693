//! Transposes one matrix with every strategy and, on a GPU, says how fast each is beside a copy.
//!
//! `cargo run --release --example quickstart -- [ROWS COLS]`

use clap::Parser;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};
use transpose::{Device, DeviceMatrix, Strategy};

/// Transpose a matrix with every strategy.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix.
    #[arg(default_value_t = 1000)]
    rows: usize,
    /// Columns of the matrix.
    #[arg(default_value_t = 777)]
    cols: usize,
}

fn main() -> ExitCode {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let Err(error) = run(&Arguments::parse()) else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn run(&Arguments { rows, cols }: &Arguments) -> Result<(), Box<dyn Error>> {
    // This is how the library is used.
    let (device, _why_no_gpu) = Device::any();
    let elements = rows.checked_mul(cols).ok_or("more elements than can be counted")?;
    ensure_memory(&device, elements)?;
    let host: Vec<u32> = (0..elements).map(|index| index as u32).collect();
    println!("{rows} × {cols} u32 on {device}");
    let matrix = DeviceMatrix::from_host(&device, rows, cols, &host)?;
    for &strategy in Strategy::ALL {
        let transposed = matrix.transposed_with(strategy)?.to_host()?;
        let expected = |index: usize| (index % rows * cols + index / rows) as u32;
        if !transposed.iter().enumerate().all(|(index, &e)| e == expected(index)) {
            return Err(format!("{strategy}: wrong result").into());
        }
        println!("{strategy:<10} verified");
    }
    if device.is_gpu() && elements > 0 {
        return measure(&device, &matrix);
    }
    println!("(the simulator's result is exact; its time would mean nothing)");
    Ok(())
}

/// Asks what memory there is: the elements and the result are on the host, and on the simulator so are both matrices.
fn ensure_memory(device: &Device, elements: usize) -> Result<(), String> {
    let matrices = if device.is_gpu() { 2 } else { 4 };
    let needed = elements as f64 * (matrices * size_of::<u32>()) as f64;
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let limits = system.cgroup_limits();
    let left = limits.map_or(u64::MAX, |limits| limits.total_memory.saturating_sub(limits.rss));
    let free = system.available_memory().min(left) as f64;
    if needed > free {
        let (needed, free) = (needed / 1e9, free / 1e9);
        return Err(format!("{needed:.1} GB of host memory are needed, {free:.1} GB are free"));
    }
    Ok(())
}

/// Lets the driver's copy and all strategies take turns, and prints the median turn of each.
fn measure(device: &Device, src: &DeviceMatrix<u32>) -> Result<(), Box<dyn Error>> {
    const TURNS: usize = 15;
    const LAUNCHES: u32 = 10;
    let mut copy = DeviceMatrix::zeroed(device, src.nrows(), src.ncols())?;
    let mut dst = DeviceMatrix::zeroed(device, src.ncols(), src.nrows())?;
    let ways: Vec<_> =
        std::iter::once(None).chain(Strategy::ALL.iter().copied().map(Some)).collect();
    let mut times = vec![Vec::new(); ways.len()];
    for _ in 0..TURNS {
        for (way, times) in ways.iter().zip(&mut times) {
            let mut launch = || match *way {
                None => src.copy_into(&mut copy),
                Some(strategy) => src.transpose_into_with(&mut dst, strategy),
            };
            times.extend(device.time(|| (0..LAUNCHES).try_for_each(|_| launch()))?);
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times[TURNS / 2].as_secs_f64() / f64::from(LAUNCHES)
    };
    let seconds: Vec<f64> = times.iter_mut().map(median).collect();
    // Every element is read once and written once.
    let bytes = 2 * src.ncols() * src.nrows() * size_of::<u32>();
    println!("{:<10} {:>8}  {:>7}", "verified", "GB/s", "of copy");
    for (way, time) in ways.iter().zip(&seconds) {
        let name = way.map_or("memcpy", Strategy::name);
        println!("{name:<10} {:>8.1}  {:>7.3}", bytes as f64 / time / 1e9, seconds[0] / time);
    }
    Ok(())
}
