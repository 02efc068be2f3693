//! What is added to a box, and where it waits in shared memory until the box is stored.
//!
//! All of it is asked for when the box is. The second operand may be the destination, which other blocks store to: nothing is loaded of it but what belongs to the box.
//! Inside a stretch those are whole vectors, at its ends words of 4 bytes and more, or what is less.
//!
//! Where stretches start in the second operand is what the destination says of its own, or a table if it has other gaps between them, or has them in another order. Then words of less than 4 bytes
//! may start behind other multiples of 4 bytes than they do in the destination, and what belongs to a unit is loaded word by word.

use super::memory::{load_part, store_shared_part};
use crate::element::{Element, B16};
use crate::global::{can_copy, copy_eight, copy_four, copy_vector};
use crate::opaque::{not_unrolled, opaque};
use crate::shared::load_u16;
use crate::tensor::axes::{divide, steps, unrolled};
use crate::tensor::boxes::place::{sum_by, Place};
use crate::tensor::boxes::tables::Tables;
use cuda_std::thread;
use kernel_abi::arithmetic::ComputeBoxesBeside;
use kernel_abi::fast::{SECTOR, VECTOR};
use kernel_abi::tensor::{BOX_THREADS, MOST_BLOCK_AXES, MOST_TURNS};

/// What is added to a box: stretches of as many words as the destination's have, or one if those follow each other.
#[derive(Clone, Copy)]
pub(super) struct Added<'a> {
    params: &'a ComputeBoxesBeside,
    /// Where it waits in shared memory.
    waits: u32,
    /// The address of what is added to the box's first word.
    from: u64,
    /// The table of bytes from there to each stretch.
    offsets: u32,
    /// How many stretches there are, and bytes of each.
    stretches: u32,
    bytes: u32,
}

impl<'a> Added<'a> {
    /// What is added to a box, which starts at `to`, where the tables are in shared memory from `base` on.
    ///
    /// # Safety
    /// Barriers separate this from what filled the tables.
    #[inline(always)]
    pub unsafe fn of<E>(
        params: &'a ComputeBoxesBeside,
        [dst, to]: [*mut E; 2],
        base: u32,
        tables: Tables,
        place: &Place,
    ) -> Self {
        let waits = opaque(base) + params.waiting as u32;
        let other = params.operation.other;
        let (offsets, from) = match params.others as u32 {
            0 => (tables.targets, (to as u64).wrapping_add(other.wrapping_sub(dst as u64))),
            others => {
                let boxes = opaque(base) + others;
                // SAFETY: the caller's obligations.
                let of_box = unsafe { u64::load_shared(boxes + place.turn * Tables::WIDE) };
                (boxes + MOST_TURNS * Tables::WIDE, other.wrapping_add(of_box))
            }
        };
        let bytes = place.target_words * size_of::<E>() as u32;
        let (stretches, bytes) = match params.are_one {
            0 => (place.targets, bytes),
            _ => (1, place.targets * bytes),
        };
        Added { params, waits, from, offsets, stretches, bytes }
    }

    /// Begins to copy all of it.
    ///
    /// # Safety
    /// The second operand has all elements that the destination has; barriers separate this from what filled the tables, and from what read what waited there.
    #[inline(always)]
    pub unsafe fn ask<E: Element>(self) {
        // SAFETY: the caller's obligations.
        unsafe {
            match self.params.vector as u32 {
                VECTOR => self.ask_by::<E, VECTOR, SECTOR>(),
                _ if size_of::<E>() > 4 => self.ask_by::<E, 8, 8>(),
                _ => self.ask_by::<E, 4, 4>(),
            }
        }
    }

