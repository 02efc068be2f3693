//! The planner of `compute_pixels`: moves along a short axis of channels and a long one of pixels, which lie together on either side, or channels on both.

use super::channel_places::Places;
use super::operands::{Axis, DST, OTHER, Operands, Other, SRC};
use super::part::{Part, entry};
use super::tiles::in_words;
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::launch::{Fields, Launch};
use crate::plan::problem::VECTOR;
use kernel_abi::arithmetic::{
    COMPUTE_PIXELS, ChannelPlaces, ComputePixels, OperandAxis, Operation, PIXEL_BYTES,
    PIXEL_THREADS, PixelRuns, PixelStretches,
};
use kernel_abi::tensor::MOST_BLOCK_AXES;

/// Channels of a pixel at most, and bytes of a pixel, where each channel has a pair; and channels where one factor serves all: pixels of more are moved by tiles.
const MOST_CHANNELS: usize = 256;
const MOST_BYTES: usize = 512;
pub(super) const FEW_CHANNELS: usize = 24;

/// The part of [`PIXEL_BYTES`] that images have at most which are stored plane by plane, each as a whole: planes of larger ones are shared out so that lanes meet in few banks.
const SMALL_PART: usize = 3;

/// Pixels of a block are a multiple of this, so that blocks start on vectors where the first one does.
const STEP: usize = 64;

/// Bytes of shared memory that a block of any device may have, and most of which images take that wait plane by plane.
const MOST_SHARED: usize = 48 << 10;
const FOR_IMAGES: usize = 36 << 10;

/// Distances of planes in shared memory that are looked at for the one at which the fewest lanes meet, each a vector more than the one before.
const PITCHES: usize = 8;

/// Elements of a line that does not end.
const ENDLESS: usize = 1 << 30;

/// Threads of a warp, which are as many as shared memory has banks.
const LANES: usize = 32;

/// Bytes of a bank's word.
const BANK: usize = 4;

/// Where the axes of channels and of pixels are, and how they lie on both sides.
#[derive(Clone, Copy)]
struct Pixels {
    channels: usize,
    pixels: usize,
    /// Elements from one channel to the next where pixels lie together, else 0.
    planes: [isize; 2],
    /// Whether channels lie together in the source in descending order.
    descending: bool,
}

impl Pixels {
    /// The axes, if there are such.
    fn of(operands: &Operands) -> Option<Self> {
        let lies = |axis: &Axis, stride: usize| {
            [SRC, DST].map(|side| axis.strides[side] == stride as isize)
        };
        let numbered = || operands.axes.iter().enumerate();
        let has_pairs = operands.has_channels();
        let most = if has_pairs { MOST_CHANNELS } else { FEW_CHANNELS };
        let is_short = move |axis: &Axis| {
            let bytes = axis.length * operands.bytes[SRC];
            (2..=most).contains(&axis.length) && bytes <= MOST_BYTES
        };
        let are_channels = move |axis: &Axis| !has_pairs || axis.strides[OTHER] != 0;
        let short = numbered().filter(move |(_, axis)| is_short(axis) && are_channels(axis));
        let mut pairs = short.flat_map(|(channels, axis)| {
            let pixels = numbered().filter(move |&(pixels, _)| pixels != channels);
            pixels.map(move |(pixels, other)| (channels, axis, pixels, other))
        });
        pairs.find_map(|(channels, channel, pixels, pixel)| {
            let descending = channel.strides[SRC] == -1;
            let [src, dst] = lies(channel, 1);
            let together = [src || descending, dst];
            let behind = lies(pixel, channel.length);
            // Planes that are one and the same, of channels that repeat, have no distance to tell them by.
            let are_planes =
                [SRC, DST].map(|side| lies(pixel, 1)[side] && channel.strides[side] != 0);
            let [src, dst] = [SRC, DST].map(|side| together[side] && behind[side]);
            let serves = src && (dst || are_planes[DST]) || are_planes[SRC] && dst;
            let plane = |side: usize, is: bool| if is { 0 } else { channel.strides[side] };
            let planes = [plane(SRC, src), plane(DST, dst)];
            let are_many = has_pairs || pixel.length > channel.length;
            let found = Pixels { channels, pixels, planes, descending: src && descending };
            (serves && are_many).then_some(found)
        })
    }

