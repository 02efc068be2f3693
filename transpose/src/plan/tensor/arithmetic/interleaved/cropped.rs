//! The planner of `compute_cropped2` and its like: windows out of images of two, three or four channels, whose rows follow each other in the destination, and pixels become planes, or planes pixels.

use super::super::operands::{Axis, DST, Operands, SRC};
use super::super::part::Part;
use super::super::tiles::in_words;
use super::super::units::divided;
use super::axes::Pixels;
use crate::divide::{TOO_LARGE, packed_divisor};
use kernel_abi::arithmetic::{
    COMPUTE_CROPPED2, COMPUTE_CROPPED3, COMPUTE_CROPPED4, CROPPED_THREADS, ComputeCropped,
    MOST_LINE_AXES, Operation, flags,
};
use kernel_abi::fast::WARP;

/// Groups of pixels that a warp has at most.
const GROUPS: usize = 4;

/// Bytes of a window, on either side, of which there are too many: a kernel counts its elements in 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// What the kernels have of a copy's speed where windows and their rows are long, to pixels and to planes. (By 462 windows out of images of two to four channels on an H200, decision 146, as all of these prices; of bytes that stay bytes by decision 149.)
const fn speeds(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.89, 0.91],
        (1, 4) => [0.92, 0.91],
        (2, 1) => [0.81, 0.77],
        (2, 2) => [0.89, 0.86],
        (2, 4) => [0.91, 0.89],
        (4, 1) => [0.87, 0.83],
        (4, 2) => [0.92, 0.87],
        (4, 4) => [0.99, 0.96],
        _ => [0.72, 0.76],
    }
}

/// By which power of the part of their lanes that have pixels the warps of a window take less time.
const OF_LANES: f64 = 0.66;

/// What a window costs, in bytes: it has two ends, whose elements are stored one by one.
const OF_WINDOW: f64 = 1000.0;

/// What each row of the source costs, in bytes, and so much more for each byte of an element; but where there are fewer bytes between rows no more than these.
const OF_ROW: f64 = 57.0;
const OF_ROW_BYTE: f64 = 9.0;

/// The launch, and what it costs, in bytes that a copy could have moved meanwhile; `None` where the kernel does not serve.
pub(in super::super) fn best(
    operands: &Operands,
    operation: &Operation,
) -> Option<(f64, Vec<Part>)> {
    let from = |operands: &Operands, offsets| {
        let windows = Windows::of(operands, operation)?;
        Some((windows.cost(), vec![windows.launch(operation, offsets)?]))
    };
    from(operands, [0; 3]).or_else(|| {
        let (ascending, offsets) = super::with_ascending_channels(operands)?;
        from(&ascending, offsets)
    })
}

/// The windows of a move.
struct Windows<'a> {
    operands: &'a Operands,
    pixels: Pixels,
    /// The axis of a window's rows, and the others.
    row: Option<Axis>,
    others: Vec<Axis>,
    /// Pixels of a window.
    count: usize,
}

impl<'a> Windows<'a> {
    /// `None` if there are none that the kernel serves.
    fn of(operands: &'a Operands, operation: &Operation) -> Option<Self> {
        // What is computed in numbers of 64 bits is not.
        let are_wide = operation.flags & flags::WIDE != 0;
        if !operands.are_narrow() || are_wide || operands.other.is_added() {
            return None;
        }
        let pixels = Pixels::of(operands)?;
        let Pixels { pixel, .. } = pixels;
        let ends = pixel.strides.map(|stride| stride * pixel.length as isize);
        // Rows of the source do not overlap.
        let follows = |axis: &Axis| {
            axis.strides[DST] == ends[DST]
                && axis.strides[SRC].unsigned_abs() >= ends[SRC].unsigned_abs()
        };
        let mut others = pixels.others.clone();
        let row = others.iter().position(follows).map(|row| others.remove(row));
        let count = pixel.length.checked_mul(row.map_or(1, |row| row.length))?;
        let windows = Windows { operands, pixels, row, others, count };
        windows.serve().then_some(windows)
    }

    /// Whether the kernel serves them.
    fn serve(&self) -> bool {
        let Self { operands, pixels, others, .. } = self;
        // Four numbers of 4 bytes are a vector, and `compute_interleaved4` is nearly as fast.
        let are_vectors = pixels.channel.length == 4 && operands.bytes[SRC] == 4;
        pixels.become_another()
            && pixels.start_on_pixels_along(others, operands, DST)
            && !are_vectors
            && pixels.pixel.length >= operands.unit()
            && others.len() <= MOST_LINE_AXES
    }

    /// Pixels of a group.
    fn of_group(&self) -> usize {
        let lanes = if self.pixels.together[DST] { WARP } else { WARP - 1 };
        lanes as usize * self.operands.unit()
    }

    /// How many warps have a window, and how many groups of pixels each.
    fn parts(&self) -> [usize; 2] {
        // A window may have a part of a unit before its first whole one: then groups start a unit before the window, for planes, too, that start with a whole one.
        let pixels = self.count.saturating_add(self.operands.unit());
        let groups = pixels.div_ceil(self.of_group());
        let parts = groups.div_ceil(GROUPS);
        [parts, groups.div_ceil(parts)]
    }

