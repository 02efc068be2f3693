//! What each arithmetic instruction does to a warp's registers.
//!
//! Operations are total: a division by zero has a value here, as on hardware,
//! so that they can run on all 32 lanes and be masked afterwards.

use crate::isa::*;
use crate::number::{self, Number};
use crate::registers::{Doubles, LANES, Registers, Words, blend};

/// A value kept in a register of type `E`, perhaps narrower than it.
trait Held<E>: Copy {
    fn cut(e: E) -> Self;
    fn widen(self) -> E;
}

macro_rules! held {
    ($($value:ident in $register:ident),*) => {$(
        impl Held<$register> for $value {
            #[inline(always)]
            fn cut(e: $register) -> $value { e as $value }
            #[inline(always)]
            fn widen(self) -> $register { self as $register }
        }
    )*};
}
held!(u16 in u32, u32 in u32, u64 in u64);

#[inline(always)]
fn map1<E: Copy + Default, V: Held<E>>(
    file: &mut [[E; LANES]],
    (d, a): (u16, u16),
    mask: u32,
    f: impl Fn(V) -> V,
) {
    let a = &file[usize::from(a)];
    let mut out = [E::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(V::cut(a[lane])).widen();
    }
    blend(&mut file[usize::from(d)], mask, &out);
}

#[inline(always)]
fn map2<E: Copy + Default, V: Held<E>>(
    file: &mut [[E; LANES]],
    (d, a, b): (u16, u16, u16),
    mask: u32,
    f: impl Fn(V, V) -> V,
) {
    let (a, b) = (&file[usize::from(a)], &file[usize::from(b)]);
    let mut out = [E::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(V::cut(a[lane]), V::cut(b[lane])).widen();
    }
    blend(&mut file[usize::from(d)], mask, &out);
}

#[inline(always)]
fn map3<E: Copy + Default, V: Held<E>>(
    file: &mut [[E; LANES]],
    (d, a, b, c): (u16, u16, u16, u16),
    mask: u32,
    f: impl Fn(V, V, V) -> V,
) {
    let (a, b, c) = (&file[usize::from(a)], &file[usize::from(b)], &file[usize::from(c)]);
    let mut out = [E::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(V::cut(a[lane]), V::cut(b[lane]), V::cut(c[lane])).widen();
    }
    blend(&mut file[usize::from(d)], mask, &out);
}

/// One bit per lane for which `f` holds.
#[inline(always)]
fn test<E: Copy, V: Held<E>>(a: &[E; LANES], b: &[E; LANES], f: impl Fn(V, V) -> bool) -> u32 {
    let mut hits = [0u8; LANES];
    for lane in 0..LANES {
        hits[lane] = u8::from(f(V::cut(a[lane]), V::cut(b[lane])));
    }
    pack_bits(&hits)
}

/// Bytes that are 0 or 1 into bits.
#[inline(always)]
fn pack_bits(bytes: &[u8; LANES]) -> u32 {
    let (eights, _) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (at, eight) in eights.iter().enumerate() {
        // Each byte's low bit is moved to its place in the top byte.
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= (gathered as u32) << (8 * at);
    }
    bits
}

#[inline(always)]
fn unary<E: Copy + Default, V: Held<E> + Number>(
    file: &mut [[E; LANES]],
    f: Unary,
    at: (u16, u16),
    mask: u32,
) {
    match f {
        Unary::Mov => map1(file, at, mask, |a: V| a),
        Unary::Not => map1(file, at, mask, V::not),
        Unary::CNot => map1(file, at, mask, V::cnot),
        Unary::Neg => map1(file, at, mask, V::neg),
        Unary::AbsS => map1(file, at, mask, V::abs_s),
        Unary::Popc => map1(file, at, mask, |a: V| V::from_u32(a.popc())),
        Unary::Clz => map1(file, at, mask, |a: V| V::from_u32(a.clz())),
        Unary::Brev => map1(file, at, mask, V::brev),
        Unary::BfindU => map1(file, at, mask, |a: V| V::from_u32(a.bfind(false, false))),
        Unary::BfindS => map1(file, at, mask, |a: V| V::from_u32(a.bfind(true, false))),
        Unary::BfindShiftU => map1(file, at, mask, |a: V| V::from_u32(a.bfind(false, true))),
        Unary::BfindShiftS => map1(file, at, mask, |a: V| V::from_u32(a.bfind(true, true))),
        Unary::FNeg => map1(file, at, mask, V::f_neg),
        Unary::FAbs => map1(file, at, mask, V::f_abs),
        Unary::FSqrt => map1(file, at, mask, V::f_sqrt),
        Unary::FRcp => map1(file, at, mask, V::f_rcp),
    }
}