    /// The axis of images, if some are loaded and stored as a whole, and how many by each block: where channels have pairs, or results are wider. Otherwise boxes are faster for small images.
    fn images(&self, operands: &Operands) -> Option<(usize, usize)> {
        let has_boxes = !operands.has_channels() && operands.bytes[DST] <= operands.bytes[SRC];
        if has_boxes || self.descending {
            return None;
        }
        let [channel, pixel] = [self.channels, self.pixels].map(|axis| operands.axes[axis].length);
        let image = channel * pixel;
        let is_whole = |side: usize, axis: &Axis| {
            let plane = self.planes[side];
            axis.strides[side] == if plane == 0 { image as isize } else { plane * channel as isize }
        };
        let follows = |(_, axis): &(usize, &Axis)| {
            is_whole(SRC, axis) && is_whole(DST, axis) && axis.strides[DST] == image as isize
        };
        let (images, _) = operands.axes.iter().enumerate().find(follows)?;
        let bytes = image * operands.bytes[SRC];
        // Of each plane, wherever it starts and how far it is from the next one.
        let plane = pixel * operands.bytes[SRC] + (PITCHES + 1) * VECTOR;
        let room = if self.planes[SRC] == 0 { usize::MAX } else { FOR_IMAGES / (channel * plane) };
        let serves = match self.planes {
            [0, 0] => false,
            [_, 0] => bytes <= PIXEL_BYTES,
            _ => pixel >= operands.unit() && bytes <= PIXEL_BYTES / SMALL_PART,
        };
        (serves && room > 0).then(|| (images, (PIXEL_BYTES / bytes).min(room)))
    }
}

/// A launch, and what its cost is known by.
pub(super) struct InPixels {
    pub part: Part,
    /// Channels of a pixel.
    pub channels: usize,
    /// Whether these come to lie together.
    pub to_pixels: bool,
    /// Whether blocks take whole images.
    pub are_images: bool,
    /// Blocks, stretches that they load, and runs that they store.
    pub blocks: f64,
    pub stretches: f64,
    pub runs: f64,
    /// Words of one bank that a warp loads at once, of channels that have pairs.
    pub meet: usize,
}

/// The launch; `None` where the kernel does not serve.
pub(super) fn launch(operands: &Operands, operation: &Operation) -> Option<InPixels> {
    let [size, ..] = operands.bytes;
    // What is stored, too: there is no code for 8 bytes that become 16.
    let most = operands.bytes[..OTHER].iter().copied().max().unwrap_or(size);
    if most > 8 || matches!(operands.other, Other::Numbers(_) | Other::Destination) {
        return None;
    }
    let pixels = Pixels::of(operands)?;
    let channel = operands.axes[pixels.channels];
    let others = operands.axes.iter().filter(|axis| **axis != channel);
    if operands.has_channels() && !are_channels(&channel, others) {
        return None;
    }
    let block = Block::of(&pixels, operands)?;
    let whole = operands.start_on_units(&block.starts, &[DST]);
    let (stretches, held) = block.stretches(operands);
    let runs = block.runs(operands, stretches.pitch as usize, whole)?;
    let has_pairs = operands.has_narrow_pairs(operation);
    let (told, with_pairs) = Places::of_pixels(channel.length).told(size, held);
    let (channels, shared, meet) = match has_pairs {
        true => (told, with_pairs, block.meet(operands, &runs)),
        false => (ChannelPlaces { pairs: 0, ..told }, held, 1),
    };
    let (lowest, reach) = in_words(operands).source_range();
    let params = ComputePixels {
        operation: *operation,
        blocks: divided(&block.axes)?,
        count: block.axes.len() as u64,
        per: block.per as u64,
        groups: block.groups as u64,
        stretches,
        runs,
        channels,
        lowest: lowest as u64,
        reach: reach as u64,
    };
    let all = block.axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.length))?;
    let launch = Launch {
        entry: entry(&COMPUTE_PIXELS, size),
        grid: [u32::try_from(all).ok().filter(|&all| (all as usize) < TOO_LARGE)?, 1, 1],
        block: [PIXEL_THREADS, 1, 1],
        dynamic_shared_bytes: shared,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: [0, 0],
        params: Fields::of(&params),
    };
    let blocks = all as f64;
    let of_groups = if stretches.lengthen != 0 { 1 } else { block.per };
    let fits = shared as usize <= MOST_SHARED;
    (fits && block.groups < TOO_LARGE).then(|| InPixels {
        part: Part::of(launch),
        channels: channel.length,
        to_pixels: pixels.planes[DST] == 0,
        are_images: block.image.is_some(),
        blocks,
        stretches: blocks * (stretches.count as usize * of_groups) as f64,
        runs: blocks * runs.count as f64,
        meet,
    })
}

