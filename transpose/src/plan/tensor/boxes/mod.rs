//! The planner of `boxes`: which part of which axes a box has, and how its words are numbered on either side.

mod held;
mod in_place;
mod launch;
mod numbering;
mod piece;
mod pieces;
mod share;
mod tile;

use super::canonical::Canonical;
use super::cuts::Gapped;
use super::gaps::Gaps;
use super::model::{
    ALONE, BoxTally, NOT_FETCHED, are_far, beside_each_other, cost_of_boxes, idle_in_boxes,
    of_gap_in_boxes, scattered,
};
use super::sectors::{SECTOR, float, sectors, sectors_in_part, sectors_of_one};
use super::side::Side;
use crate::facts::Facts;
use crate::launch::Launch;
use held::Held;
pub(super) use held::{Beside, others_bytes};
pub(crate) use in_place::SquareBatch;
use kernel_abi::fast::WARP;
use kernel_abi::tensor::{BOX_THREADS, Loads, MOST_DIGITS, MOST_TURNS};
pub(super) use launch::describe;
use launch::{launch_of, shared_bytes, shared_bytes_of, turns};
pub(super) use numbering::Numbering;
use smallvec::SmallVec;
use tile::{Cutting, MOST_IMAGE, MOST_STRETCHES, Most, Room, Stretches, Tile};

/// Warps of a block.
const WARPS: usize = (BOX_THREADS / WARP) as usize;

/// The most words, or runs, of a stretch of the destination: each has an entry in a table. What is longer is several.
const MOST_PLACES: usize = 2048;

/// The words that a stretch of the source has at most where it has all that lies together.
const WHOLE: usize = usize::MAX;

/// The bytes of a row of the source, at least, that is a stretch by itself. (Five moves with rows of 33 to 55 bytes had 0.82 to 0.94 of the speed on an H200 that they have where rows
/// are held together; longer ones gain.)
const LEAST_ROW: usize = 64;

/// The bytes that lie together on either side of a box are tried with, about, where words have [some](tried) sizes.
const TRIED: [usize; 18] = [
    32,
    64,
    128,
    192,
    256,
    384,
    512,
    768,
    1 << 10,
    1536,
    2 << 10,
    3 << 10,
    4 << 10,
    6 << 10,
    8 << 10,
    12 << 10,
    16 << 10,
    32 << 10,
];

/// The lengths that are tried, in words of `word_bytes` bytes. What lies between powers of two fills more of a block's shared memory where either side is short. (By 1000 random moves on an H200, decision 097: with them boxes of
/// words of 1, 4 and 16 bytes are 1.03, 1.02 and 1.08 times as fast where they are others, of 2 bytes no faster. Shorter ones between them make those of 1 byte no faster.)
fn tried(word_bytes: usize) -> SmallVec<[usize; TRIED.len()]> {
    const LONG: usize = 3 << 10;
    let is_tried = |bytes: &usize| match word_bytes {
        1 | 16 => bytes.is_power_of_two() || *bytes >= LONG,
        4 => true,
        _ => bytes.is_power_of_two(),
    };
    TRIED.into_iter().filter(is_tried).map(|bytes| bytes / word_bytes).collect()
}

/// The `most` cheapest launches that move boxes at less than a `limit`, and their costs, cheapest first; none where one side has no neighbours, unless that is a source which is repeated, or
/// where there are more axes than the kernel takes.
pub(super) fn best(
    canonical: &Canonical,
    facts: &Facts,
    most: usize,
    limit: f64,
) -> Vec<(f64, Launch)> {
    let numbered = best_numbered(canonical, facts, most, limit).into_iter();
    numbered.map(|(cost, launch, _)| (cost, launch)).collect()
}

