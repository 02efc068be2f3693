//! Indices and offsets out of a number, by division.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994): the host gives a divisor with
//! `⌈2³² / divisor⌉` ([`kernel_abi::tensor::divisor`]).

//!
//! Parameters are read by constant indices only: a parameter whose place is computed would go through local memory.

use crate::multiply;
use kernel_abi::tensor::{Run, MOST_RUN_AXES};

/// Quotient and remainder of `n`, which is below 2³¹, by a packed divisor.
#[inline(always)]
pub fn divide(n: u32, divisor: u64) -> (u32, u32) {
    let (divisor, magic) = (divisor as u32, (divisor >> 32) as u32);
    if magic == 0 {
        return (n, 0);
    }
    let quotient = multiply::high(n, magic);
    let remainder = n.wrapping_sub(quotient.wrapping_mul(divisor));
    if (remainder as i32) < 0 {
        (quotient - 1, remainder.wrapping_add(divisor))
    } else {
        (quotient, remainder)
    }
}

/// `index` steps of `stride` words, which may be negative: a number to add, wrapping.
#[inline(always)]
pub fn steps(index: u32, stride: u64) -> u64 {
    (index as u64).wrapping_mul(stride)
}

/// Runs a body for each of the numbers below `$count`, written out once for each of them: as constants.
macro_rules! unrolled {
    ($index:ident in [$($number:literal)+] of $count:expr => $body:block) => {
        let count = $count as u32;
        'all: { $( {
            const $index: usize = $number;
            if $index as u32 >= count {
                break 'all;
            }
            $body
        } )+ }
    };
}
pub(super) use unrolled;

/// Where an index of a run is on the other side, in words from the tile's start.
#[inline(always)]
pub fn elsewhere(run: &Run, index: u32) -> u64 {
    let (mut rest, mut offset) = (index, 0u64);
    unrolled! { AXIS in [0 1 2] of MOST_RUN_AXES - 1 => {
        let axis = &run.inner[AXIS];
        let (quotient, remainder) = divide(rest, axis.divisor);
        offset = offset.wrapping_add(steps(remainder, axis.stride));
        rest = quotient;
    } }
    offset.wrapping_add(steps(rest, run.outer))
}
