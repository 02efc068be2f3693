//! Numbers out of the bits of a format, and back.
//!
//! Each number of every format is exactly one that is computed with, so that what is rounded is the result: to the nearest number of its format, of two equally
//! near ones to the one whose last bit is 0.
//!
//! | result | integers | 8 bits (`E4M3`, `E5M2`) | 16, 32, 64 bits |
//! |---|---|---|---|
//! | larger than the largest | the largest | the largest | infinite, if nearer to what would be the next |
//! | infinite | the largest or least | the largest, with its sign | infinite |
//! | no number | 0 | `0x7f` | all bits but the sign set |
//!
//! Subnormal numbers are numbers like others.

use super::real::{half_of, of_half, Real};
use crate::element::B16;
use kernel_abi::arithmetic::Format;

/// The bits of the `j`-th number of `BYTES` bytes, up to 4.
#[inline(always)]
fn part<const BYTES: usize>(vector: B16, j: usize) -> u32 {
    let word = vector.u32s()[j * BYTES / 4];
    match BYTES {
        1 => (word >> (8 * (j % 4))) & 0xff,
        2 => (word >> (16 * (j % 2))) & 0xffff,
        _ => word,
    }
}

/// The vector of numbers of `BYTES` bytes, up to 4, each in the lower bits of a word whose others are 0.
#[inline(always)]
fn vector<const BYTES: usize, const N: usize>(parts: [u32; N]) -> B16 {
    let mut words = [0u32; 4];
    for j in 0..N {
        words[j * BYTES / 4] |= parts[j] << (8 * (j * BYTES % 4));
    }
    B16::from_u32s(words)
}

/// An array of what `$value` is for each of its indices.
macro_rules! each {
    ($any:expr, |$j:ident| $value:expr) => {{
        let mut all = [$any; N];
        for $j in 0..N {
            all[$j] = $value;
        }
        all
    }};
}

/// The numbers of `BYTES` bytes that a vector begins with.
#[inline(always)]
pub fn decode<F: Real, const BYTES: usize, const N: usize>(format: u32, from: B16) -> [F; N] {
    let is = |other: Format| format == other as u32;
    let bits = |j: usize| part::<BYTES>(from, j);
    match BYTES {
        1 if is(Format::U8) => each!(F::ZERO, |j| F::of_unsigned(bits(j))),
        1 if is(Format::I8) => each!(F::ZERO, |j| F::of_integer(bits(j) as i8 as i32)),
        1 if is(Format::E4M3) => each!(F::ZERO, |j| F::of_f32(of_e4m3(bits(j)))),
        1 => each!(F::ZERO, |j| F::of_f32(of_half((bits(j) << 8) as u16))),
        2 if is(Format::U16) => each!(F::ZERO, |j| F::of_unsigned(bits(j))),
        2 if is(Format::I16) => each!(F::ZERO, |j| F::of_integer(bits(j) as i16 as i32)),
        2 if is(Format::F16) => each!(F::ZERO, |j| F::of_f32(of_half(bits(j) as u16))),
        2 => each!(F::ZERO, |j| F::of_f32(f32::from_bits(bits(j) << 16))),
        4 if is(Format::U32) => each!(F::ZERO, |j| F::of_unsigned(bits(j))),
        4 if is(Format::I32) => each!(F::ZERO, |j| F::of_integer(bits(j) as i32)),
        4 => each!(F::ZERO, |j| F::of_f32(f32::from_bits(bits(j)))),
        _ => each!(F::ZERO, |j| F::of_f64(f64::from_bits(from.u64s()[j]))),
    }
}

