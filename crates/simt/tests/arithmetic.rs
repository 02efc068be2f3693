//! Arithmetic instructions against their meaning in Rust, on random and extreme values.

mod common;

use std::sync::LazyLock;

use common::{Device, HEAD, arg};
use proptest::prelude::*;
use simt::Module;

/// An instruction on operands of some width, and what it should compute. Values
/// are zero-extended to 64 bits on both sides.
struct Case {
    ptx: String,
    oracle: Box<dyn Fn(u64, u64, u64) -> u64 + Send + Sync>,
}

/// Operands `a`, `b`, `c` are `%d1..3` cut to `width` bits (`%r` or `%h`); the result is `x`.
fn case(
    width: u32,
    template: &str,
    oracle: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static,
) -> Case {
    mixed(width, width, width, template, oracle)
}

/// The same with widths of its own for the result and for `c`.
fn mixed(
    width: u32,
    c_width: u32,
    result: u32,
    template: &str,
    oracle: impl Fn(u64, u64, u64) -> u64 + Send + Sync + 'static,
) -> Case {
    let class = |width| match width {
        16 => "h",
        32 => "r",
        _ => "d",
    };
    let cut = |number: u32, width: u32| match width {
        64 => String::new(),
        _ => format!("cvt.u{width}.u64 %{}{number}, %d{number};\n", class(width)),
    };
    let name = |number: u32, width| format!("%{}{number}", class(width));
    let body = template
        .replace("{x}", &name(10, result))
        .replace("{a}", &name(1, width))
        .replace("{b}", &name(2, width))
        .replace("{c}", &name(3, c_width));
    let extend = if result == 64 {
        "mov.u64 %d0, %d10;".to_owned()
    } else {
        format!("cvt.u64.u{result} %d0, %{}10;", class(result))
    };
    let cuts = cut(1, width) + &cut(2, width) + &cut(3, c_width);
    let mask = u64::MAX >> (64 - result);
    let narrow = move |v: u64, width: u32| v & (u64::MAX >> (64 - width));
    let oracle =
        move |a, b, c| oracle(narrow(a, width), narrow(b, width), narrow(c, c_width)) & mask;
    Case { ptx: format!("{cuts}{body}\n{extend}"), oracle: Box::new(oracle) }
}

fn sign(value: u64, width: u32) -> i128 {
    i128::from((value << (64 - width)) as i64 >> (64 - width))
}

