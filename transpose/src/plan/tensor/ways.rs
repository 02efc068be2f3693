//! How a move may go, and which way is taken: the one that the [model](super::model) expects to be the fastest.

use super::canonical::{Axis, Canonical};
use super::problem::to_vectors;
use super::tiles::Kernel;
use super::{boxes, model, runs, tiles, words};
use crate::Facts;
use crate::launch::Launch;
use crate::layout::Layout;
use crate::plan::fast;
use crate::plan::problem::{Batch, Problem};
use kernel_abi::tensor::Mask;
use smallvec::SmallVec;
use std::cell::{LazyCell, OnceCell};

/// A way to go, and what the model says that it costs: bytes that a copy could have moved meanwhile.
#[derive(Clone)]
pub(super) struct Estimated {
    pub cost: f64,
    pub launches: Vec<Launch>,
}

impl Estimated {
    fn of((cost, launch): (f64, Launch)) -> Self {
        Estimated { cost, launches: vec![launch] }
    }
}

/// A move of one stretch of so many bytes, of which nothing is left to choose.
pub(super) struct Stretch(pub usize);

/// How many shapes of tile are candidates.
pub(super) const SHAPES: usize = 6;

/// A move, and how it may go.
pub(super) struct Ways<'a> {
    facts: &'a Facts,
    pub canonical: &'a Canonical,
    /// The bits that are flipped on the way, if any are.
    pub flips: Option<Mask>,
    /// Found once, if tiles are looked at.
    counted_from_end: OnceCell<Option<Box<Canonical>>>,
}

impl<'a> Ways<'a> {
    /// Those of a move, unless nothing is left to choose.
    pub fn of(
        canonical: &'a Canonical,
        facts: &'a Facts,
        flips: Option<Mask>,
    ) -> Result<Self, Stretch> {
        if canonical.words() == canonical.run() && flips.is_none() {
            return Err(Stretch(canonical.words() * canonical.word_bytes()));
        }
        Ok(Ways { facts, canonical, flips, counted_from_end: OnceCell::new() })
    }

    /// As a matrix's, if it is one and arrives as it is.
    pub fn as_matrix(&self) -> Option<Estimated> {
        let launches = self.matrix()?;
        let cost = model::cost_of_matrix(self.canonical, self.facts, &launches);
        Some(Estimated { cost, launches })
    }

    fn matrix(&self) -> Option<Vec<Launch>> {
        if self.flips.is_some() { None } else { matrix(self.canonical, self.facts) }
    }

    pub fn cost_by_words(&self) -> f64 {
        words::cost(self.canonical, self.facts)
    }

    /// Word by word, which is known to cost so much.
    pub fn by_words(&self, cost: f64) -> Estimated {
        Estimated { cost, launches: words::launches(self.canonical, self.flips) }
    }

    /// By vectors of what lies together on both sides, if that is long enough, and words arrive as they are.
    pub fn by_runs(&self) -> Option<Estimated> {
        let runs = if self.flips.is_some() { None } else { runs::Of::new(self.canonical) }?;
        Some(Estimated { cost: runs.cost(self.facts), launches: runs.launches() })
    }

    /// The move as tiles go: from the end where what lies together in the source ascends.
    fn in_order(&self) -> &Canonical {
        let other = || self.canonical.counted_from_end().map(Box::new);
        self.counted_from_end.get_or_init(other).as_deref().unwrap_or(self.canonical)
    }

    /// In tiles, the `most` best that cost less than a `limit`.
    pub fn in_tiles(&self, most: usize, limit: f64) -> impl Iterator<Item = Estimated> {
        let late = model::late(self.canonical, model::TILES_LATE);
        let limit = limit - late;
        let mut ways: SmallVec<[Estimated; 1]> = SmallVec::new();
        if self.may_cost_less_than(limit) {
            let part = model::of_repeated(self.canonical);
            let found = |cost, launch| ways.push(Estimated::of((cost * part + late, launch)));
            let (facts, flips) = (self.facts, self.flips);
            tiles::best(self.in_order(), facts, flips, Kernel::Moving, most, limit / part, found);
        }
        ways.into_iter()
    }

