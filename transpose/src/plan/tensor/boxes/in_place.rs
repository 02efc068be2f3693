//! Boxes that are whole squares of a batch, each of which is transposed in its own memory.
//!
//! A box of whole squares has the same memory on both sides. Its block loads all of it before a barrier and stores it behind that, and between blocks nothing is in order. So no block may load a byte that another one stores,
//! and vectors have bytes beside a box:
//!
//! - Squares one behind the other: a box is what lies between its first word and its last, and of vectors that have more its block loads those words alone.
//! - Squares side by side in the same rows: a box has a part of each row. Where rows start on vectors it has as many squares as end on one, else it loads single words where each part starts and ends.
//!
//! What lies between the rows and squares of a box is loaded with them, and never stored.

use super::super::canonical::{Axis, Canonical};
use super::super::gaps::Gaps;
use super::super::problem::{TensorProblem, aligned};
use super::tile::Tile;
use super::{Search, WHOLE};
use crate::divide::{TOO_LARGE, gcd};
use crate::facts::Facts;
use crate::launch::Launch;
use crate::plan::memo::{Chip, Memo, hash_of};
use crate::plan::problem::VECTOR;
use crate::tensor::TensorLayout;
use kernel_abi::tensor::{Loads, PIECES_BELOW};
use smallvec::SmallVec;

/// Bytes of shared memory that a box may take: places in it are numbers of 16 bits. Other moves have smaller ones, of which more run side by side; here a square that is in no box goes at a fraction
/// of the speed.
const MOST: usize = 60 << 10;

/// Bytes of shared memory that may be kept for other things before a block's own, from where addresses are counted.
const KEPT: usize = 1 << 10;

// Where pieces start is told in 16 bits, too, from there on.
const _: () = assert!(KEPT + MOST + PIECES_BELOW as usize <= 1 << 16);

/// The bytes that boxes may have, about.
const TRIED: [usize; 5] = [MOST, 32 << 10, 16 << 10, 8 << 10, 4 << 10];

/// A batch of squares that have no element in common, one behind the other or side by side in the same rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SquareBatch {
    pub element_bytes: usize,
    pub side: usize,
    /// Elements from one row's start to the next's.
    pub ld: usize,
    pub count: usize,
    /// Elements from one square's start to the next's.
    pub stride: usize,
}

/// What a batch was found to go by on a chip, at an address that is a multiple of so many bytes.
#[derive(Clone)]
struct Recent {
    chip: Chip,
    align: usize,
    batch: SquareBatch,
    launch: Option<Launch>,
}

static RECENT: Memo<Recent> = Memo::new();

impl SquareBatch {
    /// The launch in boxes of whole squares that is expected to be the fastest for squares from `address` on. `None` where no box holds a square, or, where squares side by side are in rows that start on vectors, as many as end on one.
    pub fn in_boxes(self, address: u64, facts: &Facts) -> Option<Launch> {
        let (chip, align, batch) = (Chip::of(facts), aligned(address), self);
        let key = (chip, align, batch);
        let is_it = |recent: &Recent| (recent.chip, recent.align, recent.batch) == key;
        let make = || Recent { chip, align, batch, launch: batch.planned(align, facts) };
        RECENT.find_or(hash_of((align, batch)), is_it, make, |_| true).launch
    }

