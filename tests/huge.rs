//! Matrices of more than 2³² elements, on request: `cargo test --release --test huge -- --ignored`. On a GPU that
//! takes seconds and 10 GB, on the simulator minutes and 14 GB.

use rayon::prelude::*;
use transpose::{Device, DeviceMatrix};

/// What the element in a place is: all bits of the place's number have a say.
fn element(place: usize) -> u8 {
    ((place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn matrix(device: &Device, rows: usize, cols: usize) -> DeviceMatrix<u8> {
    assert!(rows * cols > 1 << 32);
    let elements: Vec<u8> = (0..rows * cols).into_par_iter().map(element).collect();
    DeviceMatrix::from_host(device, rows, cols, &elements).unwrap()
}

/// Compares every element with where it came from in a `rows × cols` matrix.
fn check(transposed: &DeviceMatrix<u8>, rows: usize, cols: usize) {
    assert_eq!(transposed.shape(), (cols, rows));
    let elements = transposed.to_host().unwrap();
    elements.par_chunks(rows).enumerate().for_each(|(col, elements)| {
        for (row, &actual) in elements.iter().enumerate() {
            assert!(actual == element(row * cols + col), "row {row}, column {col}");
        }
    });
}

fn out_of_place(device: &Device, rows: usize, cols: usize) {
    check(&matrix(device, rows, cols).transposed().unwrap(), rows, cols);
}

fn in_place(device: &Device, rows: usize, cols: usize) {
    let mut matrix = matrix(device, rows, cols);
    matrix.transpose_in_place().unwrap();
    check(&matrix, rows, cols);
}

/// Shapes of each kernel that a matrix of bytes can need.
fn all(device: &Device) {
    for (rows, cols) in [(65536, 65552), (65537, 65539), (1_431_655_777, 3), (3, 1_431_655_777)] {
        out_of_place(device, rows, cols);
    }
    for (rows, cols) in [(65552, 65552), (70000, 61440), (65537, 65539)] {
        in_place(device, rows, cols);
    }
}

#[test]
#[ignore = "needs 10 GB of a GPU's memory"]
fn on_a_gpu() {
    if let Some(device) = transpose_tests::gpu() {
        all(&device);
    }
}

#[test]
#[ignore = "needs minutes and 14 GB"]
fn on_the_simulator() {
    for (rows, cols) in [(65536, 65552), (65537, 65539)] {
        out_of_place(&Device::simulated(), rows, cols);
    }
}
