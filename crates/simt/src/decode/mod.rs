//! Turns a kernel's statements into a [`Program`], or says what it cannot run.
//!
//! Names become register numbers, labels become instruction numbers, variables
//! become addresses. Whatever is not understood is an
//! [`Error::Unsupported`] with its line; nothing is skipped.

mod arith;
mod control;
mod memory;
mod opcode;
mod requirements;

use std::collections::HashMap;

use crate::Error;
use crate::flow;
use crate::isa::{D, Guard, Init, Inst, Op, P, Reg, Special, W};
use crate::program::{Footprint, Key, Program};
use crate::syntax::{Entry, Instruction, Operand, Statement, StatementKind, Variable};
use opcode::{Opcode, Type};
pub(crate) use requirements::Requirement;

/// Most bytes of parameters that a kernel may have.
const PARAMS_LIMIT: u64 = 32764;

/// Where each parameter lies in the buffer of arguments, and the buffer's size.
pub(crate) fn param_layout(entry: &Entry<'_>) -> Result<(Vec<u64>, u64), Error> {
    let mut end = 0u64;
    let mut offsets = Vec::new();
    for param in &entry.params {
        // Neither sum can overflow: alignments have 32 bits, and `end` is small.
        let offset = end.next_multiple_of(u64::from(param.align));
        end = offset.saturating_add(param.bytes);
        if end > PARAMS_LIMIT {
            let what = format!("{end} bytes of parameters; at most {PARAMS_LIMIT} are allowed");
            return Err(Error::Invalid { line: param.line, what });
        }
        offsets.push(offset);
    }
    Ok((offsets, end))
}

/// The variables at module scope, by name; of several with one name the last.
pub(crate) type Globals<'a> = HashMap<&'a str, &'a Variable<'a>>;

/// Decodes `entry`; `module` is what the module's version and target allow.
pub(crate) fn decode(
    entry: &Entry<'_>,
    globals: &Globals<'_>,
    module: Requirement,
) -> Result<Program, Error> {
    let body = entry.body.as_ref().map_err(Clone::clone)?;
    let mut decoder = Decoder::new(entry, globals, module)?;
    decoder.block(body)?;
    // Falling off the end of a kernel returns from it.
    decoder.line = entry.end_line;
    decoder.emit(Guard::ALWAYS, Op::Exit);
    decoder.finish()
}

/// A register as declared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RegRef {
    P(P),
    /// Up to 32 bits.
    W(W, u8),
    D(D),
    /// 128 bits in two registers.
    Q(D),
}

impl RegRef {
    fn bits(self) -> u8 {
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
enum Symbol {
    Register(RegRef),
    Special(Special),
    /// An address that is known now.
    Address(u64),
    DynamicShared,
    Constant(u64),
}

/// The names of one `{ … }`.
#[derive(Default)]
struct Scope<'a> {
    /// The width of each register that is declared by itself.
    single: HashMap<&'a str, u8>,
    /// How many registers each range has, and their width, by what their names start with.
    ranges: HashMap<&'a str, (u32, u8)>,
    bound: HashMap<&'a str, RegRef>,
    variables: HashMap<&'a str, &'a Variable<'a>>,
    labels: HashMap<&'a str, u32>,
    tables: HashMap<&'a str, Targets<'a>>,
}

/// A list of branch targets.
enum Targets<'a> {
    Named(&'a [&'a str]),
    /// Its index in [`Program::tables`], once a branch has used it.
    Placed(u32),
}