#[inline(always)]
fn binary<E: Copy + Default, V: Held<E> + Number>(
    file: &mut [[E; LANES]],
    f: Binary,
    at: (u16, u16, u16),
    mask: u32,
) {
    match f {
        Binary::Add => map2(file, at, mask, V::add),
        Binary::Sub => map2(file, at, mask, V::sub),
        Binary::MulLo => map2(file, at, mask, V::mul_lo),
        Binary::MulHiU => map2(file, at, mask, V::mul_hi_u),
        Binary::MulHiS => map2(file, at, mask, V::mul_hi_s),
        Binary::DivU => map2(file, at, mask, V::div_u),
        Binary::DivS => map2(file, at, mask, V::div_s),
        Binary::RemU => map2(file, at, mask, V::rem_u),
        Binary::RemS => map2(file, at, mask, V::rem_s),
        Binary::MinU => map2(file, at, mask, V::min_u),
        Binary::MinS => map2(file, at, mask, V::min_s),
        Binary::MaxU => map2(file, at, mask, V::max_u),
        Binary::MaxS => map2(file, at, mask, V::max_s),
        Binary::MinReluS => map2(file, at, mask, |a: V, b: V| a.min_s(b).not_negative()),
        Binary::MaxReluS => map2(file, at, mask, |a: V, b: V| a.max_s(b).not_negative()),
        Binary::And => map2(file, at, mask, V::and),
        Binary::Or => map2(file, at, mask, V::or),
        Binary::Xor => map2(file, at, mask, V::xor),
        Binary::FAdd => map2(file, at, mask, V::f_add),
        Binary::FSub => map2(file, at, mask, V::f_sub),
        Binary::FMul => map2(file, at, mask, V::f_mul),
        Binary::FDiv => map2(file, at, mask, V::f_div),
        Binary::FMin => map2(file, at, mask, V::f_min),
        Binary::FMax => map2(file, at, mask, V::f_max),
    }
}

#[inline(always)]
fn ternary<E: Copy + Default, V: Held<E> + Number>(
    file: &mut [[E; LANES]],
    f: Ternary,
    at: (u16, u16, u16, u16),
    mask: u32,
) {
    match f {
        Ternary::MadLo => map3(file, at, mask, |a: V, b, c| a.mul_lo(b).add(c)),
        Ternary::MadHiU => map3(file, at, mask, |a: V, b, c| a.mul_hi_u(b).add(c)),
        Ternary::MadHiS => map3(file, at, mask, |a: V, b, c| a.mul_hi_s(b).add(c)),
        Ternary::Lop3(table) => map3(file, at, mask, |a: V, b, c| number::lop3(table, a, b, c)),
        Ternary::Prmt => map3(file, at, mask, V::prmt),
        Ternary::Slct => map3(file, at, mask, |a: V, b, c| if c.is_negative() { b } else { a }),
        Ternary::FFma => map3(file, at, mask, V::f_fma),
    }
}

#[inline(always)]
fn compare<E: Copy, V: Held<E> + Number>(f: Compare, a: &[E; LANES], b: &[E; LANES]) -> u32 {
    match f {
        Compare::Eq => test(a, b, |a: V, b| a == b),
        Compare::Ne => test(a, b, |a: V, b| a != b),
        Compare::LtU => test(a, b, |a: V, b| a < b),
        Compare::LeU => test(a, b, |a: V, b| a <= b),
        Compare::GtU => test(a, b, |a: V, b| a > b),
        Compare::GeU => test(a, b, |a: V, b| a >= b),
        Compare::LtS => test(a, b, V::lt_s),
        Compare::LeS => test(a, b, |a: V, b| !b.lt_s(a)),
        Compare::GtS => test(a, b, |a: V, b| b.lt_s(a)),
        Compare::GeS => test(a, b, |a: V, b| !a.lt_s(b)),
        Compare::Float(f, on_nan) => test(a, b, |a: V, b| a.f_compare(b, f).unwrap_or(on_nan)),
    }
}

