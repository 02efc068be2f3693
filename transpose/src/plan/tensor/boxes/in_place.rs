//! Boxes that are whole squares of a batch, each of which is transposed in its own memory.
//!
//! A box of whole squares has the same memory on both sides. Its block loads all of it before a barrier and stores it behind that. Where every box starts on a vector no vector belongs
//! to two boxes, so no block loads or stores what another one does. What lies between rows or squares is loaded with them, and never stored.

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
use smallvec::SmallVec;

/// Bytes of shared memory that a box may take: places in it are numbers of 16 bits. Other moves have smaller ones, of which more run side by side; here a square that is in no box goes at a fraction
/// of the speed.
const MOST: usize = 60 << 10;

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
    /// The launch in boxes of whole squares that is expected to be the fastest for squares from `address` on. `None` where no box holds a square, or as many as the next one starts on a vector behind.
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
        if align < VECTOR || square > MOST || count >= TOO_LARGE {
            return None;
        }
        let strides = [stride, ld, 1].map(|stride| stride as isize);
        let dst = TensorLayout::strided(&[count, side, side], &strides, 0, element_bytes).ok()?;
        let src = dst.swap_axes(1, 2).ok()?;
        let (src_align, dst_align) = (align, align);
        let problem = TensorProblem { element_bytes, src: &src, dst: &dst, src_align, dst_align };
        let canonical = &Canonical::of(&problem);
        let (apart, of_row) = (stride.checked_mul(element_bytes)?, ld.checked_mul(element_bytes)?);
        let words = (apart / canonical.word_bytes()) as isize;
        let counts = |axis: &Axis| axis.length == count && [axis.src, axis.dst] == [words; 2];
        let squares = canonical.axes().iter().rposition(counts)?;
        // Where squares are side by side, each of their rows has to start on a vector as well.
        if ld > stride && !of_row.is_multiple_of(VECTOR) {
            return None;
        }
        let step = VECTOR / gcd(VECTOR, apart);
        let (gaps, most_image) = (Gaps::of(canonical), MOST);
        let (tiles, choices) = (SmallVec::new(), SmallVec::new());
        let mut search = Search { canonical, facts, gaps, most_image, tiles, choices };
        for most in TRIED {
            let in_box = (most / square / step * step).min(count);
            if in_box > 0 {
                search.look(Tile::with_all_but(canonical, squares, in_box), WHOLE);
            }
        }
        search.cheapest(1, f64::INFINITY).pop().map(|(_, launch, _)| launch)
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::super::launch::params_of;
    use super::*;
    use kernel_abi::tensor::{BOXES, PIECES};

    /// The launch for many squares that start where memory does, or so many bytes behind.
    fn launch_at(element_bytes: usize, side: usize, address: u64) -> Option<Launch> {
        let (ld, count, stride) = (side, 1000, side.saturating_mul(side));
        let batch = SquareBatch { element_bytes, side, ld, count, stride };
        batch.in_boxes(address, &Facts::h200())
    }

    #[test]
    fn boxes_are_whole_squares_that_end_on_vectors() {
        for element_bytes in [1, 2, 3, 4, 5, 6, 7, 8, 12, 24, 100] {
            for side in 2..40 {
                let Some(launch) = launch_at(element_bytes, side, 0) else { continue };
                let boxes = params_of(&BOXES, &launch);
                let boxes = boxes.or_else(|| params_of(&PIECES, &launch).map(|of| of.boxes));
                let boxes = boxes.unwrap().boxes as usize;
                // All boxes but the last have as many squares.
                let in_box = (1..=1000).find(|&some| 1000usize.div_ceil(some) == boxes);
                let bytes = side * side * element_bytes;
                let ends =
                    (in_box.unwrap()..=1000).take_while(|&some| 1000usize.div_ceil(some) == boxes);
                assert!(
                    ends.into_iter().any(|some| (some * bytes).is_multiple_of(VECTOR)),
                    "{element_bytes} bytes, {side}"
                );
            }
        }
    }

    #[test]
    fn what_no_box_holds_is_not_served() {
        assert!(launch_at(3, 140, 0).is_some() && launch_at(3, 144, 0).is_none());
        // Sixteen squares would end on a vector.
        assert!(launch_at(1, 61, 0).is_some() && launch_at(1, 63, 0).is_none());
        for address in [1, 8, 24] {
            assert!(launch_at(3, 20, address).is_none());
        }
        assert!(launch_at(3, 20, 16).is_some());
        assert!(launch_at(3, usize::MAX / 2, 0).is_none());
    }
}