struct Decoder<'a> {
    program: Program,
    scopes: Vec<Scope<'a>>,
    globals: &'a Globals<'a>,
    params: HashMap<&'a str, u64>,
    /// Registers that hold constants, special registers and the address of
    /// dynamic shared memory (in 32 and in 64 bits).
    words: HashMap<u32, W>,
    doubles: HashMap<u64, D>,
    specials: HashMap<Special, W>,
    dynamic: [Option<Reg>; 2],
    /// Shared variables placed so far, by scope depth's own name and line.
    placed: HashMap<(&'a str, u32), u64>,
    /// Instruction number of each label, once it is reached.
    labels: Vec<Option<u32>>,
    /// Registers read and written by the instruction at hand.
    uses: Vec<Key>,
    defs: Vec<Key>,
    /// The same for every instruction so far.
    footprint: Vec<Footprint>,
    /// What the module's version and target allow.
    allowed: Requirement,
    line: u32,
}

impl<'a> Decoder<'a> {
    fn new(
        entry: &'a Entry<'a>,
        globals: &'a Globals<'a>,
        allowed: Requirement,
    ) -> Result<Decoder<'a>, Error> {
        let (offsets, _) = param_layout(entry)?;
        Ok(Decoder {
            // Predicates 0 and 1 are "true" and the carry.
            program: Program { predicates: 2, ..Program::default() },
            scopes: Vec::new(),
            globals,
            params: entry.params.iter().map(|param| param.name).zip(offsets).collect(),
            words: HashMap::new(),
            doubles: HashMap::new(),
            specials: HashMap::new(),
            dynamic: [None; 2],
            placed: HashMap::new(),
            labels: Vec::new(),
            uses: Vec::new(),
            defs: Vec::new(),
            footprint: Vec::new(),
            allowed,
            line: entry.line,
        })
    }

    fn invalid(&self, what: impl Into<String>) -> Error {
        Error::Invalid { line: self.line, what: what.into() }
    }

    /// Decodes the statements of one scope.
    fn block(&mut self, statements: &'a [Statement<'a>]) -> Result<(), Error> {
        let mut scope = Scope::default();
        // Labels and tables may be used before they are reached.
        for statement in statements {
            match &statement.kind {
                StatementKind::Label(name) => {
                    if scope.labels.insert(name, self.labels.len() as u32).is_some() {
                        self.line = statement.line;
                        return Err(self.invalid(format!("label `{name}` is defined twice")));
                    }
                    self.labels.push(None);
                }
                StatementKind::Targets { name, labels } => {
                    scope.tables.insert(name, Targets::Named(labels));
                }
                _ => {}
            }
        }
        self.scopes.push(scope);
        for statement in statements {
            self.line = statement.line;
            self.statement(&statement.kind)?;
        }
        self.scopes.pop();
        Ok(())
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        // Statements are in a scope.
        self.scopes.last_mut().expect("a scope is open")
    }

    fn statement(&mut self, kind: &'a StatementKind<'a>) -> Result<(), Error> {
        match kind {
            StatementKind::Block(inner) => self.block(inner),
            StatementKind::Targets { .. } => Ok(()),
            StatementKind::Label(name) => {
                let here = self.program.code.len() as u32;
                let label = self.scope().labels[name];
                self.labels[label as usize] = Some(here);
                Ok(())
            }
            StatementKind::Variable(variable) => {
                let known = variable.space == ".shared" || variable.space == ".param";
                if !known {
                    return Err(Error::Unsupported {
                        opcode: variable.space.to_owned(),
                        line: self.line,
                    });
                }
                self.scope().variables.insert(variable.name, variable);
                Ok(())
            }
            StatementKind::Registers { class, names } => {
                let bits = class.strip_prefix('.').and_then(Type::parse).map(|kind| kind.bits);
                let Some(bits) = bits else {
                    return Err(Error::Unsupported {
                        opcode: format!(".reg {class}"),
                        line: self.line,
                    });
                };
                for &(name, range) in names {
                    if !self.scope().declare(name, range, bits) {
                        return Err(self.invalid(format!("register `{name}` is declared twice")));
                    }
                }
                Ok(())
            }
            StatementKind::Instruction(instruction) => self.instruction(instruction),
        }
    }

    fn instruction(&mut self, instruction: &'a Instruction<'a>) -> Result<(), Error> {
        self.uses.clear();
        self.defs.clear();
        let guard = match instruction.guard {
            Some((name, negated)) => self.guard(name, negated)?,
            None => Guard::ALWAYS,
        };
        let mut opcode = Opcode::new(instruction.opcode, self.line);
        let op = self.operation(&mut opcode, &instruction.operands);
        // An unknown modifier explains operands that do not fit.
        opcode.finish()?;
        let op = op?;
        self.require_allowed(instruction.opcode)?;
        self.emit(guard, op);
        Ok(())
    }

    /// Refuses an opcode that the module's version or target does not have.
    fn require_allowed(&self, opcode: &str) -> Result<(), Error> {
        let needed = requirements::required(opcode);
        if self.allowed.allows(needed) {
            return Ok(());
        }
        let Requirement { version: (major, minor), target } = needed;
        let what = format!("`{opcode}` needs .version {major}.{minor} and .target sm_{target}");
        Err(self.invalid(what))
    }

    fn operation(&mut self, op: &mut Opcode<'a>, args: &'a [Operand<'a>]) -> Result<Op, Error> {
        match op.base {
            "ld" | "ldu" | "st" | "atom" | "red" | "fence" | "membar" | "prefetch"
            | "prefetchu" | "cp" => self.memory(op, args),
            "bra" | "brx" | "ret" | "exit" | "trap" | "bar" | "barrier" | "shfl" | "vote"
            | "activemask" | "match" | "redux" | "nanosleep" | "griddepcontrol" => {
                self.control(op, args)
            }
            _ => self.arithmetic(op, args),
        }
    }

    fn emit(&mut self, guard: Guard, op: Op) {
        self.program.code.push(Inst { guard, op, line: self.line });
        self.footprint.push(Footprint {
            uses: std::mem::take(&mut self.uses),
            defs: std::mem::take(&mut self.defs),
        });
    }

    /// Resolves labels, places dynamic shared memory, finds where lanes reconverge.
    fn finish(mut self) -> Result<Program, Error> {
        let place = |label: u32| self.labels[label as usize].unwrap_or(crate::isa::EXIT);
        for inst in &mut self.program.code {
            if let Op::Branch(target) = &mut inst.op {
                *target = place(*target);
            }
        }
        for table in &mut self.program.tables {
            for target in table {
                *target = place(*target);
            }
        }
        self.program.footprint = self.footprint;
        flow::analyse(&mut self.program);
        Ok(self.program)
    }

    // Names.

    /// What `name` stands for, innermost scope first.
    fn lookup(&mut self, name: &'a str) -> Result<Symbol, Error> {
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
    fn variable(&mut self, variable: &'a Variable<'a>) -> Result<Symbol, Error> {
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

    fn new_word(&mut self, init: Option<Init>) -> Result<W, Error> {
        let index = u16::try_from(self.program.words.len()).ok().filter(|at| *at < u16::MAX);
        let index = index.ok_or_else(|| self.invalid("more than 65535 registers"))?;
        self.program.words.push(init);
        Ok(W(index))
    }

    fn new_double(&mut self, init: Option<Init>) -> Result<D, Error> {
        let index = u16::try_from(self.program.doubles.len()).ok().filter(|at| *at < u16::MAX);
        let index = index.ok_or_else(|| self.invalid("more than 65535 registers"))?;
        self.program.doubles.push(init);
        Ok(D(index))
    }

    fn new_register(&mut self, bits: u8) -> Result<RegRef, Error> {
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

    fn const_w(&mut self, value: u32) -> Result<W, Error> {
        if let Some(w) = self.words.get(&value) {
            return Ok(*w);
        }
        let w = self.new_word(Some(Init::Const(u64::from(value))))?;
        self.words.insert(value, w);
        Ok(w)
    }

    fn const_d(&mut self, value: u64) -> Result<D, Error> {
        if let Some(d) = self.doubles.get(&value) {
            return Ok(*d);
        }
        let d = self.new_double(Some(Init::Const(value)))?;
        self.doubles.insert(value, d);
        Ok(d)
    }

    fn special(&mut self, special: Special) -> Result<W, Error> {
        if let Some(w) = self.specials.get(&special) {
            return Ok(*w);
        }
        let w = self.new_word(Some(Init::Special(special)))?;
        self.specials.insert(special, w);
        Ok(w)
    }

    // Operands.

    /// The operands, if there are `N` of them.
    fn args<const N: usize>(&self, args: &'a [Operand<'a>]) -> Result<&'a [Operand<'a>; N], Error> {
        args.try_into()
            .map_err(|_| self.invalid(format!("{N} operands expected, {} found", args.len())))
    }

    fn guard(&mut self, name: &'a str, negated: bool) -> Result<Guard, Error> {
        let p = self.predicate(name)?;
        self.uses.push(Key::from(p));
        Ok(Guard { p, flip: if negated { u32::MAX } else { 0 } })
    }

    fn predicate(&mut self, name: &'a str) -> Result<P, Error> {
        match self.lookup(name)? {
            Symbol::Register(RegRef::P(p)) => Ok(p),
            _ => Err(self.invalid(format!("`{name}` is not a predicate"))),
        }
    }

    /// A predicate source, perhaps negated or constant.
    fn src_p(&mut self, operand: &'a Operand<'a>) -> Result<Guard, Error> {
        match operand {
            Operand::Name(name) => self.guard(name, false),
            Operand::Not(name) => self.guard(name, true),
            Operand::Int(value) => {
                Ok(Guard { p: crate::isa::TRUE, flip: if *value == 0 { u32::MAX } else { 0 } })
            }
            _ => Err(self.invalid("a predicate expected")),
        }
    }

    fn dst_p(&mut self, operand: &'a Operand<'a>) -> Result<P, Error> {
        match operand {
            Operand::Name(name) => self.dst_p_name(name),
            _ => Err(self.invalid("a predicate expected")),
        }
    }

    fn dst_p_name(&mut self, name: &'a str) -> Result<P, Error> {
        let p = self.predicate(name)?;
        self.defs.push(Key::from(p));
        Ok(p)
    }

    fn wrong_width(&self, operand: &Operand<'_>, found: u8, expected: u8) -> Error {
        let name = match operand {
            Operand::Name(name) => *name,
            _ => "operand",
        };
        self.invalid(format!("`{name}` has {found} bits where {expected} are expected"))
    }

    /// A source of up to 32 bits.
    fn src_w(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<W, Error> {
        let mask = u32::MAX >> (32 - bits);
        match operand {
            Operand::Int(value) => self.const_w(*value as u32 & mask),
            Operand::F32(value) if bits == 32 => self.const_w(*value),
            Operand::F64(value) if bits == 32 => {
                self.const_w((f64::from_bits(*value) as f32).to_bits())
            }
            Operand::Name(name) => self.src_w_name(operand, name, bits, 0),
            Operand::Offset(name, offset) => self.src_w_name(operand, name, bits, *offset),
            _ => Err(self.invalid("a register or number expected")),
        }
    }

    fn src_w_name(
        &mut self,
        operand: &Operand<'_>,
        name: &'a str,
        bits: u8,
        offset: i64,
    ) -> Result<W, Error> {
        match self.lookup(name)? {
            Symbol::Register(RegRef::W(w, found)) if found == bits && offset == 0 => {
                self.uses.push(Key::from(w));
                Ok(w)
            }
            Symbol::Register(register) => Err(self.wrong_width(operand, register.bits(), bits)),
            Symbol::Special(special) if bits == 32 => self.special(special),
            Symbol::Special(_) => Err(self.wrong_width(operand, 32, bits)),
            Symbol::Constant(value) => self.const_w(value as u32),
            Symbol::Address(address) => self.const_w(address.wrapping_add_signed(offset) as u32),
            Symbol::DynamicShared => match self.dynamic_shared(32, offset)? {
                Reg::W(w) => Ok(w),
                Reg::D(_) => unreachable!("asked for 32 bits"),
            },
        }
    }

    /// A 64-bit source.
    fn src_d(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match operand {
            Operand::Int(value) | Operand::F64(value) => self.const_d(*value),
            Operand::Name(name) => self.src_d_name(operand, name, 0),
            Operand::Offset(name, offset) => self.src_d_name(operand, name, *offset),
            _ => Err(self.invalid("a register or number expected")),
        }
    }

    fn src_d_name(
        &mut self,
        operand: &Operand<'_>,
        name: &'a str,
        offset: i64,
    ) -> Result<D, Error> {
        match self.lookup(name)? {
            Symbol::Register(RegRef::D(d)) if offset == 0 => {
                self.uses.push(Key::from(d));
                Ok(d)
            }
            Symbol::Register(register) => Err(self.wrong_width(operand, register.bits(), 64)),
            Symbol::Special(_) => Err(self.wrong_width(operand, 32, 64)),
            Symbol::Constant(value) => self.const_d(value),
            Symbol::Address(address) => self.const_d(address.wrapping_add_signed(offset)),
            Symbol::DynamicShared => match self.dynamic_shared(64, offset)? {
                Reg::D(d) => Ok(d),
                Reg::W(_) => unreachable!("asked for 64 bits"),
            },
        }
    }

    /// A register with the address of the dynamic shared memory.
    fn dynamic_shared(&mut self, bits: u8, offset: i64) -> Result<Reg, Error> {
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
    fn src_q(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::Q(low) => {
                self.uses.extend([Key::from(low), Key::from(D(low.0 + 1))]);
                Ok(low)
            }
            other => Err(self.wrong_width(operand, other.bits(), 128)),
        }
    }

    /// A source of 16, 32 or 64 bits.
    fn src(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<Reg, Error> {
        if bits == 64 {
            self.src_d(operand).map(Reg::D)
        } else {
            self.src_w(operand, bits).map(Reg::W)
        }
    }

    /// The register that `operand` names.
    fn register(&mut self, operand: &'a Operand<'a>) -> Result<RegRef, Error> {
        if let Operand::Name(name) = operand
            && let Symbol::Register(register) = self.lookup(name)?
        {
            return Ok(register);
        }
        Err(self.invalid("a register expected"))
    }

    fn dst_w(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<W, Error> {
        match self.register(operand)? {
            RegRef::W(w, found) if found == bits => {
                self.defs.push(Key::from(w));
                Ok(w)
            }
            other => Err(self.wrong_width(operand, other.bits(), bits)),
        }
    }

    fn dst_d(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::D(d) => {
                self.defs.push(Key::from(d));
                Ok(d)
            }
            other => Err(self.wrong_width(operand, other.bits(), 64)),
        }
    }

    fn dst_q(&mut self, operand: &'a Operand<'a>) -> Result<D, Error> {
        match self.register(operand)? {
            RegRef::Q(low) => {
                self.defs.extend([Key::from(low), Key::from(D(low.0 + 1))]);
                Ok(low)
            }
            other => Err(self.wrong_width(operand, other.bits(), 128)),
        }
    }

    fn dst(&mut self, operand: &'a Operand<'a>, bits: u8) -> Result<Reg, Error> {
        if bits == 64 {
            self.dst_d(operand).map(Reg::D)
        } else {
            self.dst_w(operand, bits).map(Reg::W)
        }
    }
}

impl<'a> Scope<'a> {
    /// Takes note of a register, or of a range of them; says whether the name is new here.
    fn declare(&mut self, name: &'a str, range: Option<u32>, bits: u8) -> bool {
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
const UNKNOWN_SPECIALS: [&str; 13] = [
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
        ("%nwarpid", None) => Special::WarpCount,
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
