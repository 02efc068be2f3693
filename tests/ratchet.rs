//! What every shipped kernel costs, held against `ratchet.txt`: a change that makes a kernel execute
//! more instructions, move more sectors or run into more bank conflicts fails until the file is
//! rewritten on purpose, with `cargo xtask ratchet`. So does one that makes it cost less, so that
//! the gain is kept.
//!
//! The counts are the simulator's, exact and the same on every machine. Blocks run one after the
//! other: some kernels in place share out their work as they go, and what that costs depends on
//! which block comes first.

use bench::workloads::Workload;
use profile::{Inspection, LaunchReport};
use std::fmt::Write;
use transpose::Device;
use transpose::simt::Counters;

/// The file, and the variable that has it rewritten.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ratchet.txt");
const REWRITE: &str = "TRANSPOSE_RATCHET_REWRITE";

/// Whole tiles for every kernel, a few of them along each axis.
const SHAPE: (usize, usize) = (384, 512);

const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// What is held: for each, less is better.
const COLUMNS: [&str; 8] = [
    "instructions",
    "load_requests",
    "load_sectors",
    "store_requests",
    "store_sectors",
    "shared_requests",
    "wavefronts",
    "conflicts",
];

fn columns(total: &Counters) -> [u64; COLUMNS.len()] {
    let (loads, stores) = (&total.shared_load, &total.shared_store);
    [
        total.warp_instructions,
        total.global_load.requests,
        total.global_load.sectors,
        total.global_store.requests + total.global_atomic.requests,
        total.global_store.sectors + total.global_atomic.sectors,
        loads.requests + stores.requests + total.shared_atomic.requests,
        loads.wavefronts + stores.wavefronts + total.shared_atomic.wavefronts,
        loads.conflicts + stores.conflicts + total.shared_atomic.conflicts,
    ]
}

/// A line for each launch of each workload and width that has a kernel.
fn count() -> String {
    let device = Device::simulated();
    let mut out = format!(
        "# {} x {} elements; written by `cargo xtask ratchet`, read by tests/ratchet.rs\n{:<50}",
        SHAPE.0, SHAPE.1, "# workload, bytes, launch, kernel"
    );
    COLUMNS.iter().for_each(|column| write!(out, " {column:>15}").unwrap());
    out.push('\n');
    for workload in Workload::all() {
        for width in WIDTHS {
            let Ok(launches) = workload.run(&device, SHAPE, width, Inspection::counting()) else {
                continue;
            };
            for (number, launch) in launches.unwrap().into_iter().enumerate() {
                let key = format!("{workload} {width} {number} {}", launch.kernel);
                write!(out, "{key:<50}").unwrap();
                let total = launch.report.counters.unwrap().total;
                columns(&total).iter().for_each(|count| write!(out, " {count:>15}").unwrap());
                out.push('\n');
            }
        }
    }
    out
}

/// The words in front of a line's counts, by which it is found.
const KEY: usize = 4;

/// The lines that differ, in words.
fn differences(held: &str, counted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in counted.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let start =
            |line: &&str| line.split_whitespace().take(KEY).eq(words[..KEY].iter().copied());
        let Some(held) = held.lines().find(start) else {
            found.push(format!("{} is new", words[..KEY].join(" ")));
            continue;
        };
        for ((held, now), column) in held.split_whitespace().zip(&words).skip(KEY).zip(COLUMNS) {
            if held != *now {
                let [before, after] = [held, now].map(|text| text.parse::<u64>().unwrap());
                let change = if after > before { "worse" } else { "better" };
                found.push(format!(
                    "{}: {column} {before} → {after}, {change}",
                    words[..KEY].join(" ")
                ));
            }
        }
    }
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
    if lines(held) > lines(counted) {
        found.push(format!("{} launches of before are gone", lines(held) - lines(counted)));
    }
    found
}

#[test]
fn no_kernel_costs_more_than_before() {
    let one_by_one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let counted = one_by_one.install(count);
    if std::env::var_os(REWRITE).is_some() {
        std::fs::write(FILE, counted).unwrap();
        return;
    }
    let held = include_str!("ratchet.txt");
    let differences = differences(held, &counted);
    assert!(
        differences.is_empty(),
        "the kernels do not cost what tests/ratchet.txt says; if that is intended, run \
         `cargo xtask ratchet`:\n{}",
        differences.join("\n")
    );
}

#[test]
fn changes_are_told_apart() {
    let held = "# head\na 1 0 k_b1 1 2 3 4 5 6 7 8\na 1 1 k_b1 1 1 1 1 1 1 1 1\n";
    assert!(differences(held, held).is_empty());
    let counted = "# other\na 1 0 k_b1 2 2 3 4 5 6 7 0\nc 1 0 m_b1 1 1 1 1 1 1 1 1\n";
    assert_eq!(
        differences(held, counted),
        [
            "a 1 0 k_b1: instructions 1 → 2, worse",
            "a 1 0 k_b1: conflicts 8 → 0, better",
            "c 1 0 m_b1 is new",
        ]
    );
    assert_eq!(differences(held, "# head\n"), ["2 launches of before are gone"]);
}

#[test]
fn in_turn_the_counts_do_not_depend_on_which_block_is_first() {
    for name in ["three-stage", "four-stage-fused", "four-stage-flags", "cycle-following"] {
        let workload: Workload = name.parse().unwrap();
        let [alone, side_by_side] = [1, 4].map(|workers| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().unwrap();
            let device = profile::in_turn(&Device::simulated()).unwrap();
            let run = || workload.run(&device, SHAPE, 4, Inspection::counting());
            let launches = pool.install(run).unwrap().unwrap();
            let total = |launch: LaunchReport| columns(&launch.report.counters.unwrap().total);
            launches.into_iter().map(total).collect::<Vec<_>>()
        });
        assert_eq!(alone, side_by_side, "{name}");
    }
}
