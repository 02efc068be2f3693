//! A PTX file and its kernels.

use std::sync::Arc;

use crate::Error;
use crate::decode::{Globals, Requirement, decode, param_layout};
use crate::lexer::tokenize;
use crate::parser;
use crate::program::Program;
use crate::syntax::{Entry, Variable};

/// PTX text, parsed and decoded.
///
/// A kernel that cannot be decoded does not spoil the others: its error is
/// kept and returned by [`Module::kernel`].
#[derive(Clone, Debug)]
pub struct Module {
    source: Arc<str>,
    version: String,
    target: String,
    kernels: Vec<(Arc<str>, Result<Kernel, Error>)>,
}

impl Module {
    /// Parses PTX and decodes every kernel in it.
    ///
    /// # Errors
    /// [`Error::Syntax`] with the line. A kernel that cannot be run is no error of the module: see [`kernel`](Self::kernel).
    pub fn parse(ptx: &str) -> Result<Module, Error> {
        let source: Arc<str> = ptx.into();
        let tokens = tokenize(ptx)?;
        let file = parser::parse(&tokens)?;
        let globals = file.variables.iter().map(|variable| (variable.name, variable)).collect();
        let module = Requirement::of_module(&file.version, &file.target);
        let kernel = |entry: &Entry<'_>| {
            let kernel = Kernel::new(entry, &globals, &source, module);
            (Arc::from(entry.name), kernel)
        };
        let kernels = file.entries.iter().map(kernel).collect();
        Ok(Module { source, kernels, version: file.version, target: file.target })
    }

    /// The kernel called `name`, or why it cannot be run.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Unsupported`] or [`Error::Invalid`] with the line.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, Error> {
        let found = self.kernels.iter().find(|(known, _)| **known == *name);
        let (_, kernel) = found.ok_or_else(|| Error::NoKernel { name: name.to_owned() })?;
        kernel.as_ref().map_err(Clone::clone)
    }

    /// The kernels that can be run, in order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().filter_map(|(_, kernel)| kernel.as_ref().ok())
    }

    /// The kernels that cannot be run, and why.
    pub fn refused(&self) -> impl Iterator<Item = (&str, &Error)> {
        self.kernels.iter().filter_map(|(name, kernel)| Some((&**name, kernel.as_ref().err()?)))
    }

    /// The PTX text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What `.version` says.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What `.target` says.
    pub fn target(&self) -> &str {
        &self.target
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    pub(crate) offset: usize,
}

/// A kernel that can be run.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: Arc<str>,
    pub(crate) program: Arc<Program>,
    pub(crate) source: Arc<str>,
    pub(crate) params: Vec<Param>,
    pub(crate) params_bytes: usize,
    pub(crate) max_block: Option<[u32; 3]>,
    pub(crate) required_block: Option<[u32; 3]>,
    line: u32,
    end_line: u32,
}

impl Kernel {
    fn new(
        entry: &Entry<'_>,
        globals: &Globals<'_>,
        source: &Arc<str>,
        module: Requirement,
    ) -> Result<Kernel, Error> {
        let (offsets, bytes) = param_layout(entry)?;
        let param = |(param, offset): (&Variable<'_>, u64)| Param {
            name: param.name.to_owned(),
            size: param.bytes as usize,
            align: param.align as usize,
            offset: offset as usize,
        };
        Ok(Kernel {
            name: Arc::from(entry.name),
            program: Arc::new(decode(entry, globals, module)?),
            source: Arc::clone(source),
            params: entry.params.iter().zip(offsets).map(param).collect(),
            params_bytes: bytes as usize,
            max_block: entry.max_threads,
            required_block: entry.required_threads,
            line: entry.line,
            end_line: entry.end_line,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Bytes of shared memory that it declares and uses.
    pub fn static_shared_bytes(&self) -> u64 {
        self.program.static_shared
    }

    /// Whether it uses shared memory whose size the launch gives.
    pub fn uses_dynamic_shared(&self) -> bool {
        self.program.dynamic_align.is_some()
    }

    /// The block it must be launched with (`.reqntid`).
    pub fn required_block(&self) -> Option<[u32; 3]> {
        self.required_block
    }

    /// The most threads a block of it may have (`.maxntid`).
    pub fn max_threads(&self) -> Option<u32> {
        self.max_block.map(|block| block.iter().fold(1, |all: u32, &n| all.saturating_mul(n)))
    }

    /// Virtual registers it uses, those that hold constants included. The
    /// assembler maps them to far fewer real ones.
    pub fn registers(&self) -> usize {
        self.program.words.len() + self.program.doubles.len() + self.program.predicates
    }

    /// Instructions in its text.
    pub fn instructions(&self) -> usize {
        // The last one is the implicit return.
        self.program.code.len() - 1
    }

    /// The lines of the PTX text from its `.entry` to its closing brace, from 1.
    pub fn lines(&self) -> std::ops::RangeInclusive<u32> {
        self.line..=self.end_line
    }

    /// The PTX text of the whole module.
    pub fn source(&self) -> &str {
        &self.source
    }
}
