//! The launch that moves boxes.

use super::super::canonical::{Axis, Canonical, divided};
use super::super::gaps::Gaps;
use super::super::launch::{Block, launch, params_of};
use super::super::sectors::SECTOR;
use super::super::side::Side;
use super::held::Held;
use super::pieces::{are_pieces, describe_pieces, params_of_pieces};
use super::share::unit;
use super::tile::{FewAxes, Stretches, Tile};
use crate::divide::{TOO_LARGE, packed_divisor};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{
    BOX_THREADS, BOXES, Boxes, ByVectors, Digit, Digits, Loads, MOST_BLOCK_AXES, MOST_DIGITS,
    MOST_TURNS, PIECES, PIECES_BELOW, Part,
};
use smallvec::SmallVec;

/// Axes that boxes have parts of.
const PARTS: usize = 2;

/// None of them.
const NONE: u64 = PARTS as u64;

/// The axes that a launch's boxes, and their stretches of the destination, are numbered by: for what has other strides along them.
pub(in super::super) struct Numbering {
    /// For each axis that boxes are counted along its number, and how many of its indices there are from one box to the next; none for what is no axis.
    blocks: SmallVec<[Option<(usize, isize)>; MOST_BLOCK_AXES]>,
    /// The number of each digit's axis.
    targets: FewAxes,
}

impl Numbering {
    /// How far apart boxes are along each axis that they are counted along, where the indices of an axis are as far apart as `of` says.
    pub fn blocks(&self, of: impl Fn(usize) -> isize) -> impl Iterator<Item = isize> {
        self.blocks.iter().map(move |block| block.map_or(0, |(axis, step)| of(axis) * step))
    }

    /// How far apart stretches are along the axis of each digit.
    pub fn targets(&self, of: impl Fn(usize) -> isize) -> impl Iterator<Item = isize> {
        self.targets.iter().map(of)
    }
}

