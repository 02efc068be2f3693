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
//! # Stretches that start anywhere
//! Whole aligned vectors are loaded, those that a stretch starts and ends in as well, and held as they come: so each stretch starts as far behind
//! a vector in the image as in the source, its *skew*, the address modulo 16. An axis adds to skews what it adds to addresses, and the tables
//! say it: the part of a skew that is due to axes of `p` is in `place(p)`, that of axes of `h` in `start(h)`, and where the box starts adds a third. Each
//! is below 16. Where their sum is not, the stretch's vectors are held one or two vectors further on, so that the sum is where it starts all the
//! same.
//!
//! Words of less than 4 bytes are stored several at a time: 4 bytes of a lane, on a multiple of 4, out of 2 or 4 words.
//!
//! # Banks
//! The lanes of a warp take `1 << lanes` neighbouring units of each of some neighbouring stretches. Stretches of the source are as far apart
//! (`pitch`) as the units of a warp's stretches are long: so what a warp gathers lies in different banks, or in one word of them.

use super::axes::{divide, steps, unrolled};
use super::tensor_entry;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::launch::never_more_registers;
use crate::shared::{load_u16, load_u8, permute};
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{Boxes, Digit, Digits, Part, BOX_THREADS, MOST_BLOCK_AXES, MOST_DIGITS};

/// Vectors that a thread has in flight.
const IN_FLIGHT: usize = 4;

/// Where a vector goes that there is not.
const NOTHING: u32 = u32::MAX;

/// The bytes that a lane stores at a time.
const fn unit<E>() -> u32 {
    if size_of::<E>() < 4 {
        4
    } else {
        size_of::<E>() as u32
    }
}

/// A box: where it starts, and how many stretches it has.
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
    /// That of a box.
    #[inline(always)]
    fn of(params: &Boxes, number: u32) -> Self {
        let (mut from, mut to) = (0u64, 0u64);
        let mut indices = [1; MOST_BLOCK_AXES];
        let mut rest = number;
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of params.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let axis = &params.blocks[AXIS];
            let (quotient, index) = divide(rest, axis.divisor);
            from = from.wrapping_add(steps(index, axis.src));
            to = to.wrapping_add(steps(index, axis.dst));
            indices[AXIS] = index;
            rest = quotient;
        } }
        let _ = rest;
        let left = |part: &Part, index: u32| {
            (part.all as u32 - index * part.part as u32).min(part.part as u32)
        };
        let [first, second] = &params.parts;
        let indices = (left(first, indices[0]), left(second, indices[1]));
        let count = |digits: &Digits| count(digits, indices);
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

