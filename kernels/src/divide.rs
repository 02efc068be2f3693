//! Division by a number that a launch does not change: a multiplication and a correction.
//!
//! Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994). The
//! host computes `magic = ⌈2⁶⁴ / divisor⌉`; then `⌊n · magic / 2⁶⁴⌋` is the quotient or one more.

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

/// A divisor of numbers of 32 bits, at a third of the instructions of [`Divisor`].
#[derive(Clone, Copy)]
pub struct Divisor32 {
    /// The divisor, not 0 and below 2³¹.
    pub divisor: u32,
    /// `⌈2³² / divisor⌉`, or 0 for a divisor of 1.
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

    /// Quotient and remainder of `n`, which is below 2³¹.
    #[inline(always)]
    pub fn divide(self, n: u32) -> (u32, u32) {
        if self.magic == 0 {
            return (n, 0);
        }
        let quotient = multiply::high(n, self.magic);
        let remainder = n.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if (remainder as i32) < 0 {
            (quotient - 1, remainder.wrapping_add(self.divisor))
        } else {
            (quotient, remainder)
        }
    }
}
