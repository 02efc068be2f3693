//! What is refused, and how a program tells why.
//!
//! `cargo run --release --example errors`

use transpose::{Device, DeviceMatrix, Error, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    // A program can insist on a GPU, and say what is missing where there is none.
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(no_gpu) => {
            println!("no GPU: {no_gpu:#}"); // without the `#`, only the first line
            Device::simulated()
        }
    };
    let matrix = DeviceMatrix::<f32>::zeroed(&device, 40, 30)?;

    // Errors carry the numbers that explain them, for people and for programs.
    let mut wrong_shape = DeviceMatrix::zeroed(&device, 40, 30)?;
    match matrix.transpose_into(&mut wrong_shape) {
        Err(Error::ShapeMismatch { dst_rows, dst_cols, .. }) => {
            println!("refused: a destination of {dst_rows} × {dst_cols}");
        }
        other => panic!("expected a refusal, got {other:?}"),
    }
    for refusal in [
        matrix.window(35 * 30, 6, 30, 30).err(),
        DeviceMatrix::from_host(&device, 2, 3, &[1.0f32; 5]).err(),
        DeviceMatrix::<u64>::zeroed(&device, usize::MAX, 2).err(),
    ] {
        println!("refused: {}", refusal.expect("none of these can be done"));
    }

    // A refusal changes nothing, and the device goes on.
    assert_eq!(matrix.transposed()?.shape(), (30, 40));
    Ok(())
}
