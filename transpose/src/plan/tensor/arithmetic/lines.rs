//! The planner of `compute_lines` and `compute_lines_by_pairs`: rows that lie together in all memories and follow each other in the destination, wherever they start.

use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::slid;
use super::tiles::in_words;
use super::units::divided;
use crate::divide::{TOO_LARGE, packed_divisor};
use kernel_abi::arithmetic::{
    COMPUTE_LINES, COMPUTE_LINES_BY_PAIRS, ComputeLines, LINE_ROWS, LINE_UNITS, MOST_LINE_AXES,
    Operation, UNIT_THREADS,
};
use kernel_abi::fast::WARP;

/// Warps of a block, and warps of which there are too many: every thread's number is below what a kernel divides.
const WARPS: usize = (UNIT_THREADS / WARP) as usize;
const MOST_WARPS: usize = TOO_LARGE / WARP as usize - WARPS;

/// Bytes of a row of the source of which there are too many: a kernel counts them in 32 bits.
const MOST_OF_ROW: usize = 1 << 32;

/// What the kernels have of a copy's speed where rows and lines are long: with one factor, where something is added, where all of a line is of one channel, and where pixels follow each other in it. (By 263 windows out of images on an H200, decision 144, and by 159 whose channels have pairs, decision 145; of bytes that stay bytes by decision 149.)
const fn speeds(src: usize, dst: usize) -> [f64; 4] {
    match (src, dst) {
        (1, 2) => [0.87, 1.05, 0.84, 0.76],
        (1, 4) => [0.92, 1.06, 0.89, 0.82],
        (2, 1) => [0.83, 0.90, 0.72, 0.68],
        (2, 2) => [0.93, 1.05, 0.88, 0.83],
        (2, 4) => [0.93, 1.07, 0.88, 0.85],
        (4, 1) => [0.88, 0.90, 0.84, 0.81],
        (4, 2) => [0.91, 1.01, 0.89, 0.89],
        (4, 4) => [0.98, 1.08, 0.99, 0.96],
        _ => [0.72, 0.84, 0.68, 0.55],
    }
}

/// What each row costs, in bytes, and so much more for each byte of an element of the source; but where the source has fewer bytes between its rows no more than these and some. (By those windows.)
const OF_ROW: f64 = 60.0;
const OF_ROW_BYTE: f64 = 15.0;
const OF_ROW_BESIDE: f64 = 20.0;

/// By which power of the part of its lanes that have elements a warp takes less time. (By those windows.)
const OF_LANES: f64 = 0.9;

/// How many times as long a warp takes as others that has the first or the last elements of a line: where it loads all of its elements one by one, and where channels have pairs, and it does so with less than two units. (By those windows, and 30 of `arithmetic --windows`.)
const OF_ENDS: [f64; 2] = [4.0, 1.15];

/// The launch, and what it costs, in bytes that a copy could have moved meanwhile; `None` where the kernel does not serve.
pub(super) fn best(operands: &Operands, operation: &Operation) -> Option<(f64, Vec<Part>)> {
    let lines = Lines::of(operands, operation)?;
    let launch = lines.serve(operation).then(|| lines.launch(operation)).flatten()?;
    Some((lines.cost(), vec![launch]))
}

/// The lines of a move.
struct Lines<'a> {
    operands: &'a Operands,
    /// The axes whose elements lie together in the destination, the first of them a row's, and the others.
    inner: Vec<Axis>,
    outer: &'a [Axis],
    /// Elements of a line.
    elements: usize,
    /// Channels of the pixels that follow each other in a line; 1 if all of it is of one channel.
    channels: usize,
}

