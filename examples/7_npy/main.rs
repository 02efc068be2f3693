//! Brings the axes of a NumPy file into another order: `cargo run --release --example npy -- IN.npy OUT.npy [--axes 2,0,1]`
//!
//! The elements are opaque: any dtype without Python objects, of any width, in either byte order, arrives bit for bit, and
//! `numpy.load("OUT.npy")` equals `numpy.load("IN.npy").transpose(axes)`; without `--axes` that is `.T`, the reverse order.

mod array;

use anyhow::{Result, bail, ensure};
use array::Array;
use bytemuck::Pod;
use clap::Parser;
use std::path::PathBuf;
use transpose::{Device, DeviceMatrix, DeviceTensor, Strategy};

/// Write a NumPy array with its axes in another order.
#[derive(Parser)]
struct Arguments {
    /// The .npy file to read.
    input: PathBuf,
    /// The .npy file to write.
    output: PathBuf,
    /// For each axis of the result, which axis of the array it is; the reverse order without this.
    #[arg(long, value_delimiter = ',')]
    axes: Option<Vec<usize>>,
    /// How to transpose an array of two axes: naive, tiled, padded, diagonal or auto.
    #[arg(long, default_value = "auto", conflicts_with = "axes")]
    strategy: Strategy,
    /// Do without a GPU, even if there is one.
    #[arg(long)]
    simulated: bool,
}

fn main() -> Result<()> {
    let Arguments { input, output, axes, strategy, simulated } = Arguments::parse();
    let array = Array::read(&input)?;
    let rank = array.shape.len();
    let axes = axes.unwrap_or_else(|| (0..rank).rev().collect());
    let device = if simulated { Device::simulated() } else { Device::any().0 };
    let permuted = match strategy {
        Strategy::Auto => permuted(&device, array, &axes)?,
        strategy => transposed(&device, array, strategy)?,
    };
    permuted.write(&output)
}

/// The array with its axes in another order. The bytes of an element are one more axis, the fastest, which stays.
fn permuted(device: &Device, array: Array, axes: &[usize]) -> Result<Array> {
    let Array { shape, element_bytes, .. } = &array;
    let rank = shape.len();
    let whole: Vec<usize> = array.memory_shape().into_iter().chain([*element_bytes]).collect();
    ensure!(
        axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis)),
        "{axes:?} is no order of {rank} axes: each from 0 on is named once"
    );
    let order: Vec<usize> =
        axes.iter().map(|&axis| array.memory_axis(axis)).chain([rank]).collect();
    let tensor = DeviceTensor::from_host(device, &whole, &array.bytes)?;
    let bytes = tensor.permuted(&order)?.to_host()?;
    let shape = axes.iter().map(|&axis| shape[axis]).collect();
    Ok(Array { shape, fortran: false, bytes, ..array })
}

/// The transpose of an array of two axes, by one of the strategies that only know elements of some widths.
fn transposed(device: &Device, array: Array, strategy: Strategy) -> Result<Array> {
    let &[rows, cols] = &array.shape[..] else {
        bail!("{} dimensions {:?}: {strategy} transposes two", array.shape.len(), array.shape);
    };
    let by_strategy = match array.element_bytes {
        1 => by_strategy::<u8>,
        2 => by_strategy::<u16>,
        4 => by_strategy::<u32>,
        8 => by_strategy::<u64>,
        16 => by_strategy::<u128>,
        bytes => {
            bail!("elements of {bytes} bytes ({}): {strategy} moves 1, 2, 4, 8 and 16", array.descr)
        }
    };
    // In Fortran order the columns are what lies in rows, before the transpose and after it.
    let (down, along) = if array.fortran { (cols, rows) } else { (rows, cols) };
    let bytes = by_strategy(device, [down, along], &array.bytes, strategy)?;
    Ok(Array { shape: vec![cols, rows], bytes, ..array })
}

/// The transpose of a row-major matrix of `T`, given and returned as bytes.
fn by_strategy<T: Pod>(
    device: &Device,
    [rows, cols]: [usize; 2],
    bytes: &[u8],
    strategy: Strategy,
) -> Result<Vec<u8>> {
    let elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
    let matrix = DeviceMatrix::from_host(device, rows, cols, &elements)?;
    let transposed = matrix.transposed_with(strategy)?.to_host()?;
    Ok(bytemuck::cast_slice(&transposed).to_vec())
}
