//! Collects the words of a box's stretches of the destination from the image, and stores them.
//!
//! | file | what it is about |
//! |---|---|
//! | `units` | whole units, word by word |
//! | `runs` | whole units, out of runs of words that lie together |
//! | `places` | where a unit's words are |
//! | `walk` | all that a thread stores of a box, one after the other, for kernels that have something beside it |

mod places;
mod runs;
mod units;
pub mod walk;

use super::place::Place;
use super::tables::Tables;
use crate::element::Element;
use crate::global::fetch_ends;
use crate::opaque::opaque;
use crate::shared::load_u16;
use crate::tensor::axes::{divide, steps};
use cuda_std::thread;
use kernel_abi::tensor::{Boxes, BOX_THREADS};
use runs::store_runs;
use units::store_units;

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
    // Most boxes have nothing to fetch: what is computed of the number takes no register while they are gathered.
    let mut target = opaque(thread::thread_idx_x());
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
