//! The tables in shared memory that say where the words of a box are.

use super::place::{inside_behind_first, outside_and_inside, Place};
use super::source::Source;
use crate::element::{Element, B16};
use crate::opaque::{not_unrolled, opaque};
use crate::tensor::axes::divide;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{Boxes, Loads, BOX_THREADS, MOST_TURNS};

/// The tables in shared memory: for all boxes of a block, as what they say is beside where a box starts.
#[derive(Clone, Copy)]
pub struct Tables {
    /// For each box of the block, where it starts.
    boxes: u32,
    /// For each stretch of the source, where the box that is loaded next has it: a [`Stretch`].
    stretches: u32,
    /// For each stretch of the source, bytes from where the box starts to it.
    sources: u32,
    /// For each stretch of the destination, bytes from where the box starts to it.
    pub targets: u32,
    /// For each stretch of the source, bytes from the image's first word to its own.
    holds: u32,
    /// For each stretch of the destination, where its first word is in shared memory.
    pub starts: u32,
    /// For each word of such a stretch, or each run, bytes from there to the word, in 16 bits.
    pub places: u32,
}

impl Tables {
    /// Bytes of an entry of `sources` and `targets`.
    pub const WIDE: u32 = size_of::<u64>() as u32;

    /// Bytes of an entry of `holds` and `starts`.
    pub const NARROW: u32 = size_of::<u32>() as u32;

    /// Where they are, behind the image.
    #[inline(always)]
    pub fn of(params: &Boxes, base: u32) -> Self {
        let stretches = base + params.image as u32;
        let boxes = stretches + params.rows as u32 * Stretch::BYTES;
        let sources = boxes + MOST_TURNS * Place::BYTES;
        let targets = sources + params.rows as u32 * Self::WIDE;
        let holds = targets + params.cols as u32 * Self::WIDE;
        let starts = holds + params.rows as u32 * Self::NARROW;
        let places = starts + params.cols as u32 * Self::NARROW;
        Tables { boxes, stretches, sources, targets, holds, starts, places }
    }

