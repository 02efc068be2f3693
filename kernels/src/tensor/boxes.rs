//! Moves of elements of several words, and along axes that are short: through a box in shared memory, gathered word by word.
//!
//! A box has some indices of a few axes. In the source it is some *stretches* of words that lie together, in the destination some others.
//! A block loads its box's stretches of the source by vectors, holds them one after the other, each as it lies there, and then collects
//! the words of each stretch of the destination:
//!
//! ```text
//! word p of the destination's stretch h   =   image[start(h) + place(p)]
//! ```
//!
//! An axis adds the same number of bytes to a word's place in the image for each step, whether `h` counts it or `p`. So one table for `h` and one
//! for `p` say where every word is, whatever the axes are: elements of several words, a few columns, matrices of a batch.
//!
//! # Words of less than 4 bytes
//! Stretches of the source start anywhere. Their vectors are slid on the way to shared memory, so the image is the same wherever they
//! start. A lane stores 4 bytes at a time to the destination, on a multiple of 4, out of 2 or 4 words.
//!
//! # Banks
//! The lanes of a warp take `1 << lanes` neighbouring units of each of some neighbouring stretches. Stretches of the source are as far apart
//! (`pitch`) as the units of a warp's stretches are long: so what a warp gathers lies in different banks, or in one word of them.

use super::axes::{divide, steps, unrolled};
use super::tensor_entry;
use super::vector::Word;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::launch::never_more_registers;
use crate::shared::{load_u16, load_u8, permute};
use crate::slide::slide;
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{
    Boxes, Digit, Digits, BOX_PLACES_BESIDE, BOX_THREADS, MOST_BLOCK_AXES, MOST_DIGITS,
};

/// Vectors that a thread has in flight.
const IN_FLIGHT: usize = 4;

/// Where a vector goes that there is not, and what is added to the place of one that is loaded word by word: places are multiples of 4.
const NOTHING: u32 = u32::MAX;
const SINGLY: u32 = 1;

/// The bytes that a lane stores at a time.
const fn unit<E>() -> u32 {
    if size_of::<E>() < 4 {
        4
    } else {
        size_of::<E>() as u32
    }
}

/// A block's box: where it starts, and how many stretches it has.
#[derive(Clone, Copy)]
struct Place {
    /// Words of the source before it.
    from: u64,
    /// Words of the destination before it.
    to: u64,
    /// Stretches of the source.
    sources: u32,
    /// Words of each.
    source_words: u32,
    /// Stretches of the destination.
    targets: u32,
    /// Words of each.
    target_words: u32,
}

impl Place {
    /// That of this block.
    #[inline(always)]
    fn of_block(params: &Boxes) -> Self {
        let (mut from, mut to) = (0u64, 0u64);
        let [first, second] = &params.parts;
        let left = |part: &kernel_abi::tensor::Part, index: u32| {
            (part.all as u32 - index * part.part as u32).min(part.part as u32)
        };
        let mut indices = (left(first, 0), left(second, 0));
        let mut rest = thread::block_idx_x();
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            from = from.wrapping_add(steps(index, axis.src));
            to = to.wrapping_add(steps(index, axis.dst));
            if AXIS as u32 == first.axis as u32 {
                indices.0 = left(first, index);
            }
            if AXIS as u32 == second.axis as u32 {
                indices.1 = left(second, index);
            }
            rest = quotient;
        } }
        let _ = rest;
        let count = |digits: &Digits| {
            let times = match digits.of {
                0 => indices.0,
                1 => indices.1,
                _ => 1,
            };
            digits.each as u32 * times
        };
        Place {
            from,
            to,
            sources: count(&params.sources),
            source_words: count(&params.source_words),
            targets: count(&params.targets),
            target_words: count(&params.target_words),
        }
    }
}

/// What a number's digits add up to, each times what `of` says of it.
#[inline(always)]
fn sum(digits: &Digits, number: u32, of: impl Fn(&Digit) -> u64) -> u64 {
    let (mut sum, mut rest) = (0u64, number);
    unrolled! { DIGIT in [0 1 2 3] of digits.count => {
        const { assert!(MOST_DIGITS == 4) };
        let digit = &digits.digits[DIGIT];
        // The last digit is what is left.
        let is_last = DIGIT + 1 == digits.count as usize;
        let (quotient, index) = if is_last { (0, rest) } else { divide(rest, digit.divisor) };
        sum = sum.wrapping_add(steps(index, of(digit)));
        rest = quotient;
    } }
    let _ = rest;
    sum
}

