//! Brings the axes of a NumPy file into another order: `cargo run --release --bin npy -- IN.npy OUT.npy [--axes 2,0,1]`
//!
//! The elements are opaque: any dtype without Python objects, of any width, in either byte order, arrives bit for bit, and
//! `numpy.load("OUT.npy")` equals `numpy.load("IN.npy").transpose(axes)`; without `--axes` that is `.T`, the reverse order.
//!
//! `literal` reads Python's literals, `dtype` and `header` what they say of an array, `array` the array; `target` writes files.

mod array;
mod dtype;
mod header;
mod literal;
mod target;

use anyhow::{Context, Result, bail, ensure};
use array::Array;
use bytemuck::Pod;
use clap::Parser;
use habits::program::{self, Setting, usage};
use habits::{memory, progress};
use header::{Header, tuple};
use std::fs::File;
use std::io::{Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use transpose::{Device, DeviceMatrix, DeviceTensor, MOST_AXES, Strategy};

/// Write a NumPy array with its axes in another order.
#[derive(Parser)]
struct Arguments {
    /// The .npy file to read; `-` for standard input.
    input: PathBuf,
    /// The .npy file to write; `-` for standard output.
    output: PathBuf,
    /// For each axis of the result, which axis of the array it is; the reverse order without this.
    #[arg(long, value_delimiter = ',')]
    axes: Option<Vec<usize>>,
    /// How to transpose an array of two axes: naive, tiled, padded, diagonal or auto.
    #[arg(long, default_value = "auto", conflicts_with = "axes")]
    strategy: Strategy,
    #[command(flatten)]
    setting: Setting,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.setting, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { input, output, setting, .. } = arguments;
    let input_name = || name(input, "standard input");
    let mut source = source(input).with_context(input_name)?;
    let header = Header::read(&mut source).with_context(input_name)?;
    let bytes = header.bytes().with_context(input_name)?;
    let rank = header.shape.len();
    let axes = arguments.axes.clone().unwrap_or_else(|| (0..rank).rev().collect());
    ensure!(
        axes.len() == rank && (0..rank).all(|axis| axes.contains(&axis)),
        usage(format!("{axes:?} is no order of {rank} axes: each from 0 on is named once"))
    );
    let device = setting.open()?;
    // The array and its permutation, which a simulated device holds as well.
    let both = bytes.saturating_mul(2);
    memory::ensure_free(&device, both, both)?;
    let array = Array::read(header, &mut source).with_context(input_name)?;
    if source.read(&mut [0])? > 0 {
        let input = input_name();
        setting.say(format_args!("something follows the array in {input}; it is left out"));
    }
    let before = tuple(&array.header.shape);
    let bar = progress::bar(setting, progress::BLOCK_STEPS);
    let array = progress::during(&bar, &device, || match arguments.strategy {
        Strategy::Auto => permuted(&device, array, &axes),
        strategy => transposed(&device, array, strategy),
    })?;
    bar.finish_and_clear();
    let (output_name, header) = (name(output, "standard output"), &array.header);
    write(output, &[&header.to_bytes(), &array.bytes]).context(output_name.clone())?;
    let descr = dtype::brief(&header.descr);
    let (shape, bytes) = (tuple(&header.shape), array.bytes.len());
    setting.say(format_args!(
        "wrote {output_name}: {descr}, {before} to {shape}, {bytes} bytes of elements"
    ));
    Ok(())
}

/// What a path is called in messages.
fn name(path: &Path, dash: &str) -> String {
    if path == Path::new("-") { dash.to_owned() } else { path.display().to_string() }
}

fn source(path: &Path) -> Result<Box<dyn Read>> {
    Ok(match path == Path::new("-") {
        true => Box::new(stdin().lock()),
        false => Box::new(File::open(path)?),
    })
}

fn write(path: &Path, parts: &[&[u8]]) -> Result<()> {
    if path != Path::new("-") {
        return target::write(path, parts);
    }
    let mut output = stdout().lock();
    parts.iter().try_for_each(|part| output.write_all(part))?;
    Ok(output.flush()?)
}

/// The array with its axes in another order. The bytes of an element are one more axis, the fastest, which stays.
fn permuted(device: &Device, array: Array, axes: &[usize]) -> Result<Array> {
    let Header { shape, element_bytes, .. } = &array.header;
    let lengths = array.memory_shape();
    // Axes of one element are nothing that moves; an array may have more of them than a tensor may have axes.
    let moving: Vec<usize> = (0..lengths.len()).filter(|&axis| lengths[axis] != 1).collect();
    let most = MOST_AXES - 1;
    let count = moving.len();
    ensure!(count <= most, "an array of {count} axes longer than 1; {most} are the most");
    let whole = moving.iter().map(|&axis| lengths[axis]).chain([*element_bytes]);
    let whole: Vec<usize> = whole.collect();
    let order = axes.iter().filter_map(|&axis| {
        moving.iter().position(|&memory_axis| memory_axis == array.memory_axis(axis))
    });
    let order: Vec<usize> = order.chain([count]).collect();
    let tensor = DeviceTensor::from_host(device, &whole, &array.bytes)?;
    let bytes = tensor.permuted(&order)?.to_host()?;
    let shape = axes.iter().map(|&axis| shape[axis]).collect();
    Ok(Array { header: Header { shape, fortran: false, ..array.header }, bytes })
}

/// The transpose of an array of two axes, by one of the strategies that only know elements of some widths.
fn transposed(device: &Device, array: Array, strategy: Strategy) -> Result<Array> {
    let &[rows, cols] = &array.header.shape[..] else {
        let shape = tuple(&array.header.shape);
        bail!(usage(format!("an array of shape {shape}: {strategy} transposes two axes")));
    };
    let by_strategy = match array.header.element_bytes {
        1 => by_strategy::<u8>,
        2 => by_strategy::<u16>,
        4 => by_strategy::<u32>,
        8 => by_strategy::<u64>,
        16 => by_strategy::<u128>,
        bytes => bail!(usage(format!("{bytes}-byte elements: {strategy} moves 1, 2, 4, 8 and 16"))),
    };
    // In Fortran order the columns are what lies in rows, before the transpose and after it.
    let (down, along) = if array.header.fortran { (cols, rows) } else { (rows, cols) };
    let bytes = by_strategy(device, [down, along], &array.bytes, strategy)?;
    Ok(Array { header: Header { shape: vec![cols, rows], ..array.header }, bytes })
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