/// What integer arithmetic means on a width, in numbers that cannot overflow.
fn integers(width: u32) -> Vec<Case> {
    let w = width;
    let s = move |v| sign(v, w);
    let u = u128::from;
    let ty = |template: &str| template.replace("{w}", &w.to_string());
    let two = |name: &str| ty(&format!("{name} {{x}}, {{a}}, {{b}};"));
    let three = |name: &str| ty(&format!("{name} {{x}}, {{a}}, {{b}}, {{c}};"));
    let one = |name: &str| ty(&format!("{name} {{x}}, {{a}};"));
    let ones = u64::MAX;
    let mut cases = vec![
        case(w, &two("add.u{w}"), move |a, b, _| (u(a) + u(b)) as u64),
        case(w, &two("add.s{w}"), move |a, b, _| (s(a) + s(b)) as u64),
        case(w, &two("sub.s{w}"), move |a, b, _| (s(a) - s(b)) as u64),
        case(w, &two("mul.lo.u{w}"), move |a, b, _| u(a).wrapping_mul(u(b)) as u64),
        case(w, &two("mul.hi.u{w}"), move |a, b, _| ((u(a) * u(b)) >> w) as u64),
        case(w, &two("mul.hi.s{w}"), move |a, b, _| ((s(a) * s(b)) >> w) as u64),
        case(w, &three("mad.lo.s{w}"), move |a, b, c| (s(a) * s(b) + s(c)) as u64),
        case(w, &three("mad.hi.u{w}"), move |a, b, c| {
            (((u(a) * u(b)) >> w) as u64).wrapping_add(c)
        }),
        case(w, &two("div.u{w}"), move |a, b, _| a.checked_div(b).unwrap_or(ones)),
        case(w, &two("div.s{w}"), move |a, b, _| if b == 0 { ones } else { (s(a) / s(b)) as u64 }),
        case(w, &two("rem.u{w}"), move |a, b, _| a.checked_rem(b).unwrap_or(ones)),
        case(w, &two("rem.s{w}"), move |a, b, _| if b == 0 { ones } else { (s(a) % s(b)) as u64 }),
        case(w, &two("min.u{w}"), move |a, b, _| a.min(b)),
        case(w, &two("max.u{w}"), move |a, b, _| a.max(b)),
        case(w, &two("min.s{w}"), move |a, b, _| s(a).min(s(b)) as u64),
        case(w, &two("max.s{w}"), move |a, b, _| s(a).max(s(b)) as u64),
        case(w, &two("and.b{w}"), |a, b, _| a & b),
        case(w, &two("or.b{w}"), |a, b, _| a | b),
        case(w, &two("xor.b{w}"), |a, b, _| a ^ b),
        case(w, &one("not.b{w}"), |a, _, _| !a),
        case(w, &one("cnot.b{w}"), |a, _, _| u64::from(a == 0)),
        case(w, &one("neg.s{w}"), move |a, _, _| (-s(a)) as u64),
        case(w, &one("abs.s{w}"), move |a, _, _| s(a).unsigned_abs() as u64),
        // Shift amounts are 32 bits wide and may be far too large.
        mixed(
            w,
            32,
            w,
            &ty("shl.b{w} {x}, {a}, {c};"),
            move |a, _, c| {
                if c < u64::from(w) { a << c } else { 0 }
            },
        ),
        mixed(
            w,
            32,
            w,
            &ty("shr.u{w} {x}, {a}, {c};"),
            move |a, _, c| {
                if c < u64::from(w) { a >> c } else { 0 }
            },
        ),
        mixed(w, 32, w, &ty("shr.s{w} {x}, {a}, {c};"), move |a, _, c| (s(a) >> c.min(127)) as u64),
        mixed(w, 32, w, &ty("and.b32 {c}, {c}, 63; shl.b{w} {x}, {a}, {c};"), move |a, _, c| {
            if c % 64 < u64::from(w) { a << (c % 64) } else { 0 }
        }),
        case(
            w,
            &ty("setp.lt.s{w} %p1, {a}, {b}; selp.b{w} {x}, {a}, {c}, %p1;"),
            move |a, b, c| {
                if s(a) < s(b) { a } else { c }
            },
        ),
    ];
    if w == 32 {
        let of = |name: &str| format!("{name}.relu.s32 {{x}}, {{a}}, {{b}};");
        cases.push(case(w, &of("min"), move |a, b, _| s(a).min(s(b)).max(0) as u64));
        cases.push(case(w, &of("max"), move |a, b, _| s(a).max(s(b)).max(0) as u64));
    }
    for (name, holds) in comparisons(w) {
        let template = ty(&format!("setp.{name} %p1, {{a}}, {{b}}; selp.b{{w}} {{x}}, 1, 0, %p1;"));
        cases.push(case(w, &template, move |a, b, _| u64::from(holds(a, b))));
    }
    cases
}

type Comparison = (String, Box<dyn Fn(u64, u64) -> bool + Send + Sync>);

fn comparisons(w: u32) -> Vec<Comparison> {
    let s = move |v| sign(v, w);
    let mut all: Vec<Comparison> = vec![
        (format!("eq.b{w}"), Box::new(|a, b| a == b)),
        (format!("ne.s{w}"), Box::new(|a, b| a != b)),
    ];
    for (signed, unsigned, holds) in [
        ("lt", "lo", (|o: std::cmp::Ordering| o.is_lt()) as fn(std::cmp::Ordering) -> bool),
        ("le", "ls", |o| o.is_le()),
        ("gt", "hi", |o| o.is_gt()),
        ("ge", "hs", |o| o.is_ge()),
    ] {
        all.push((format!("{signed}.s{w}"), Box::new(move |a, b| holds(s(a).cmp(&s(b))))));
        all.push((format!("{signed}.u{w}"), Box::new(move |a, b| holds(a.cmp(&b)))));
        all.push((format!("{unsigned}.u{w}"), Box::new(move |a, b| holds(a.cmp(&b)))));
    }
    all
}

