//! Collects the words of a box's stretches of the destination from the image, and stores them.

use super::place::Place;
use super::tables::Tables;
use crate::element::Element;
use crate::global::{fetch_ends, fetch_sector};
use crate::opaque::opaque;
use crate::shared::{load_u16, load_u32, load_u8, permute};
use crate::tensor::axes::{divide, steps};
use cuda_std::thread;
use kernel_abi::fast::SECTOR;
use kernel_abi::tensor::{Boxes, BOX_THREADS, GAP};

/// The bytes that a lane stores at a time.
const fn unit<E>() -> u32 {
    if size_of::<E>() < 4 {
        4
    } else {
        size_of::<E>() as u32
    }
}

/// A stretch of the destination, or a piece of one.
struct Target<E> {
    /// Where its first word is in shared memory.
    start: u32,
    /// Where that goes.
    to: *mut E,
    /// How many bytes it has, those of gaps as well.
    bytes: u32,
}

/// The bytes of a stretch of the destination, up to its last word.
#[inline(always)]
fn whole<E>(params: &Boxes, place: &Place) -> u32 {
    let size = size_of::<E>() as u32;
    if size >= 4 {
        return place.target_words * size;
    }
    (place.target_words - params.gapped as u32) * size
}

/// The target of a number in a box whose first word has `skew` bytes before it in its vector.
///
/// # Safety
/// Those of [`move_boxes`](super::move_boxes); a barrier separates this from what filled the tables.
#[inline(always)]
unsafe fn target<E: Element>(
    dst: *mut E,
    skew: u32,
    params: &Boxes,
    tables: Tables,
    place: &Place,
    number: u32,
) -> Target<E> {
    let size = size_of::<E>() as u32;
    // SAFETY: entries of the tables.
    let (entry, offset) = unsafe {
        let entry = u32::load_shared(tables.starts + number * Tables::NARROW);
        (entry, u64::load_shared(tables.targets + number * Tables::WIDE))
    };
    let to = dst.wrapping_byte_add(offset as usize);
    let whole = whole::<E>(params, place);
    if size >= 4 {
        return Target { start: entry + skew, to, bytes: whole };
    }
    let piece = params.piece as u32 * size;
    let bytes = (whole - (entry >> 16) * piece).min(piece);
    Target { start: entry % (1 << 16) + skew, to, bytes }
}