/// How many numbers there are in a box that has `indices` of the two axes that boxes have parts of.
#[inline(always)]
fn count(digits: &Digits, indices: (u32, u32)) -> u32 {
    let times = match digits.of {
        0 => indices.0,
        1 => indices.1,
        _ => 1,
    };
    digits.each as u32 * times
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

/// How far behind a vector a stretch of the source starts, as far as these digits say.
#[inline(always)]
fn skew(digits: &Digits, number: u32) -> u32 {
    sum(digits, number, |digit| digit.skew) as u32 % VECTOR
}

/// The tables in shared memory: for all boxes of a block, as what they say is beside where a box starts.
#[derive(Clone, Copy)]
struct Tables {
    /// For each stretch of the source, bytes from where the box starts to it.
    sources: u32,
    /// For each stretch of the destination, bytes from where the box starts to it.
    targets: u32,
    /// For each stretch of the source, where it is in the image, and its skew but for the box's, [`SKEWED`] times.
    holds: u32,
    /// For each stretch of the destination, where its first word is in shared memory.
    starts: u32,
    /// For each word of such a stretch, bytes from there to the word, in 16 bits.
    places: u32,
}

/// More than the image has bytes.
const SKEWED: u32 = 1 << 16;

impl Tables {
    /// Bytes of an entry of the first two.
    const WIDE: u32 = size_of::<u64>() as u32;

    /// Bytes of an entry of the next two.
    const NARROW: u32 = size_of::<u32>() as u32;

    /// Where they are, behind the image.
    #[inline(always)]
    fn of(params: &Boxes, base: u32) -> Self {
        let sources = base + params.image as u32;
        let targets = sources + params.rows as u32 * Self::WIDE;
        let holds = targets + params.cols as u32 * Self::WIDE;
        let starts = holds + params.rows as u32 * Self::NARROW;
        let places = starts + params.cols as u32 * Self::NARROW;
        Tables { sources, targets, holds, starts, places }
    }

    /// Fills them. Boxes at an end have less of the last digit: theirs are the first entries.
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses; a barrier follows.
    #[inline(always)]
    unsafe fn fill<E>(self, params: &Boxes, base: u32) {
        let bytes = |words: u64| words.wrapping_mul(size_of::<E>() as u64);
        let [first, second] = &params.parts;
        let all = |digits: &Digits| count(digits, (first.part as u32, second.part as u32));
        // Each table in its own turn, so that the lanes of a warp do alike.
        let mut number = thread::thread_idx_x();
        while number < params.rows as u32 {
            let outside = bytes(sum(&params.sources, number, |digit| digit.outside));
            // The part that is in places, and the rest.
            let in_places = skew(&params.sources, number);
            let skews = in_places + (outside as u32).wrapping_sub(in_places) % VECTOR;
            let hold = number * params.pitch as u32 + skews * SKEWED;
            // SAFETY: entries that no other thread has.
            unsafe {
                outside.store_shared(self.sources + number * Self::WIDE);
                hold.store_shared(self.holds + number * Self::NARROW);
            }
            number += BOX_THREADS;
        }
        // The warps that had the fewest of the sources begin.
        let mut number = (BOX_THREADS - 1) - thread::thread_idx_x();
        while number < params.cols as u32 {
            let outside = bytes(sum(&params.targets, number, |digit| digit.outside));
            let inside = sum(&params.targets, number, |digit| digit.inside) as u32;
            // SAFETY: entries that no other thread has.
            unsafe {
                outside.store_shared(self.targets + number * Self::WIDE);
                (base + inside + skew(&params.targets, number))
                    .store_shared(self.starts + number * Self::NARROW);
            }
            number += BOX_THREADS;
        }
        let mut number = thread::thread_idx_x();
        while number < all(&params.target_words) {
            let inside = sum(&params.target_words, number, |digit| digit.inside) as u32;
            let place = inside + skew(&params.target_words, number);
            // SAFETY: an entry that no other thread has.
            unsafe { (place as u16).store_shared(self.places + number * 2) }
            number += BOX_THREADS;
        }
    }
}

/// Moves a block's boxes: as many further on each as there are blocks, so that neighbours are moved at about the same time.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
unsafe fn move_boxes<E: Element>(src: *const E, dst: *mut E, params: &Boxes, base: u32) {
    let tables = Tables::of(params, base);
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there, and between
    // that and what is stored next.
    unsafe {
        tables.fill::<E>(params, base);
        let mut number = thread::block_idx_x();
        while number < params.boxes as u32 {
            let place = Place::of(params, number);
            let from = src.wrapping_add(place.from as usize) as u64;
            thread::sync_threads();
            load::<E>(src as u64, from, params, tables, base, &place);
            thread::sync_threads();
            gather(
                dst.wrapping_add(place.to as usize),
                from as u32 % VECTOR,
                params,
                tables,
                &place,
            );
            number += thread::grid_dim_x();
        }
    }
}

/// Loads the stretches of the source into the image.
///
/// # Safety
/// Those of [`move_boxes`]; barriers separate this from what filled the tables, and from what loaded what the image held.
#[inline(always)]
unsafe fn load<E: Element>(
    src: u64,
    box_from: u64,
    params: &Boxes,
    tables: Tables,
    base: u32,
    place: &Place,
) {
    let stretch = place.source_words * size_of::<E>() as u32;
    let all = place.sources * params.vectors as u32;
    let lowest = src.wrapping_add(params.lowest);
    // Vectors that start less than that behind it are inside.
    let inside = params.reach.saturating_sub(VECTOR as u64 - 1);
    let is_inside =
        |from: u64| size_of::<E>() as u32 == VECTOR || from.wrapping_sub(lowest) < inside;
    let box_skew = box_from as u32 % VECTOR * SKEWED;
    // A vector's address, and where it goes; nowhere if the stretch has nothing of it.
    let vector = |number: u32| {
        let (row, vector) = divide(number, params.vectors);
        let at = vector * VECTOR;
        // SAFETY: entries of the tables.
        let (outside, entry) = unsafe {
            let entry = u32::load_shared(tables.holds + row * Tables::NARROW);
            (u64::load_shared(tables.sources + row * Tables::WIDE), entry)
        };
        let start = box_from.wrapping_add(outside);
        let past = start as u32 % VECTOR;
        // Whole vectors of the skews' sum.
        let skew = ((entry + box_skew) / SKEWED) & !(VECTOR - 1);
        let hold = base + entry % SKEWED + skew + at;
        (start - past as u64 + at as u64, if at < past + stretch { hold } else { NOTHING })
    };
    let mut all_inside = true;
    let mut first = thread::thread_idx_x();
    while first < all {
        // What is loaded is not looked at before all of it is on its way.
        let mut held = [B16::ANY; IN_FLIGHT];
        let mut holds = [NOTHING; IN_FLIGHT];
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            let number = first + K as u32 * BOX_THREADS;
            // Of a block's last vectors no thread has one: then no warp does anything.
            if number < all {
                let (from, hold) = vector(number);
                if is_inside(from) {
                    if hold != NOTHING {
                        // SAFETY: a vector between the source's words.
                        held[K] = unsafe { load_vector(from) };
                        holds[K] = hold;
                    }
                } else {
                    all_inside = false;
                }
            }
        } }
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            if holds[K] != NOTHING {
                // SAFETY: the image has the stretch's vectors, and this is this thread's.
                unsafe { hold(held[K], holds[K], params.pitch as u32) }
            }
        } }
        first += IN_FLIGHT as u32 * BOX_THREADS;
    }
    if all_inside {
        return;
    }
    // The vectors that the source starts and ends in.
    let mut number = thread::thread_idx_x();
    while number < all {
        let (from, hold) = vector(number);
        if !is_inside(from) && hold != NOTHING {
            // SAFETY: words between the source's, to this thread's vector of the image.
            unsafe { load_singly::<E>(from, [lowest, lowest.wrapping_add(params.reach)], hold) }
        }
        number += BOX_THREADS;
    }
}