    /// Fills them. Boxes at an end have less of the last digit: theirs are the first entries.
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses; a barrier follows.
    #[inline(always)]
    pub unsafe fn fill<E>(self, source: impl Source, params: &Boxes, base: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            self.fill_sources::<E>(source, params);
            self.fill_targets::<E>(params, base);
        }
    }

    /// Fills those of boxes and of the source's stretches.
    ///
    /// # Safety
    /// Those of [`fill`](Self::fill).
    #[inline(always)]
    pub unsafe fn fill_sources<E>(self, source: impl Source, params: &Boxes) {
        // A warp that has few of the sources' entries, or none.
        let turn = (BOX_THREADS - 1) - thread::thread_idx_x();
        let number = thread::block_idx_x() + turn * thread::grid_dim_x();
        if turn < MOST_TURNS && number < params.boxes as u32 {
            // SAFETY: an entry that no other thread has.
            unsafe { Place::of(params, number).store_shared(self.boxes + turn * Place::BYTES) }
        }
        // Each table in its own turn, so that the lanes of a warp do alike.
        let mut number = thread::thread_idx_x();
        while number < params.rows as u32 {
            not_unrolled();
            let (outside, inside) =
                outside_and_inside::<E>(&params.sources, number, source.word_bytes());
            // SAFETY: entries that no other thread has.
            unsafe {
                outside.store_shared(self.sources + number * Self::WIDE);
                inside.store_shared(self.holds + number * Self::NARROW);
            }
            number += BOX_THREADS;
        }
    }

    /// Fills those of the destination's stretches, and of their words.
    ///
    /// # Safety
    /// Those of [`fill`](Self::fill).
    #[inline(always)]
    pub unsafe fn fill_targets<E>(self, params: &Boxes, base: u32) {
        let base = base.wrapping_add(params.first_start as u32);
        // The warps that had the fewest of the sources begin.
        let mut number = (BOX_THREADS - 1) - first_of::<E>();
        while number < params.cols as u32 {
            not_unrolled();
            let (outside, inside) =
                outside_and_inside::<E>(&params.targets, number, size_of::<E>() as u64);
            // SAFETY: entries that no other thread has.
            unsafe {
                outside.store_shared(self.targets + number * Self::WIDE);
                (base + inside).store_shared(self.starts + number * Self::NARROW);
            }
            number += BOX_THREADS;
        }
        // SAFETY: the caller's obligations.
        unsafe { self.fill_places::<E>(params) }
    }

    /// Fills the table of the words, or runs, of a stretch of the destination.
    ///
    /// # Safety
    /// Those of [`fill`](Self::fill).
    #[inline(always)]
    unsafe fn fill_places<E>(self, params: &Boxes) {
        let digits = &params.target_words;
        let [first, second, ..] = &digits.digits;
        let mut number = first_of::<E>();
        // Tables of narrow words are long.
        let is_narrow = size_of::<E>() < 4;
        if is_narrow && digits.count > 2 {
            // SAFETY: the caller's obligations.
            unsafe { self.fill_rows_of_places(params, number) }
            return;
        }
        while number < params.places as u32 {
            not_unrolled();
            let (above, index) = divide(number, first.divisor);
            let behind = match is_narrow {
                // A digit that there is not adds nothing.
                true => above * second.inside as u32,
                false => inside_behind_first(digits, above),
            };
            let place = params.first_place as u32 + index * first.inside as u32 + behind;
            // SAFETY: an entry that no other thread has.
            unsafe { (place as u16).store_shared(self.places + number * 2) }
            number += BOX_THREADS;
        }
    }

    /// As [`fill_places`](Self::fill_places), of many digits, which take long to find: a thread finds them once for some neighbours that differ in their first digit
    /// alone, and so are equally far apart.
    ///
    /// # Safety
    /// Those of [`fill`](Self::fill).
    #[inline(always)]
    unsafe fn fill_rows_of_places(self, params: &Boxes, mut number: u32) {
        let first = &params.target_words.digits[0];
        let (has, step) = (first.divisor as u32, first.inside as u32);
        loop {
            let (above, part) = divide(number, params.place_parts);
            let (row, begin) = (above * has, part * params.of_place_part as u32);
            if row >= params.places as u32 {
                return;
            }
            let behind = inside_behind_first(&params.target_words, above);
            let mut place = params.first_place as u32 + behind + begin * step;
            let mut entry = self.places + (row + begin) * 2;
            let end = entry + (has - begin).min(params.of_place_part as u32) * 2;
            while entry < end {
                not_unrolled();
                // SAFETY: an entry that no other thread has.
                unsafe { (place as u16).store_shared(entry) }
                place += step;
                entry += 2;
            }
            number += BOX_THREADS;
        }
    }

    /// Where the box starts that the block moves in such a turn.
    ///
    /// # Safety
    /// A barrier separates this from [`fill`](Self::fill); there is such a box.
    #[inline(always)]
    pub unsafe fn place(self, turn: u32) -> Place {
        // SAFETY: the caller's obligations.
        unsafe { Place::load_shared(self.boxes + turn * Place::BYTES, turn) }
    }

    /// Tells where a box's stretches of the source lie, and where they go in the image at `base`.
    ///
    /// # Safety
    /// Barriers separate this from [`fill`](Self::fill), from what has loaded the stretches of the box before, and from what loads these.
    #[inline(always)]
    pub unsafe fn tell_stretches(
        self,
        source: impl Source,
        params: &Boxes,
        base: u32,
        place: &Place,
    ) {
        let bytes = place.source_words * source.word_bytes() as u32;
        let box_from = source.address(place.from);
        let lowest = source.start().wrapping_add(params.lowest);
        let highest = lowest.wrapping_add(params.reach);
        let loaded = match params.loads == Loads::Box as u64 {
            true => [box_from, highest.min(box_from.wrapping_add(params.own))],
            false => [lowest, highest],
        };
        let first = base + source.skew(place);
        // Once a box: what is computed of it takes no register meanwhile.
        let mut number = opaque(thread::thread_idx_x());
        while number < place.sources {
            not_unrolled();
            // SAFETY: entries of the tables, and one that no other thread has.
            unsafe {
                let inside = u32::load_shared(self.holds + number * Self::NARROW);
                let outside = u64::load_shared(self.sources + number * Self::WIDE);
                let start = box_from.wrapping_add(outside);
                // A stretch may go on to where there is nothing.
                let loaded = match params.loads == Loads::Stretch as u64 {
                    true => [start, loaded[1].min(start.wrapping_add(bytes as u64))],
                    false => loaded,
                };
                let past = start as u32 & (source.vector_bytes() - 1);
                let hold = first + inside - source.in_image(past);
                Stretch::of(source, start, bytes, hold, loaded).store_shared(self.stretch(number));
            }
            number += BOX_THREADS;
        }
    }

    /// Where the entry of a stretch of the source is.
    #[inline(always)]
    pub fn stretch(self, number: u32) -> u32 {
        self.stretches + number * Stretch::BYTES
    }
}

/// The number of a thread, of which it is not kept in registers what is computed of it if words are narrow: their kernels have few.
#[inline(always)]
pub fn first_of<E>() -> u32 {
    let number = thread::thread_idx_x();
    if size_of::<E>() < 4 {
        opaque(number)
    } else {
        number
    }
}

/// A stretch of the source of a box.
#[derive(Clone, Copy)]
pub struct Stretch {
    /// The address of the first vector that has words of it.
    pub from: u64,
    /// Where that goes in shared memory.
    pub hold: u32,
    /// Where its words lie, from that vector's start on.
    pub words: Extent,
}

impl Stretch {
    /// Bytes in shared memory.
    const BYTES: u32 = 16;

