//! The planner of `compute_lines`: rows that lie together in all memories and follow each other in the destination, wherever they start.

use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::slid;
use super::tiles::in_words;
use super::units::divided;
use crate::divide::{TOO_LARGE, packed_divisor};
use kernel_abi::arithmetic::{
    COMPUTE_LINES, ComputeLines, LINE_ROWS, LINE_UNITS, MOST_LINE_AXES, Operation, UNIT_THREADS,
};
use kernel_abi::fast::WARP;

/// Warps of a block, and warps of which there are too many: every thread's number is below what a kernel divides.
const WARPS: usize = (UNIT_THREADS / WARP) as usize;
const MOST_WARPS: usize = TOO_LARGE / WARP as usize - WARPS;

/// Bytes of a row of the source of which there are too many: a kernel counts them in 32 bits.
const MOST_OF_ROW: usize = 1 << 32;

/// What the kernel has of a copy's speed where rows and lines are long: alone, and where something is added. (By 263 windows out of images on an H200, decision 144; of bytes that stay bytes none was measured.)
const fn speeds(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.87, 1.05],
        (1, 4) => [0.92, 1.06],
        (2, 1) => [0.83, 0.90],
        (2, 2) => [0.93, 1.05],
        (2, 4) => [0.93, 1.07],
        (4, 1) => [0.88, 0.90],
        (4, 2) => [0.91, 1.01],
        (4, 4) => [0.98, 1.08],
        _ => [0.50; 2],
    }
}

/// What each row costs, in bytes, and so much more for each byte of an element of the source; but where the source has fewer bytes between its rows no more than these and some. (By those windows.)
const OF_ROW: f64 = 60.0;
const OF_ROW_BYTE: f64 = 15.0;
const OF_ROW_BESIDE: f64 = 20.0;

/// How many times as long a warp takes as others that has the first or the last elements of a line, which it loads one by one: what is between gaps of the destination goes another way, unless lines are long. (By 30 of those windows and of `arithmetic --windows`.)
const OF_ENDS: f64 = 4.0;

/// The launch, and what it costs, in bytes that a copy could have moved meanwhile; `None` where the kernel does not serve.
pub(super) fn best(operands: &Operands, operation: &Operation) -> Option<(f64, Vec<Part>)> {
    let lines = Lines::of(operands)?;
    let launch = lines.serves(operation).then(|| lines.launch(operation)).flatten()?;
    Some((lines.cost()?, vec![launch]))
}

/// The lines of a move.
struct Lines<'a> {
    operands: &'a Operands,
    /// The axes whose elements lie together in the destination, and the others.
    inner: &'a [Axis],
    outer: &'a [Axis],
    /// Elements of a line.
    elements: usize,
}

impl<'a> Lines<'a> {
    /// `None` if there are no rows, or too many axes.
    fn of(operands: &'a Operands) -> Option<Self> {
        let axes = &operands.axes[..];
        if operands.has_channels() || !operands.are_runs() {
            return None;
        }
        let (mut elements, mut count) = (1usize, 0);
        while count < axes.len().min(MOST_LINE_AXES)
            && axes[count].strides[DST] == elements as isize
        {
            elements = elements.checked_mul(axes[count].length)?;
            count += 1;
        }
        let (inner, outer) = axes.split_at(count);
        let are_few = outer.len() <= MOST_LINE_AXES;
        are_few.then_some(Lines { operands, inner, outer, elements })
    }

    /// Whether rows are so long that a warp has a lane for each that it has elements of, and one more.
    fn are_long(&self) -> bool {
        self.inner[0].length * (LINE_ROWS as usize - 2) >= self.of_warp()
    }

    /// Whether the kernel serves them.
    fn serves(&self, operation: &Operation) -> bool {
        let operands = self.operands;
        let are_narrow = operands.bytes[..OTHER].iter().all(|&bytes| bytes <= 4);
        let others_serve = operands.are_in_units() || slid::serves(operands, operation);
        are_narrow && self.are_long() && operands.other_is_like_destination() && !others_serve
    }