fn widening() -> Vec<Case> {
    let wide = |from: u32, signed: bool, add: bool| {
        let kind = if signed { 's' } else { 'u' };
        let template = match add {
            true => format!("mad.wide.{kind}{from} {{x}}, {{a}}, {{b}}, {{c}};"),
            false => format!("mul.wide.{kind}{from} {{x}}, {{a}}, {{b}};"),
        };
        mixed(from, from * 2, from * 2, &template, move |a, b, c| {
            let value = |v| if signed { sign(v, from) } else { i128::from(v) };
            let sum = if add { i128::from(c) } else { 0 };
            (value(a) * value(b) + sum) as u64
        })
    };
    let mut cases = Vec::new();
    for signed in [false, true] {
        for add in [false, true] {
            cases.push(wide(16, signed, add));
            cases.push(wide(32, signed, add));
        }
    }
    cases
}

fn bits() -> Vec<Case> {
    let bit = |v: u64, at: u64| v >> at & 1;
    let mut cases = vec![
        case(32, "brev.b32 {x}, {a};", |a, _, _| u64::from((a as u32).reverse_bits())),
        case(64, "brev.b64 {x}, {a};", |a, _, _| a.reverse_bits()),
        mixed(64, 64, 32, "popc.b64 {x}, {a};", |a, _, _| u64::from(a.count_ones())),
        case(32, "popc.b32 {x}, {a};", |a, _, _| u64::from(a.count_ones())),
        mixed(64, 64, 32, "clz.b64 {x}, {a};", |a, _, _| u64::from(a.leading_zeros())),
        case(32, "clz.b32 {x}, {a};", |a, _, _| u64::from((a as u32).leading_zeros())),
        case(32, "bfind.u32 {x}, {a};", |a, _, _| a.checked_ilog2().map_or(u64::MAX, u64::from)),
        mixed(64, 64, 32, "bfind.s64 {x}, {a};", |a, _, _| {
            let a = if (a as i64) < 0 { !a } else { a };
            a.checked_ilog2().map_or(u64::MAX, u64::from)
        }),
        mixed(64, 64, 32, "bfind.shiftamt.u64 {x}, {a};", |a, _, _| match a {
            0 => u64::MAX,
            a => u64::from(a.leading_zeros()),
        }),
        case(32, "prmt.b32 {x}, {a}, {b}, {c};", |a, b, c| {
            let pool = b << 32 | a;
            (0..4).fold(0, |all, at| {
                let pick = c >> (4 * at) & 15;
                let byte = pool >> (8 * (pick % 8)) & 255;
                let byte = if pick < 8 { byte } else { byte / 128 * 255 };
                all | byte << (8 * at)
            })
        }),
        case(32, "shf.l.wrap.b32 {x}, {a}, {b}, {c};", |a, b, c| (b << 32 | a) << (c % 32) >> 32),
        case(32, "shf.r.wrap.b32 {x}, {a}, {b}, {c};", |a, b, c| (b << 32 | a) >> (c % 32)),
        case(32, "shf.l.clamp.b32 {x}, {a}, {b}, {c};", |a, b, c| match c {
            0..32 => (b << 32 | a) << c >> 32,
            _ => a,
        }),
        case(32, "shf.r.clamp.b32 {x}, {a}, {b}, {c};", |a, b, c| (b << 32 | a) >> c.min(32)),
        case(32, "slct.u32.s32 {x}, {a}, {b}, {c};", |a, b, c| if sign(c, 32) < 0 { b } else { a }),
        mixed(
            64,
            32,
            64,
            "slct.b64.s32 {x}, {a}, {b}, {c};",
            |a, b, c| {
                if sign(c, 32) < 0 { b } else { a }
            },
        ),
    ];
    for table in [0u64, 0x01, 0x80, 0x96, 0xca, 0xe8, 0xff, 0x3c] {
        cases.push(case(
            32,
            &format!("lop3.b32 {{x}}, {{a}}, {{b}}, {{c}}, {table};"),
            move |a, b, c| {
                (0..32).fold(0, |all, at| {
                    let row = bit(a, at) << 2 | bit(b, at) << 1 | bit(c, at);
                    all | bit(table, row) << at
                })
            },
        ));
    }
    cases.extend(fields());
    cases
}

