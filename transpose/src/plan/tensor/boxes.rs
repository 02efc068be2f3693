//! The planner of `boxes`: which part of which axes a box has, and how its words are numbered on either side.

use super::canonical::{Axis, Canonical, divided, starts_on};
use super::cuts::{Cut, Side, sectors_of_one};
use super::model::{BoxTally, SECTOR, cost_of_boxes, idle};
use super::{Block, launch, params_of};
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{
    BOX_PLACES_BESIDE, BOX_THREADS, BOXES, Boxes, Digit, Digits, MOST_AXES, MOST_BLOCK_AXES,
    MOST_DIGITS, Part,
};

/// Bytes of shared memory that stretches of a box may take.
const MOST_IMAGE: usize = 32 << 10;

/// The most words of a stretch of the destination: each has an entry in a table. What is longer is several.
const MOST_PLACES: usize = 2048;

/// The most stretches on either side.
const MOST_STRETCHES: usize = 1024;

/// More than kernels can divide.
const TOO_MANY: usize = 1 << 31;

/// Banks of shared memory.
const BANKS: usize = 32;

/// No axis that boxes have parts of.
const NONE: u64 = 2;

/// A box: of each axis some indices, in canonical order.
#[derive(Clone, Copy)]
struct Tile {
    indices: [usize; MOST_AXES],
}

/// Axes by their numbers, at most as many as a number has digits.
#[derive(Clone, Copy, Default)]
struct FewAxes {
    axes: [usize; MOST_DIGITS],
    count: usize,
}

impl FewAxes {
    fn axes(&self) -> &[usize] {
        &self.axes[..self.count]
    }

    fn push(&mut self, axis: usize) -> Option<()> {
        *self.axes.get_mut(self.count)? = axis;
        self.count += 1;
        Some(())
    }
}

/// A box's words as one side has them: stretches, and the axes that number them.
#[derive(Clone, Copy)]
struct Stretches {
    /// The axes of a stretch, the fastest first.
    within: FewAxes,
    /// Words of a stretch.
    words: usize,
    /// Words that lie together, of stretches that do.
    together: usize,
    /// The axes that tell stretches apart, the one that boxes have parts of last.
    apart: FewAxes,
    /// How many stretches.
    count: usize,
    /// Bytes, up to a sector's, that all stretches of all boxes start on a multiple of.
    aligned: usize,
}

impl Tile {
    /// The smallest that has both cuts.
    fn of(canonical: &Canonical, cuts: [&Cut; 2]) -> Self {
        let mut indices = [1; MOST_AXES];
        for cut in cuts {
            for &axis in cut.axes() {
                let has =
                    if axis == cut.slowest() { cut.indices } else { canonical.axes()[axis].length };
                indices[axis] = has.max(indices[axis]);
            }
        }
        Tile { indices }
    }