    /// What the kernel costs.
    fn cost(&self) -> Option<f64> {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let [alone, sums] = speeds(src, dst);
        let speed = if self.operands.other.is_added() { sums } else { alone };
        let chunks = self.chunks()? as f64;
        // Lanes behind the last element of a line wait for the others.
        let all = chunks * self.of_warp() as f64 / self.elements as f64;
        let ends = 1.0 + (OF_ENDS - 1.0) * (2.0 / chunks).min(1.0);
        let rows: f64 = self.operands.axes[1..].iter().map(|axis| axis.length as f64).product();
        Some(self.operands.traffic() * all * ends / speed + rows * self.of_row())
    }

    /// What a row costs beside its bytes: parts of sectors.
    fn of_row(&self) -> f64 {
        let bytes = self.operands.bytes[SRC];
        let most = OF_ROW + OF_ROW_BYTE * bytes as f64;
        let next = self.operands.axes.get(1).map_or(0, |row| row.strides[SRC].unsigned_abs());
        let gap = next.saturating_sub(self.operands.axes[0].length) * bytes;
        most.min(gap as f64 + OF_ROW_BESIDE)
    }

    /// Warps that have a line.
    fn chunks(&self) -> Option<usize> {
        let on_units = self.operands.start_on_units(self.outer, &[DST]);
        let before = if on_units { 0 } else { self.operands.unit() - 1 };
        Some(self.elements.checked_add(before)?.div_ceil(self.of_warp()))
    }

    /// The launch; `None` if there are too many elements.
    fn launch(&self, operation: &Operation) -> Option<Part> {
        let chunks = self.chunks()?;
        let all = |chunks: usize, axis: &Axis| chunks.checked_mul(axis.length);
        let warps = self.outer.iter().try_fold(chunks, all)?;
        let (lowest, reach) = in_words(self.operands).source_range();
        let params = ComputeLines {
            operation: *operation,
            inner: divided(self.inner, 1),
            inner_count: self.inner.len() as u64,
            outer: divided(self.outer, 1),
            outer_count: self.outer.len() as u64,
            elements: self.elements as u64,
            chunks: packed_divisor(chunks),
            lowest: lowest as u64,
            reach: reach as u64,
        };
        let sizes = [[0; 3], self.operands.bytes.map(|bytes| bytes as isize)];
        let row = self.inner[0].length * self.operands.bytes[SRC];
        let are_few = warps < MOST_WARPS
            && self.elements < TOO_LARGE - 2 * self.of_warp()
            && row < MOST_OF_ROW;
        let blocks = warps.div_ceil(WARPS);
        are_few.then(|| Part::counted(&COMPUTE_LINES, blocks, UNIT_THREADS, sizes, &params))
    }

    /// Elements that a warp has.
    fn of_warp(&self) -> usize {
        (WARP * LINE_UNITS) as usize * self.operands.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;

    /// The launch for rows with a gap behind them, of numbers of 4 bytes, that follow each other as numbers of 2 bytes.
    fn of(shape: [usize; 2]) -> Option<ComputeLines> {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let operand = |element_bytes, gap: usize| {
            let strides = [(shape[1] + gap) as isize, 1];
            let layout = TensorLayout::strided(&shape, &strides, 0, element_bytes).unwrap();
            Operand { layout, element_bytes, align: element_bytes }
        };
        let operands = Operands::of(&operand(4, 3), &operand(2, 0), &Other::None);
        let (_, parts) = best(&operands, &operation)?;
        parts[0].launch.params.to()
    }

    #[test]
    fn warps_have_all_elements_of_a_line() {
        for shape in [[1000, 37], [3, 12_345_679], [1_000_003, 19]] {
            let params = of(shape).unwrap();
            let (elements, chunks) = (params.elements, u64::from(params.chunks as u32));
            assert_eq!(
                (elements, params.inner_count, params.outer_count),
                ((shape[0] * shape[1]) as u64, 2, 0)
            );
            // As many as start inside a unit, too.
            assert!(chunks * 512 >= elements && (chunks - 1) * 512 < elements + 3, "{params:?}");
        }
    }

    #[test]
    fn short_rows_and_too_many_elements_are_left_to_others() {
        let serves = [[1000, 17], [1000, 19], [1, 1 << 30], [2, (1 << 30) + 1], [40_000, 100_003]]
            .map(|shape| of(shape).is_some());
        assert_eq!(serves, [false, true, false, false, false]);
    }
}
