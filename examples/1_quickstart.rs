//! Transposes one matrix with every strategy and, on a GPU, says how fast each is beside a copy.
//!
//! `cargo run --release --example quickstart -- [ROWS COLS]`

use std::error::Error;
use std::time::Duration;
use transpose::{Device, DeviceMatrix, Strategy};

fn main() -> Result<(), Box<dyn Error>> {
    let mut sizes = std::env::args().skip(1).map(|size| size.parse());
    let rows: usize = sizes.next().unwrap_or(Ok(1000))?;
    let cols: usize = sizes.next().unwrap_or(Ok(777))?;
    let elements = rows.checked_mul(cols).ok_or("too many elements")?;
    let mut host = Vec::new();
    host.try_reserve_exact(elements)?;
    host.extend((0..elements).map(|index| index as u32));

    // This is how the library is used.
    let (device, _why_no_gpu) = Device::any();
    println!("{rows} × {cols} u32 on {device}");
    let matrix = DeviceMatrix::from_host(&device, rows, cols, &host)?;
    for strategy in Strategy::ALL {
        let transposed = matrix.transposed_with(strategy)?.to_host()?;
        let expected = |index: usize| (index % rows * cols + index / rows) as u32;
        assert!(transposed.iter().enumerate().all(|(index, &e)| e == expected(index)));
        println!("{strategy:<10} verified");
    }
    if device.is_gpu() && elements > 0 {
        return measure(&device, &matrix);
    }
    println!("(the simulator's result is exact; its time would mean nothing)");
    Ok(())
}

/// Lets the driver's copy and all strategies take turns, and prints the median turn of each.
fn measure(device: &Device, src: &DeviceMatrix<u32>) -> Result<(), Box<dyn Error>> {
    const TURNS: usize = 15;
    const LAUNCHES: u32 = 10;
    let mut copy = DeviceMatrix::zeroed(device, src.nrows(), src.ncols())?;
    let mut dst = DeviceMatrix::zeroed(device, src.ncols(), src.nrows())?;
    let ways: Vec<_> = std::iter::once(None).chain(Strategy::ALL.map(Some)).collect();
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
    println!("{:<10} {:>8}  {:>7}", "", "GB/s", "of copy");
    for (way, time) in ways.iter().zip(&seconds) {
        let name = way.map_or("memcpy", Strategy::name);
        println!("{name:<10} {:>8.1}  {:>7.3}", bytes as f64 / time / 1e9, seconds[0] / time);
    }
    Ok(())
}
