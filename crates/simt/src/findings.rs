//! What the checks report: facts about one access or one barrier, as data.

use std::fmt;

use serde::Serialize;

/// A state space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Space {
    /// Memory that all blocks see.
    Global,
    /// Memory of one block.
    Shared,
    /// The kernel's arguments.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Param => "param",
        })
    }
}

/// What kind of defect a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FindingKind {
    /// An access that is not inside one live allocation. Fatal.
    OutOfBounds,
    /// An access whose address is no multiple of its size. Fatal.
    Misaligned,
    /// Threads wait for each other and none can go on. Fatal.
    Deadlock,
    /// The kernel executed `trap`. Fatal.
    Trap,
    /// An operand outside what the instruction allows, such as barrier 16. Fatal.
    BadOperand,
    /// The launch executed more instructions than [`Options::instruction_limit`](crate::Options) allows. Fatal.
    InstructionLimit,
    /// A `bar.sync` that only a part of a warp's threads reached.
    DivergentBarrier,
    /// A barrier passed although some threads of the block had already exited.
    BarrierAfterExit,
    /// A shuffle or similar that reads from a lane not taking part.
    InactiveLane,
    /// A read of shared memory that no thread of the block had written.
    UninitialisedShared,
    /// A read of global memory that neither host nor kernel had written.
    UninitialisedGlobal,
    /// A read of a register that the thread had not written.
    UninitialisedRegister,
    /// Two threads touched the same shared bytes, at least one writing, with no barrier between.
    SharedRace,
    /// Two threads wrote the same global bytes in one launch with nothing to order them.
    GlobalWriteRace,
    /// One thread read global bytes that another wrote in the same launch with nothing to order them.
    GlobalReadWriteRace,
    /// The launch wrote global bytes that it also loads as constant (`ld.global.nc`), in whatever order.
    ConstantWritten,
    /// So many synchronisations within a block that the record of an access cannot tell when it was: races may be missed from here on.
    ClockExhausted,
}

impl FindingKind {
    fn phrase(self) -> &'static str {
        match self {
            FindingKind::OutOfBounds => "out-of-bounds access",
            FindingKind::Misaligned => "misaligned access",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Trap => "trap",
            FindingKind::BadOperand => "operand out of range",
            FindingKind::InstructionLimit => "instruction limit reached",
            FindingKind::DivergentBarrier => "divergent barrier",
            FindingKind::BarrierAfterExit => "barrier after threads had exited",
            FindingKind::InactiveLane => "read from an inactive lane",
            FindingKind::UninitialisedShared => "read of never-written shared memory",
            FindingKind::UninitialisedGlobal => "read of never-written global memory",
            FindingKind::UninitialisedRegister => "read of a never-written register",
            FindingKind::SharedRace => "shared-memory race",
            FindingKind::GlobalWriteRace => "global write-write race",
            FindingKind::GlobalReadWriteRace => "global read-write race",
            FindingKind::ConstantWritten => "write of global memory that is loaded as constant",
            FindingKind::ClockExhausted => "too many synchronisations for the race checks",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.phrase())
    }
}

/// Where in a launch something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Line in the PTX text, from 1; 0 where it is not known.
    pub line: u32,
    /// The block's index.
    pub block: [u32; 3],
    /// The thread's index in its block.
    pub thread: [u32; 3],
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        if self.line > 0 {
            write!(f, "PTX line {}, ", self.line)?;
        }
        write!(f, "block ({bx},{by},{bz}), thread ({tx},{ty},{tz})")
    }
}

/// The bytes an access touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The state space.
    pub space: Space,
    /// A global address, or an offset into the block's shared memory or the parameters.
    pub address: u64,
    /// Bytes touched by the thread.
    pub bytes: u32,
}

/// One defect, with the first place it was seen at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of defect.
    pub kind: FindingKind,
    /// The kernel.
    pub kernel: String,
    /// The thread at fault (the first of them, in lane order).
    pub site: Site,
    /// The bytes it touched; `None` for barriers and the like.
    pub touched: Option<Touched>,
    /// The other thread of a race.
    pub other: Option<Site>,
    /// What was wrong, in words.
    pub detail: String,
    /// How often this kind was seen on this PTX line (and the other's line).
    pub occurrences: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in kernel `{}`, {}", self.kind, self.kernel, self.site)?;
        if let Some(Touched { space, address, bytes }) = self.touched {
            write!(f, ": {bytes} bytes at {space} {address:#x}")?;
        }
        if let Some(other) = self.other {
            write!(f, "; the other thread: {other}")?;
        }
        if !self.detail.is_empty() {
            write!(f, "; {}", self.detail)?;
        }
        if self.occurrences > 1 {
            write!(f, " ({} times)", self.occurrences)?;
        }
        Ok(())
    }
}

/// A defect that stopped the launch, and what the checks had found before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The fatal defect.
    pub finding: Finding,
    /// Findings made before it, where checks were on.
    pub earlier: Vec<Finding>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finding.fmt(f)
    }
}
