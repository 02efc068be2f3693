//! The planner of `compute_interleaved2` and its like: pixels of two, three or four channels, which lie together on one side, and planes of pixels on the other. And that of `compute_mirrored2` and its like: such pixels in descending
//! order in the source, planes and channels that stay together, too; channels that stay together in reverse order; and, where channels have pairs, pixels and planes that stay as they are, with gaps.

mod axes;
pub(super) mod cropped;

use self::axes::{Order, Pixels, Rows};
use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::pixels::divided;
use super::tiles::in_words;
use crate::divide::TOO_LARGE;
use kernel_abi::arithmetic::{
    COMPUTE_CROPPED2, COMPUTE_CROPPED3, COMPUTE_CROPPED4, COMPUTE_INTERLEAVED_SUMS2,
    COMPUTE_INTERLEAVED_SUMS3, COMPUTE_INTERLEAVED_SUMS4, COMPUTE_INTERLEAVED2,
    COMPUTE_INTERLEAVED3, COMPUTE_INTERLEAVED4, COMPUTE_MIRRORED2, COMPUTE_MIRRORED3,
    COMPUTE_MIRRORED4, COMPUTE_WINDOWS2, COMPUTE_WINDOWS3, COMPUTE_WINDOWS4, ComputeInterleaved,
    ComputeMirrored, INTERLEAVED_THREADS, Operation,
};
use kernel_abi::fast::{VECTOR, WARP};
use std::ops::RangeInclusive;

/// Elements of a row, of all its channels, below which other ways are as fast, if rows start anywhere: of what is computed alone, and of sums. (By 60 batches of rows of 49 to 2501 pixels, of each pair of
/// types, on an H200, decision 115. Where channels have numbers of their own, such rows have a price.)
const FEW: usize = 512;
const FEW_ADDED: usize = 1024;

/// Elements of a row, of all its channels, below which other ways than `compute_mirrored2` and its like are as fast, if rows start anywhere: where channels lie together on a side, and between planes. (By 189 batches of rows of 37
/// to 2501 pixels, decision 139.)
const FEW_MIRRORED: usize = 1300;
const FEW_MIRRORED_PLANES: usize = 2000;

/// How many channels a pixel may have.
pub(super) const CHANNELS: RangeInclusive<usize> = 2..=4;

/// Whether an entry point is of the kernels that add nothing.
pub(super) fn is_entry(name: &str) -> bool {
    let kernels = [
        COMPUTE_INTERLEAVED2.name,
        COMPUTE_INTERLEAVED3.name,
        COMPUTE_INTERLEAVED4.name,
        COMPUTE_MIRRORED2.name,
        COMPUTE_MIRRORED3.name,
        COMPUTE_MIRRORED4.name,
        COMPUTE_WINDOWS2.name,
        COMPUTE_WINDOWS3.name,
        COMPUTE_WINDOWS4.name,
        COMPUTE_CROPPED2.name,
        COMPUTE_CROPPED3.name,
        COMPUTE_CROPPED4.name,
    ];
    kernels.into_iter().any(|kernel| name.starts_with(kernel))
}

/// A launch, and what its cost is known by.
pub(super) struct Interleaved {
    pub part: Part,
    /// Rows of pixels that start anywhere; none where all have whole units.
    pub ragged: usize,
    /// Whether channels come to lie together.
    pub to_pixels: bool,
    /// Whether it is one of `compute_mirrored2` and its like.
    pub is_mirrored: bool,
    /// Whether it is one of `compute_windows2` and its like.
    pub are_slid: bool,
    /// Whether planes stay such, and in their order.
    pub stay_planes: bool,
}

/// The launch; `None` where the kernel does not serve. Channels in reverse order go from the last one on.
pub(super) fn launch(operands: &Operands, operation: &Operation) -> Option<Interleaved> {
    launch_from(operands, [0; 3], operation).or_else(|| {
        let (ascending, offsets) = with_ascending_channels(operands)?;
        launch_from(&ascending, offsets, operation)
    })
}

/// The move from the last one on of channels that are in reverse order in the source, if there are such, and how many elements further on it starts in each memory.
fn with_ascending_channels(operands: &Operands) -> Option<(Operands, [isize; 3])> {
    let is_descending = |axis: &Axis| axis.strides[SRC] == -1 && axis.strides[DST] > 1;
    let ascending = operands.counted_from_end(is_descending)?;
    let offset = |side: usize| ascending.starts[side] - operands.starts[side];
    let offsets = [SRC, DST, OTHER].map(offset);
    Some((ascending, offsets))
}

