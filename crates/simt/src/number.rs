//! PTX arithmetic on single values: pure functions, total on every input.
//!
//! Registers hold bits, so signed and floating-point operations are methods of
//! the unsigned types, as they are of PTX's registers.

use crate::half;
use crate::isa::{Convert, FloatCompare, IntType, Rounding};

/// The operations PTX has on values of 16, 32 and 64 bits.
#[allow(missing_docs)]
pub(crate) trait Number: Copy + PartialEq + PartialOrd {
    fn from_u32(value: u32) -> Self;
    fn add(self, b: Self) -> Self;
    fn sub(self, b: Self) -> Self;
    fn mul_lo(self, b: Self) -> Self;
    fn mul_hi_u(self, b: Self) -> Self;
    fn mul_hi_s(self, b: Self) -> Self;
    /// All ones where `b` is zero, which is what GPUs return.
    fn div_u(self, b: Self) -> Self;
    fn div_s(self, b: Self) -> Self;
    /// All ones where `b` is zero, as well.
    fn rem_u(self, b: Self) -> Self;
    fn rem_s(self, b: Self) -> Self;
    fn min_u(self, b: Self) -> Self;
    fn min_s(self, b: Self) -> Self;
    fn max_u(self, b: Self) -> Self;
    fn max_s(self, b: Self) -> Self;

    /// The signed number itself, or 0 if it is negative.
    fn not_negative(self) -> Self {
        self.max_s(self.xor(self))
    }

    fn and(self, b: Self) -> Self;
    fn or(self, b: Self) -> Self;
    fn xor(self, b: Self) -> Self;
    fn not(self) -> Self;
    fn cnot(self) -> Self;
    fn neg(self) -> Self;
    fn abs_s(self) -> Self;
    fn popc(self) -> u32;
    fn clz(self) -> u32;
    /// Position of the highest bit that differs from the sign (from zero if
    /// unsigned), or all ones; with `shift`, how far left it would have to move.
    fn bfind(self, signed: bool, shift: bool) -> u32;
    fn brev(self) -> Self;
    fn lt_s(self, b: Self) -> bool;
    fn is_negative(self) -> bool;
    /// Shifts by the width or more give zero (or all signs), as on hardware.
    fn shl(self, by: u32) -> Self;
    fn shr_u(self, by: u32) -> Self;
    fn shr_s(self, by: u32) -> Self;
    fn prmt(self, b: Self, selector: Self) -> Self;
    fn f_neg(self) -> Self;
    fn f_abs(self) -> Self;
    fn f_sqrt(self) -> Self;
    fn f_rcp(self) -> Self;
    fn f_add(self, b: Self) -> Self;
    fn f_sub(self, b: Self) -> Self;
    fn f_mul(self, b: Self) -> Self;
    fn f_div(self, b: Self) -> Self;
    fn f_min(self, b: Self) -> Self;
    fn f_max(self, b: Self) -> Self;
    fn f_fma(self, b: Self, c: Self) -> Self;
    /// `None` where an operand is NaN.
    fn f_compare(self, b: Self, how: FloatCompare) -> Option<bool>;
}

