//! Sliding: bytes that start anywhere, out of aligned ones.

use crate::element::B16;
use crate::opaque::opaque;
use crate::shared::permute;

/// What [`slide`] is, where a function says which bits of `past` are set. (A function in its place would have every kernel that slides compiled to other code.)
macro_rules! slid {
    ($element:ty, $first:expr, $second:expr, $past:expr, $is:expr) => {{
        let size = size_of::<$element>() as u32;
        let either = |second: bool, a: u32, b: u32| if second { b } else { a };
        let (B16(a, b, c, d), B16(e, f, g, h)) = ($first, $second);
        let two = $is(8);
        let (a, b, c) = (either(two, a, c), either(two, b, d), either(two, c, e));
        let (d, e, f) = (either(two, d, f), either(two, e, g), either(two, f, h));
        if size >= 8 {
            return B16(a, b, c, d);
        }
        let one = $is(4);
        let (a, b, c) = (either(one, a, b), either(one, b, c), either(one, c, d));
        let (d, e) = (either(one, d, e), either(one, e, f));
        if size == 4 {
            return B16(a, b, c, d);
        }
        let slide = |low, high| slide_u32(low, high, $past);
        B16(slide(a, b), slide(b, c), slide(c, d), slide(d, e))
    }};
}

/// The 16 bytes from byte `past` on of two vectors side by side; `past` is below 16 and a multiple of
/// the element's bytes.
#[inline(always)]
pub fn slide<E>(first: B16, second: B16, past: u32) -> B16 {
    slid!(E, first, second, past, |bit| past & bit != 0)
}

/// [`slide`] where the assembler does not see that bits of `past` are of one register.
///
/// It loads them into predicates together then (`R2P`); and of several such pairs `ptxas` 13.5 took one bit of another register, in a kernel with many registers in use (decision 146).
#[inline(always)]
pub fn slide_apart<E>(first: B16, second: B16, past: u32) -> B16 {
    slid!(E, first, second, past, |bit| opaque(past & bit) != 0)
}

/// The four bytes from byte `past`, modulo 4, on of eight bytes side by side.
#[inline(always)]
pub fn slide_u32(low: u32, high: u32, past: u32) -> u32 {
    permute(low, high, 0x3210 + past % 4 * 0x1111)
}
