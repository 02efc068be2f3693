//! What a lane moves at a time, where words are narrow: 4 bytes out of shared memory, put together from single words.

use crate::element::{Element, B16};
use crate::shared::{load_u16, load_u8, permute};
use cuda_std::thread;

/// A word that elements are made of, and the units that it fills.
pub trait Word: Element {
    /// What a lane moves at a time.
    type Unit: Element;

    /// The unit of the words at these places in shared memory, each moved on by `step`.
    ///
    /// # Safety
    /// As [`Element::load_shared`], for as many words as a unit has.
    unsafe fn unit(places: [u32; 4], step: u32) -> Self::Unit;
}

impl Word for u8 {
    type Unit = u32;

    #[inline(always)]
    unsafe fn unit([a, b, c, d]: [u32; 4], step: u32) -> u32 {
        // SAFETY: the caller's obligations.
        let byte = |place: u32| unsafe { load_u8(place + step) };
        let (low, high) = (permute(byte(a), byte(b), 0x40), permute(byte(c), byte(d), 0x40));
        permute(low, high, 0x5410)
    }
}

impl Word for u16 {
    type Unit = u32;

    #[inline(always)]
    unsafe fn unit([a, b, ..]: [u32; 4], step: u32) -> u32 {
        // SAFETY: the caller's obligations.
        let half = |place: u32| unsafe { load_u16(place + step) };
        permute(half(a), half(b), 0x5410)
    }
}

/// Implements [`Word`] for words that are units.
macro_rules! whole {
    ($($word:ty),+) => {
        $(impl Word for $word {
            type Unit = $word;

            #[inline(always)]
            unsafe fn unit([place, ..]: [u32; 4], step: u32) -> $word {
                // SAFETY: the caller's obligations.
                unsafe { <$word>::load_shared(place + step) }
            }
        })+
    };
}

whole!(u32, u64, B16);

/// Bytes of something.
pub const fn size<T>() -> u32 {
    size_of::<T>() as u32
}

/// Bytes from an address to the next multiple of a unit's.
#[inline(always)]
pub fn ahead<U>(address: u64) -> u32 {
    (address as u32).wrapping_neg() % size::<U>()
}

/// Stores a vector to shared memory, to a multiple of 4, in an order in which eight neighbours meet no bank twice.
///
/// # Safety
/// The 16 bytes from `address` on are shared memory that no other thread accesses before the next barrier.
#[inline(always)]
pub unsafe fn hold_vector(vector: B16, address: u32) {
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