impl<'a> Lines<'a> {
    /// `None` if there are no rows, or too many axes.
    fn of(operands: &'a Operands, operation: &Operation) -> Option<Self> {
        let axes = &operands.axes[..];
        let has_channels = operands.has_channels();
        if !operands.lie_together() || has_channels && !operands.has_narrow_pairs(operation) {
            return None;
        }
        let (row, channels, others) = row_of(axes, has_channels)?;
        let (mut elements, mut count) = (row.length, 0);
        let goes_on = |axis: &Axis, elements: usize| {
            axis.strides[DST] == elements as isize && !(has_channels && axis.strides[OTHER] != 0)
        };
        while count < others.len().min(MOST_LINE_AXES - 1) && goes_on(&others[count], elements) {
            elements = elements.checked_mul(others[count].length)?;
            count += 1;
        }
        let (rows, outer) = others.split_at(count);
        let inner = [row].iter().chain(rows).copied().collect();
        let are_few = outer.len() <= MOST_LINE_AXES;
        are_few.then_some(Lines { operands, inner, outer, elements, channels })
    }

    /// Whether rows are so long that a warp has a lane for each that it has elements of, and one more.
    fn are_long(&self) -> bool {
        self.inner[0].length * (LINE_ROWS as usize - 2) >= self.of_warp()
    }

    /// Whether a kernel serves them.
    fn serve(&self, operation: &Operation) -> bool {
        let operands = self.operands;
        let is_like = operands.has_channels() || operands.other_is_like_destination();
        let others_serve = operands.are_in_units()
            || !operands.has_channels() && slid::serves(operands, operation);
        operands.are_narrow() && self.are_long() && is_like && !others_serve
    }

    /// What the kernel costs.
    fn cost(&self) -> f64 {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let [alone, sums, by_lines, by_pixels] = speeds(src, dst);
        let speed = match self.operands.has_channels() {
            true if self.channels > 1 => by_pixels,
            true => by_lines,
            false if self.operands.other.is_added() => sums,
            false => alone,
        };
        let chunks = self.chunks() as f64;
        // Lanes behind the last element of a line wait for the others.
        let all = (chunks * self.of_warp() as f64 / self.elements as f64).powf(OF_LANES);
        let of_ends = OF_ENDS[usize::from(self.operands.has_channels())];
        let ends = 1.0 + (of_ends - 1.0) * (2.0 / chunks).min(1.0);
        let rows = self.inner[1..].iter().chain(self.outer).map(|axis| axis.length as f64);
        let rows: f64 = rows.product();
        self.operands.traffic() * all * ends / speed + rows * self.of_row()
    }

    /// What a row costs beside its bytes: parts of sectors.
    fn of_row(&self) -> f64 {
        let bytes = self.operands.bytes[SRC];
        let most = OF_ROW + OF_ROW_BYTE * bytes as f64;
        let next = self.inner.get(1).or(self.outer.first());
        let next = next.map_or(0, |row| row.strides[SRC].unsigned_abs());
        let gap = next.saturating_sub(self.inner[0].length) * bytes;
        most.min(gap as f64 + OF_ROW_BESIDE)
    }

    /// Warps that have a line.
    fn chunks(&self) -> usize {
        self.elements.div_ceil(self.of_warp())
    }

    /// The launch; `None` if there are too many elements.
    fn launch(&self, operation: &Operation) -> Option<Part> {
        let chunks = self.chunks();
        let all = |chunks: usize, axis: &Axis| chunks.checked_mul(axis.length);
        let warps = self.outer.iter().try_fold(chunks, all)?;
        let (lowest, reach) = in_words(self.operands).source_range();
        let params = ComputeLines {
            operation: *operation,
            inner: divided(&self.inner, 1),
            inner_count: self.inner.len() as u64,
            outer: divided(self.outer, 1),
            outer_count: self.outer.len() as u64,
            elements: self.elements as u64,
            channels: packed_divisor(self.channels),
            chunks: packed_divisor(chunks),
            lowest: lowest as u64,
            reach: reach as u64,
        };
        let sizes = [[0; 3], self.operands.bytes.map(|bytes| bytes as isize)];
        let row = self.inner[0].length * self.operands.bytes[SRC];
        let are_few = warps < MOST_WARPS
            && self.numbers()? < TOO_LARGE - 2 * self.of_warp()
            && row < MOST_OF_ROW;
        let blocks = warps.div_ceil(WARPS);
        let has_channels = self.operands.has_channels();
        let kernel = if has_channels { &COMPUTE_LINES_BY_PAIRS } else { &COMPUTE_LINES };
        are_few.then(|| Part::counted(kernel, blocks, UNIT_THREADS, sizes, &params))
    }

