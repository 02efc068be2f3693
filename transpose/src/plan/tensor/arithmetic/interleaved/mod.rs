//! The planner of `compute_interleaved2` and its like: pixels of two, three or four channels, which lie together on one side, and planes of pixels on the other.

use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::pixels::{are_channels, divided};
use super::tiles::in_words;
use crate::divide::TOO_LARGE;
use kernel_abi::arithmetic::{
    COMPUTE_INTERLEAVED_SUMS2, COMPUTE_INTERLEAVED_SUMS3, COMPUTE_INTERLEAVED_SUMS4,
    COMPUTE_INTERLEAVED2, COMPUTE_INTERLEAVED3, COMPUTE_INTERLEAVED4, ComputeInterleaved,
    INTERLEAVED_THREADS, Operation,
};
use kernel_abi::fast::WARP;
use std::ops::RangeInclusive;

/// Elements of a row, of all its channels, below which other ways are as fast, if rows start anywhere: of what is computed alone, and of sums. (By 60 batches of rows of 49 to 2501 pixels, of each pair of
/// types, on an H200, decision 115. Where channels have numbers of their own, such rows have a price.)
const FEW: usize = 512;
const FEW_ADDED: usize = 1024;

/// How many channels a pixel may have.
pub(super) const CHANNELS: RangeInclusive<usize> = 2..=4;

/// Whether an entry point is of the kernels that add nothing.
pub(super) fn is_entry(name: &str) -> bool {
    let kernels = [&COMPUTE_INTERLEAVED2, &COMPUTE_INTERLEAVED3, &COMPUTE_INTERLEAVED4];
    kernels.iter().any(|kernel| name.starts_with(kernel.name))
}

/// A launch, and what its cost is known by.
pub(super) struct Interleaved {
    pub part: Part,
    /// Rows of pixels that start anywhere; none where all have whole units.
    pub ragged: usize,
    /// Whether channels come to lie together.
    pub to_pixels: bool,
}

/// The launch; `None` where the kernel does not serve. Channels in reverse order go from the last one on.
pub(super) fn launch(operands: &Operands, operation: &Operation) -> Option<Interleaved> {
    launch_from(operands, [0; 3], operation).or_else(|| {
        let is_reversed = |axis: &Axis| axis.strides[SRC] == -1 && axis.strides[DST] > 1;
        let ascending = operands.turned_around(is_reversed)?;
        let offset = |side: usize| ascending.starts[side] - operands.starts[side];
        launch_from(&ascending, [SRC, DST, OTHER].map(offset), operation)
    })
}

