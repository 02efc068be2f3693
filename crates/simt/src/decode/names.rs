//! What names stand for: registers, variables, parameters, special registers; and the registers that hold what has no name.

use std::collections::HashMap;

use super::Decoder;
use crate::Error;
use crate::isa::{D, Init, P, Special, W};
use crate::syntax::Variable;

/// A register as declared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RegRef {
    P(P),
    /// Up to 32 bits.
    W(W, u8),
    D(D),
    /// 128 bits in two registers.
    Q(D),
}

impl RegRef {
    pub(super) fn bits(self) -> u8 {
        match self {
            RegRef::P(_) => 1,
            RegRef::W(_, bits) => bits,
            RegRef::D(_) => 64,
            RegRef::Q(_) => 128,
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Symbol {
    Register(RegRef),
    Special(Special),
    /// An address that is known now.
    Address(u64),
    DynamicShared,
    Constant(u64),
}

/// The names of one `{ … }`.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// The width of each register that is declared by itself.
    pub(super) single: HashMap<&'a str, u8>,
    /// How many registers each range has, and their width, by what their names start with.
    pub(super) ranges: HashMap<&'a str, (u32, u8)>,
    pub(super) bound: HashMap<&'a str, RegRef>,
    pub(super) variables: HashMap<&'a str, &'a Variable<'a>>,
    pub(super) labels: HashMap<&'a str, u32>,
    pub(super) tables: HashMap<&'a str, Targets<'a>>,
}

/// A list of branch targets.
pub(super) enum Targets<'a> {
    Named(&'a [&'a str]),
    /// Its index in [`Program::tables`], once a branch has used it.
    Placed(u32),
}

impl<'a> Decoder<'a> {
    /// What `name` stands for, innermost scope first.
    pub(super) fn lookup(&mut self, name: &'a str) -> Result<Symbol, Error> {
        for depth in (0..self.scopes.len()).rev() {
            if let Some(register) = self.scopes[depth].bound.get(name) {
                return Ok(Symbol::Register(*register));
            }
            if let Some(bits) = self.scopes[depth].declares(name) {
                let register = self.new_register(bits)?;
                self.scopes[depth].bound.insert(name, register);
                return Ok(Symbol::Register(register));
            }
            if let Some(&variable) = self.scopes[depth].variables.get(name) {
                return self.variable(variable);
            }
        }
        if let Some(&variable) = self.globals.get(name) {
            return self.variable(variable);
        }
        if let Some(offset) = self.params.get(name) {
            return Ok(Symbol::Address(*offset));
        }
        if name == "WARP_SZ" {
            return Ok(Symbol::Constant(32));
        }
        match special(name) {
            Some(special) => Ok(Symbol::Special(special)),
            None if UNKNOWN_SPECIALS.iter().any(|prefix| name.starts_with(prefix)) => {
                Err(Error::Unsupported { opcode: name.to_owned(), line: self.line })
            }
            None => Err(self.invalid(format!("`{name}` is not declared"))),
        }
    }

    /// The address of a shared variable, which is placed when first used.
    pub(super) fn variable(&mut self, variable: &'a Variable<'a>) -> Result<Symbol, Error> {
        if variable.space != ".shared" {
            return Err(Error::Unsupported {
                opcode: format!("{} variable {}", variable.space, variable.name),
                line: self.line,
            });
        }
        if variable.unsized_extern {
            let align = &mut self.program.dynamic_align;
            *align = Some(align.unwrap_or(1).max(variable.align));
            return Ok(Symbol::DynamicShared);
        }
        let key = (variable.name, variable.line);
        if let Some(offset) = self.placed.get(&key) {
            return Ok(Symbol::Address(*offset));
        }
        let offset = self.program.static_shared.next_multiple_of(u64::from(variable.align));
        let end = offset.checked_add(variable.bytes).filter(|end| *end < 1 << 32);
        self.program.static_shared =
            end.ok_or_else(|| self.invalid("shared variables too large to address"))?;
        self.placed.insert(key, offset);
        Ok(Symbol::Address(offset))
    }

    pub(super) fn new_word(&mut self, init: Option<Init>) -> Result<W, Error> {
        let index = u16::try_from(self.program.words.len()).ok().filter(|at| *at < u16::MAX);
        let index = index.ok_or_else(|| self.invalid("more than 65535 registers"))?;
        self.program.words.push(init);
        Ok(W(index))
    }

    pub(super) fn new_double(&mut self, init: Option<Init>) -> Result<D, Error> {
        let index = u16::try_from(self.program.doubles.len()).ok().filter(|at| *at < u16::MAX);
        let index = index.ok_or_else(|| self.invalid("more than 65535 registers"))?;
        self.program.doubles.push(init);
        Ok(D(index))
    }