/// The tables in shared memory.
#[derive(Clone, Copy)]
struct Tables {
    /// For each stretch of the source, bytes from where the box starts to it.
    sources: u32,
    /// For each stretch of the destination, bytes from where the box starts to it.
    targets: u32,
    /// For each stretch of the destination, where its first word is in shared memory.
    starts: u32,
    /// For each word of such a stretch, bytes from there to the word, in 16 bits; some zeros before and behind.
    places: u32,
}

impl Tables {
    /// Bytes of an entry of the first two.
    const OFFSET: u32 = size_of::<u64>() as u32;

    /// Entries before the first place, and behind the last: of the words that a unit has before its stretch or behind it.
    const BESIDE: u32 = BOX_PLACES_BESIDE;

    /// Where they are, behind the image.
    #[inline(always)]
    fn of(params: &Boxes, base: u32) -> Self {
        let sources = base + params.image as u32;
        let targets = sources + params.rows as u32 * Self::OFFSET;
        let starts = targets + params.cols as u32 * Self::OFFSET;
        let places = starts + params.cols as u32 * 4 + Self::BESIDE * 2;
        Tables { sources, targets, starts, places }
    }

    /// Fills them.
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses; a barrier follows.
    #[inline(always)]
    unsafe fn fill<E>(self, params: &Boxes, base: u32, place: &Place) {
        let bytes = |words: u64| words.wrapping_mul(size_of::<E>() as u64);
        let Place { sources, targets, target_words, .. } = *place;
        let mut number = thread::thread_idx_x();
        if number < 2 * Self::BESIDE {
            let beside = if number < Self::BESIDE { number } else { number + target_words };
            // SAFETY: an entry that no other thread has.
            unsafe { 0u16.store_shared(self.places - Self::BESIDE * 2 + beside * 2) }
        }
        // Each table in its own turn, so that the lanes of a warp do alike.
        while number < sources {
            let outside = sum(&params.sources, number, |digit| digit.outside);
            // SAFETY: an entry that no other thread has.
            unsafe { bytes(outside).store_shared(self.sources + number * Self::OFFSET) }
            number += BOX_THREADS;
        }
        // The warps that had the fewest of the sources begin.
        let mut number = (BOX_THREADS - 1) - thread::thread_idx_x();
        while number < targets {
            let outside = sum(&params.targets, number, |digit| digit.outside);
            let inside = sum(&params.targets, number, |digit| digit.inside);
            // SAFETY: an entry that no other thread has.
            unsafe {
                bytes(outside).store_shared(self.targets + number * Self::OFFSET);
                (base + inside as u32).store_shared(self.starts + number * 4);
            }
            number += BOX_THREADS;
        }
        let mut number = thread::thread_idx_x();
        while number < target_words {
            let inside = sum(&params.target_words, number, |digit| digit.inside);
            // SAFETY: an entry that no other thread has.
            unsafe { (inside as u16).store_shared(self.places + number * 2) }
            number += BOX_THREADS;
        }
    }
}

/// Moves a box.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
unsafe fn move_box<E: Word>(src: *const E, dst: *mut E, params: &Boxes, base: u32) {
    let place = Place::of_block(params);
    let tables = Tables::of(params, base);
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there.
    unsafe {
        tables.fill::<E>(params, base, &place);
        thread::sync_threads();
        load(src, params, tables, base, &place);
        thread::sync_threads();
        gather(dst.wrapping_add(place.to as usize), params, tables, &place);
    }
}

