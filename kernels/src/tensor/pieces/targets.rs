//! Where a box's pieces of the destination's stretches are, and the words in them.

use crate::element::Element;
use crate::global::fetch_sector;
use crate::opaque::opaque;
use crate::tensor::axes::{divide, unrolled};
use crate::tensor::boxes::place::{inside_behind_first, outside_and_inside, Place};
use crate::tensor::boxes::tables::Tables;
use cuda_std::thread;
use kernel_abi::fast::SECTOR;
use kernel_abi::tensor::{Digits, Pieces, BOX_THREADS, GAP, MOST_DIGITS, PIECES_BELOW};

/// Fills the tables of targets and of their words. Boxes at an end have less of the last digit: theirs are the first entries. An entry of
/// [`Tables::starts`] has in its lower half where the target's first word is in shared memory, [`PIECES_BELOW`] further on, and in the upper half which piece of its stretch it is.
///
/// # Safety
/// There is shared memory for them, which nothing else uses; a barrier follows.
#[inline(always)]
pub unsafe fn fill<E>(tables: Tables, params: &Pieces, base: u32) {
    let boxes = &params.boxes;
    let base = base + PIECES_BELOW + boxes.first_start as u32;
    // The warps that had the fewest of the sources begin.
    let mut number = (BOX_THREADS - 1) - thread::thread_idx_x();
    while number < boxes.cols as u32 {
        let (outside, inside) =
            outside_and_inside::<E>(&boxes.targets, number, size_of::<E>() as u64);
        let (of_stretches, _) = divide(number, params.before);
        let (_, piece) = divide(of_stretches, params.pieces);
        // SAFETY: entries that no other thread has.
        unsafe {
            outside.store_shared(tables.targets + number * Tables::WIDE);
            (((base + inside) % (1 << 16)) | (piece << 16))
                .store_shared(tables.starts + number * Tables::NARROW);
        }
        number += BOX_THREADS;
    }
    let mut number = thread::thread_idx_x();
    while number < boxes.places as u32 {
        let first_place = boxes.first_place as u32;
        let place = if params.gapped == 0 {
            let first = &boxes.target_words.digits[0];
            let (above, index) = divide(number, first.divisor);
            first_place
                + index * first.inside as u32
                + inside_behind_first(&boxes.target_words, above)
        } else {
            place_or_gap(&boxes.target_words, first_place, number)
        };
        // SAFETY: an entry that no other thread has.
        unsafe { (place as u16).store_shared(tables.places + number * 2) }
        number += BOX_THREADS;
    }
}

/// Where a word is in shared memory that a stretch with gaps, of which the first word is there, has in such a place; [`GAP`] if it has none there.
#[inline(always)]
fn place_or_gap(digits: &Digits, first: u32, number: u32) -> u32 {
    let (mut place, mut rest, mut is_gap) = (first, number, false);
    // The slowest first: what is left of a step may be a gap.
    unrolled! { BEHIND in [0 1 2 3 4 5] of MOST_DIGITS => {
        const { assert!(MOST_DIGITS == 6) };
        const DIGIT: usize = MOST_DIGITS - 1 - BEHIND;
        if DIGIT < digits.count as usize {
            let digit = &digits.digits[DIGIT];
            let (index, left) = divide(rest, digit.divisor);
            place += index * digit.inside as u32;
            is_gap |= index >= digit.outside as u32;
            rest = left;
        }
    } }
    if is_gap || rest != 0 {
        GAP
    } else {
        place
    }
}

/// A box's targets.
pub struct Targets<E> {
    /// Where the box starts in the destination.
    dst: *mut E,
    /// Bytes of shared memory before the box's first word, beside what the tables say, which is [`PIECES_BELOW`] more.
    skew: u32,
    /// The tables.
    pub tables: Tables,
    /// How many targets the box has.
    pub count: u32,
    /// Bytes of a stretch up to its last word, those of gaps as well.
    stretch: u32,
    /// Bytes of a piece but for the last one of a stretch.
    piece: u32,
    /// Whether there are gaps in them.
    gapped: bool,
}