/// The launch for operands of which each starts `offsets` elements behind where the move does in its memory; `None` where the kernel does not serve.
fn launch_from(
    operands: &Operands,
    offsets: [isize; 3],
    operation: &Operation,
) -> Option<Interleaved> {
    let bytes = [SRC, DST].map(|side| operands.bytes[side]);
    let is_beside = operands.has_channels() || operands.other_is_like_destination();
    if bytes.iter().any(|&bytes| bytes > 4) || !is_beside {
        return None;
    }
    let (channel, mut pixel, others) = interleaved(operands)?;
    if operands.has_channels() && !are_channels(&channel, others.iter().chain([&pixel])) {
        return None;
    }
    let unit = operands.unit();
    // The side of planes, and the other one.
    let (planes, together) = if pixel.strides[SRC] == 1 { (SRC, DST) } else { (DST, SRC) };
    let of_planes: Vec<Axis> = others.iter().copied().chain([channel]).collect();
    let are_whole = pixel.length.is_multiple_of(unit)
        && operands.start_on_units(&of_planes, &[planes])
        && operands.start_on_units(&others, &[together]);
    if !are_whole && !serves_rows(operands, [channel.length, pixel.length], &others, together) {
        return None;
    }
    let (pixels, lanes) = if are_whole { (0, WARP) } else { (pixel.length, WARP - 1) };
    // Where rows start anywhere there are units before their first pixel and behind their last, and what is slid comes from one more.
    let more = if are_whole { 0 } else { 1 };
    pixel.length = (pixel.length + more * (unit - 1)).div_ceil(unit) + more;
    pixel.strides = pixel.strides.map(|stride| stride * unit as isize);
    let ragged = if are_whole { 0 } else { others.iter().map(|axis| axis.length).product() };
    let axes: Vec<Axis> = [pixel].into_iter().chain(others).collect();
    let units = axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    let plane = |side: usize| if side == planes { channel.strides[side] as u64 } else { 0 };
    let kernel = match (channel.length, operands.other.is_added()) {
        (2, false) => &COMPUTE_INTERLEAVED2,
        (3, false) => &COMPUTE_INTERLEAVED3,
        (_, false) => &COMPUTE_INTERLEAVED4,
        (2, true) => &COMPUTE_INTERLEAVED_SUMS2,
        (3, true) => &COMPUTE_INTERLEAVED_SUMS3,
        (_, true) => &COMPUTE_INTERLEAVED_SUMS4,
    };
    let (lowest, reach) = in_words(operands).source_range();
    let params = ComputeInterleaved {
        operation: *operation,
        axes: divided(&axes)?,
        count: axes.len() as u64,
        units: units as u64,
        src_plane: plane(SRC),
        dst_plane: plane(DST),
        pixels: pixels as u64,
        lowest: lowest as u64,
        reach: reach as u64,
    };
    let threads = units.div_ceil(lanes as usize) * WARP as usize;
    let blocks = threads.div_ceil(INTERLEAVED_THREADS as usize);
    let bytes = operands.bytes.map(|bytes| bytes as isize);
    let is_small = |count: usize| count < TOO_LARGE - INTERLEAVED_THREADS as usize;
    (is_small(threads) && is_small(pixels * channel.length)).then(|| Interleaved {
        part: Part::counted(kernel, blocks, INTERLEAVED_THREADS, [offsets, bytes], &params),
        ragged,
        to_pixels: planes == SRC,
    })
}

/// Whether the kernel serves rows of `pixels` pixels of `channels` channels that start anywhere; channels lie together in the memory `together`.
fn serves_rows(
    operands: &Operands,
    [channels, pixels]: [usize; 2],
    others: &[Axis],
    together: usize,
) -> bool {
    let few = match (operands.other.is_added(), operands.bytes[DST]) {
        (false, _) => FEW,
        // No boxes are for these.
        (true, 1) => 0,
        (true, _) => FEW_ADDED,
    };
    // A unit starts with a pixel in each row: of three channels there is always such a one, of two and four only where rows start on as many elements.
    let step = if channels == 3 { 1 } else { channels } * operands.bytes[together];
    (channels * pixels >= few || operands.has_channels())
        && operands.start_on(step, others, together)
}

/// The axis of channels, that of pixels, and the others, if there are few channels, which lie together on one side and are planes on the other.
fn interleaved(operands: &Operands) -> Option<(Axis, Axis, Vec<Axis>)> {
    let numbered = || operands.axes.iter().enumerate();
    let lies = |axis: &Axis, side: usize, stride: isize| axis.strides[side] == stride;
    let pair = |channel: &Axis, pixel: &Axis| {
        [(SRC, DST), (DST, SRC)].into_iter().any(|(together, planes)| {
            lies(channel, together, 1)
                && lies(pixel, together, channel.length as isize)
                && lies(pixel, planes, 1)
        })
    };
    numbered().filter(|(_, axis)| CHANNELS.contains(&axis.length)).find_map(|(c, channel)| {
        let (p, pixel) = numbered().find(|&(p, pixel)| p != c && pair(channel, pixel))?;
        let others = numbered().filter(|&(at, _)| at != c && at != p).map(|(_, axis)| *axis);
        let is_plane = channel.strides[if pixel.strides[SRC] == 1 { SRC } else { DST }] != 0;
        is_plane.then(|| (*channel, *pixel, others.collect()))
    })
}
