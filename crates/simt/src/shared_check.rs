//! Finds races on shared memory and reads of it before anything was written.
//!
//! For every piece of shared memory it remembers who wrote it last and up to two
//! threads that read it since, and likewise of the weak accesses alone, of a kernel that has others: one that
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

/// The accesses to a piece that are remembered.
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
    /// Bytes of a piece, the kernel's narrowest access, as a power of two.
    piece_log: u32,
    /// Of each piece, all accesses.
    all: Vec<Accesses>,
    /// Of each piece, the weak ones, where a kernel has strong ones: elsewhere those are all.
    weak: Vec<Accesses>,
}

impl SharedCheck {
    pub(crate) fn new(bytes: u64, piece: u32, strong: bool) -> SharedCheck {
        let pieces = bytes.div_ceil(u64::from(piece)) as usize;
        SharedCheck {
            piece_log: piece.ilog2(),
            all: vec![Accesses::NONE; pieces],
            weak: vec![Accesses::NONE; if strong { pieces } else { 0 }],
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.all.fill(Accesses::NONE);
        self.weak.fill(Accesses::NONE);
    }

    /// Takes note of an access and returns what is wrong with it.
    pub(crate) fn access(
        &mut self,
        clocks: &Clocks,
        access: &SharedAccess,
    ) -> [Option<SharedDefect>; 2] {
        let first = (access.address >> self.piece_log) as usize;
        let pieces = first..first + (access.bytes >> self.piece_log).max(1) as usize;
        let clock = clocks.now((access.thread / 32) as usize);
        let now = Record::new(clock, access.thread, access.pc, access.strong);
        let motion = access.motion;
        let all = &mut self.all[pieces.clone()];
        let unwritten = |cell: &Accesses| cell.writer.clock() < clocks.start;
        let uninitialised = motion != Motion::Store && all.iter().any(unwritten);
        let mut race = note_pieces(all, clocks, motion, now, true);
        if !self.weak.is_empty() {
            // What races with an earlier weak access, and comes after a weak write that does not, races with that write, too.
            let of_weak = note_pieces(&mut self.weak[pieces], clocks, motion, now, !now.strong());
            race = race.or(of_weak);
        }
        [uninitialised.then_some(SharedDefect::Uninitialised), race.map(SharedDefect::Race)]
    }
}

/// Looks what an access to these pieces races with, and has it remembered if it is of those that `cells` remember.
fn note_pieces(
    cells: &mut [Accesses],
    clocks: &Clocks,
    motion: Motion,
    now: Record,
    remembered: bool,
) -> Option<Record> {
    let note = |cell: &mut Accesses| match motion {
        Motion::Load => cell.read(clocks, now, remembered),
        Motion::Store | Motion::Atomic => cell.write(clocks, now, remembered),
    };
    if let [cell] = cells {
        return note(cell);
    }
    let mut race = None;
    // What vectors move piece by piece was moved by vectors before: most pieces have the records that the one before them had.
    let mut last: Option<[Accesses; 2]> = None;
    for cell in cells {
        if let Some([before, after]) = last
            && before == *cell
        {
            *cell = after;
            continue;
        }
        let before = *cell;
        race = race.or(note(cell));
        last = Some([before, *cell]);
    }
    race
}

/// Whether `now` need not fear `then`.
fn ordered(clocks: &Clocks, then: Record, now: Record) -> bool {
    clocks.happens_before(then.thread(), then.clock(), now.thread())
        || (then.strong() && now.strong())
}

impl Accesses {
    const NONE: Accesses = Accesses { writer: Record::NONE, readers: [Record::NONE; 2] };

    /// Looks at a read, and notes it if it is to be remembered; returns the write it races with.
    fn read(&mut self, clocks: &Clocks, now: Record, remembered: bool) -> Option<Record> {
        if remembered {
            self.note_reader(clocks, now);
        }
        Some(self.writer).filter(|then| !ordered(clocks, *then, now))
    }

    /// Looks at a write, and notes it if it is to be remembered; returns the access it races with.
    fn write(&mut self, clocks: &Clocks, now: Record, remembered: bool) -> Option<Record> {
        let [a, b] = self.readers;
        let raced = [self.writer, a, b].into_iter().find(|then| !ordered(clocks, *then, now));
        if remembered {
            *self = Accesses { writer: now, ..Accesses::NONE };
        }
        raced
    }

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
