//! Checks a launch against the kernel and the limits of GPUs, and has it run.

use std::sync::Arc;

use crate::global_check::GlobalCheck;
use crate::isa::{Init, Special, Window};
use crate::launch::{Budget, Launch};
use crate::local::Local;
use crate::memory::{Allocation, Memory, Table};
use crate::options::{LaunchConfig, Options};
use crate::program::Program;
use crate::report::Report;
use crate::{Error, Kernel, weakly, workers};

/// Most blocks along each axis of a grid.
const GRID_LIMIT: [u32; 3] = [0x7fff_ffff, 65535, 65535];
/// Most threads along each axis of a block.
const BLOCK_LIMIT: [u32; 3] = [1024, 1024, 64];
/// Most threads of a block.
const THREAD_LIMIT: u64 = 1024;
/// Most static shared memory of a kernel, on every GPU.
const STATIC_SHARED_LIMIT: u64 = 48 << 10;

impl Kernel {
    /// Runs the kernel: every block of the grid, to its end.
    ///
    /// `args` are the raw bytes of each parameter. Global memory is shared with
    /// other launches and host accesses that run at the same time.
    ///
    /// # Errors
    /// For a grid, block, argument or option that no GPU would take, the variant of its name; [`Error::Fault`] for what a GPU would stop
    /// the kernel for. What checks find is no error but in the report.
    pub fn launch(
        &self,
        memory: &Memory,
        config: &LaunchConfig,
        args: &[&[u8]],
        options: &Options,
    ) -> Result<Report, Error> {
        check_options(memory, options)?;
        let blocks = self.check_config(config, options)?;
        let table = memory.snapshot();
        let nothing = Allocation::empty();
        let dynamic_shared_at = self.dynamic_shared_at();
        let launch = Launch {
            name: Arc::clone(&self.name),
            program: &self.program,
            memory,
            table: &table,
            nothing: &nothing,
            params: self.pack_args(args)?,
            config: *config,
            threads: config.block.iter().product(),
            blocks,
            shared_bytes: dynamic_shared_at + u64::from(config.dynamic_shared_bytes),
            dynamic_shared_at,
            block_registers: block_registers(&self.program),
            budget: options.instruction_limit.map(Budget::new),
            findings_limit: options.findings_limit,
            global_check: global_check(&self.program, &table, options),
        };
        let mut done = match options.weak_memory {
            Some(seed) => weakly::run(&launch, options, seed),
            None => workers::run(&launch, options),
        }?;
        let counters = done.tally.take();
        Ok(Report {
            blocks,
            findings_omitted: done.findings.omitted,
            findings: done.findings.into_sorted(),
            counters: counters.map(|tally| tally.into_report(&self.program, &self.source)),
            trace: done.trace,
            writes: launch
                .global_check
                .filter(|check| check.record)
                .map(|check| check.into_writes(&table)),
        })
    }

    /// Checks the shape of a launch and returns its number of blocks.
    fn check_config(&self, config: &LaunchConfig, options: &Options) -> Result<u64, Error> {
        let kernel = || self.name.to_string();
        for (at, axis) in ['x', 'y', 'z'].into_iter().enumerate() {
            let (given, limit) = (config.grid[at], GRID_LIMIT[at]);
            if given == 0 || given > limit {
                return Err(Error::Grid { kernel: kernel(), axis, given, limit });
            }
        }
        let threads: u64 = config.block.iter().map(|&n| u64::from(n)).product();
        let block = |limit: String| Error::Block { kernel: kernel(), given: config.block, limit };
        if config.block.iter().zip(BLOCK_LIMIT).any(|(&n, limit)| n == 0 || n > limit) {
            let [x, y, z] = BLOCK_LIMIT;
            return Err(block(format!("allowed are 1 to {x} x {y} x {z}")));
        }
        if threads > THREAD_LIMIT {
            return Err(block(format!("at most {THREAD_LIMIT} in all")));
        }
        if let Some([x, y, z]) = self.required_block.filter(|required| *required != config.block) {
            return Err(block(format!("the kernel requires {x} x {y} x {z} (.reqntid)")));
        }
        if let Some(most) = self.max_threads().filter(|most| threads > u64::from(*most)) {
            return Err(block(format!("the kernel allows {most} in all (.maxntid)")));
        }
        self.check_shared(config, options)?;
        Ok(config.grid.iter().map(|&n| u64::from(n)).product())
    }

