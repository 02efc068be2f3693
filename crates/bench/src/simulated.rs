//! What can be said of kernels without a GPU: the simulator's counters.
//!
//! They are exact, and they are not times. A load or store instruction of a warp is a *request*;
//! it moves *sectors* of 32 bytes. *Efficiency* is requested over moved bytes: `gld_efficiency` and
//! `gst_efficiency` of the profilers. *Ways* are the lanes that queue for one bank of shared
//! memory on average: 1 without conflicts, 32 at worst.

use crate::kernels::{Run, count};
use crate::output::Files;
use crate::progress;
use crate::svg::{Bar, bar_chart};
use anyhow::Result;
use bytemuck::Pod;
use transpose::Device;
use transpose::simt::{Counters, GlobalTraffic};

/// Counts what each run does to memory, prints it, and writes it to the files asked for.
///
/// # Errors
/// What the simulator or the file system reports.
pub fn report<T: Pod>(device: &Device, host: &[T], runs: &[Run], files: &Files) -> Result<()> {
    let bar = progress::bar(runs.len());
    let Some(counted) = count(device, host, runs, &bar)? else { return Ok(()) };
    bar.finish_and_clear();
    println!("no GPU, so no times; this is what the simulator counted:");
    println!(
        "{:<20} {:<8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "", "", "loads:", "", "stores:", "", "shared:", "ways"
    );
    println!(
        "{:<20} {:<8} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}",
        "", "block", "sectors", "effic.", "sectors", "effic.", "load", "store"
    );
    let (mut records, mut bars) = (Vec::new(), Vec::new());
    for (run, counters) in runs.iter().zip(&counted) {
        let fields = fields(counters);
        print!("{:<20} {:<8}", run.kernel, run.block);
        for (field, width) in fields.iter().zip([9, 9, 9, 9, 7, 7]) {
            print!(" {:>width$}", if field.is_empty() { "–" } else { field });
        }
        println!();
        let (name, block) = (run.kernel.name(), run.block.to_string());
        let bytes = run.bytes() as f64;
        let moved = |traffic: &GlobalTraffic| traffic.moved_bytes as f64 / bytes;
        for (what, value) in
            [("loads", moved(&counters.global_load)), ("stores", moved(&counters.global_store))]
        {
            let label = format!("{name} {block}");
            bars.push(Bar { label, group: what.into(), value, spread: (value, value) });
        }
        records.push([name.into(), block].into_iter().chain(fields).collect());
    }
    let header = [
        "kernel",
        "block",
        "load_sectors",
        "load_efficiency",
        "store_sectors",
        "store_efficiency",
        "shared_load_ways",
        "shared_store_ways",
    ];
    let unit = "bytes moved for each byte of the result";
    files.write(&header, &records, || bar_chart("Simulated memory traffic", unit, &bars))
}

/// Sectors and efficiency of loads and of stores, and the ways of shared loads and stores.
fn fields(counters: &Counters) -> [String; 6] {
    let efficiency = |traffic: &GlobalTraffic| optional(traffic.efficiency(), 3);
    let (load, store) = (&counters.global_load, &counters.global_store);
    [
        load.sectors.to_string(),
        efficiency(load),
        store.sectors.to_string(),
        efficiency(store),
        optional(counters.shared_load.ways(), 2),
        optional(counters.shared_store.ways(), 2),
    ]
}

/// The number, or nothing.
fn optional(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}
