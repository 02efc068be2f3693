//! Thread-instructions per second: plain, with counters, with every check; on one
//! core and on all. Every run's result is verified.
//!
//! `cargo bench -p cuda-transpose-simt`, or `cargo bench -p cuda-transpose-simt -- 1024` for another matrix.

use std::time::Instant;

use simt::{
    Checks, CounterOptions, Error, Kernel, LaunchConfig, Memory, Module, Options, PartitionModel,
};

/// A kernel, how to launch it on an `n` x `n` matrix, and what it should do.
struct Case {
    kernel: &'static str,
    transposes: bool,
    config: fn(u32) -> LaunchConfig,
    arguments: fn(u64, u64, u64) -> Vec<Vec<u8>>,
}

fn bytes(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

const CASES: [Case; 2] = [
    Case {
        kernel: "copy_loop",
        transposes: false,
        config: |n| LaunchConfig {
            grid: [n * n / 256, 1, 1],
            block: [256, 1, 1],
            dynamic_shared_bytes: 0,
        },
        arguments: |dst, src, n| vec![bytes(&[dst]), bytes(&[src]), bytes(&[n * n])],
    },
    Case {
        kernel: "tiled",
        transposes: true,
        config: |n| LaunchConfig {
            grid: [n * n / 1024, 1, 1],
            block: [32, 8, 1],
            dynamic_shared_bytes: 0,
        },
        arguments: |dst, src, n| {
            vec![bytes(&[dst]), bytes(&[src]), bytes(&[n, n, n, n, n / 32, n / 32])]
        },
    },
];

fn modes() -> [(&'static str, Options); 4] {
    let counters = Some(CounterOptions::default());
    let partitions = Some(PartitionModel::GTX_280);
    let plain = Options::default();
    [
        ("plain", plain.clone()),
        ("counters", plain.clone().counters(counters)),
        (
            "counters and partitions",
            plain.clone().counters(CounterOptions::default().partitions(partitions)),
        ),
        ("every check", plain.checks(Checks::ALL_UNTRACKED)),
    ]
}

struct Bench {
    memory: Memory,
    n: u64,
    src: u64,
    dst: u64,
}

impl Bench {
    fn new(n: u64) -> Result<Bench, Error> {
        let memory = Memory::new(1 << 32);
        let (src, dst) = (memory.alloc(n * n * 4)?, memory.alloc(n * n * 4)?);
        let data: Vec<u8> = (0..n * n).flat_map(|at| (at as u32).to_le_bytes()).collect();
        memory.write(src, &data)?;
        Ok(Bench { memory, n, src, dst })
    }

    /// Runs once and returns the seconds and, with counters on, the thread-instructions.
    fn run(&self, case: &Case, kernel: &Kernel, options: &Options) -> Result<(f64, u64), Error> {
        self.memory.fill(self.dst, 0xff, self.n * self.n * 4)?;
        let arguments = (case.arguments)(self.dst, self.src, self.n);
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let start = Instant::now();
        let config = (case.config)(self.n as u32);
        let report = kernel.launch(&self.memory, &config, &arguments, options)?;
        let seconds = start.elapsed().as_secs_f64();
        self.verify(case)?;
        assert!(report.findings.is_empty(), "{}", report.findings[0]);
        Ok((seconds, report.counters.map_or(0, |counters| counters.total.thread_instructions)))
    }

    fn verify(&self, case: &Case) -> Result<(), Error> {
        let n = self.n as usize;
        let mut row = vec![0; 4 * n];
        for r in 0..n {
            self.memory.read(self.dst + (4 * n * r) as u64, &mut row)?;
            for (c, word) in row.chunks(4).enumerate() {
                let expected = if case.transposes { c * n + r } else { r * n + c } as u32;
                assert_eq!(word, expected.to_le_bytes(), "{} at {r}, {c}", case.kernel);
            }
        }
        Ok(())
    }

    /// The least time of three runs.
    fn time(&self, case: &Case, kernel: &Kernel, options: &Options) -> Result<f64, Error> {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            best = best.min(self.run(case, kernel, options)?.0);
        }
        Ok(best)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo passes `--bench`.
    let size = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
    let bench = Bench::new(size.unwrap_or(2048))?;
    let module = Module::parse(include_str!("../tests/fixtures/rustc.ptx"))?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    println!(
        "{0} x {0} words, {1} cores; million thread-instructions per second",
        bench.n,
        rayon::current_num_threads()
    );
    println!(
        "{:10}  {:24} {:>9} {:>9} {:>9}",
        "kernel", "mode", "seconds", "one core", "all cores"
    );
    for case in &CASES {
        let kernel = module.kernel(case.kernel)?;
        let counting = Options::default().counters(CounterOptions::default());
        let (_, instructions) = bench.run(case, kernel, &counting)?;
        for (mode, options) in modes() {
            let alone = one.install(|| bench.time(case, kernel, &options))?;
            let together = bench.time(case, kernel, &options)?;
            let rate = |seconds: f64| instructions as f64 / seconds / 1e6;
            println!(
                "{:10}  {mode:24} {alone:9.3} {:9.0} {:9.0}",
                case.kernel,
                rate(alone),
                rate(together)
            );
        }
    }
    Ok(())
}
