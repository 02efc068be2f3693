//! Division by a number that a launch does not change: a multiplication and a correction.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994). The
//! host computes `magic = ⌈2⁶⁴ / divisor⌉`; then `⌊n · magic / 2⁶⁴⌋` is the quotient or one more.
//!
//! A product with a factor that a launch does not change, modulo such a divisor, takes no wider numbers: Shoup's
//! `magic = ⌊2³² · factor / divisor⌋` (Harvey, "Faster arithmetic for number-theoretic transforms", 2014, section 2). Then
//! `⌊n · magic / 2³²⌋` is the quotient `⌊n · factor / divisor⌋` or one less.

use crate::multiply;
use kernel_abi::in_place as abi;

/// A divisor and its multiplier; a divisor of 1 has the multiplier 0.
#[derive(Clone, Copy)]
pub struct Divisor {
    /// The divisor, not 0.
    pub divisor: u64,
    /// `⌈2⁶⁴ / divisor⌉`, or 0 for a divisor of 1.
    pub magic: u64,
}

impl From<abi::Divisor> for Divisor {
    #[inline(always)]
    fn from(abi::Divisor { divisor, magic }: abi::Divisor) -> Self {
        Divisor { divisor, magic }
    }
}

impl Divisor {
    /// Quotient and remainder of `n`, which is below 2⁶³.
    #[inline(always)]
    pub fn divide(self, n: u64) -> (u64, u64) {
        if self.magic == 0 {
            return (n, 0);
        }
        let quotient = ((n as u128 * self.magic as u128) >> 64) as u64;
        let remainder = n.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if (remainder as i64) < 0 {
            (quotient - 1, remainder.wrapping_add(self.divisor))
        } else {
            (quotient, remainder)
        }
    }
}

/// A divisor of numbers of 32 bits, at a quarter of the instructions of [`Divisor`].
///
/// Its multiplier is rounded down, so that there is one for the divisor 1 too: the quotient that it gives is right or one less.
#[derive(Clone, Copy)]
pub struct Divisor32 {
    /// The divisor, not 0 and below 2³¹.
    pub divisor: u32,
    /// `⌊(2³² − 1) / divisor⌋`.
    pub magic: u32,
}

impl From<abi::Divisor32> for Divisor32 {
    #[inline(always)]
    fn from(abi::Divisor32 { divisor, magic }: abi::Divisor32) -> Self {
        Divisor32 { divisor: divisor as u32, magic: magic as u32 }
    }
}

impl Divisor32 {
    /// The divisor in the lower half of `packed`, its multiplier in the upper half.
    #[inline(always)]
    pub fn unpacked(packed: u64) -> Self {
        Divisor32 { divisor: packed as u32, magic: (packed >> 32) as u32 }
    }

    /// Quotient and remainder of any `n`.
    #[inline(always)]
    pub fn divide(self, n: u32) -> (u32, u32) {
        let quotient = multiply::high(n, self.magic);
        let rest = n.wrapping_sub(quotient.wrapping_mul(self.divisor));
        (quotient + (rest >= self.divisor) as u32, less_once(rest, self.divisor))
    }
}

/// A factor of products modulo a divisor.
#[derive(Clone, Copy)]
pub struct Factor {
    /// The factor, below the divisor.
    pub factor: u32,
    /// `⌊2³² · factor / divisor⌋`.
    pub magic: u32,
}

impl From<abi::Factor> for Factor {
    #[inline(always)]
    fn from(abi::Factor { factor, magic }: abi::Factor) -> Self {
        Factor { factor: factor as u32, magic: magic as u32 }
    }
}

impl Factor {
    /// The product with any `n`, modulo the divisor, which is below 2³¹.
    #[inline(always)]
    pub fn times(self, n: u32, divisor: u32) -> u32 {
        let quotient = multiply::high(n, self.magic);
        // Below twice the divisor: 32 bits hold it, whatever is lost of both products.
        let rest = n.wrapping_mul(self.factor).wrapping_sub(quotient.wrapping_mul(divisor));
        less_once(rest, divisor)
    }
}

/// A number below twice the divisor, modulo the divisor.
#[inline(always)]
pub fn less_once(n: u32, divisor: u32) -> u32 {
    // Where the difference is negative it is, as a number without a sign, the larger one.
    n.min(n.wrapping_sub(divisor))
}
