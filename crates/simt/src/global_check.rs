//! Finds races on global memory within one launch, and notes what was written.
//!
//! For every piece of global memory that the launch touches it remembers who
//! wrote it last and, if asked to, two who read it; and, of a kernel that has strong
//! accesses, likewise of those alone that are weak, or strong within their block. Blocks are never ordered, so
//! two blocks that touch the same piece, one of them writing, race. Within a
//! block, order is as for shared memory: see [`crate::shared_check`].
//!
//! Workers run blocks side by side, so the records are atomics, each a single
//! 64-bit word.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::clocks::Clocks;
use crate::isa::Scope;
use crate::meeting::{Cells, Order};
use crate::memory::{Table, find_near, join_adjacent};
use crate::trace::Motion;

type CellsOfAll = OnceLock<Option<Box<[AtomicU64]>>>;
/// A bit for each piece.
type Bits = OnceLock<Option<Box<[AtomicU32]>>>;

/// Who made an access and when: block, thread, the warp's clock within the
/// block, instruction; and how far it is strong. Clocks start at 1, so no record is 0. Fields too large for their bits are cut or held at their
/// largest value; that can hide a race and never invents one. A clock too large,
/// of a block that synchronised a quarter of a million times, is said to be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(u64);

const CLOCK_BITS: u32 = 18;
const CLOCK_MAX: u32 = (1 << CLOCK_BITS) - 1;
const PC_MAX: u32 = (1 << 11) - 1;
const BLOCK_MASK: u64 = (1 << 23) - 1;
// Where the fields of a record lie, behind the strength: a bit for the block, and one for everyone.
const PC_AT: u32 = 2;
const CLOCK_AT: u32 = PC_AT + 11;
const THREAD_AT: u32 = CLOCK_AT + CLOCK_BITS;
const BLOCK_AT: u32 = THREAD_AT + 10;

impl Record {
    fn new(block: u64, thread: u32, clock: u32, pc: u32, strength: Option<Scope>) -> Record {
        let strength = match strength {
            None => 0,
            Some(Scope::Block) => 0b01,
            Some(Scope::Device) => 0b11,
        };
        let fields = (block & BLOCK_MASK) << BLOCK_AT
            | u64::from(thread) << THREAD_AT
            | u64::from(clock.min(CLOCK_MAX)) << CLOCK_AT
            | u64::from(pc.min(PC_MAX)) << PC_AT;
        Record(fields | strength)
    }

    fn is_some(self) -> bool {
        self.0 != 0
    }

    pub(crate) fn block(self) -> u64 {
        self.0 >> BLOCK_AT & BLOCK_MASK
    }

    pub(crate) fn thread(self) -> u32 {
        (self.0 >> THREAD_AT) as u32 & 1023
    }

    fn clock(self) -> u32 {
        (self.0 >> CLOCK_AT) as u32 & CLOCK_MAX
    }

    /// The instruction, unless its number did not fit.
    pub(crate) fn pc(self) -> Option<u32> {
        Some((self.0 >> PC_AT) as u32 & PC_MAX).filter(|pc| *pc < PC_MAX)
    }

    /// Whether it is strong for everyone.
    fn strong(self) -> bool {
        self.0 & 0b10 != 0
    }

    /// Whether both are strong for each other.
    fn strong_with(self, other: Record) -> bool {
        let within = self.block() == other.block();
        self.0 & other.0 & if within { 0b01 } else { 0b10 } != 0
    }
}

/// A race, by what the two accesses were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobalRace {
    WriteWrite(Record),
    ReadWrite(Record),
    /// The bytes are loaded as constant, and written.
    Constant,
    /// The clock does not fit a record.
    Exhausted,
}

/// An access of one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalAccess {
    pub motion: Motion,
    pub strength: Option<Scope>,
    /// A load of what nobody writes (`.nc`).
    pub constant: bool,
    pub address: u64,
    pub bytes: u32,
    pub block: u64,
    pub thread: u32,
    pub pc: u32,
}

/// Records of all pieces of an allocation: the last writers, the last readers, and others that were forgotten for those.
#[derive(Debug, Default)]
struct Kept {
    writers: CellsOfAll,
    readers: CellsOfAll,
    other_readers: CellsOfAll,
}

#[derive(Debug, Default)]
struct Shadow {
    /// Of all accesses.
    all: Kept,
    /// Of those that are not strong for everyone: one that comes later and is does not end what they race with.
    weak: Kept,
    written: Bits,
    /// Pieces that were loaded as constant.
    constant: Bits,
}