    /// Where it waits, of a box that starts at `to`; if it is known to lie `ALIKE`, as the destination does, no table is looked up.
    #[inline(always)]
    pub fn waiting<E, const ALIKE: bool>(self, to: *mut E) -> Waiting<'a, ALIKE> {
        let Added { params, waits, from, offsets, .. } = self;
        let (from, to) = (from as u32, to as u64 as u32);
        let waits = match params.are_one {
            0 => waits,
            _ => (waits + behind(params, from)).wrapping_sub(to),
        };
        let from = if ALIKE { from.wrapping_sub(to) } else { from };
        Waiting { params, waits, from, offsets }
    }

    /// Where a stretch waits, and where it starts.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is such a stretch.
    #[inline(always)]
    unsafe fn stretch(self, number: u32) -> (u32, u64) {
        // SAFETY: the caller's obligations.
        let offset = unsafe { u64::load_shared(self.offsets + number * Tables::WIDE) };
        let pitch = (self.params.vectors * self.params.vector) as u32;
        (self.waits + number * pitch, self.from.wrapping_add(offset))
    }

    /// Begins to copy all of it, by vectors of `BYTES` bytes, counted from multiples of `ALIGN` bytes on.
    ///
    /// # Safety
    /// Those of [`ask`](Self::ask).
    #[inline(always)]
    unsafe fn ask_by<E: Element, const BYTES: u32, const ALIGN: u32>(self) {
        let (width, lanes) = ((self.params.vectors as u32) * BYTES, self.params.lanes as u32);
        let (first, lane) = divide(opaque(thread::thread_idx_x()), self.params.lanes);
        let every = self.params.at_once as u32;
        // SAFETY: the caller's obligations.
        let singles = unsafe { Singles::load::<E>(self) };
        let mut at = lane * BYTES;
        // Threads behind the last stretch of a turn have none.
        while at < width && first < every {
            not_unrolled();
            let mut number = first;
            while number < self.stretches {
                not_unrolled();
                // SAFETY: the caller's obligations; what is copied is the stretch's, and goes where nothing else goes.
                unsafe {
                    let (waits, start) = self.stretch(number);
                    let past = start as u32 & (ALIGN - 1);
                    if at >= past && at + BYTES <= past + self.bytes {
                        copy::<BYTES>(waits + at, start - past as u64 + at as u64);
                    }
                }
                number += every;
            }
            at += lanes * BYTES;
        }
        // SAFETY: the caller's obligations.
        unsafe {
            if group::<E>() < BYTES {
                self.ask_for_ends::<E, BYTES, ALIGN>();
            }
            singles.store::<E>();
        }
    }

    /// Begins to copy what is less than a vector at the ends of stretches, by groups.
    ///
    /// # Safety
    /// Those of [`ask`](Self::ask).
    #[inline(always)]
    unsafe fn ask_for_ends<E: Element, const BYTES: u32, const ALIGN: u32>(self) {
        // Lanes for either end.
        let lanes = BYTES / group::<E>();
        let lane = opaque(thread::thread_idx_x()) & (2 * lanes - 1);
        let is_last = lane >= lanes;
        let mut number = opaque(thread::thread_idx_x()) / (2 * lanes);
        while number < self.stretches {
            not_unrolled();
            // SAFETY: the caller's obligations; what is copied is the stretch's, and of no whole vector of it.
            unsafe {
                let (waits, start) = self.stretch(number);
                let past = start as u32 & (ALIGN - 1);
                let end = past + self.bytes;
                let of_first = past & !(BYTES - 1);
                // The vector that the end lies in: if both lie in one, it is the first.
                let vector = if is_last { end & !(BYTES - 1) } else { of_first };
                let is_whole = vector >= past && vector + BYTES <= end;
                let at = vector + (lane & (lanes - 1)) * group::<E>();
                let is_inside = at >= past && at + group::<E>() <= end;
                if !is_whole && is_inside && !(is_last && vector == of_first) {
                    let from = start - past as u64 + at as u64;
                    match size_of::<E>() {
                        8 => copy::<8>(waits + at, from),
                        _ => copy::<4>(waits + at, from),
                    }
                }
            }
            number += BOX_THREADS / (2 * lanes);
        }
    }
}

