//! Multipliers for division by invariant numbers.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994): a kernel
//! divides by a number that it is given by multiplying with `⌈2⁶⁴ / divisor⌉`, or `⌊(2³² − 1) / divisor⌋`, taking the high half,
//! and correcting by one where that is too much, or too little.

use kernel_abi::in_place::{Divisor, Divisor32, Factor};

/// A number, not 0, as kernels divide 64-bit numbers by it.
pub(crate) fn divisor(number: usize) -> Divisor {
    Divisor { divisor: number as u64, magic: magic(number) }
}

/// A number, not 0 and below 2³¹, as kernels divide 32-bit numbers by it.
pub(crate) fn divisor32(number: usize) -> Divisor32 {
    Divisor32 { divisor: number as u64, magic: magic32(number) }
}

/// A number that kernels multiply 32-bit numbers by, modulo a divisor below 2³¹.
pub(crate) fn factor(number: usize, divisor: usize) -> Factor {
    let factor = (number % divisor) as u64;
    Factor { factor, magic: (factor << 32) / divisor as u64 }
}

/// The first number that a kernel cannot divide by, or divide, as a packed one.
pub(crate) const TOO_LARGE: usize = 1 << 31;

/// The greatest common divisor.
pub(crate) fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A number, not 0 and below [`TOO_LARGE`], as the kernels of tensors divide by it: packed, itself and its multiplier in the upper half.
pub(crate) const fn packed_divisor(number: usize) -> u64 {
    number as u64 | magic32(number) << 32
}

/// `⌈2⁶⁴ / divisor⌉`, or 0 for a divisor of 1. The divisor is not 0.
fn magic(divisor: usize) -> u64 {
    let divisor = divisor.max(1) as u128;
    // For 1 the multiplier would be 2⁶⁴, which wraps to the 0 that the kernels know.
    (1u128 << 64).div_ceil(divisor) as u64
}

/// `⌊(2³² − 1) / divisor⌋` for numbers of 32 bits.
const fn magic32(divisor: usize) -> u64 {
    let divisor = if divisor == 0 { 1 } else { divisor as u64 };
    u32::MAX as u64 / divisor
}

#[cfg(test)]
mod tests {
    use super::{factor, magic, magic32, packed_divisor};
    use proptest::prelude::{prop_assert_eq, proptest};

    /// What the kernels do, `kernels/src/divide.rs`.
    fn divide(n: u64, divisor: u64, magic: u64) -> (u64, u64) {
        if magic == 0 {
            return (n, 0);
        }
        let quotient = ((u128::from(n) * u128::from(magic)) >> 64) as u64;
        let remainder = n.wrapping_sub(quotient.wrapping_mul(divisor));
        if (remainder as i64) < 0 {
            (quotient - 1, remainder.wrapping_add(divisor))
        } else {
            (quotient, remainder)
        }
    }

    /// The kernels' division of 32 bits.
    fn divide32(n: u32, divisor: u32, magic: u32) -> (u32, u32) {
        let quotient = ((u64::from(n) * u64::from(magic)) >> 32) as u32;
        let rest = n.wrapping_sub(quotient.wrapping_mul(divisor));
        (quotient + u32::from(rest >= divisor), rest.min(rest.wrapping_sub(divisor)))
    }

    /// The kernels' product modulo a divisor.
    fn times(n: u32, number: u32, divisor: u32) -> u32 {
        let by = factor(number as usize, divisor as usize);
        let quotient = ((u64::from(n) * by.magic) >> 32) as u32;
        let product = n.wrapping_mul(by.factor as u32);
        let rest = product.wrapping_sub(quotient.wrapping_mul(divisor));
        rest.min(rest.wrapping_sub(divisor))
    }

    #[test]
    fn small_numbers_divide() {
        for divisor in 1..300 {
            for n in 0..3000 {
                let expected = (n / divisor, n % divisor);
                assert_eq!(divide(n, divisor, magic(divisor as usize)), expected);
            }
        }
    }

    #[test]
    fn packed_divisors_divide() {
        let most = i32::MAX as u32;
        for number in (1..300).chain([1000, 65537, most / 2, most - 1, most]) {
            let packed = packed_divisor(number as usize);
            let (divisor, magic) = (packed as u32, (packed >> 32) as u32);
            for n in (0..3000).chain([most / 3, most - 1, most, most / number * number]) {
                let expected = (n / number, n % number);
                assert_eq!(divide32(n, divisor, magic), expected, "{n} / {number}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_number_of_32_bits_divides(n in 0..=u32::MAX, divisor in 1..1u32 << 31) {
            for n in [n, n / divisor * divisor, (n / divisor * divisor).saturating_sub(1)] {
                let magic = magic32(divisor as usize) as u32;
                prop_assert_eq!(divide32(n, divisor, magic), (n / divisor, n % divisor));
            }
        }

        #[test]
        fn any_product_is_reduced(n in 0..=u32::MAX, number in 0..=u32::MAX, divisor in 1..1u32 << 31) {
            for number in [number, divisor - 1] {
                let expected = u64::from(n) * u64::from(number) % u64::from(divisor);
                prop_assert_eq!(u64::from(times(n, number, divisor)), expected);
            }
        }

        #[test]
        fn any_number_divides(n in 0..1u64 << 63, divisor in 1..1u64 << 40) {
            for n in [n, n / divisor * divisor, (n / divisor * divisor).saturating_sub(1)] {
                let expected = (n / divisor, n % divisor);
                prop_assert_eq!(divide(n, divisor, magic(divisor as usize)), expected);
            }
        }
    }
}
