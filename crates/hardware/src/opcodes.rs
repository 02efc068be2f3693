//! Every instruction that computes, by type, whether or not the simulator has it: what it has not is refused when it is parsed, and what a GPU
//! has not when it is compiled.

use crate::operands::{BF16, F16, F32, F64, Format, Values};

/// The registers that a value may be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A predicate.
    Predicate,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Double,
}

impl Class {
    /// The class of registers that hold values of `bits` bits; a byte is kept in 16.
    pub fn of(bits: u32) -> Class {
        match bits {
            1 => Class::Predicate,
            8 | 16 => Class::Half,
            32 => Class::Word,
            _ => Class::Double,
        }
    }

    /// This one and those of more bits.
    fn and_wider(self) -> impl Iterator<Item = Class> {
        let all = [Class::Half, Class::Word, Class::Double];
        all.into_iter().filter(move |class| class.bytes() >= self.bytes())
    }

    /// Bytes that a result takes in the table.
    pub fn bytes(self) -> usize {
        match self {
            Class::Predicate => 1,
            Class::Half => 2,
            Class::Word => 4,
            Class::Double => 8,
        }
    }
}

/// One instruction of one type, and what it is tried on.
#[derive(Clone, Debug)]
pub struct Case {
    /// The instruction, with `{a}`, `{b}`, `{c}`, `{e}` for its operands and `{d}`, `{q}` for its results; `{o}` is the address of 8
    /// bytes of its own, `%own` that of 16 bytes of shared memory, `%t`, `%t64` and `%t128` are registers to spare.
    pub body: String,
    /// What the operands are and where they are kept.
    pub operands: Vec<(Class, Values)>,
    /// Where the results are kept.
    pub results: Vec<Class>,
}

impl Case {
    fn new(body: impl Into<String>, operands: &[(Class, Values)], results: &[Class]) -> Case {
        Case { body: body.into(), operands: operands.to_vec(), results: results.to_vec() }
    }

    /// What tells it from others: its body, and the bytes of the registers that its operands and results are in.
    pub fn key(&self) -> String {
        let bytes = |class: &Class| char::from_digit(class.bytes() as u32, 10).unwrap_or('?');
        let operands: String = self.operands.iter().map(|(class, _)| bytes(class)).collect();
        let results: String = self.results.iter().map(bytes).collect();
        format!("{} // {operands} {results}", self.body)
    }

    /// The first part of the opcode.
    pub fn base(&self) -> &str {
        self.body.split(['.', ' ']).next().unwrap_or_default()
    }
}

