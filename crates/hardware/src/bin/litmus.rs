//! Runs every litmus test on a GPU, millions of times, and writes which outcomes came of it.
//!
//! `litmus FILE [LAUNCHES]` writes a line for each test and outcome. An outcome that the model forbids is a failure.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use hardware::gpu::Gpu;
use hardware::litmus::{self, BLOCK, Outcomes, Place, Test, Verdict, WORDS};

/// Rounds of a launch.
const ROUNDS: u32 = 8;
/// Blocks of a launch, or a little less; all are resident, for they wait for each other.
const BLOCKS: u32 = 264;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("litmus FILE [LAUNCHES]")?;
    let launches: u32 = arguments.next().map_or(Ok(3), |launches| launches.parse())?;
    let gpu = Gpu::open()?;
    let mut text = format!("# {}\n", gpu.name()?);
    let mut wrong = 0;
    for test in litmus::all() {
        let outcomes = match play(&gpu, &test, launches) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                println!("{}: {error}", test.title());
                wrong += 1;
                continue;
            }
        };
        let runs: u64 = outcomes.values().sum();
        let seen: u64 = outcomes
            .iter()
            .filter(|(outcome, _)| test.is_in_question(outcome))
            .map(|(_, n)| n)
            .sum();
        let broken = test.verdict == Verdict::Forbidden && seen > 0;
        wrong += u32::from(broken);
        let mark = if broken { "  <- SEEN THOUGH FORBIDDEN" } else { "" };
        println!("{:?}: {}: {seen} of {runs}{mark}", test.verdict, test.title());
        for (outcome, count) in &outcomes {
            let values: Vec<String> = outcome.iter().map(u32::to_string).collect();
            writeln!(text, "{};{};{count}", test.title(), values.join(" "))?;
        }
    }
    std::fs::write(&file, text)?;
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn play(gpu: &Gpu, test: &Test, launches: u32) -> Result<Outcomes, Box<dyn Error>> {
    let module = gpu.load(&test.ptx())?;
    let (kernel, finish) = (module.function("litmus")?, module.function("finish")?);
    let blocks = BLOCKS / test.blocks() * test.blocks();
    let total = blocks / test.blocks() * test.instances(BLOCK) * ROUNDS;
    let results = gpu.zeroed(total as usize * WORDS * 4)?;
    let sync = gpu.zeroed(8)?;
    let mut outcomes = Outcomes::new();
    for (at, stride) in [4u64, 32, 128, 16].into_iter().enumerate() {
        let data = gpu.zeroed(3 * total as usize * stride as usize)?;
        for launch in 0..launches {
            for buffer in [&data, &results, &sync] {
                buffer.clear()?;
            }
            // The low byte of the seed is the longest delay.
            let longest = [0, 15, 255][launch as usize % 3];
            let seed = u64::from(launch * 4 + at as u32) << 8 | longest;
            let arguments = [
                data.address(),
                results.address(),
                sync.address(),
                stride,
                u64::from(total),
                u64::from(ROUNDS),
                seed,
            ];
            // SAFETY: the kernels take seven arguments and stay inside the three buffers; all blocks are resident.
            unsafe {
                gpu.run(&kernel, blocks, BLOCK, &arguments)?;
                if test.place != Place::Shared {
                    gpu.run(&finish, total.div_ceil(BLOCK), BLOCK, &arguments)?;
                }
            }
            let words: Vec<u32> = results
                .download()?
                .iter()
                .flat_map(|word| [*word as u32, (word >> 32) as u32])
                .collect();
            // There are few outcomes: looking through a list is quick.
            let mut seen: Vec<([u32; 7], u64)> = Vec::new();
            for outcome in words.chunks_exact(WORDS).map(Test::outcome) {
                match seen.iter_mut().find(|(known, _)| *known == outcome) {
                    Some((_, count)) => *count += 1,
                    None => seen.push((outcome, 1)),
                }
            }
            for (outcome, count) in seen {
                *outcomes.entry(outcome).or_default() += count;
            }
        }
    }
    Ok(outcomes)
}
