//! What can be said of kernels without a GPU: the simulator's counters.
//!
//! They are exact, and they are not times. A load or store instruction of a warp is a *request*;
//! it moves *sectors* of 32 bytes. *Efficiency* is requested over moved bytes: `gld_efficiency` and
//! `gst_efficiency` of the profilers. *Ways* are the lanes that queue for one bank of shared
//! memory on average: 1 without conflicts, 32 at worst.

use crate::kernels::{Run, count};
use crate::program::Common;
use crate::progress;
use crate::svg::{Bar, Chart};
use crate::table::{Cell, Column, Report};
use anyhow::Result;
use bytemuck::Pod;
use transpose::Device;
use transpose::simt::{Counters, GlobalTraffic};

/// The columns. Efficiency is a fraction.
const COLUMNS: [Column; 11] = [
    Column::text("kernel", "kernel", 20),
    Column::text("block", "block", 8),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::unseen("element_bytes"),
    Column::number("load_sectors", "loaded sectors", 8),
    Column::number("load_efficiency", "efficiency", 6),
    Column::number("store_sectors", "stored sectors", 8),
    Column::number("store_efficiency", "efficiency", 6),
    Column::number("shared_load_ways", "shared loads, ways", 6),
    Column::number("shared_store_ways", "shared stores, ways", 6),
];

/// Counts what each run does to memory, prints it, and writes it to the files asked for. The results have been verified; `left_out`
/// says what has no run, and why.
///
/// # Errors
/// What the simulator or the file system reports.
pub fn report<T: Pod>(
    common: &Common,
    device: &Device,
    title: &str,
    host: &[T],
    runs: &[Run],
    left_out: &[String],
) -> Result<()> {
    let bar = progress::bar(common, runs.len());
    let Some(counted) = count(device, host, runs, &bar)? else { return Ok(()) };
    let counted_alone = format!("{title}, all results verified; no GPU, so no times, but counts");
    let mut report = Report::new(common, device, counted_alone, &COLUMNS, &bar);
    left_out.iter().for_each(|what| report.leave_out(what));
    let mut bars = Vec::new();
    for (run, counters) in runs.iter().zip(&counted) {
        let (name, block) = (run.kernel.name(), run.block_name());
        let bytes = run.bytes() as f64;
        let moved = |traffic: &GlobalTraffic| traffic.moved_bytes as f64 / bytes;
        bars.push(Bar::plain(format!("{name} {block}"), "loads", moved(&counters.global_load)));
        bars.push(Bar::plain("", "stores", moved(&counters.global_store)));
        let (rows, cols) = run.shape();
        let mut cells = vec![name.into(), block.into()];
        cells.extend([rows, cols, size_of::<T>()].map(Cell::from));
        cells.extend(figures(counters));
        report.row(cells);
    }
    let unit = "bytes moved for each byte of the result";
    let title = format!("Simulated memory traffic, {title}");
    report.finish(|| Chart::new(title, unit, bars))
}

/// Sectors and efficiency of loads and of stores, and the ways of shared loads and stores.
fn figures(counters: &Counters) -> [Cell; 6] {
    let (load, store) = (&counters.global_load, &counters.global_store);
    let number = |value: Option<f64>, digits| {
        value.map_or(Cell::Nothing, |value| Cell::Number(value, digits, digits))
    };
    [
        load.sectors.into(),
        number(load.efficiency(), 3),
        store.sectors.into(),
        number(store.efficiency(), 3),
        number(counters.shared_load.ways(), 2),
        number(counters.shared_store.ways(), 2),
    ]
}