    /// The axes of which it has more than one index, and all axes with how many.
    fn axes<'a>(
        &'a self,
        canonical: &'a Canonical,
    ) -> impl Iterator<Item = (usize, &'a Axis, usize)> {
        canonical
            .axes()
            .iter()
            .enumerate()
            .map(|(number, axis)| (number, axis, self.indices[number]))
    }

    fn words(&self, canonical: &Canonical) -> usize {
        self.axes(canonical).map(|(_, _, indices)| indices).product()
    }

    /// How many it takes to have everything.
    fn count(&self, canonical: &Canonical) -> usize {
        self.axes(canonical).map(|(_, axis, indices)| axis.length.div_ceil(indices)).product()
    }

    /// Its stretches of no more than `most` words on the side of an address and strides; `None` if they have too many axes.
    fn stretches(&self, canonical: &Canonical, side: &Side, most: usize) -> Option<Stretches> {
        let stride = side.stride;
        let (mut within, mut words) = (FewAxes::default(), 1usize);
        let (mut together, mut ended) = (1usize, false);
        let next = |together: usize| {
            self.axes(canonical)
                .find(|&(_, axis, indices)| indices > 1 && stride(axis) == together as isize)
        };
        while let Some((number, axis, indices)) = next(together) {
            together *= indices;
            ended |= together > most;
            if !ended {
                within.push(number)?;
                words = together;
            }
            if indices < axis.length {
                break;
            }
        }
        let mut apart = FewAxes::default();
        for whole in [true, false] {
            for (number, axis, indices) in self.axes(canonical) {
                let is_whole = indices == axis.length;
                if indices > 1 && is_whole == whole && !within.axes().contains(&number) {
                    apart.push(number)?;
                }
            }
        }
        let count = apart.axes().iter().map(|&number| self.indices[number]).product();
        // Where axes lie together, what follows starts where they end.
        let steps = self.axes(canonical).filter_map(|(_, axis, indices)| {
            match indices > 1 && stride(axis).unsigned_abs() < together {
                true => (indices < axis.length).then_some(stride(axis) * indices as isize),
                false => Some(stride(axis)),
            }
        });
        let aligned = starts_on(side.address, steps, canonical.word_bytes(), SECTOR);
        Some(Stretches { within, words, together, apart, count, aligned })
    }
}

/// A choice of box, and what it costs.
#[derive(Clone, Copy)]
struct Choice {
    tile: Tile,
    src: Stretches,
    dst: Stretches,
    cost: f64,
}

/// The `most` cheapest launches that move boxes, and their costs, cheapest first; none where one side has no neighbours, or where there
/// are more axes than the kernel takes.
pub(super) fn best(canonical: &Canonical, facts: &Facts, most: usize) -> Vec<(f64, Launch)> {
    let [from, to] = Side::both(canonical);
    // Every other one: a box differs little from its neighbours, and there are as many as the product of both.
    let [rows, cols] = [&to, &from]
        .map(|side| side.cuts(canonical).into_iter().rev().step_by(2).collect::<Vec<Cut>>());
    let mut best: Vec<Choice> = Vec::with_capacity(most + 1);
    for row in &rows {
        for col in &cols {
            let Some(choice) =
                choice(canonical, facts, Tile::of(canonical, [row, col]), [&from, &to])
            else {
                continue;
            };
            let same = |other: &Choice| other.tile.indices == choice.tile.indices;
            if best.iter().any(same) {
                continue;
            }
            let at = best.partition_point(|better| better.cost <= choice.cost);
            best.insert(at, choice);
            best.truncate(most);
        }
    }
    best.iter().filter_map(|choice| Some((choice.cost, launch_of(canonical, choice)?))).collect()
}

/// What a box would cost, if there can be one.
fn choice(
    canonical: &Canonical,
    facts: &Facts,
    tile: Tile,
    [from, to]: [&Side; 2],
) -> Option<Choice> {
    let word = canonical.word_bytes();
    let words = tile.words(canonical);
    if words * word > MOST_IMAGE {
        return None;
    }
    let src = tile.stretches(canonical, from, usize::MAX)?;
    let dst = tile.stretches(canonical, to, MOST_PLACES)?;
    if src.count.max(dst.count) > MOST_STRETCHES {
        return None;
    }
    let held = Held::of(canonical, &tile, &src, &dst);
    if held.image > MOST_IMAGE {
        return None;
    }
    let all = canonical.words() as f64;
    let boxes = tile.count(canonical) as f64;
    let (sources, targets) = (all / src.together as f64, all / dst.together as f64);
    let of_one = |stretches: &Stretches, side: &Side| {
        let nearest = side.nearest(canonical, stretches.together);
        sectors_of_one(stretches.together, nearest, word, stretches.aligned)
    };
    let moved = sources * of_one(&src, from) + targets * of_one(&dst, to);
    let vectors = src.count * (src.words * word).div_ceil(VECTOR);
    let tally = BoxTally {
        moved,
        boxes,
        bytes: all * word as f64,
        stretches: (src.count + dst.count) as f64,
        vectors: vectors.next_multiple_of(BOX_THREADS as usize) as f64,
        units: held.slots(canonical, &dst) as f64,
        entries: (src.count + dst.count + dst.words) as f64,
    };
    Some(Choice {
        tile,
        src,
        dst,
        cost: cost_of_boxes(canonical.word, &tally) * idle(boxes, facts),
    })
}

