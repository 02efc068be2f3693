//! Loads whose values are settled later than they are executed.
//!
//! A GPU issues a load and goes on until something needs the value. Here a load that orders nothing may wait too, so that what its thread does meanwhile is
//! seen by others before it reads: load buffering. It is settled before anything reads or writes its registers, before the thread
//! accesses the same bytes, before a fence that takes notice of what it was told, before the thread ends, and by chance at any time. So
//! no value is ever made from itself. What it reads is nothing that came after it: of those who were told of it nobody wrote that.

use crate::access::spread;
use crate::cta::{At, Cta};
use crate::findings::Space;
use crate::isa::{Access, Atomic, Op};
use crate::place::Place;
use crate::program::{Footprint, Program};
use crate::registers::{Doubles, LANES, Registers, lanes};
use crate::weak::Pending;

impl Cta<'_> {
    /// Lets a load wait, perhaps; says whether it does.
    pub(crate) fn weak_defer(
        &mut self,
        access: &Access,
        space: Space,
        at: At,
        addresses: &Doubles,
    ) -> bool {
        let Some(weak) = &mut self.weak else { return false };
        if access.strong && access.ordering || weak.common().borrow_mut().random.below(2) > 0 {
            return false;
        }
        let knowledge = |lane: usize| {
            let (known, epoch) = weak.threads.knowledge(at.warp * LANES as u32 + lane as u32);
            (epoch, known)
        };
        let issued = lanes(at.mask).map(knowledge).collect();
        let (pc, mask) = (at.pc, at.mask);
        let pending = Pending { access: *access, space, pc, mask, addresses: *addresses, issued };
        weak.pending[at.warp as usize].push(pending);
        true
    }

    /// Settles the loads of a warp that instruction `here` needs, and others by chance. False if the warp is to wait
    /// for them a little longer: others go on meanwhile.
    pub(crate) fn weak_settle(&mut self, registers: &mut Registers, here: At) -> bool {
        let warp = here.warp as usize;
        let Some(weak) = self.weak.as_mut().filter(|weak| !weak.pending[warp].is_empty()) else {
            return true;
        };
        let program = self.launch.program;
        let needs = Needs::of(program, registers, here);
        let is_needed = |pending: &Pending| needs.are_settled_by(program, pending);
        let (waits, chosen) = {
            let common = weak.common();
            let random = &mut common.borrow_mut().random;
            (random.below(4) > 0, random.below(1024))
        };
        let needed = weak.pending[warp].iter().any(is_needed);
        if needed && waits {
            return false;
        }
        let waiting = std::mem::take(&mut weak.pending[warp]);
        let (settled, left): (Vec<_>, Vec<_>) = waiting
            .into_iter()
            .enumerate()
            .partition(|(at, load)| *at == chosen || is_needed(load));
        weak.pending[warp] = left.into_iter().map(|(_, load)| load).collect();
        for (_, load) in settled {
            self.weak_settle_one(registers, here.warp, &load);
        }
        true
    }

    fn weak_settle_one(&mut self, registers: &mut Registers, warp: u32, pending: &Pending) {
        let mut buffer = [[0; LANES]; 4];
        let Pending { access, space, pc, mask, addresses, issued } = pending;
        let at = At { pc: *pc, warp, mask: *mask };
        self.weak_load(access, *space, at, addresses, Some(issued), &mut buffer);
        spread(registers, access, *mask, &buffer);
    }
}

/// What an instruction needs to be settled.
struct Needs<'p> {
    /// Everything: it ends.
    all: bool,
    /// All strong loads: it takes notice of what they were told.
    strong: bool,
    mask: u32,
    footprint: &'p Footprint,
    /// The memory that it accesses, and how many bytes.
    place: Option<(Place, u8)>,
}

impl<'p> Needs<'p> {
    fn of(program: &'p Program, registers: &Registers, here: At) -> Needs<'p> {
        let op = &program.code[here.pc as usize].op;
        let of = |access: &Access| {
            let place = Place::of(registers, access.window, access.base, access.offset);
            Some((place, access.bytes))
        };
        let place = match *op {
            Op::Load(at) | Op::Store(at) => of(&program.accesses[at as usize]),
            Op::Atomic(at) => {
                let Atomic { window, base, offset, bytes, .. } = program.atomics[at as usize];
                Some((Place::of(registers, window, base, offset), bytes))
            }
            _ => None,
        };
        let all = matches!(op, Op::Exit | Op::Trap);
        let strong = matches!(op, Op::Fence(fence) if fence.acquire);
        let footprint = &program.footprint[here.pc as usize];
        Needs { all, strong, mask: here.mask, footprint, place }
    }

    fn are_settled_by(&self, program: &Program, load: &Pending) -> bool {
        let defs = &program.footprint[load.pc as usize].defs;
        let Footprint { uses, defs: written } = self.footprint;
        let touches = || defs.iter().any(|key| uses.contains(key) || written.contains(key));
        let strong = self.strong && load.access.strong;
        self.all || (load.mask & self.mask != 0 && (strong || touches() || self.overlaps(load)))
    }

    /// Whether a lane accesses bytes that the load is of.
    fn overlaps(&self, load: &Pending) -> bool {
        let Some((place, bytes)) = &self.place else { return false };
        lanes(load.mask & self.mask).any(|lane| {
            let (space, address) = place.at(lane);
            let end = load.addresses[lane] + u64::from(load.access.bytes);
            space == load.space
                && address < end
                && load.addresses[lane] < address.saturating_add(u64::from(*bytes))
        })
    }
}