    /// In boxes, the `most` best that cost less than a `limit`, if words arrive as they are.
    pub fn in_boxes(&self, most: usize, limit: f64) -> impl Iterator<Item = Estimated> {
        let late = model::late(self.canonical, model::BOXES_LATE);
        let serve = self.flips.is_none() && self.may_cost_less_than(limit - late);
        let best = |canonical: &Canonical| boxes::best(canonical, self.facts, most, limit - late);
        let mut boxes = if serve { best(self.canonical) } else { Vec::new() };
        if serve && let Some(narrow) = self.canonical.in_narrow_words() {
            boxes.extend(best(&narrow));
            boxes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            boxes.truncate(most);
        }
        boxes.into_iter().map(move |(cost, launch)| Estimated::of((cost + late, launch)))
    }

    /// Whether tiles or boxes may cost less than a `limit`: what they are late by is more than small moves cost otherwise.
    fn may_cost_less_than(&self, limit: f64) -> bool {
        limit > model::least_of_words(self.canonical)
    }

    /// The best way. What takes longer to plan is not looked at where nothing is left to gain.
    pub fn best(&self) -> Estimated {
        let in_tiles = |limit| self.in_tiles(1, limit).next();
        let in_boxes = |limit| self.in_boxes(1, limit).next();
        self.choose([&in_tiles, &in_boxes])
    }

    /// The best way, with others that cost less than a limit, if there are such.
    fn choose(&self, others: [&dyn Fn(f64) -> Option<Estimated>; 2]) -> Estimated {
        /// A way that costs so many times what its sectors cost is good enough.
        const ENOUGH: f64 = 1.08;
        // Planning is to take no time beside a launch's latency: what is planned at once will do, and nobody asks what it costs.
        if model::is_small(self.canonical) {
            let launches =
                self.matrix().unwrap_or_else(|| words::launches(self.canonical, self.flips));
            return Estimated { cost: 0.0, launches };
        }
        let enough = model::fewest_sectors(self.canonical) * ENOUGH;
        let by_words = LazyCell::new(|| self.cost_by_words());
        let is_less = |cost| cost < words::least_cost(self.canonical) || cost < *by_words;
        let at_once = [self.as_matrix(), self.by_runs()].into_iter().flatten();
        let cheapest = at_once.min_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut best = cheapest.filter(|way| is_less(way.cost));
        for (number, other) in others.into_iter().enumerate() {
            let limit = match &best {
                Some(best) => best.cost,
                // Word by word a move is never as fast as tiles of vectors can be: those of large ones are looked at first.
                None if number == 0 && model::is_large(self.canonical) => f64::INFINITY,
                None => *by_words,
            };
            let are_for_vectors = number == 0 && best.is_none();
            if limit <= enough && !are_for_vectors {
                break;
            }
            best = other(limit).filter(|way| way.cost < limit && is_less(way.cost)).or(best);
        }
        best.unwrap_or_else(|| self.by_words(*by_words))
    }

    /// The few best of every kind, the one that a plan takes first: it may have been content with less than the best.
    pub fn candidates(&self) -> Vec<Estimated> {
        let tiles: Vec<Estimated> = self.in_tiles(SHAPES, f64::INFINITY).collect();
        let boxes: Vec<Estimated> = self.in_boxes(SHAPES, f64::INFINITY).collect();
        let taken = self.choose([&|_| tiles.first().cloned(), &|_| boxes.first().cloned()]);
        let mut all: Vec<Estimated> = [tiles, boxes].concat();
        all.extend(self.as_matrix());
        all.extend(self.by_runs());
        all.push(self.by_words(self.cost_by_words()));
        all.retain(|way| way.launches != taken.launches);
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        std::iter::once(taken).chain(all).collect()
    }
}