/// Loads the words of a vector that lie between two addresses.
///
/// # Safety
/// `from` is an aligned vector's address; what lies between the addresses, both of words, is readable; the vector at `hold` in shared memory
/// is this thread's.
#[inline(always)]
unsafe fn load_singly<E: Element>(from: u64, [lowest, highest]: [u64; 2], hold: u32) {
    let mut address = from.max(lowest);
    while address < highest.min(from + VECTOR as u64) {
        // SAFETY: the caller's obligations.
        unsafe { E::load(address as *const E).store_shared(hold + (address - from) as u32) }
        address += size_of::<E>() as u64;
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

/// Stores the stretches of the destination: by whole units, and what is before the first and behind the last.
///
/// # Safety
/// Those of [`move_boxes`]; `skew` is the box's; a barrier separates this from [`load`].
#[inline(always)]
unsafe fn gather<E: Element>(
    dst: *mut E,
    skew: u32,
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    let bytes = place.target_words * size_of::<E>() as u32;
    let stretch = |target: u32| {
        // SAFETY: entries of the tables.
        unsafe {
            let start = u32::load_shared(tables.starts + target * Tables::NARROW) + skew;
            let offset = u64::load_shared(tables.targets + target * Tables::WIDE);
            (start, dst.wrapping_byte_add(offset as usize))
        }
    };
    // SAFETY: the caller's obligations.
    unsafe {
        store_units(params, tables, place.targets, bytes, stretch);
        let are_units = bytes.is_multiple_of(unit::<E>()) && params.ahead == 0;
        if size_of::<E>() < 4 && !are_units {
            store_ends(tables, place.targets, bytes, stretch);
        }
    }
}

/// Stores whole units. A thread has the same units of some stretches, and looks up once where their words are for all stretches that start
/// alike on a unit.
///
/// # Safety
/// Those of [`gather`]; `stretch` gives where a stretch's first word is in shared memory, and its first of `bytes` bytes of the destination.
#[inline(always)]
unsafe fn store_units<E: Element>(
    params: &Boxes,
    tables: Tables,
    targets: u32,
    bytes: u32,
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let lanes = params.lanes as u32;
    let first = thread::thread_idx_x() >> lanes;
    let every = BOX_THREADS >> lanes;
    if first >= targets {
        return;
    }
    // One digit: each step is as long as the others.
    let digit = &params.targets.digits[0];
    let step = steps(every, digit.outside).wrapping_mul(size_of::<E>() as u64);
    let even = params.targets.count <= 1 && digit.skew == 0;
    let even = even && step.is_multiple_of(unit::<E>() as u64);
    let mut at = (thread::thread_idx_x() & ((1 << lanes) - 1)) * unit::<E>();
    let next = unit::<E>() << lanes;
    if even {
        let (start, to) = stretch(first);
        at += ahead(to);
        while at + unit::<E>() <= bytes {
            let to = (start, to.wrapping_byte_add(at as usize));
            let inside = every * digit.inside as u32;
            // SAFETY: entries of the table, words of the image, and of the destination, which no other thread has.
            unsafe { store_evenly(tables, [first, every, targets], at, to, step, inside) }
            at += next;
        }
    } else {
        while at + unit::<E>() <= bytes {
            // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
            unsafe { store_each(tables, [first, every, targets], [at, bytes], &stretch) }
            at += next;
        }
    }
}

/// Stores a unit of each of some stretches, which are `step` bytes apart in the destination, and `inside` bytes in shared memory. The first
/// one's unit goes to `to`, and starts `at` bytes behind where it starts.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_evenly<E: Element>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    at: u32,
    (mut start, mut to): (u32, *mut E),
    step: u64,
    inside: u32,
) {
    let mut target = first;
    // SAFETY: the caller's obligations.
    unsafe {
        let places = Places::of::<E>(tables, at);
        while target < targets {
            places.store_unit(to, start);
            target += every;
            start += inside;
            to = to.wrapping_byte_add(step as usize);
        }
    }
}

/// Stores a unit of each of some stretches.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_each<E: Element>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    [at, bytes]: [u32; 2],
    stretch: &impl Fn(u32) -> (u32, *mut E),
) {
    let (mut places, mut known) = (Places([0; 4]), u32::MAX);
    let mut target = first;
    while target < targets {
        let (start, to) = stretch(target);
        let ahead = ahead(to);
        let from = at + ahead;
        if from + unit::<E>() <= bytes {
            // SAFETY: the caller's obligations.
            unsafe {
                if ahead != known {
                    (places, known) = (Places::of::<E>(tables, from), ahead);
                }
                places.store_unit(to.wrapping_byte_add(from as usize), start)
            }
        }
        target += every;
    }
}