/// Applies `setp`'s combination and writes its targets.
fn set(registers: &mut Registers, target: SetTarget, mask: u32, hits: u32) {
    let (hits, misses) = match target.combine {
        None => (hits, !hits),
        Some((logic, with)) => {
            let with = registers.guard(with);
            (combine(logic, hits, with), combine(logic, !hits, with))
        }
    };
    registers.set_p(target.d, mask, hits);
    if let Some(q) = target.q {
        registers.set_p(q, mask, misses);
    }
}

fn combine(logic: Logic, a: u32, b: u32) -> u32 {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

/// Executes `op` on the lanes of `mask` if it is arithmetic; says whether it was.
#[inline(always)]
pub(crate) fn execute(r: &mut Registers, op: &Op, mask: u32) -> bool {
    match *op {
        Op::Unary16(f, d, a) => unary::<_, u16>(&mut r.words, f, (d.0, a.0), mask),
        Op::Unary32(f, d, a) => unary::<_, u32>(&mut r.words, f, (d.0, a.0), mask),
        Op::Unary64(f, d, a) => unary::<_, u64>(&mut r.doubles, f, (d.0, a.0), mask),
        Op::Binary16(f, d, a, b) => binary::<_, u16>(&mut r.words, f, (d.0, a.0, b.0), mask),
        Op::Binary32(f, d, a, b) => binary::<_, u32>(&mut r.words, f, (d.0, a.0, b.0), mask),
        Op::Binary64(f, d, a, b) => binary::<_, u64>(&mut r.doubles, f, (d.0, a.0, b.0), mask),
        Op::Ternary16(f, d, a, b, c) => {
            ternary::<_, u16>(&mut r.words, f, (d.0, a.0, b.0, c.0), mask)
        }
        Op::Ternary32(f, d, a, b, c) => {
            ternary::<_, u32>(&mut r.words, f, (d.0, a.0, b.0, c.0), mask)
        }
        Op::Ternary64(f, d, a, b, c) => {
            ternary::<_, u64>(&mut r.doubles, f, (d.0, a.0, b.0, c.0), mask)
        }
        Op::Set16(f, target, a, b) => {
            let hits = compare::<_, u16>(f, r.w(a), r.w(b));
            set(r, target, mask, hits);
        }
        Op::Set32(f, target, a, b) => {
            let hits = compare::<_, u32>(f, r.w(a), r.w(b));
            set(r, target, mask, hits);
        }
        Op::Set64(f, target, a, b) => {
            let hits = compare::<_, u64>(f, r.d(a), r.d(b));
            set(r, target, mask, hits);
        }
        Op::Shift16(f, d, a, b) => shift_w::<u16>(r, f, (d, a, b), mask),
        Op::Shift32(f, d, a, b) => shift_w::<u32>(r, f, (d, a, b), mask),
        Op::Shift64(f, d, a, b) => shift_d(r, f, (d, a, b), mask),
        Op::MulWide32 { signed, d, a, b } => {
            let product = products(signed, r.w(a), r.w(b));
            r.set_d(d, mask, &product);
        }
        Op::MadWide32 { signed, d, a, b, c } => {
            let mut sum = products(signed, r.w(a), r.w(b));
            for (sum, c) in sum.iter_mut().zip(r.d(c)) {
                *sum = sum.wrapping_add(*c);
            }
            r.set_d(d, mask, &sum);
        }
        Op::Selp32(d, a, b, p) => {
            let (p, mut out) = (r.guard(p), *r.w(b));
            blend(&mut out, p, r.w(a));
            r.set_w(d, mask, &out);
        }
        Op::Selp64(d, a, b, p) => {
            let (p, mut out) = (r.guard(p), *r.d(b));
            blend(&mut out, p, r.d(a));
            r.set_d(d, mask, &out);
        }
        Op::Logic(f, d, a, b) => {
            let value = combine(f, r.guard(a), r.guard(b));
            r.set_p(d, mask, value);
        }
        Op::MovP(d, a) => {
            let value = r.guard(a);
            r.set_p(d, mask, value);
        }
        Op::Convert { how, d, bits, a } => convert(r, how, (d, bits, a), mask),
        _ => return rare(r, op, mask),
    }
    true
}

/// The arithmetic that kernels seldom need, kept out of the hot path.
#[inline(never)]
fn rare(r: &mut Registers, op: &Op, mask: u32) -> bool {
    match *op {
        Op::Mov128(d, a) => {
            let (low, high) = (*r.d(a), *r.d(D(a.0 + 1)));
            r.set_d(d, mask, &low);
            r.set_d(D(d.0 + 1), mask, &high);
        }
        Op::Count64(f, d, a) => count64(r, f, d, a, mask),
        Op::MulWide16 { signed, d, a, b } => {
            let out = words(|lane| product16(signed, r.w(a)[lane], r.w(b)[lane]));
            r.set_w(d, mask, &out);
        }
        Op::MadWide16 { signed, d, a, b, c } => {
            let out = words(|lane| {
                product16(signed, r.w(a)[lane], r.w(b)[lane]).wrapping_add(r.w(c)[lane])
            });
            r.set_w(d, mask, &out);
        }
        Op::Slct64 { d, a, b, c } => {
            let pick = |lane: usize| if (r.w(c)[lane] as i32) < 0 { b } else { a };
            let out = doubles(|lane| r.d(pick(lane))[lane]);
            r.set_d(d, mask, &out);
        }
        Op::Carry32 { subtract, carry_in, carry_out, d, a, b } => {
            let carry = if carry_in { r.predicates[usize::from(CARRY.0)] } else { 0 };
            let (mut out, mut carries) = ([0; LANES], 0);
            for lane in 0..LANES {
                let c = carry >> lane & 1 == 1;
                let (value, over) = number::add_carry(subtract, r.w(a)[lane], r.w(b)[lane], c);
                out[lane] = value;
                carries |= u32::from(over) << lane;
            }
            r.set_w(d, mask, &out);
            r.set_p(CARRY, if carry_out { mask } else { 0 }, carries);
        }
        Op::Carry64 { subtract, carry_in, carry_out, d, a, b } => {
            let carry = if carry_in { r.predicates[usize::from(CARRY.0)] } else { 0 };
            let (mut out, mut carries) = ([0; LANES], 0);
            for lane in 0..LANES {
                let c = carry >> lane & 1 == 1;
                let (value, over) = number::add_carry(subtract, r.d(a)[lane], r.d(b)[lane], c);
                out[lane] = value;
                carries |= u32::from(over) << lane;
            }
            r.set_d(d, mask, &out);
            r.set_p(CARRY, if carry_out { mask } else { 0 }, carries);
        }
        Op::Bfe32 { signed, d, a, pos, len } => {
            let out =
                words(|lane| number::bfe(signed, r.w(a)[lane], r.w(pos)[lane], r.w(len)[lane]));
            r.set_w(d, mask, &out);
        }
        Op::Bfe64 { signed, d, a, pos, len } => {
            let out =
                doubles(|lane| number::bfe(signed, r.d(a)[lane], r.w(pos)[lane], r.w(len)[lane]));
            r.set_d(d, mask, &out);
        }
        Op::Bfi32 { d, a, b, pos, len } => {
            let out = words(|lane| {
                number::bfi(r.w(a)[lane], r.w(b)[lane], r.w(pos)[lane], r.w(len)[lane])
            });
            r.set_w(d, mask, &out);
        }
        Op::Bfi64 { d, a, b, pos, len } => {
            let out = doubles(|lane| {
                number::bfi(r.d(a)[lane], r.d(b)[lane], r.w(pos)[lane], r.w(len)[lane])
            });
            r.set_d(d, mask, &out);
        }
        Op::Shf { left, clamp, d, a, b, c } => {
            let out =
                words(|lane| number::funnel(left, clamp, r.w(a)[lane], r.w(b)[lane], r.w(c)[lane]));
            r.set_w(d, mask, &out);
        }
        Op::IsSpace(window, d, a) => {
            let bit = |lane: usize| {
                let shared = r.d(a)[lane].wrapping_sub(SHARED_WINDOW) < SHARED_WINDOW_BYTES;
                u32::from(shared == (window == Window::Shared)) << lane
            };
            let lanes = (0..LANES).map(bit).fold(0, |all, bit| all | bit);
            r.set_p(d, mask, lanes);
        }
        Op::Hint => {}
        _ => return pack_unpack(r, op, mask),
    }
    true
}

#[inline(always)]
fn words(f: impl Fn(usize) -> u32) -> Words {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(lane);
    }
    out
}