/// Those of [`best`], each with the axes that its boxes and stretches are numbered by.
pub(super) fn best_numbered(
    canonical: &Canonical,
    facts: &Facts,
    most: usize,
    limit: f64,
) -> Vec<(f64, Launch, Numbering)> {
    /// Boxes that are looked at for each cut of the destination's side, the largest that fit first; and where short rows have gaps behind them, words become narrower on the way, or are repeated.
    const LARGEST: [usize; 2] = [2, 4];
    let ascending = canonical.with_ascending_source();
    let canonical = ascending.as_ref().unwrap_or(canonical);
    let gaps = Gaps::of(canonical);
    let are_small = gaps.far_rows > 0.0 || canonical.word_bytes() >= 4 && gaps.has_short_rows;
    let are_narrowed = canonical.src_word_bytes > canonical.word_bytes();
    let largest = LARGEST[usize::from(are_small || are_narrowed || canonical.repeats())];
    let tried = tried(canonical.word_bytes());
    let [from, to] = canonical.sides();
    let cuttings = |side: &Side, gaps| {
        let mut cuttings = SmallVec::<[Cutting; 24]>::new();
        side.cuts(canonical, &tried, gaps, MOST_DIGITS, |cut| {
            cuttings.push(Cutting::of(canonical, &cut));
        });
        cuttings
    };
    let mut sources = cuttings(from, Gapped::Little);
    if sources.is_empty() && canonical.repeats() {
        sources.push(Cutting::none());
    }
    // Rows that share sectors are stored by one block, if they can be.
    let targets = cuttings(to, Gapped::InSector);
    let (tiles, choices) = (SmallVec::new(), SmallVec::new());
    let (most_image, loads) = (MOST_IMAGE, Loads::Source);
    let mut search = Search { canonical, facts, gaps, most_image, loads, tiles, choices };
    let (room, mut fitting) = (Room::of(canonical), sources.len());
    for target in &targets {
        // Cuts grow: what was too large with one is with the next.
        while fitting > 0 && !room.is_for(&sources[fitting - 1], target) {
            fitting -= 1;
        }
        let mut looked = 0;
        for source in sources[..fitting].iter().rev() {
            if let Some(tile) = room.tile(source, target) {
                looked += usize::from(search.look(tile, WHOLE));
            }
            if looked == largest {
                break;
            }
        }
    }
    search.cheapest(most, limit)
}

/// The boxes that are looked at, and what is known of them.
struct Search<'a> {
    canonical: &'a Canonical,
    facts: &'a Facts,
    gaps: Gaps,
    /// Bytes of shared memory that the stretches of a box may take.
    most_image: usize,
    loads: Loads,
    /// The tiles, each once, whatever pairs of cuts come to it.
    tiles: SmallVec<[Looked; 24]>,
    choices: SmallVec<[Choice; 12]>,
}

impl Search<'_> {
    /// Looks at a tile whose stretches of the source have `most` words, and says whether there are boxes of it.
    fn look(&mut self, tile: Tile, most: usize) -> bool {
        // What comes again does so soon, most often.
        let is_this = |looked: &&Looked| looked.most == most && looked.tile == tile;
        if let Some(looked) = self.tiles.iter().rev().find(is_this) {
            return looked.fits;
        }
        let number = self.tiles.len();
        // What is large is filled where it stays.
        self.tiles.push(Looked::unknown(tile, most));
        self.tiles[number].find_out(self.canonical, self.facts, &self.gaps, self.most_image);
        // Where that is not known it is tried.
        if !self.tiles[number].fits {
            let before = self.choices.len();
            self.choose(number);
            self.tiles[number].fits = self.choices.len() > before;
        }
        self.tiles[number].fits
    }

    /// Adds the choices of box that have a tile.
    fn choose(&mut self, number: usize) {
        let Search { canonical, facts, gaps, most_image, tiles, choices, .. } = self;
        let looked = &mut tiles[number];
        looked.least = f64::INFINITY;
        let Some(src) = &looked.src else { return };
        let whole = whole(canonical, &looked.tile, looked.by_words);
        let pieces = pieces::targets(canonical, &looked.tile, looked.by_words);
        for (dst, run) in whole.into_iter().chain(pieces) {
            let mut held = Held::of(canonical, src, &looked.tile, run, *most_image);
            held.add_to(canonical, &dst);
            let shared = shared_bytes(&held, src, &dst);
            if dst.count <= MOST_STRETCHES && shared <= facts.block_shared {
                let tally = looked.sectors.tally(canonical, facts, gaps, [src, &dst], &held);
                choices.push(Choice::of(canonical, facts, number, dst, held, tally));
            }
        }
    }

    /// The launches of the `most` cheapest choices that cost less than a `limit`, and their costs, the cheapest first, of equals the first.
    fn cheapest(&mut self, most: usize, limit: f64) -> Vec<(f64, Launch, Numbering)> {
        let (canonical, facts, loads) = (self.canonical, self.facts, self.loads);
        let mut launches = Vec::new();
        while launches.len() < most {
            // More is found out of what may be cheapest, until it is known that it is: of most others nothing need be known.
            let Some((number, place)) = self.lowest(limit) else { break };
            let Some(place) = place else {
                self.choose(number);
                continue;
            };
            let (choice, Looked { tile, most: of_stretch, src, .. }) =
                (&mut self.choices[place], &self.tiles[number]);
            let Some(src) = src else { break };
            match choice.known {
                Known::Sectors => choice.share_out(canonical, facts, tile),
                Known::Shares => {
                    let waits_long = choice.spread(canonical, facts, tile, src);
                    if waits_long && *of_stretch == WHOLE {
                        // Rows that are held by themselves may be as far apart as is best.
                        let row = src.rows_below(&choice.dst);
                        let tile = *tile;
                        row.map(|row| self.look(tile, row));
                    }
                }
                Known::All => {
                    let Choice { dst, held, cost, .. } = choice;
                    let launch = launch_of(canonical, facts, tile, [src, dst], held, loads);
                    launches.extend(launch.map(|(launch, numbering)| (*cost, launch, numbering)));
                    *cost = f64::INFINITY;
                }
            }
        }
        launches
    }

    /// What costs least by what is known, if that is less than a `limit`, and of equals is the first: a tile whose choices are not known by its number, or a choice by its tile's and its
    /// place.
    fn lowest(&self, limit: f64) -> Option<(usize, Option<usize>)> {
        let (mut lowest, mut found) = ((limit, 0), None);
        for (number, looked) in self.tiles.iter().enumerate() {
            if looked.least < lowest.0 {
                (lowest, found) = ((looked.least, number), Some((number, None)));
            }
        }
        for (place, choice) in self.choices.iter().enumerate() {
            if (choice.cost, choice.tile) < lowest {
                (lowest, found) = ((choice.cost, choice.tile), Some((choice.tile, Some(place))));
            }
        }
        found
    }
}

