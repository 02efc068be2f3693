//! Prepares pictures as programs that train want them: bytes of BGR pixels become planes of normalized RGB numbers of 16 bits, some of them cut out and flipped, each in one pass.
//!
//! `cargo run --release --example pictures`

use transpose::interop::half::f16;
use transpose::{Device, DeviceTensor, NormalizingPlan, Result};

const MEANS: [f64; 3] = [123.675, 116.28, 103.53];
const DEVIATIONS: [f64; 3] = [58.395, 57.12, 57.375];

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // Pictures of 90 × 120 pixels, of which 64 × 96 are wanted: blue, green and red lie together.
    let (pictures, rows, cols, channels) = (6, 90, 120, 3);
    let (wanted_rows, wanted_cols) = (64, 96);
    let bytes = pictures * rows * cols * channels;
    let host: Vec<u8> = (0..bytes).map(|index| (index * 7 % 251) as u8).collect();
    let all = DeviceTensor::from_host(&device, &[pictures, rows, cols, channels], &host)?;
    let shape = [pictures, channels, wanted_rows, wanted_cols];
    let mut planes = DeviceTensor::<f16>::zeroed(&device, &shape)?;

    // Views move nothing: a window, channels in reverse order and in front, and, of some pictures, columns in reverse order.
    let window = |picture: usize, flipped: bool| {
        let window = all.view().index_axis(0, picture)?;
        let window = window.slice(0, 10..10 + wanted_rows, 1)?.slice(1, 16..16 + wanted_cols, 1)?;
        let window = window.slice(2, .., -1)?.permute_axes(&[2, 0, 1])?;
        if flipped { window.slice(2, .., -1) } else { Ok(window) }
    };

    // (byte - mean) / deviation is a factor and a summand for each channel. A plan of either kind holds their table on the device.
    let factors = DEVIATIONS.map(|deviation| 1.0 / deviation);
    let summands = [0, 1, 2].map(|channel| -MEANS[channel] / DEVIATIONS[channel]);
    let mut plan = |flipped: bool| {
        let first = planes.view_mut().index_axis(0, 0)?;
        NormalizingPlan::new(window(0, flipped)?, 0, &factors, &summands, first)
    };
    let plans = [plan(false)?, plan(true)?];
    for picture in 0..pictures {
        let flipped = picture % 2 == 1;
        let to = planes.view_mut().index_axis(0, picture)?;
        plans[usize::from(flipped)].run(window(picture, flipped)?, to)?;
    }

    let numbers = planes.to_host()?;
    let (picture, channel, row, col) = (3, 0, 20, 7);
    let number = numbers[((picture * channels + channel) * wanted_rows + row) * wanted_cols + col];
    // Red is the last of three, and the picture is flipped.
    let pixel = (picture * rows + 10 + row) * cols + 16 + wanted_cols - 1 - col;
    let byte = f64::from(host[pixel * channels + channels - 1 - channel]);
    let expected = (byte - MEANS[channel]) / DEVIATIONS[channel];
    assert!((number.to_f64() - expected).abs() < 0.002, "{number} is not {expected}");

    println!("{pictures} pictures, windows of {wanted_rows} × {wanted_cols} pixels to planes:");
    for (plan, what) in plans.iter().zip(["as they are", "flipped"]) {
        println!("  {what}: {}", plan.kernel_names().join(", "));
    }
    Ok(())
}