/// The launches of a kernel that only knows matrices, if the move is the transpose of matrices and one is for them.
fn matrix(canonical: &Canonical, facts: &Facts) -> Option<Vec<Launch>> {
    let tuple = canonical.run();
    let axes = if tuple > 1 { &canonical.axes()[1..] } else { canonical.axes() };
    let (rows, cols, apart) = match *axes {
        [rows, cols] => (rows, cols, Axis { length: 1, src: 0, dst: 0 }),
        [rows, cols, apart] => (rows, cols, apart),
        _ => return None,
    };
    let elements = |words: isize| match usize::try_from(words) {
        Ok(words) if tuple == 1 => Some(words),
        Ok(words) if words % tuple == 0 => Some(words / tuple),
        _ => None,
    };
    if elements(rows.dst) != Some(1) || elements(cols.src) != Some(1) {
        return None;
    }
    let bytes = tuple * canonical.word_bytes();
    let src = Layout::new(rows.length, cols.length, elements(rows.src)?, bytes).ok()?;
    let dst = Layout::new(cols.length, rows.length, elements(cols.dst)?, bytes).ok()?;
    let batch = Batch {
        count: apart.length,
        src_stride: elements(apart.src)?,
        dst_stride: elements(apart.dst)?,
    };
    let [from, to] = to_vectors(canonical.aligned);
    let problem =
        Problem::of_layouts(bytes, src.aligned_to(from), dst.aligned_to(to), batch).ok()?;
    fast::best(&problem, facts)
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::problem::TensorProblem;
    use super::*;
    use crate::tensor::TensorLayout;

    /// The kernel that an H200 makes this move by, from a source that starts on a multiple of `src_align` bytes to a destination that starts on a sector.
    fn kernel_of(
        element_bytes: usize,
        src_align: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
    ) -> &'static str {
        let problem = TensorProblem { element_bytes, src, dst, src_align, dst_align: 32 };
        let (canonical, facts) = (Canonical::of(&problem), Facts::h200());
        Ways::of(&canonical, &facts, None).ok().unwrap().best().launches[0].entry.name
    }

    /// Pieces of 160 bytes that change places. (On an H200 that has 0.95 of a copy word by word, and 0.84 in boxes.)
    #[test]
    fn pieces_go_word_by_word() {
        let src = TensorLayout::contiguous(&[96, 75, 96, 80], 2).unwrap();
        let src = src.permute_axes(&[2, 1, 0, 3]).unwrap();
        let dst = TensorLayout::contiguous(src.shape(), 2).unwrap();
        assert_eq!(kernel_of(2, 32, &src, &dst), "words_b16");
    }

    /// Pictures that are rotated by a quarter. (On an H200 bytes have 0.73 of a copy in tiles, and 0.08 word by word; elements of 3 bytes 0.63 in boxes, and 0.19.)
    #[test]
    fn rotated_pictures_go_in_tiles_and_boxes() {
        for (bytes, kernel) in [(1, "tiles_b1"), (3, "boxes_b1")] {
            let src = TensorLayout::contiguous(&[8000, 6000], bytes).unwrap();
            let src = src.slice(1, .., -1).unwrap().t();
            let dst = TensorLayout::contiguous(src.shape(), bytes).unwrap();
            assert_eq!(kernel_of(bytes, 1, &src, &dst), kernel);
        }
    }

    /// Rows of 24 bytes, 192 apart: each is alone in its sector, or two. (On an H200 that has 0.25 of a copy word by word, and 0.14 by tiles.)
    #[test]
    fn rows_that_are_alone_go_word_by_word() {
        let layout = |strides| TensorLayout::strided(&[2_318_972, 3], strides, 0, 8).unwrap();
        let (src, dst) = (layout(&[1, 2_318_972]), layout(&[24, 1]));
        assert_eq!(kernel_of(8, 8, &src, &dst), "words_b8");
    }
}