#[inline(always)]
fn doubles(f: impl Fn(usize) -> u64) -> Doubles {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        out[lane] = f(lane);
    }
    out
}

fn pack_unpack(r: &mut Registers, op: &Op, mask: u32) -> bool {
    match *op {
        Op::ConvertPair(to, d, a, b) => {
            let number = |bits: u32| u32::from(to.of_f64(f64::from(f32::from_bits(bits))));
            let out = words(|lane| number(r.w(a)[lane]) << to.bits() | number(r.w(b)[lane]));
            r.set_w(d, mask, &out);
        }
        Op::WidenPair(from, d, a) => {
            let half = |bits: u32| u32::from(from.half(bits as u8));
            let out = words(|lane| half(r.w(a)[lane] >> 8) << 16 | half(r.w(a)[lane]));
            r.set_w(d, mask, &out);
        }
        Op::Saturate { to, d, a, b, above } => {
            let part = |bits: u32| number::saturated(bits as i32, to);
            let of_above = |lane: usize| above.map_or(0, |c| r.w(c)[lane] << (2 * to.bits));
            let out =
                words(|lane| part(r.w(b)[lane]) | part(r.w(a)[lane]) << to.bits | of_above(lane));
            r.set_w(d, mask, &out);
        }
        Op::Pack16x2(d, [a, b]) => {
            let out = words(|lane| r.w(a)[lane] | r.w(b)[lane] << 16);
            r.set_w(d, mask, &out);
        }
        Op::Pack16x4(d, parts) => {
            let part = |at: usize, lane: usize| u64::from(r.w(parts[at])[lane]) << (16 * at);
            let out = doubles(|lane| (0..4).fold(0, |all, at| all | part(at, lane)));
            r.set_d(d, mask, &out);
        }
        Op::Pack32x2(d, [a, b]) => {
            let out = join(r.w(a), r.w(b));
            r.set_d(d, mask, &out);
        }
        Op::Pack64x2(d, [a, b]) => {
            let (low, high) = (*r.d(a), *r.d(b));
            r.set_d(d, mask, &low);
            r.set_d(D(d.0 + 1), mask, &high);
        }
        Op::Pack32x4(d, [a, b, c, e]) => {
            let (low, high) = (join(r.w(a), r.w(b)), join(r.w(c), r.w(e)));
            r.set_d(d, mask, &low);
            r.set_d(D(d.0 + 1), mask, &high);
        }
        Op::Unpack16x2(parts, a) => {
            let a = *r.w(a);
            for (at, part) in parts.into_iter().enumerate() {
                let out = words(|lane| a[lane] >> (16 * at) & 0xffff);
                part.into_iter().for_each(|w| r.set_w(w, mask, &out));
            }
        }
        Op::Unpack16x4(parts, a) => {
            let a = *r.d(a);
            for (at, part) in parts.into_iter().enumerate() {
                let out = words(|lane| (a[lane] >> (16 * at)) as u32 & 0xffff);
                part.into_iter().for_each(|w| r.set_w(w, mask, &out));
            }
        }
        Op::Unpack32x2(parts, a) => {
            let a = *r.d(a);
            for (at, part) in parts.into_iter().enumerate() {
                let out = words(|lane| (a[lane] >> (32 * at)) as u32);
                part.into_iter().for_each(|w| r.set_w(w, mask, &out));
            }
        }
        Op::Unpack64x2(parts, a) => {
            let halves = [*r.d(a), *r.d(D(a.0 + 1))];
            for (part, half) in parts.into_iter().zip(halves) {
                part.into_iter().for_each(|d| r.set_d(d, mask, &half));
            }
        }
        Op::Unpack32x4(parts, a) => {
            let halves = [*r.d(a), *r.d(D(a.0 + 1))];
            for (at, part) in parts.into_iter().enumerate() {
                let out = words(|lane| (halves[at / 2][lane] >> (32 * (at % 2))) as u32);
                part.into_iter().for_each(|w| r.set_w(w, mask, &out));
            }
        }
        _ => return false,
    }
    true
}