    /// What the kernel costs.
    fn cost(&self) -> f64 {
        let Self { operands, pixels, others, .. } = self;
        let [src, dst] = [SRC, DST].map(|side| operands.bytes[side]);
        let [to_pixels, to_planes] = speeds(src, dst);
        let speed = if pixels.together[DST] { to_pixels } else { to_planes };
        let [parts, groups] = self.parts();
        let lanes = (parts * groups * self.of_group()) as f64 / self.count as f64;
        let windows: f64 = others.iter().map(|axis| axis.length as f64).product();
        operands.traffic() * lanes.max(1.0).powf(OF_LANES) / speed
            + windows * (OF_WINDOW + self.rows() * self.of_row())
    }

    /// Rows of a window in the source, those of its planes, too.
    fn rows(&self) -> f64 {
        let Pixels { channel, together, .. } = &self.pixels;
        let planes = if together[SRC] { 1 } else { channel.length };
        (planes * self.row.map_or(1, |row| row.length)) as f64
    }

    /// What a row of the source costs beside its bytes: parts of sectors.
    fn of_row(&self) -> f64 {
        let pixel = &self.pixels.pixel;
        let bytes = self.operands.bytes[SRC];
        let next = self.row.or(self.others.first().copied());
        let next = next.map_or(0, |row| row.strides[SRC].unsigned_abs());
        let gap = next.saturating_sub(pixel.length * pixel.strides[SRC].unsigned_abs()) * bytes;
        (OF_ROW + OF_ROW_BYTE * bytes as f64).min(gap as f64)
    }

    /// The launch, which starts `offsets` elements behind where the move starts in each memory; `None` if a kernel cannot count the elements of a window, or the threads, in 32 bits.
    fn launch(&self, operation: &Operation, offsets: [isize; 3]) -> Option<Part> {
        let Self { operands, pixels, others, .. } = self;
        let [parts, groups] = self.parts();
        let all = |warps: usize, axis: &Axis| warps.checked_mul(axis.length);
        let threads = others.iter().try_fold(parts, all)?.checked_mul(WARP as usize)?;
        let bytes = pixels.channel.length * operands.bytes[SRC].max(operands.bytes[DST]);
        let is_small = |count: usize| count < TOO_LARGE - CROPPED_THREADS as usize;
        if !is_small(threads) || self.count.checked_mul(bytes)? > MOST_BYTES {
            return None;
        }
        let (lowest, reach) = in_words(operands).source_range();
        let params = ComputeCropped {
            operation: *operation,
            axes: divided(others, 1),
            count: others.len() as u64,
            columns: packed_divisor(pixels.pixel.length),
            row: self.row.map_or(0, |row| row.strides[SRC]) as u64,
            pixels: self.count as u64,
            src_plane: pixels.plane(SRC),
            dst_plane: pixels.plane(DST),
            parts: packed_divisor(parts),
            groups: groups as u64,
            lowest: lowest as u64,
            reach: reach as u64,
        };
        let kernel = match pixels.channel.length {
            2 => &COMPUTE_CROPPED2,
            3 => &COMPUTE_CROPPED3,
            _ => &COMPUTE_CROPPED4,
        };
        let blocks = threads.div_ceil(CROPPED_THREADS as usize);
        let sizes = [offsets, operands.bytes.map(|bytes| bytes as isize)];
        Some(Part::counted(kernel, blocks, CROPPED_THREADS, sizes, &params))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::operands::{Operand, Other};
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;

    /// The launch for two images of `columns` pixels of three numbers of 1 byte in rows that are `row` elements apart, which become planes of numbers of 2 bytes.
    fn of(rows: usize, columns: usize, row: isize) -> Option<ComputeCropped> {
        let operation = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let shape = [2, rows, columns, 3];
        let image = 2 * rows as isize * row.abs();
        let first = if row < 0 { image as usize } else { 0 };
        let src = TensorLayout::strided(&shape, &[image, row, 3, 1], first, 1).unwrap();
        let planes = TensorLayout::contiguous(&[2, 3, rows, columns], 2).unwrap();
        let dst = planes.permute_axes(&[0, 2, 3, 1]).unwrap();
        let operand = |layout, element_bytes| Operand { layout, element_bytes, align: 16 };
        let operands = Operands::of(&operand(src, 1), &operand(dst, 2), &Other::None);
        let (_, parts) = best(&operands, &operation)?;
        assert!(parts[0].launch.entry.name.starts_with(COMPUTE_CROPPED3.name));
        parts[0].launch.params.to()
    }

    #[test]
    fn warps_have_all_pixels_of_a_window() {
        // Of a group 31 lanes have eight pixels each.
        for (rows, columns) in [(3, 37), (299, 299), (1000, 11), (5, 8), (1, 240), (1, 241)] {
            let params = of(rows, columns, 2000).unwrap();
            let (pixels, parts) = (params.pixels, u64::from(params.parts as u32));
            assert_eq!(pixels, (rows * columns) as u64);
            // A unit more, which is before the window where any of its planes starts with a part of one.
            assert!(parts * params.groups * 248 >= pixels + 8, "{params:?}");
            assert!((parts * params.groups - parts) * 248 < pixels + 8, "{params:?}");
        }
    }

    #[test]
    fn rows_that_are_short_or_overlap_are_left_to_others() {
        assert!(of(10, 8, 24).is_some() && of(10, 8, -30).is_some());
        assert_eq!(of(10, 7, 30), None);
        // Each is a window of its own then.
        let params = of(10, 20, 30).unwrap();
        assert_eq!((params.pixels, params.count), (20, 2));
    }
}
