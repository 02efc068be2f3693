//! The values that instructions are tried on: the edges of each kind of number, and random ones.

/// A generator whose numbers are the same for ever, as the table's hashes need: SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for one seed and one name.
    pub fn new(seed: u64, name: &str) -> Random {
        Random(name.bytes().fold(seed, |state, byte| hash(state, u64::from(byte))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of many numbers, one after the other.
pub fn hash(state: u64, value: u64) -> u64 {
    mix(state.rotate_left(5) ^ value.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// A format of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits in all.
    pub bits: u32,
    /// Bits of the fraction.
    pub fraction: u32,
}

/// IEEE's formats, and the upper half of a single.
pub const F16: Format = Format { bits: 16, fraction: 10 };
/// The upper half of a single.
pub const BF16: Format = Format { bits: 16, fraction: 7 };
/// A single.
pub const F32: Format = Format { bits: 32, fraction: 23 };
/// A double.
pub const F64: Format = Format { bits: 64, fraction: 52 };

/// What an operand stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// An integer, with the number of its bits.
    Int(u32),
    /// A number.
    Float(Format),
    /// Two numbers in one register.
    Pair(Format),
    /// How far to shift, or where a field of bits lies: 32 bits of which few are sensible.
    Amount,
    /// A predicate.
    Bool,
    /// One of few values, so that lanes agree now and then.
    Few,
}

impl Values {
    /// The values worth trying with each other, the most telling ones first.
    pub fn edges(self) -> Vec<u64> {
        match self {
            Values::Int(bits) => integers(bits),
            Values::Float(format) => floats(format),
            Values::Pair(format) => {
                let numbers = floats(format);
                let pair = |at: usize| numbers[at] | numbers[(at * 7 + 3) % numbers.len()] << 16;
                (0..numbers.len()).map(pair).collect()
            }
            Values::Amount => {
                vec![
                    0,
                    1,
                    31,
                    32,
                    33,
                    63,
                    64,
                    255,
                    256,
                    7,
                    15,
                    16,
                    17,
                    65,
                    128,
                    1 << 31,
                    0xffff_ffff,
                ]
            }
            Values::Bool => vec![0, 1],
            Values::Few => (0..4).collect(),
        }
    }

    /// A random value: of any bits, or of a size that is likely to tell something.
    pub fn random(self, random: &mut Random) -> u64 {
        let (bits, how) = (random.bits(), random.bits());
        match self {
            Values::Int(width) => {
                let cut = bits & u64::MAX >> (64 - width);
                match how % 4 {
                    0 => cut >> ((how >> 8) % u64::from(width)),
                    1 => !(cut >> ((how >> 8) % u64::from(width))) & u64::MAX >> (64 - width),
                    _ => cut,
                }
            }
            Values::Float(format) => float(format, bits, how),
            Values::Pair(format) => {
                float(format, bits, how) | float(format, bits >> 32, how >> 16) << 16
            }
            Values::Amount => match how % 4 {
                0 => bits & 0xffff_ffff,
                1 => bits & 0x1ff,
                _ => bits & 0x3f,
            },
            Values::Bool => bits & 1,
            Values::Few => bits & 3,
        }
    }
}

fn integers(bits: u32) -> Vec<u64> {
    let ones = u64::MAX >> (64 - bits);
    let top = 1 << (bits - 1);
    let all = [
        0,
        1,
        ones,
        top,
        top - 1,
        2,
        ones - 1,
        top + 1,
        7,
        0x80,
        0xff,
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        3,
        10,
        0x7f,
        0x100,
        0x7fff,
        0x8000,
        0xffff,
        0x1_0000,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x1_0000_0000,
        0x1234_5678_9abc_def0,
    ];
    let mut edges: Vec<u64> = Vec::new();
    for value in all {
        if !edges.contains(&(value & ones)) {
            edges.push(value & ones);
        }
    }
    edges
}

/// Zeros, the least and greatest, infinities, NaNs of all kinds, numbers between integers, and powers of two at which integers end.
fn floats(format: Format) -> Vec<u64> {
    let Format { bits, fraction } = format;
    let sign = 1 << (bits - 1);
    let infinity = sign - (1 << fraction);
    let quiet = 1 << (fraction - 1);
    let bias = (infinity >> fraction) / 2;
    let power = |exponent: i64| ((bias as i64 + exponent) as u64) << fraction;
    let one = power(0);
    let mut all = vec![
        0,
        sign,
        one,
        infinity,
        infinity | sign,
        infinity | quiet | 5,
        infinity | quiet | sign | 9,
        infinity | 1,
        infinity | sign | 3,
        1,
        one | sign | quiet,
        infinity - 1,
        (1 << fraction) - 1,
        1 << fraction,
        sign | 1,
        sign | (infinity - 1),
        sign - 1,
        infinity | quiet,
        power(-1),
        one | 1,
        one - 1,
        one | sign,
        one | quiet,
        power(1) | quiet >> 1,
        sign | power(-1),
        power(1) | quiet,
        power(-1) - 1,
        power(-2) | 1,
    ];
    let highest = (bias as i64).min(65);
    for exponent in [7, 8, 15, 16, 31, 32, 63, 64].into_iter().filter(|e| *e <= highest) {
        let at = power(exponent);
        all.extend([at, at - 1, at + 1, at | sign, (at - 1) | sign, (at + 1) | sign]);
    }
    all
}

/// A number of any bits, or one of middling size.
fn float(format: Format, bits: u64, how: u64) -> u64 {
    let Format { bits: width, fraction } = format;
    let any = bits & u64::MAX >> (64 - width);
    if how.is_multiple_of(4) {
        return any;
    }
    let exponents = (1u64 << (width - 1 - fraction)) - 1;
    let (bias, near) = (exponents / 2, (exponents / 4).min(70));
    let exponent = bias - near + (how >> 8) % (2 * near);
    let keep = 1 << (width - 1) | ((1u64 << fraction) - 1);
    // Few bits now and then, so that results are exact or half way between two numbers.
    let spread =
        if how % 4 == 1 { u64::MAX << ((how >> 40) % u64::from(fraction)) } else { u64::MAX };
    any & keep & (spread | 1 << (width - 1)) | exponent << fraction
}
