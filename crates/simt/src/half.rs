//! Floating-point numbers of 8 and 16 bits, which others are converted to, and of 16 bits, which are converted to others. They have no other arithmetic here.

/// Bits of the fraction.
const FRACTION: u32 = 10;

/// The exponent of the least normal number.
const LEAST: i32 = -14;

/// The number, exactly.
pub(crate) fn to_f64(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> FRACTION & 0x1f), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * power(LEAST - FRACTION as i32),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * power(exponent - 1 + LEAST - FRACTION as i32),
    };
    if bits >> 15 == 0 { magnitude } else { -magnitude }
}

/// The nearest half, of two the one whose last bit is 0.
pub(crate) fn of_f64(value: f64) -> u16 {
    Narrow::F16.of_f64(value)
}

/// A format of 8 or 16 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Narrow {
    /// IEEE's of 16 bits.
    F16,
    /// The upper half of 32 bits.
    Bf16,
    /// Of 8 bits, 4 of them the exponent's; the largest number takes the place of all beyond it.
    E4m3,
    /// Of 8 bits, 5 of them the exponent's; likewise.
    E5m2,
}

impl Narrow {
    /// Bits of a number.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Narrow::F16 | Narrow::Bf16 => 16,
            Narrow::E4m3 | Narrow::E5m2 => 8,
        }
    }

    /// Bits of the fraction, the exponent of the least normal number, and the bits of what takes the place of all numbers beyond the largest.
    fn shape(self) -> (u32, i32, u32) {
        match self {
            Narrow::F16 => (FRACTION, LEAST, 0x7c00),
            Narrow::Bf16 => (7, -126, 0x7f80),
            Narrow::E4m3 => (3, -6, 0x7e),
            Narrow::E5m2 => (2, -14, 0x7b),
        }
    }

    /// The nearest number, of two the one whose last bit is 0.
    pub(crate) fn of_f64(self, value: f64) -> u16 {
        let (fraction, least, beyond) = self.shape();
        let sign = 1 << (self.bits() - 1);
        if value.is_nan() {
            // The NaN that GPUs produce.
            return sign - 1;
        }
        let magnitude = value.abs();
        // The exponent of a double that is normal; for the others, as for all that is less than a normal number here, the least is right.
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
        // In units of the last place, exactly: a product by a power of two. A carry goes into the exponent as it should.
        let units = (magnitude * power(fraction as i32 - exponent)).round_ties_even() as u32;
        let nearest = (((exponent - least) as u32) << fraction).saturating_add(units).min(beyond);
        nearest as u16 | if value.is_sign_negative() { sign } else { 0 }
    }

    /// The half that a number of 8 bits is, exactly; of what is no number the one that GPUs make.
    pub(crate) fn half(self, bits: u8) -> u16 {
        let (sign, magnitude) = (u16::from(bits & 0x80) << 8, u16::from(bits & 0x7f));
        let (fraction, least, largest) = self.shape();
        if self == Narrow::E4m3 && u32::from(magnitude) > largest {
            return 0x7fff;
        }
        // As a half these bits have another bias: the exponent is that much too small.
        let shifted = to_f64(sign | magnitude << (FRACTION - fraction));
        of_f64(shifted * power(least - LEAST))
    }
}

/// 2 to the power of `exponent`, that of a normal number.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::{Narrow, of_f64, to_f64};

    #[test]
    fn every_half_is_itself() {
        for bits in 0..=u16::MAX {
            let is_nan = bits & 0x7fff > 0x7c00;
            assert_eq!(of_f64(to_f64(bits)), if is_nan { 0x7fff } else { bits });
        }
    }

    /// Between two neighbours the nearer one, in the middle the even one.
    #[test]
    fn the_nearest() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (to_f64(bits), to_f64(bits + 1));
            let middle = (low + high) / 2.0;
            assert_eq!(of_f64(middle), bits + bits % 2);
            assert_eq!(of_f64(f64::from_bits(middle.to_bits() - 1)), bits);
            assert_eq!(of_f64(-f64::from_bits(middle.to_bits() + 1)), (bits + 1) | 0x8000);
        }
        assert_eq!([65519.999, 65520.0, 1e300, 5e-324].map(of_f64), [0x7bff, 0x7c00, 0x7c00, 0]);
    }

    #[test]
    fn every_number_of_eight_bits_is_itself_as_a_half() {
        for format in [Narrow::E4m3, Narrow::E5m2] {
            for bits in 0..=u8::MAX {
                let half = format.half(bits);
                let is_nan = half & 0x7fff > 0x7c00;
                // An infinite number is not among those that numbers are made.
                if half & 0x7fff != 0x7c00 {
                    let back = format.of_f64(to_f64(half));
                    assert_eq!(back, if is_nan { 0x7f } else { u16::from(bits) }, "{format:?}");
                }
            }
        }
        let ones = [Narrow::E4m3.half(0x38), Narrow::E5m2.half(0x3c)];
        assert_eq!(ones, [0x3c00; 2]);
        assert_eq!([Narrow::E4m3.half(0x7e), Narrow::E5m2.half(0xfc)], [0x5f00, 0xfc00]);
    }

    #[test]
    fn formats_of_eight_bits_and_the_upper_half() {
        let of = |format: Narrow| {
            [1.0, -1.0, 1e30, f64::NEG_INFINITY, f64::NAN, 0.0].map(|value| format.of_f64(value))
        };
        assert_eq!(of(Narrow::E4m3), [0x38, 0xb8, 0x7e, 0xfe, 0x7f, 0]);
        assert_eq!(of(Narrow::E5m2), [0x3c, 0xbc, 0x7b, 0xfb, 0x7f, 0]);
        assert_eq!(of(Narrow::Bf16), [0x3f80, 0xbf80, 0x714a, 0xff80, 0x7fff, 0]);
        // The least number, half of it, and a little more.
        let (least, little) = (0.001953125, f64::EPSILON);
        let values = [least, least / 2.0, least / 2.0 + little, 464.0, 448.0];
        assert_eq!(values.map(|value| Narrow::E4m3.of_f64(value)), [1, 0, 1, 0x7e, 0x7e]);
    }
}