/// Bit fields, bit by bit as the PTX manual defines them. A GPU cuts positions and lengths to 8 bits for 32-bit values only.
fn fields() -> Vec<Case> {
    let mut cases = Vec::new();
    for width in [32u32, 64] {
        let cut = if width == 32 { 0xff } else { 0x1ff };
        for signed in [false, true] {
            let kind = if signed { 's' } else { 'u' };
            let template = format!(
                "and.b32 %r5, {{c}}, 0x1ff; shr.u32 %r6, {{c}}, 9; and.b32 %r6, %r6, 0x1ff;
                 bfe.{kind}{width} {{x}}, {{a}}, %r5, %r6;"
            );
            cases.push(mixed(width, 32, width, &template, move |a, _, c| {
                let (pos, len) = (c & cut, c >> 9 & cut);
                let msb = u64::from(width) - 1;
                let top = (pos + len).saturating_sub(1).min(msb);
                let fill = if !signed || len == 0 { 0 } else { a >> top & 1 };
                (0..=msb).fold(0, |all, at| {
                    let inside = at < len && pos + at <= msb;
                    all | (if inside { a >> (pos + at) & 1 } else { fill }) << at
                })
            }));
        }
        let template = format!(
            "and.b32 %r5, {{c}}, 0x1ff; shr.u32 %r6, {{c}}, 9; and.b32 %r6, %r6, 0x1ff;
             bfi.b{width} {{x}}, {{a}}, {{b}}, %r5, %r6;"
        );
        cases.push(mixed(width, 32, width, &template, move |a, b, c| {
            let (pos, len) = (c & cut, c >> 9 & cut);
            (0..len)
                .filter(|at| pos + at < u64::from(width))
                .fold(b, |all, at| all & !(1 << (pos + at)) | (a >> at & 1) << (pos + at))
        }));
    }
    cases
}

fn carries() -> Vec<Case> {
    let sum =
        |a: u64, b: u64, c: u64| u128::from(a).wrapping_add(u128::from(c) << 64 | u128::from(b));
    vec![
        case(64, "add.cc.u64 %d5, {a}, {b}; addc.u64 {x}, {c}, 0;", move |a, b, c| {
            (sum(a, b, c) >> 64) as u64
        }),
        case(64, "sub.cc.s64 %d5, {a}, {b}; subc.s64 {x}, {c}, 7;", |a, b, c| {
            c.wrapping_sub(7).wrapping_sub(u64::from(a < b))
        }),
        case(
            32,
            "add.cc.u32 %r5, {a}, {b}; addc.cc.u32 %r6, {a}, {c}; addc.u32 {x}, 0, 0;",
            |a, b, c| (a + c + ((a + b) >> 32)) >> 32,
        ),
        case(
            32,
            "sub.cc.u32 %r5, {a}, {b}; subc.cc.u32 %r6, {a}, {c}; subc.u32 {x}, 0, 0;",
            |a, b, c| u64::from(i128::from(a) < i128::from(c) + i128::from(a < b)).wrapping_neg(),
        ),
    ]
}

fn conversions() -> Vec<Case> {
    let mut cases = Vec::new();
    let register = |bits: u32| bits.max(16);
    let types =
        [false, true].into_iter().flat_map(|signed| [8, 16, 32, 64].map(|bits| (signed, bits)));
    for (from_signed, from) in types.clone() {
        for (to_signed, to) in types.clone() {
            let name = |signed, bits| format!("{}{bits}", if signed { 's' } else { 'u' });
            let template =
                format!("cvt.{}.{} {{x}}, {{a}};", name(to_signed, to), name(from_signed, from));
            let (source, target) = (register(from), register(to));
            cases.push(mixed(source, source, target, &template, move |a, _, _| {
                let a = a & (u64::MAX >> (64 - from));
                let value = if from_signed { sign(a, from) as u64 } else { a };
                let cut = value & (u64::MAX >> (64 - to));
                if to_signed { sign(cut, to) as u64 } else { cut }
            }));
        }
    }
    cases
}

