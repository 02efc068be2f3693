//! The numbers that it is computed in. Subnormal numbers are numbers like others, and each operation is rounded to the nearest, of two to the even one.

use crate::element::B16;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(target_arch = "nvptx64")]
use cuda_std::cfg::ComputeCapability;
use cuda_std::gpu_only;

/// A number to compute with.
pub trait Real: Copy {
    /// Nothing, for what is not there.
    const ZERO: Self;

    /// Whether integers of 32 bits, in source or destination, are computed in these: in what holds all of them.
    const HOLDS_INTEGERS: bool;

    /// A factor by the bits of one of these.
    fn factor(bits: u64) -> Self;

    /// The two that a vector begins with.
    fn pair(vector: B16) -> [Self; 2];

    /// An integer of at most 16 bits, or of any in numbers of 64 bits.
    fn of_integer(value: i32) -> Self;

    /// An integer without a sign; as [`of_integer`](Self::of_integer).
    fn of_unsigned(value: u32) -> Self;

    /// A number of 32 bits.
    fn of_f32(value: f32) -> Self;

    /// A number of 64 bits; of those that need no more only.
    fn of_f64(value: f64) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;

    /// The number with the other sign.
    fn negated(self) -> Self;

    /// The bits of the nearest number of 32 bits, of a result: all but the sign set of what is no number.
    fn to_f32_bits(self) -> u32;

    /// A number of 32 bits that, rounded to fewer than 23 bits, is what this one would be: of those that are not exact, one whose last bit is set.
    fn to_f32_odd(self) -> f32;

    /// The number with 64 bits.
    fn to_f64(self) -> f64;

    /// The nearest integer, of those that there are; 0 for what is no number.
    fn to_integer(self) -> i32;

    /// The nearest integer without a sign, of those that there are; 0 for what is no number.
    fn to_unsigned(self) -> u32;
}

/// Defines a conversion by one instruction.
macro_rules! convert {
    ($name:ident, $doc:literal, $instruction:literal, $from:ty as $in:ident, $to:ty as $out:ident) => {
        #[doc = $doc]
        #[gpu_only]
        #[inline(always)]
        pub fn $name(value: $from) -> $to {
            let converted: $to;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($instruction, " {converted}, {value};"), converted = out($out) converted,
                    value = in($in) value, options(pure, nomem, nostack, preserves_flags));
            }
            converted
        }
    };
}

/// Defines an operation by one instruction, which says how it rounds: the compiler and the assembler would make one of a product and a sum, rounded once.
macro_rules! operation {
    ($name:ident, $doc:literal, $instruction:literal, $number:ty as $register:ident) => {
        #[doc = $doc]
        #[gpu_only]
        #[inline(always)]
        fn $name(a: $number, b: $number) -> $number {
            let result: $number;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($instruction, " {result}, {a}, {b};"), result = out($register) result,
                    a = in($register) a, b = in($register) b,
                    options(pure, nomem, nostack, preserves_flags));
            }
            result
        }
    };
}

operation!(product_of_f32, "The product.", "mul.rn.f32", f32 as reg32);
operation!(sum_of_f32, "The sum.", "add.rn.f32", f32 as reg32);
operation!(product_of_f64, "The product.", "mul.rn.f64", f64 as reg64);
operation!(sum_of_f64, "The sum.", "add.rn.f64", f64 as reg64);

convert!(nearest_of_f32, "The nearest integer.", "cvt.rni.s32.f32", f32 as reg32, i32 as reg32);
convert!(nearest_of_f64, "The nearest integer.", "cvt.rni.s32.f64", f64 as reg64, i32 as reg32);
convert!(
    nearest_unsigned_of_f64,
    "The nearest integer without a sign.",
    "cvt.rni.u32.f64",
    f64 as reg64,
    u32 as reg32
);
convert!(half_of, "The nearest half, as bits.", "cvt.rn.f16.f32", f32 as reg32, u16 as reg16);
convert!(of_half, "The number that a half is.", "cvt.f32.f16", u16 as reg16, f32 as reg32);

/// Whether the chip that this is built for makes two numbers of 8 or 16 bits by one instruction: the same numbers as others do by many.
#[gpu_only]
#[inline(always)]
pub fn has_pairs() -> bool {
    ComputeCapability::from_cuda_arch_env() >= ComputeCapability::Compute90
}

