//! Stores whole units word by word. Where a unit's words are is looked up once for as many stretches as can be.

use super::super::tables::Tables;
use super::places::{Around, Places};
use super::{ahead, unit};
use crate::element::Element;
use crate::tensor::axes::steps;
use cuda_std::thread;
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// More lanes than 2 to the power of it store two units each of a stretch of narrow words at a time, half as many of them: what whole warps still have is
/// whole sectors.
pub const PAIRED: u32 = 5;

/// Stores whole units. A thread has the same units of some stretches, and looks up once where their words are for all stretches that start
/// alike on a unit.
///
/// # Safety
/// Those of [`gather`](super::gather); `stretch` gives where a stretch's first word is in shared memory, and its first of `bytes` bytes of the destination.
#[inline(always)]
pub unsafe fn store_units<E: Element>(
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
                    store_each_wide(tables, [first, every, targets], at, &stretch)
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

/// Stores a word of 4 bytes or more of each of some stretches, `at` bytes behind where these start.
///
/// # Safety
/// Those of [`store_units`]; the word is inside a stretch.
#[inline(always)]
unsafe fn store_each_wide<E: Element>(
    tables: Tables,
    [first, every, targets]: [u32; 3],
    at: u32,
    stretch: &impl Fn(u32) -> (u32, *mut E),
) {
    let mut target = first;
    // SAFETY: the caller's obligations.
    unsafe {
        let places = Places::of::<E>(tables, at);
        while target < targets {
            let (start, to) = stretch(target);
            places.store_unit(to.wrapping_byte_add(at as usize), start);
            target += every;
        }
    }
}

/// Stores a unit of narrow words of each of some stretches.
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

/// As [`store_each_narrow`], of long stretches: two units of a stretch at a time, `apart` bytes from each other, so that where the stretch is is
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