fn floats() -> Vec<Case> {
    fn f(v: u64) -> f32 {
        f32::from_bits(v as u32)
    }
    fn canonical(v: f32) -> u64 {
        u64::from(if v.is_nan() { 0x7fff_ffff } else { v.to_bits() })
    }
    /// Of the operands, in an order that depends on the operation, the first NaN is the result.
    fn wide(v: f64, operands: &[u64]) -> u64 {
        let nan = operands.iter().find(|bits| f64::from_bits(**bits).is_nan());
        match v.is_nan() {
            true => nan.map_or(0xfff8 << 48, |bits| bits | 1 << 51),
            false => v.to_bits(),
        }
    }
    fn half_of(v: half::f16) -> u64 {
        u64::from(if v.is_nan() { 0x7fff } else { v.to_bits() })
    }
    // A NaN of double precision from one of single precision, and back.
    let longer = |a: u64| a >> 31 << 63 | 0x7ff8 << 48 | (a & 0x7f_ffff) << 29;
    let shorter = |a: u64| a >> 63 << 31 | 0x7fc0_0000 | a >> 29 & 0x3f_ffff;
    let d = f64::from_bits;
    vec![
        case(32, "add.f32 {x}, {a}, {b};", |a, b, _| canonical(f(a) + f(b))),
        case(32, "sub.rn.f32 {x}, {a}, {b};", |a, b, _| canonical(f(a) - f(b))),
        case(32, "mul.f32 {x}, {a}, {b};", |a, b, _| canonical(f(a) * f(b))),
        case(32, "div.rn.f32 {x}, {a}, {b};", |a, b, _| canonical(f(a) / f(b))),
        case(32, "fma.rn.f32 {x}, {a}, {b}, {c};", |a, b, c| canonical(f(a).mul_add(f(b), f(c)))),
        case(32, "neg.f32 {x}, {a};", |a, _, _| canonical(-f(a))),
        case(32, "abs.f32 {x}, {a};", |a, _, _| canonical(f(a).abs())),
        case(32, "sqrt.rn.f32 {x}, {a};", |a, _, _| canonical(f(a).sqrt())),
        case(64, "add.rn.f64 {x}, {a}, {b};", move |a, b, _| wide(d(a) + d(b), &[b, a])),
        case(64, "mul.f64 {x}, {a}, {b};", move |a, b, _| wide(d(a) * d(b), &[b, a])),
        case(64, "fma.rn.f64 {x}, {a}, {b}, {c};", move |a, b, c| {
            wide(d(a).mul_add(d(b), d(c)), &[b, c, a])
        }),
        case(64, "rcp.rn.f64 {x}, {a};", move |a, _, _| wide(1.0 / d(a), &[a])),
        case(32, "setp.lt.f32 %p1, {a}, {b}; selp.b32 {x}, 1, 0, %p1;", |a, b, _| {
            u64::from(f(a) < f(b))
        }),
        case(32, "setp.neu.f32 %p1, {a}, {b}; selp.b32 {x}, 1, 0, %p1;", |a, b, _| {
            u64::from(f(a) != f(b))
        }),
        case(32, "setp.num.f32 %p1, {a}, {b}; selp.b32 {x}, 1, 0, %p1;", |a, b, _| {
            u64::from(!f(a).is_nan() && !f(b).is_nan())
        }),
        case(64, "setp.geu.f64 %p1, {a}, {b}; selp.b64 {x}, 1, 0, %p1;", move |a, b, _| {
            u64::from(d(a) >= d(b) || d(a).is_nan() || d(b).is_nan())
        }),
        mixed(32, 32, 64, "cvt.f64.f32 {x}, {a};", move |a, _, _| match f(a).is_nan() {
            true => longer(a),
            false => f64::from(f(a)).to_bits(),
        }),
        mixed(64, 64, 32, "cvt.rn.f32.f64 {x}, {a};", move |a, _, _| match d(a).is_nan() {
            true => shorter(a),
            false => canonical(d(a) as f32),
        }),
        mixed(64, 64, 32, "cvt.rn.f32.u64 {x}, {a};", |a, _, _| canonical(a as f32)),
        mixed(64, 64, 64, "cvt.rn.f64.s64 {x}, {a};", |a, _, _| wide(a as i64 as f64, &[])),
        mixed(16, 32, 32, "cvt.f32.f16 {x}, {a};", |a, _, _| {
            canonical(half::f16::from_bits(a as u16).to_f32())
        }),
        mixed(32, 32, 16, "cvt.rn.f16.f32 {x}, {a};", move |a, _, _| {
            half_of(half::f16::from_f32(f(a)))
        }),
        mixed(64, 64, 16, "cvt.rn.f16.f64 {x}, {a};", move |a, _, _| match d(a).is_nan() {
            true => a >> 63 << 15 | 0x7e00 | a >> 42 & 0x1ff,
            false => half_of(half::f16::from_f64(d(a))),
        }),
        mixed(32, 32, 16, "cvt.rn.f16.s32 {x}, {a};", |a, _, _| {
            half_of(half::f16::from_f64(f64::from(a as i32)))
        }),
        case(32, "cvt.rzi.s32.f32 {x}, {a};", |a, _, _| u64::from(f(a) as i32 as u32)),
        case(32, "cvt.rzi.u32.f32 {x}, {a};", |a, _, _| u64::from(f(a) as u32)),
        case(32, "cvt.rmi.f32.f32 {x}, {a};", |a, _, _| canonical(f(a).floor())),
    ]
}

