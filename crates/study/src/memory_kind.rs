//! The kinds of host memory that a device can reach.

use std::fmt;

/// A kind of host memory that a GPU can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Page-locked: copies run at the speed of the bus.
    Pinned,
    /// Page-locked and in the GPU's address space: kernels reach it without a copy.
    Mapped,
    /// One address for host and GPU; pages migrate to whoever touches them.
    Unified,
}

impl MemoryKind {
    /// Every kind.
    pub const ALL: [MemoryKind; 3] = [MemoryKind::Pinned, MemoryKind::Mapped, MemoryKind::Unified];
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MemoryKind::Pinned => "pinned",
            MemoryKind::Mapped => "mapped",
            MemoryKind::Unified => "unified",
        })
    }
}
