//! Operands of an instruction, as the registers that it reads and writes.

use super::Decoder;
use super::names::{RegRef, Symbol};
use super::opcode::{Kind, Type};
use crate::Error;
use crate::isa::{D, Guard, Init, P, Reg, W};
use crate::program::Key;
use crate::syntax::Operand;

impl<'a> Decoder<'a> {
    /// The operands, if there are `N` of them.
    pub(super) fn args<const N: usize>(
        &self,
        args: &'a [Operand<'a>],
    ) -> Result<&'a [Operand<'a>; N], Error> {
        args.try_into()
            .map_err(|_| self.invalid(format!("{N} operands expected, {} found", args.len())))
    }

    pub(super) fn guard(&mut self, name: &'a str, negated: bool) -> Result<Guard, Error> {
        let p = self.predicate(name)?;
        self.uses.push(Key::from(p));
        Ok(Guard { p, flip: if negated { u32::MAX } else { 0 } })
    }

    pub(super) fn predicate(&mut self, name: &'a str) -> Result<P, Error> {
        match self.lookup(name)? {
            Symbol::Register(RegRef::P(p)) => Ok(p),
            _ => Err(self.invalid(format!("`{name}` is not a predicate"))),
        }
    }

    /// A predicate source, perhaps negated or constant.
    pub(super) fn src_p(&mut self, operand: &'a Operand<'a>) -> Result<Guard, Error> {
        match operand {
            Operand::Name(name) => self.guard(name, false),
            Operand::Not(name) => self.guard(name, true),
            Operand::Int(value) => {
                Ok(Guard { p: crate::isa::TRUE, flip: if *value == 0 { u32::MAX } else { 0 } })
            }
            _ => Err(self.invalid("a predicate expected")),
        }
    }

    pub(super) fn dst_p(&mut self, operand: &'a Operand<'a>) -> Result<P, Error> {
        match operand {
            Operand::Name(name) => self.dst_p_name(name),
            _ => Err(self.invalid("a predicate expected")),
        }
    }

    pub(super) fn dst_p_name(&mut self, name: &'a str) -> Result<P, Error> {
        let p = self.predicate(name)?;
        self.defs.push(Key::from(p));
        Ok(p)
    }

    pub(super) fn wrong_width(&self, operand: &Operand<'_>, found: u8, expected: u8) -> Error {
        let name = match operand {
            Operand::Name(name) => *name,
            _ => "operand",
        };
        self.invalid(format!("`{name}` has {found} bits where {expected} are expected"))
    }

    /// The kind of the numbers that the instruction at hand takes: that of its last type, or, for `slct`, of its first.
    fn kind_of_numbers(&self) -> Kind {
        let kind = |part| match part {
            "f16" | "bf16" => Some(Kind::Float),
            _ => Type::parse(part).map(|found| found.kind),
        };
        let mut kinds = self.opcode.split('.').filter_map(kind);
        let chosen = if self.opcode.starts_with("slct") { kinds.next() } else { kinds.next_back() };
        chosen.unwrap_or(Kind::Unsigned)
    }

    /// The bits of a number of up to 64 bits that is written as an operand. Integers are not converted, as by the assembler, and what has
    /// no type takes bits of its own width only.
    fn number(&self, operand: &Operand<'_>, bits: u8) -> Result<u64, Error> {
        let kind = self.kind_of_numbers();
        match (operand, kind, bits) {
            (Operand::Int(value), _, _) if kind != Kind::Float => {
                Ok(value & u64::MAX >> (64 - bits))
            }
            (Operand::F32(value), Kind::Bits | Kind::Float, 32) => Ok(u64::from(*value)),
            (Operand::F32(value), Kind::Float, 64) => {
                Ok(f64::from(f32::from_bits(*value)).to_bits())
            }
            (Operand::F64(value), Kind::Bits | Kind::Float, 64) => Ok(*value),
            (Operand::F64(value), Kind::Float, 32) => {
                Ok(u64::from((f64::from_bits(*value) as f32).to_bits()))
            }
            _ => {
                Err(self.invalid(format!("a number of another type than `{}` takes", self.opcode)))
            }
        }
    }

    /// A source of up to 32 bits.
    pub(super) fn src_w(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<W, Error> {
        match operand {
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => {
                let number = self.number(operand, bits)?;
                self.const_w(number as u32)
            }
            Operand::Name(name) => self.src_w_name(operand, name, bits, 0),
            Operand::Offset(name, offset) => self.src_w_name(operand, name, bits, *offset),
            _ => Err(self.invalid("a register or number expected")),
        }
    }

    pub(super) fn src_w_name(
        &mut self,
        operand: &Operand<'_>,
        name: &'a str,
        bits: u8,
        offset: i64,
    ) -> Result<W, Error> {
        match self.lookup(name)? {
            Symbol::Register(_) | Symbol::Special(_) if offset != 0 => {
                Err(self.invalid("an offset from a register outside brackets"))
            }
            Symbol::Register(RegRef::W(w, found)) if found == bits => {
                self.uses.push(Key::from(w));
                Ok(w)
            }
            Symbol::Register(register) => Err(self.wrong_width(operand, register.bits(), bits)),
            Symbol::Special(special) if bits == 32 => self.special(special),
            Symbol::Special(_) => Err(self.wrong_width(operand, 32, bits)),
            Symbol::Constant(value) => {
                let sum = Operand::Int(value.wrapping_add_signed(offset));
                let number = self.number(&sum, bits)?;
                self.const_w(number as u32)
            }
            Symbol::Address(address) => self.const_w(address.wrapping_add_signed(offset) as u32),
            Symbol::DynamicShared => match self.dynamic_shared(32, offset)? {
                Reg::W(w) => Ok(w),
                Reg::D(_) => unreachable!("asked for 32 bits"),
            },
        }
    }

    /// A 64-bit source.
    pub(super) fn src_d(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match operand {
            Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => {
                let number = self.number(operand, 64)?;
                self.const_d(number)
            }
            Operand::Name(name) => self.src_d_name(operand, name, 0),
            Operand::Offset(name, offset) => self.src_d_name(operand, name, *offset),
            _ => Err(self.invalid("a register or number expected")),
        }
    }

    pub(super) fn src_d_name(
        &mut self,
        operand: &Operand<'_>,
        name: &'a str,
        offset: i64,
    ) -> Result<D, Error> {
        match self.lookup(name)? {
            Symbol::Register(_) | Symbol::Special(_) if offset != 0 => {
                Err(self.invalid("an offset from a register outside brackets"))
            }
            Symbol::Register(RegRef::D(d)) => {
                self.uses.push(Key::from(d));
                Ok(d)
            }
            Symbol::Register(register) => Err(self.wrong_width(operand, register.bits(), 64)),
            Symbol::Special(_) => Err(self.wrong_width(operand, 32, 64)),
            Symbol::Constant(value) => {
                let sum = Operand::Int(value.wrapping_add_signed(offset));
                let number = self.number(&sum, 64)?;
                self.const_d(number)
            }
            Symbol::Address(address) => self.const_d(address.wrapping_add_signed(offset)),
            Symbol::DynamicShared => match self.dynamic_shared(64, offset)? {
                Reg::D(d) => Ok(d),
                Reg::W(_) => unreachable!("asked for 64 bits"),
            },
        }
    }

    /// A register with the address of the dynamic shared memory.
    pub(super) fn dynamic_shared(&mut self, bits: u8, offset: i64) -> Result<Reg, Error> {
        if offset != 0 {
            return Err(self.invalid("an offset from dynamic shared memory outside brackets"));
        }
        let slot = usize::from(bits == 64);
        if let Some(reg) = self.dynamic[slot] {
            return Ok(reg);
        }
        let reg = match bits {
            32 => Reg::W(self.new_word(Some(Init::DynamicShared))?),
            _ => Reg::D(self.new_double(Some(Init::DynamicShared))?),
        };
        self.dynamic[slot] = Some(reg);
        Ok(reg)
    }

    /// A 128-bit source.
    pub(super) fn src_q(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::Q(low) => {
                self.uses.extend([Key::from(low), Key::from(D(low.0 + 1))]);
                Ok(low)
            }
            other => Err(self.wrong_width(operand, other.bits(), 128)),
        }
    }

    /// A source of 16, 32 or 64 bits.
    pub(super) fn src(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<Reg, Error> {
        if bits == 64 {
            self.src_d(operand).map(Reg::D)
        } else {
            self.src_w(operand, bits).map(Reg::W)
        }
    }

    /// The register that `operand` names.
    pub(super) fn register(&mut self, operand: &'a Operand<'a>) -> Result<RegRef, Error> {
        if let Operand::Name(name) = operand
            && let Symbol::Register(register) = self.lookup(name)?
        {
            return Ok(register);
        }
        Err(self.invalid("a register expected"))
    }

    pub(super) fn dst_w(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<W, Error> {
        match self.register(operand)? {
            RegRef::W(w, found) if found == bits => {
                self.defs.push(Key::from(w));
                Ok(w)
            }
            other => Err(self.wrong_width(operand, other.bits(), bits)),
        }
    }

    pub(super) fn dst_d(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::D(d) => {
                self.defs.push(Key::from(d));
                Ok(d)
            }
            other => Err(self.wrong_width(operand, other.bits(), 64)),
        }
    }

    pub(super) fn dst_q(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::Q(low) => {
                self.defs.extend([Key::from(low), Key::from(D(low.0 + 1))]);
                Ok(low)
            }
            other => Err(self.wrong_width(operand, other.bits(), 128)),
        }
    }

    pub(super) fn dst(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<Reg, Error> {
        if bits == 64 {
            self.dst_d(operand).map(Reg::D)
        } else {
            self.dst_w(operand, bits).map(Reg::W)
        }
    }
}