/// Ways to move and combine values without changing them.
fn moves() -> Vec<Case> {
    vec![
        case(32, "mov.b32 {%h5, %h6}, {a}; mov.b32 {x}, {%h6, %h5};", |a, _, _| {
            u64::from((a as u32).rotate_left(16))
        }),
        case(64, "mov.b64 {%r5, %r6}, {a}; mov.b64 {x}, {%r6, %r5};", |a, _, _| a.rotate_left(32)),
        case(
            64,
            "mov.b64 {%h5, %h6, %h7, %h8}, {a}; mov.b64 {x}, {%h6, %h7, %h8, %h5};",
            |a, _, _| a.rotate_right(16),
        ),
        case(64, "mov.b64 {_, %r6}, {a}; cvt.u64.u32 {x}, %r6;", |a, _, _| a >> 32),
        case(
            64,
            "mov.b128 %q1, {{a}, {b}}; mov.b128 %q2, %q1; mov.b128 {%d5, %d6}, %q2;
             sub.u64 {x}, %d6, %d5;",
            |a, b, _| b.wrapping_sub(a),
        ),
        case(
            64,
            "mov.b128 %q1, {{a}, {b}}; mov.b128 {%r5, %r6, %r7, %r8}, %q1;
             mov.b128 %q2, {%r8, %r7, %r6, %r5}; mov.b128 {{x}, _}, %q2;",
            |_, b, _| b.rotate_left(32),
        ),
        case(64, "mov.u64 {x}, {a}; @!%p0 mov.u64 {x}, {b};", |_, b, _| b),
        case(32, "mov.u32 {x}, 0xffffffff; mov.b32 %r5, -1; xor.b32 {x}, {x}, %r5;", |_, _, _| 0),
        case(
            32,
            "setp.lo.u32 %p8, {b}, 100;
             setp.lt.and.u32 %p1|%p2, {a}, {b}, %p8; setp.gt.or.u32 %p3, {a}, {c}, !%p2;
             setp.eq.xor.u32 %p4|%p5, {a}, 5, %p3; selp.u32 {x}, 1, 0, %p4;
             @%p5 add.u32 {x}, {x}, 2; @%p1 add.u32 {x}, {x}, 4;",
            |a, b, c| {
                let (p1, p2) = (a < b && b < 100, a >= b && b < 100);
                let p3 = a > c || !p2;
                u64::from((a == 5) ^ p3) + 2 * u64::from((a != 5) ^ p3) + 4 * u64::from(p1)
            },
        ),
        case(
            32,
            "setp.lt.u32 %p1, {a}, {b}; setp.lt.u32 %p2, {b}, {c}; and.pred %p3, %p1, %p2;
             or.pred %p4, %p1, %p2; xor.pred %p5, %p1, %p2; not.pred %p6, %p1; mov.pred %p7, %p2;
             selp.u32 {x}, 1, 0, %p3; @%p4 add.u32 {x}, {x}, 2; @%p5 add.u32 {x}, {x}, 4;
             @%p6 add.u32 {x}, {x}, 8; @!%p7 add.u32 {x}, {x}, 16;",
            |a, b, c| {
                let (p, q) = (a < b, b < c);
                [p & q, p | q, p ^ q, !p, !q]
                    .iter()
                    .rev()
                    .fold(0, |all, &bit| 2 * all + u64::from(bit))
            },
        ),
    ]
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut cases = Vec::new();
    [16, 32, 64].into_iter().for_each(|width| cases.extend(integers(width)));
    for more in [widening(), bits(), carries(), conversions(), floats(), moves()] {
        cases.extend(more);
    }
    cases
});

