//! Decodes instructions that compute: integer, logic, comparison, conversion, moves.

use super::Decoder;
use super::opcode::{Kind, Opcode, Type};
use crate::Error;
use crate::half::Narrow;
use crate::isa::*;
use crate::syntax::Operand;

impl<'a> Decoder<'a> {
    pub(super) fn arithmetic(
        &mut self,
        op: &mut Opcode<'a>,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        match op.base {
            "add" | "sub" | "addc" | "subc" => self.add_sub(op, args),
            "mul" | "mad" | "fma" => self.multiply(op, args),
            "div" | "rem" | "min" | "max" | "and" | "or" | "xor" => self.binary(op, args),
            "shl" | "shr" => self.shift(op, args),
            "not" | "cnot" | "neg" | "abs" | "brev" | "sqrt" | "rcp" => self.unary(op, args),
            "popc" | "clz" | "bfind" => self.count_bits(op, args),
            "bfe" | "bfi" => self.bit_field(op, args),
            "prmt" | "lop3" | "slct" | "shf" => self.ternary(op, args),
            "setp" => self.setp(op, args),
            "selp" => self.selp(op, args),
            "cvt" => self.convert(op, args),
            "cvta" => self.convert_address(op, args),
            "isspacep" => self.is_space(op, args),
            "mov" => self.mov(op, args),
            _ => Err(op.unsupported()),
        }
    }

    /// Reads `d, a, b` of one type into a binary operation.
    fn binary_of(&mut self, f: Binary, bits: u8, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let [d, a, b] = self.args(args)?;
        Ok(match bits {
            16 => Op::Binary16(f, self.dst_w(d, 16)?, self.src_w(a, 16)?, self.src_w(b, 16)?),
            32 => Op::Binary32(f, self.dst_w(d, 32)?, self.src_w(a, 32)?, self.src_w(b, 32)?),
            _ => Op::Binary64(f, self.dst_d(d)?, self.src_d(a)?, self.src_d(b)?),
        })
    }

    /// The width of an integer type that arithmetic exists for.
    fn integer_bits(&self, op: &Opcode<'a>, kind: Type) -> Result<u8, Error> {
        match (kind.kind, kind.bits) {
            (Kind::Unsigned | Kind::Signed, bits @ (16 | 32 | 64)) => Ok(bits),
            _ => Err(op.unsupported()),
        }
    }

    /// The width of an untyped operand of logic.
    fn untyped_bits(&self, op: &Opcode<'a>, kind: Type) -> Result<u8, Error> {
        match (kind.kind, kind.bits) {
            (Kind::Bits, bits @ (16 | 32 | 64)) => Ok(bits),
            _ => Err(op.unsupported()),
        }
    }

    fn add_sub(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let subtract = op.base.starts_with("sub");
        let carry_in = op.base.ends_with('c');
        let carry_out = op.take("cc");
        let kind = op.take_type()?;
        if kind.is_float() && !carry_in && !carry_out {
            op.take("rn");
            return self.binary_of(
                if subtract { Binary::FSub } else { Binary::FAdd },
                kind.bits,
                args,
            );
        }
        let bits = self.integer_bits(op, kind)?;
        if !carry_in && !carry_out {
            return self.binary_of(if subtract { Binary::Sub } else { Binary::Add }, bits, args);
        }
        let [d, a, b] = self.args(args)?;
        if carry_in {
            self.uses.push(CARRY.into());
        }
        if carry_out {
            self.defs.push(CARRY.into());
        }
        match (self.dst(d, bits)?, self.src(a, bits)?, self.src(b, bits)?) {
            (Reg::W(d), Reg::W(a), Reg::W(b)) if bits == 32 => {
                Ok(Op::Carry32 { subtract, carry_in, carry_out, d, a, b })
            }
            (Reg::D(d), Reg::D(a), Reg::D(b)) => {
                Ok(Op::Carry64 { subtract, carry_in, carry_out, d, a, b })
            }
            _ => Err(op.unsupported()),
        }
    }

    fn multiply(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let add = op.base != "mul";
        let (low, high, wide) = (op.take("lo"), op.take("hi"), op.take("wide"));
        let kind = op.take_type()?;
        if kind.is_float() && !low && !high && !wide {
            // Single-precision `mad` does not say how it rounds; `fma` does.
            let rounded = op.take("rn");
            return match op.base {
                "mul" => self.binary_of(Binary::FMul, kind.bits, args),
                _ if rounded => self.ternary_of(Ternary::FFma, kind.bits, args),
                _ => Err(op.unsupported()),
            };
        }
        let bits = self.integer_bits(op, kind)?;
        let signed = kind.is_signed();
        match (low, high, wide) {
            _ if op.base == "fma" => Err(op.unsupported()),
            (true, false, false) if add => self.ternary_of(Ternary::MadLo, bits, args),
            (true, false, false) => self.binary_of(Binary::MulLo, bits, args),
            (false, true, false) if add => {
                self.ternary_of(if signed { Ternary::MadHiS } else { Ternary::MadHiU }, bits, args)
            }
            (false, true, false) => {
                self.binary_of(if signed { Binary::MulHiS } else { Binary::MulHiU }, bits, args)
            }
            (false, false, true) => self.multiply_wide(op, add, bits, signed, args),
            _ => Err(op.unsupported()),
        }
    }

    fn multiply_wide(
        &mut self,
        op: &Opcode<'a>,
        add: bool,
        bits: u8,
        signed: bool,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        if bits == 64 {
            return Err(op.unsupported());
        }
        let (d, a, b, c) = if add {
            let [d, a, b, c] = self.args(args)?;
            (d, a, b, Some(self.src(c, bits * 2)?))
        } else {
            let [d, a, b] = self.args(args)?;
            (d, a, b, None)
        };
        let (a, b) = (self.src_w(a, bits)?, self.src_w(b, bits)?);
        Ok(match (self.dst(d, bits * 2)?, c) {
            (Reg::W(d), None) => Op::MulWide16 { signed, d, a, b },
            (Reg::D(d), None) => Op::MulWide32 { signed, d, a, b },
            (Reg::W(d), Some(Reg::W(c))) => Op::MadWide16 { signed, d, a, b, c },
            (Reg::D(d), Some(Reg::D(c))) => Op::MadWide32 { signed, d, a, b, c },
            _ => return Err(op.unsupported()),
        })
    }

    fn binary(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        if let "and" | "or" | "xor" = op.base {
            return self.logic(op, kind, args);
        }
        if kind.is_float() {
            let f = match (op.base, op.take("rn")) {
                ("div", true) => Binary::FDiv,
                ("min", false) => Binary::FMin,
                ("max", false) => Binary::FMax,
                _ => return Err(op.unsupported()),
            };
            return self.binary_of(f, kind.bits, args);
        }
        let bits = self.integer_bits(op, kind)?;
        if op.take("relu") {
            // Of pairs of 16 bits, too, which no kernel has.
            let f = match (op.base, kind.is_signed() && bits == 32) {
                ("min", true) => Binary::MinReluS,
                ("max", true) => Binary::MaxReluS,
                _ => return Err(op.unsupported()),
            };
            return self.binary_of(f, bits, args);
        }
        let f = match (op.base, kind.is_signed()) {
            ("div", false) => Binary::DivU,
            ("div", true) => Binary::DivS,
            ("rem", false) => Binary::RemU,
            ("rem", true) => Binary::RemS,
            ("min", false) => Binary::MinU,
            ("min", true) => Binary::MinS,
            ("max", false) => Binary::MaxU,
            _ => Binary::MaxS,
        };
        self.binary_of(f, bits, args)
    }

    fn logic(&mut self, op: &Opcode<'a>, kind: Type, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let (on_bits, on_predicates) = match op.base {
            "and" => (Binary::And, Logic::And),
            "or" => (Binary::Or, Logic::Or),
            _ => (Binary::Xor, Logic::Xor),
        };
        if kind.is_predicate() {
            let [d, a, b] = self.args(args)?;
            return Ok(Op::Logic(on_predicates, self.dst_p(d)?, self.src_p(a)?, self.src_p(b)?));
        }
        self.binary_of(on_bits, self.untyped_bits(op, kind)?, args)
    }

    fn shift(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        let f = match (op.base, kind.kind) {
            ("shl", Kind::Bits) => Shift::Left,
            ("shr", Kind::Bits | Kind::Unsigned) => Shift::RightU,
            ("shr", Kind::Signed) => Shift::RightS,
            _ => return Err(op.unsupported()),
        };
        let [d, a, b] = self.args(args)?;
        let b = self.src_w(b, 32)?;
        Ok(match kind.bits {
            16 => Op::Shift16(f, self.dst_w(d, 16)?, self.src_w(a, 16)?, b),
            32 => Op::Shift32(f, self.dst_w(d, 32)?, self.src_w(a, 32)?, b),
            64 => Op::Shift64(f, self.dst_d(d)?, self.src_d(a)?, b),
            _ => return Err(op.unsupported()),
        })
    }

    fn unary_of(&mut self, f: Unary, bits: u8, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let [d, a] = self.args(args)?;
        Ok(match bits {
            16 => Op::Unary16(f, self.dst_w(d, 16)?, self.src_w(a, 16)?),
            32 => Op::Unary32(f, self.dst_w(d, 32)?, self.src_w(a, 32)?),
            _ => Op::Unary64(f, self.dst_d(d)?, self.src_d(a)?),
        })
    }

    fn unary(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        let rounded = op.take("rn");
        let f = match (op.base, kind.kind) {
            ("not", Kind::Predicate) if !rounded => {
                let [d, a] = self.args(args)?;
                let mut value = self.src_p(a)?;
                value.flip = !value.flip;
                return Ok(Op::MovP(self.dst_p(d)?, value));
            }
            ("not", Kind::Bits) => Unary::Not,
            ("cnot", Kind::Bits) => Unary::CNot,
            ("brev", Kind::Bits) if kind.bits >= 32 => Unary::Brev,
            ("neg", Kind::Signed) => Unary::Neg,
            ("abs", Kind::Signed) => Unary::AbsS,
            ("neg", Kind::Float) => Unary::FNeg,
            ("abs", Kind::Float) => Unary::FAbs,
            ("sqrt", Kind::Float) if rounded => Unary::FSqrt,
            ("rcp", Kind::Float) if rounded => Unary::FRcp,
            _ => return Err(op.unsupported()),
        };
        let rounds = matches!(f, Unary::FSqrt | Unary::FRcp);
        if kind.bits < 16 || kind.bits > 64 || rounded != rounds {
            return Err(op.unsupported());
        }
        self.unary_of(f, kind.bits, args)
    }

    fn count_bits(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let shift = op.base == "bfind" && op.take("shiftamt");
        let kind = op.take_type()?;
        let f = match (op.base, kind.kind, shift) {
            ("popc", Kind::Bits, _) => Unary::Popc,
            ("clz", Kind::Bits, _) => Unary::Clz,
            ("bfind", Kind::Unsigned, false) => Unary::BfindU,
            ("bfind", Kind::Unsigned, true) => Unary::BfindShiftU,
            ("bfind", Kind::Signed, false) => Unary::BfindS,
            ("bfind", Kind::Signed, true) => Unary::BfindShiftS,
            _ => return Err(op.unsupported()),
        };
        let [d, a] = self.args(args)?;
        let d = self.dst_w(d, 32)?;
        match kind.bits {
            32 => Ok(Op::Unary32(f, d, self.src_w(a, 32)?)),
            64 => Ok(Op::Count64(f, d, self.src_d(a)?)),
            _ => Err(op.unsupported()),
        }
    }

    fn bit_field(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        if op.base == "bfe" {
            let signed = kind.is_signed();
            if !matches!(kind.kind, Kind::Unsigned | Kind::Signed) {
                return Err(op.unsupported());
            }
            let [d, a, pos, len] = self.args(args)?;
            let (pos, len) = (self.src_w(pos, 32)?, self.src_w(len, 32)?);
            return match kind.bits {
                32 => {
                    Ok(Op::Bfe32 { signed, d: self.dst_w(d, 32)?, a: self.src_w(a, 32)?, pos, len })
                }
                64 => Ok(Op::Bfe64 { signed, d: self.dst_d(d)?, a: self.src_d(a)?, pos, len }),
                _ => Err(op.unsupported()),
            };
        }
        let [d, a, b, pos, len] = self.args(args)?;
        let (pos, len) = (self.src_w(pos, 32)?, self.src_w(len, 32)?);
        match (kind.kind, kind.bits) {
            (Kind::Bits, 32) => {
                let (a, b) = (self.src_w(a, 32)?, self.src_w(b, 32)?);
                Ok(Op::Bfi32 { d: self.dst_w(d, 32)?, a, b, pos, len })
            }
            (Kind::Bits, 64) => {
                let (a, b) = (self.src_d(a)?, self.src_d(b)?);
                Ok(Op::Bfi64 { d: self.dst_d(d)?, a, b, pos, len })
            }
            _ => Err(op.unsupported()),
        }
    }

    /// Reads `d, a, b, c` of one type into a ternary operation.
    fn ternary_of(&mut self, f: Ternary, bits: u8, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let [d, a, b, c] = self.args(args)?;
        if bits == 64 {
            let (a, b, c) = (self.src_d(a)?, self.src_d(b)?, self.src_d(c)?);
            return Ok(Op::Ternary64(f, self.dst_d(d)?, a, b, c));
        }
        let (a, b, c) = (self.src_w(a, bits)?, self.src_w(b, bits)?, self.src_w(c, bits)?);
        let d = self.dst_w(d, bits)?;
        Ok(if bits == 16 { Op::Ternary16(f, d, a, b, c) } else { Op::Ternary32(f, d, a, b, c) })
    }

    fn ternary(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        match op.base {
            "shf" => {
                let left = op.take_needed(&[("l", true), ("r", false)])?;
                let clamp = op.take_needed(&[("clamp", true), ("wrap", false)])?;
                let kind = op.take_type()?;
                if kind != (Type { kind: Kind::Bits, bits: 32 }) {
                    return Err(op.unsupported());
                }
                let [d, a, b, c] = self.args(args)?;
                let (a, b, c) = (self.src_w(a, 32)?, self.src_w(b, 32)?, self.src_w(c, 32)?);
                Ok(Op::Shf { left, clamp, d: self.dst_w(d, 32)?, a, b, c })
            }
            "slct" => {
                let (kind, selector) = (op.take_type()?, op.take_type()?);
                if selector != (Type { kind: Kind::Signed, bits: 32 }) {
                    return Err(op.unsupported());
                }
                // A number there would be of another type than the others.
                if !matches!(args.last(), Some(Operand::Name(_))) {
                    return Err(self.invalid("slct takes what it selects by from a register"));
                }
                match kind.bits {
                    32 => self.ternary_of(Ternary::Slct, 32, args),
                    64 => {
                        let [d, a, b, c] = self.args(args)?;
                        let (a, b, c) = (self.src_d(a)?, self.src_d(b)?, self.src_w(c, 32)?);
                        Ok(Op::Slct64 { d: self.dst_d(d)?, a, b, c })
                    }
                    _ => Err(op.unsupported()),
                }
            }
            _ => {
                let kind = op.take_type()?;
                if kind != (Type { kind: Kind::Bits, bits: 32 }) {
                    return Err(op.unsupported());
                }
                if op.base == "prmt" {
                    return self.ternary_of(Ternary::Prmt, 32, args);
                }
                let Some((Operand::Int(table), rest)) = args.split_last() else {
                    return Err(self.invalid("lop3 needs its table as a number"));
                };
                let table = u8::try_from(*table)
                    .map_err(|_| self.invalid("lop3 takes a table of 8 bits"))?;
                self.ternary_of(Ternary::Lop3(table), 32, rest)
            }
        }
    }

    fn setp(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let logic = op.take_one_of(&[("and", Logic::And), ("or", Logic::Or), ("xor", Logic::Xor)]);
        let kind = op.take_type()?;
        let compare = comparison(op, kind).ok_or_else(|| op.unsupported())?;
        let (combine, args) = match (logic, args.split_last()) {
            (Some(logic), Some((last, rest))) => (Some((logic, self.src_p(last)?)), rest),
            _ => (None, args),
        };
        let [target, a, b] = self.args(args)?;
        let (a, b) = match kind.bits {
            16 | 32 | 64 => (self.src(a, kind.bits)?, self.src(b, kind.bits)?),
            _ => return Err(op.unsupported()),
        };
        let (d, q) = match target {
            Operand::Pair(d, q) => {
                (self.dst_p_name(d)?, if *q == "_" { None } else { Some(self.dst_p_name(q)?) })
            }
            other => (self.dst_p(other)?, None),
        };
        let target = SetTarget { d, q, combine };
        Ok(match (a, b) {
            (Reg::W(a), Reg::W(b)) if kind.bits == 16 => Op::Set16(compare, target, a, b),
            (Reg::W(a), Reg::W(b)) => Op::Set32(compare, target, a, b),
            (Reg::D(a), Reg::D(b)) => Op::Set64(compare, target, a, b),
            _ => return Err(op.unsupported()),
        })
    }

    fn selp(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        let [d, a, b, p] = self.args(args)?;
        let p = self.src_p(p)?;
        match kind.bits {
            16 | 32 => {
                let (a, b) = (self.src_w(a, kind.bits)?, self.src_w(b, kind.bits)?);
                Ok(Op::Selp32(self.dst_w(d, kind.bits)?, a, b, p))
            }
            64 => {
                let (a, b) = (self.src_d(a)?, self.src_d(b)?);
                Ok(Op::Selp64(self.dst_d(d)?, a, b, p))
            }
            _ => Err(op.unsupported()),
        }
    }

    fn convert(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        const PAIRS: [(&str, Narrow); 4] = [
            ("f16x2", Narrow::F16),
            ("bf16x2", Narrow::Bf16),
            ("e4m3x2", Narrow::E4m3),
            ("e5m2x2", Narrow::E5m2),
        ];
        if op.take("pack") {
            return self.saturate(op, args);
        }
        if let Some(to) = op.take_one_of(&PAIRS) {
            return match op.take_one_of(&PAIRS[2..]) {
                Some(from) if to == Narrow::F16 && op.take("rn") => {
                    let [d, a] = self.args(args)?;
                    Ok(Op::WidenPair(from, self.dst_w(d, 32)?, self.src_w(a, 16)?))
                }
                Some(_) => Err(op.unsupported()),
                None => self.convert_pair(op, to, args),
            };
        }
        let integral = op.take_one_of(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::Zero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ]);
        let rounded = op.take("rn");
        let (to, from) = (op.take_converted_type()?, op.take_converted_type()?);
        let int = |kind: Type| IntType { bits: kind.bits, signed: kind.is_signed() };
        let how = match (from.is_float(), to.is_float(), integral, rounded) {
            (false, false, None, false) => Convert::Int { from: int(from), to: int(to) },
            (false, true, None, true) => Convert::IntToFloat { from: int(from), to_bits: to.bits },
            (true, false, Some(rounding), false) => {
                Convert::FloatToInt { from_bits: from.bits, to: int(to), rounding }
            }
            // The narrowing conversion rounds, and what keeps its type becomes integral.
            (true, true, _, _)
                if rounded == (from.bits > to.bits)
                    && (integral.is_none() || from.bits == to.bits) =>
            {
                Convert::FloatToFloat { from_bits: from.bits, to_bits: to.bits, integral }
            }
            _ => return Err(op.unsupported()),
        };
        if [from, to].iter().any(|kind| matches!(kind.kind, Kind::Predicate | Kind::Bits)) {
            return Err(op.unsupported());
        }
        let [d, a] = self.args(args)?;
        let a = self.wide_enough_src(a, from)?;
        let bits = self.register(d)?.bits();
        if bits < to.bits || bits == 128 {
            return Err(self.wrong_width(d, bits, to.bits));
        }
        Ok(Op::Convert { how, d: self.dst(d, bits)?, bits, a })
    }

    /// Reads `d, a, b`: two numbers of 32 bits that become narrow ones, those of 8 bits the largest where they were larger.
    fn convert_pair(
        &mut self,
        op: &mut Opcode<'a>,
        to: Narrow,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        let saturates = op.take("satfinite");
        let is_known = op.take("rn") && saturates == (to.bits() == 8);
        if !is_known || op.take_type()? != (Type { kind: Kind::Float, bits: 32 }) {
            return Err(op.unsupported());
        }
        let [d, a, b] = self.args(args)?;
        let d = self.dst_w(d, 2 * to.bits() as u8)?;
        Ok(Op::ConvertPair(to, d, self.src_w(a, 32)?, self.src_w(b, 32)?))
    }

    /// Reads `d, a, b`, and of bytes `c`: two integers of 32 bits cut to smaller ones, beside each other.
    fn saturate(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let word = Type { kind: Kind::Signed, bits: 32 };
        let is_known = op.take("sat");
        let (to, from) = (op.take_converted_type()?, op.take_converted_type()?);
        let bits = Type { kind: Kind::Bits, bits: 32 };
        let has_above = to.bits == 8 && op.take_type()? == bits;
        let is_integer = matches!(to.kind, Kind::Unsigned | Kind::Signed);
        if !is_known || from != word || !is_integer || !(has_above || to.bits == 16) {
            return Err(op.unsupported());
        }
        let (above, args) = match args.split_last() {
            Some((last, rest)) if has_above => (Some(self.src_w(last, 32)?), rest),
            _ => (None, args),
        };
        let [d, a, b] = self.args(args)?;
        let (a, b) = (self.src_w(a, 32)?, self.src_w(b, 32)?);
        let to = IntType { bits: to.bits, signed: to.is_signed() };
        Ok(Op::Saturate { to, d: self.dst_w(d, 32)?, a, b, above })
    }

    /// A source register at least as wide as `kind`.
    fn wide_enough_src(&mut self, operand: &'a Operand<'a>, kind: Type) -> Result<Reg, Error> {
        let bits = match operand {
            Operand::Name(_) => match self.register(operand) {
                Ok(register) => register.bits(),
                Err(_) => 32, // a special register
            },
            _ => kind.bits.max(16),
        };
        if bits < kind.bits || bits == 1 || bits == 128 {
            return Err(self.wrong_width(operand, bits, kind.bits));
        }
        self.src(operand, bits)
    }

    fn convert_address(
        &mut self,
        op: &mut Opcode<'a>,
        args: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        let to = op.take("to");
        let shared = op.take("shared") || op.take("shared::cta");
        if !shared && !op.take("global") {
            return Err(op.unsupported());
        }
        if op.take_type()? != (Type { kind: Kind::Unsigned, bits: 64 }) {
            return Err(op.unsupported());
        }
        let [d, a] = self.args(args)?;
        let (a, d) = (self.src_d(a)?, self.dst_d(d)?);
        if !shared {
            return Ok(Op::Unary64(Unary::Mov, d, a));
        }
        let window = self.const_d(SHARED_WINDOW)?;
        Ok(Op::Binary64(if to { Binary::Sub } else { Binary::Add }, d, a, window))
    }

    fn is_space(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let window = op
            .take_one_of(&[
                ("global", Window::Global),
                ("shared", Window::Shared),
                ("shared::cta", Window::Shared),
            ])
            .ok_or_else(|| op.unsupported())?;
        let [d, a] = self.args(args)?;
        Ok(Op::IsSpace(window, self.dst_p(d)?, self.src_d(a)?))
    }

    fn mov(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        let kind = op.take_type()?;
        let [d, a] = self.args(args)?;
        match (d, a) {
            (Operand::Vector(_), _) | (_, Operand::Vector(_)) if kind.kind != Kind::Bits => {
                return Err(op.unsupported());
            }
            (Operand::Vector(parts), _) => return self.unpack(op, kind, parts, a),
            (_, Operand::Vector(parts)) => return self.pack(op, kind, d, parts),
            _ => {}
        }
        match kind.bits {
            1 => {
                let a = self.src_p(a)?;
                Ok(Op::MovP(self.dst_p(d)?, a))
            }
            16 => Ok(Op::Unary16(Unary::Mov, self.dst_w(d, 16)?, self.src_w(a, 16)?)),
            32 => Ok(Op::Unary32(Unary::Mov, self.dst_w(d, 32)?, self.src_w(a, 32)?)),
            64 => Ok(Op::Unary64(Unary::Mov, self.dst_d(d)?, self.src_d(a)?)),
            128 => Ok(Op::Mov128(self.dst_q(d)?, self.src_q(a)?)),
            _ => Err(op.unsupported()),
        }
    }

    fn pack(
        &mut self,
        op: &Opcode<'a>,
        kind: Type,
        d: &'a Operand<'a>,
        parts: &'a [Operand<'a>],
    ) -> Result<Op, Error> {
        match (kind.bits, parts) {
            (32, [a, b]) => {
                let parts = [self.src_w(a, 16)?, self.src_w(b, 16)?];
                Ok(Op::Pack16x2(self.dst_w(d, 32)?, parts))
            }
            (64, [a, b]) => {
                let parts = [self.src_w(a, 32)?, self.src_w(b, 32)?];
                Ok(Op::Pack32x2(self.dst_d(d)?, parts))
            }
            (64, [a, b, c, e]) => {
                let parts = self.four(16, [a, b, c, e])?;
                Ok(Op::Pack16x4(self.dst_d(d)?, parts))
            }
            (128, [a, b]) => {
                let parts = [self.src_d(a)?, self.src_d(b)?];
                Ok(Op::Pack64x2(self.dst_q(d)?, parts))
            }
            (128, [a, b, c, e]) => {
                let parts = self.four(32, [a, b, c, e])?;
                Ok(Op::Pack32x4(self.dst_q(d)?, parts))
            }
            _ => Err(op.unsupported()),
        }
    }

    fn four(&mut self, bits: u8, parts: [&'a Operand<'a>; 4]) -> Result<[W; 4], Error> {
        let [a, b, c, d] = parts;
        Ok([self.src_w(a, bits)?, self.src_w(b, bits)?, self.src_w(c, bits)?, self.src_w(d, bits)?])
    }

    fn unpack(
        &mut self,
        op: &Opcode<'a>,
        kind: Type,
        parts: &'a [Operand<'a>],
        a: &'a Operand<'a>,
    ) -> Result<Op, Error> {
        match (kind.bits, parts) {
            (32, [b, c]) => {
                let a = self.src_w(a, 32)?;
                Ok(Op::Unpack16x2([self.part(b, 16)?, self.part(c, 16)?], a))
            }
            (64, [b, c]) => {
                let a = self.src_d(a)?;
                Ok(Op::Unpack32x2([self.part(b, 32)?, self.part(c, 32)?], a))
            }
            (64, [b, c, d, e]) => {
                let a = self.src_d(a)?;
                let parts =
                    [self.part(b, 16)?, self.part(c, 16)?, self.part(d, 16)?, self.part(e, 16)?];
                Ok(Op::Unpack16x4(parts, a))
            }
            (128, [b, c]) => {
                let a = self.src_q(a)?;
                Ok(Op::Unpack64x2([self.part_d(b)?, self.part_d(c)?], a))
            }
            (128, [b, c, d, e]) => {
                let a = self.src_q(a)?;
                let parts =
                    [self.part(b, 32)?, self.part(c, 32)?, self.part(d, 32)?, self.part(e, 32)?];
                Ok(Op::Unpack32x4(parts, a))
            }
            _ => Err(op.unsupported()),
        }
    }

    /// A destination that may be the sink `_`.
    fn part(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<Option<W>, Error> {
        if *operand == Operand::Name("_") { Ok(None) } else { self.dst_w(operand, bits).map(Some) }
    }

    fn part_d(&mut self, operand: &'a Operand<'a>) -> Result<Option<D>, Error> {
        if *operand == Operand::Name("_") { Ok(None) } else { self.dst_d(operand).map(Some) }
    }
}