    /// Where dynamic shared memory starts: behind what is static, aligned as the kernel says.
    fn dynamic_shared_at(&self) -> u64 {
        let align = self.program.dynamic_align.unwrap_or(1);
        self.program.static_shared.next_multiple_of(u64::from(align))
    }

    fn check_shared(&self, config: &LaunchConfig, options: &Options) -> Result<(), Error> {
        let fixed = self.program.static_shared;
        let given = fixed + u64::from(config.dynamic_shared_bytes);
        let limit = options.shared_memory_limit;
        let kernel = self.name.to_string();
        let dynamic_at = self.dynamic_shared_at();
        if dynamic_at > limit.max(fixed) {
            let given = dynamic_at + u64::from(config.dynamic_shared_bytes);
            return Err(Error::SharedMemory { kernel, given, fixed, limit });
        }
        if fixed > STATIC_SHARED_LIMIT {
            return Err(Error::SharedMemory { kernel, given, fixed, limit: STATIC_SHARED_LIMIT });
        }
        if given > limit {
            return Err(Error::SharedMemory { kernel, given, fixed, limit });
        }
        Ok(())
    }

    fn pack_args(&self, args: &[&[u8]]) -> Result<Local, Error> {
        let kernel = || self.name.to_string();
        if args.len() != self.params.len() {
            let (expected, given) = (self.params.len(), args.len());
            return Err(Error::ArgumentCount { kernel: kernel(), expected, given });
        }
        let mut buffer = vec![0; self.params_bytes];
        for (index, (param, arg)) in self.params.iter().zip(args).enumerate() {
            let (expected, given) = (param.size, arg.len());
            if expected != given {
                return Err(Error::ArgumentSize { kernel: kernel(), index, expected, given });
            }
            buffer[param.offset..param.offset + given].copy_from_slice(arg);
        }
        Ok(Local::from_bytes(&buffer))
    }
}

fn block_registers(program: &Program) -> Vec<(usize, usize)> {
    let holds_block = |(at, init): (usize, &Option<Init>)| match init {
        Some(Init::Special(Special::Ctaid(axis))) => Some((at, usize::from(*axis))),
        _ => None,
    };
    program.words.iter().enumerate().filter_map(holds_block).collect()
}

/// Refuses options that make no sense.
fn check_options(memory: &Memory, options: &Options) -> Result<(), Error> {
    if options.checks.uninitialised_global && !memory.is_tracking() {
        return Err(Error::NotTracking);
    }
    let Some(counters) = options.counters else { return Ok(()) };
    let refuse = |option, what: String| Err(Error::Options { option, what });
    let banks = counters.banks;
    if !(banks.banks.is_power_of_two() && banks.banks <= 32) {
        return refuse("banks", format!("{} banks", banks.banks));
    }
    let coalescing = counters.coalescing;
    if ![16, 32].contains(&banks.lanes) || ![16, 32].contains(&coalescing.lanes) {
        return refuse("lanes", format!("{} and {} lanes", banks.lanes, coalescing.lanes));
    }
    let (sector, line) = (coalescing.sector_bytes, coalescing.line_bytes);
    let sized = sector.is_power_of_two() && line.is_power_of_two() && sector <= line;
    if !(sized && (16..=4096).contains(&sector)) {
        return refuse("coalescing", format!("sectors of {sector} bytes in lines of {line}"));
    }
    let Some(model) = counters.partitions else { return Ok(()) };
    let counted = (1..=1024).contains(&model.count) && model.concurrent_blocks > 0;
    if !(counted && model.width.is_power_of_two() && model.width >= sector) {
        return refuse("partitions", format!("{model:?}"));
    }
    Ok(())
}

fn global_check(program: &Program, table: &Table, options: &Options) -> Option<GlobalCheck> {
    let checks = &options.checks;
    // Weak memory finds races by itself.
    let finds = options.weak_memory.is_none();
    let (races, reads) = (finds && checks.global_write_race, finds && checks.global_read_race);
    let piece = program.narrowest_access(Window::Global);
    let constants =
        checks.global_read_race && program.accesses.iter().any(|access| access.constant);
    let record = checks.record_writes;
    let strong = program.has_strong_accesses();
    (races || reads || record || constants)
        .then(|| GlobalCheck::new(table, piece, races, reads, record, [constants, strong]))
}
