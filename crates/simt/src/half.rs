//! Floating-point numbers of 16 bits, which are converted from and to others and have no other arithmetic here.

/// Bits of the fraction.
const FRACTION: u32 = 10;

/// The exponent of the least normal number.
const LEAST: i32 = -14;

/// The NaN that GPUs produce.
const NAN: u16 = 0x7fff;

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

/// The nearest number, of two the one whose last bit is 0.
pub(crate) fn of_f64(value: f64) -> u16 {
    if value.is_nan() {
        return NAN;
    }
    let sign = u16::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    // The exponent of a double that is normal; for the others, as for all that is less than a half's, the least is right.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(LEAST);
    if exponent > 15 {
        return sign | 0x7c00;
    }
    // In units of the last place, exactly: a product by a power of two. A carry goes into the exponent as it should, into infinity too.
    let units = (magnitude * power(FRACTION as i32 - exponent)).round_ties_even() as u16;
    let biased = ((exponent - LEAST) as u16) << FRACTION;
    sign | (biased + units)
}

/// 2 to the power of `exponent`, that of a normal number.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::{of_f64, to_f64};

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
}
