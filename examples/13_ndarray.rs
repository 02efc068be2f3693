//! Brings arrays of any order and stride to a device and back, without making them contiguous on the host.
//!
//! `cargo run --release --example ndarray`

use ndarray::{Array3, ShapeBuilder, s};
use transpose::{Device, DeviceTensor, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // Frames × rows × columns, the first axis the fastest: Fortran's order.
    let video =
        Array3::from_shape_fn((4, 3, 5).f(), |(t, row, col)| (100 * t + 10 * row + col) as u16);

    // The array's memory is uploaded as it lies; the device brings it into row-major order.
    let frames = DeviceTensor::from_ndarray(&device, &video)?;
    let pixels = frames.permuted(&[1, 2, 0])?;
    println!(
        "pixel (2, 3) over time: {}",
        pixels.to_ndarray::<ndarray::Ix3>()?.slice(s![2, 3, ..])
    );

    // Every second column of the last frame, into a part of an array.
    let mut canvas = Array3::<u16>::zeros((1, 5, 5));
    let part = frames.view().slice(0, 3.., 1)?.slice(2, .., 2)?;
    part.copy_to_ndarray(&mut canvas.slice_mut(s![.., 1..4, 1..4]))?;
    println!("{}", canvas.slice(s![0, .., ..]));

    assert_eq!(pixels.to_ndarray::<ndarray::Ix3>()?, video.permuted_axes([1, 2, 0]));
    assert_eq!(canvas.slice(s![0, 2, ..]).to_vec(), [0, 310, 312, 314, 0]);
    Ok(())
}
