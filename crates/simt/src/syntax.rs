//! What a PTX file is made of, as it is written: names and numbers of no meaning yet.

use crate::Error;

/// A whole PTX file.
#[derive(Debug, Default)]
pub(crate) struct File<'a> {
    pub version: String,
    pub target: String,
    pub entries: Vec<Entry<'a>>,
    /// Variables at module scope, shared ones among them.
    pub variables: Vec<Variable<'a>>,
}

/// A kernel: an `.entry` with its body, still as tokens.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub name: &'a str,
    pub line: u32,
    /// The line of its closing brace.
    pub end_line: u32,
    pub params: Vec<Variable<'a>>,
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    /// The statements, or why they could not be read.
    pub body: Result<Vec<Statement<'a>>, Error>,
}

/// A declared variable or parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub name: &'a str,
    /// The state space: `.shared`, `.param`, `.global`, …
    pub space: &'a str,
    pub line: u32,
    pub align: u32,
    pub bytes: u64,
    /// `.extern name[]`: its size is the launch's dynamic shared memory.
    pub unsized_extern: bool,
}

/// One statement of a body and the line it is on.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub line: u32,
    pub kind: StatementKind<'a>,
}

/// What a statement is.
#[derive(Debug)]
pub(crate) enum StatementKind<'a> {
    Label(&'a str),
    Instruction(Instruction<'a>),
    /// `.reg .b32 %r<5>, %x;`: names, each with the size of its range if any.
    Registers {
        class: &'a str,
        names: Vec<(&'a str, Option<u32>)>,
    },
    Variable(Variable<'a>),
    /// `name: .branchtargets a, b;`
    Targets {
        name: &'a str,
        labels: Vec<&'a str>,
    },
    Block(Vec<Statement<'a>>),
}

/// An instruction as written.
#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// The guarding predicate and whether it is negated.
    pub guard: Option<(&'a str, bool)>,
    pub opcode: &'a str,
    pub operands: Vec<Operand<'a>>,
}

/// An operand as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    Name(&'a str),
    /// `!%p`
    Not(&'a str),
    /// `%p|%q`
    Pair(&'a str, &'a str),
    Int(u64),
    F32(u32),
    F64(u64),
    /// `[base+offset]`
    Address {
        base: Base<'a>,
        offset: i64,
    },
    /// `symbol+offset` outside brackets
    Offset(&'a str, i64),
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`, the arguments of a call
    List,
}

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base<'a> {
    Name(&'a str),
    Absolute,
}