/// What a block has: groups, which are pixels of an image, or whole images.
struct Block {
    channels: usize,
    planes: [isize; 2],
    /// Whether channels lie together in the source in descending order.
    descending: bool,
    /// Pixels of each image, if groups are images.
    image: Option<usize>,
    /// Groups of a block, and of all.
    per: usize,
    groups: usize,
    /// The axes that blocks are counted along, in steps of a block's groups.
    axes: Vec<Axis>,
    /// Those that runs of the destination start along.
    starts: Vec<Axis>,
}

impl Block {
    /// `None` where lines are shorter than units may have them.
    fn of(pixels: &Pixels, operands: &Operands) -> Option<Self> {
        let [channel, pixel] = [pixels.channels, pixels.pixels].map(|axis| operands.axes[axis]);
        let images = pixels.images(operands);
        let (along, per) = images.unwrap_or_else(|| {
            (pixels.pixels, per(pixel.length, channel.length * operands.bytes[SRC]))
        });
        let groups = operands.axes[along];
        let steps = Axis {
            length: groups.length.div_ceil(per),
            strides: groups.strides.map(|stride| stride * per as isize),
        };
        let is_other =
            |number: usize| number != along && number != pixels.channels && number != pixels.pixels;
        let numbered = operands.axes.iter().enumerate();
        let others = numbered.filter(|&(number, _)| is_other(number)).map(|(_, axis)| *axis);
        let axes: Vec<Axis> = [steps].into_iter().chain(others).collect();
        let are_runs = images.is_none() && pixels.planes[DST] != 0;
        let starts = axes.iter().copied().chain(are_runs.then_some(channel)).collect();
        // Of units of eight elements each has some of three lines at most, of smaller ones of two.
        let least = if operands.unit() > 4 { 4 } else { operands.unit() - 1 };
        let serves = pixels.planes[DST] != 0 || channel.length >= least;
        serves.then_some(Block {
            channels: channel.length,
            planes: pixels.planes,
            descending: pixels.descending,
            image: images.map(|_| pixel.length),
            per,
            groups: groups.length,
            axes,
            starts,
        })
    }

    /// What is loaded, and how much of shared memory that takes.
    fn stretches(&self, operands: &Operands) -> (PixelStretches, u32) {
        let (size, image) = (operands.bytes[SRC], self.image.unwrap_or(1));
        let [plane, _] = self.planes;
        let (count, elements, are_longer) = match self.image {
            _ if plane == 0 => (1, image * self.channels, true),
            None => (self.channels, 1, true),
            Some(image) => (self.channels, image, false),
        };
        let of_block = if are_longer { elements * self.per } else { elements };
        let all = if are_longer { count } else { count * self.per };
        let pitch = if plane == 0 { 0 } else { self.pitch(of_block * size, plane, operands) };
        let stretches = PixelStretches {
            count: count as u64,
            elements: elements as u64,
            lengthen: u64::from(are_longer),
            step: plane as u64,
            before: if self.descending { self.channels as u64 - 1 } else { 0 },
            pitch: pitch as u64,
            vectors: packed_divisor((of_block * size + VECTOR - 1).div_ceil(VECTOR)),
        };
        let held = (all - 1) * pitch + of_block * size + 2 * VECTOR;
        (stretches, held.next_multiple_of(VECTOR) as u32)
    }

    /// The distance in shared memory, of planes of `bytes` bytes that are `plane` elements apart in the source, at which the fewest lanes meet in a bank.
    fn pitch(&self, bytes: usize, plane: isize, operands: &Operands) -> usize {
        let size = operands.bytes[SRC];
        let like = (plane * size as isize).rem_euclid(VECTOR as isize) as usize;
        let least = (bytes + VECTOR - 1).next_multiple_of(VECTOR) + like;
        let place = |pitch: usize, lane: usize| {
            let element = lane * operands.unit();
            (element % self.channels) * pitch + element / self.channels * size
        };
        let pitches = (0..PITCHES).map(|more| least + more * VECTOR);
        fewest_meet(pitches, place).unwrap_or(least)
    }

