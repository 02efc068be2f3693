//! Transposes a NumPy file: `cargo run --release --example npy -- IN.npy OUT.npy`
//!
//! The elements are opaque: any dtype of 1, 2, 4, 8 or 16 bytes, in either byte order, arrives bit
//! for bit, and `numpy.load("OUT.npy")` equals `numpy.load("IN.npy").T`.

mod array;

use anyhow::{Result, bail};
use array::Array;
use bytemuck::Pod;
use clap::Parser;
use std::path::PathBuf;
use transpose::{Device, DeviceMatrix, Strategy};

/// Write the transpose of a two-dimensional NumPy array.
#[derive(Parser)]
struct Arguments {
    /// The .npy file to read.
    input: PathBuf,
    /// The .npy file to write.
    output: PathBuf,
    /// How to transpose: naive, tiled, padded, diagonal or auto.
    #[arg(long, default_value = "auto")]
    strategy: Strategy,
    /// Do without a GPU, even if there is one.
    #[arg(long)]
    simulated: bool,
}

fn main() -> Result<()> {
    let Arguments { input, output, strategy, simulated } = Arguments::parse();
    let mut array = Array::read(&input)?;
    let transpose = match array.element_bytes {
        1 => transposed::<u8>,
        2 => transposed::<u16>,
        4 => transposed::<u32>,
        8 => transposed::<u64>,
        16 => transposed::<u128>,
        bytes => {
            bail!("elements of {bytes} bytes ({}): 1, 2, 4, 8 and 16 are supported", array.descr)
        }
    };
    // In Fortran order the columns are what lies in rows, before the transpose and after it.
    let (rows, cols) =
        if array.fortran { (array.cols, array.rows) } else { (array.rows, array.cols) };
    let device = if simulated { Device::simulated() } else { Device::any().0 };
    array.bytes = transpose(&device, rows, cols, &array.bytes, strategy)?;
    (array.rows, array.cols) = (array.cols, array.rows);
    array.write(&output)
}

/// The transpose of a row-major `rows × cols` matrix of `T`, given and returned as bytes.
fn transposed<T: Pod>(
    device: &Device,
    rows: usize,
    cols: usize,
    bytes: &[u8],
    strategy: Strategy,
) -> Result<Vec<u8>> {
    let elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
    let matrix = DeviceMatrix::from_host(device, rows, cols, &elements)?;
    let transposed = matrix.transposed_with(strategy)?.to_host()?;
    Ok(bytemuck::cast_slice(&transposed).to_vec())
}