    fn planned(self, align: usize, facts: &Facts) -> Option<Launch> {
        let SquareBatch { element_bytes, side, ld, count, stride } = self;
        let square = side.checked_mul(side)?.checked_mul(element_bytes)?;
        if square > MOST || count >= TOO_LARGE {
            return None;
        }
        let strides = [stride, ld, 1].map(|stride| stride as isize);
        let dst = TensorLayout::strided(&[count, side, side], &strides, 0, element_bytes).ok()?;
        let src = dst.swap_axes(1, 2).ok()?;
        let (src_align, dst_align) = (align, align);
        let problem = TensorProblem { element_bytes, src: &src, dst: &dst, src_align, dst_align };
        let canonical = &Canonical::of(&problem);
        let apart = stride.checked_mul(element_bytes)?;
        let words = (apart / canonical.word_bytes()) as isize;
        let counts = |axis: &Axis| axis.length == count && [axis.src, axis.dst] == [words; 2];
        let squares = canonical.axes().iter().rposition(counts)?;
        let loads = self.loads(align);
        let (gaps, most_image) = (Gaps::of(canonical), MOST);
        let (tiles, choices) = (SmallVec::new(), SmallVec::new());
        let mut search = Search { canonical, facts, gaps, most_image, loads, tiles, choices };
        // As many as end on a vector, and as many as there is room for, if they need not.
        let of_vectors = VECTOR / gcd(VECTOR, apart);
        let step = if loads == Loads::Source { of_vectors } else { 1 };
        for (most, step) in TRIED.into_iter().flat_map(|most| [(most, of_vectors), (most, step)]) {
            let in_box = (most / square / step * step).min(count);
            if in_box > 0 {
                search.look(Tile::with_all_but(canonical, squares, in_box), WHOLE);
            }
        }
        search.cheapest(1, f64::INFINITY).pop().map(|(_, launch, _)| launch)
    }

    /// What boxes of these squares may load, so that none loads what another one stores: all of the source, if each box ends on a vector.
    fn loads(self, align: usize) -> Loads {
        let SquareBatch { element_bytes, ld, stride, .. } = self;
        let rows_start_on_vectors =
            align >= VECTOR && ld.wrapping_mul(element_bytes).is_multiple_of(VECTOR);
        match ld > stride {
            false => Loads::Box,
            // Side by side, a box has a part of each row.
            true if rows_start_on_vectors => Loads::Source,
            true => Loads::Stretch,
        }
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::super::launch::params_of;
    use super::*;
    use kernel_abi::tensor::{BOXES, PIECES};

    /// Many squares without gaps.
    fn dense(element_bytes: usize, side: usize) -> SquareBatch {
        let (ld, count, stride) = (side, 1000, side.saturating_mul(side));
        SquareBatch { element_bytes, side, ld, count, stride }
    }

    /// What boxes load, as many bytes behind where memory starts, and how many boxes there are.
    fn boxes_of(batch: SquareBatch, address: u64) -> Option<(u64, usize)> {
        let launch = batch.in_boxes(address, &Facts::h200())?;
        let boxes = params_of(&BOXES, &launch);
        let boxes = boxes.or_else(|| params_of(&PIECES, &launch).map(|of| of.boxes)).unwrap();
        Some((boxes.loads, boxes.boxes as usize))
    }

    #[test]
    fn squares_behind_each_other_are_loaded_by_boxes_that_have_them() {
        for (bytes, side) in [(1, 61), (1, 63), (3, 20), (3, 140), (7, 33), (12, 8), (100, 24)] {
            for address in [0, 1, 8, 16, 24] {
                let (loads, _) = boxes_of(dense(bytes, side), address).unwrap();
                assert_eq!(loads, Loads::Box as u64);
            }
        }
    }

    #[test]
    fn squares_side_by_side_end_on_vectors_or_are_loaded_alone() {
        for side in 2..40 {
            let (stride, count) = (side, 1000usize);
            for ld in [side * count, (side * count).next_multiple_of(16)] {
                let batch = SquareBatch { element_bytes: 1, side, ld, count, stride };
                let Some((loads, boxes)) = boxes_of(batch, 0) else { continue };
                if !ld.is_multiple_of(VECTOR) {
                    assert_eq!(loads, Loads::Stretch as u64);
                    continue;
                }
                assert_eq!(loads, Loads::Source as u64);
                // All boxes but the last have as many squares.
                let mut in_box = (1..=count).filter(|&some| count.div_ceil(some) == boxes);
                assert!(in_box.any(|some| (some * stride).is_multiple_of(VECTOR)), "{side}");
            }
        }
    }

    #[test]
    fn what_no_box_holds_is_not_served() {
        assert!(boxes_of(dense(3, 140), 0).is_some() && boxes_of(dense(3, 144), 0).is_none());
        assert!(boxes_of(dense(1, 240), 1).is_some() && boxes_of(dense(1, 250), 1).is_none());
        assert!(boxes_of(dense(3, usize::MAX / 2), 0).is_none());
    }
}