/// A type of PTX: its name, its bits, what its values are.
#[derive(Clone, Copy, Debug)]
struct Type(&'static str, u32, Values);

impl Type {
    fn operand(self) -> (Class, Values) {
        (Class::of(self.1), self.2)
    }

    fn class(self) -> Class {
        Class::of(self.1)
    }
}

const fn int(name: &'static str, bits: u32) -> Type {
    Type(name, bits, Values::Int(bits))
}

const fn float(name: &'static str, format: Format) -> Type {
    Type(name, format.bits, Values::Float(format))
}

const INTEGERS: [Type; 6] = [
    int("u16", 16),
    int("s16", 16),
    int("u32", 32),
    int("s32", 32),
    int("u64", 64),
    int("s64", 64),
];
const BYTES: [Type; 2] = [int("u8", 8), int("s8", 8)];
const BITS: [Type; 3] = [int("b16", 16), int("b32", 32), int("b64", 64)];
const SINGLE: Type = float("f32", F32);
const DOUBLE: Type = float("f64", F64);
const FLOATS: [Type; 4] = [float("f16", F16), float("bf16", BF16), SINGLE, DOUBLE];
const PAIRS: [Type; 2] =
    [Type("f16x2", 32, Values::Pair(F16)), Type("bf16x2", 32, Values::Pair(BF16))];
const AMOUNT: (Class, Values) = (Class::Word, Values::Amount);
const FLAG: (Class, Values) = (Class::Predicate, Values::Bool);
const WORD: (Class, Values) = (Class::Word, Values::Int(32));
const FEW: (Class, Values) = (Class::Word, Values::Few);

/// Tables of `lop3`: nothing, one row, all functions that compilers like.
const TABLES: [u8; 16] = [
    0x00, 0x01, 0x80, 0x96, 0xca, 0xe8, 0xff, 0x3c, 0xc0, 0xfc, 0x1e, 0x6a, 0x2d, 0x54, 0xb8, 0xd1,
];

/// All cases.
pub fn all() -> Vec<Case> {
    let families = [
        integers,
        floats,
        carries,
        logic,
        bits,
        comparisons,
        conversions,
        wide_conversions,
        moves,
        lanes,
        barriers,
        memory,
        widths,
    ];
    families.into_iter().flat_map(|family| family()).collect()
}

/// An instruction of `count` operands of one type, which is its result's too.
fn plain(name: &str, kind: Type, count: usize) -> Case {
    let operands = ["{a}", "{b}", "{c}"][..count].join(", ");
    Case::new(
        format!("{name}.{} {{d}}, {operands};", kind.0),
        &vec![kind.operand(); count],
        &[kind.class()],
    )
}

fn integers() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in INTEGERS {
        for name in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"] {
            cases.push(plain(name, kind, 2));
        }
        for name in ["mad.lo", "mad.hi"] {
            cases.push(plain(name, kind, 3));
        }
        for name in ["neg", "abs"] {
            cases.push(plain(name, kind, 1));
        }
        if kind.1 < 64 {
            let wide = Type(kind.0, 2 * kind.1, Values::Int(2 * kind.1));
            let (narrow, result) = (kind.operand(), wide.class());
            let name = kind.0;
            cases.push(Case::new(
                format!("mul.wide.{name} {{d}}, {{a}}, {{b}};"),
                &[narrow; 2],
                &[result],
            ));
            cases.push(Case::new(
                format!("mad.wide.{name} {{d}}, {{a}}, {{b}}, {{c}};"),
                &[narrow, narrow, wide.operand()],
                &[result],
            ));
        }
    }
    cases.push(plain("add.sat", INTEGERS[3], 2));
    cases.push(plain("sub.sat", INTEGERS[3], 2));
    cases
}

fn floats() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in FLOATS.into_iter().chain(PAIRS) {
        for name in
            ["add", "sub", "mul", "min", "max", "add.rn", "sub.rn", "mul.rn", "min.NaN", "max.NaN"]
        {
            cases.push(plain(name, kind, 2));
        }
        for name in ["neg", "abs"] {
            cases.push(plain(name, kind, 1));
        }
        cases.push(plain("fma.rn", kind, 3));
    }
    for kind in [SINGLE, DOUBLE] {
        cases.push(plain("div.rn", kind, 2));
        cases.push(plain("mad.rn", kind, 3));
        cases.extend(["sqrt.rn", "rcp.rn"].map(|name| plain(name, kind, 1)));
        cases.extend(["add.rz", "mul.rz"].map(|name| plain(name, kind, 2)));
    }
    cases.extend(["add.ftz", "mul.ftz", "add.sat", "mul.sat"].map(|name| plain(name, SINGLE, 2)));
    cases
}

/// Additions that take a carry from the instruction before and leave one to the next.
fn carries() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in &INTEGERS[2..] {
        let (name, operand, result) = (kind.0, kind.operand(), kind.class());
        let two = [operand; 2];
        let three = [operand, operand, FLAG];
        let give = "selp.b32 %t, 1, 0, {c}; add.cc.u32 %t, %t, 0xffffffff;";
        let borrow = "selp.b32 %t, 1, 0, {c}; sub.cc.u32 %t, 0, %t;";
        let take = "addc.u32 {q}, 0, 0;";
        let take_borrow = "subc.u32 {q}, 0, 0;";
        let with = [result, Class::Word];
        cases.push(Case::new(format!("add.cc.{name} {{d}}, {{a}}, {{b}}; {take}"), &two, &with));
        cases.push(Case::new(
            format!("sub.cc.{name} {{d}}, {{a}}, {{b}}; {take_borrow}"),
            &two,
            &with,
        ));
        cases.push(Case::new(
            format!("{give} addc.{name} {{d}}, {{a}}, {{b}};"),
            &three,
            &[result],
        ));
        cases.push(Case::new(
            format!("{borrow} subc.{name} {{d}}, {{a}}, {{b}};"),
            &three,
            &[result],
        ));
        cases.push(Case::new(
            format!("{give} addc.cc.{name} {{d}}, {{a}}, {{b}}; {take}"),
            &three,
            &with,
        ));
        cases.push(Case::new(
            format!("{borrow} subc.cc.{name} {{d}}, {{a}}, {{b}}; {take_borrow}"),
            &three,
            &with,
        ));
    }
    cases
}