/// Loads the stretches of the source into the image.
///
/// # Safety
/// Those of [`move_box`]; a barrier separates this from what filled the tables.
#[inline(always)]
unsafe fn load<E: Word>(src: *const E, params: &Boxes, tables: Tables, base: u32, place: &Place) {
    let size = size_of::<E>() as u32;
    let start = src.wrapping_add(place.from as usize);
    let lowest = (src as u64).wrapping_add(params.lowest);
    let highest = lowest.wrapping_add(params.reach);
    let holds = |address: u64, bytes: u32| address >= lowest && address + bytes as u64 <= highest;
    let stretch = place.source_words * size;
    let all = place.sources * params.vectors as u32;
    let mut first = thread::thread_idx_x();
    while first < all {
        // What is loaded is not looked at before all of it is on its way.
        let mut held = [B16::ANY; IN_FLIGHT];
        let mut from = [0u64; IN_FLIGHT];
        let mut to = [NOTHING; IN_FLIGHT];
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            let number = first + K as u32 * BOX_THREADS;
            // Of a block's last vectors no thread has one: then no warp does anything.
            let (row, vector) =
                if number < all { divide(number, params.vectors) } else { (0, stretch) };
            let at = vector * VECTOR;
            if at < stretch {
                to[K] = base + row * params.pitch as u32 + at;
                // SAFETY: an entry of the table; aligned vectors of what lies between the source's words.
                unsafe {
                    let offset = u64::load_shared(tables.sources + row * Tables::OFFSET);
                    from[K] = (start as u64).wrapping_add(offset).wrapping_add(at as u64);
                    let aligned = from[K] & !(VECTOR as u64 - 1);
                    if size == VECTOR || holds(aligned, 2 * VECTOR) {
                        held[K] = load_vector(aligned);
                    } else {
                        to[K] |= SINGLY;
                    }
                }
            }
        } }
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            if to[K] != NOTHING {
                let past = from[K] as u32 % VECTOR;
                // SAFETY: the vector behind a loaded one is inside the source too; words of the source; the image has the stretch's vectors, and
                // this is this thread's.
                unsafe {
                    let vector = if to[K] & SINGLY != 0 {
                        let at = (to[K] - SINGLY - base) % params.pitch as u32;
                        E::vector(|j| {
                            if at + j * size < stretch {
                                E::load((from[K] as *const E).wrapping_add(j as usize))
                            } else {
                                E::ANY
                            }
                        })
                    } else if past == 0 {
                        held[K]
                    } else {
                        let behind = load_vector(from[K] - past as u64 + VECTOR as u64);
                        slide::<E>(held[K], behind, past)
                    };
                    hold(vector, to[K] & !SINGLY, params.pitch as u32);
                }
            }
        } }
        first += IN_FLIGHT as u32 * BOX_THREADS;
    }
}

/// Stores a vector to shared memory: at once where all stretches start on one, else by 4 bytes, in an order in which lanes meet no bank twice.
///
/// # Safety
/// The 16 bytes from `address` on, a multiple of 4 and of 16 if `pitch` is, are shared memory that no other thread accesses before the next
/// barrier.
#[inline(always)]
unsafe fn hold(vector: B16, address: u32, pitch: u32) {
    if pitch.is_multiple_of(VECTOR) {
        // SAFETY: the caller's obligations.
        unsafe { vector.store_shared(address) }
        return;
    }
    let turn = (thread::thread_idx_x() >> 3) & 3;
    let B16(a, b, c, d) = vector;
    let (a, b, c, d) = if turn & 1 == 0 { (a, b, c, d) } else { (b, c, d, a) };
    let (a, b, c, d) = if turn & 2 == 0 { (a, b, c, d) } else { (c, d, a, b) };
    let store = |j: u32, word: u32| {
        // SAFETY: the caller's obligations.
        unsafe { word.store_shared(address + ((j + turn) & 3) * 4) }
    };
    store(0, a);
    store(1, b);
    store(2, c);
    store(3, d);
}

/// Stores the stretches of the destination.
///
/// A thread has the same units of some stretches. Where their words are in shared memory is looked up once for all that start alike on a unit.
///
/// # Safety
/// Those of [`move_box`], and that a barrier separates this from [`load`].
#[inline(always)]
unsafe fn gather<E: Element>(dst: *mut E, params: &Boxes, tables: Tables, place: &Place) {
    let size = size_of::<E>() as u32;
    let lanes = params.lanes as u32;
    let bytes = place.target_words * size;
    let first = thread::thread_idx_x() >> lanes;
    let every = BOX_THREADS >> lanes;
    if first >= place.targets {
        return;
    }
    // One digit: each step is as long as the others.
    let even = params.targets.count <= 1;
    let digit = &params.targets.digits[0];
    let step = steps(every, digit.outside).wrapping_mul(size as u64);
    let even = even && (size >= 4 || step.is_multiple_of(unit::<E>() as u64));
    let mut at = (thread::thread_idx_x() & ((1 << lanes) - 1)) * unit::<E>();
    // Those that start inside a unit have one more.
    while at < bytes + unit::<E>() {
        // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
        unsafe {
            let stretch = |target: u32| {
                let start = u32::load_shared(tables.starts + target * 4);
                let offset = u64::load_shared(tables.targets + target * Tables::OFFSET);
                (start, dst.wrapping_byte_add(offset as usize))
            };
            let (mut start, mut to) = stretch(first);
            let mut before = before(to);
            let mut places = Places::of::<E>(tables, at.wrapping_sub(before));
            let mut target = first;
            if even {
                while target < place.targets {
                    store_unit(to, start, places, at.wrapping_sub(before), bytes);
                    target += every;
                    start += every * digit.inside as u32;
                    to = to.wrapping_byte_add(step as usize);
                }
            } else {
                loop {
                    store_unit(to, start, places, at.wrapping_sub(before), bytes);
                    target += every;
                    if target >= place.targets {
                        break;
                    }
                    (start, to) = stretch(target);
                    let now = self::before(to);
                    if now != before {
                        before = now;
                        places = Places::of::<E>(tables, at.wrapping_sub(before));
                    }
                }
            }
        }
        at += unit::<E>() << lanes;
    }
}

