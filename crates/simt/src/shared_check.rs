//! Finds races on shared memory and reads of it before anything was written.
//!
//! For every piece of shared memory it remembers who wrote it last and up to two
//! threads that read it since, and likewise of the weak accesses alone: one that
//! is followed by atomics races with whatever it raced with before. An access that conflicts with a remembered one
//! and that nothing orders after it is a race. Two readers of different warps are
//! remembered, if there are such: where all warps come to every barrier, a writer
//! races with one of them if it races with any. Where some warps wait for each
//! other only, a third warp's read may be forgotten.
//!
//! What orders accesses is a thread's own program, barriers, and `bar.warp.sync`
//! within a warp, for those lanes that take part. Atomics and volatile accesses do not race with each other; an
//! order that a kernel makes from them (flags, locks) is not seen.

use crate::clocks::Clocks;
use crate::trace::Motion;

/// Who made an access, when, and by which instruction: the warp's clock, 0 for "nobody yet", the thread in the block, whether the
/// access is strong, and the instruction, which is held at its largest value. One word, for a cell is read as soon as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(u64);

const PC_MAX: u32 = (1 << 21) - 1;
// Where the fields of a record lie, behind the strength.
const PC_AT: u32 = 1;
const THREAD_AT: u32 = PC_AT + 21;
const CLOCK_AT: u32 = THREAD_AT + 10;

impl Record {
    const NONE: Record = Record(0);

    fn new(clock: u32, thread: u32, pc: u32, strong: bool) -> Record {
        Record(
            u64::from(clock) << CLOCK_AT
                | u64::from(thread) << THREAD_AT
                | u64::from(pc.min(PC_MAX)) << PC_AT
                | u64::from(strong),
        )
    }

    fn clock(self) -> u32 {
        (self.0 >> CLOCK_AT) as u32
    }

    pub(crate) fn thread(self) -> u32 {
        (self.0 >> THREAD_AT) as u32 & 1023
    }

    /// The instruction, unless its number did not fit.
    pub(crate) fn pc(self) -> Option<u32> {
        Some((self.0 >> PC_AT) as u32 & PC_MAX).filter(|pc| *pc < PC_MAX)
    }

    fn strong(self) -> bool {
        self.0 & 1 == 1
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    /// Of all accesses.
    all: Accesses,
    /// Of the weak ones.
    weak: Accesses,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Accesses {
    writer: Record,
    /// Since then.
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
        let pieces = bytes.div_ceil(u64::from(piece)) as usize;
        SharedCheck { piece, cells: vec![Cell::UNTOUCHED; pieces] }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(Cell::UNTOUCHED);
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
        let clock = clocks.now((access.thread / 32) as usize);
        let now = Record::new(clock, access.thread, access.pc, access.strong);
        // What vectors move piece by piece was moved by vectors before: most pieces have the records that the one before them had.
        let mut last: Option<[Cell; 2]> = None;
        for cell in &mut self.cells[first..first + count] {
            if let Some([before, after]) = last
                && before == *cell
            {
                *cell = after;
                continue;
            }
            let before = *cell;
            if access.motion != Motion::Store && cell.all.writer.clock() < clocks.start {
                uninitialised = Some(SharedDefect::Uninitialised);
            }
            let racing = match access.motion {
                Motion::Load => cell.read(clocks, now),
                Motion::Store | Motion::Atomic => cell.write(clocks, now),
            };
            race = race.or(racing.map(SharedDefect::Race));
            last = Some([before, *cell]);
        }
        [uninitialised, race]
    }
}

/// Whether `now` need not fear `then`.
fn ordered(clocks: &Clocks, then: Record, now: Record) -> bool {
    clocks.happens_before(then.thread(), then.clock(), now.thread())
        || (then.strong() && now.strong())
}

impl Cell {
    const UNTOUCHED: Cell = Cell { all: Accesses::NONE, weak: Accesses::NONE };

    /// Notes a read; returns the write it races with.
    fn read(&mut self, clocks: &Clocks, now: Record) -> Option<Record> {
        self.all.note_reader(clocks, now);
        if !now.strong() {
            self.weak.note_reader(clocks, now);
        }
        let writers = [self.all.writer, self.weak.writer];
        writers.into_iter().find(|then| !ordered(clocks, *then, now))
    }

    /// Notes a write; returns the access it races with.
    fn write(&mut self, clocks: &Clocks, now: Record) -> Option<Record> {
        let others =
            [self.all, self.weak].map(|Accesses { writer, readers: [a, b] }| [writer, a, b]);
        let raced = others.into_iter().flatten().find(|then| !ordered(clocks, *then, now));
        self.all = Accesses { writer: now, ..Accesses::NONE };
        // What races with an earlier weak access, and comes after a weak write that does not, races with that write, too.
        if !now.strong() {
            self.weak = self.all;
        }
        raced
    }
}

impl Accesses {
    const NONE: Accesses = Accesses { writer: Record::NONE, readers: [Record::NONE; 2] };

    fn note_reader(&mut self, clocks: &Clocks, now: Record) {
        let past = |then: &Record| clocks.happens_before(then.thread(), then.clock(), now.thread());
        if let Some(slot) = self.readers.iter_mut().find(|then| past(then)) {
            *slot = now;
        } else {
            let warp = |record: Record| record.thread() / 32;
            let [first, second] = &mut self.readers;
            if warp(*first) == warp(*second) && warp(now) != warp(*first) {
                *second = now;
            }
        }
    }
}
