//! Batches of squares, each transposed in its own place, all in one launch.

use anyhow::{Result, ensure};
use bench::in_place::{Numbered, median};
use transpose::{Device, DeviceMatrix};

/// A batch, and how fast it was.
pub struct Batch {
    /// How many squares.
    pub count: usize,
    /// Rows and columns of each.
    pub side: usize,
    /// Bytes of an element.
    pub bytes: usize,
    /// GB/s of a copy and of the squares, if the device has a clock.
    pub gb_per_s: Option<(f64, f64)>,
}

const SIDES: [usize; 5] = [8, 32, 100, 197, 512];

/// How many batches there are.
pub const BATCHES: usize = SIDES.len() * 6;

/// Batches of squares of every side, of about so many bytes, of elements of each size.
pub fn batches(
    device: &Device,
    bytes: usize,
    turns: usize,
    told: &mut dyn FnMut(Batch),
) -> Result<()> {
    for side in SIDES {
        told(batch::<u8>(device, bytes, side, turns)?);
        told(batch::<u16>(device, bytes, side, turns)?);
        told(batch::<u32>(device, bytes, side, turns)?);
        told(batch::<u64>(device, bytes, side, turns)?);
        told(batch::<u128>(device, bytes, side, turns)?);
        told(batch::<[u8; 3]>(device, bytes, side, turns)?);
    }
    Ok(())
}

fn batch<T: Numbered>(device: &Device, bytes: usize, side: usize, turns: usize) -> Result<Batch> {
    let element = size_of::<T>();
    let count = (bytes / (side * side * element)).max(1);
    let host: Vec<T> = (0..count * side * side).map(T::numbered).collect();
    let mut squares = DeviceMatrix::from_host(device, count * side, side, &host)?;
    let gb_per_s = if device.is_gpu() {
        let mut target = DeviceMatrix::<T>::zeroed(device, count * side, side)?;
        let (mut copies, mut times) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            copies.push(device.time(|| squares.copy_into(&mut target))?);
            times.push(device.time(|| squares.transpose_squares_in_place())?);
            // As they were.
            squares.transpose_squares_in_place()?;
        }
        let moved = (2 * size_of_val(host.as_slice())) as f64;
        let speed = |times| median(times).map(|time| moved / time.as_secs_f64() / 1e9);
        speed(copies).zip(speed(times))
    } else {
        None
    };
    squares.transpose_squares_in_place()?;
    let result = squares.to_host()?;
    let turned = |at: usize| at / (side * side) * side * side + at % side * side + at / side % side;
    let right = result.iter().enumerate().all(|(at, element)| *element == host[turned(at)]);
    ensure!(right, "{count} squares of {side} × {side}: wrong result");
    Ok(Batch { count, side, bytes: element, gb_per_s })
}