/// The bytes of the smallest copy of words.
const fn group<E>() -> u32 {
    if size_of::<E>() < 4 {
        4
    } else {
        size_of::<E>() as u32
    }
}

/// Stretches whose single words a thread has on their way at a time.
const SINGLES: usize = 4;

/// Words of less than 4 bytes that stretches start or end with, alone in a group: no copy past registers is so small. They are on their way while others are asked for.
#[derive(Clone, Copy)]
struct Singles {
    words: [B16; SINGLES],
    /// Where they wait; 0 if there is none.
    waits: [u32; SINGLES],
}

impl Singles {
    const NONE: Self = Singles { words: [B16::ANY; SINGLES], waits: [0; SINGLES] };

    /// Loads this thread's: those that stretches start with by even threads, and those that they end with by odd ones.
    ///
    /// # Safety
    /// Those of [`Added::ask`].
    #[inline(always)]
    unsafe fn load<E: Element>(added: Added) -> Self {
        let mut singles = Self::NONE;
        if size_of::<E>() as u32 == group::<E>() {
            return singles;
        }
        let mut number = opaque(thread::thread_idx_x()) / 2;
        loop {
            unrolled! { K in [0 1 2 3] of SINGLES => {
                singles.waits[K] = 0;
                if number < added.stretches {
                    // SAFETY: the caller's obligations.
                    unsafe { singles.load_of::<E>(K, added, number) }
                }
                number += BOX_THREADS / 2;
            } }
            if number >= added.stretches {
                return singles;
            }
            // SAFETY: the caller's obligations.
            unsafe { singles.store::<E>() }
        }
    }

    /// Loads that of a stretch, if it has one.
    ///
    /// # Safety
    /// Those of [`Added::ask`]; there is such a stretch.
    #[inline(always)]
    unsafe fn load_of<E: Element>(&mut self, k: usize, added: Added, number: u32) {
        let size = size_of::<E>() as u32;
        // SAFETY: the caller's obligations; a word of the stretch.
        unsafe {
            let (waits, start) = added.stretch(number);
            let past = start as u32 & (added.params.align as u32 - 1);
            let end = past + added.bytes;
            let is_last = opaque(thread::thread_idx_x()) & 1 != 0;
            let (edge, word) = if is_last { (end, end - size) } else { (past, past) };
            // A word that is the last one too ends a group if it starts inside one.
            if !edge.is_multiple_of(group::<E>()) {
                self.words[k] = load_part(start - past as u64 + word as u64, size as usize);
                self.waits[k] = waits + word;
            }
        }
    }

    /// Stores them to where they wait.
    ///
    /// # Safety
    /// Those of [`Added::ask`].
    #[inline(always)]
    unsafe fn store<E: Element>(self) {
        unrolled! { K in [0 1 2 3] of SINGLES => {
            if self.waits[K] != 0 {
                // SAFETY: the caller's obligations; nothing else goes there.
                unsafe { E::of_vector(self.words[K]).store_shared(self.waits[K]) }
            }
        } }
    }
}

/// Begins to copy 4, 8 or 16 bytes to shared memory, or does so at once on chips that have no such copies.
///
/// # Safety
/// Both addresses are multiples of the bytes; the second operand has them, and nothing else accesses those of shared memory until they are awaited.
#[inline(always)]
unsafe fn copy<const BYTES: u32>(to: u32, from: u64) {
    // SAFETY: the caller's obligations.
    unsafe {
        match BYTES {
            _ if !can_copy() => {
                store_shared_part(to, BYTES as usize, load_part(from, BYTES as usize))
            }
            4 => copy_four(to, from),
            8 => copy_eight(to, from),
            _ => copy_vector(to, from),
        }
    }
}