/// A tile that was looked at.
struct Looked {
    tile: Tile,
    /// The words that a stretch of the source has at most.
    most: usize,
    /// Stretches of the source, if boxes can have them.
    src: Option<Stretches>,
    /// Those of the destination by words, if there are such.
    by_words: Option<Stretches>,
    sectors: Sectors,
    /// Whether there are boxes of it.
    fits: bool,
    /// What they cost at least, until they are choices.
    least: f64,
}

impl Looked {
    /// A tile of which nothing is known.
    fn unknown(tile: Tile, most: usize) -> Self {
        let (sectors, least) = (Sectors::default(), f64::INFINITY);
        Looked { tile, most, src: None, by_words: None, sectors, fits: false, least }
    }

    /// Finds out what is known of it without its choices: whether it fits, if that can be told, and what they cost at least.
    fn find_out(&mut self, canonical: &Canonical, facts: &Facts, gaps: &Gaps, most_image: usize) {
        let [from, to] = canonical.sides();
        let Looked { tile, src, by_words, sectors, .. } = self;
        let most = Most::Words(self.most);
        *src = tile.stretches(canonical, from, Gapped::Little, most);
        let word = canonical.word_bytes();
        let is_long = |src: &Stretches| self.most == WHOLE || src.words * word >= LEAST_ROW;
        let may_be = |src: &&Stretches| src.count <= MOST_STRETCHES && is_long(src);
        let Some(stretches) = src.as_ref().filter(may_be) else {
            *src = None;
            return;
        };
        let held = Held::of(canonical, stretches, tile, 1, most_image);
        if held.image > most_image {
            *src = None;
            return;
        }
        *sectors = Sectors::of(canonical, tile, stretches);
        let most = Most::Words(MOST_PLACES.min(canonical.most_together()));
        *by_words = tile.stretches(canonical, to, Gapped::No, most);
        let Some(dst) = by_words.as_ref().filter(|dst| dst.count <= MOST_STRETCHES) else { return };
        // By runs there are no more stretches, and no more places than there may be.
        let places = [dst.count, MOST_PLACES];
        let of_source = held.waiting + held.image;
        self.fits = shared_bytes_of(of_source, stretches.count, places) <= facts.block_shared;
        if self.fits {
            self.least = self.least(canonical, facts, gaps, &held);
        }
    }