    /// More than any element's number, as a kernel counts them, and as it counts those of pixels to find the channel.
    fn numbers(&self) -> Option<usize> {
        self.channels.checked_mul(self.operands.unit())?.checked_add(self.elements)
    }

    /// Elements that a warp has.
    fn of_warp(&self) -> usize {
        (WARP * LINE_UNITS) as usize * self.operands.unit()
    }
}

/// The row of these axes, how many channels follow each other in it, and the other axes; `None` if channels follow each other otherwise.
fn row_of(axes: &[Axis], has_channels: bool) -> Option<(Axis, usize, &[Axis])> {
    let (first, others) = axes.split_first()?;
    if !has_channels || first.strides[OTHER] == 0 {
        return Some((*first, 1, others));
    }
    let (pixels, others) = others.split_first()?;
    let pixel = first.length as isize;
    let are_together = first.strides[OTHER] == 1 && pixels.strides == [pixel, pixel, 0];
    let length = first.length.checked_mul(pixels.length)?;
    are_together.then_some((Axis { length, strides: [1, 1, 0] }, first.length, others))
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
            assert!(chunks * 512 >= elements && (chunks - 1) * 512 < elements, "{params:?}");
        }
    }

    /// The launch for windows of numbers of 1 byte in memory of this shape, without the last three indices of an axis, that become numbers of 2 bytes, where each index of another axis has a pair.
    fn by_channel(shape: [usize; 4], cut: usize, channels: usize) -> Option<ComputeLines> {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let all = TensorLayout::contiguous(&shape, 8).unwrap();
        let src = all.slice(cut, ..shape[cut] - 3, 1).unwrap();
        let dst = TensorLayout::contiguous(src.shape(), 8).unwrap();
        let step = |axis: usize| isize::from(axis == channels);
        let strides: Vec<isize> = (0..4).map(step).collect();
        let table = TensorLayout::strided(src.shape(), &strides, 0, 8).unwrap();
        let operand = |layout, element_bytes| Operand { layout, element_bytes, align: 16 };
        let pairs = Other::Channels(operand(table, 8));
        let operands = Operands::of(&operand(src, 1), &operand(dst, 2), &pairs);
        let (_, parts) = best(&operands, &operation)?;
        assert!(parts[0].launch.entry.name.starts_with(COMPUTE_LINES_BY_PAIRS.name));
        parts[0].launch.params.to()
    }

    #[test]
    fn all_of_a_line_is_of_one_channel_or_pixels_follow_each_other() {
        let counts = |params: ComputeLines| {
            [params.elements, params.channels as u32 as u64, params.inner_count, params.outer_count]
        };
        let planes = by_channel([5, 3, 50, 64], 3, 1).map(counts);
        assert_eq!(planes, Some([50 * 61, 1, 2, 2]));
        let pixels = by_channel([5, 50, 64, 3], 2, 3).map(counts);
        assert_eq!(pixels, Some([5 * 50 * 61 * 3, 3, 2, 0]));
        // Columns that are channels follow each other as those of pixels do, but rows between them and the next do not.
        assert_eq!(by_channel([5, 3, 50, 64], 3, 3).map(counts), None);
        // Channels of pixels are counted from 0, and numbers for that in 32 bits.
        assert_eq!(by_channel([1, 1, 5, (1 << 28) + 1], 2, 3).map(counts), None);
    }

    #[test]
    fn short_rows_and_too_many_elements_are_left_to_others() {
        let serves = [[1000, 17], [1000, 19], [1, 1 << 30], [2, (1 << 30) + 1], [40_000, 100_003]]
            .map(|shape| of(shape).is_some());
        assert_eq!(serves, [false, true, false, false, false]);
    }
}