/// Fetches the sectors that stretches of the destination start and end inside, and those that have gaps.
///
/// # Safety
/// Those of [`move_boxes`](super::move_boxes); a barrier separates this from what filled the tables.
#[inline(always)]
pub unsafe fn fetch<E: Element>(dst: *mut E, params: &Boxes, tables: Tables, place: &Place) {
    if size_of::<E>() < 4 && params.gapped != 0 {
        // All sectors, eight lanes a stretch.
        let mut number = opaque(thread::thread_idx_x()) / 8;
        while number < place.targets {
            // SAFETY: an entry of the table, and sectors that have words of the destination or gaps between them.
            unsafe {
                let Target { to, bytes, .. } = target(dst, 0, params, tables, place, number);
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
    while number < place.targets {
        // SAFETY: an entry of the table, and the destination's words.
        unsafe {
            let Target { to, bytes, .. } = target(dst, 0, params, tables, place, number);
            fetch_ends(to as u64, bytes);
        }
        number += BOX_THREADS;
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
    // SAFETY: an entry of the tables.
    let stretch = |number: u32| unsafe { target(dst, skew, params, tables, place, number) };
    // SAFETY: the caller's obligations.
    unsafe {
        let mut unit = unit::<E>();
        if size_of::<E>() < 4 && params.singly != 0 {
            // Of short stretches that start anywhere, units would leave most lanes idle.
            return store_units::<E, true>(params, tables, place, stretch);
        }
        if size_of::<E>() >= 4 || params.run == 0 {
            store_units::<E, false>(params, tables, place, stretch);
        } else if (params.run as u32) < 8 {
            store_runs::<E, 1>(params, tables, place.targets, stretch);
        } else {
            unit = 8;
            store_runs::<E, 2>(params, tables, place.targets, stretch);
        }
        let are_units = whole::<E>(params, place).is_multiple_of(unit) && params.ahead == 0;
        if size_of::<E>() < 4 && !are_units {
            store_ends(params, tables, place.targets, unit, stretch);
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
    stretch: impl Fn(u32) -> Target<E>,
) {
    let lanes = params.lanes as u32;
    let unit = WORDS * 4;
    let first_unit = (opaque(thread::thread_idx_x()) & ((1 << lanes) - 1)) * unit;
    let mut target = opaque(thread::thread_idx_x()) >> lanes;
    while target < targets {
        let Target { start, to, bytes } = stretch(target);
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

/// The `WORDS` times 4 bytes from `at` on of a stretch that starts there in shared memory: what is left of a run, and the start of the next.
///
/// # Safety
/// A barrier separates this from what filled the tables and the image; the bytes are inside the stretch, and no more than a run.
#[inline(always)]
unsafe fn unit_of_runs<const WORDS: u32>(run: u64, places: u32, at: u32, start: u32) -> u64 {
    let (number, past) = divide(at, run);
    let left = run as u32 - past;
    let entry = places + number * 2;
    let unit = WORDS * 4;
    // SAFETY: the caller's obligations; a unit that a run leaves bytes of has them of the next.
    unsafe {
        let first = load_bytes::<WORDS>(start + load_u16(entry) + past, left.min(unit));
        if left >= unit {
            return first;
        }
        let second = load_bytes::<WORDS>(start + load_u16(entry + 2), unit - left);
        if WORDS == 1 {
            ((second as u32) << (left * 8) | first as u32 & ((1 << (left * 8)) - 1)) as u64
        } else {
            second << (left * 8) | first & ((1 << (left * 8)) - 1)
        }
    }
}

/// The first `count` of `WORDS` times 4 bytes of shared memory, which may start anywhere; the others may be anything.
///
/// # Safety
/// A barrier separates this from what stored the bytes; `count` is at least 1, and no more than that.
#[inline(always)]
unsafe fn load_bytes<const WORDS: u32>(address: u32, count: u32) -> u64 {
    let (first, last) = (address & !3, (address + count - 1) & !3);
    let shifted = 0x3210 + (address & 3) * 0x1111;
    // SAFETY: words that have bytes of these.
    unsafe {
        let (low, high) = (load_u32(first), load_u32(last));
        if WORDS == 1 {
            return permute(low, high, shifted) as u64;
        }
        let middle = load_u32((first + 4).min(last));
        permute(low, middle, shifted) as u64 | (permute(middle, high, shifted) as u64) << 32
    }
}

/// Stores whole units, or single words if `SINGLY`. A thread has the same units of some stretches, and looks up once where their words are for all
/// stretches that start alike on a unit.
///
/// # Safety
/// Those of [`gather`]; `stretch` gives the box's targets, which have no gaps unless it is single words that are stored.
#[inline(always)]
unsafe fn store_units<E: Element, const SINGLY: bool>(
    params: &Boxes,
    tables: Tables,
    place: &Place,
    stretch: impl Fn(u32) -> Target<E>,
) {
    let unit = Places::unit::<E, SINGLY>();
    let thread = opaque(thread::thread_idx_x());
    let lanes = params.lanes as u32;
    let (first, lane, next) = if SINGLY {
        // Any number of lanes, so that few are idle.
        let (first, lane) = divide(thread, params.lanes);
        (first, lane, lanes)
    } else {
        (thread >> lanes, thread & ((1 << lanes) - 1), 1 << lanes)
    };
    // Rows of targets: those of one differ in the last digit alone, and are as far from each other as their neighbours.
    let (first_row, first) = divide(first, params.along);
    let (down, along) = (params.down as u32, params.along as u32);
    let rows = params.stretches as u32;
    let (cols, _) = divide(place.targets, params.stretches);
    // A thread that is one too many.
    if first_row >= down {
        return;
    }
    let step = steps(along, params.outside).wrapping_mul(size_of::<E>() as u64);
    let even = step.is_multiple_of(unit as u64);
    let from = lane * unit;
    if even {
        let mut row = if first < cols { first_row } else { rows };
        while row < rows {
            let Target { start, to, bytes } = stretch(first * rows + row);
            // Of pieces the last one may be shorter.
            let last = match size_of::<E>() {
                1 | 2 => stretch((cols - 1) * rows + row).bytes,
                _ => bytes,
            };
            let mut at = from + ahead(to, unit);
            while at + unit <= bytes {
                let to = (start, to.wrapping_byte_add(at as usize));
                let inside = along * params.inside as u32;
                let cols = if at + unit <= last { cols } else { cols - 1 };
                // SAFETY: entries of the table, words of the image, and of the destination, which no other thread has.
                unsafe {
                    store_evenly::<E, SINGLY>(tables, [first, along, cols], at, to, step, inside)
                }
                at += next * unit;
            }
            row += down;
        }
    } else {
        let whole = whole::<E>(params, place);
        let piece = params.piece as u32 * size_of::<E>() as u32;
        let longest = if size_of::<E>() < 4 { whole.min(piece) } else { whole };
        let first = first_row * along + first;
        let mut at = from;
        while at + unit <= longest {
            // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
            unsafe {
                let all = [first, along * down, place.targets];
                store_each::<E, SINGLY>(tables, all, at, &stretch)
            }
            at += next * unit;
        }
    }
}

/// Stores a unit of each of some stretches, which are `step` bytes apart in the destination, and `inside` bytes in shared memory. The first
/// one's unit goes to `to`, and starts `at` bytes behind where it starts.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_evenly<E: Element, const SINGLY: bool>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    at: u32,
    (start, mut to): (u32, *mut E),
    step: u64,
    inside: u32,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        let Some(mut places) = Places::of::<E, SINGLY>(tables, at) else { return };
        places = places.behind(start);
        let mut target = first;
        // By fours: the same for all lanes is how much further on they are.
        while target + 3 * every < targets {
            let again = |turn: u32| to.wrapping_byte_add((turn as u64 * step) as usize);
            places.store_unit::<E, SINGLY>(to, 0);
            places.store_unit::<E, SINGLY>(again(1), inside);
            places.store_unit::<E, SINGLY>(again(2), 2 * inside);
            places.store_unit::<E, SINGLY>(again(3), 3 * inside);
            target += 4 * every;
            places = places.behind(4 * inside);
            to = again(4);
        }
        while target < targets {
            places.store_unit::<E, SINGLY>(to, 0);
            target += every;
            places = places.behind(inside);
            to = to.wrapping_byte_add(step as usize);
        }
    }
}

/// Stores a unit of each of some stretches.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_each<E: Element, const SINGLY: bool>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    at: u32,
    stretch: &impl Fn(u32) -> Target<E>,
) {
    let unit = Places::unit::<E, SINGLY>();
    let (mut places, mut known) = (None, u32::MAX);
    let mut target = first;
    while target < targets {
        let Target { start, to, bytes } = stretch(target);
        let ahead = ahead(to, unit);
        let from = at + ahead;
        if from + unit <= bytes {
            // SAFETY: the caller's obligations.
            unsafe {
                if ahead != known {
                    (places, known) = (Places::of::<E, SINGLY>(tables, from), ahead);
                }
                if let Some(places) = places {
                    places.store_unit::<E, SINGLY>(to.wrapping_byte_add(from as usize), start)
                }
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
    unit: u32,
    stretch: impl Fn(u32) -> Target<E>,
) {
    let size = size_of::<E>() as u32;
    // Lanes for either end: words of a unit.
    let lanes = unit / size;
    let lane = opaque(thread::thread_idx_x()) & (2 * lanes - 1);
    let mut number = opaque(thread::thread_idx_x()) / (2 * lanes);
    while number < targets {
        let Target { start, to, bytes } = stretch(number);
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
        number += BOX_THREADS / (2 * lanes);
    }
}

/// The bytes of a stretch of the destination before its first whole unit.
#[inline(always)]
fn ahead<E>(to: *mut E, unit: u32) -> u32 {
    // A word is a unit.
    if size_of::<E>() as u32 == unit {
        0
    } else {
        (to as u64 as u32).wrapping_neg() % unit
    }
}

/// Where the words of a unit are in shared memory, from a stretch's start on.
#[derive(Clone, Copy)]
struct Places([u32; 4]);

impl Places {
    /// Bytes of a unit, or of a single word.
    #[inline(always)]
    const fn unit<E, const SINGLY: bool>() -> u32 {
        if SINGLY {
            size_of::<E>() as u32
        } else {
            unit::<E>()
        }
    }

    /// Those of the unit that starts `from` bytes behind a stretch's start; none of a gap.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; the unit is inside the stretch.
    #[inline(always)]
    unsafe fn of<E, const SINGLY: bool>(tables: Tables, from: u32) -> Option<Self> {
        let size = size_of::<E>() as u32;
        let entries = tables.places + from / size * 2;
        let of = |i: u32| {
            if i * size < Self::unit::<E, SINGLY>() {
                // SAFETY: the caller's obligations.
                unsafe { load_u16(entries + i * 2) }
            } else {
                0
            }
        };
        let places = Places([of(0), of(1), of(2), of(3)]);
        (!SINGLY || places.0[0] & GAP == 0).then_some(places)
    }

    /// As many bytes further on.
    #[inline(always)]
    fn behind(self, bytes: u32) -> Self {
        Places(self.0.map(|place| place + bytes))
    }

    /// Stores the unit of a stretch that starts there in shared memory.
    ///
    /// # Safety
    /// All the words are the stretch's, and `to` is where they go, which no other thread stores to.
    #[inline(always)]
    unsafe fn store_unit<E: Element, const SINGLY: bool>(self, to: *mut E, start: u32) {
        let Places([a, b, c, d]) = self;
        // SAFETY: the caller's obligations; a unit is aligned.
        unsafe {
            match size_of::<E>() {
                1 if !SINGLY => {
                    let (a, b) = (load_u8(start + a), load_u8(start + b));
                    let (c, d) = (load_u8(start + c), load_u8(start + d));
                    let four = permute(permute(a, b, 0x40), permute(c, d, 0x40), 0x5410);
                    (to as *mut u32).write(four)
                }
                2 if !SINGLY => {
                    let (a, b) = (load_u16(start + a), load_u16(start + b));
                    (to as *mut u32).write(permute(a, b, 0x5410))
                }
                _ => E::load_shared(start + a).store(to),
            }
        }
    }
}
