//! Turns a kernel's statements into a [`Program`], or says what it cannot run.
//!
//! Names become register numbers, labels become instruction numbers, variables
//! become addresses. Whatever is not understood is an
//! [`Error::Unsupported`] with its line; nothing is skipped.

mod arith;
mod control;
mod memory;
mod names;
mod opcode;
mod operands;
mod requirements;

use std::collections::HashMap;

use crate::Error;
use crate::flow;
use crate::isa::{D, Guard, Inst, Op, Reg, Special, W};
use crate::program::{Footprint, Key, Program};
use crate::syntax::{Entry, Instruction, Operand, Statement, StatementKind, Variable};
use names::{RegRef, Scope, Symbol, Targets};
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
    /// The instruction at hand as written.
    opcode: &'a str,
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
            opcode: "",
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
        self.opcode = instruction.opcode;
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
}
