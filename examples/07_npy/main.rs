//! Brings the axes of a NumPy file into another order: `cargo run --release --bin npy -- IN.npy OUT.npy [--axes 2,0,1]`
//!
//! The elements are opaque: any dtype without Python objects, of any width, in either byte order, arrives bit for bit, and
//! `numpy.load("OUT.npy")` equals `numpy.load("IN.npy").transpose(axes)`; without `--axes` that is `.T`, the reverse order.
//!
//! Files larger than memory are moved tile by tile: `--memory 2GiB` bounds what the program takes. Without a GPU the CPU does it, by all
//! of its cores. The output has its name only when it is complete.
//!
//! `literal` reads Python's literals, `dtype` and `header` what they say of an array, `array` the array; `permutation` moves it, from
//! memory to memory or from file to file; `target` writes files.

mod array;
mod dtype;
mod header;
mod literal;
mod permutation;
mod target;

use anyhow::{Context, Result, bail, ensure};
use array::Array;
use bytemuck::Pod;
use clap::Parser;
use habits::program::{self, Setting, usage};
use habits::{memory, progress};
use header::{Header, tuple};
use permutation::Permutation;
use std::fs::File;
use std::io::{Read, Seek, Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use target::Sink;
use transpose::{Device, DeviceMatrix, Strategy};

/// Write a NumPy array with its axes in another order.
#[derive(Parser)]
#[command(
    after_help = "Here --device cpu has the CPU do it by all of its cores, and so does auto where there is no GPU."
)]
struct Arguments {
    /// The .npy file to read; `-` for standard input.
    input: PathBuf,
    /// The .npy file to write; `-` for standard output.
    output: PathBuf,
    /// For each axis of the result, which axis of the array it is; the reverse order without this.
    #[arg(long, value_name = "AXIS,…", value_delimiter = ',')]
    axes: Option<Vec<usize>>,
    /// How to transpose an array of two axes: naive, tiled, padded, diagonal or auto.
    #[arg(long, default_value = "auto", conflicts_with = "axes")]
    strategy: Strategy,
    /// The most memory to take when one file is written from another, such as 512MiB or 2GiB.
    #[arg(long, default_value = "1GiB", value_parser = bytes)]
    memory: usize,
    #[command(flatten)]
    setting: Setting,
}

/// Parses a number of bytes.
fn bytes(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u32 = match &text[digits.len()..] {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err("this is no number of B, KiB, MiB or GiB, such as 512MiB".to_owned()),
    };
    let number: usize = digits.parse().map_err(|error| format!("{error}"))?;
    let bytes = number.checked_mul(1 << unit).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "as many bytes as can be addressed, and one at least".to_owned())
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
    let device = setting.open_or_cpu()?;
    let before = tuple(&header.shape);
    let follows = |follows: bool| {
        if follows {
            let input = input_name();
            setting.say(format_args!("something follows the array in {input}; it is left out"));
        }
    };
    let (written, after) = match arguments.strategy {
        Strategy::Auto => {
            let permutation = Permutation::new(&header, &axes)?;
            let after = permutation.header.clone();
            // Where the elements start, and how many bytes there are.
            let mut there = (0, 0);
            if let Source::File(file) = &mut source {
                let start = file.stream_position()?;
                there = (start, file.metadata()?.len().saturating_sub(start));
                array::require(&header, there.1).with_context(input_name)?;
            }
            let written = write(output, |sink| match (&mut source, sink) {
                (Source::File(file), Sink::File(new)) => {
                    follows(there.1 > bytes as u64);
                    let memory = arguments.memory;
                    let from = ((&*file, &**input), there.0);
                    permutation.between(from, (new, output), device.as_ref(), memory, setting)
                }
                (source, sink) => {
                    ensure_free(device.as_ref(), bytes)?;
                    let array = Array::read(header, &mut *source).with_context(input_name)?;
                    follows(source.read(&mut [0])? > 0);
                    let moved = permutation.in_memory(&array.bytes, device.as_ref())?;
                    sink.write_all(&[&permutation.header.to_bytes(), &moved])
                }
            });
            (written, after)
        }
        strategy => {
            let device = device.unwrap_or_else(Device::simulated);
            ensure_free(Some(&device), bytes)?;
            let array = Array::read(header, &mut source).with_context(input_name)?;
            follows(source.read(&mut [0])? > 0);
            let bar = progress::bar(setting, progress::BLOCK_STEPS);
            let array = progress::during(&bar, &device, || transposed(&device, array, strategy))?;
            bar.finish_and_clear();
            let parts = [&array.header.to_bytes()[..], &array.bytes];
            (write(output, |sink| sink.write_all(&parts)), array.header)
        }
    };
    let output_name = name(output, "standard output");
    written.map_err(|error| {
        if names_a_file(&error) { error } else { error.context(output_name.clone()) }
    })?;
    let (descr, after) = (dtype::brief(&after.descr), tuple(&after.shape));
    setting.say(format_args!(
        "wrote {output_name}: {descr}, {before} to {after}, {bytes} bytes of elements"
    ));
    Ok(())
}

/// Makes sure that there is memory for the array and its permutation, each as bytes and as words, and as words on a simulated device.
fn ensure_free(device: Option<&Device>, bytes: usize) -> Result<()> {
    let copies = if device.is_some_and(|device| !device.is_gpu()) { 6 } else { 4 };
    memory::ensure_free_on_host(bytes.saturating_mul(copies))
}

/// Whether an error says itself of which file it is.
fn names_a_file(error: &anyhow::Error) -> bool {
    use transpose::Error::{Read, Write};
    matches!(error.downcast_ref(), Some(Read { path: Some(_), .. } | Write { path: Some(_), .. }))
}

/// What a path is called in messages.
fn name(path: &Path, dash: &str) -> String {
    if path == Path::new("-") { dash.to_owned() } else { path.display().to_string() }
}

/// What is read.
enum Source {
    /// A regular file, at any place.
    File(File),
    /// What gives bytes one after the other.
    Stream(Box<dyn Read>),
}

impl Read for Source {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Source::File(file) => file.read(bytes),
            Source::Stream(stream) => stream.read(bytes),
        }
    }
}

fn source(path: &Path) -> Result<Source> {
    if path == Path::new("-") {
        return Ok(Source::Stream(Box::new(stdin().lock())));
    }
    let file = File::open(path)?;
    let is_file = file.metadata()?.is_file();
    Ok(if is_file { Source::File(file) } else { Source::Stream(Box::new(file)) })
}

fn write(path: &Path, fill: impl FnOnce(Sink) -> Result<()>) -> Result<()> {
    if path != Path::new("-") {
        return target::write(path, fill);
    }
    let mut output = stdout().lock();
    fill(Sink::Stream(&mut output))?;
    Ok(output.flush()?)
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