/// The memory of a launch's accesses, shared by its workers.
#[derive(Debug)]
pub(crate) struct GlobalCheck {
    /// Bytes of a piece, the kernel's narrowest access, as a power of two.
    piece_log: u32,
    shadows: Vec<Shadow>,
    pub races: bool,
    pub reads: bool,
    pub record: bool,
    /// Whether the kernel loads as constant, and that is checked.
    pub constants: bool,
    /// Whether the kernel has strong accesses.
    strong: bool,
}

impl GlobalCheck {
    pub(crate) fn new(
        table: &Table,
        piece: u32,
        races: bool,
        reads: bool,
        record: bool,
        [constants, strong]: [bool; 2],
    ) -> GlobalCheck {
        let shadows = table.iter().map(|_| Shadow::default()).collect();
        let piece_log = piece.ilog2();
        GlobalCheck { piece_log, shadows, races, reads, record, constants, strong }
    }

    /// Takes note of an access, which lies in one allocation of `table`: probably in the one at `near`, which is set to where it does.
    pub(crate) fn access(
        &self,
        table: &Table,
        near: &mut usize,
        clocks: &Clocks,
        access: &GlobalAccess,
    ) -> Option<GlobalRace> {
        let at = find_near(table, *near, access.address, u64::from(access.bytes))?;
        *near = at;
        let first = (access.address - table[at].base) >> self.piece_log;
        let pieces = first..first + u64::from(access.bytes >> self.piece_log).max(1);
        let count = (table[at].bytes + (1 << self.piece_log) - 1) >> self.piece_log;
        let shadow = &self.shadows[at];
        if (self.record || self.constants) && access.motion != Motion::Load {
            note(&shadow.written, count, pieces.clone());
        }
        let mut race = None;
        if self.constants {
            if access.constant {
                note(&shadow.constant, count, pieces.clone());
            }
            let written = access.motion != Motion::Load;
            let other = if written { &shadow.constant } else { &shadow.written };
            race = ((written || access.constant) && any(other, pieces.clone()))
                .then_some(GlobalRace::Constant);
        }
        let clock = clocks.now((access.thread / 32) as usize) - clocks.start + 1;
        let now = Record::new(access.block, access.thread, clock, access.pc, access.strength);
        if clock >= CLOCK_MAX && (self.races || self.reads) {
            race = race.or(Some(GlobalRace::Exhausted));
        }
        let noted = self.reads || self.races && access.motion != Motion::Load;
        if let Some(all) = noted.then(|| shadow.all.cells(count, self.reads)).flatten() {
            let weak = if self.strong { shadow.weak.cells(count, self.reads) } else { None };
            let check = Check { all, weak, clocks, now, writes: self.races, reads: self.reads };
            for piece in pieces {
                let found = match access.motion {
                    Motion::Load => check.read(piece),
                    Motion::Store | Motion::Atomic => check.write(piece),
                };
                race = race.or(found);
            }
        }
        race
    }

    /// What was written, for the report.
    pub(crate) fn into_writes(self, table: &Table) -> Writes {
        let allocations = table.iter().zip(self.shadows).filter_map(|(allocation, shadow)| {
            let bits = shadow.written.into_inner()??;
            let bits = bits.iter().map(|word| word.load(Relaxed)).collect();
            Some(Written { base: allocation.base, bytes: allocation.bytes, bits })
        });
        Writes { piece: 1 << self.piece_log, allocations: allocations.collect() }
    }
}

impl Kept {
    /// The records of all `count` pieces: who wrote each, and, if `reads` are noted, two who read it; `None` if the host has no memory for these.
    fn cells(&self, count: u64, reads: bool) -> Option<[&[AtomicU64]; 3]> {
        let make = || bytemuck::allocation::try_zeroed_slice_box(count as usize).ok();
        let writers = self.writers.get_or_init(make).as_deref()?;
        if !reads {
            return Some([writers; 3]);
        }
        let readers = self.readers.get_or_init(make).as_deref()?;
        Some([writers, readers, self.other_readers.get_or_init(make).as_deref()?])
    }
}

