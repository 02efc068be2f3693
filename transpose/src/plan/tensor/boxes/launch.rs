//! The launch that moves boxes.

use super::super::canonical::{Canonical, divided};
use super::super::gaps::Gaps;
use super::super::launch::{Block, launch, params_of};
use super::super::sectors::SECTOR;
use super::held::Held;
use super::numbering::{Counting, Numbering, Numbers, step_in_image};
use super::pieces::{are_pieces, describe_pieces, params_of_pieces};
use super::share::unit;
use super::tile::{Stretches, Tile};
use crate::divide::packed_divisor;
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::problem::VECTOR;
use kernel_abi::tensor::{
    BOX_THREADS, BOXES, Boxes, ByVectors, Digits, Fetching, Loads, MOST_TURNS, PIECES, PIECES_BELOW,
};

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
    let mut counting = Counting::of(canonical, tile)?;
    if canonical.word_bytes() < 4 && dst.aligned < SECTOR {
        counting.go_to_neighbours_first();
    }
    let gaps = Gaps::of(canonical);
    let numbers = Numbers { canonical, tile, src, held, in_part: counting.in_part };
    let mut params = params_of_boxes(&numbers, dst, &counting, &descending)?;
    params.loads = loads as u64;
    params.own = if loads == Loads::Box { own_bytes(canonical, tile) as u64 } else { 0 };
    params.fetch = gaps.fetch_ends_of(dst.words) as u64;
    let block = Block { threads: BOX_THREADS, shared: shared_bytes(held, src, dst) };
    let turns = turns(counting.boxes, block.shared, facts, gaps.far_rows);
    let grid = counting.boxes.div_ceil(turns);
    let launch = if are_pieces(dst) {
        let params =
            params_of_pieces(canonical, tile, dst, &held.share, &counting.in_part, params)?;
        launch(&PIECES, canonical.word, grid, block, [0, 0], &params)
    } else {
        launch(&BOXES, canonical.word, grid, block, [0, 0], &params)
    };
    let launch = Launch { offsets: [descending.start as u64, 0], ..launch };
    Some((launch, Numbering { blocks: counting.numbers, targets: dst.apart }))
}

/// What the kernel is told of such boxes, if they may load [what lies in the source](Loads::Source) and fetch nothing of the destination.
fn params_of_boxes(
    numbers: &Numbers<'_>,
    dst: &Stretches,
    counting: &Counting,
    descending: &Descending,
) -> Option<Boxes> {
    let Numbers { canonical, tile, src, held, .. } = *numbers;
    let (word, [from, to]) = (canonical.word_bytes(), canonical.sides());
    let unit = unit(word, held.run);
    let places = &dst.within.numbers()[usize::from(held.run > 1)..];
    let (place_parts, of_place_part) = place_parts(tile, dst, held, places);
    let (_, reach) = canonical.source_range();
    Some(Boxes {
        blocks: divided(&counting.axes)?,
        count: counting.axes.len() as u64,
        boxes: counting.boxes as u64,
        parts: counting.parts,
        sources: numbers.of(&src.apart, from),
        source_words: numbers.of_source_words(from),
        targets: numbers.of(&dst.apart, to),
        target_words: numbers.within(places, dst.within.numbers(), to),
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
        place_parts: packed_divisor(place_parts),
        of_place_part: of_place_part as u64,
        lanes: u64::from(held.share.lanes),
        singly: u64::from(held.share.singly),
        ahead: (unit - dst.starts.min(unit)) as u64,
        lowest: descending.lowest as u64,
        reach: reach as u64,
        loads: Loads::Source as u64,
        own: 0,
        fetch: Fetching::None as u64,
    })
}

/// In how many parts places are filled that differ in their first digit alone, and how many places a part has: each thread fills as few as can be.
fn place_parts(tile: &Tile, dst: &Stretches, held: &Held, places: &[u8]) -> (usize, usize) {
    let in_row = places.first().map_or(1, |&number| tile.has(usize::from(number)));
    // Of pieces with gaps, which are filled one by one, there may be fewer than a row has.
    let rows = (dst.words / held.run / in_row).max(1);
    let each = in_row.div_ceil((BOX_THREADS as usize / rows).clamp(1, in_row));
    (in_row.div_ceil(each), each)
}

/// Bytes of the source from the first word of a whole box to behind its last.
fn own_bytes(canonical: &Canonical, tile: &Tile) -> usize {
    let axes = tile.axes(canonical);
    let last: usize = axes.map(|(_, axis, has)| (has - 1) * axis.src.unsigned_abs()).sum();
    (last + 1) * canonical.src_word_bytes
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