/// Where in shared memory what is added to a box waits: in as few registers as can be.
#[derive(Clone, Copy)]
pub(super) struct Waiting<'a, const ALIKE: bool> {
    pub params: &'a ComputeBoxesBeside,
    /// Where the first stretch does; if there is one, less the address of the box's first word, of which the last bits are.
    waits: u32,
    /// The last bits of the address of what is added to that word; if it lies alike, less those of the word's own.
    from: u32,
    /// The table of bytes from there to each stretch.
    offsets: u32,
}

impl<const ALIKE: bool> Waiting<'_, ALIKE> {
    /// Where that waits which is beside the first word of a stretch, which goes to an address of the destination.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is such a stretch.
    #[inline(always)]
    pub unsafe fn beside(self, target: u32, to: u64) -> u32 {
        let Waiting { params, waits, from, offsets } = self;
        if params.are_one != 0 {
            return waits.wrapping_add(to as u32);
        }
        let offset = match ALIKE {
            true => to as u32,
            // SAFETY: the caller's obligations; the first half of an entry, of which the last bits are asked for.
            false => unsafe { u32::load_shared(offsets + target * Tables::WIDE) },
        };
        let behind = behind(params, from.wrapping_add(offset));
        waits + target * (params.vectors * params.vector) as u32 + behind
    }
}

/// How far behind a multiple of `align` bytes what is added waits of an address: as far as it lies behind one in memory.
#[inline(always)]
fn behind(params: &ComputeBoxesBeside, address: u32) -> u32 {
    address & (params.align as u32 - 1)
}

/// Loads a unit of words of 2 bytes, which starts on any of them.
///
/// # Safety
/// A barrier separates this from what stored them.
#[inline(always)]
pub(super) unsafe fn load_words(from: u32, bytes: usize) -> B16 {
    // SAFETY: the caller's obligations.
    let two = |at: u32| unsafe { load_u16(from + at) | load_u16(from + at + 2) << 16 };
    // SAFETY: the caller's obligations.
    unsafe {
        match bytes {
            2 => B16(load_u16(from), 0, 0, 0),
            4 => B16(two(0), 0, 0, 0),
            _ => B16(two(0), two(4), 0, 0),
        }
    }
}

/// Fills the tables of where the block's boxes, and their stretches, start in the second operand.
///
/// # Safety
/// There is shared memory for them, which nothing else uses; a barrier follows.
#[inline(always)]
pub(super) unsafe fn fill_others<E>(params: &ComputeBoxesBeside, base: u32) {
    let ComputeBoxesBeside { boxes, other_blocks, other_targets, others, .. } = params;
    let table = opaque(base) + *others as u32;
    let turn = opaque(thread::thread_idx_x());
    let number = thread::block_idx_x() + turn * thread::grid_dim_x();
    if turn < MOST_TURNS && number < boxes.boxes as u32 {
        let (mut offset, mut rest) = (0u64, number);
        unrolled! { AXIS in [0 1 2 3 4 5 6 7 8 9] of boxes.count => {
            const { assert!(MOST_BLOCK_AXES == 10) };
            let (quotient, index) = divide(rest, boxes.blocks[AXIS].divisor);
            offset = offset.wrapping_add(steps(index, other_blocks[AXIS].elements));
            rest = quotient;
        } }
        let _ = rest;
        let bytes = offset.wrapping_mul(size_of::<E>() as u64);
        // SAFETY: an entry that no other thread has.
        unsafe { bytes.store_shared(table + turn * Tables::WIDE) }
    }
    let mut number = turn;
    while number < boxes.cols as u32 {
        not_unrolled();
        let offset = sum_by(&boxes.targets, number, |place| other_targets[place].elements);
        let bytes = offset.wrapping_mul(size_of::<E>() as u64);
        // SAFETY: an entry that no other thread has.
        unsafe { bytes.store_shared(table + (MOST_TURNS + number) * Tables::WIDE) }
        number += BOX_THREADS;
    }
}
