//! The types of numbers that can be computed with, and which of them can become which.

use super::kind::{Complex, Real};
use super::narrow::{E4M3, E5M2};
use bytemuck::Pod;
use described::{Described, Parts};
use kernel_abi::arithmetic::Format;

/// A number that can be computed with on the way: integers of 8, 16 and 32 bits, floating-point numbers of 8 ([`E4M3`], [`E5M2`]), 16 (feature `half`), 32
/// and 64 bits, and complex numbers of the last two: arrays of two, or those of `num-complex` with that feature.
pub trait Number: Pod + Described {
    /// Whether it is a [real](Real) or a [complex](Complex) number.
    type Kind;

    /// What it is multiplied by: a number of 64 bits if it has 64 bits or is an integer of 32, else of 32 bits; a complex one if it is complex.
    type Factor: Copy + Parts;
}

/// A number that can become a `U`: real numbers any real ones, complex numbers any complex ones.
pub trait ConvertTo<U: Number>: Number {}

impl<T: Number, U: Number<Kind = T::Kind>> ConvertTo<U> for T {}

/// What the library knows of numbers, and others cannot say.
pub(crate) mod described {
    use super::Format;

    /// A number that kernels know.
    pub trait Described {
        #[doc(hidden)]
        const FORMAT: Format;
        #[doc(hidden)]
        const COMPLEX: bool;
    }

    /// A factor.
    pub trait Parts {
        /// The real and the imaginary part.
        #[doc(hidden)]
        fn parts(self) -> [f64; 2];
    }
}

/// Declares types of numbers.
macro_rules! numbers {
    ($($number:ty: $kind:ident, $format:ident, by $factor:ty),+ $(,)?) => { $(
        impl Number for $number {
            type Kind = $kind;
            type Factor = $factor;
        }

        impl Described for $number {
            const FORMAT: Format = Format::$format;
            const COMPLEX: bool = size_of::<$number>() > Format::$format.bytes();
        }
    )+ };
}

numbers! {
    u8: Real, U8, by f32,
    i8: Real, I8, by f32,
    u16: Real, U16, by f32,
    i16: Real, I16, by f32,
    u32: Real, U32, by f64,
    i32: Real, I32, by f64,
    E4M3: Real, E4M3, by f32,
    E5M2: Real, E5M2, by f32,
    f32: Real, F32, by f32,
    f64: Real, F64, by f64,
    [f32; 2]: Complex, F32, by [f32; 2],
    [f64; 2]: Complex, F64, by [f64; 2],
}

#[cfg(feature = "half")]
numbers! {
    half::f16: Real, F16, by f32,
    half::bf16: Real, BF16, by f32,
}

#[cfg(feature = "num-complex")]
numbers! {
    num_complex::Complex32: Complex, F32, by num_complex::Complex32,
    num_complex::Complex64: Complex, F64, by num_complex::Complex64,
}

/// Declares factors.
macro_rules! factors {
    ($($factor:ty: |$value:ident| $parts:expr),+ $(,)?) => { $(
        impl Parts for $factor {
            fn parts(self) -> [f64; 2] {
                let $value = self;
                $parts
            }
        }
    )+ };
}

factors! {
    f32: |re| [f64::from(re), 0.0],
    f64: |re| [re, 0.0],
    [f32; 2]: |parts| parts.map(f64::from),
    [f64; 2]: |parts| parts,
}

#[cfg(feature = "num-complex")]
factors! {
    num_complex::Complex32: |value| [f64::from(value.re), f64::from(value.im)],
    num_complex::Complex64: |value| [value.re, value.im],
}
