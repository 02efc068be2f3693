//! Collects the words of a box's stretches of the destination from the image, and stores them.

use super::place::Place;
use super::tables::Tables;
use crate::element::Element;
use crate::global::fetch_ends;
use crate::shared::{load_u16, load_u32, load_u8, permute};
use crate::slide::slide_u32;
use crate::tensor::axes::{divide, steps};
use cuda_std::thread;
use kernel_abi::fast::SECTOR;
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// More lanes than 2 to the power of it store two units each of a stretch of narrow words at a time, half as many of them: what whole warps still have is
/// whole sectors.
const PAIRED: u32 = 5;

/// The bytes that a lane stores at a time.
const fn unit<E>() -> u32 {
    if size_of::<E>() < 4 {
        4
    } else {
        size_of::<E>() as u32
    }
}

/// Fetches the sectors that stretches of the destination start and end inside.
///
/// # Safety
/// Those of [`move_boxes`](super::move_boxes); a barrier separates this from what filled the tables.
#[inline(always)]
pub unsafe fn fetch<E: Element>(dst: *mut E, how: u64, tables: Tables, place: &Place) {
    let mut target = thread::thread_idx_x();
    while target < place.targets {
        // SAFETY: an entry of the table, and the destination's words.
        unsafe {
            let offset = u64::load_shared(tables.targets + target * Tables::WIDE);
            let to = dst.wrapping_byte_add(offset as usize);
            fetch_ends(to as u64, place.target_words * size_of::<E>() as u32, how);
        }
        target += BOX_THREADS;
    }
}

/// Stores the stretches of the destination: by whole units, and what is before the first and behind the last.
///
/// # Safety
/// Those of [`move_boxes`](super::move_boxes); `skew` is the box's; a barrier separates this from what loaded the image.
#[inline(always)]
pub unsafe fn gather<E: Element>(
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
        if size_of::<E>() < 4 && params.singly != 0 {
            store_singly(params, tables, place, stretch);
            return;
        }
        let mut unit = unit::<E>();
        if size_of::<E>() >= 4 || params.run == 0 {
            store_units(params, tables, place.targets, bytes, stretch);
        } else if (params.run as u32) < 8 {
            store_runs::<E, 1>(params, tables, place.targets, bytes, stretch);
        } else {
            unit = 8;
            store_runs::<E, 2>(params, tables, place.targets, bytes, stretch);
        }
        let are_units = bytes.is_multiple_of(unit) && params.ahead == 0;
        if size_of::<E>() < 4 && !are_units {
            store_ends(params, tables, place.targets, [bytes, unit], stretch);
        }
    }
}

/// Stores word by word, neighbouring words by neighbouring lanes: of short stretches that start anywhere, units would leave most lanes idle.
///
/// # Safety
/// Those of [`store_units`]; words are smaller than units, and stretches are not gathered run by run.
#[inline(always)]
unsafe fn store_singly<E: Element>(
    params: &Boxes,
    tables: Tables,
    place: &Place,
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let digit = &params.targets.digits[0];
    if params.targets.count <= 1 && place.targets != 0 {
        // Each stretch is as far from the one before: worked out in less time than looked up.
        let (start, to) = stretch(0);
        let (inside, outside) = (digit.inside as u32, digit.outside);
        // SAFETY: the caller's obligations.
        unsafe {
            store_each_word(tables, place, |target| {
                let to = to.wrapping_add(steps(target, outside) as usize);
                (start + target * inside, to)
            })
        }
    } else {
        // SAFETY: the caller's obligations.
        unsafe { store_each_word(tables, place, stretch) }
    }
}

/// Stores a block's threads' words at a time of stretches that follow each other.
///
/// # Safety
/// Those of [`store_singly`].
#[inline(always)]
unsafe fn store_each_word<E: Element>(
    tables: Tables,
    place: &Place,
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let words = place.target_words;
    let (mut target, mut at) = (thread::thread_idx_x() / words, thread::thread_idx_x() % words);
    let (down, along) = (BOX_THREADS / words, BOX_THREADS % words);
    while target < place.targets {
        let (start, to) = stretch(target);
        // SAFETY: an entry of the table, a word of the image, and of the destination, which no other thread has.
        unsafe {
            let inside = load_u16(tables.places + at * 2);
            E::load_shared(start + inside).store(to.wrapping_add(at as usize));
        }
        target += down;
        at += along;
        if at >= words {
            at -= words;
            target += 1;
        }
    }
}