/// How a box is held in shared memory.
struct Held {
    /// log2 of the lanes that store a stretch of the destination.
    lanes: u32,
    /// Bytes from one stretch of the source to the next.
    pitch: usize,
    /// Bytes of all of them.
    image: usize,
}

impl Held {
    fn of(canonical: &Canonical, tile: &Tile, src: &Stretches, dst: &Stretches) -> Self {
        let word = canonical.word_bytes();
        let unit = word.max(4);
        // Lanes to a stretch: all of a warp's, or so many that what the others need of a place lies beside it in a bank.
        let units = (dst.words * word).div_ceil(unit).next_power_of_two().trailing_zeros();
        let most = match word {
            1 => 3,
            2 => 4,
            _ => 5,
        };
        // No more stretches at a time than there are.
        let threads = BOX_THREADS.trailing_zeros();
        let beside = dst.count.next_power_of_two().trailing_zeros().min(threads);
        let lanes = most.max(threads - beside).min(units);
        // What lies together in both a stretch of the destination and the image, and what a warp takes of it.
        let mut together = word;
        for &axis in dst.within.axes() {
            let (Some(place), length) =
                (src.within.axes().iter().position(|&other| other == axis), tile.indices[axis])
            else {
                break;
            };
            let before: usize =
                src.within.axes()[..place].iter().map(|&axis| tile.indices[axis]).product();
            if before * word != together {
                break;
            }
            together *= length;
        }
        let taken = (together << 5u32.saturating_sub(lanes)).div_ceil(4).clamp(1, BANKS);
        let row = (src.words * word).div_ceil(VECTOR) * VECTOR / 4;
        let pitches = (row..row + BANKS).filter(|pitch| (pitch * 4).is_multiple_of(unit));
        let free = pitches.clone().find(|&pitch| overlap(pitch, taken) == 0);
        let best = free.or_else(|| pitches.min_by_key(|&pitch| overlap(pitch, taken)));
        let pitch = if src.count > 1 { best.unwrap_or(row) } else { row } * 4;
        Held { lanes, pitch, image: (src.count * pitch).next_multiple_of(8) }
    }
}

impl Held {
    /// The units of a box's stretches of the destination, those that lanes are idle for included.
    fn slots(&self, canonical: &Canonical, dst: &Stretches) -> usize {
        let word = canonical.word_bytes();
        let unit = word.max(4);
        // A stretch that starts inside a unit has one more.
        let units = (dst.words * word).div_ceil(unit) + usize::from(dst.aligned < unit);
        let beside = BOX_THREADS as usize >> self.lanes;
        (units.next_multiple_of(1 << self.lanes)) * dst.count.next_multiple_of(beside)
    }
}

/// How many of the banks that 32 / `taken` stretches, `pitch` words apart, have `taken` neighbouring words in are taken more than once.
fn overlap(pitch: usize, taken: usize) -> usize {
    let words = u32::MAX >> (BANKS - taken);
    let (mut seen, mut twice) = (0u32, 0);
    for stretch in 0..BANKS / taken {
        let mask = words.rotate_left((stretch * pitch % BANKS) as u32);
        twice += (seen & mask).count_ones();
        seen |= mask;
    }
    twice as usize
}

