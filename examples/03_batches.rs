//! Transposes many small matrices in one launch.
//!
//! `cargo run --release --example batches`

use transpose::{Batch, Device, DeviceMatrix, Plan, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // 1000 matrices of 16 × 24 f32, one after the other in one buffer.
    let (count, rows, cols) = (1000, 16, 24);
    let host: Vec<f32> = (0..count * rows * cols).map(|index| index as f32).collect();
    let src = DeviceMatrix::from_host(&device, count * rows, cols, &host)?;
    let mut dst = DeviceMatrix::zeroed(&device, count * cols, rows)?;

    // Two windows say where the first matrix lies and where its transpose goes; the strides are the elements from
    // each matrix's start to the next's. They may be larger than a matrix: what lies between is left alone.
    let batch = Batch { count, src_stride: rows * cols, dst_stride: rows * cols };
    let first = src.window(0, rows, cols, cols)?;
    first.transpose_batched_into(dst.window_mut(0, cols, rows, rows)?, batch)?;

    let transposed = dst.to_host()?;
    for number in 0..count {
        for (row, col) in [(0, 0), (3, 17), (15, 23)] {
            let matrix = number * rows * cols;
            assert_eq!(transposed[matrix + col * rows + row], host[matrix + row * cols + col]);
        }
    }
    let plan = Plan::batched(first, dst.window_mut(0, cols, rows, rows)?, batch)?;
    println!("{count} matrices of {rows} × {cols} f32, transposed by one launch:");
    println!("  {plan}");
    Ok(())
}
