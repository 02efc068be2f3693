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

use super::real::{
    half_of, halves_of_e4m3, has_pairs, of_half, pair_of_bf16, pair_of_e4m3, pair_of_e5m2,
    pair_of_f16, pair_of_i16, pair_of_i8, pair_of_u16, pair_of_u8, Real,
};
use crate::element::B16;
use crate::tensor::axes::unrolled;
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

/// Runs a body for each number of each vector, written out once for each: as constants, `$k` of `K` and `$j` of `N`.
macro_rules! for_numbers {
    ($k:ident of $vectors:expr, $j:ident of $numbers:expr => $body:block) => {
        unrolled! { $k in [0 1 2 3] of $vectors => {
            unrolled! { $j in [0 1 2 3 4 5 6 7] of $numbers => $body }
        } }
    };
}
pub(super) use for_numbers;

/// An array of what `$value` is for each number of each vector.
macro_rules! each {
    ($any:expr, |$k:ident, $j:ident| $value:expr) => {{
        let mut all = [[$any; N]; K];
        for_numbers! { $k of K, $j of N => { all[$k][$j] = $value; } }
        all
    }};
}

/// The vectors of numbers of `BYTES` bytes, up to 4, each in the lower bits of a word whose others are 0.
#[inline(always)]
fn vectors<const BYTES: usize, const N: usize, const K: usize>(parts: [[u32; N]; K]) -> [B16; K] {
    let mut all = [B16::from_u32s([0; 4]); K];
    unrolled! { V in [0 1 2 3] of K => {
        let mut words = [0u32; 4];
        unrolled! { J in [0 1 2 3 4 5 6 7] of N => {
            words[J * BYTES / 4] |= parts[V][J] << (8 * (J * BYTES % 4));
        } }
        all[V] = B16::from_u32s(words);
    } }
    all
}

/// The vectors of numbers of `BYTES` bytes, of which an instruction makes two.
#[inline(always)]
fn vectors_of_pairs<F: Real, const BYTES: usize, const N: usize, const K: usize>(
    values: [[F; N]; K],
    pair: impl Fn(F, F) -> u32,
) -> [B16; K] {
    let mut parts = [[0; N]; K];
    for_numbers! { V of K, J of N => {
        if J.is_multiple_of(2) {
            let high = if J + 1 < N { values[V][(J + 1) % N] } else { F::ZERO };
            parts[V][J] = pair(values[V][J], high);
        }
    } }
    vectors::<BYTES, N, K>(parts)
}

/// Two integers, each the nearest that `BYTES` bytes have, 1 or 2; the first one in the lower bits.
#[inline(always)]
fn pair_of_integers<const BYTES: usize>(is_signed: bool, low: i32, high: i32) -> u32 {
    if has_pairs() {
        return match (BYTES, is_signed) {
            (1, false) => pair_of_u8(low, high),
            (1, true) => pair_of_i8(low, high),
            (_, false) => pair_of_u16(low, high),
            (_, true) => pair_of_i16(low, high),
        };
    }
    let all = u32::MAX >> (32 - 8 * BYTES);
    let largest = (if is_signed { all >> 1 } else { all }) as i32;
    let least = if is_signed { -largest - 1 } else { 0 };
    let cut = |value: i32| value.clamp(least, largest) as u32 & all;
    cut(low) | cut(high) << (8 * BYTES)
}

/// Two numbers of `E4M3` at a time, by way of halves.
#[inline(always)]
fn of_pairs_of_e4m3<F: Real, const N: usize, const K: usize>(from: [B16; K]) -> [[F; N]; K] {
    let mut halves = 0;
    each!(F::ZERO, |V, J| {
        if J.is_multiple_of(2) {
            halves = halves_of_e4m3(part::<2>(from[V], J / 2) as u16);
        }
        F::of_f32(of_half((halves >> (16 * (J % 2))) as u16))
    })
}