/// A vector that begins with numbers of `BYTES` bytes.
#[inline(always)]
pub fn encode<F: Real, const BYTES: usize, const N: usize>(format: u32, values: [F; N]) -> B16 {
    let is = |other: Format| format == other as u32;
    let clamped = |j: usize, low: i32, high: i32| {
        let nearest = F::to_integer(values[j]).clamp(low, high) as u32;
        nearest & (u32::MAX >> (32 - 8 * BYTES))
    };
    match BYTES {
        1 if is(Format::U8) => vector::<1, N>(each!(0, |j| clamped(j, 0, 0xff))),
        1 if is(Format::I8) => vector::<1, N>(each!(0, |j| clamped(j, -0x80, 0x7f))),
        1 if is(Format::E4M3) => vector::<1, N>(each!(0, |j| E4M3.of(values[j].to_f32_odd()))),
        1 => vector::<1, N>(each!(0, |j| E5M2.of(values[j].to_f32_odd()))),
        2 if is(Format::U16) => vector::<2, N>(each!(0, |j| clamped(j, 0, 0xffff))),
        2 if is(Format::I16) => vector::<2, N>(each!(0, |j| clamped(j, -0x8000, 0x7fff))),
        2 if is(Format::F16) => {
            vector::<2, N>(each!(0, |j| half_of(values[j].to_f32_odd()) as u32))
        }
        2 => vector::<2, N>(each!(0, |j| to_bf16(values[j].to_f32_odd()))),
        4 if is(Format::U32) => vector::<4, N>(each!(0, |j| values[j].to_unsigned())),
        4 if is(Format::I32) => vector::<4, N>(each!(0, |j| values[j].to_integer() as u32)),
        4 => vector::<4, N>(each!(0, |j| {
            let nearest = values[j].to_f32();
            if nearest.is_nan() {
                0x7fff_ffff
            } else {
                nearest.to_bits()
            }
        })),
        _ => {
            let bits = |j: usize| {
                let value = values[j].to_f64();
                if value.is_nan() {
                    u64::MAX >> 1
                } else {
                    value.to_bits()
                }
            };
            B16::from_u64s([bits(0), if N > 1 { bits(N - 1) } else { 0 }])
        }
    }
}

/// Everything of a number's bits but the sign.
const MAGNITUDE: u32 = u32::MAX >> 1;

/// The number that is infinite.
const INFINITE: u32 = 0xff << 23;

/// The bits of 2 to the power of `exponent`.
const fn power(exponent: i32) -> u32 {
    ((127 + exponent) as u32) << 23
}

/// The number that these 8 bits are: shifted to their places, the exponent is that of another bias.
#[inline(always)]
fn of_e4m3(bits: u32) -> f32 {
    let magnitude = bits & 0x7f;
    let value = f32::from_bits(magnitude << 20) * f32::from_bits(power(120));
    let value = value.to_bits() | (bits & 0x80) << 24;
    f32::from_bits(if magnitude == 0x7f { MAGNITUDE } else { value })
}

/// The upper half of the number, rounded.
#[inline(always)]
fn to_bf16(value: f32) -> u32 {
    let bits = value.to_bits();
    // A carry goes into the exponent as it should.
    let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    if bits & MAGNITUDE > INFINITE {
        0x7fff
    } else {
        nearest
    }
}

/// A format of 8 bits whose largest number takes the place of all that are larger.
struct Narrow {
    /// Bits of its fraction.
    fraction: u32,
    /// The exponent of its least normal number.
    least: i32,
    /// The bits of its largest number, as one of 32 bits.
    largest: u32,
}

const E4M3: Narrow = Narrow { fraction: 3, least: -6, largest: power(8) + (6 << 20) };
const E5M2: Narrow = Narrow { fraction: 2, least: -14, largest: power(15) + (3 << 21) };

impl Narrow {
    /// The nearest number, as bits.
    #[inline(always)]
    fn of(&self, value: f32) -> u32 {
        let bits = value.to_bits();
        let magnitude = (bits & MAGNITUDE).min(self.largest);
        let cut = 23 - self.fraction;
        // A carry goes into the exponent as it should; the exponent gets the other bias.
        let normal = (magnitude + (1 << (cut - 1)) - 1 + ((magnitude >> cut) & 1)) >> cut;
        let normal = normal.wrapping_sub(((self.least + 126) as u32) << self.fraction);
        // The last place of this sum is that of subnormal numbers: to add is to round.
        let place = power(23 + self.least - self.fraction as i32);
        let sum = f32::from_bits(magnitude) + f32::from_bits(place);
        let subnormal = sum.to_bits() - place;
        let nearest = if magnitude < power(self.least) { subnormal } else { normal };
        if bits & MAGNITUDE > INFINITE {
            0x7f
        } else {
            nearest | (bits >> 24 & 0x80)
        }
    }
}
