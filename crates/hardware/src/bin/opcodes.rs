//! Runs every instruction on a GPU, compares it with the simulator, and writes the table.
//!
//! `opcodes FILE [SEED]` writes what the GPU answered, for `zstd -19` to compress into `crates/hardware/data/opcodes.zst`. Each difference
//! from the simulator is printed with its operands, a few for each instruction.

use std::error::Error;
use std::process::ExitCode;

use hardware::gpu::Gpu;
use hardware::opcodes::{self, Case};
use hardware::probe::{self, BLOCK, HEAD, Operands};
use hardware::table::{Answer, Table};

/// Instructions that are compiled together.
const TOGETHER: usize = 48;
/// Differences printed for an instruction.
const SHOWN: usize = 6;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("opcodes FILE [SEED]")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let gpu = Gpu::open()?;
    let cases = opcodes::all();
    let mut run = Run { table: Table::new(&gpu.name()?, seed), gpu, seed, simulated: 0, differ: 0 };
    for group in cases.chunk_by(|a, b| a.base() == b.base()).flat_map(|same| same.chunks(TOGETHER))
    {
        run.group(group)?;
    }
    std::fs::write(&file, run.table.to_bytes())?;
    println!(
        "{}, seed {seed}: of {} instructions the GPU has {}, the simulator {}; {} differ",
        run.table.device,
        cases.len(),
        run.table.len(),
        run.simulated,
        run.differ
    );
    Ok(if run.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Run {
    gpu: Gpu,
    seed: u64,
    table: Table,
    simulated: usize,
    differ: usize,
}

impl Run {
    /// Compiles cases together, or each by itself if the compiler refuses one.
    fn group(&mut self, cases: &[Case]) -> Result<(), Box<dyn Error>> {
        let name = |at: usize| format!("probe{at}");
        let kernels = cases.iter().enumerate().map(|(at, case)| probe::kernel(case, &name(at)));
        let ptx = format!("{HEAD}{}", kernels.collect::<String>());
        let module = match self.gpu.load(&ptx) {
            Ok(module) => module,
            Err(error) if cases.len() == 1 => {
                let also =
                    if probe::is_simulated(&cases[0]) { ", BUT THE SIMULATOR HAS IT" } else { "" };
                println!("refused: {} ({:?}){also}", cases[0].body, error.code());
                return Ok(());
            }
            Err(_) => return cases.chunks(1).try_for_each(|case| self.group(case)),
        };
        for (at, case) in cases.iter().enumerate() {
            self.case(case, &module.function(&name(at))?)?;
        }
        Ok(())
    }

    fn case(&mut self, case: &Case, kernel: &cuda_driver::Function) -> Result<(), Box<dyn Error>> {
        let operands = Operands::new(case, self.seed);
        let from = self.gpu.upload(&operands.words)?;
        let to = self.gpu.zeroed(8 * operands.threads * case.results.len())?;
        let grid = (operands.threads / BLOCK) as u32;
        // SAFETY: a probe reads and writes as many words as the operands and results have.
        unsafe { self.gpu.run(kernel, grid, BLOCK as u32, &[from.address(), to.address()]) }?;
        let there = to.download()?;
        if probe::is_simulated(case) {
            self.simulated += 1;
            self.differ += usize::from(differs(case, &operands, &there)?);
        }
        self.table.insert(case, Answer::new(&operands, &there));
        Ok(())
    }
}

/// Whether the simulator gives other results; prints some of them.
fn differs(case: &Case, operands: &Operands, there: &[u64]) -> Result<bool, Box<dyn Error>> {
    let here = probe::simulate(case, operands)?;
    let differences: Vec<usize> = (0..here.len()).filter(|at| here[*at] != there[*at]).collect();
    if !differences.is_empty() {
        println!("{}: {} of {} differ", case.body, differences.len(), here.len());
    }
    for at in differences.iter().take(SHOWN) {
        let given: Vec<String> =
            operands.of(at % operands.threads).iter().map(|word| format!("{word:#x}")).collect();
        println!("    {}: {:#x} here, {:#x} there", given.join(" "), here[*at], there[*at]);
    }
    Ok(!differences.is_empty())
}
