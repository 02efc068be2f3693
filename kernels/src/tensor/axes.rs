//! Indices and offsets out of a number, by division.
//!
//! Parameters are read by constant indices only: a parameter whose place is computed would go through local memory.

use crate::divide::Divisor32;
use kernel_abi::tensor::{Run, MOST_RUN_AXES};

/// Quotient and remainder of `n` by a packed divisor.
#[inline(always)]
pub fn divide(n: u32, divisor: u64) -> (u32, u32) {
    Divisor32::unpacked(divisor).divide(n)
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
pub(crate) use unrolled;

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

/// The same in less time where the run has few axes, by a branch that all threads take alike.
#[inline(always)]
pub fn elsewhere_of_few(run: &Run, index: u32) -> u64 {
    if run.inner[0].divisor as u32 == 1 {
        return steps(index, run.outer);
    }
    elsewhere(run, index)
}
