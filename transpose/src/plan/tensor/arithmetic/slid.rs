//! The planner of `compute_slid`: windows, whose rows start on units of the destination, and anywhere in the source.

use super::super::model::cost_of_gaps;
use super::super::sectors::SECTOR;
use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::runs::gaps_of;
use super::tiles::in_words;
use super::units::divided;
use crate::divide::TOO_LARGE;
use kernel_abi::arithmetic::{COMPUTE_SLID, ComputeSlid, Operation, ROWS_OF_THREAD, UNIT_THREADS};

/// Rows of a thread.
const ROWS: usize = ROWS_OF_THREAD as usize;

/// What the kernel has of a copy's speed, of the bytes of the source's sectors and of the others': where channels have pairs, without, and where something is added. (By 900 windows of 16 to 2147 columns of eight pairs of types on an H200, decision 143; of bytes that stay bytes by decision 149.)
const fn speeds(src: usize, dst: usize) -> [f64; 3] {
    match (src, dst) {
        (1, 2) => [0.79, 0.89, 0.98],
        (1, 4) => [0.78, 0.85, 0.97],
        (2, 2) => [0.75, 0.82, 0.99],
        (2, 4) => [0.76, 0.83, 1.00],
        (4, 1) => [0.67, 0.72, 0.73],
        (4, 2) => [0.72, 0.77, 0.84],
        (4, 4) => [0.90, 0.94, 1.02],
        (2, 1) => [0.65, 0.73, 0.85],
        _ => [0.72, 0.83, 0.96],
    }
}

/// The launch, and what it costs, in bytes that a copy could have moved meanwhile; `None` where the kernel does not serve.
pub(super) fn best(operands: &Operands, operation: &Operation) -> Option<(f64, Vec<Part>)> {
    let launch = launch(operands, operation)?;
    let [src, dst] = [SRC, DST].map(|side| operands.bytes[side]);
    let [by_channel, alone, sums] = speeds(src, dst);
    let speed = match operands.has_channels() {
        true => by_channel,
        false if operands.other.is_added() => sums,
        false => alone,
    };
    let rows: f64 = operands.axes[1..].iter().map(|axis| axis.length as f64).product();
    let gaps = gaps_of(operands);
    let of_gaps = gaps.map_or(0.0, |(to, gaps)| cost_of_gaps(&to, &gaps, false));
    let cost = (operands.traffic() + rows * SECTOR as f64) / speed + of_gaps;
    Some((cost, vec![launch]))
}

/// The launch; `None` where the kernel does not serve.
fn launch(operands: &Operands, operation: &Operation) -> Option<Part> {
    if !serves(operands, operation) {
        return None;
    }
    let (run, others) = operands.axes.split_first()?;
    let unit = operands.unit();
    let in_units =
        Axis { length: run.length / unit, strides: run.strides.map(|step| step * unit as isize) };
    let (number, rows) = others.iter().enumerate().min_by_key(|(_, axis)| spare(axis))?;
    let by_threads = Axis {
        length: rows.length.div_ceil(ROWS),
        strides: rows.strides.map(|step| step * ROWS as isize),
    };
    let rest = others.iter().enumerate().filter(|&(at, _)| at != number).map(|(_, axis)| *axis);
    let axes: Vec<Axis> = [in_units, by_threads].into_iter().chain(rest).collect();
    let threads = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    let (lowest, reach) = in_words(operands).source_range();
    let params = ComputeSlid {
        operation: *operation,
        axes: divided(&axes, 1),
        count: axes.len() as u64,
        threads: threads as u64,
        rows: rows.length as u64,
        row_src: rows.strides[SRC] as u64,
        row_dst: rows.strides[DST] as u64,
        row_other: rows.strides[OTHER] as u64,
        channel_step: run.strides[OTHER] as u64,
        lowest: lowest as u64,
        reach: reach as u64,
    };
    let blocks = threads.div_ceil(UNIT_THREADS as usize);
    let sizes = [[0; 3], operands.bytes.map(|bytes| bytes as isize)];
    let is_small = threads < TOO_LARGE - UNIT_THREADS as usize && rows.length < TOO_LARGE;
    is_small.then(|| Part::counted(&COMPUTE_SLID, blocks, UNIT_THREADS, sizes, &params))
}

/// Whether the kernel serves a move.
pub(super) fn serves(operands: &Operands, operation: &Operation) -> bool {
    let Some((run, others)) = operands.axes.split_first() else { return false };
    let are_narrow = [SRC, DST].iter().all(|&side| operands.bytes[side] <= 4);
    let are_runs = operands.lie_together()
        && (!operands.has_channels() || operands.has_narrow_pairs(operation));
    let on_units: &[usize] = if operands.other.is_added() { &[DST, OTHER] } else { &[DST] };
    let are_whole = run.length.is_multiple_of(operands.unit());
    let are_slid = !operands.are_in_units() && operands.start_on_units(others, on_units);
    are_narrow && are_runs && are_whole && are_slid
}

/// How many thousandths of the rows that threads have there are not along an axis.
fn spare(axis: &Axis) -> usize {
    let all = axis.length.div_ceil(ROWS) * ROWS;
    1000 * (all - axis.length) / all
}
