//! The formats of numbers as an oracle has them: every format by its definition, rounding by looking for the nearest number.

use transpose::interop::half::{bf16, f16};
use transpose::{E4M3, E5M2, Number};

/// A number whose bits and value a test knows.
pub trait Sample: Number + PartialEq {
    /// The number with these low bits.
    fn of_bits(bits: u64) -> Self;

    /// Its bits.
    fn bits(self) -> u64;

    /// Its value, exactly.
    fn value(self) -> f64;

    /// The number that a value becomes.
    fn rounded(value: f64) -> Self;

    /// Whether it takes numbers of 64 bits to compute with.
    const WIDE: bool;

    /// How many bits it has.
    const BITS: u32 = 8 * size_of::<Self>() as u32;

    /// Values at which the number that a value becomes is another one, and values of numbers: zeros, the least and the largest, what is no number.
    fn edges() -> Vec<f64>;
}

/// A format of floating-point numbers of 8 or 16 bits.
pub struct Format {
    exponent: u32,
    fraction: u32,
    /// Whether the largest numbers take the place of larger ones, and of infinite ones.
    saturates: bool,
    /// The bits of the largest number.
    largest: u64,
    /// The bits of what is infinite, if anything is.
    infinite: Option<u64>,
    /// The bits of what becomes of no number.
    nan: u64,
}

pub const OF_E4M3: Format =
    Format { exponent: 4, fraction: 3, saturates: true, largest: 0x7e, infinite: None, nan: 0x7f };
pub const OF_E5M2: Format = Format {
    exponent: 5,
    fraction: 2,
    saturates: true,
    largest: 0x7b,
    infinite: Some(0x7c),
    nan: 0x7f,
};
pub const OF_F16: Format = Format {
    exponent: 5,
    fraction: 10,
    saturates: false,
    largest: 0x7bff,
    infinite: Some(0x7c00),
    nan: 0x7fff,
};
pub const OF_BF16: Format = Format {
    exponent: 8,
    fraction: 7,
    saturates: false,
    largest: 0x7f7f,
    infinite: Some(0x7f80),
    nan: 0x7fff,
};

impl Format {
    /// The value of bits, of which the highest is the sign.
    pub fn value(&self, bits: u64) -> f64 {
        let sign = 1 << (self.exponent + self.fraction);
        let magnitude = bits & (sign - 1);
        let value = match self.infinite {
            Some(infinite) if magnitude == infinite => f64::INFINITY,
            _ if magnitude > self.largest => f64::NAN,
            _ => self.finite(magnitude),
        };
        if bits & sign == 0 { value } else { -value }
    }

    /// The value that a magnitude would have if there were no infinite ones.
    fn finite(&self, magnitude: u64) -> f64 {
        let bias = (1 << (self.exponent - 1)) - 1;
        let (exponent, fraction) = (magnitude >> self.fraction, magnitude % (1 << self.fraction));
        let (exponent, leading) = if exponent == 0 { (1, 0) } else { (exponent, 1) };
        let units = fraction + (leading << self.fraction);
        units as f64 * 2f64.powi(exponent as i32 - bias - self.fraction as i32)
    }

    /// The bits of the nearest number, of two the even one.
    pub fn rounded(&self, value: f64) -> u64 {
        if value.is_nan() {
            return self.nan;
        }
        let sign = u64::from(value.is_sign_negative()) << (self.exponent + self.fraction);
        let value = value.abs();
        // The last number that is not larger.
        let (mut low, mut high) = (0, self.largest + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.finite(middle) <= value { low = middle } else { high = middle }
        }
        let middle = (self.finite(low) + self.finite(low + 1)) / 2.0;
        let up = value > middle || value == middle && low % 2 == 1;
        let nearest = low + u64::from(up);
        sign | match self.infinite {
            _ if nearest <= self.largest => nearest,
            Some(infinite) if !self.saturates => infinite,
            _ => self.largest,
        }
    }

    /// Every `step`-th number, and what lies in the middle between it and the next.
    fn edges(&self, step: usize) -> Vec<f64> {
        let all = (0..=self.largest).step_by(step).chain([1, self.largest]);
        let both =
            all.flat_map(|at| [self.finite(at), (self.finite(at) + self.finite(at + 1)) / 2.0]);
        both.chain([f64::INFINITY, f64::NAN]).collect()
    }
}