    /// What its choices cost at least, which are held like this but for runs.
    fn least(&self, canonical: &Canonical, facts: &Facts, gaps: &Gaps, held: &Held) -> f64 {
        let (Some(src), Some(by_words)) = (&self.src, &self.by_words) else { return 0.0 };
        let word = canonical.word_bytes();
        let [_, to] = canonical.sides();
        // Where a stretch of a destination with gaps starts is not known.
        let has_gaps = word < pieces::UNIT && to.has_little_gaps(word);
        let mut dst = *by_words;
        (dst.count, dst.words) = (0, 0);
        if has_gaps {
            (dst.together, dst.aligned) = (self.sectors.extent, SECTOR);
        }
        let mut tally = self.sectors.least(canonical, facts, gaps, [src, &dst], held);
        if has_gaps {
            tally.in_part = 0.0;
        }
        let idle = idle_in_boxes(tally.boxes, facts);
        let mut cost = |of_word: f64, are_pieces| {
            tally.gathered = self.tile.words as f64 * of_word / 32.0;
            cost_of_boxes(canonical, &tally, are_pieces) * idle
        };
        let whole = cost(share::least_of_word(word), false);
        if !has_gaps && !pieces::may_be(canonical, Some(by_words)) {
            return whole;
        }
        whole.min(cost(pieces::least_of_word(word), true))
    }
}

/// What boxes of a tile move, whatever their stretches of the destination are.
#[derive(Default)]
struct Sectors {
    boxes: f64,
    /// Stretches of the source that lie together, of all boxes, and bytes of the sectors of each.
    sources: f64,
    of_source: f64,
    /// Words of what follows each other in the destination by sectors, gaps and all, and how many of those there are.
    extent: usize,
    targets: f64,
    /// Whether that is less than a sector, and the box has nothing near it: what shares the sector is moved at another time.
    are_alone: bool,
    /// Whether it is single words with gaps, and far from all else that the box has: a warp stores to as many places of as many sectors.
    are_scattered: bool,
}

impl Sectors {
    fn of(canonical: &Canonical, tile: &Tile, src: &Stretches) -> Self {
        let [from, to] = canonical.sides();
        let all = canonical.words() as f64;
        let (extent, of_cluster) = tile.cluster(canonical, to);
        let (mut boxes, mut repeated) = (1, 1);
        // Stretches share sectors with others of their box: those of other boxes are moved at another time.
        let (mut nearest, mut step) = (usize::MAX, usize::MAX);
        for (_, axis, indices) in tile.axes(canonical) {
            if indices < axis.length {
                boxes *= if indices > 1 { axis.length.div_ceil(indices) } else { axis.length };
            }
            if indices == 1 {
                continue;
            }
            let stride = from.stride(axis).unsigned_abs();
            if from.repeats(axis) {
                repeated *= indices;
            } else if stride >= src.together {
                nearest = nearest.min(stride);
            }
            if axis.dst as usize >= extent {
                step = step.min(axis.dst as usize);
            }
        }
        let word = canonical.word_bytes();
        let of_source = canonical.src_word_bytes;
        let aligned = canonical.in_source(src.aligned).min(SECTOR);
        let are_far = are_far((step < usize::MAX).then(|| step * word).into_iter());
        Sectors {
            boxes: boxes as f64,
            sources: all / (src.moved * repeated) as f64,
            of_source: sectors_of_one(src.together, nearest, of_source, aligned),
            extent,
            targets: all / of_cluster as f64,
            are_scattered: are_far && extent > to.together && to.together * word <= 8,
            are_alone: are_far && extent * word < SECTOR,
        }
    }

    /// What boxes take of such stretches, as if nothing were gathered.
    fn tally(
        &self,
        canonical: &Canonical,
        facts: &Facts,
        gaps: &Gaps,
        [src, dst]: [&Stretches; 2],
        held: &Held,
    ) -> BoxTally {
        let mut tally = self.least(canonical, facts, gaps, [src, dst], held);
        let entries = (src.count + dst.count + dst.words / held.run) as f64;
        let shared = shared_bytes(held, src, dst);
        tally.turns = turns(self.boxes as usize, shared, facts, gaps.far_rows) as f64;
        tally.entries = entries / tally.turns;
        tally
    }