/// The launch that moves such boxes, and what they are numbered by; `None` where there are more axes, or parts of axes, than the kernel takes.
pub(super) fn launch_of(
    canonical: &Canonical,
    facts: &Facts,
    tile: &Tile,
    [src, dst]: [&Stretches; 2],
    held: &Held,
    loads: Loads,
) -> Option<(Launch, Numbering)> {
    let descending = Descending::of(canonical, tile, [src, dst], held);
    // A box that is cut off at the end of what is descending starts before its own words.
    debug_assert!(loads == Loads::Source || descending.start == 0);
    if are_pieces(dst) && descending.first_place > PIECES_BELOW as isize {
        return None;
    }
    // First the axes that boxes have parts of.
    let whole = Axis { length: 1, src: 0, dst: 0 };
    let mut blocks: Vec<Axis> = Vec::with_capacity(MOST_BLOCK_AXES);
    blocks.extend([whole; PARTS]);
    let mut of_blocks = SmallVec::from_elem(None, PARTS);
    let mut parts = [Part { part: 1, all: 1 }; PARTS];
    let mut numbers = [usize::MAX; PARTS];
    let (mut in_part, mut boxes, mut beside) = (0, 1usize, None);
    for (number, axis, indices) in tile.axes(canonical).filter(|(_, axis, has)| *has < axis.length)
    {
        let (length, step) = (axis.length.div_ceil(indices), indices as isize);
        let from = if canonical.is_descending(number) { -axis.src } else { axis.src };
        let block = Axis { length, src: from * step, dst: axis.dst * step };
        if indices > 1 {
            *parts.get_mut(in_part)? = Part { part: indices as u64, all: axis.length as u64 };
            (blocks[in_part], numbers[in_part]) = (block, number);
            of_blocks[in_part] = Some((number, step));
            in_part += 1;
        } else {
            beside.get_or_insert(number);
            blocks.push(block);
            of_blocks.push(Some((number, step)));
        }
        boxes = boxes.checked_mul(length).filter(|&boxes| boxes < TOO_LARGE)?;
    }
    let word = canonical.word_bytes();
    // Neighbours in the destination that share sectors are moved at about the same time: along their axis first, as if boxes had parts of it.
    let is_before = beside.is_some_and(|number| number < numbers[0]);
    if in_part == 1 && is_before && word < 4 && dst.aligned < SECTOR {
        let axis = blocks.remove(PARTS);
        let beside = Part { part: 1, all: axis.length as u64 };
        (blocks[1], parts[1], numbers[1]) = (blocks[0], parts[0], numbers[0]);
        (blocks[0], parts[0], numbers[0]) = (axis, beside, usize::MAX);
        let of_axis = of_blocks.remove(PARTS);
        (of_blocks[1], of_blocks[0]) = (of_blocks[0], of_axis);
    }
    let unit = unit(word, held.run);
    let [from, to] = canonical.sides();
    let digits = |axes: &[u8], side: &Side| {
        let none = Digit { divisor: packed_divisor(1), outside: 0, inside: 0 };
        let mut digits = [none; MOST_DIGITS];
        for (digit, &number) in digits.iter_mut().zip(axes) {
            let number = usize::from(number);
            *digit = Digit {
                divisor: packed_divisor(tile.has(number)),
                outside: side.stride(&canonical.axes()[number]) as u64,
                inside: step_in_image(canonical, src, held, side, number) as u64,
            };
        }
        digits
    };
    // Numbers made of such digits, so many of which a box has as its indices of these axes say.
    let counted = |axes: &[u8], of: &[u8], side: &Side| {
        let (mut each, mut in_part) = (1, NONE);
        for number in of.iter().map(|&number| usize::from(number)) {
            match numbers.iter().position(|&part| part == number) {
                // All of a box is held, also at an axis's end, where what is descending starts behind words that there are not.
                Some(part) if !side.descends(canonical, number) => in_part = part as u64,
                _ => each *= tile.has(number) as u64,
            }
        }
        let count = axes.len() as u64;
        Digits { digits: digits(axes, side), count, each, of: in_part }
    };
    // A stretch of the source goes on to where its slowest axis would have another index, gaps and all.
    let mut source_words = counted(src.within.numbers(), src.within.numbers(), from);
    if let Some(slowest) = src.within.iter().next_back() {
        let is_in_part = source_words.of != NONE;
        let indices = if is_in_part { 1 } else { tile.has(slowest) };
        source_words.each = (src.step(slowest).unwrap_or(1) * indices) as u64;
    }
    let all = |axes: &FewAxes, side| counted(axes.numbers(), axes.numbers(), side);
    let places = &dst.within.numbers()[usize::from(held.run > 1)..];
    // Each thread fills as few places as can be. (Of pieces with gaps, which are filled one by one, there may be fewer than a row has.)
    let in_row = places.first().map_or(1, |&number| tile.has(usize::from(number)));
    let rows = (dst.words / held.run / in_row).max(1);
    let of_place_part = in_row.div_ceil((BOX_THREADS as usize / rows).clamp(1, in_row));
    let (_, reach) = canonical.source_range();
    let params = Boxes {
        blocks: divided(&blocks)?,
        count: blocks.len() as u64,
        boxes: boxes as u64,
        parts,
        sources: all(&src.apart, from),
        source_words,
        targets: all(&dst.apart, to),
        target_words: counted(places, dst.within.numbers(), to),
        first_start: descending.first_start as u64,
        first_place: descending.first_place as u64,
        run: if held.run > 1 { packed_divisor(held.run * word) } else { 0 },
        vectors: packed_divisor(src.vectors(canonical)),
        vector: src.loaded_at_a_time(canonical) as u64,
        by_vectors: by_vectors(canonical, src, held) as u64,
        image: held.image as u64,
        rows: src.count as u64,
        cols: dst.count as u64,
        places: (dst.words / held.run) as u64,
        place_parts: packed_divisor(in_row.div_ceil(of_place_part)),
        of_place_part: of_place_part as u64,
        lanes: u64::from(held.share.lanes),
        singly: u64::from(held.share.singly),
        ahead: (unit - dst.starts.min(unit)) as u64,
        lowest: descending.lowest as u64,
        reach: reach as u64,
        loads: loads as u64,
        own: if loads == Loads::Box { own_bytes(canonical, tile) as u64 } else { 0 },
        fetch: Gaps::of(canonical).fetch_ends_of(dst.words) as u64,
    };
    let block = Block { threads: BOX_THREADS, shared: shared_bytes(held, src, dst) };
    let grid = boxes.div_ceil(turns(boxes, block.shared, facts, Gaps::of(canonical).far_rows));
    let launch = if are_pieces(dst) {
        let params = params_of_pieces(canonical, tile, dst, &held.share, &numbers, params)?;
        launch(&PIECES, canonical.word, grid, block, [0, 0], &params)
    } else {
        launch(&BOXES, canonical.word, grid, block, [0, 0], &params)
    };
    let launch = Launch { offsets: [descending.start as u64, 0], ..launch };
    Some((launch, Numbering { blocks: of_blocks, targets: dst.apart }))
}