/// Implements [`Sample`] for a format of the oracle's.
macro_rules! narrow {
    ($($number:ty: $format:expr, $bits:ty, every $step:literal);+ $(;)?) => { $(
        impl Sample for $number {
            fn of_bits(bits: u64) -> Self {
                <$number>::from_bits(bits as $bits)
            }

            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            fn value(self) -> f64 {
                $format.value(self.bits())
            }

            fn rounded(value: f64) -> Self {
                Self::of_bits($format.rounded(value))
            }

            const WIDE: bool = false;

            fn edges() -> Vec<f64> {
                $format.edges($step)
            }
        }
    )+ };
}

narrow! {
    E4M3: OF_E4M3, u8, every 1;
    E5M2: OF_E5M2, u8, every 1;
    f16: OF_F16, u16, every 397;
    bf16: OF_BF16, u16, every 401;
}

macro_rules! integers {
    ($($number:ty: $wide:literal),+ $(,)?) => { $(
        impl Sample for $number {
            fn of_bits(bits: u64) -> Self {
                bits as $number
            }

            fn bits(self) -> u64 {
                self as u64 & (u64::MAX >> (64 - Self::BITS))
            }

            fn value(self) -> f64 {
                self as f64
            }

            fn rounded(value: f64) -> Self {
                value.round_ties_even() as $number
            }

            const WIDE: bool = $wide;

            fn edges() -> Vec<f64> {
                let around = [<$number>::MIN, 0, 1, 2, 3, 100, <$number>::MAX];
                let halves = |at: $number| [-0.5, 0.0, 0.5].map(|half| at as f64 + half);
                around.into_iter().flat_map(halves).collect()
            }
        }
    )+ };
}

integers! { u8: false, i8: false, u16: false, i16: false, u32: true, i32: true }

impl Sample for f32 {
    fn of_bits(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }

    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }

    fn value(self) -> f64 {
        f64::from(self)
    }

    fn rounded(value: f64) -> Self {
        if value.is_nan() { f32::from_bits(0x7fff_ffff) } else { value as f32 }
    }

    const WIDE: bool = false;

    fn edges() -> Vec<f64> {
        let bits =
            [0, 1, 2, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x3f80_0001, 0x4b7f_ffff, 0x7f7f_ffff];
        let value = |bits: u32| f64::from(f32::from_bits(bits));
        // The middle behind the largest number is where others become infinite.
        let next = |bits: u32| if bits == 0x7f7f_ffff { 2f64.powi(128) } else { value(bits + 1) };
        let both = bits.into_iter().flat_map(|at| [value(at), (value(at) + next(at)) / 2.0]);
        both.chain([f64::INFINITY, f64::NAN]).collect()
    }
}

impl Sample for f64 {
    fn of_bits(bits: u64) -> Self {
        f64::from_bits(bits)
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn value(self) -> f64 {
        self
    }

    fn rounded(value: f64) -> Self {
        if value.is_nan() { f64::from_bits(u64::MAX >> 1) } else { value }
    }

    const WIDE: bool = true;

    fn edges() -> Vec<f64> {
        let bits = [0, 1, 0xf_ffff_ffff_ffff, 0x10_0000_0000_0000, 0x7fef_ffff_ffff_ffff];
        let values = bits.into_iter().map(f64::from_bits);
        values.chain([1.0, 1e300, 0.1, f64::INFINITY, f64::NAN]).collect()
    }
}

/// Numbers `T` around every value at which what becomes of them as `U` changes, or as `T`; and some more.
pub fn edges<T: Sample, U: Sample>() -> Vec<T> {
    let values = U::edges().into_iter().chain(T::edges());
    let near = values.flat_map(|value| {
        let bits = T::rounded(value).bits();
        let around = [bits, bits.wrapping_add(1), bits.wrapping_sub(1)];
        around.into_iter().flat_map(|bits| [bits, bits ^ 1 << (T::BITS - 1)])
    });
    let all: Vec<u64> = if T::BITS == 8 { (0..256).collect() } else { near.collect() };
    all.into_iter().map(T::of_bits).collect()
}

/// What `alpha · a + beta · b` is as a `U`: each operation is rounded.
pub fn computed<T: Sample, U: Sample>(alpha: f64, a: T, other: Option<(f64, U)>) -> U {
    if T::WIDE || U::WIDE {
        let product = alpha * a.value();
        return U::rounded(other.map_or(product, |(beta, b)| product + beta * b.value()));
    }
    let product = alpha as f32 * a.value() as f32;
    U::rounded(f64::from(
        other.map_or(product, |(beta, b)| product + beta as f32 * b.value() as f32),
    ))
}