/// The launch of a choice.
fn launch_of(canonical: &Canonical, choice: &Choice) -> Option<Launch> {
    let Choice { tile, src, dst, .. } = choice;
    let mut blocks: Vec<Axis> = Vec::with_capacity(MOST_BLOCK_AXES);
    let mut parts = [Part { axis: MOST_BLOCK_AXES as u64, part: 1, all: 1 }; 2];
    let mut numbers = [usize::MAX; 2];
    let (mut partial, mut grid) = (0, 1usize);
    for (number, axis, indices) in tile.axes(canonical) {
        if indices == axis.length {
            continue;
        }
        let length = axis.length.div_ceil(indices);
        if indices > 1 {
            let axis_of_blocks = blocks.len() as u64;
            *parts.get_mut(partial)? =
                Part { axis: axis_of_blocks, part: indices as u64, all: axis.length as u64 };
            numbers[partial] = number;
            partial += 1;
        }
        let step = indices as isize;
        blocks.push(Axis { length, src: axis.src * step, dst: axis.dst * step });
        grid = grid.checked_mul(length).filter(|&grid| grid < TOO_MANY)?;
    }
    let held = Held::of(canonical, tile, src, dst);
    let word = canonical.word_bytes();
    let inside = |axis: usize| {
        let before = |axes: &[usize]| -> Option<usize> {
            let place = axes.iter().position(|&other| other == axis)?;
            Some(axes[..place].iter().map(|&axis| tile.indices[axis]).product())
        };
        let in_stretch = before(src.within.axes()).map(|words| words * word);
        in_stretch.or_else(|| before(src.apart.axes()).map(|rows| rows * held.pitch)).unwrap_or(0)
    };
    let digits = |axes: &FewAxes, outside: fn(&Axis) -> isize| {
        let mut digits = [Digit { divisor: packed_divisor(1), outside: 0, inside: 0 }; MOST_DIGITS];
        let mut counted = Digits { digits, count: axes.count as u64, each: 1, of: NONE };
        for (digit, &number) in digits.iter_mut().zip(axes.axes()) {
            *digit = Digit {
                divisor: packed_divisor(tile.indices[number]),
                outside: outside(&canonical.axes()[number]) as u64,
                inside: inside(number) as u64,
            };
            match numbers.iter().position(|&part| part == number) {
                Some(part) => counted.of = part as u64,
                None => counted.each *= tile.indices[number] as u64,
            }
        }
        Digits { digits, ..counted }
    };
    let (lowest, reach) = canonical.source_range();
    let params = Boxes {
        blocks: divided(&blocks)?,
        count: blocks.len() as u64,
        parts,
        sources: digits(&src.apart, |axis| axis.src),
        source_words: digits(&src.within, |axis| axis.src),
        targets: digits(&dst.apart, |axis| axis.dst),
        target_words: digits(&dst.within, |axis| axis.dst),
        vectors: packed_divisor((src.words * word).div_ceil(VECTOR)),
        pitch: held.pitch as u64,
        image: held.image as u64,
        rows: src.count as u64,
        cols: dst.count as u64,
        lanes: u64::from(held.lanes),
        lowest: lowest as u64,
        reach: reach as u64,
    };
    let places = dst.words + 2 * BOX_PLACES_BESIDE as usize;
    let tables = src.count * 8 + dst.count * 12 + places * 2;
    let block = Block { threads: BOX_THREADS, shared: held.image + tables };
    Some(launch(&BOXES, canonical, grid, block, [0, 0], &params))
}

/// What a launch of the kernel moves at a time; `None` for one of another kernel.
pub(super) fn describe(launch: &Launch) -> Option<String> {
    let Boxes { rows, cols, source_words, target_words, parts, lanes, pitch, .. } =
        params_of(&BOXES, launch)?;
    let words =
        |digits: &Digits| digits.each * parts.get(digits.of as usize).map_or(1, |part| part.part);
    Some(format!(
        "boxes of {rows} stretches of {} words, {pitch} bytes apart, to {cols} of {}, {} lanes each",
        words(&source_words),
        words(&target_words),
        1 << lanes
    ))
}
