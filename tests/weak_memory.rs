//! The kernels in place whose threads hand elements to each other, on a simulator whose memory is as weak as the memory model lets it be.
//!
//! `kernels/src/in_place/strong.rs` and `group.rs` argue that their order is enough. Here it has to be: over some seeds nothing is
//! moved wrongly and nothing races. And with any one of their barriers, acquires and releases taken out of the PTX something is found.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use transpose::simt::{Checks, Kernel, Module, Options};
use transpose::simulator::{Launched, Observer};
use transpose::{Carry, Device, DeviceMatrix, InPlace, InPlaceOptions, InPlacePlan};
use transpose_tests::Element;

const PTX: [&str; 2] = [
    include_str!("../transpose/ptx/in_place.ptx"),
    include_str!("../transpose/ptx/in_place_studies.ptx"),
];

/// Notes which kernels run, and runs another in place of the one of its name.
#[derive(Default)]
struct Watcher {
    broken: Option<&'static Kernel>,
    ran: RefCell<BTreeSet<&'static str>>,
}

impl Observer for Watcher {
    fn prepare(&self, options: &mut Options) {
        options.instruction_limit = Some(10_000_000);
    }

    fn replace(&self, kernel: &'static Kernel) -> &'static Kernel {
        self.broken.filter(|broken| broken.name() == kernel.name()).unwrap_or(kernel)
    }

    fn launched(&self, launch: Launched) {
        self.ran.borrow_mut().insert(launch.kernel);
    }
}

/// A transposition in place that is to be done.
#[derive(Clone, Copy, Debug)]
struct Job {
    algorithm: InPlace,
    shape: (usize, usize),
    options: InPlaceOptions,
}

/// Does it; says what went wrong. A shape that the algorithm does not serve goes right.
fn run<T: Element>(device: &Device, job: &Job) -> Result<(), String> {
    let (rows, cols) = job.shape;
    let host: Vec<T> = (0..rows * cols).map(|index| T::scrambled(index, 3)).collect();
    let mut matrix = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
    let Ok(mut plan) = InPlacePlan::with_options(&matrix, job.algorithm, &job.options) else {
        return Ok(());
    };
    plan.run(&mut matrix).map_err(|error| error.to_string())?;
    let moved = matrix.to_host().unwrap();
    let wrong = (0..rows * cols).find(|&at| moved[at % cols * rows + at / cols] != host[at]);
    wrong.map_or(Ok(()), |at| Err(format!("element {at} is not where it belongs")))
}

/// Whole chips, small ones, and small ones whose blocks hold a panel together.
fn chips() -> [InPlaceOptions; 5] {
    let whole = InPlaceOptions::default();
    let small = whole.on_chip_bytes(1 << 10);
    [whole, small, small.max_group(4), whole.carry(Carry::SharedMemory), whole.flags((1, false))]
}

#[test]
fn nothing_is_found() {
    use InPlace::*;
    let device = Device::simulated_with_weak_memory(Checks::ALL_UNTRACKED, 1);
    let watcher = Rc::new(Watcher::default());
    let whole = InPlaceOptions::default();
    let algorithms = [TwoStage, ThreeStage, FourStage, FourStageFused, Decomposed, CycleFollowing];
    let chips = algorithms.into_iter().flat_map(|algorithm| chips().map(|chip| (algorithm, chip)));
    // Tiles that fit no small chip fall back to what the whole one does, slowly.
    let fits = |(algorithm, chip): &(InPlace, InPlaceOptions)| {
        matches!(algorithm, TwoStage | Decomposed) || chip.on_chip_bytes.is_none()
    };
    let jobs =
        chips.filter(fits).map(|(algorithm, options)| job(algorithm, (48, 40), options)).chain([
            job(TwoStage, (29, 37), whole),
            job(TwoStage, (1500, 9), whole.carry(Carry::SharedMemory).tile((45, 0))),
            job(TwoStage, (701, 9), whole.tile((99, 0))),
            job(TwoStage, (1500, 9), whole.tile((701, 0))),
            job(TwoStage, (4224, 32), whole.tile((132, 0))),
            job(Decomposed, (61, 53), whole.stage_rows(true)),
            job(Auto, (96, 96), whole),
            job(Auto, (70, 70), whole),
            job(ThreeStage, (128, 64), whole.tile((8, 16))),
            job(FourStage, (128, 64), whole.tile((4, 4))),
            job(ThreeStage, (64, 32), whole.tile((4, 4))),
        ]);
    device.observe(watcher.clone(), || {
        for job in jobs {
            assert_eq!(run::<u32>(&device, &job), Ok(()), "{job:?}");
        }
        for shape in [(29, 37), (61, 13)] {
            let job = job(TwoStage, shape, whole.on_chip_bytes(1 << 10).max_group(4));
            assert_eq!(run::<u8>(&device, &job), Ok(()), "{job:?}");
            assert_eq!(run::<[u16; 3]>(&device, &job), Ok(()), "{job:?}");
        }
        assert_eq!(run::<u16>(&device, &job(Auto, (70, 70), whole)), Ok(()));
    });
    let stem = |name: &str| name.rsplit_once("_b").map_or(name, |(stem, _)| stem).to_owned();
    let ran: BTreeSet<String> = watcher.ran.borrow().iter().map(|name| stem(name)).collect();
    let entries = PTX.iter().flat_map(|ptx| ptx.split(".visible .entry ").skip(1));
    let all = entries.filter_map(|text| text.split_once('(')).map(|(name, _)| stem(name));
    let idle: BTreeSet<String> = all.filter(|kernel| !ran.contains(kernel)).collect();
    assert!(idle.is_empty(), "{idle:?} did not run");
}

/// The PTX of one kernel.
fn entry(name: &str) -> String {
    let found = PTX.into_iter().find_map(|ptx| {
        let (head, kernels) = ptx.split_once(".visible .entry ")?;
        let mut kernels = kernels.split(".visible .entry ");
        let kernel = kernels.find(|text| text.starts_with(&format!("{name}(")))?;
        Some(format!("{head}.visible .entry {kernel}"))
    });
    found.unwrap_or_else(|| panic!("no kernel {name}"))
}

/// What may be taken out of a line: a barrier, the order of an atomic or of a load, half of it, its reach beyond the block.
fn weaker(line: &str) -> Vec<String> {
    let barriers = ["bar.sync", "bar.warp.sync"];
    if barriers.iter().any(|barrier| line.trim_start().starts_with(barrier)) {
        return vec![String::new()];
    }
    let orders = [
        ("atom.acq_rel.", "atom.relaxed."),
        ("atom.acq_rel.", "atom.acquire."),
        ("atom.acq_rel.", "atom.release."),
        ("ld.acquire.", "ld.relaxed."),
        ("atom.acq_rel.gpu.", "atom.acq_rel.cta."),
        ("ld.acquire.gpu.", "ld.acquire.cta."),
    ];
    let less = orders.iter().filter(|(order, _)| line.contains(order));
    less.map(|(order, less)| line.replace(order, less)).collect()
}

/// Runs that something must be found in.
const ROUNDS: usize = 150;

/// Runs of a kernel as it is: what is broken is found in half as many. `TRANSPOSE_WEAK_ROUNDS` makes them more.
const SOUND_ROUNDS: usize = 12;

/// Runs a kernel with each line weaker in each way for which `needed` holds; something must be found, for any of the jobs with any
/// of some seeds, and nothing for any with all of them as it is. `needed` is told how many lines like it came before.
fn every_order_is_needed<T: Element>(
    name: &str,
    jobs: &[Job],
    needed: impl Fn(&str, &str, usize) -> bool,
) {
    let finds = |device: &Device, rounds| {
        (0..rounds).find_map(|round| run::<T>(device, &jobs[round % jobs.len()]).err())
    };
    let rounds = std::env::var("TRANSPOSE_WEAK_ROUNDS");
    let rounds = rounds.map_or(SOUND_ROUNDS, |rounds| rounds.parse().expect("a number"));
    let sound = Device::simulated_with_weak_memory(Checks::ALL_UNTRACKED, 1);
    assert_eq!(finds(&sound, rounds), None, "{name}");
    let text = entry(name);
    let mut tried = 0;
    for (number, line) in text.lines().enumerate() {
        let weaker = weaker(line);
        if weaker.is_empty() {
            continue;
        }
        let opcode = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let alike = text.lines().take(number).filter(|other| opcode(other) == opcode(line)).count();
        for less in weaker.into_iter().filter(|less| needed(line, less, alike)) {
            let lines = text.lines().enumerate();
            let broken: Vec<&str> =
                lines.map(|(at, line)| if at == number { &less[..] } else { line }).collect();
            let module: &'static Module =
                Box::leak(Box::new(Module::parse(&broken.join("\n")).unwrap()));
            let broken = Some(module.kernel(name).unwrap());
            let watcher = Rc::new(Watcher { broken, ..Watcher::default() });
            let device = Device::simulated_with_weak_memory(Checks::ALL_UNTRACKED, 1);
            let found = device.observe(watcher, || finds(&device, ROUNDS).is_some());
            assert!(
                found,
                "{name}, line like it number {alike}: `{line}` does as well as `{less}`"
            );
            tried += 1;
        }
    }
    assert!(tried > 0, "{name}");
}

fn job(algorithm: InPlace, shape: (usize, usize), options: InPlaceOptions) -> Job {
    Job { algorithm, shape, options }
}

/// A place's claim releases what was read there; that of the next place acquires what others read. The first claim of a cycle has
/// nothing to acquire, for its place is stored to after another claim; in `flags` that other one has nothing to release, for one thread both
/// loads from its place and stores to it.
#[test]
fn claims_are_ordered() {
    let whole = InPlaceOptions::default();
    let flags = whole.flags((1, false));
    let jobs = [(13, 61), (64, 16)].map(|shape| job(InPlace::ThreeStage, shape, flags));
    let halves = ["atom.release", "atom.acquire"];
    every_order_is_needed::<u32>("flags_b4", &jobs, |line, less, alike| {
        line.contains("bar") || !less.contains(halves[alike])
    });
    let jobs = [job(InPlace::TwoStage, (1500, 9), whole.tile((701, 0)))];
    every_order_is_needed::<u32>("permute_b4", &jobs, |_, _, _| true);
    let jobs = [job(InPlace::TwoStage, (701, 9), whole.tile((99, 0)))];
    every_order_is_needed::<u32>("permute_short_b4", &jobs, |_, _, _| true);
}

/// What is loaded is used before it is claimed, so that no run shows what a claim releases. That it reaches beyond the block is seen: other
/// accesses race with it otherwise. The barriers of `fused`, whose threads share a tile and what one of them has found out, are seen too.
#[test]
fn claims_reach_beyond_the_block() {
    let whole = InPlaceOptions::default();
    let reach = |_: &str, less: &str, _: usize| less.contains(".acq_rel.cta.");
    let fused = [((60, 84), (4, 6)), ((72, 180), (4, 4))];
    let fused = fused.map(|(shape, tile)| job(InPlace::FourStageFused, shape, whole.tile(tile)));
    every_order_is_needed::<u32>("fused_b4", &fused, |line, less, alike| {
        line.contains("bar.sync") || reach(line, less, alike)
    });
    let carried = whole.carry(Carry::SharedMemory).tile((45, 0));
    let carried = [(1500, 9), (90, 61)].map(|shape| job(InPlace::TwoStage, shape, carried));
    every_order_is_needed::<u32>("carry_b4", &carried, reach);
    let shortest = [job(InPlace::TwoStage, (187, 35), whole.tile((31, 0)))];
    every_order_is_needed::<u32>("permute_shortest_b4", &shortest, reach);
}

/// Kernels whose threads meet at one barrier, between loading a tile and storing it.
#[test]
fn tiles_are_loaded_before_they_are_stored() {
    let whole = InPlaceOptions::default();
    let all = |_: &str, _: &str, _: usize| true;
    let [odd, even] = [(70, 70), (96, 96)].map(|shape| [job(InPlace::Auto, shape, whole)]);
    every_order_is_needed::<u32>("square_b4", &odd, all);
    every_order_is_needed::<u16>("square_tuples_b2", &odd, all);
    every_order_is_needed::<u32>("square_wide_b4", &even, all);
    every_order_is_needed::<u32>("rows_b4", &[job(InPlace::Decomposed, (61, 53), whole)], all);
}

/// Blocks that wait for each other. That a count acquires is for nobody: who waits loads it. The barrier of the warp keeps the assembler
/// from mixing loads and stores and orders nothing that matters here, and between two parts there are barriers in the taking of tickets too.
#[test]
fn groups_are_ordered() {
    let whole = InPlaceOptions::default();
    let small = whole.on_chip_bytes(1 << 10);
    let needed = |line: &str, less: &str, alike: usize| {
        let counts = line.contains("atom.") && less.contains("atom.release");
        !(counts
            || line.contains("bar.warp.sync")
            || (line.contains("bar.sync") && alike == LAST_BARRIER))
    };
    let strips = [
        job(InPlace::Decomposed, (61, 53), small.max_group(4)),
        job(InPlace::Decomposed, (13, 61), small),
        job(InPlace::Decomposed, (13, 61), whole),
    ];
    every_order_is_needed::<u32>("columns_b4", &strips, |line, less, alike| {
        needed(line, less, alike + 2)
    });
    // With what is between its rows no tile of a wide panel that several blocks hold is smaller than 4 KiB.
    let panels: Vec<Job> = [((61, 53), [1 << 10, 2 << 10]), ((29, 37), [4 << 10, 4 << 10])]
        .into_iter()
        .flat_map(|(shape, [few, more])| {
            let groups = [
                whole.on_chip_bytes(few).max_group(4),
                whole.tile((16, 0)),
                whole.on_chip_bytes(more).max_group(3),
            ];
            groups.map(|options| job(InPlace::TwoStage, shape, options))
        })
        .collect();
    // Of what is loaded to wait the scope is as needed as in `columns`.
    every_order_is_needed::<u32>("panel_b4", &panels, |line, less, alike| {
        needed(line, less, alike) && !less.contains("ld.acquire.cta.")
    });
}

/// The barrier of `panel` behind which a block takes its next part.
const LAST_BARRIER: usize = 8;
