//! The counters against a GPU's, access by access.
//!
//! `hardware/probe.ptx` makes single accesses of every kind and width;
//! `hardware/patterns.txt` says where to. `hardware/measure.py` runs them on a
//! GPU under Nsight Compute; what it wrote is `hardware/measured.txt`. Here the
//! same kernels run on the simulator, and every number must be the same.

mod common;

use std::collections::BTreeMap;
use std::path::Path;

use common::{Device, arg};
use simt::{CounterOptions, Module, Options};

/// Two numbers per kernel and pattern: wavefronts and conflicts of the access to
/// shared memory, requests and sectors of the one to global memory.
type Table = BTreeMap<(String, String), [u64; 2]>;

fn patterns() -> Vec<(&'static str, Vec<Option<u32>>)> {
    let text = include_str!("hardware/patterns.txt");
    let pattern = |line: &'static str| {
        let (name, lanes) = line.split_once(':').unwrap();
        let lanes = lanes.split_whitespace().map(|lane| lane.parse().ok()).collect();
        (name, lanes)
    };
    text.lines().filter(|line| !line.starts_with('#')).map(pattern).collect()
}

fn simulated() -> Table {
    let module = Module::parse(include_str!("hardware/probe.ptx")).unwrap();
    let options = Options::default().counters(CounterOptions::default());
    let device = Device { options, ..Device::default() };
    let data = device.upload(&vec![0u8; 1 << 20]);
    let mut table = Table::new();
    for kernel in module.kernels() {
        let words: Vec<&str> = kernel.name().split('_').collect();
        let size: u32 = words[2].parse().unwrap();
        for (name, lanes) in patterns() {
            let offset = |lane: &Option<u32>| lane.map_or(u32::MAX, |lane| lane * size);
            let offsets: Vec<u32> = lanes.iter().map(offset).collect();
            let offsets = device.upload(&offsets);
            let report = device.launch(&module, kernel.name(), 1, 32, &[arg(offsets), arg(data)]);
            let total = report.unwrap().counters.unwrap().total;
            let (shared, global) = match words[1] {
                "load" => (total.shared_load, total.global_load),
                _ => (total.shared_store, total.global_store),
            };
            // Every kernel also loads its offsets from global memory.
            let besides = if words[1] == "load" { [1, 4] } else { [0, 0] };
            let counts = match words[0] {
                "shared" => [shared.wavefronts, shared.conflicts],
                _ => [global.requests - besides[0], global.sectors - besides[1]],
            };
            table.insert((kernel.name().to_owned(), name.to_owned()), counts);
        }
    }
    table
}

fn measured() -> Option<Table> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hardware/measured.txt");
    let text = std::fs::read_to_string(path).ok()?;
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let counts = [words[2].parse().unwrap(), words[3].parse().unwrap()];
        ((words[0].to_owned(), words[1].to_owned()), counts)
    };
    Some(text.lines().filter(|line| !line.starts_with('#')).map(row).collect())
}

#[test]
fn every_count_is_the_hardwares() {
    let simulated = simulated();
    assert_eq!(simulated.len(), 20 * patterns().len());
    let Some(measured) = measured() else {
        println!(
            "skipped: tests/hardware/measured.txt is not there; see tests/hardware/measure.py"
        );
        return;
    };
    let differs = |(key, counts): (&(String, String), &[u64; 2])| {
        let hardware = measured.get(key);
        (hardware != Some(counts)).then(|| format!("{key:?}: {counts:?} here, {hardware:?} there"))
    };
    let differences: Vec<String> = simulated.iter().filter_map(differs).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