/// Stores what stretches have before their first whole unit and behind their last, word by word: a thread one end of a stretch.
///
/// # Safety
/// Those of [`store_units`]; words are smaller than units.
#[inline(always)]
unsafe fn store_ends<E: Element>(
    tables: Tables,
    targets: u32,
    bytes: u32,
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let size = size_of::<E>() as u32;
    let mut number = thread::thread_idx_x();
    while number < 2 * targets {
        let (start, to) = stretch(number / 2);
        let ahead = ahead(to).min(bytes);
        let behind = ahead + (bytes - ahead) / unit::<E>() * unit::<E>();
        let (mut at, end) = if number.is_multiple_of(2) { (0, ahead) } else { (behind, bytes) };
        while at < end {
            // SAFETY: an entry of the table, a word of the image, and of the destination, which no other thread has.
            unsafe {
                let place = load_u16(tables.places + at / size * 2);
                E::load_shared(start + place).store(to.wrapping_byte_add(at as usize));
            }
            at += size;
        }
        number += BOX_THREADS;
    }
}

/// The bytes of a stretch of the destination before its first whole unit.
#[inline(always)]
fn ahead<E>(to: *mut E) -> u32 {
    // A word of 4 bytes or more is a unit.
    if size_of::<E>() >= 4 {
        0
    } else {
        (to as u64 as u32).wrapping_neg() % unit::<E>()
    }
}

/// Where the words of a unit are in shared memory, from a stretch's start on.
#[derive(Clone, Copy)]
struct Places([u32; 4]);

impl Places {
    /// Those of the unit that starts `from` bytes behind a stretch's start.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; the unit is inside the stretch.
    #[inline(always)]
    unsafe fn of<E>(tables: Tables, from: u32) -> Self {
        let size = size_of::<E>() as u32;
        let entries = tables.places + from / size * 2;
        let of = |i: u32| {
            if i * size < unit::<E>() {
                // SAFETY: the caller's obligations.
                unsafe { load_u16(entries + i * 2) }
            } else {
                0
            }
        };
        Places([of(0), of(1), of(2), of(3)])
    }

    /// Stores the unit of a stretch that starts there in shared memory.
    ///
    /// # Safety
    /// All the words are the stretch's, and `to` is where they go, which no other thread stores to.
    #[inline(always)]
    unsafe fn store_unit<E: Element>(self, to: *mut E, start: u32) {
        let Places([a, b, c, d]) = self;
        // SAFETY: the caller's obligations; a unit is aligned.
        unsafe {
            match size_of::<E>() {
                1 => {
                    let (a, b) = (load_u8(start + a), load_u8(start + b));
                    let (c, d) = (load_u8(start + c), load_u8(start + d));
                    let four = permute(permute(a, b, 0x40), permute(c, d, 0x40), 0x5410);
                    (to as *mut u32).write(four)
                }
                2 => {
                    let (a, b) = (load_u16(start + a), load_u16(start + b));
                    (to as *mut u32).write(permute(a, b, 0x5410))
                }
                _ => E::load_shared(start + a).store(to),
            }
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
                move_boxes::<$element>(src, dst, &params, base)
            }
        }
    };
}

boxes!(boxes_b1: u8);
boxes!(boxes_b2: u16);
boxes!(boxes_b4: u32);
boxes!(boxes_b8: u64);
boxes!(boxes_b16: B16);
