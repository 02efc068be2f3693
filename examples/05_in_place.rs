//! Transposes matrices in their own memory.
//!
//! `cargo run --release --example transpose_in_place`

use transpose::{Device, DeviceMatrix, InPlace, InPlacePlan, Result};

fn main() -> Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    let (device, _why_no_gpu) = Device::any();

    // The matrix keeps its memory and changes its shape.
    let host: Vec<u64> = (0..6).collect();
    let mut matrix = DeviceMatrix::from_host(&device, 2, 3, &host)?;
    matrix.transpose_in_place()?;
    assert_eq!((matrix.shape(), matrix.to_host()?), ((3, 2), vec![0, 3, 1, 4, 2, 5]));

    // A plan says beforehand how often the matrix is read and written, and how much memory beside it is needed:
    // a second matrix would be 5.6 MB.
    let (rows, cols) = (1200, 1170);
    let host: Vec<u32> = (0..rows * cols).collect();
    let mut large = DeviceMatrix::from_host(&device, rows as usize, cols as usize, &host)?;
    let mut plan = InPlacePlan::new(&large, InPlace::Auto)?;
    println!(
        "{rows} × {cols} by {}: {} × read and written, {} bytes beside the matrix",
        plan.algorithm(),
        plan.passes(),
        plan.extra_bytes()
    );
    plan.run(&mut large)?;
    let transposed = large.to_host()?;
    let expected = |index: u32| index % rows * cols + index / rows;
    assert!((0..rows * cols).zip(&transposed).all(|(index, &element)| element == expected(index)));
    Ok(())
}
