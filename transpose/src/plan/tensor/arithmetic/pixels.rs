//! The planner of `compute_pixels`: moves along a short axis of channels and a long one of pixels, which lie together on either side, or channels on both.

use super::operands::{Axis, DST, OTHER, Operands, Other, SRC};
use super::part::{Part, entry};
use super::tiles::in_words;
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::launch::{Fields, Launch};
use crate::plan::problem::VECTOR;
use kernel_abi::arithmetic::{
    COMPUTE_PIXELS, ComputePixels, OperandAxis, Operation, PIXEL_BYTES, PIXEL_THREADS,
};
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// Channels of a pixel at most: more are moved by tiles.
const MOST_CHANNELS: usize = 24;

/// Pixels of a block are a multiple of this, so that blocks start on vectors where the first one does.
const STEP: usize = 64;

/// Where the axes of channels and of pixels are.
#[derive(Clone, Copy)]
struct Pixels {
    channels: usize,
    pixels: usize,
}

impl Pixels {
    /// The axes, if there are such.
    fn of(operands: &Operands) -> Option<Self> {
        let lies = |axis: &Axis, stride: usize| {
            [SRC, DST].map(|side| axis.strides[side] == stride as isize)
        };
        let numbered = || operands.axes.iter().enumerate();
        let short = numbered().filter(|(_, axis)| (2..=MOST_CHANNELS).contains(&axis.length));
        let mut pairs = short.flat_map(|(channels, axis)| {
            let pixels = numbered().filter(move |&(pixels, _)| pixels != channels);
            pixels.map(move |(pixels, other)| (channels, axis, pixels, other))
        });
        pairs.find_map(|(channels, channel, pixels, pixel)| {
            let together = lies(channel, 1);
            let behind = lies(pixel, channel.length);
            // Planes that are one and the same, of channels that repeat, have no distance to tell them by.
            let planes = [SRC, DST].map(|side| lies(pixel, 1)[side] && channel.strides[side] != 0);
            let [src, dst] = [SRC, DST].map(|side| together[side] && behind[side]);
            let serves = src && (dst || planes[DST]) || planes[SRC] && dst;
            (serves && pixel.length > channel.length).then_some(Pixels { channels, pixels })
        })
    }
}

/// The launch; `None` where the kernel does not serve.
pub(super) fn launch(operands: &Operands, operation: &Operation) -> Option<Part> {
    let [size, ..] = operands.bytes;
    if size > 8 || matches!(operands.other, Other::Numbers(_) | Other::Destination) {
        return None;
    }
    let Pixels { channels, pixels } = Pixels::of(operands)?;
    let (channel, pixel) = (operands.axes[channels], operands.axes[pixels]);
    let others = operands.axes.iter().enumerate();
    let others = others.filter(|&(number, _)| number != channels && number != pixels);
    let others: Vec<Axis> = others.map(|(_, axis)| *axis).collect();
    if operands.has_channels() && !are_channels(&channel, others.iter().chain([&pixel])) {
        return None;
    }
    let per = per(pixel.length, channel.length * size);
    let plane = |side: usize| if pixel.strides[side] == 1 { channel.strides[side] } else { 0 };
    let together = |side: usize| if plane(side) == 0 { per * channel.length } else { per };
    let vectors = (together(SRC) * size + VECTOR - 1).div_ceil(VECTOR);
    let steps = Axis {
        length: pixel.length.div_ceil(per),
        strides: pixel.strides.map(|s| s * per as isize),
    };
    let blocks: Vec<Axis> = [steps].into_iter().chain(others).collect();
    let planes = (plane(DST) != 0).then_some(channel);
    let starts: Vec<Axis> = blocks.iter().copied().chain(planes).collect();
    let whole = operands.start_on_units(&starts, &[DST]);
    let units = together(DST).div_ceil(operands.unit()) + usize::from(!whole);
    let (lowest, reach) = in_words(operands).source_range();
    let params = ComputePixels {
        operation: *operation,
        blocks: divided(&blocks)?,
        count: blocks.len() as u64,
        per: per as u64,
        pixels: pixel.length as u64,
        channels: packed_divisor(channel.length),
        src_plane: plane(SRC) as u64,
        dst_plane: plane(DST) as u64,
        src_vectors: packed_divisor(vectors),
        dst_units: packed_divisor(units),
        whole: u64::from(whole),
        lowest: lowest as u64,
        reach: reach as u64,
    };
    let stretches = if plane(SRC) == 0 { 1 } else { channel.length };
    let all = blocks.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    let launch = Launch {
        entry: entry(&COMPUTE_PIXELS, size),
        grid: [u32::try_from(all).ok().filter(|&all| (all as usize) < TOO_LARGE)?, 1, 1],
        block: [PIXEL_THREADS, 1, 1],
        dynamic_shared_bytes: (stretches * vectors * VECTOR) as u32,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: [0, 0],
        params: Fields::of(&params),
    };
    (pixel.length < TOO_LARGE).then(|| Part::of(launch))
}

/// Whether channels that have numbers of their own are along the first axis, and along none of the others.
pub(super) fn are_channels<'a>(channel: &Axis, mut others: impl Iterator<Item = &'a Axis>) -> bool {
    channel.strides[OTHER] == 1 && others.all(|axis| axis.strides[OTHER] == 0)
}

/// Pixels of a block, of so many bytes each: about as many for each block.
fn per(pixels: usize, bytes: usize) -> usize {
    let most = (PIXEL_BYTES / bytes / STEP).max(1) * STEP;
    pixels.div_ceil(pixels.div_ceil(most)).next_multiple_of(STEP)
}

/// Axes as the kernel takes them; `None` if there are more of them.
pub(super) fn divided(axes: &[Axis]) -> Option<[OperandAxis; MOST_BLOCK_AXES]> {
    let none = OperandAxis { divisor: packed_divisor(1), src: 0, dst: 0, other: 0 };
    let mut all = [none; MOST_BLOCK_AXES];
    for (divided, axis) in all.get_mut(..axes.len())?.iter_mut().zip(axes) {
        let [src, dst, other] = axis.strides.map(|stride| stride as u64);
        *divided = OperandAxis { divisor: packed_divisor(axis.length), src, dst, other };
    }
    Some(all)
}
