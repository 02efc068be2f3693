//! The table that a person reads.
//!
//! A load or store instruction of a warp is a *request*; it moves *sectors* of 32 bytes.
//! *Efficiency* is requested over moved bytes. A *wavefront* is a cycle of shared memory;
//! *conflicts* are wavefronts lost to bank conflicts. *Lanes* are active per instruction, of 32.

use super::{Line, Profile, Ratios};
use std::fmt::Write;
use transpose::simt::PartitionReport;

/// Sets of blocks to draw bars for.
const SETS: usize = 6;

/// Two lines of headings and a line for each launch.
pub fn table(profile: &Profile) -> String {
    let shape = profile.shape;
    let mut out =
        format!("{} × {} elements of {} bytes\n", shape.rows, shape.cols, shape.element_bytes);
    let heads = [
        ["", "kernel"],
        ["", "blocks"],
        ["global loads", "requests"],
        ["sectors/", "request"],
        ["effi-", "ciency"],
        ["global stores", "requests"],
        ["sectors/", "request"],
        ["effi-", "ciency"],
        ["shared wavefronts", "/load"],
        ["", "/store"],
        ["bank", "conflicts"],
        ["warp instr.", "/1000"],
        ["active", "lanes"],
        ["branches", "diverged"],
        ["partitions", "load/store"],
    ];
    let rows: Vec<[String; 15]> = profile.kernels.iter().map(cells).collect();
    let columns: Vec<usize> = (0..heads.len())
        .filter(|&column| rows.iter().any(|row| row[column] != "–" || column < 2))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| &row[column][..]).chain(heads[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(|&column| width(column)).collect();
    let mut line = |cell: &dyn Fn(usize) -> String| {
        for (&column, width) in columns.iter().zip(&widths) {
            // Names stand left, numbers right. Writing to a string cannot fail.
            _ = match column {
                0 => write!(out, "{:<width$}", cell(column)),
                _ => write!(out, "  {:>width$}", cell(column)),
            };
        }
        out.push('\n');
    };
    line(&|column| heads[column][0].to_owned());
    line(&|column| heads[column][1].to_owned());
    rows.iter().for_each(|row| line(&|column| row[column].clone()));
    out
}

fn cells(line: &Line) -> [String; 15] {
    let Line { name, launch, ratios, .. } = line;
    let total = line.total();
    let stem = launch.kernel.rsplit_once("_b").map_or(launch.kernel, |(stem, _)| stem);
    let name = if stem == *name { (*name).to_owned() } else { format!("{name} ({stem})") };
    let count = |number: u64| if number == 0 { "–".to_owned() } else { number.to_string() };
    let percent = |ratio: Option<f64>| {
        ratio.map_or("–".to_owned(), |ratio| format!("{:.1} %", 100.0 * ratio))
    };
    let partitions = match (ratios.busy_partitions_for_loads, ratios.busy_partitions_for_stores) {
        (None, None) => "–".to_owned(),
        (loads, stores) => format!("{}/{}", ratio(loads, 1), ratio(stores, 1)),
    };
    let Ratios { load_efficiency, store_efficiency, .. } = *ratios;
    [
        name,
        launch.report.blocks.to_string(),
        count(total.global_load.requests),
        ratio(ratios.load_sectors_per_request, 2),
        percent(load_efficiency),
        count(total.global_store.requests),
        ratio(ratios.store_sectors_per_request, 2),
        percent(store_efficiency),
        ratio(ratios.shared_load_wavefronts_per_request, 2),
        ratio(ratios.shared_store_wavefronts_per_request, 2),
        (total.shared_load.conflicts + total.shared_store.conflicts).to_string(),
        format!("{:.1}", total.warp_instructions as f64 / 1e3),
        ratio(ratios.active_lanes, 2),
        count(total.divergent_branches),
        partitions,
    ]
}

fn ratio(ratio: Option<f64>, digits: usize) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.digits$}"))
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