macro_rules! integer_methods {
    ($u:ty, $s:ty, $wide_u:ty, $wide_s:ty) => {
        #[inline(always)]
        fn from_u32(value: u32) -> $u {
            value as $u
        }
        #[inline(always)]
        fn add(self, b: $u) -> $u {
            self.wrapping_add(b)
        }
        #[inline(always)]
        fn sub(self, b: $u) -> $u {
            self.wrapping_sub(b)
        }
        #[inline(always)]
        fn mul_lo(self, b: $u) -> $u {
            self.wrapping_mul(b)
        }
        #[inline(always)]
        fn mul_hi_u(self, b: $u) -> $u {
            ((self as $wide_u * b as $wide_u) >> <$u>::BITS) as $u
        }
        #[inline(always)]
        fn mul_hi_s(self, b: $u) -> $u {
            ((self as $s as $wide_s * b as $s as $wide_s) >> <$u>::BITS) as $u
        }
        #[inline(always)]
        fn div_u(self, b: $u) -> $u {
            self.checked_div(b).unwrap_or(<$u>::MAX)
        }
        #[inline(always)]
        fn div_s(self, b: $u) -> $u {
            if b == 0 { <$u>::MAX } else { (self as $s).wrapping_div(b as $s) as $u }
        }
        #[inline(always)]
        fn rem_u(self, b: $u) -> $u {
            self.checked_rem(b).unwrap_or(<$u>::MAX)
        }
        #[inline(always)]
        fn rem_s(self, b: $u) -> $u {
            if b == 0 { <$u>::MAX } else { (self as $s).wrapping_rem(b as $s) as $u }
        }
        #[inline(always)]
        fn min_u(self, b: $u) -> $u {
            self.min(b)
        }
        #[inline(always)]
        fn min_s(self, b: $u) -> $u {
            (self as $s).min(b as $s) as $u
        }
        #[inline(always)]
        fn max_u(self, b: $u) -> $u {
            self.max(b)
        }
        #[inline(always)]
        fn max_s(self, b: $u) -> $u {
            (self as $s).max(b as $s) as $u
        }
        #[inline(always)]
        fn and(self, b: $u) -> $u {
            self & b
        }
        #[inline(always)]
        fn or(self, b: $u) -> $u {
            self | b
        }
        #[inline(always)]
        fn xor(self, b: $u) -> $u {
            self ^ b
        }
        #[inline(always)]
        fn not(self) -> $u {
            !self
        }
        #[inline(always)]
        fn cnot(self) -> $u {
            (self == 0) as $u
        }
        #[inline(always)]
        fn neg(self) -> $u {
            self.wrapping_neg()
        }
        #[inline(always)]
        fn abs_s(self) -> $u {
            (self as $s).wrapping_abs() as $u
        }
        #[inline(always)]
        fn popc(self) -> u32 {
            self.count_ones()
        }
        #[inline(always)]
        fn clz(self) -> u32 {
            self.leading_zeros()
        }
        #[inline(always)]
        fn bfind(self, signed: bool, shift: bool) -> u32 {
            let value = if signed && self.is_negative() { !self } else { self };
            match (value.leading_zeros(), shift) {
                (<$u>::BITS, _) => u32::MAX,
                (zeros, true) => zeros,
                (zeros, false) => <$u>::BITS - 1 - zeros,
            }
        }
        #[inline(always)]
        fn brev(self) -> $u {
            self.reverse_bits()
        }
        #[inline(always)]
        fn lt_s(self, b: $u) -> bool {
            (self as $s) < b as $s
        }
        #[inline(always)]
        fn is_negative(self) -> bool {
            (self as $s) < 0
        }
        #[inline(always)]
        fn shl(self, by: u32) -> $u {
            if by < <$u>::BITS { self << by } else { 0 }
        }
        #[inline(always)]
        fn shr_u(self, by: u32) -> $u {
            if by < <$u>::BITS { self >> by } else { 0 }
        }
        #[inline(always)]
        fn shr_s(self, by: u32) -> $u {
            ((self as $s) >> by.min(<$u>::BITS - 1)) as $u
        }
        #[inline(always)]
        fn prmt(self, b: $u, selector: $u) -> $u {
            permute(self as u32, b as u32, selector as u32) as $u
        }
    };
}