/// How far a stretch of the destination starts behind a unit.
#[inline(always)]
fn before<E>(to: *mut E) -> u32 {
    // A word of 4 bytes or more is a unit.
    if size_of::<E>() >= 4 {
        0
    } else {
        to as u64 as u32 % unit::<E>()
    }
}

/// Where the words of a unit are in shared memory, from a stretch's start on.
#[derive(Clone, Copy)]
struct Places([u32; 4]);

impl Places {
    /// Those of the unit that begins so many bytes behind a stretch's start, or before it; the start for words that the stretch has not.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; the unit has a word of a stretch, or is the first behind one.
    #[inline(always)]
    unsafe fn of<E>(tables: Tables, from: u32) -> Self {
        let size = size_of::<E>() as u32;
        let entries = tables.places.wrapping_add((from as i32 / size as i32 * 2) as u32);
        let of = |i: u32| {
            if i * size < unit::<E>() {
                // SAFETY: an entry of the table.
                unsafe { load_u16(entries + i * 2) }
            } else {
                0
            }
        };
        Places([of(0), of(1), of(2), of(3)])
    }
}

/// Stores a unit of a stretch, or what the stretch has of it.
///
/// # Safety
/// `to` is where a stretch of the destination starts, of `bytes` bytes, and `start` where its words are in shared memory; the unit, `from` bytes
/// behind its start or before it, is this thread's.
#[inline(always)]
unsafe fn store_unit<E: Element>(to: *mut E, start: u32, places: Places, from: u32, bytes: u32) {
    let size = size_of::<E>() as u32;
    let Places([a, b, c, d]) = places;
    let at = |from: u32| to.wrapping_byte_add(from as i32 as isize as usize);
    // SAFETY: the caller's obligations; of words that the stretch has not, those at its start are loaded, and not stored.
    unsafe {
        if size >= 4 {
            if from < bytes {
                E::load_shared(start + a).store(at(from));
            }
            return;
        }
        let (four, words) = if size == 1 {
            let bytes =
                [load_u8(start + a), load_u8(start + b), load_u8(start + c), load_u8(start + d)];
            let [a, b, c, d] = bytes;
            (permute(permute(a, b, 0x40), permute(c, d, 0x40), 0x5410), bytes)
        } else {
            let (a, b) = (load_u16(start + a), load_u16(start + b));
            (permute(a, b, 0x5410), [a, b, 0, 0])
        };
        if from < bytes && from + 4 <= bytes {
            (at(from) as *mut u32).write(four);
            return;
        }
        let single = |i: u32, word: u32| {
            let from = from.wrapping_add(i * size);
            if from < bytes {
                match size {
                    1 => (at(from) as *mut u8).write(word as u8),
                    _ => (at(from) as *mut u16).write(word as u16),
                }
            }
        };
        let [a, b, c, d] = words;
        single(0, a);
        single(1, b);
        if size == 1 {
            single(2, c);
            single(3, d);
        }
    }
}

/// Defines one entry point.
macro_rules! boxes {
    ($name:ident: $element:ty) => {
        tensor_entry! {
            "Moves boxes, held as they lie in the source and gathered word by word.",
            BOXES: Boxes, $name: $element, |src, dst, params| {
                never_more_registers::<56>();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                move_box::<$element>(src, dst, &params, base)
            }
        }
    };
}

boxes!(boxes_b1: u8);
boxes!(boxes_b2: u16);
boxes!(boxes_b4: u32);
boxes!(boxes_b8: u64);
boxes!(boxes_b16: B16);
