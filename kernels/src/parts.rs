//! Parts of vectors: what of a vector of the destination is somebody else's is not stored.

use crate::element::B16;
use crate::global::{store_eight, store_four, store_one, store_two};

/// Stores bytes `first .. end` of a vector of narrow elements whose byte 0 goes to `to`: the vector's start, or its end.
///
/// The bits of how many bytes these are say which pieces of 8, 4, 2 and 1 bytes there are. Those of a vector's start have the largest first, those of its end the smallest, so that each lies on a multiple of its bytes.
///
/// # Safety
/// `to` is a multiple of 16. The bytes are those of elements, writable, and accessed by no other thread during the launch. `first` is 0 and `end` at most 16, or `end` is 16.
#[inline(always)]
pub unsafe fn store_part<E>(to: u64, vector: B16, first: u32, end: u32) {
    let count = end - first;
    let place = |piece: u32| {
        if first > 0 {
            (first + piece - 1) & !(piece - 1)
        } else {
            end & !(2 * piece - 1)
        }
    };
    let B16(a, b, c, d) = vector;
    let four = |byte: u32| {
        let (low, high) = if byte & 4 == 0 { (a, c) } else { (b, d) };
        if byte & 8 == 0 {
            low
        } else {
            high
        }
    };
    let to = |byte: u32| to + byte as u64;
    // SAFETY: the caller's obligations.
    unsafe {
        if count & 8 != 0 {
            let at = place(8);
            store_eight(to(at), if at == 0 { [a, b] } else { [c, d] });
        }
        if count & 4 != 0 {
            store_four(to(place(4)), four(place(4)));
        }
        if count & 2 != 0 {
            let at = place(2);
            store_two(to(at), four(at) >> (at % 4 * 8));
        }
        if size_of::<E>() == 1 && count & 1 != 0 {
            let at = place(1);
            store_one(to(at), four(at) >> (at % 4 * 8));
        }
    }
}