macro_rules! float_methods {
    ($u:ty, $f:ty, $nan:path) => {
        #[inline(always)]
        fn f_neg(self) -> $u {
            settle!(-<$f>::from_bits(self), $nan(&[self]))
        }
        #[inline(always)]
        fn f_abs(self) -> $u {
            settle!(<$f>::from_bits(self).abs(), $nan(&[self]))
        }
        #[inline(always)]
        fn f_sqrt(self) -> $u {
            settle!(<$f>::from_bits(self).sqrt(), $nan(&[self]))
        }
        #[inline(always)]
        fn f_rcp(self) -> $u {
            settle!(<$f>::from_bits(self).recip(), $nan(&[self]))
        }
        #[inline(always)]
        fn f_add(self, b: $u) -> $u {
            settle!(<$f>::from_bits(self) + <$f>::from_bits(b), $nan(&[b, self]))
        }
        #[inline(always)]
        fn f_sub(self, b: $u) -> $u {
            settle!(<$f>::from_bits(self) - <$f>::from_bits(b), $nan(&[b, self]))
        }
        #[inline(always)]
        fn f_mul(self, b: $u) -> $u {
            settle!(<$f>::from_bits(self) * <$f>::from_bits(b), $nan(&[b, self]))
        }
        #[inline(always)]
        fn f_div(self, b: $u) -> $u {
            settle!(<$f>::from_bits(self) / <$f>::from_bits(b), $nan(&[self, b]))
        }
        #[inline(always)]
        fn f_min(self, b: $u) -> $u {
            let (x, y) = (<$f>::from_bits(self), <$f>::from_bits(b));
            match x == y {
                // Of two zeros the negative one is less.
                true => self | b,
                false => settle!(x.min(y), $nan(&[b, self])),
            }
        }
        #[inline(always)]
        fn f_max(self, b: $u) -> $u {
            let (x, y) = (<$f>::from_bits(self), <$f>::from_bits(b));
            match x == y {
                true => self & b,
                false => settle!(x.max(y), $nan(&[b, self])),
            }
        }
        #[inline(always)]
        fn f_fma(self, b: $u, c: $u) -> $u {
            let (x, y, z) = (<$f>::from_bits(self), <$f>::from_bits(b), <$f>::from_bits(c));
            settle!(x.mul_add(y, z), $nan(&[b, c, self]))
        }
        #[inline(always)]
        fn f_compare(self, b: $u, how: FloatCompare) -> Option<bool> {
            let order = <$f>::from_bits(self).partial_cmp(&<$f>::from_bits(b))?;
            Some(match how {
                FloatCompare::Eq => order.is_eq(),
                FloatCompare::Ne => order.is_ne(),
                FloatCompare::Lt => order.is_lt(),
                FloatCompare::Le => order.is_le(),
                FloatCompare::Gt => order.is_gt(),
                FloatCompare::Ge => order.is_ge(),
                FloatCompare::Always => true,
                FloatCompare::Never => false,
            })
        }
    };
}

/// The bits of a result, or of the NaN that a GPU gives in its place.
macro_rules! settle {
    ($value:expr, $nan:expr) => {{
        let value = $value;
        if value.is_nan() { $nan } else { value.to_bits() }
    }};
}

/// The NaN of operations in single precision: always the same.
fn nan32(_: &[u32]) -> u32 {
    0x7fff_ffff
}

/// The NaN of operations in double precision: the first of the operands that is one, made quiet, or what is made of numbers alone.
fn nan64(operands: &[u64]) -> u64 {
    const QUIET: u64 = 1 << 51;
    let first = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
    first.map_or(0xfff8_0000_0000_0000, |bits| bits | QUIET)
}

/// What `atom.add.f32` on global memory stores: numbers below the normal ones count as zeros there, before and after.
pub(crate) fn add_flushing(a: u32, b: u32) -> u32 {
    let flush = |bits: u32| {
        let value = f32::from_bits(bits);
        if value.is_subnormal() { bits & 1 << 31 } else { bits }
    };
    flush(flush(a).f_add(flush(b)))
}

/// What `atom.add.f64` on global memory stores: it leaves signalling NaNs as they are.
pub(crate) fn add_signalling(a: u64, b: u64) -> u64 {
    let is_nan = |bits: &u64| f64::from_bits(*bits).is_nan();
    [b, a].into_iter().find(is_nan).unwrap_or_else(|| a.f_add(b))
}