    /// What boxes take of such stretches at least: if a block moves as many boxes as it may, and fills the tables of the source alone.
    fn least(
        &self,
        canonical: &Canonical,
        facts: &Facts,
        gaps: &Gaps,
        [src, dst]: [&Stretches; 2],
        held: &Held,
    ) -> BoxTally {
        let Sectors { boxes, sources, of_source, extent, targets, are_alone, are_scattered } =
            *self;
        let word = canonical.word_bytes();
        let aligned = if extent == dst.together { dst.aligned } else { word };
        let of_stretch = src.together * canonical.src_word_bytes;
        let is_even =
            canonical.in_source(src.aligned) >= SECTOR && of_stretch.is_multiple_of(2 * SECTOR);
        let of_targets = targets * float(sectors(extent * word, aligned));
        let (all_in_part, part) =
            (of_targets / SECTOR as f64, targets * sectors_in_part(extent * word, aligned));
        let (in_part, of_gap) = match (pieces::are_pieces(dst), are_scattered, are_alone) {
            (true, ..) if dst.gap > 0 && !gaps.fetch => (all_in_part, Some(NOT_FETCHED)),
            (false, true, _) => {
                let bytes = canonical.sides()[1].together * word;
                (all_in_part, Some(scattered(bytes)))
            }
            (_, _, true) => (part, Some(ALONE)),
            _ => (part, of_gap_in_boxes(canonical.word, gaps)),
        };
        let is_half = extent * word == SECTOR && aligned == SECTOR;
        let shared = shared_bytes(held, src, dst);
        BoxTally {
            moved: sources * of_source + of_targets,
            in_part,
            uneven: if is_even { 0.0 } else { sources },
            boxes,
            shared: shared as f64,
            beside: beside_each_other(WARPS, shared, facts),
            loaded: held.loaded(canonical, src),
            gathered: 0.0,
            joints: 0.0,
            ends: 0.0,
            entries: src.count as f64 / MOST_TURNS as f64,
            stretches: [src.count as f64, dst.count as f64],
            has_short_rows: gaps.has_short_rows,
            of_gap,
            far_rows: gaps.far_rows,
            turns: MOST_TURNS as f64,
            halves: if is_half { targets } else { 0.0 },
        }
    }
}

/// A choice of box.
struct Choice {
    /// The number of its tile.
    tile: usize,
    dst: Stretches,
    held: Held,
    tally: BoxTally,
    /// What is known of what it costs, and what it costs by that: at least, until all is known.
    known: Known,
    cost: f64,
}

/// What is known of a choice. Each takes longer to find out than all before, and makes it no cheaper.
#[derive(Clone, Copy)]
enum Known {
    /// What it moves.
    Sectors,
    /// Who stores what of it.
    Shares,
    /// How its stretches are spread over the banks too.
    All,
}

impl Choice {
    /// That of a tile and such stretches, of which is known what it moves.
    #[inline(always)]
    fn of(
        canonical: &Canonical,
        facts: &Facts,
        tile: usize,
        dst: Stretches,
        held: Held,
        tally: BoxTally,
    ) -> Self {
        let mut choice = Choice { tile, dst, held, tally, known: Known::Sectors, cost: 0.0 };
        choice.cost = choice.cost_of_tally(canonical, facts);
        choice
    }

    /// What its tally comes to.
    fn cost_of_tally(&self, canonical: &Canonical, facts: &Facts) -> f64 {
        let are_pieces = pieces::are_pieces(&self.dst);
        cost_of_boxes(canonical, &self.tally, are_pieces) * idle_in_boxes(self.tally.boxes, facts)
    }

    /// Shares its stretches out.
    fn share_out(&mut self, canonical: &Canonical, facts: &Facts, tile: &Tile) {
        let Choice { dst, held, tally, .. } = self;
        held.share_out(canonical, tile, dst, |_| 0.0);
        tally.gathered = held.share.issued + held.share.shared;
        tally.joints = held.share.joints;
        tally.ends = held.share.ends;
        (self.known, self.cost) = (Known::Shares, self.cost_of_tally(canonical, facts));
    }

