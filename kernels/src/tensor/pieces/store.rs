//! Collects the words of a box's pieces from the image, and stores them.

use super::targets::{Target, Targets};
use crate::element::Element;
use crate::opaque::opaque;
use crate::shared::{load_u16, load_u8, permute};
use crate::tensor::axes::{divide, steps};
use cuda_std::thread;
use kernel_abi::tensor::{Pieces, BOX_THREADS, GAP};

/// Bytes that a lane stores at a time.
const UNIT: u32 = 4;

/// Stores a box's targets: by whole units, and what is before the first and behind the last; or word by word if there are gaps in them.
///
/// # Safety
/// Those of [`move_pieces`](super::move_pieces); a barrier separates this from what loaded the image.
#[inline(always)]
pub unsafe fn store<E: Element>(params: &Pieces, targets: &Targets<E>) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.boxes.singly != 0 {
            return store_rows::<E, true>(params, targets);
        }
        store_rows::<E, false>(params, targets);
        if params.boxes.ahead != 0 || !targets.are_whole(UNIT) {
            store_ends(targets);
        }
    }
}

/// Bytes of a unit, or of a single word if `SINGLY`.
const fn unit<E, const SINGLY: bool>() -> u32 {
    if SINGLY {
        size_of::<E>() as u32
    } else {
        UNIT
    }
}

/// Stores whole units, or single words if `SINGLY`: each thread the same one of some targets of some rows.
///
/// # Safety
/// Those of [`store`]; targets have no gaps unless it is single words that are stored.
#[inline(always)]
unsafe fn store_rows<E: Element, const SINGLY: bool>(params: &Pieces, targets: &Targets<E>) {
    let unit = unit::<E, SINGLY>();
    let (number, lane) = divide(opaque(thread::thread_idx_x()), params.lanes);
    let next = params.lanes as u32 * unit;
    let (first_row, first) = divide(number, params.along);
    let (down, along) = (params.down as u32, params.along as u32);
    let rows = params.rows as u32;
    let (cols, _) = divide(targets.count, params.rows);
    // A thread that is one too many.
    if first_row >= down {
        return;
    }
    let step = steps(along, params.outside).wrapping_mul(size_of::<E>() as u64);
    let from = lane * unit;
    if step.is_multiple_of(unit as u64) {
        let inside = along * params.inside as u32;
        let mut row = if first < cols { first_row } else { rows };
        while row < rows {
            // SAFETY: a target.
            let this = unsafe { targets.target(first * rows + row) };
            let mut at = from + ahead::<E, SINGLY>(this.to);
            while at + unit <= this.bytes {
                // Of pieces the last one may be shorter. It is looked up for each unit, of which a thread has few, so that it takes no register meanwhile.
                // SAFETY: a target.
                let last = unsafe { targets.target((opaque(cols) - 1) * rows + row) };
                let cols = if at + unit <= last.bytes { cols } else { cols - 1 };
                let to = (this.start, this.to.wrapping_byte_add(at as usize));
                // SAFETY: entries of the table, words of the image, and of the destination, which no other thread has.
                unsafe {
                    store_evenly::<E, SINGLY>(targets, [first, along, cols], at, to, step, inside)
                }
                at += next;
            }
            row += down;
        }
    } else {
        let first = first_row * along + first;
        let mut at = from;
        while at + unit <= targets.longest() {
            // SAFETY: entries of the tables, words of the image, and of the destination, which no other thread has.
            unsafe { store_each::<E, SINGLY>(targets, first, along * down, at) }
            at += next;
        }
    }
}

/// Stores a unit of each of some targets, which are `step` bytes apart in the destination, and `inside` bytes in shared memory. The first
/// one's unit goes to `to`, and starts `at` bytes behind where it starts.
///
/// # Safety
/// Those of [`store_rows`].
#[inline(always)]
unsafe fn store_evenly<E: Element, const SINGLY: bool>(
    targets: &Targets<E>,
    [first, every, count]: [u32; 3],
    at: u32,
    (start, mut to): (u32, *mut E),
    step: u64,
    inside: u32,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        let Some(unit) = Unit::<SINGLY>::of(targets, at) else { return };
        let mut unit = unit.behind(start);
        let mut target = first;
        // By fours: the same for all lanes is how much further on they are.
        while target + 3 * every < count {
            let again = |turn: u32| to.wrapping_byte_add((turn as u64 * step) as usize);
            unit.store(to, 0);
            unit.store(again(1), inside);
            unit.store(again(2), 2 * inside);
            unit.store(again(3), 3 * inside);
            target += 4 * every;
            unit = unit.behind(4 * inside);
            to = again(4);
        }
        while target < count {
            unit.store(to, 0);
            target += every;
            unit = unit.behind(inside);
            to = to.wrapping_byte_add(step as usize);
        }
    }
}