/// 16-bit values have no floating point here; decoding never asks for it.
macro_rules! no_floats {
    ($u:ty) => {
        no_floats!($u, f_neg() f_abs() f_sqrt() f_rcp() f_add(b) f_sub(b) f_mul(b) f_div(b) f_min(b) f_max(b) f_fma(b, c));
        #[inline(always)]
        fn f_compare(self, _: $u, _: FloatCompare) -> Option<bool> {
            None
        }
    };
    ($u:ty, $($name:ident($($arg:ident),*))*) => {$(
        #[inline(always)]
        fn $name(self $(, $arg: $u)*) -> $u {
            $(let _ = $arg;)*
            self
        }
    )*};
}

impl Number for u16 {
    integer_methods!(u16, i16, u32, i32);
    no_floats!(u16);
}

impl Number for u32 {
    integer_methods!(u32, i32, u64, i64);
    float_methods!(u32, f32, nan32);
}

impl Number for u64 {
    integer_methods!(u64, i64, u128, i128);
    float_methods!(u64, f64, nan64);
}

/// Picks four bytes out of eight; bit 3 of a selector nibble spreads the byte's sign instead.
pub(crate) fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(a) | u64::from(b) << 32).to_le_bytes();
    let pick = |at: u32| {
        let nibble = selector >> (4 * at) & 0xf;
        let byte = bytes[(nibble & 7) as usize];
        if nibble & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

/// Any logical function of three inputs, by its truth table.
#[inline(always)]
pub(crate) fn lop3<V: Number>(table: u8, a: V, b: V, c: V) -> V {
    let pick = |value: V, set: bool| if set { value } else { value.not() };
    (0..8u8).filter(|row| table >> row & 1 == 1).fold(V::from_u32(0), |all, row| {
        let term = pick(a, row & 4 != 0).and(pick(b, row & 2 != 0)).and(pick(c, row & 1 != 0));
        all.or(term)
    })
}

/// `a ± b ± carry` and the carry (or borrow) out.
pub(crate) fn add_carry<V: Number>(subtract: bool, a: V, b: V, carry: bool) -> (V, bool) {
    let one = V::from_u32(u32::from(carry));
    if subtract {
        let first = a.sub(b);
        (first.sub(one), a < b || (carry && first == V::from_u32(0)))
    } else {
        let first = a.add(b);
        let sum = first.add(one);
        (sum, first < a || (carry && sum == V::from_u32(0)))
    }
}

/// The field of `len` bits at `pos`, zero- or sign-extended.
pub(crate) fn bfe<V: Number>(signed: bool, a: V, pos: u32, len: u32) -> V {
    let width = V::from_u32(0).clz();
    let (pos, len) = (place(pos, width), place(len, width));
    if len == 0 {
        return V::from_u32(0);
    }
    let top = pos.saturating_add(len - 1).min(width - 1);
    let sign = signed && a.shr_u(top).and(V::from_u32(1)) == V::from_u32(1);
    let fill = if sign { V::from_u32(0).not() } else { V::from_u32(0) };
    if pos >= width {
        return fill;
    }
    let keep = fill_low::<V>((top + 1 - pos).min(width));
    a.shr_u(pos).and(keep).or(fill.and(keep.not()))
}

/// `b` with the low `len` bits of `a` put at `pos`.
pub(crate) fn bfi<V: Number>(a: V, b: V, pos: u32, len: u32) -> V {
    let width = V::from_u32(0).clz();
    let (pos, len) = (place(pos, width), place(len, width));
    let field = fill_low::<V>(len.min(width)).shl(pos);
    b.and(field.not()).or(a.shl(pos).and(field))
}

/// The position or length of a field as GPUs take it: of 32-bit values its low byte, of 64-bit ones all of it.
fn place(amount: u32, width: u32) -> u32 {
    if width == 32 { amount & 0xff } else { amount }
}

/// A value whose low `bits` bits are set.
fn fill_low<V: Number>(bits: u32) -> V {
    V::from_u32(0).not().shl(bits).not()
}

/// Shifts the 64-bit value `b:a` and returns its upper (left) or lower half.
pub(crate) fn funnel(left: bool, clamp: bool, a: u32, b: u32, by: u32) -> u32 {
    let by = if clamp { by.min(32) } else { by & 31 };
    let both = u64::from(b) << 32 | u64::from(a);
    if left { (both << by >> 32) as u32 } else { (both >> by) as u32 }
}

/// The low bits of `value` extended to 64.
fn extend(value: u64, kind: IntType) -> u64 {
    let spare = 64 - u32::from(kind.bits);
    if kind.signed { ((value << spare) as i64 >> spare) as u64 } else { value << spare >> spare }
}

/// The bits of what is nearest to `value` of a type of fewer than 32.
pub(crate) fn saturated(value: i32, to: IntType) -> u32 {
    float_to_int(f64::from(value), to) as u32 & (u32::MAX >> (32 - u32::from(to.bits)))
}

/// Converts `value`; the result is extended to 64 bits by its own type.
pub(crate) fn convert(how: Convert, value: u64) -> u64 {
    match how {
        Convert::Int { from, to } => extend(extend(value, from), to),
        Convert::IntToFloat { from, to_bits } => int_to_float(extend(value, from), from, to_bits),
        Convert::FloatToInt { from_bits, to, rounding } => {
            let value = float(value, from_bits);
            // Wide values are converted by another unit, which says that it had no number.
            let wide = from_bits == 64 || to.bits == 64;
            match value.is_nan() {
                true if wide => extend(1 << (to.bits - 1), to),
                _ => float_to_int(round(value, rounding), to),
            }
        }
        Convert::FloatToFloat { from_bits, to_bits, integral } => {
            float_to_float(value, from_bits, to_bits, integral)
        }
    }
}

fn float_to_float(bits: u64, from: u8, to: u8, integral: Option<Rounding>) -> u64 {
    // A move; of halves there is none.
    if from == to && to > 16 && integral.is_none() {
        return bits;
    }
    let value = float(bits, from);
    let value = integral.map_or(value, |rounding| round(value, rounding));
    match (from, to) {
        // Payloads are kept, as many bits as there are.
        _ if !value.is_nan() => {}
        (64, 64) => return nan64(&[bits]),
        (16, 64) => {
            let (sign, payload) = (bits >> 15 << 63, (bits & 0x3ff) << 42);
            return sign | payload | 0x7ff8_0000_0000_0000;
        }
        (64, 16) => return bits >> 63 << 15 | bits >> 42 & 0x1ff | 0x7e00,
        (_, 16) => return u64::from(half::of_f64(f64::NAN)),
        (32, 64) => {
            let (sign, payload) = (bits >> 31 << 63, (bits & 0x7f_ffff) << 29);
            return sign | payload | 0x7ff8_0000_0000_0000;
        }
        (64, 32) => return bits >> 63 << 31 | bits >> 29 & 0x3f_ffff | 0x7fc0_0000,
        _ => return u64::from(nan32(&[])),
    }
    match to {
        16 => u64::from(half::of_f64(value)),
        32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

/// A float of any width, exactly.
fn float(value: u64, bits: u8) -> f64 {
    match bits {
        16 => half::to_f64(value as u16),
        32 => f64::from(f32::from_bits(value as u32)),
        _ => f64::from_bits(value),
    }
}

fn int_to_float(value: u64, from: IntType, to_bits: u8) -> u64 {
    match (from.signed, to_bits) {
        // Rounded once: an integer that a double does not hold exactly is far beyond the largest half.
        (false, 16) => u64::from(half::of_f64(value as f64)),
        (true, 16) => u64::from(half::of_f64(value as i64 as f64)),
        (false, 32) => u64::from((value as f32).to_bits()),
        (true, 32) => u64::from((value as i64 as f32).to_bits()),
        (false, _) => (value as f64).to_bits(),
        (true, _) => (value as i64 as f64).to_bits(),
    }
}

fn round(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Saturates, as PTX does; NaN becomes zero.
fn float_to_int(value: f64, to: IntType) -> u64 {
    if to.signed {
        let limit = i64::MAX >> (64 - to.bits);
        (value as i64).clamp(-limit - 1, limit) as u64
    } else {
        (value as u64).min(u64::MAX >> (64 - to.bits))
    }
}