    /// That of `bytes` bytes from the address `start` on, whose first vector goes to `hold`. It may have words that there are not, before what may be loaded or behind it: vectors of them alone are none of it.
    #[inline(always)]
    fn of(
        source: impl Source,
        start: u64,
        bytes: u32,
        hold: u32,
        [lowest, highest]: [u64; 2],
    ) -> Self {
        let vector = source.vector_bytes();
        // A power of two.
        let behind = vector - 1;
        let reached = |from: u64, end: u32| from + ((end + behind) & !behind) as u64;
        let past = start as u32 & behind;
        let (from, end) = (start - past as u64, past + bytes);
        if (from >= lowest) & (reached(from, end) <= highest) {
            return Stretch { from, hold, words: Extent::of(past, end, vector, [false; 2]) };
        }
        let (first, last) = (start.max(lowest), (start + bytes as u64).min(highest));
        if first >= last {
            return Stretch { from, hold, words: Extent::NONE };
        }
        let skipped = (first - from) as u32 & !behind;
        let from = from + skipped as u64;
        let (past, end) = ((first - from) as u32, (last - from) as u32);
        let are_outside = [from < lowest, reached(from, end) > highest];
        let words = Extent::of(past, end, vector, are_outside);
        Stretch { from, hold: hold + source.in_image(skipped), words }
    }

    /// # Safety
    /// The 16 bytes from `address` on, a multiple of 16, are this thread's until the next barrier.
    #[inline(always)]
    unsafe fn store_shared(self, address: u32) {
        let entry = B16(self.from as u32, (self.from >> 32) as u32, self.hold, self.words.0);
        // SAFETY: the caller's obligations.
        unsafe { entry.store_shared(address) }
    }

    /// That which was stored there.
    ///
    /// # Safety
    /// A barrier separates this from what stored it.
    #[inline(always)]
    pub unsafe fn load_shared(address: u32) -> Self {
        // SAFETY: the caller's obligations.
        let B16(low, high, hold, words) = unsafe { B16::load_shared(address) };
        Stretch { from: low as u64 | (high as u64) << 32, hold, words: Extent(words) }
    }
}

/// Where the words of a stretch lie, in bytes from the start of its first vector, and which of its vectors may be loaded whole: all, or all but those that it starts and ends in. In one register, as a block has less than 2¹⁸ bytes of shared memory:
///
/// | bits | |
/// |---|---|
/// | 0 to 17 | the end of what is loaded by whole vectors |
/// | 18 to 21 | where its first word is |
/// | 22 to 26 | how many bytes of it are behind what is loaded by whole vectors |
/// | 27 to 31 | where the first whole vector is |
#[derive(Clone, Copy)]
pub struct Extent(u32);

impl Extent {
    const FIRST_WORD: u32 = 18;
    const BEHIND: u32 = 22;
    const FIRST_WHOLE: u32 = 27;

    /// Of a stretch whose words lie from `past` to `end`, loaded by vectors of `vector` bytes; `first` and `last` say whether its first vector and its last lie outside of what may be loaded.
    #[inline(always)]
    fn of(past: u32, end: u32, vector: u32, [first, last]: [bool; 2]) -> Self {
        const { assert!(VECTOR < 1 << (u32::BITS - Self::FIRST_WHOLE)) };
        let is_one = end <= vector;
        let start = if first | (last & is_one) { vector } else { 0 };
        let whole = if last & !is_one { (end - 1) & !(vector - 1) } else { end };
        let behind = (end - whole) << Self::BEHIND;
        Extent(whole | past << Self::FIRST_WORD | behind | start << Self::FIRST_WHOLE)
    }

    /// None, of no words.
    pub const NONE: Self = Extent(0);

    /// The end of what is loaded by whole vectors.
    #[inline(always)]
    pub fn whole(self) -> u32 {
        self.0 % (1 << Self::FIRST_WORD)
    }

    /// Whether a vector that starts there is one that is loaded whole.
    #[inline(always)]
    pub fn has_whole(self, at: u32) -> bool {
        (at >= self.0 >> Self::FIRST_WHOLE) & (at < self.whole())
    }

    /// Where the first word is.
    #[inline(always)]
    pub fn start(self) -> u32 {
        (self.0 >> Self::FIRST_WORD) % (1 << (Self::BEHIND - Self::FIRST_WORD))
    }

    /// The end of the last word.
    #[inline(always)]
    pub fn end(self) -> u32 {
        self.whole() + self.behind()
    }

    #[inline(always)]
    fn behind(self) -> u32 {
        (self.0 >> Self::BEHIND) % (1 << (Self::FIRST_WHOLE - Self::BEHIND))
    }

    /// Both: so that it [has ends](Self::are_ends) if either of them has some.
    #[inline(always)]
    pub fn or(self, other: Self) -> Self {
        Extent(self.0 | other.0)
    }

    /// Whether there are vectors that are not loaded whole.
    #[inline(always)]
    pub fn are_ends(self) -> bool {
        self.0 >> Self::BEHIND != 0
    }
}
