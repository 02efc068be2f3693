//! What is computed of the elements of a unit: `α·a`, or `α·a + β·b`. Each product and each sum is rounded, one after the other, as in a program that
//! computes them so.

use super::formats::{decode, encode};
use super::real::Real;
use crate::element::B16;
use kernel_abi::arithmetic::{flags, Operation};

/// The results for the `N` numbers that the vectors begin with, of `SRC` bytes in the source, and of `DST` in the destination and the second operand. Of complex
/// elements these are the parts, two of each.
#[inline(always)]
pub fn compute<const SRC: usize, const DST: usize, const N: usize>(
    operation: &Operation,
    src: B16,
    other: B16,
) -> B16 {
    if SRC < 4 && DST < 4 {
        return in_numbers::<f32, SRC, DST, N>(operation, src, other);
    }
    if SRC == 8 || DST == 8 || operation.flags & flags::WIDE != 0 {
        in_numbers::<f64, SRC, DST, N>(operation, src, other)
    } else {
        in_numbers::<f32, SRC, DST, N>(operation, src, other)
    }
}

/// The same, computed in such numbers.
#[inline(always)]
fn in_numbers<F: Real, const SRC: usize, const DST: usize, const N: usize>(
    operation: &Operation,
    src: B16,
    other: B16,
) -> B16 {
    let flags = operation.flags;
    let mut values = decode::<F, SRC, N>(operation.src as u32, src);
    if N.is_multiple_of(2) && flags & flags::CONJUGATE != 0 {
        for j in 0..N / 2 {
            values[2 * j + 1] = values[2 * j + 1].negated();
        }
    }
    let alpha = [operation.alpha, operation.alpha_im];
    let mut values = product::<F, N>(flags, alpha, values);
    if flags & flags::OTHER != 0 {
        let others = decode::<F, DST, N>(operation.dst as u32, other);
        let others = product::<F, N>(flags, [operation.beta, operation.beta_im], others);
        for j in 0..N {
            values[j] = values[j].plus(others[j]);
        }
    }
    encode::<F, DST, N>(operation.dst as u32, values)
}

/// Numbers by a factor.
#[inline(always)]
fn product<F: Real, const N: usize>(flags: u64, factor: [u64; 2], mut values: [F; N]) -> [F; N] {
    let re = F::factor(factor[0]);
    if N.is_multiple_of(2) && flags & flags::COMPLEX_FACTORS != 0 {
        let im = F::factor(factor[1]);
        for j in 0..N / 2 {
            let (a, b) = (values[2 * j], values[2 * j + 1]);
            values[2 * j] = a.times(re).plus(b.times(im).negated());
            values[2 * j + 1] = a.times(im).plus(b.times(re));
        }
        return values;
    }
    for j in 0..N {
        values[j] = values[j].times(re);
    }
    values
}