/// A target.
pub struct Target<E> {
    /// Where its first word is in shared memory.
    pub start: u32,
    /// Where that goes.
    pub to: *mut E,
    /// How many bytes it has, those of gaps as well.
    pub bytes: u32,
    /// Whether it is the first of its stretch.
    is_first: bool,
    /// Whether it is the last.
    is_last: bool,
}

impl<E: Element> Targets<E> {
    /// Those of a box at a place, whose first word is so many bytes behind where the image starts.
    #[inline(always)]
    pub fn of(skew: u32, dst: *mut E, params: &Pieces, tables: Tables, place: &Place) -> Self {
        let size = size_of::<E>() as u32;
        // The boxes' own number counts indices of the axis that boxes have parts of.
        let (parts, _) = divide(place.targets + params.per as u32 - 1, params.per);
        Targets {
            dst: dst.wrapping_add(place.to as usize),
            skew: skew.wrapping_sub(PIECES_BELOW),
            tables,
            count: params.each as u32 * parts,
            stretch: (place.target_words - params.gapped as u32) * size,
            piece: params.piece as u32 * size,
            gapped: params.gapped != 0,
        }
    }

    /// The target of a number.
    ///
    /// # Safety
    /// There is such a target; a barrier separates this from [`fill`].
    #[inline(always)]
    pub unsafe fn target(&self, number: u32) -> Target<E> {
        // SAFETY: entries of the tables.
        let (entry, offset) = unsafe {
            let entry = u32::load_shared(self.tables.starts + number * Tables::NARROW);
            (entry, u64::load_shared(self.tables.targets + number * Tables::WIDE))
        };
        let left = self.stretch - (entry >> 16) * self.piece;
        Target {
            start: (entry % (1 << 16)).wrapping_add(self.skew),
            to: self.dst.wrapping_byte_add(offset as usize),
            bytes: left.min(self.piece),
            is_first: entry >> 16 == 0,
            is_last: left <= self.piece,
        }
    }

    /// The bytes of the longest.
    #[inline(always)]
    pub fn longest(&self) -> u32 {
        self.stretch.min(self.piece)
    }

    /// Whether all are whole units of so many bytes, if they start on one.
    #[inline(always)]
    pub fn are_whole(&self, unit: u32) -> bool {
        self.stretch.is_multiple_of(unit) && self.piece.is_multiple_of(unit)
    }

    /// Fetches the sectors that stretches start and end inside, and those that have gaps.
    ///
    /// # Safety
    /// A barrier separates this from [`fill`]; the destination has the targets.
    #[inline(always)]
    pub unsafe fn fetch(&self) {
        if self.gapped {
            // All sectors, eight lanes a target.
            let mut number = opaque(thread::thread_idx_x()) / 8;
            while number < self.count {
                // SAFETY: a target, and sectors that have words of the destination or gaps between them.
                unsafe {
                    let Target { to, bytes, .. } = self.target(number);
                    let past = to as u64 as u32 % SECTOR;
                    let mut at = opaque(thread::thread_idx_x()) % 8 * SECTOR;
                    while at < past + bytes {
                        fetch_sector(to as u64 - past as u64 + at as u64);
                        at += 8 * SECTOR;
                    }
                }
                number += BOX_THREADS / 8;
            }
            return;
        }
        let mut number = opaque(thread::thread_idx_x());
        while number < self.count {
            // SAFETY: a target, and the destination's words.
            unsafe {
                let Target { to, bytes, is_first, is_last, .. } = self.target(number);
                let (start, end) = (to as u64, to as u64 + bytes as u64);
                if is_first && !start.is_multiple_of(SECTOR as u64) {
                    fetch_sector(start);
                }
                if is_last && !end.is_multiple_of(SECTOR as u64) {
                    fetch_sector(end - 1);
                }
            }
            number += BOX_THREADS;
        }
    }
}