/// Stores whole units of `WORDS` times 4 bytes out of runs. Where warps' stores meet is the start of a sector, wherever the stretch starts: a sector
/// that is stored in two parts costs more than two.
///
/// # Safety
/// Those of [`store_units`]; words are smaller than units, and stretches are gathered run by run, of as many bytes as a unit at least.
#[inline(always)]
unsafe fn store_runs<E: Element, const WORDS: u32>(
    params: &Boxes,
    tables: Tables,
    targets: u32,
    bytes: u32,
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let lanes = params.lanes as u32;
    let unit = WORDS * 4;
    let first_unit = (thread::thread_idx_x() & ((1 << lanes) - 1)) * unit;
    let mut target = thread::thread_idx_x() >> lanes;
    while target < targets {
        let (start, to) = stretch(target);
        // Counted from the start of the sector that the stretch starts in.
        let mut at = first_unit as i32 - (to as u64 as u32 % SECTOR) as i32;
        while at + unit as i32 <= bytes as i32 {
            if at >= 0 {
                // SAFETY: entries of the table, bytes of the image, and of the destination, which no other thread has; a unit is aligned.
                unsafe {
                    let held = unit_of_runs::<WORDS>(params.run, tables.places, at as u32, start);
                    let to = to.wrapping_byte_add(at as usize);
                    if WORDS == 1 {
                        (to as *mut u32).write(held as u32)
                    } else {
                        (to as *mut u64).write(held)
                    }
                }
            }
            at += (unit << lanes) as i32;
        }
        target += BOX_THREADS >> lanes;
    }
}

/// The `WORDS` times 4 bytes from `at` on of a stretch that starts there in shared memory: what is left of a run, and the start of the next. All lanes do
/// alike, for in nearly each warp there is one that needs both.
///
/// # Safety
/// A barrier separates this from what filled the tables and the image; the bytes are inside the stretch, and no more than a run.
#[inline(always)]
unsafe fn unit_of_runs<const WORDS: u32>(run: u64, places: u32, at: u32, start: u32) -> u64 {
    let (number, past) = divide(at, run);
    let left = run as u32 - past;
    let unit = WORDS * 4;
    let entry = places + number * 2;
    // The first run again if it has all bytes.
    let next = if left < unit { entry + 2 } else { entry };
    // SAFETY: the caller's obligations; a unit that a run leaves bytes of has them of the next, whose first byte then is the unit's byte `left`.
    unsafe {
        let first = start + load_u16(entry) + past;
        let second = start + load_u16(next);
        let last = first + left.min(unit) - 1;
        let (first_low, first_high) = load_bytes::<WORDS>(first, first, last);
        let begin = second.wrapping_sub(left);
        let (second_low, second_high) = load_bytes::<WORDS>(begin, second, second + unit - 1);
        // Of each byte of the unit which of two words it is of: the second ones' from byte `left` on.
        let of_second = if left < unit { 0x4444_4444 << (left * 4) } else { 0 };
        let from = 0x3210_3210 + of_second;
        let low = permute(first_low, second_low, from);
        if WORDS == 1 {
            return low as u64;
        }
        low as u64 | (permute(first_high, second_high, from >> 16) as u64) << 32
    }
}