/// One kernel per case.
static MODULE: LazyLock<Module> = LazyLock::new(|| {
    let kernel = |(number, case): (usize, &Case)| {
        format!(
            ".visible .entry k{number}(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .pred %p<9>; .reg .b16 %h<12>; .reg .b32 %r<12>; .reg .b64 %d<12>;\n\
             .reg .b128 %q<3>; .reg .b32 %t; .reg .b64 %in, %out;\n\
             ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n\
             mov.u32 %t, %tid.x; mad.wide.u32 %in, %t, 24, %in; mad.wide.u32 %out, %t, 8, %out;\n\
             ld.global.u64 %d1, [%in]; ld.global.u64 %d2, [%in+8]; ld.global.u64 %d3, [%in+16];\n\
             {}\n\
             st.global.u64 [%out], %d0;\n}}\n",
            case.ptx
        )
    };
    let kernels: String = CASES.iter().enumerate().map(kernel).collect();
    Module::parse(&format!("{HEAD}{kernels}")).unwrap()
});

/// Any value, with a liking for the extremes of every width.
fn value() -> impl Strategy<Value = u64> {
    let edges = prop::sample::select(vec![0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256]);
    let power = (0..64u32, -2i64..3).prop_map(|(at, off)| (1u64 << at).wrapping_add_signed(off));
    prop_oneof![
        any::<u64>(),
        edges,
        power.clone(),
        power.prop_map(u64::wrapping_neg),
        any::<u32>().prop_map(u64::from),
        any::<u16>().prop_map(|v| u64::from(v) << 16 | u64::from(v)),
        any::<f32>().prop_map(|v| u64::from(v.to_bits())),
        any::<f64>().prop_map(f64::to_bits),
    ]
}

#[test]
fn every_case_decodes() {
    let refused: Vec<_> = MODULE.refused().collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(CASES.len() > 230, "{}", CASES.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn instructions_mean_what_they_say(
        // 37 threads: a full warp and one with idle lanes.
        triples in prop::collection::vec([value(), value(), value()], 37)
    ) {
        let device = Device::default();
        let (input, out) = (device.upload(&triples), device.upload(&[0u64; 37]));
        for (number, case) in CASES.iter().enumerate() {
            let kernel = format!("k{number}");
            device.launch(&MODULE, &kernel, 1, 37, &[arg(input), arg(out)]).unwrap();
            for (&[a, b, c], got) in triples.iter().zip(device.download::<u64>(out, 37)) {
                let expected = (case.oracle)(a, b, c);
                prop_assert_eq!(
                    got, expected,
                    "a {:#x} b {:#x} c {:#x} gave {:#x}, not {:#x}:\n{}",
                    a, b, c, got, expected, case.ptx
                );
            }
        }
    }
}