/// Bytes of the source from the first word of a whole box to behind its last.
fn own_bytes(canonical: &Canonical, tile: &Tile) -> usize {
    let axes = tile.axes(canonical);
    let last: usize = axes.map(|(_, axis, has)| (has - 1) * axis.src.unsigned_abs()).sum();
    (last + 1) * canonical.src_word_bytes
}

/// Bytes of shared memory from one index of an axis to the next, as a side counts them: the source's words are held in their own order, which may be descending for the destination.
fn step_in_image(
    canonical: &Canonical,
    src: &Stretches,
    held: &Held,
    side: &Side,
    axis: usize,
) -> isize {
    let step = held.step(src, axis, canonical.held_word_bytes) as isize;
    if canonical.is_descending(axis) && !side.is_source() { -step } else { step }
}

/// What is different where the source is in descending order along some axes: boxes start at its lowest word, and the destination's first word is elsewhere in the image.
#[derive(Default)]
struct Descending {
    /// Bytes from the source's start to that of the first box, and from there to the lowest word of all.
    start: isize,
    lowest: isize,
    /// Bytes of the image from its start to that of what the destination's first stretch is counted from, and from there to its first word.
    first_start: isize,
    first_place: isize,
}

impl Descending {
    fn of(canonical: &Canonical, tile: &Tile, [src, dst]: [&Stretches; 2], held: &Held) -> Self {
        let mut all = Self::default();
        let [_, to] = canonical.sides();
        let each = canonical.src_word_bytes as isize;
        let axes = tile.axes(canonical).filter(|(number, ..)| canonical.is_descending(*number));
        for (number, axis, has) in axes {
            let far = |indices: usize| (indices as isize - 1) * axis.src * each;
            all.start -= far(has);
            all.lowest -= far(axis.length) - far(has);
            let step = -step_in_image(canonical, src, held, to, number);
            let first = (has as isize - 1) * step;
            let within = dst.within.position(number).is_some();
            let of_place =
                if within { (dst.has_within(tile, number) as isize - 1) * step } else { 0 };
            all.first_place += of_place;
            all.first_start += first - of_place;
        }
        all
    }
}

