//! Where the words of a unit are in shared memory.

use super::super::tables::Tables;
use super::unit;
use crate::element::Element;
use crate::shared::{load_u16, load_u8, permute};
use crate::slide::slide_u32;

/// Where the words of narrow units are in shared memory, from a stretch's start on, and of those behind them, two to a number: looked up once for units that
/// start anywhere beside each other.
#[derive(Clone, Copy)]
pub struct Around([u32; 4]);

impl Around {
    /// Those from `at` bytes behind a stretch's start on, of the stretch's `bytes` bytes.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is a word.
    #[inline(always)]
    pub unsafe fn of<E>(tables: Tables, at: u32, bytes: u32) -> Self {
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
    pub fn places<E>(self, ahead: u32) -> Places {
        let Around([a, b, c, d]) = self;
        let (a, b, c) = if size_of::<E>() > 1 || ahead & 2 == 0 { (a, b, c) } else { (b, c, d) };
        let past = ahead / size_of::<E>() as u32 * 2;
        let (low, high) = (slide_u32(a, b, past), slide_u32(b, c, past));
        Places([low & 0xffff, low >> 16, high & 0xffff, high >> 16])
    }
}

/// Where the words of a unit are in shared memory, from a stretch's start on.
#[derive(Clone, Copy)]
pub struct Places(pub [u32; 4]);

impl Places {
    /// Those of the unit that starts `from` bytes behind a stretch's start.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; the unit is inside the stretch.
    #[inline(always)]
    pub unsafe fn of<E>(tables: Tables, from: u32) -> Self {
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

    /// The unit, of narrow words, of a stretch that starts there in shared memory.
    ///
    /// # Safety
    /// All the words are the stretch's.
    #[inline(always)]
    pub unsafe fn narrow_unit<E: Element>(self, start: u32) -> u32 {
        let Places([a, b, c, d]) = self;
        // SAFETY: the caller's obligations.
        unsafe {
            if size_of::<E>() > 1 {
                return permute(load_u16(start + a), load_u16(start + b), 0x5410);
            }
            let (a, b) = (load_u8(start + a), load_u8(start + b));
            let (c, d) = (load_u8(start + c), load_u8(start + d));
            permute(permute(a, b, 0x40), permute(c, d, 0x40), 0x5410)
        }
    }

    /// Stores the unit of a stretch that starts there in shared memory.
    ///
    /// # Safety
    /// All the words are the stretch's, and `to` is where they go, which no other thread stores to.
    #[inline(always)]
    pub unsafe fn store_unit<E: Element>(self, to: *mut E, start: u32) {
        // SAFETY: the caller's obligations; a unit is aligned.
        unsafe {
            if size_of::<E>() < 4 {
                return (to as *mut u32).write(self.narrow_unit::<E>(start));
            }
            E::load_shared(start + self.0[0]).store(to)
        }
    }
}