/// The `WORDS` times 4 bytes from an address of shared memory on, of which those from `first` to `last` are needed: the others may be anything.
///
/// # Safety
/// A barrier separates this from what stored those bytes.
#[inline(always)]
unsafe fn load_bytes<const WORDS: u32>(address: u32, first: u32, last: u32) -> (u32, u32) {
    let (first, last) = (first & !3, last & !3);
    // Words that have none of the bytes are not loaded.
    let word = |number: u32| {
        let at = (address & !3).wrapping_add(number * 4) as i32;
        // SAFETY: a word that has one.
        unsafe { load_u32(at.max(first as i32).min(last as i32) as u32) }
    };
    let (low, middle) = (word(0), word(1));
    let slide = |low, high| slide_u32(low, high, address);
    if WORDS == 1 {
        return (slide(low, middle), 0);
    }
    (slide(low, middle), slide(middle, word(2)))
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
    let even = params.targets.count <= 1 && step.is_multiple_of(unit::<E>() as u64);
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
    } else if size_of::<E>() < 4 && lanes > PAIRED {
        // Half as many lanes for each stretch.
        let half = lanes - 1;
        let (first, every) = (thread::thread_idx_x() >> half, BOX_THREADS >> half);
        let mut at = (thread::thread_idx_x() & ((1 << half) - 1)) * unit::<E>();
        while at + unit::<E>() <= bytes {
            let two = [at, unit::<E>() << half, bytes];
            // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
            unsafe { store_pairs(tables, [first, every, targets], two, &stretch) }
            at += next;
        }
    } else {
        while at + unit::<E>() <= bytes {
            // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
            unsafe {
                if size_of::<E>() < 4 {
                    store_each_narrow(tables, [first, every, targets], [at, bytes], &stretch)
                } else {
                    store_each(tables, [first, every, targets], [at, bytes], &stretch)
                }
            }
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
        // By twos: of what a stretch takes, half is to count.
        while target + every < targets {
            places.store_unit(to, start);
            places.store_unit(to.wrapping_byte_add(step as usize), start + inside);
            target += 2 * every;
            start += 2 * inside;
            to = to.wrapping_byte_add(2 * step as usize);
        }
        if target < targets {
            places.store_unit(to, start);
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

/// As [`store_each`], of narrow words.
///
/// # Safety
/// Those of [`store_units`]; the unit that starts there is inside a stretch.
#[inline(always)]
unsafe fn store_each_narrow<E: Element>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    [at, bytes]: [u32; 2],
    stretch: &impl Fn(u32) -> (u32, *mut E),
) {
    // SAFETY: the caller's obligations.
    let around = unsafe { Around::of::<E>(tables, at, bytes) };
    let (mut places, mut known) = (around.places::<E>(0), 0);
    let mut target = first;
    while target < targets {
        let (start, to) = stretch(target);
        let ahead = ahead(to);
        let from = at + ahead;
        if from + unit::<E>() <= bytes {
            if ahead != known {
                (places, known) = (around.places::<E>(ahead), ahead);
            }
            // SAFETY: the caller's obligations.
            unsafe { places.store_unit(to.wrapping_byte_add(from as usize), start) }
        }
        target += every;
    }
}

/// As [`store_each`], of narrow words in long stretches: two units of a stretch at a time, `apart` bytes from each other, so that where the stretch is is
/// looked up once for both.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_pairs<E: Element>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    [at, apart, bytes]: [u32; 3],
    stretch: &impl Fn(u32) -> (u32, *mut E),
) {
    let (mut places, mut known) = ([Places([0; 4]); 2], u32::MAX);
    let mut target = first;
    while target < targets {
        let (start, to) = stretch(target);
        let ahead = ahead(to);
        let from = at + ahead;
        let are = [0, 1].map(|unit| from + unit * apart + self::unit::<E>() <= bytes);
        // SAFETY: the caller's obligations.
        unsafe {
            if ahead != known {
                for unit in 0..2 {
                    if are[unit] {
                        places[unit] = Places::of::<E>(tables, from + unit as u32 * apart);
                    }
                }
                known = ahead;
            }
            let to = to.wrapping_byte_add(from as usize);
            if are[0] {
                places[0].store_unit(to, start);
            }
            if are[1] {
                places[1].store_unit(to.wrapping_byte_add(apart as usize), start);
            }
        }
        target += every;
    }
}

/// Stores what stretches have before their first whole unit and behind their last: a lane a word, so that those of a sector are stored together.
///
/// # Safety
/// Those of [`store_units`]; words are smaller than units.
#[inline(always)]
unsafe fn store_ends<E: Element>(
    params: &Boxes,
    tables: Tables,
    targets: u32,
    [bytes, unit]: [u32; 2],
    stretch: impl Fn(u32) -> (u32, *mut E),
) {
    let size = size_of::<E>() as u32;
    // Lanes for either end: words of a unit.
    let lanes = unit / size;
    let lane = thread::thread_idx_x() & (2 * lanes - 1);
    let mut target = thread::thread_idx_x() / (2 * lanes);
    while target < targets {
        let (start, to) = stretch(target);
        let ahead = ((to as u64 as u32).wrapping_neg() % unit).min(bytes);
        let behind = ahead + (bytes - ahead) / unit * unit;
        let (at, end) = if lane < lanes {
            (lane * size, ahead)
        } else {
            (behind + (lane - lanes) * size, bytes)
        };
        if at < end {
            let (entry, past) =
                if params.run == 0 { (at / size, 0) } else { divide(at, params.run) };
            // SAFETY: an entry of the table, a word of the image, and of the destination, which no other thread has.
            unsafe {
                let place = load_u16(tables.places + entry * 2) + past;
                E::load_shared(start + place).store(to.wrapping_byte_add(at as usize));
            }
        }
        target += BOX_THREADS / (2 * lanes);
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

/// Where the words of narrow units are in shared memory, from a stretch's start on, and of those behind them, two to a number: looked up once for units that
/// start anywhere beside each other.
#[derive(Clone, Copy)]
struct Around([u32; 4]);

impl Around {
    /// Those from `at` bytes behind a stretch's start on, of the stretch's `bytes` bytes.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is a word.
    #[inline(always)]
    unsafe fn of<E>(tables: Tables, at: u32, bytes: u32) -> Self {
        let size = size_of::<E>() as u32;
        let entries = tables.places + at / size * 2;
        let of = |i: u32| {
            // A unit starts less than a unit later.
            if (i + 1) * size < 2 * unit::<E>() && at + i * size < bytes {
                // SAFETY: an entry of the table.
                unsafe { load_u16(entries + i * 2) }
            } else {
                0
            }
        };
        let two = |i: u32| of(i) | of(i + 1) << 16;
        Around([two(0), two(2), two(4), two(6)])
    }

    /// Those of the unit that starts `ahead` bytes later.
    #[inline(always)]
    fn places<E>(self, ahead: u32) -> Places {
        let Around([a, b, c, d]) = self;
        let (a, b, c) = if size_of::<E>() > 1 || ahead & 2 == 0 { (a, b, c) } else { (b, c, d) };
        let past = ahead / size_of::<E>() as u32 * 2;
        let (low, high) = (slide_u32(a, b, past), slide_u32(b, c, past));
        Places([low & 0xffff, low >> 16, high & 0xffff, high >> 16])
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
