//! Transposes part of a matrix into part of another one, without a copy of either.
//!
//! `cargo run --release --example windows`

use transpose::{Device, DeviceMatrix, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // An image of 6 rows × 8 columns; element (row, column) is 10 · row + column.
    let (rows, cols) = (6, 8);
    let image: Vec<u16> =
        (0..rows).flat_map(|row| (0..cols).map(move |col| 10 * row + col)).collect();
    let image = DeviceMatrix::from_host(&device, rows.into(), cols.into(), &image)?;
    let mut canvas = DeviceMatrix::<u16>::zeroed(&device, 5, 5)?;

    // Parts are given by ranges of rows and columns, as slices are.
    let source = image.submatrix(2..4, 3..7)?;
    let target = canvas.submatrix_mut(1.., ..2)?;
    source.transpose_into(target)?;

    println!("rows 2–3, columns 3–6 of the image, transposed, in rows 1–4 of the canvas:");
    let canvas = canvas.to_host()?;
    canvas.chunks(5).for_each(|row| println!("  {row:2?}"));
    assert_eq!(canvas[5..10], [23, 33, 0, 0, 0]);
    assert_eq!(canvas[20..25], [26, 36, 0, 0, 0]);
    Ok(())
}