/// One access being checked.
struct Check<'a> {
    /// Writers, readers, other readers of all accesses; the latter two are writers, too, where reads are not noted.
    all: [&'a [AtomicU64]; 3],
    /// Likewise of those that are not strong for everyone, of a kernel that has others.
    weak: Option<[&'a [AtomicU64]; 3]>,
    clocks: &'a Clocks,
    now: Record,
    writes: bool,
    reads: bool,
}

/// The records of one piece.
fn of_piece(cells: [&[AtomicU64]; 3], piece: u64) -> Cells<'_> {
    let [writer, reader, other_reader] = cells.map(|cells| &cells[piece as usize]);
    Cells { writer, reader, other_reader }
}

/// An access that is not strong for everyone is noted among the weak ones first, and another one looks there last: of two on two workers one sees the other.
impl Check<'_> {
    fn read(&self, piece: u64) -> Option<GlobalRace> {
        let weak = self.weak.map(|cells| of_piece(cells, piece));
        let noted =
            weak.filter(|_| !self.now.strong()).and_then(|weak| weak.read(self.now.0, self));
        let writer = of_piece(self.all, piece).read(self.now.0, self);
        let writer = noted.or(writer).or_else(|| self.weak_writer(weak))?;
        Some(GlobalRace::ReadWrite(Record(writer)))
    }

    fn write(&self, piece: u64) -> Option<GlobalRace> {
        let (all, weak) =
            (of_piece(self.all, piece), self.weak.map(|cells| of_piece(cells, piece)));
        let noted =
            weak.filter(|_| !self.now.strong()).and_then(|weak| weak.write(self.now.0, self));
        let writer = noted.or(all.write(self.now.0, self)).or_else(|| self.weak_writer(weak));
        // Who does not ask for races of writes may ask for those of reads.
        if let Some(writer) = writer.filter(|_| self.writes) {
            return Some(GlobalRace::WriteWrite(Record(writer)));
        }
        let racing = |cells: Cells<'_>| cells.racing_reader(self);
        let reader = if self.reads { racing(all).or_else(|| weak.and_then(racing)) } else { None };
        reader.map(|reader| GlobalRace::ReadWrite(Record(reader)))
    }

    /// The last weak writer, if a strong access races with it.
    fn weak_writer(&self, weak: Option<Cells<'_>>) -> Option<u64> {
        let weak = weak.filter(|_| self.now.strong())?;
        Some(weak.writer.load(SeqCst)).filter(|then| !self.is_ordered(*then))
    }
}

impl Order for Check<'_> {
    fn is_past(&self, then: u64) -> bool {
        let then = Record(then);
        if then.block() != self.now.block() {
            return false;
        }
        let clock = then.clock() + self.clocks.start - 1;
        then.clock() == CLOCK_MAX
            || self.clocks.happens_before(then.thread(), clock, self.now.thread())
    }

    fn is_ordered(&self, then: u64) -> bool {
        let record = Record(then);
        !record.is_some() || record.strong_with(self.now) || self.is_past(then)
    }

    fn is_ours(&self, then: u64) -> bool {
        Record(then).block() == self.now.block()
    }

    fn is_near(&self, then: u64) -> bool {
        self.is_ours(then) && Record(then).thread() / 32 == self.now.thread() / 32
    }
}

/// Sets the bits of pieces, of so many.
fn note(bits: &Bits, count: u64, pieces: std::ops::Range<u64>) {
    let make = || bytemuck::allocation::try_zeroed_slice_box(count.div_ceil(32) as usize).ok();
    let Some(bits) = bits.get_or_init(make) else { return };
    for piece in pieces {
        let (word, bit) = (&bits[(piece / 32) as usize], 1 << (piece % 32));
        if word.load(Relaxed) & bit == 0 {
            // In one order with the bits that `any` looks at: of a load and a store at a time one sees the other.
            word.fetch_or(bit, SeqCst);
        }
    }
}

/// Whether the bit of any of the pieces is set.
fn any(bits: &Bits, mut pieces: std::ops::Range<u64>) -> bool {
    let Some(Some(bits)) = bits.get() else { return false };
    pieces.any(|piece| bits[(piece / 32) as usize].load(SeqCst) >> (piece % 32) & 1 == 1)
}

#[derive(Clone, Debug)]
struct Written {
    base: u64,
    bytes: u64,
    bits: Vec<u32>,
}

/// The bytes of global memory that a launch wrote.
#[derive(Clone, Debug)]
pub struct Writes {
    piece: u64,
    allocations: Vec<Written>,
}

