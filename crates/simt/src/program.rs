//! A kernel as it is run: its instructions, and what is known of them before.

use crate::isa::{Access, Atomic, CARRY, D, Init, Inst, P, W, Window};

/// A kernel ready to run.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub code: Vec<Inst>,
    /// Per instruction, where lanes that diverge there come together again.
    pub reconvergence: Vec<u32>,
    pub accesses: Vec<Access>,
    pub atomics: Vec<Atomic>,
    pub tables: Vec<Vec<u32>>,
    pub words: Vec<Option<Init>>,
    pub doubles: Vec<Option<Init>>,
    pub predicates: usize,
    /// Bytes of static shared memory.
    pub static_shared: u64,
    /// Alignment of the dynamic shared memory; `None` where none is used.
    pub dynamic_align: Option<u32>,
    /// Registers that may be read before they are written: zeroed for every block.
    pub live_in: LiveIn,
    /// The registers that each instruction reads and writes.
    pub footprint: Vec<Footprint>,
}

/// Registers to zero before a block starts.
#[derive(Debug, Default)]
pub(crate) struct LiveIn {
    pub words: Vec<u16>,
    pub doubles: Vec<u16>,
    pub predicates: Vec<u16>,
}

impl LiveIn {
    /// All of them, but the carry.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        let words = self.words.iter().map(|at| Key::from(W(*at)));
        let doubles = self.doubles.iter().map(|at| Key::from(D(*at)));
        let predicates = self.predicates.iter().map(|at| P(*at)).filter(|p| *p != CARRY);
        words.chain(doubles).chain(predicates.map(Key::from))
    }
}

impl Program {
    /// The line of an instruction; 0 if nobody knows which it was.
    pub(crate) fn line(&self, pc: Option<u32>) -> u32 {
        pc.map_or(0, |pc| self.code[pc as usize].line)
    }

    /// The narrowest access of a kernel that can touch the state space of `window`.
    pub(crate) fn narrowest_access(&self, window: Window) -> u32 {
        let touches = |of: Window| of == window || of == Window::Generic;
        let accesses = self.accesses.iter().filter(|access| touches(access.window));
        let atomics = self.atomics.iter().filter(|atomic| touches(atomic.window));
        let widths =
            accesses.map(|a| u32::from(a.bytes)).chain(atomics.map(|a| u32::from(a.bytes)));
        widths.min().unwrap_or(4)
    }

    /// Whether a kernel has accesses that are strong.
    pub(crate) fn has_strong_accesses(&self) -> bool {
        !self.atomics.is_empty() || self.accesses.iter().any(|access| access.strong)
    }

    /// The narrowest element of an access, at most 8 bytes.
    pub(crate) fn narrowest_element(&self) -> u32 {
        let elements = self.accesses.iter().map(|access| u32::from(access.element));
        let atomics = self.atomics.iter().map(|atomic| u32::from(atomic.bytes));
        elements.chain(atomics).fold(8, u32::min)
    }
}

/// A register of any kind, as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(u32);

/// Kinds of registers; their keys take turns.
const KINDS: u32 = 3;

impl From<W> for Key {
    fn from(w: W) -> Key {
        Key(u32::from(w.0) * KINDS)
    }
}

impl From<D> for Key {
    fn from(d: D) -> Key {
        Key(u32::from(d.0) * KINDS + 1)
    }
}

impl From<P> for Key {
    fn from(p: P) -> Key {
        Key(u32::from(p.0) * KINDS + 2)
    }
}

/// The registers one instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    pub uses: Vec<Key>,
    pub defs: Vec<Key>,
}
