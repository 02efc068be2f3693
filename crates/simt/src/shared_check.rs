//! Finds races on shared memory and reads of it before anything was written.
//!
//! For every piece of shared memory it remembers who wrote it last and up to two
//! threads that read it since. An access that conflicts with a remembered one
//! and that nothing orders after it is a race. Two readers suffice: a writer is
//! a different thread from at least one of them.
//!
//! What orders accesses is a thread's own program, barriers, and `bar.warp.sync`
//! within a warp. Atomics and volatile accesses do not race with each other; an
//! order that a kernel makes from them (flags, locks) is not seen.

use crate::clocks::Clocks;
use crate::trace::Motion;

/// Who made an access, when, and by which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Clock of the warp; 0 for "nobody yet".
    clock: u32,
    /// Thread in the block, and whether the access may race, in the low bit.
    thread: u32,
    pub pc: u32,
}

impl Record {
    const NONE: Record = Record { clock: 0, thread: 0, pc: 0 };

    pub(crate) fn thread(self) -> u32 {
        self.thread >> 1
    }

    fn strong(self) -> bool {
        self.thread & 1 == 1
    }
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    writer: Record,
    readers: [Record; 2],
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedDefect {
    Uninitialised,
    Race(Record),
}

/// An access of one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedAccess {
    pub motion: Motion,
    pub strong: bool,
    pub address: u64,
    pub bytes: u32,
    pub thread: u32,
    pub pc: u32,
}

/// The memory of accesses to a block's shared memory.
#[derive(Debug)]
pub(crate) struct SharedCheck {
    /// Bytes of a piece: the kernel's narrowest access.
    piece: u32,
    cells: Vec<Cell>,
}

impl SharedCheck {
    pub(crate) fn new(bytes: u64, piece: u32) -> SharedCheck {
        let cell = Cell { writer: Record::NONE, readers: [Record::NONE; 2] };
        SharedCheck { piece, cells: vec![cell; bytes.div_ceil(u64::from(piece)) as usize] }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(Cell { writer: Record::NONE, readers: [Record::NONE; 2] });
    }

    /// Takes note of an access and returns what is wrong with it.
    pub(crate) fn access(
        &mut self,
        clocks: &Clocks,
        access: &SharedAccess,
    ) -> [Option<SharedDefect>; 2] {
        let first = (access.address / u64::from(self.piece)) as usize;
        let count = (access.bytes / self.piece).max(1) as usize;
        let mut uninitialised = None;
        let mut race = None;
        let now = Record {
            clock: clocks.now((access.thread / 32) as usize),
            thread: access.thread << 1 | u32::from(access.strong),
            pc: access.pc,
        };
        for cell in &mut self.cells[first..first + count] {
            if access.motion != Motion::Store && cell.writer.clock < clocks.start {
                uninitialised = Some(SharedDefect::Uninitialised);
            }
            let racing = match access.motion {
                Motion::Load => cell.read(clocks, now),
                Motion::Store | Motion::Atomic => cell.write(clocks, now),
            };
            race = race.or(racing.map(SharedDefect::Race));
        }
        [uninitialised, race]
    }
}

/// Whether `now` need not fear `then`.
fn ordered(clocks: &Clocks, then: Record, now: Record) -> bool {
    clocks.happens_before(then.thread(), then.clock, now.thread())
        || (then.strong() && now.strong())
}

impl Cell {
    /// Notes a read; returns the write it races with.
    fn read(&mut self, clocks: &Clocks, now: Record) -> Option<Record> {
        let past = |then: &Record| clocks.happens_before(then.thread(), then.clock, now.thread());
        if let Some(slot) = self.readers.iter_mut().find(|then| past(then)) {
            *slot = now;
        }
        Some(self.writer).filter(|then| !ordered(clocks, *then, now))
    }

    /// Notes a write; returns the access it races with.
    fn write(&mut self, clocks: &Clocks, now: Record) -> Option<Record> {
        let others = [self.writer, self.readers[0], self.readers[1]];
        *self = Cell { writer: now, readers: [Record::NONE; 2] };
        others.into_iter().find(|then| !ordered(clocks, *then, now))
    }
}