    pub(super) fn new_register(&mut self, bits: u8) -> Result<RegRef, Error> {
        Ok(match bits {
            1 => {
                let index = u16::try_from(self.program.predicates).ok().filter(|at| *at < u16::MAX);
                let index = index.ok_or_else(|| self.invalid("more than 65535 predicates"))?;
                self.program.predicates += 1;
                RegRef::P(P(index))
            }
            64 => RegRef::D(self.new_double(None)?),
            128 => {
                let low = self.new_double(None)?;
                self.new_double(None)?;
                RegRef::Q(low)
            }
            _ => RegRef::W(self.new_word(None)?, bits),
        })
    }

    pub(super) fn const_w(&mut self, value: u32) -> Result<W, Error> {
        if let Some(w) = self.words.get(&value) {
            return Ok(*w);
        }
        let w = self.new_word(Some(Init::Const(u64::from(value))))?;
        self.words.insert(value, w);
        Ok(w)
    }

    pub(super) fn const_d(&mut self, value: u64) -> Result<D, Error> {
        if let Some(d) = self.doubles.get(&value) {
            return Ok(*d);
        }
        let d = self.new_double(Some(Init::Const(value)))?;
        self.doubles.insert(value, d);
        Ok(d)
    }

    pub(super) fn special(&mut self, special: Special) -> Result<W, Error> {
        if let Some(w) = self.specials.get(&special) {
            return Ok(*w);
        }
        let w = self.new_word(Some(Init::Special(special)))?;
        self.specials.insert(special, w);
        Ok(w)
    }
}

impl<'a> Scope<'a> {
    /// Takes note of a register, or of a range of them; says whether the name is new here.
    pub(super) fn declare(&mut self, name: &'a str, range: Option<u32>, bits: u8) -> bool {
        match range {
            None => self.single.insert(name, bits).is_none(),
            Some(count) => self.ranges.insert(name, (count, bits)).is_none(),
        }
    }

    /// The width of register `name` if this scope declares it, alone or in a range.
    fn declares(&self, name: &str) -> Option<u8> {
        if let Some(bits) = self.single.get(name) {
            return Some(*bits);
        }
        // What a range's names start with may itself end in digits: `%r1<5>` declares %r10 to %r14.
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let numbered = |digits: usize| {
            let (stem, number) = name.split_at(name.len() - digits);
            let (count, bits) = self.ranges.get(stem)?;
            let plain = number == "0" || !number.starts_with('0');
            let number = number.parse::<u32>().ok().filter(|_| plain)?;
            (number < *count).then_some(*bits)
        };
        (1..=digits.min(MOST_DIGITS)).rev().find_map(numbered)
    }
}

/// The most digits of a number of 32 bits.
const MOST_DIGITS: usize = 10;

/// Special registers that have no meaning here: time, multiprocessors, and what else only hardware has.
const UNKNOWN_SPECIALS: [&str; 14] = [
    // How many warps a multiprocessor holds, which is not how many a block has.
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%clock",
    "%globaltimer",
    "%pm",
    "%envreg",
    "%gridid",
    "%cluster",
    "%ncluster",
    "%is_explicit_cluster",
    "%reserved_smem",
    "%aggr_smem",
    "%current_graph",
];

fn special(name: &str) -> Option<Special> {
    let (base, axis) = name.split_once('.').map_or((name, None), |(base, axis)| (base, Some(axis)));
    let axis = match axis {
        None => None,
        Some("x") => Some(0),
        Some("y") => Some(1),
        Some("z") => Some(2),
        Some(_) => return None,
    };
    Some(match (base, axis) {
        ("%tid", Some(axis)) => Special::Tid(axis),
        ("%ntid", Some(axis)) => Special::Ntid(axis),
        ("%ctaid", Some(axis)) => Special::Ctaid(axis),
        ("%nctaid", Some(axis)) => Special::Nctaid(axis),
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%lanemask_eq", None) => Special::LaneMaskEq,
        ("%lanemask_le", None) => Special::LaneMaskLe,
        ("%lanemask_lt", None) => Special::LaneMaskLt,
        ("%lanemask_ge", None) => Special::LaneMaskGe,
        ("%lanemask_gt", None) => Special::LaneMaskGt,
        ("%dynamic_smem_size", None) => Special::DynamicSharedBytes,
        ("%total_smem_size", None) => Special::TotalSharedBytes,
        _ => return None,
    })
}
