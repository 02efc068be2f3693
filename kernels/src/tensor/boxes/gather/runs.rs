//! Stores whole units of narrow words that lie together in runs: what is left of a run, and the start of the next.

use super::super::tables::Tables;
use crate::element::Element;
use crate::shared::{load_u16, load_u32, permute};
use crate::slide::slide_u32;
use crate::tensor::axes::divide;
use cuda_std::thread;
use kernel_abi::fast::SECTOR;
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// Stores whole units of `WORDS` times 4 bytes out of runs. Where warps' stores meet is the start of a sector, wherever the stretch starts: a sector
/// that is stored in two parts costs more than two.
///
/// # Safety
/// Those of [`store_units`](super::units::store_units); words are smaller than units, and stretches are gathered run by run, of as many bytes as a unit at least.
#[inline(always)]
pub unsafe fn store_runs<E: Element, const WORDS: u32>(
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
pub unsafe fn unit_of_runs<const WORDS: u32>(run: u64, places: u32, at: u32, start: u32) -> u64 {
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