/// Defines the instruction that makes two numbers, the first one in the lower bits; what `$above` names lies above them.
macro_rules! pair {
    ($name:ident, $from:ty, $instruction:literal, $bits:ty as $register:ident $(, $above:literal)?) => {
        /// The nearest numbers, as bits.
        #[gpu_only]
        #[inline(always)]
        pub fn $name(low: $from, high: $from) -> u32 {
            let pair: $bits;
            // SAFETY: arithmetic on registers.
            unsafe {
                asm!(concat!($instruction, " {pair}, {high}, {low}", $(", ", $above,)? ";"),
                    pair = out($register) pair, high = in(reg32) high, low = in(reg32) low,
                    options(pure, nomem, nostack, preserves_flags));
            }
            pair as u32
        }
    };
}

pair!(pair_of_f16, f32, "cvt.rn.f16x2.f32", u32 as reg32);
pair!(pair_of_bf16, f32, "cvt.rn.bf16x2.f32", u32 as reg32);
pair!(pair_of_e4m3, f32, "cvt.rn.satfinite.e4m3x2.f32", u16 as reg16);
pair!(pair_of_e5m2, f32, "cvt.rn.satfinite.e5m2x2.f32", u16 as reg16);
pair!(pair_of_u8, i32, "cvt.pack.sat.u8.s32.b32", u32 as reg32, "0");
pair!(pair_of_i8, i32, "cvt.pack.sat.s8.s32.b32", u32 as reg32, "0");
pair!(pair_of_u16, i32, "cvt.pack.sat.u16.s32", u32 as reg32);
pair!(pair_of_i16, i32, "cvt.pack.sat.s16.s32", u32 as reg32);
convert!(
    halves_of_e4m3,
    "The halves that two numbers of 8 bits are, of chips that make pairs.",
    "cvt.rn.f16x2.e4m3x2",
    u16 as reg16,
    u32 as reg32
);

impl Real for f32 {
    const ZERO: Self = 0.0;
    const HOLDS_INTEGERS: bool = false;

    #[inline(always)]
    fn factor(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }

    #[inline(always)]
    fn pair(vector: B16) -> [Self; 2] {
        [f32::from_bits(vector.0), f32::from_bits(vector.1)]
    }

    #[inline(always)]
    fn of_integer(value: i32) -> Self {
        value as f32
    }

    #[inline(always)]
    fn of_unsigned(value: u32) -> Self {
        value as f32
    }

    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn of_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        product_of_f32(self, other)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        sum_of_f32(self, other)
    }

    #[inline(always)]
    fn negated(self) -> Self {
        -self
    }

    #[inline(always)]
    fn to_f32_bits(self) -> u32 {
        // A product, or a sum, that is no number has these bits.
        self.to_bits()
    }

    #[inline(always)]
    fn to_f32_odd(self) -> f32 {
        self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn to_integer(self) -> i32 {
        // 0 for what is no number: so the instruction says of numbers of 32 bits.
        nearest_of_f32(self)
    }

    #[inline(always)]
    fn to_unsigned(self) -> u32 {
        (self as f64).to_unsigned()
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const HOLDS_INTEGERS: bool = true;

    #[inline(always)]
    fn factor(bits: u64) -> Self {
        f64::from_bits(bits)
    }

    #[inline(always)]
    fn pair(vector: B16) -> [Self; 2] {
        vector.u64s().map(f64::from_bits)
    }

    #[inline(always)]
    fn of_integer(value: i32) -> Self {
        value as f64
    }

    #[inline(always)]
    fn of_unsigned(value: u32) -> Self {
        value as f64
    }

    #[inline(always)]
    fn of_f32(value: f32) -> Self {
        value as f64
    }

    #[inline(always)]
    fn of_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        product_of_f64(self, other)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        sum_of_f64(self, other)
    }

    #[inline(always)]
    fn negated(self) -> Self {
        -self
    }

    #[inline(always)]
    fn to_f32_bits(self) -> u32 {
        let nearest = (self as f32).to_bits();
        if self.is_nan() {
            u32::MAX >> 1
        } else {
            nearest
        }
    }

    #[inline(always)]
    fn to_f32_odd(self) -> f32 {
        let nearest = self as f32;
        let back = nearest as f64;
        // What is no number is none in either.
        let inexact = back != self;
        // Towards zero, and then the last bit set: neither a tie nor what lies beside one is taken for the other by who rounds next.
        let away = (back.to_bits() << 1) > (self.to_bits() << 1);
        let odd = (nearest.to_bits() - away as u32) | 1;
        if inexact {
            f32::from_bits(odd)
        } else {
            nearest
        }
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn to_integer(self) -> i32 {
        let nearest = nearest_of_f64(self);
        if self.is_nan() {
            0
        } else {
            nearest
        }
    }

    #[inline(always)]
    fn to_unsigned(self) -> u32 {
        let nearest = nearest_unsigned_of_f64(self);
        if self.is_nan() {
            0
        } else {
            nearest
        }
    }
}