    /// What is stored, of stretches that wait `pitch` bytes apart, and whether runs start on units; `None` if a block would have more units than it can count.
    fn runs(&self, operands: &Operands, pitch: usize, whole: bool) -> Option<PixelRuns> {
        let (size, unit) = (operands.bytes[SRC], operands.unit());
        let Block { channels, planes: [src, dst], image, descending, .. } = *self;
        let pixel = channels * size;
        let (count, elements) = match image {
            None if dst != 0 => (channels, 1),
            _ => (1, image.unwrap_or(1) * channels),
        };
        // From channel to channel, in their order in the destination.
        let channel = if descending { size.wrapping_neg() } else { size };
        let (element, line, next, lines, plane) = match image {
            Some(image) if dst != 0 => (pixel, image, size, channels, image * pixel),
            None if dst != 0 => (pixel, ENDLESS, 0, 1, 0),
            Some(image) if src != 0 => (pitch, channels, size, image, channels * pitch),
            None if src != 0 => (pitch, channels, 0, 1, size),
            _ => (channel, channels, 0, 1, pixel),
        };
        let of_run = (elements * self.per).div_ceil(unit) + usize::from(!whole);
        let units = if count == 1 { LANES.ilog2() } else { turns(operands, pixel) };
        let turn = count << units;
        let all = of_run.div_ceil(1 << units) * turn;
        (all * unit < TOO_LARGE).then(|| PixelRuns {
            count: count as u64,
            elements: elements as u64,
            step: dst as u64,
            units: u64::from(units),
            turn: packed_divisor(turn),
            all: all as u64,
            whole: u64::from(whole),
            run: channel as u64,
            element: element as u64,
            line: packed_divisor(line),
            next: next as u64,
            lines: packed_divisor(lines),
            plane: plane as u64,
            are_channels: u64::from(dst == 0),
        })
    }

    /// Words of one bank that a warp loads at once, about: of a block's first units.
    fn meet(&self, operands: &Operands, runs: &PixelRuns) -> usize {
        let [run, element, next, plane] =
            [runs.run, runs.element, runs.next, runs.plane].map(|bytes| bytes as i64 as isize);
        let [line, lines] = [runs.line, runs.lines].map(|divisor| divisor as u32 as usize);
        conflicts((0..LANES).map(|lane| {
            let first = lane % (1 << runs.units) * operands.unit();
            let (of_line, past) = (first / line, first % line);
            let at = (lane >> runs.units) as isize * run
                + past as isize * element
                + (of_line % lines) as isize * next
                + (of_line / lines) as isize * plane;
            // Counted from before all that may be before the first, a multiple of all banks.
            (at + MOST_SHARED as isize) as usize
        }))
    }
}

/// How many units of a plane a warp stores before those of the next plane, as a power of two, where pixels have `pixel` bytes in the source: those of which the fewest meet in a bank, and which store whole sectors.
fn turns(operands: &Operands, pixel: usize) -> u32 {
    let (size, unit) = (operands.bytes[SRC], operands.unit());
    let least = if unit * operands.bytes[DST] >= VECTOR { 1 } else { 3 };
    let place =
        |units: u32, lane: usize| (lane >> units) * size + lane % (1 << units) * unit * pixel;
    fewest_meet((least..=LANES.ilog2()).rev(), place).unwrap_or(least)
}

/// The first of these choices by which the fewest lanes meet in a bank: where none do, no others are looked at.
fn fewest_meet<C: Copy>(
    choices: impl Iterator<Item = C>,
    place: impl Fn(C, usize) -> usize,
) -> Option<C> {
    let mut fewest: Option<(usize, C)> = None;
    for choice in choices {
        let meet = conflicts((0..LANES).map(|lane| place(choice, lane)));
        if fewest.is_none_or(|(least, _)| meet < least) {
            fewest = Some((meet, choice));
        }
        if meet == 1 {
            break;
        }
    }
    fewest.map(|(_, choice)| choice)
}

/// The most words of one bank that lanes load from these places.
fn conflicts(places: impl Iterator<Item = usize>) -> usize {
    let (mut words, mut of_bank) = ([usize::MAX; LANES], [0; LANES]);
    for (lane, place) in places.enumerate() {
        let word = place / BANK;
        if !words[..lane].contains(&word) {
            of_bank[word % LANES] += 1;
        }
        words[lane] = word;
    }
    of_bank.into_iter().max().unwrap_or(0)
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