/// 64-bit values from their halves.
#[inline(always)]
pub(crate) fn join(low: &Words, high: &Words) -> Doubles {
    doubles(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
}

#[inline(always)]
fn products(signed: bool, a: &Words, b: &Words) -> Doubles {
    if signed {
        doubles(|lane| (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64)
    } else {
        doubles(|lane| u64::from(a[lane]) * u64::from(b[lane]))
    }
}

/// Lanes that do not take part may hold more than 16 bits.
fn product16(signed: bool, a: u32, b: u32) -> u32 {
    if signed { (i32::from(a as i16) * i32::from(b as i16)) as u32 } else { a.wrapping_mul(b) }
}

#[inline(always)]
fn shift_w<V: Held<u32> + Number>(r: &mut Registers, f: Shift, (d, a, b): (W, W, W), mask: u32) {
    let (a, b) = (r.w(a), r.w(b));
    let out = match f {
        Shift::Left => words(|lane| V::cut(a[lane]).shl(b[lane]).widen()),
        Shift::RightU => words(|lane| V::cut(a[lane]).shr_u(b[lane]).widen()),
        Shift::RightS => words(|lane| V::cut(a[lane]).shr_s(b[lane]).widen()),
    };
    r.set_w(d, mask, &out);
}

#[inline(always)]
fn shift_d(r: &mut Registers, f: Shift, (d, a, b): (D, D, W), mask: u32) {
    let (a, b) = (r.d(a), r.w(b));
    let out = match f {
        Shift::Left => doubles(|lane| a[lane].shl(b[lane])),
        Shift::RightU => doubles(|lane| a[lane].shr_u(b[lane])),
        Shift::RightS => doubles(|lane| a[lane].shr_s(b[lane])),
    };
    r.set_d(d, mask, &out);
}

fn count64(r: &mut Registers, f: Unary, d: W, a: D, mask: u32) {
    let count = |a: u64| match f {
        Unary::Popc => a.popc(),
        Unary::Clz => a.clz(),
        _ => a.bfind(
            matches!(f, Unary::BfindS | Unary::BfindShiftS),
            matches!(f, Unary::BfindShiftU | Unary::BfindShiftS),
        ),
    };
    let out = words(|lane| count(r.d(a)[lane]));
    r.set_w(d, mask, &out);
}

#[inline(always)]
fn convert(r: &mut Registers, how: Convert, (d, bits, a): (Reg, u8, Reg), mask: u32) {
    let unsigned = |bits: u8| IntType { bits, signed: false };
    let signed = |bits: u8| IntType { bits, signed: true };
    match (how, d, a) {
        // Index arithmetic lives on these three.
        (Convert::Int { from, to }, Reg::D(d), Reg::W(a))
            if from == unsigned(32) && to.bits == 64 =>
        {
            let out = doubles(|lane| u64::from(r.w(a)[lane]));
            r.set_d(d, mask, &out);
        }
        (Convert::Int { from, to }, Reg::D(d), Reg::W(a))
            if from == signed(32) && to.bits == 64 =>
        {
            let out = doubles(|lane| r.w(a)[lane] as i32 as u64);
            r.set_d(d, mask, &out);
        }
        (Convert::Int { from, to }, Reg::W(d), Reg::D(a)) if from.bits == 64 && to.bits == 32 => {
            let out = words(|lane| r.d(a)[lane] as u32);
            r.set_w(d, mask, &out);
        }
        _ => convert_any(r, how, (d, bits, a), mask),
    }
}

#[inline(never)]
fn convert_any(r: &mut Registers, how: Convert, (d, bits, a): (Reg, u8, Reg), mask: u32) {
    let source = match a {
        Reg::W(a) => doubles(|lane| u64::from(r.w(a)[lane])),
        Reg::D(a) => *r.d(a),
    };
    let keep = u64::MAX >> (64 - bits);
    let out = source.map(|value| number::convert(how, value) & keep);
    match d {
        Reg::W(d) => r.set_w(d, mask, &out.map(|value| value as u32)),
        Reg::D(d) => r.set_d(d, mask, &out),
    }
}