fn logic() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in ["and", "or", "xor"] {
        cases.extend(BITS.map(|kind| plain(name, kind, 2)));
        cases.push(plain(name, Type("pred", 1, Values::Bool), 2));
    }
    for name in ["not", "cnot"] {
        cases.extend(BITS.map(|kind| plain(name, kind, 1)));
    }
    cases.push(plain("not", Type("pred", 1, Values::Bool), 1));
    for kind in BITS.into_iter().chain(INTEGERS) {
        let name = if kind.0.starts_with('b') { "shl" } else { "shr" };
        let body = format!("{name}.{} {{d}}, {{a}}, {{b}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(), AMOUNT], &[kind.class()]));
    }
    for kind in BITS {
        let body = format!("shr.{} {{d}}, {{a}}, {{b}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(), AMOUNT], &[kind.class()]));
    }
    for table in TABLES {
        let body = format!("lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {table:#04x};");
        cases.push(Case::new(body, &[WORD; 3], &[Class::Word]));
    }
    cases
}

fn bits() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in &BITS[1..] {
        cases.push(plain("brev", *kind, 1));
        for name in ["popc", "clz"] {
            let body = format!("{name}.{} {{d}}, {{a}};", kind.0);
            cases.push(Case::new(body, &[kind.operand()], &[Class::Word]));
        }
        let body = format!("bfi.{} {{d}}, {{a}}, {{b}}, {{c}}, {{e}};", kind.0);
        let operands = [kind.operand(), kind.operand(), AMOUNT, AMOUNT];
        cases.push(Case::new(body, &operands, &[kind.class()]));
    }
    for kind in &INTEGERS[2..] {
        for name in ["bfind", "bfind.shiftamt"] {
            let body = format!("{name}.{} {{d}}, {{a}};", kind.0);
            cases.push(Case::new(body, &[kind.operand()], &[Class::Word]));
        }
        let body = format!("bfe.{} {{d}}, {{a}}, {{b}}, {{c}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(), AMOUNT, AMOUNT], &[kind.class()]));
    }
    cases.push(plain("prmt", BITS[1], 3));
    for name in ["shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32", "shf.r.clamp.b32"] {
        let body = format!("{name} {{d}}, {{a}}, {{b}}, {{c}};");
        cases.push(Case::new(body, &[WORD, WORD, AMOUNT], &[Class::Word]));
    }
    let types = BITS.into_iter().chain(INTEGERS).chain([SINGLE, DOUBLE]);
    for kind in types.clone() {
        for selector in [INTEGERS[3], SINGLE] {
            let body = format!("slct.{}.{} {{d}}, {{a}}, {{b}}, {{c}};", kind.0, selector.0);
            let operands = [kind.operand(), kind.operand(), selector.operand()];
            cases.push(Case::new(body, &operands, &[kind.class()]));
        }
    }
    for kind in types {
        let body = format!("selp.{} {{d}}, {{a}}, {{b}}, {{c}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(), kind.operand(), FLAG], &[kind.class()]));
    }
    cases
}

fn comparisons() -> Vec<Case> {
    const ORDERED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
    const UNSIGNED: [&str; 4] = ["lo", "ls", "hi", "hs"];
    const UNORDERED: [&str; 8] = ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];
    let mut pairs: Vec<(&str, Type)> = Vec::new();
    for kind in BITS {
        pairs.extend(ORDERED[..2].iter().map(|how| (*how, kind)));
    }
    for kind in INTEGERS {
        pairs.extend(ORDERED.map(|how| (how, kind)));
        if kind.0.starts_with('u') {
            pairs.extend(UNSIGNED.map(|how| (how, kind)));
        }
    }
    for kind in FLOATS {
        pairs.extend(ORDERED.into_iter().chain(UNORDERED).map(|how| (how, kind)));
    }
    let mut cases = Vec::new();
    for (how, kind) in &pairs {
        let body = format!("setp.{how}.{} {{d}}, {{a}}, {{b}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(); 2], &[Class::Predicate]));
    }
    for (how, kind) in [("lt", INTEGERS[3]), ("eq", BITS[2]), ("ltu", SINGLE), ("num", DOUBLE)] {
        let body = format!("setp.{how}.{} {{d}}|{{q}}, {{a}}, {{b}};", kind.0);
        cases.push(Case::new(body, &[kind.operand(); 2], &[Class::Predicate; 2]));
        for logic in ["and", "or", "xor"] {
            let operands = [kind.operand(), kind.operand(), FLAG];
            let both = [Class::Predicate; 2];
            let name = kind.0;
            let body = format!("setp.{how}.{logic}.{name} {{d}}|{{q}}, {{a}}, {{b}}, {{c}};");
            cases.push(Case::new(body, &operands, &both));
            let body = format!("setp.{how}.{logic}.{name} {{d}}|{{q}}, {{a}}, {{b}}, !{{c}};");
            cases.push(Case::new(body, &operands, &both));
        }
    }
    cases
}

fn conversions() -> Vec<Case> {
    const TO_FLOAT: [&str; 4] = ["rn.", "rz.", "rm.", "rp."];
    const TO_INTEGER: [&str; 4] = ["rni.", "rzi.", "rmi.", "rpi."];
    let integers = || BYTES.into_iter().chain(INTEGERS);
    let mut cases = Vec::new();
    let mut push = |how: &str, to: Type, from: Type, class: Class| {
        let body = format!("cvt.{how}{}.{} {{d}}, {{a}};", to.0, from.0);
        let case = Case::new(body, &[from.operand()], &[class]);
        cases.push(case);
    };
    for from in integers() {
        for to in integers() {
            push("", to, from, to.class());
            push("sat.", to, from, to.class());
            if to.1 < 32 {
                push("", to, from, Class::Word);
            }
        }
        for (to, how) in FLOATS.iter().flat_map(|to| TO_FLOAT.map(|how| (*to, how))) {
            push(how, to, from, to.class());
        }
    }
    for from in FLOATS {
        for (to, how) in integers().flat_map(|to| TO_INTEGER.map(|how| (to, how))) {
            push(how, to, from, to.class());
        }
        for to in FLOATS {
            let rounds: &[&str] = match to.1.cmp(&from.1) {
                std::cmp::Ordering::Less => &TO_FLOAT,
                std::cmp::Ordering::Greater => &[""],
                std::cmp::Ordering::Equal if to.0 == from.0 => {
                    &["", "rni.", "rzi.", "rmi.", "rpi."]
                }
                std::cmp::Ordering::Equal => &["rn.", "rz."],
            };
            for how in rounds {
                push(how, to, from, to.class());
                push(&format!("{how}sat."), to, from, to.class());
            }
        }
    }
    for how in ["rn.f16x2", "rz.f16x2", "rn.bf16x2", "rz.bf16x2"] {
        let body = format!("cvt.{how}.f32 {{d}}, {{a}}, {{b}};");
        cases.push(Case::new(body, &[SINGLE.operand(); 2], &[Class::Word]));
    }
    for to in ["e4m3x2", "e5m2x2"] {
        let body = format!("cvt.rn.satfinite.{to}.f32 {{d}}, {{a}}, {{b}};");
        cases.push(Case::new(body, &[SINGLE.operand(); 2], &[Class::Half]));
        let body = format!("cvt.rn.f16x2.{to} {{d}}, {{a}};");
        cases.push(Case::new(body, &[(Class::Half, Values::Int(16))], &[Class::Word]));
    }
    for to in ["u16", "s16"] {
        let body = format!("cvt.pack.sat.{to}.s32 {{d}}, {{a}}, {{b}};");
        cases.push(Case::new(body, &[WORD; 2], &[Class::Word]));
    }
    for to in ["u8", "s8"] {
        let body = format!("cvt.pack.sat.{to}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};");
        cases.push(Case::new(body, &[WORD; 3], &[Class::Word]));
    }
    cases
}

/// Conversions from and to registers of more bits than the types have.
fn wide_conversions() -> Vec<Case> {
    let integers = || BYTES.into_iter().chain(INTEGERS);
    let floats = [FLOATS[0], SINGLE, DOUBLE];
    let mut pairs: Vec<(&str, Type, Type)> = Vec::new();
    for to in integers() {
        pairs.extend(integers().map(|from| ("", to, from)));
        pairs.extend(floats.map(|from| ("rzi.", to, from)));
    }
    for to in floats {
        pairs.extend(integers().map(|from| ("rn.", to, from)));
        pairs.extend(floats.map(|from| (if from.1 > to.1 { "rn." } else { "" }, to, from)));
    }
    let mut cases = Vec::new();
    for (how, to, from) in pairs {
        for source in from.class().and_wider() {
            let values = match from.2 {
                Values::Int(_) => Values::Int(8 * source.bytes() as u32),
                number => number,
            };
            // With the type's own registers they are among the conversions.
            let known = |target: Class| {
                source == from.class()
                    && (target == to.class() || to.1 < 32 && target == Class::Word)
            };
            for target in to.class().and_wider().filter(|target| !known(*target)) {
                let body = format!("cvt.{how}{}.{} {{d}}, {{a}};", to.0, from.0);
                cases.push(Case::new(body, &[(source, values)], &[target]));
            }
        }
    }
    cases
}

fn moves() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in BITS.into_iter().chain(INTEGERS).chain([SINGLE, DOUBLE]) {
        cases.push(plain("mov", kind, 1));
    }
    cases.push(plain("mov", Type("pred", 1, Values::Bool), 1));
    let (half, word, double) = (BITS[0].operand(), BITS[1].operand(), BITS[2].operand());
    cases.push(Case::new("mov.b32 {d}, {{a}, {b}};", &[half; 2], &[Class::Word]));
    cases.push(Case::new("mov.b64 {d}, {{a}, {b}};", &[word; 2], &[Class::Double]));
    cases.push(Case::new("mov.b64 {d}, {{a}, {b}, {c}, {e}};", &[half; 4], &[Class::Double]));
    cases.push(Case::new("mov.b32 {{d}, {q}}, {a};", &[word], &[Class::Half; 2]));
    cases.push(Case::new("mov.b64 {{d}, {q}}, {a};", &[double], &[Class::Word; 2]));
    cases.push(Case::new("mov.b32 {_, {d}}, {a};", &[word], &[Class::Half]));
    let two = &[double; 2];
    cases.push(Case::new(
        "mov.b128 %t128, {{a}, {b}}; mov.b128 {{d}, {q}}, %t128;",
        two,
        &[Class::Double; 2],
    ));
    cases.push(Case::new(
        "mov.b128 %t128, {{a}, {b}}; mov.b128 {%t, {d}, {q}, _}, %t128;",
        two,
        &[Class::Word; 2],
    ));
    cases.push(Case::new(
        "mov.b128 %t128, {{a}, {b}, {c}, {e}}; mov.b128 {{d}, {q}}, %t128;",
        &[word; 4],
        &[Class::Double; 2],
    ));
    cases
}

/// Exchanges between the lanes of a warp: all of it takes part.
fn lanes() -> Vec<Case> {
    let mut cases = Vec::new();
    for how in ["up", "down", "bfly", "idx"] {
        for clamp in ["0", "31", "0x1f00", "0x181f", "0x1007"] {
            let body =
                format!("shfl.sync.{how}.b32 {{d}}|{{q}}, {{a}}, {{b}}, {clamp}, 0xffffffff;");
            cases.push(Case::new(body, &[WORD, AMOUNT], &[Class::Word, Class::Predicate]));
        }
        let body = format!("shfl.sync.{how}.b32 {{d}}|{{q}}, {{a}}, {{b}}, {{c}}, 0xffffffff;");
        cases.push(Case::new(body, &[WORD, AMOUNT, WORD], &[Class::Word, Class::Predicate]));
    }
    for how in ["all.pred", "any.pred", "uni.pred"] {
        let body = format!("vote.sync.{how} {{d}}, {{a}}, 0xffffffff;");
        cases.push(Case::new(body, &[FLAG], &[Class::Predicate]));
    }
    for flag in ["{a}", "!{a}"] {
        let body = format!("vote.sync.ballot.b32 {{d}}, {flag}, 0xffffffff;");
        cases.push(Case::new(body, &[FLAG], &[Class::Word]));
    }
    for (kind, few) in [("b32", FEW), ("b64", (Class::Double, Values::Few))] {
        let body = format!("match.any.sync.{kind} {{d}}, {{a}}, 0xffffffff;");
        cases.push(Case::new(body, &[few], &[Class::Word]));
        let body = format!("match.all.sync.{kind} {{d}}|{{q}}, {{a}}, 0xffffffff;");
        cases.push(Case::new(body, &[few], &[Class::Word, Class::Predicate]));
    }
    for kind in ["u32", "s32", "b32"] {
        for how in ["add", "min", "max", "and", "or", "xor"] {
            let body = format!("redux.sync.{how}.{kind} {{d}}, {{a}}, 0xffffffff;");
            cases.push(Case::new(body, &[WORD], &[Class::Word]));
        }
    }
    cases
}

/// What the threads of a block find out together.
fn barriers() -> Vec<Case> {
    let of = |how: &str, result| {
        let body = format!("barrier.sync.aligned 0; bar.red.{how} {{d}}, 0, {{a}};");
        Case::new(body, &[FLAG], &[result])
    };
    vec![
        of("popc.u32", Class::Word),
        of("and.pred", Class::Predicate),
        of("or.pred", Class::Predicate),
    ]
}

/// Loads and stores of several elements, and of the types that [`memory`] has not.
fn widths() -> Vec<Case> {
    let mut cases = Vec::new();
    let double = BITS[2].operand();
    for (kind, class) in [("f32", Class::Word), ("f64", Class::Double)] {
        let body = format!("st.global.{kind} [{{o}}], {{a}}; ld.global.{kind} {{d}}, [{{o}}];");
        cases.push(Case::new(body, &[(class, Values::Int(8 * class.bytes() as u32))], &[class]));
    }
    let types = BYTES.into_iter().chain([int("b8", 8)]).chain(BITS).chain(INTEGERS);
    for kind in types.filter(|kind| kind.1 <= 32) {
        let (name, class) = (kind.0, kind.class());
        for at in ["shared", "global"] {
            let place = if at == "shared" { "%own" } else { "{o}" };
            let body = format!(
                "st.{at}.b64 [{place}], {{a}}; ld.{at}.v2.{name} {{{{d}}, {{q}}}}, [{place}];"
            );
            cases.push(Case::new(body, &[double], &[class; 2]));
            let body = format!(
                "st.{at}.b64 [{place}], {{a}}; st.{at}.v2.{name} [{place}], {{{{b}}, {{c}}}}; ld.{at}.b64 {{d}}, [{place}];"
            );
            cases.push(Case::new(
                body,
                &[double, kind.operand(), kind.operand()],
                &[Class::Double],
            ));
        }
    }
    for kind in [BITS[0], BYTES[0], BYTES[1]] {
        let (name, class) = (kind.0, kind.class());
        let body = format!(
            "st.global.b64 [{{o}}], {{a}}; ld.global.v4.{name} {{{{d}}, _, {{q}}, _}}, [{{o}}];"
        );
        cases.push(Case::new(body, &[double], &[class; 2]));
        let body = format!(
            "st.global.b64 [{{o}}], {{a}}; st.global.v4.{name} [{{o}}], {{{{b}}, {{c}}, {{b}}, {{c}}}}; ld.global.b64 {{d}}, [{{o}}];"
        );
        cases.push(Case::new(body, &[double, kind.operand(), kind.operand()], &[Class::Double]));
    }
    // 16 bytes: of shared memory, and the operands of two threads.
    let (both, quad) = ("{{a}, {b}}", "{%t, {d}, {q}, _}");
    for (how, give, from, to, take) in [
        ("v2.b64", "", both, "{{d}, {q}}", ""),
        ("v4.b32", "cvt.u32.u64 %t, {a};", "{%t, %t, %i, %t}", quad, ""),
        ("v4.u32", "cvt.u32.u64 %t, {a};", "{%t, %t, %i, %t}", quad, ""),
        ("b128", "mov.b128 %t128, {{a}, {b}};", "%t128", "%t128", "mov.b128 {{d}, {q}}, %t128;"),
    ] {
        let result = if how.starts_with("v4") { Class::Word } else { Class::Double };
        let body =
            format!("{give} st.shared.{how} [%own], {from}; ld.shared.{how} {to}, [%own]; {take}");
        cases.push(Case::new(body, &[double; 2], &[result; 2]));
        let body = format!("and.b64 %t64, %from, -16; ld.global.{how} {to}, [%t64]; {take}");
        cases.push(Case::new(body, &[double], &[result; 2]));
    }
    cases
}

/// Loads and stores that extend and cut, and atomics: the old value, and what memory then holds.
fn memory() -> Vec<Case> {
    let mut cases = Vec::new();
    let all = || BYTES.into_iter().chain([int("b8", 8)]).chain(BITS).chain(INTEGERS);
    let double = BITS[2].operand();
    for kind in all() {
        for class in [Class::Half, Class::Word, Class::Double]
            .into_iter()
            .filter(|c| c.bytes() * 8 >= kind.1 as usize)
        {
            let body =
                format!("st.global.b64 [{{o}}], {{a}}; ld.global.{} {{d}}, [{{o}}];", kind.0);
            cases.push(Case::new(body, &[double], &[class]));
            let operand = (class, Values::Int(8 * class.bytes() as u32));
            let body = format!(
                "st.global.b64 [{{o}}], {{a}}; st.global.{} [{{o}}], {{b}}; ld.global.b64 {{d}}, [{{o}}];",
                kind.0
            );
            cases.push(Case::new(body, &[double, operand], &[Class::Double]));
        }
    }
    let operations: [(&str, &[Type]); 8] = [
        ("add", &[INTEGERS[2], INTEGERS[3], INTEGERS[4], INTEGERS[5], SINGLE, DOUBLE]),
        ("min", &INTEGERS[2..]),
        ("max", &INTEGERS[2..]),
        ("and", &BITS[1..]),
        ("or", &BITS[1..]),
        ("xor", &BITS[1..]),
        ("exch", &BITS[1..]),
        ("inc", &INTEGERS[2..3]),
    ];
    let two =
        operations.into_iter().flat_map(|(how, kinds)| kinds.iter().map(move |kind| (how, *kind)));
    for (how, kind) in two.chain([("dec", INTEGERS[2])]) {
        cases.push(atomic(how, kind, "global", "{o}"));
        cases.push(atomic(how, kind, "shared", "%own"));
    }
    for kind in &BITS[1..] {
        let name = kind.0;
        let body = format!(
            "st.global.{name} [{{o}}], {{a}}; atom.global.cas.{name} {{d}}, [{{o}}], {{b}}, {{c}}; ld.global.{name} {{q}}, [{{o}}];"
        );
        cases.push(Case::new(body, &[kind.operand(); 3], &[kind.class(); 2]));
    }
    cases
}

fn atomic(how: &str, kind: Type, space: &str, at: &str) -> Case {
    let (name, bits) = (kind.0, kind.1);
    let body = format!(
        "st.{space}.b{bits} [{at}], {{a}}; atom.{space}.{how}.{name} {{d}}, [{at}], {{b}}; ld.{space}.b{bits} {{q}}, [{at}];"
    );
    Case::new(body, &[kind.operand(); 2], &[kind.class(); 2])
}