impl Writes {
    /// The parts of a range that the launch did not write.
    pub fn unwritten(&self, address: u64, bytes: u64) -> Vec<std::ops::Range<u64>> {
        let end = address.saturating_add(bytes);
        let mut at = address;
        let steps = std::iter::from_fn(|| {
            let start = at;
            at = self.next_boundary(at).min(end);
            (start < end).then_some(start..at)
        });
        join_adjacent(steps.filter(|range| !self.is_written(range.start)))
    }

    /// The next place behind `address` where written may become unwritten: of a piece, which allocations start at, or, where
    /// nothing was written, of an allocation.
    fn next_boundary(&self, address: u64) -> u64 {
        let below = self.below(address).is_some_and(|a| address - a.base < a.bytes);
        if below {
            return (address / self.piece * self.piece).saturating_add(self.piece);
        }
        let above = self.allocations.partition_point(|a| a.base <= address);
        self.allocations.get(above).map_or(u64::MAX, |a| a.base)
    }

    /// The last allocation that starts at `address` or below.
    fn below(&self, address: u64) -> Option<&Written> {
        let at = self.allocations.partition_point(|a| a.base <= address);
        at.checked_sub(1).map(|at| &self.allocations[at])
    }

    fn is_written(&self, address: u64) -> bool {
        let Some(allocation) = self.below(address) else { return false };
        let offset = address - allocation.base;
        let piece = offset / self.piece;
        offset < allocation.bytes && allocation.bits[(piece / 32) as usize] >> (piece % 32) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn a_reader_of_another_block_is_not_forgotten() {
        let memory = Memory::new(1 << 20);
        let address = memory.alloc(64).unwrap();
        let table = memory.snapshot();
        let check = GlobalCheck::new(&table, 4, true, true, false, [false; 2]);
        let mut clocks = Clocks::new(2);
        clocks.begin_block();
        let access = |clocks: &Clocks, motion, block, thread| {
            let (strength, constant, bytes, pc) = (None, false, 4, thread);
            let access =
                GlobalAccess { motion, strength, constant, address, bytes, block, thread, pc };
            check.access(&table, &mut 0, clocks, &access)
        };
        assert_eq!(access(&clocks, Motion::Load, 1, 0), None);
        // Two readers of block 2, and then a barrier.
        assert_eq!(access(&clocks, Motion::Load, 2, 0), None);
        assert_eq!(access(&clocks, Motion::Load, 2, 32), None);
        (0..2).for_each(|warp| clocks.arrive(warp, u32::MAX, 0));
        (0..2).for_each(|warp| clocks.pass(warp, u32::MAX, 0));
        let Some(GlobalRace::ReadWrite(then)) = access(&clocks, Motion::Store, 2, 32) else {
            panic!("block 1 read what block 2 writes");
        };
        assert_eq!((then.block(), then.thread(), then.pc()), (1, 0, Some(0)));
        assert!(matches!(access(&clocks, Motion::Store, 3, 0), Some(GlobalRace::WriteWrite(_))));
    }

    #[test]
    fn what_is_in_no_allocation_takes_no_time() {
        let written = |base| Written { base, bytes: 64, bits: vec![0b10] };
        let writes = Writes { piece: 4, allocations: vec![written(1 << 20), written(1 << 40)] };
        let (a, b) = (1 << 20, 1 << 40);
        let unwritten = [0..a + 4, a + 8..b + 4, b + 8..u64::MAX];
        assert_eq!(writes.unwritten(0, u64::MAX), unwritten);
        let left: Vec<_> =
            writes.unwritten(a + 6, 4).iter().map(|part| (part.start, part.end)).collect();
        assert_eq!(left, [(a + 8, a + 10)]);
    }

    #[test]
    fn records_keep_what_fits() {
        let record = Record::new(0x7f_fffe, 1023, CLOCK_MAX - 1, 2046, Some(Scope::Device));
        assert_eq!((record.block(), record.thread()), (0x7f_fffe, 1023));
        assert_eq!(record.clock(), CLOCK_MAX - 1);
        assert_eq!((record.pc(), record.strong()), (Some(2046), true));
        let cut = Record::new(1 << 23 | 5, 0, CLOCK_MAX + 7, 5000, None);
        assert_eq!((cut.block(), cut.clock(), cut.pc()), (5, CLOCK_MAX, None));
        assert!(cut.is_some() && !cut.strong());
    }
}