/// The `N` numbers of `BYTES` bytes that each vector begins with.
#[inline(always)]
pub fn decode<F: Real, const BYTES: usize, const N: usize, const K: usize>(
    format: u32,
    from: [B16; K],
) -> [[F; N]; K] {
    let is = |other: Format| format == other as u32;
    let bits = |k: usize, j: usize| part::<BYTES>(from[k], j);
    match BYTES {
        1 if is(Format::U8) => each!(F::ZERO, |V, J| F::of_unsigned(bits(V, J))),
        1 if is(Format::E4M3) && has_pairs() => of_pairs_of_e4m3(from),
        1 if is(Format::E4M3) => each!(F::ZERO, |V, J| F::of_f32(of_e4m3(bits(V, J)))),
        1 if is(Format::I8) => each!(F::ZERO, |V, J| F::of_integer(bits(V, J) as i8 as i32)),
        1 => each!(F::ZERO, |V, J| F::of_f32(of_half((bits(V, J) << 8) as u16))),
        2 if is(Format::F16) => each!(F::ZERO, |V, J| F::of_f32(of_half(bits(V, J) as u16))),
        2 if is(Format::BF16) => {
            each!(F::ZERO, |V, J| F::of_f32(f32::from_bits(bits(V, J) << 16)))
        }
        2 if is(Format::U16) => each!(F::ZERO, |V, J| F::of_unsigned(bits(V, J))),
        2 => each!(F::ZERO, |V, J| F::of_integer(bits(V, J) as i16 as i32)),
        4 if F::HOLDS_INTEGERS && is(Format::U32) => {
            each!(F::ZERO, |V, J| F::of_unsigned(bits(V, J)))
        }
        4 if F::HOLDS_INTEGERS && is(Format::I32) => {
            each!(F::ZERO, |V, J| F::of_integer(bits(V, J) as i32))
        }
        4 => each!(F::ZERO, |V, J| F::of_f32(f32::from_bits(bits(V, J)))),
        _ => each!(F::ZERO, |V, J| F::of_f64(f64::from_bits(from[V].u64s()[J % 2]))),
    }
}

/// Vectors that each begin with `N` numbers of `BYTES` bytes.
#[inline(always)]
pub fn encode<F: Real, const BYTES: usize, const N: usize, const K: usize>(
    format: u32,
    values: [[F; N]; K],
) -> [B16; K] {
    let is = |other: Format| format == other as u32;
    let of_integers = |is_signed: bool| {
        move |a: F, b: F| pair_of_integers::<BYTES>(is_signed, a.to_integer(), b.to_integer())
    };
    let of_f32s =
        |pair: fn(f32, f32) -> u32| move |a: F, b: F| pair(a.to_f32_odd(), b.to_f32_odd());
    let pairs = has_pairs();
    match BYTES {
        1 if is(Format::U8) => vectors_of_pairs::<F, 1, N, K>(values, of_integers(false)),
        1 if is(Format::I8) => vectors_of_pairs::<F, 1, N, K>(values, of_integers(true)),
        1 if is(Format::E4M3) && pairs => {
            vectors_of_pairs::<F, 1, N, K>(values, of_f32s(pair_of_e4m3))
        }
        1 if is(Format::E4M3) => {
            vectors::<1, N, K>(each!(0, |V, J| E4M3.of(values[V][J].to_f32_odd())))
        }
        1 if pairs => vectors_of_pairs::<F, 1, N, K>(values, of_f32s(pair_of_e5m2)),
        1 => vectors::<1, N, K>(each!(0, |V, J| E5M2.of(values[V][J].to_f32_odd()))),
        2 if is(Format::U16) => vectors_of_pairs::<F, 2, N, K>(values, of_integers(false)),
        2 if is(Format::I16) => vectors_of_pairs::<F, 2, N, K>(values, of_integers(true)),
        2 if is(Format::F16) && pairs => {
            vectors_of_pairs::<F, 2, N, K>(values, of_f32s(pair_of_f16))
        }
        2 if is(Format::F16) => {
            vectors::<2, N, K>(each!(0, |V, J| half_of(values[V][J].to_f32_odd()) as u32))
        }
        2 if pairs => vectors_of_pairs::<F, 2, N, K>(values, of_f32s(pair_of_bf16)),
        2 => vectors::<2, N, K>(each!(0, |V, J| to_bf16(values[V][J].to_f32_odd()))),
        4 if F::HOLDS_INTEGERS && is(Format::U32) => {
            vectors::<4, N, K>(each!(0, |V, J| values[V][J].to_unsigned()))
        }
        4 if F::HOLDS_INTEGERS && is(Format::I32) => {
            vectors::<4, N, K>(each!(0, |V, J| values[V][J].to_integer() as u32))
        }
        4 => vectors::<4, N, K>(each!(0, |V, J| values[V][J].to_f32_bits())),
        _ => {
            let mut all = [B16::from_u32s([0; 4]); K];
            unrolled! { V in [0 1 2 3] of K => {
                let bits = |j: usize| {
                    let value = values[V][j].to_f64();
                    if value.is_nan() {
                        u64::MAX >> 1
                    } else {
                        value.to_bits()
                    }
                };
                all[V] = B16::from_u64s([bits(0), if N > 1 { bits(N - 1) } else { 0 }]);
            } }
            all
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
