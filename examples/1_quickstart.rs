//! Transposes one matrix with every strategy and says what each achieved.
//!
//! `cargo run --release --example quickstart -- [ROWS COLS]`

use anyhow::ensure;
use clap::Parser;
use support::device::DeviceChoice;
use support::race::{Contestant, Pairs, Timing};
use support::verify::is_transpose;
use transpose::study::driver_copy;
use transpose::{DeviceMatrix, Strategy};

/// Transpose a matrix of f32 with every strategy.
#[derive(Parser)]
struct Arguments {
    /// Rows of the matrix.
    #[arg(default_value_t = 1000)]
    rows: usize,
    /// Columns of the matrix.
    #[arg(default_value_t = 777)]
    cols: usize,
    /// Where to run: auto, cuda or sim.
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
}

fn main() -> anyhow::Result<()> {
    let Arguments { rows, cols, device } = Arguments::parse();
    let device = device.open()?;
    let host = support::race::counting_matrix(rows, cols)?;
    let bytes = size_of_val(&host[..]);
    println!("{rows} × {cols} f32, {:.1} MB", bytes as f64 / 1e6);

    // This is how the library is used; the rest is about speed.
    let matrix = DeviceMatrix::from_host(&device, rows, cols, &host)?;
    for strategy in Strategy::ALL {
        let transposed = matrix.transposed_with(strategy)?.to_host()?;
        ensure!(is_transpose(&host, rows, cols, &transposed), "{strategy}: wrong result");
    }
    drop(matrix);

    let mut contestants: Vec<Contestant<f32>> = vec![Box::new(|src, dst| driver_copy(src, dst))];
    for strategy in Strategy::ALL {
        contestants.push(Box::new(move |src, dst| src.transpose_into_with(dst, strategy)));
    }
    let mut pairs = Pairs::new(&device, 2 * bytes, || {
        let src = DeviceMatrix::from_host(&device, rows, cols, &host)?;
        Ok((src, DeviceMatrix::zeroed(&device, cols, rows)?))
    })?;
    match pairs.race(&mut contestants, 15, 10)? {
        Some(timings) => print_speeds(bytes, &timings),
        None => {
            for strategy in Strategy::ALL {
                println!("{strategy:<10} verified");
            }
            println!("(simulated: the result is exact, a time would mean nothing)");
        }
    }
    Ok(())
}

fn print_speeds(bytes: usize, timings: &[Timing]) {
    let copy = timings[0].gb_per_s(bytes);
    println!("{:<10} {:8}  {:>8}  {:>7}", "", "", "GB/s", "of copy");
    println!("{:<10} {:8}  {copy:>8.1}  {:>7.3}", "memcpy", "", 1.0);
    for (strategy, timing) in Strategy::ALL.iter().zip(&timings[1..]) {
        let speed = timing.gb_per_s(bytes);
        println!("{strategy:<10} verified  {speed:>8.1}  {:>7.3}", speed / copy);
    }
}