/// Stores a unit of each of some targets, which start anywhere beside a unit.
///
/// # Safety
/// Those of [`store_rows`].
#[inline(always)]
unsafe fn store_each<E: Element, const SINGLY: bool>(
    targets: &Targets<E>,
    first: u32,
    every: u32,
    at: u32,
) {
    let (mut unit, mut known) = (None, u32::MAX);
    let mut number = first;
    while number < targets.count {
        // SAFETY: the caller's obligations.
        unsafe {
            let Target { start, to, bytes, .. } = targets.target(number);
            let ahead = ahead::<E, SINGLY>(to);
            let from = at + ahead;
            if from + self::unit::<E, SINGLY>() <= bytes {
                if ahead != known {
                    (unit, known) = (Unit::<SINGLY>::of(targets, from), ahead);
                }
                if let Some(unit) = unit {
                    unit.store(to.wrapping_byte_add(from as usize), start)
                }
            }
        }
        number += every;
    }
}

/// Stores what targets have before their first whole unit and behind their last: a lane a word, so that those of a sector are stored together.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn store_ends<E: Element>(targets: &Targets<E>) {
    let size = size_of::<E>() as u32;
    // Lanes for either end: words of a unit.
    let lanes = UNIT / size;
    let lane = opaque(thread::thread_idx_x()) & (2 * lanes - 1);
    let mut number = opaque(thread::thread_idx_x()) / (2 * lanes);
    while number < targets.count {
        // SAFETY: a target.
        let Target { start, to, bytes, .. } = unsafe { targets.target(number) };
        let ahead = ahead::<E, false>(to).min(bytes);
        let behind = ahead + (bytes - ahead) / UNIT * UNIT;
        let (at, end) = if lane < lanes {
            (lane * size, ahead)
        } else {
            (behind + (lane - lanes) * size, bytes)
        };
        if at < end {
            // SAFETY: an entry of the table, a word of the image, and of the destination, which no other thread has.
            unsafe {
                let place = load_u16(targets.tables.places + at / size * 2);
                E::load_shared(start + place).store(to.wrapping_byte_add(at as usize));
            }
        }
        number += BOX_THREADS / (2 * lanes);
    }
}

/// The bytes of a target before its first whole unit. A single word is one.
#[inline(always)]
fn ahead<E, const SINGLY: bool>(to: *mut E) -> u32 {
    if SINGLY {
        0
    } else {
        (to as u64 as u32).wrapping_neg() % UNIT
    }
}

/// Where the words of a unit are in shared memory, or a single one if `SINGLY`.
#[derive(Clone, Copy)]
struct Unit<const SINGLY: bool>([u32; 4]);

impl<const SINGLY: bool> Unit<SINGLY> {
    /// That which starts `from` bytes behind a target's start, beside where that is; none in a gap.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; the unit is inside the target.
    #[inline(always)]
    unsafe fn of<E: Element>(targets: &Targets<E>, from: u32) -> Option<Self> {
        let size = size_of::<E>() as u32;
        let entries = targets.tables.places + from / size * 2;
        let of = |i: u32| {
            if i * size < unit::<E, SINGLY>() {
                // SAFETY: the caller's obligations.
                unsafe { load_u16(entries + i * 2) }
            } else {
                0
            }
        };
        let places = [of(0), of(1), of(2), of(3)];
        (!SINGLY || places[0] != GAP).then_some(Unit(places))
    }

    /// As many bytes further on.
    #[inline(always)]
    fn behind(self, bytes: u32) -> Self {
        Unit(self.0.map(|place| place + bytes))
    }

    /// Stores the unit, of which all is so many bytes further on.
    ///
    /// # Safety
    /// All the words are a target's, and `to` is where they go, which no other thread stores to.
    #[inline(always)]
    unsafe fn store<E: Element>(self, to: *mut E, start: u32) {
        let Unit([a, b, c, d]) = self;
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
