//! Moves arrays of more than two axes: an image's channels to the front, and a mirrored part of it.
//!
//! `cargo run --release --example axes`

use transpose::{Device, DeviceTensor, Plan, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // 4 images of 60 × 80 pixels, each of three f32: channels last.
    let (images, rows, cols, channels) = (4, 60, 80, 3);
    let host: Vec<f32> = (0..images * rows * cols * channels).map(|index| index as f32).collect();
    let last = DeviceTensor::from_host(&device, &[images, rows, cols, channels], &host)?;

    // Channels first. Axis i of the result is axis axes[i] of the source.
    let first = last.permuted(&[0, 3, 1, 2])?;
    let elements = first.to_host()?;
    let at = |image, channel, row, col| {
        elements[((image * channels + channel) * rows + row) * cols + col]
    };
    assert_eq!(at(2, 1, 30, 7), host[((2 * rows + 30) * cols + 7) * channels + 1]);

    // A view moves nothing: the green channel, every second row, mirrored. Copying it moves it.
    let green = last.view().index_axis(3, 1)?.slice(1, .., 2)?.slice(2, .., -1)?;
    let small = green.to_tensor()?.to_host()?;
    assert_eq!(small[(2 * rows / 2 + 15) * cols + 7], at(2, 1, 30, cols - 1 - 7));

    // How a move goes; a plan is made once where the same move is made again and again.
    let mut reversed = DeviceTensor::zeroed(&device, &[channels, cols, rows, images])?;
    let plan = Plan::moving(last.view().t(), &mut reversed)?;
    plan.run(last.view().t(), &mut reversed)?;
    println!("{images} images of {rows} × {cols} pixels of {channels} f32, all axes reversed:");
    println!("  {plan}");
    Ok(())
}
