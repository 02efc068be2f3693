//! What there is and what would be done with it: devices, links between them, the code that is loaded, the kernels, and the choice of
//! a kernel.
//!
//! `cargo run --release --bin info -- [devices|links|code|kernels|choice] [--shape 1000,777] [--axes 1,0] [--element 4]`
//!
//! On the simulator the code is that of the chip that it stands for. A file for each subject: `devices`, `code` (code and kernels),
//! `choice`; `cubin` reads machine code.

mod choice;
mod code;
mod cubin;
mod devices;

use anyhow::{Result, ensure};
use bench::output;
use bench::program::{self, Common, usage};
use clap::{Parser, ValueEnum};
use std::process::ExitCode;

/// Say what there is and what would be done with it.
#[derive(Parser)]
struct Arguments {
    /// What to say; everything but the kernels without this.
    #[arg(value_enum)]
    subjects: Vec<Subject>,
    /// The array to choose for: the length of each axis, the last one the fastest.
    #[arg(long, value_name = "LENGTH,…", value_delimiter = ',', default_value = "16384,16384")]
    shape: Vec<usize>,
    /// For each axis of the result, which axis of the array it is; the reverse order without this.
    #[arg(long, value_name = "AXIS,…", value_delimiter = ',')]
    axes: Option<Vec<usize>>,
    /// Bytes of an element of the array.
    #[arg(long, value_name = "BYTES", default_value_t = 4, value_parser = program::element)]
    element: usize,
    #[command(flatten)]
    common: Common,
}

/// What there is to say.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// The GPUs, or the simulator.
    Devices,
    /// Which GPU reaches the memory of which.
    Links,
    /// Which machine code, or PTX, is loaded.
    Code,
    /// Registers, shared memory and occupancy of each kernel.
    Kernels,
    /// What would be chosen for an array, and what else there would be.
    Choice,
}

fn main() -> ExitCode {
    program::main(|arguments: &Arguments| &arguments.common, run)
}

fn run(arguments: &Arguments) -> Result<()> {
    let common = &arguments.common;
    let mut subjects = arguments.subjects.clone();
    if subjects.is_empty() {
        subjects = vec![Subject::Devices, Subject::Links, Subject::Code, Subject::Choice];
    }
    let files = common.json || common.csv.is_some() || common.svg.is_some();
    let names: Vec<_> =
        Subject::value_variants().iter().filter_map(|s| s.to_possible_value()).collect();
    let names: Vec<_> = names.iter().map(|name| name.get_name()).collect();
    ensure!(
        !files || subjects.len() == 1,
        usage(format!("--json, --csv and --svg take one subject of {}", names.join(", ")))
    );
    let device = common.open()?;
    for (index, subject) in subjects.iter().enumerate() {
        if index > 0 {
            output::print("")?;
        }
        match subject {
            Subject::Devices => devices::devices(common, &device)?,
            Subject::Links => devices::links(common, &device, subjects.len() > 1)?,
            Subject::Code => code::code(common, &device)?,
            Subject::Kernels => code::kernels(common, &device)?,
            Subject::Choice => {
                let reversed = || (0..arguments.shape.len()).rev().collect();
                let axes = arguments.axes.clone().unwrap_or_else(reversed);
                choice::choice(common, &device, &arguments.shape, &axes, arguments.element)?;
            }
        }
    }
    Ok(())
}
