//! The table that a person reads.
//!
//! A load or store instruction of a warp is a *request*; it moves *sectors* of 32 bytes.
//! *Efficiency* is requested over moved bytes. A *wavefront* is a cycle of shared memory;
//! *conflicts* are wavefronts lost to bank conflicts. *Lanes* are active per instruction, of 32.

use super::{Line, Profile, Shape};
use crate::program::Common;
use crate::svg::Chart;
use crate::table::{Cell, Column, Report};
use anyhow::Result;
use indicatif::ProgressBar;
use std::fmt::Write;
use transpose::Device;
use transpose::simt::PartitionReport;

/// Sets of blocks to draw bars for.
const SETS: usize = 6;

/// Prints a row for each launch, unless it is to be `silent`, and writes the files asked for. Columns without a figure are not printed.
///
/// # Errors
/// What the file system reports.
pub fn report(common: &Common, device: &Device, profile: &Profile, silent: bool) -> Result<()> {
    let Shape { rows, cols, element_bytes } = profile.shape;
    let title = format!(
        "{rows} × {cols} elements of {element_bytes} bytes, all 0: counted, and results not verified"
    );
    let lines: Vec<Vec<Cell>> =
        profile.kernels.iter().map(|line| cells(profile.shape, line)).collect();
    let mut columns = COLUMNS;
    let names = profile.kernels.iter().map(|line| printed(line).chars().count());
    columns[0] = Column::text("name", "kernel", names.max().unwrap_or(0) as u16);
    for (index, column) in columns.iter_mut().enumerate() {
        if lines.iter().all(|cells| cells[index] == Cell::Nothing) {
            *column = Column::unseen(column.key);
        }
    }
    let mut report = Report::new(common, device, title, &columns, &ProgressBar::hidden());
    for cells in lines {
        if silent { report.keep(cells) } else { report.row(cells) }
    }
    for what in &profile.left_out {
        match silent {
            true => common.say(format_args!("left out: {what}")),
            false => report.leave_out(what),
        }
    }
    report.finish(|| Chart::new("", "", Vec::new()))
}

/// The columns.
const COLUMNS: [Column; 22] = [
    Column::text("name", "kernel", 21),
    Column::unseen("entry_point"),
    Column::unseen("rows"),
    Column::unseen("cols"),
    Column::unseen("element_bytes"),
    Column::number("blocks", "blocks", 0),
    Column::number("load_requests", "global loads,\nrequests", 0),
    Column::number("load_sectors_per_request", "sectors/\nrequest", 0),
    Column::number("load_efficiency", "effi-\nciency", 6),
    Column::number("store_requests", "global stores,\nrequests", 0),
    Column::number("store_sectors_per_request", "sectors/\nrequest", 0),
    Column::number("store_efficiency", "effi-\nciency", 6),
    Column::number("shared_load_wavefronts_per_request", "shared loads,\nwavefronts", 0),
    Column::number("shared_store_wavefronts_per_request", "shared stores,\nwavefronts", 0),
    Column::number("bank_conflicts", "bank\nconflicts", 0),
    Column::number("warp_instructions", "warp\ninstructions", 0),
    Column::number("active_lanes", "active\nlanes", 0),
    Column::number("divergent_branches", "branches\ndiverged", 0),
    Column::number("busy_partitions_for_loads", "partitions,\nloads", 0),
    Column::number("busy_partitions_for_stores", "partitions,\nstores", 0),
    Column::unseen("load_sectors"),
    Column::unseen("store_sectors"),
];

/// The name of what was launched, with its kernel's if that is another.
fn printed(Line { name, launch, .. }: &Line) -> String {
    let stem = launch.kernel.rsplit_once("_b").map_or(launch.kernel, |(stem, _)| stem);
    if stem == *name { (*name).to_owned() } else { format!("{name} ({stem})") }
}

fn cells(shape: Shape, line: &Line) -> Vec<Cell> {
    let Line { launch, ratios, .. } = line;
    let total = line.total();
    let count = |number: u64| if number == 0 { Cell::Nothing } else { Cell::Count(number) };
    let ratio = |value: Option<f64>, digits| {
        value.map_or(Cell::Nothing, |value| Cell::Number(value, digits, 4))
    };
    let r = ratios;
    vec![
        printed(line).into(),
        launch.kernel.into(),
        shape.rows.into(),
        shape.cols.into(),
        shape.element_bytes.into(),
        launch.report.blocks.into(),
        count(total.global_load.requests),
        ratio(r.load_sectors_per_request, 2),
        ratio(r.load_efficiency, 3),
        count(total.global_store.requests),
        ratio(r.store_sectors_per_request, 2),
        ratio(r.store_efficiency, 3),
        ratio(r.shared_load_wavefronts_per_request, 2),
        ratio(r.shared_store_wavefronts_per_request, 2),
        (total.shared_load.conflicts + total.shared_store.conflicts).into(),
        total.warp_instructions.into(),
        ratio(r.active_lanes, 2),
        count(total.divergent_branches),
        ratio(r.busy_partitions_for_loads, 1),
        ratio(r.busy_partitions_for_stores, 1),
        total.global_load.sectors.into(),
        total.global_store.sectors.into(),
    ]
}

/// For each launch whose traffic was counted by partition: a bar for each partition, for the first
/// sets of blocks that run together.
pub fn partitions(profile: &Profile) -> String {
    let mut out = String::new();
    for line in &profile.kernels {
        let counted = line.launch.report.counters.as_ref();
        if let Some(report) = counted.and_then(|counted| counted.partitions.as_ref()) {
            bars(&mut out, line, report);
        }
    }
    out
}

fn bars(out: &mut String, line: &Line, report: &PartitionReport) {
    let model = report.model;
    _ = writeln!(
        out,
        "\n{}: sectors in each of {} partitions of {} bytes, {} blocks at a time",
        line.launch.kernel, model.count, model.width, model.concurrent_blocks
    );
    let width = (model.count as usize).max("stores".len());
    _ = writeln!(out, "{:>12}  {:width$}  stores", "from block", "loads");
    for set in report.sets.iter().take(SETS) {
        let (loads, stores) = (bar(&set.loads), bar(&set.stores));
        _ = writeln!(out, "{:>12}  {loads:width$}  {stores}", set.first_block);
    }
}

/// A block character for each number, from nothing to the largest.
fn bar(numbers: &[u64]) -> String {
    const HEIGHTS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = numbers.iter().max().copied().unwrap_or(0).max(1);
    numbers.iter().map(|&number| HEIGHTS[(number * 8).div_ceil(most) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        assert_eq!(bar(&[0, 1, 50, 100]), "·▁▄█");
        assert_eq!(bar(&[0, 0]), "··");
    }
}