    /// Spreads its stretches over the banks, and says whether warps would wait long for words of one bank.
    fn spread(
        &mut self,
        canonical: &Canonical,
        facts: &Facts,
        tile: &Tile,
        src: &Stretches,
    ) -> bool {
        let Choice { dst, held, tally, .. } = self;
        let (gathered, waits_long) = held.spread(canonical, tile, [src, dst]);
        tally.gathered = gathered + held.share.shared;
        tally.joints = held.share.joints;
        tally.ends = held.share.ends;
        tally.loaded = held.loaded(canonical, src);
        let shared = shared_bytes(held, src, dst);
        (tally.shared, tally.beside) = (shared as f64, beside_each_other(WARPS, shared, facts));
        let fits = shared <= facts.block_shared;
        let cost = if fits { self.cost_of_tally(canonical, facts) } else { f64::INFINITY };
        (self.known, self.cost) = (Known::All, cost);
        waits_long
    }
}

/// The destination's stretches of a box, and the words of the runs by which they are gathered: by runs if stretches are short otherwise.
fn whole(
    canonical: &Canonical,
    tile: &Tile,
    by_words: Option<Stretches>,
) -> Option<(Stretches, usize)> {
    /// Bytes of a stretch with which gathering it word by word takes fewer instructions.
    const LONG: usize = 256;
    let word = canonical.word_bytes();
    let [_, to] = canonical.sides();
    let are_runs = canonical.run() > 1 && canonical.held_word_bytes == word;
    let run = if are_runs { tile.has(0) } else { 1 };
    let is_long = by_words.is_some_and(|stretches| stretches.words * word >= LONG);
    // Units of 4 bytes have no more than two runs.
    if is_long || word >= 4 || run * word < 4 {
        return by_words.map(|stretches| (stretches, 1));
    }
    let most = Most::Words((MOST_PLACES * run).min(canonical.most_together()));
    let by_runs = tile.stretches(canonical, to, Gapped::No, most);
    match (by_words, by_runs) {
        (Some(words), Some(runs)) if words.words == runs.words => Some((words, 1)),
        (words, None) => words.map(|stretches| (stretches, 1)),
        (_, Some(runs)) => Some((runs, run)),
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::launch::params_of;
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;
    use kernel_abi::tensor::{BOXES, Boxes};

    #[test]
    fn neighbours_in_the_destination_are_moved_one_after_the_other() {
        // Boxes have parts of the first axis, and rows of 23 elements end inside sectors where the next index of the second axis goes on.
        let shape = [36_727, 11, 23, 18];
        let layout = |strides: &[isize]| TensorLayout::strided(&shape, strides, 0, 1).unwrap();
        let src = layout(&[18, 661_284, 7_274_124, 1]);
        let dst = layout(&[4554, 414, 18, 1]);
        let problem =
            TensorProblem { element_bytes: 1, src: &src, dst: &dst, src_align: 32, dst_align: 32 };
        let canonical = Canonical::of(&problem);
        let launches = best(&canonical, &Facts::simulated(), 100, f64::INFINITY).into_iter();
        let boxes = launches.filter_map(|(_, launch)| params_of::<Boxes>(&BOXES, &launch));
        let first = |boxes: &Boxes| (boxes.blocks[0].dst as usize * 2, boxes.parts[0].part);
        let beside: Vec<_> =
            boxes.filter(|boxes| boxes.targets.count == 1).map(|boxes| first(&boxes)).collect();
        assert!(beside.contains(&(414, 1)), "{beside:?}");
        assert!(beside.iter().all(|&(bytes, _)| bytes < 2 * 4554), "{beside:?}");
    }

    /// The kernel counts what is left of an axis in 32 bits.
    #[test]
    fn no_box_has_a_part_of_an_axis_that_is_too_long() {
        let all = |matrices: usize| {
            let shape = [matrices, 2, 2, 2];
            let layout = |strides| TensorLayout::strided(&shape, strides, 0, 1).unwrap();
            let (src, dst) = (layout(&[8, 4, 2, 1]), layout(&[8, 1, 2, 4]));
            let (src_align, dst_align) = (32, 32);
            let problem =
                TensorProblem { element_bytes: 1, src: &src, dst: &dst, src_align, dst_align };
            let canonical = Canonical::of(&problem);
            let launches = best(&canonical, &Facts::simulated(), 100, f64::INFINITY).into_iter();
            let boxes = launches.filter_map(|(_, launch)| params_of::<Boxes>(&BOXES, &launch));
            boxes.flat_map(|boxes| boxes.parts.map(|part| part.all)).max()
        };
        assert_eq!(all(1 << 30), Some(1 << 30));
        let most = all((1 << 32) + 5000);
        assert!(most.is_none_or(|all| all <= u32::MAX.into()), "{most:?}");
    }

    /// The parameters of the cheapest launch of `boxes` that transposes `count` matrices of `rows` × `cols` elements of `element_bytes` bytes. Neither side has gaps.
    fn boxes_of(element_bytes: usize, [count, rows, cols]: [usize; 3]) -> Boxes {
        let words = element_bytes as isize;
        let shape = [count, cols, rows, element_bytes];
        let (row, matrix) = (cols as isize * words, (rows * cols) as isize * words);
        let layout = |strides: &[isize]| TensorLayout::strided(&shape, strides, 0, 1).unwrap();
        let (src, dst) =
            (layout(&[matrix, words, row, 1]), layout(&[matrix, rows as isize * words, words, 1]));
        let problem =
            TensorProblem { element_bytes: 1, src: &src, dst: &dst, src_align: 32, dst_align: 32 };
        let launches = best(&Canonical::of(&problem), &Facts::simulated(), 100, f64::INFINITY);
        let mut boxes =
            launches.iter().filter_map(|(_, launch)| params_of::<Boxes>(&BOXES, launch));
        boxes.next().unwrap()
    }

    /// Rows of 192 bytes start in two of the banks. Held as they lie, they had a third of a copy's speed on an H200.
    #[test]
    fn rows_that_start_in_few_banks_are_held_apart() {
        const BANKS: u64 = 128;
        let boxes = boxes_of(3, [9798, 32, 64]);
        let apart = boxes.sources.digits[0].inside;
        assert!(boxes.rows > 1 && apart != 192 && !apart.is_multiple_of(BANKS / 4), "{apart}");
    }

    #[test]
    fn stretches_are_whole_sectors_where_rows_start_on_sectors() {
        for element_bytes in [5, 7, 9, 11, 13] {
            let boxes = boxes_of(element_bytes, [1, 4000, 4000]);
            let part = boxes.parts.map(|part| part.part);
            let whole = |indices: u64| (indices * element_bytes as u64).is_multiple_of(32);
            assert!(part.into_iter().any(whole), "{element_bytes}: {part:?}");
        }
    }

    /// Words that are stored one by one are asked for by neighbouring lanes: of 23 stretches those may not all lie in one bank.
    #[test]
    fn words_by_themselves_are_spread_over_the_banks() {
        const BANKS: u64 = 128;
        let layout = |strides| TensorLayout::strided(&[3_029_164, 23], strides, 2, 2).unwrap();
        let (src, dst) = (layout(&[1, 3_029_192]), layout(&[25, 1]));
        let problem =
            TensorProblem { element_bytes: 2, src: &src, dst: &dst, src_align: 32, dst_align: 4 };
        let launches = best(&Canonical::of(&problem), &Facts::simulated(), 100, f64::INFINITY);
        let boxes = launches.iter().filter_map(|(_, launch)| params_of::<Boxes>(&BOXES, launch));
        let apart: Vec<_> = boxes
            .filter(|boxes| boxes.singly != 0 && boxes.rows > 16)
            .map(|boxes| boxes.sources.digits[0].inside)
            .collect();
        assert!(!apart.is_empty() && apart.iter().all(|apart| apart % BANKS != 0), "{apart:?}");
    }

    #[test]
    fn no_more_shared_memory_than_a_block_may_have() {
        let least = 48 << 10;
        // Pairs of words with a gap behind each on both sides: as many stretches as there may be, of as few bytes as fit.
        let shape = [3000, 300, 2];
        let layout = |strides| TensorLayout::strided(&shape, strides, 0, 16).unwrap();
        let (src, dst) = (layout(&[1200, 4, 1]), layout(&[4, 12_000, 1]));
        let (src_align, dst_align) = (32, 32);
        let problem =
            TensorProblem { element_bytes: 16, src: &src, dst: &dst, src_align, dst_align };
        let most = |block_shared: usize| {
            let facts = Facts { block_shared, ..Facts::simulated() };
            let launches = best(&Canonical::of(&problem), &facts, 100, f64::INFINITY).into_iter();
            launches.map(|(_, launch)| launch.dynamic_shared_bytes as usize).max()
        };
        assert!(most(227 << 10) > Some(least), "{:?}", most(227 << 10));
        assert!(most(least) <= Some(least), "{:?}", most(least));
    }
}