/// The comparison that `op` names for operands of type `kind`.
fn comparison(op: &mut Opcode<'_>, kind: Type) -> Option<Compare> {
    use FloatCompare as F;
    if kind.is_float() {
        return op.take_one_of(&[
            ("eq", Compare::Float(F::Eq, false)),
            ("ne", Compare::Float(F::Ne, false)),
            ("lt", Compare::Float(F::Lt, false)),
            ("le", Compare::Float(F::Le, false)),
            ("gt", Compare::Float(F::Gt, false)),
            ("ge", Compare::Float(F::Ge, false)),
            ("equ", Compare::Float(F::Eq, true)),
            ("neu", Compare::Float(F::Ne, true)),
            ("ltu", Compare::Float(F::Lt, true)),
            ("leu", Compare::Float(F::Le, true)),
            ("gtu", Compare::Float(F::Gt, true)),
            ("geu", Compare::Float(F::Ge, true)),
            ("num", Compare::Float(F::Always, false)),
            ("nan", Compare::Float(F::Never, true)),
        ]);
    }
    if let Some(equal) = op.take_one_of(&[("eq", Compare::Eq), ("ne", Compare::Ne)]) {
        return (!kind.is_predicate()).then_some(equal);
    }
    match kind.kind {
        Kind::Signed => op.take_one_of(&[
            ("lt", Compare::LtS),
            ("le", Compare::LeS),
            ("gt", Compare::GtS),
            ("ge", Compare::GeS),
        ]),
        Kind::Unsigned => op.take_one_of(&[
            ("lt", Compare::LtU),
            ("le", Compare::LeU),
            ("gt", Compare::GtU),
            ("ge", Compare::GeU),
            ("lo", Compare::LtU),
            ("ls", Compare::LeU),
            ("hi", Compare::GtU),
            ("hs", Compare::GeU),
        ]),
        _ => None,
    }
}