/// The launch for operands of which each starts `offsets` elements behind where the move does in its memory; `None` where the kernel does not serve.
fn launch_from(
    operands: &Operands,
    mut offsets: [isize; 3],
    operation: &Operation,
) -> Option<Interleaved> {
    let is_beside = operands.has_channels() || operands.other_is_like_destination();
    if !operands.are_narrow() || !is_beside {
        return None;
    }
    let pixels = Pixels::of(operands)?;
    let Pixels { channel, pixel, others, .. } = &pixels;
    let unit = operands.unit();
    // The source from its lowest element on, as the kernel reads it.
    let ascending = pixels.at_lowest(operands);
    let are_enough =
        || operands.has_channels() || channel.length * pixel.length >= few(&pixels, operands);
    // Pixels that are units stay such: `compute_units` has no parts of units at rows' ends.
    let serves_ragged = || {
        let is_best = pixels.become_another() || !operands.are_in_units();
        is_best && pixels.start_on_pixels(&ascending, operands) && are_enough()
    };
    let rows = match pixels.rows(&ascending, operands) {
        Rows::Ragged if !serves_ragged() => return None,
        // `compute_interleaved4` slides what it holds, where `compute_windows4` would load twice as many vectors. (0.93 of its speed in the mean of 20 windows, decision 143.)
        Rows::Slid if are_four_of_vectors(&pixels, operands) && serves_ragged() => Rows::Ragged,
        rows => rows,
    };
    let are_whole = rows != Rows::Ragged;
    let (of_row, lanes) = if are_whole { (0, WARP) } else { (pixel.length, WARP - 1) };
    // Where rows start anywhere there are units before their first pixel and behind their last, and what is slid comes from one more: two, between planes that start anywhere on both sides.
    let (parts, more) = match pixels.together {
        _ if are_whole => (0, 0),
        [false, false] => (unit - 1, 2),
        _ => (unit - 1, 1),
    };
    let in_units = Axis {
        length: (pixel.length + parts).div_ceil(unit) + more,
        strides: pixel.strides.map(|stride| stride * unit as isize),
    };
    let ragged = if are_whole { 0 } else { others.iter().map(|axis| axis.length).product() };
    let axes: Vec<Axis> = [in_units].into_iter().chain(others.iter().copied()).collect();
    let units = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    // Of whole units in descending order the first one is the row's last.
    let is_last_first = are_whole && pixels.order.has_descending_pixels();
    let behind = if is_last_first { (pixel.length - unit) as isize } else { 0 };
    let behind = behind * -pixel.strides[SRC];
    offsets[SRC] += ascending.starts[SRC] - operands.starts[SRC] + behind;
    let (lowest, reach) = in_words(&ascending).source_range();
    let params = ComputeInterleaved {
        operation: *operation,
        axes: divided(&axes)?,
        count: axes.len() as u64,
        units: units as u64,
        src_plane: pixels.plane(SRC),
        dst_plane: pixels.plane(DST),
        pixels: of_row as u64,
        lowest: (lowest - behind * operands.bytes[SRC] as isize) as u64,
        reach: reach as u64,
    };
    let threads = units.div_ceil(lanes as usize) * WARP as usize;
    let is_small = |count: usize| count < TOO_LARGE - INTERLEAVED_THREADS as usize;
    (is_small(threads) && is_small(of_row * channel.length)).then(|| Interleaved {
        part: part(operands, &pixels, rows, threads, offsets, params),
        ragged,
        to_pixels: pixels.together[DST],
        is_mirrored: !pixels.become_another(),
        are_slid: rows == Rows::Slid,
        stay_planes: pixels.together == [false; 2] && pixels.order == Order::Ascending,
    })
}

/// Whether these are four planes, whose units are vectors, that become pixels.
fn are_four_of_vectors(pixels: &Pixels, operands: &Operands) -> bool {
    let become_pixels = pixels.become_another() && pixels.together[DST];
    become_pixels
        && pixels.channel.length == 4
        && operands.unit() * operands.bytes[SRC] == VECTOR as usize
}

/// The launch of `threads` threads, by the kernel for so many channels that become another, are added to, or stay together or planes.
fn part(
    operands: &Operands,
    pixels: &Pixels,
    rows: Rows,
    threads: usize,
    offsets: [isize; 3],
    params: ComputeInterleaved,
) -> Part {
    let blocks = threads.div_ceil(INTERLEAVED_THREADS as usize);
    let sizes = [offsets, operands.bytes.map(|bytes| bytes as isize)];
    let channels = pixels.channel.length;
    if rows == Rows::Slid || !pixels.become_another() {
        let kernel = match (channels, rows == Rows::Slid) {
            (2, false) => &COMPUTE_MIRRORED2,
            (3, false) => &COMPUTE_MIRRORED3,
            (_, false) => &COMPUTE_MIRRORED4,
            (2, true) => &COMPUTE_WINDOWS2,
            (3, true) => &COMPUTE_WINDOWS3,
            (_, true) => &COMPUTE_WINDOWS4,
        };
        let params = ComputeMirrored {
            pixels: params,
            descending_pixels: u64::from(pixels.order.has_descending_pixels()),
            descending_channels: u64::from(pixels.order.has_descending_channels()),
        };
        return Part::counted(kernel, blocks, INTERLEAVED_THREADS, sizes, &params);
    }
    let kernel = match (channels, operands.other.is_added()) {
        (2, false) => &COMPUTE_INTERLEAVED2,
        (3, false) => &COMPUTE_INTERLEAVED3,
        (_, false) => &COMPUTE_INTERLEAVED4,
        (2, true) => &COMPUTE_INTERLEAVED_SUMS2,
        (3, true) => &COMPUTE_INTERLEAVED_SUMS3,
        (_, true) => &COMPUTE_INTERLEAVED_SUMS4,
    };
    Part::counted(kernel, blocks, INTERLEAVED_THREADS, sizes, &params)
}

/// Elements of a row that starts anywhere, below which other ways are as fast.
fn few(pixels: &Pixels, operands: &Operands) -> usize {
    if !pixels.become_another() {
        return if pixels.together == [false; 2] { FEW_MIRRORED_PLANES } else { FEW_MIRRORED };
    }
    match (operands.other.is_added(), operands.bytes[DST]) {
        (false, _) => FEW,
        // No boxes are for these.
        (true, 1) => 0,
        (true, _) => FEW_ADDED,
    }
}
