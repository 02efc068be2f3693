//! Transposes numbers of 16 bits and complex numbers: the features `half` and `num-complex` make them elements.
//!
//! `cargo run --release --example numbers`

use transpose::interop::half::bf16;
use transpose::interop::num_complex::Complex32;
use transpose::{Device, DeviceMatrix, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();
    let (rows, cols) = (64, 48);

    let weights: Vec<bf16> = (0..rows * cols).map(|n| bf16::from_f32(n as f32)).collect();
    let weights = DeviceMatrix::from_host(&device, rows, cols, &weights)?;
    let transposed = weights.transposed()?.to_host()?;
    assert_eq!(transposed[1], bf16::from_f32(cols as f32));

    let signal: Vec<Complex32> = (0..rows * cols).map(|n| Complex32::new(n as f32, -1.0)).collect();
    let signal = DeviceMatrix::from_host(&device, rows, cols, &signal)?;
    let transposed = signal.transposed()?;
    // The same memory as real numbers: each row has twice as many.
    let parts = transposed.view().cast::<f32>()?;
    assert_eq!((parts.shape(), parts.to_host()?[3]), ((cols, 2 * rows), -1.0));

    println!("{rows} × {cols} of bf16 and of complex numbers, transposed");
    Ok(())
}