/// How vectors go to shared memory. Through the L1 cache no sector comes twice; but it has a whole line for what is on its way of one, and few for all blocks of a multiprocessor. (By 160 boxes of
/// 390 random moves on an H200: those with less are 1.02 times as fast as past it, those with more 0.97 times, some of them 0.8; decision 108.)
fn by_vectors(canonical: &Canonical, src: &Stretches, held: &Held) -> ByVectors {
    /// Bytes of a line, and of all lines that a box may have.
    const LINE: usize = 128;
    const MOST: usize = 39 << 10;
    if !held.by_vectors {
        return ByVectors::No;
    }
    let bytes = src.words * canonical.src_word_bytes;
    // Of a stretch that starts in any sector of a line; of near ones those that they lie in together.
    let of_stretch = bytes + LINE - SECTOR;
    let steps = src.apart.iter().map(|axis| canonical.axes()[axis].src.unsigned_abs());
    let nearest = steps.min().map_or(usize::MAX, |words| words * canonical.src_word_bytes);
    // What is less than a vector has none beside it.
    match bytes >= VECTOR && src.count * of_stretch.min(nearest) <= MOST {
        true => ByVectors::Cached,
        false => ByVectors::Past,
    }
}

/// Bytes of a block's shared memory: of the image, and of the tables behind it.
pub(super) fn shared_bytes(held: &Held, src: &Stretches, dst: &Stretches) -> usize {
    shared_bytes_of(held.waiting + held.image, src.count, [dst.count, dst.words / held.run])
}

/// Bytes of a block's shared memory: of an image of so many, and of the tables of so many stretches of the source, and of so many of the destination, each of so many
/// places.
pub(super) fn shared_bytes_of(
    image: usize,
    sources: usize,
    [targets, places]: [usize; 2],
) -> usize {
    /// Of a box that a block moves: where it starts.
    const BOX: usize = 32;
    /// Of a stretch of the source, and of the destination.
    const STRETCHES: [usize; 2] = [28, 12];
    let boxes = MOST_TURNS as usize * BOX;
    image + boxes + sources * STRETCHES[0] + targets * STRETCHES[1] + places * 2
}

/// The boxes that a block moves. What tables say is the same for all boxes: a block fills them for several, as long as there are many more
/// blocks than run at a time.
///
/// Rows to the degree `far_rows` far apart have twice as many blocks: those wait for memory.
pub(super) fn turns(boxes: usize, shared: usize, facts: &Facts, far_rows: f64) -> usize {
    /// How many times as many blocks there are at least as run at a time, if there are enough boxes. (As many blocks as run at a time, each
    /// with its share of the boxes, took 1.2 times as long, though they issued fewer instructions.)
    const WAVES: usize = 8;
    /// The degree from which on rows are. (By 25 random moves, which became 1.026 and 1.05 times as fast in the mean, decision 073.)
    const FAR: f64 = 0.6;
    let beside = (facts.multiprocessor_shared / shared).clamp(1, 5);
    let waves = if far_rows < FAR { WAVES } else { 2 * WAVES };
    (boxes / (facts.multiprocessors * beside * waves)).clamp(1, MOST_TURNS as usize)
}

/// What a launch of the kernel moves at a time, or of that which moves pieces; `None` for one of another kernel.
pub(in super::super) fn describe(launch: &Launch) -> Option<String> {
    if let Some(pieces) = params_of(&PIECES, launch) {
        return Some(describe_pieces(&pieces));
    }
    let Boxes {
        boxes,
        rows,
        cols,
        source_words,
        targets,
        target_words,
        parts,
        run,
        lanes,
        singly,
        fetch,
        sources,
        ..
    } = params_of(&BOXES, launch)?;
    let words =
        |digits: &Digits| digits.each * parts.get(digits.of as usize).map_or(1, |part| part.part);
    let shared = match singly {
        0 => format!("{} lanes each", 1 << lanes),
        _ => "word by word".to_owned(),
    };
    let fetched = if fetch == 0 { "" } else { ", ends fetched" };
    let how = match (run as u32, targets.count <= 1) {
        (0, false) => String::new(),
        (0, true) => " evenly".to_owned(),
        (run, _) => format!(" by runs of {run} bytes"),
    };
    Some(format!(
        "{boxes} boxes of {rows} stretches of {} words, {} bytes apart, to {cols} of {}{how}, {shared}{fetched}",
        words(&source_words),
        sources.digits[0].inside,
        words(&target_words),
    ))
}
