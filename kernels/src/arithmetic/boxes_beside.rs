//! Sums, along axes that are short and in any order, with what lies as the destination does: through the boxes of [`tensor`](crate::tensor).
//!
//! A box waits in shared memory as it lies in the source, and nothing is computed of it there. What is added to it waits beside it, as it lies in the destination:
//!
//! ```text
//! source          ──vectors──▶  image  ──gathered──▶  α·a + β·b  ──▶  destination
//! second operand  ──vectors──────────▶  waits  ───────────▲
//! ```
//!
//! Both are asked for together, so a block waits once for each box. The second operand may be the destination, which other blocks store to: nothing is loaded of it but what belongs to the box.
//! Inside a stretch those are whole vectors, at its ends words of 4 bytes and more, or what is less.
//!
//! Elements keep their size, and are words. There are boxes for what sums are of, `f16`, `bf16`, `f32`, `f64` and complex numbers of the last two: formats are looked at once for a box.

use super::arithmetic_entry;
use super::boxes::limit_registers;
use super::memory::{load_part, load_shared_part, store_part, store_shared_part};
use super::operation::NoChannels;
use super::pair::{Pair, Sizes};
use crate::element::{Element, B16};
use crate::global::{await_copies, can_copy, copy_eight, copy_four, copy_vector};
use crate::opaque::{not_unrolled, opaque};
use crate::tensor::axes::{divide, unrolled};
use crate::tensor::boxes::gather::walk::{walk, Visitor};
use crate::tensor::boxes::load::Load;
use crate::tensor::boxes::place::Place;
use crate::tensor::boxes::source::{AsItLies, Source};
use crate::tensor::boxes::tables::Tables;
use crate::tensor::boxes::turns::{move_in_turn, Stored};
use core::marker::PhantomData;
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeBoxesBeside, Format, Operation};
use kernel_abi::fast::{SECTOR, VECTOR};
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// What is added to a box: stretches that lie as the destination's do, or one if those follow each other.
#[derive(Clone, Copy)]
struct Added<'a> {
    params: &'a ComputeBoxesBeside,
    /// Where it waits in shared memory.
    waits: u32,
    /// The address of what is added to the box's first word.
    from: u64,
    /// Bytes from the destination to what is added.
    beside: u64,
    /// How many stretches there are, and bytes of each.
    stretches: u32,
    bytes: u32,
    tables: Tables,
}

impl Added<'_> {
    /// Where a stretch waits, and where it starts.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables; there is such a stretch.
    #[inline(always)]
    unsafe fn stretch(self, number: u32) -> (u32, u64) {
        // SAFETY: the caller's obligations.
        let offset = unsafe { u64::load_shared(self.tables.targets + number * Tables::WIDE) };
        let pitch = (self.params.vectors * self.params.vector) as u32;
        (self.waits + number * pitch, self.from.wrapping_add(offset))
    }

    /// Begins to copy all of it, by vectors of `BYTES` bytes, counted from multiples of `ALIGN` bytes on.
    ///
    /// # Safety
    /// The second operand has what the destination has; barriers separate this from what filled the tables, and from what read what waited there.
    #[inline(always)]
    unsafe fn ask<E: Element, const BYTES: u32, const ALIGN: u32>(self) {
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

/// Adds what waits, to elements of the sizes of `P`, of this format, or of parts of this format.
struct Adding<'a, P, const FORMAT: u64, const COMPLEX: bool> {
    added: Added<'a>,
    sizes: PhantomData<P>,
}

impl<P, const FORMAT: u64, const COMPLEX: bool> Clone for Adding<'_, P, FORMAT, COMPLEX> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, const FORMAT: u64, const COMPLEX: bool> Copy for Adding<'_, P, FORMAT, COMPLEX> {}

impl<P: Pair, const FORMAT: u64, const COMPLEX: bool> Visitor for Adding<'_, P, FORMAT, COMPLEX> {
    #[inline(always)]
    fn beside(self, target: u32, to: u64) -> u32 {
        let Added { params, waits, from, beside, .. } = self.added;
        let start = to.wrapping_add(beside) as u32;
        // What is added waits as far behind a multiple of `align` bytes as it lies behind one in memory.
        let behind = params.align as u32 - 1;
        match params.are_one {
            0 => waits + target * (params.vectors * params.vector) as u32 + (start & behind),
            _ => waits + (from as u32 & behind) + (start - from as u32),
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: u64, bytes: usize, beside: u32, unit: B16) {
        let operation = &self.added.params.operation;
        // What is known takes no instructions to be looked at.
        let flags = match COMPLEX {
            true => operation.flags | flags::COMPLEX | flags::OTHER,
            false => flags::OTHER,
        };
        let operation = Operation { src: FORMAT, dst: FORMAT, flags, ..*operation };
        // SAFETY: the caller's obligations; a barrier separates this from the copies.
        unsafe {
            let others = [load_shared_part(beside, bytes)];
            let [result] = match bytes == P::DST {
                true => P::compute::<false, 1>(&operation, [unit], others, &[NoChannels]),
                false => P::compute::<true, 1>(&operation, [unit], others, &[NoChannels]),
            };
            store_part(to, bytes, result)
        }
    }
}

/// A source of boxes, and what is added to them.
#[derive(Clone, Copy)]
struct Beside<'a, E> {
    src: AsItLies<E>,
    sums: Sums<'a, E>,
}

impl<E: Element> Source for Beside<'_, E> {
    #[inline(always)]
    fn start(self) -> u64 {
        self.src.start()
    }

    #[inline(always)]
    fn word_bytes(self) -> u64 {
        self.src.word_bytes()
    }

    #[inline(always)]
    fn vector_bytes(self) -> u32 {
        self.src.vector_bytes()
    }

    #[inline(always)]
    fn in_image(self, bytes: u32) -> u32 {
        self.src.in_image(bytes)
    }
}

impl<E: Element> Load for Beside<'_, E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        self.src.are_copies()
    }

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe {
            if !self.are_copies() {
                // What is loaded through registers is awaited.
                self.sums.ask(tables, place);
            }
            self.src.begin(params, tables, place)
        }
    }

    #[inline(always)]
    unsafe fn finish(self, _: &Boxes, tables: impl Fn() -> Tables, turn: u32) {
        // SAFETY: the caller's obligations. The tables of the destination have been filled since the first box is on its way, and its stretches were told.
        unsafe {
            if self.are_copies() {
                if turn == 0 {
                    thread::sync_threads();
                }
                let tables = tables();
                self.sums.ask(tables, &tables.place(turn));
            }
        }
        if can_copy() {
            await_copies();
        }
    }
}

/// A destination of boxes to which something is added.
#[derive(Clone, Copy)]
struct Sums<'a, E> {
    src: *const E,
    dst: *mut E,
    params: &'a ComputeBoxesBeside,
    base: u32,
}

impl<'a, E: Element> Sums<'a, E> {
    /// Where a box starts in the destination.
    #[inline(always)]
    fn of_box(self, place: &Place) -> *mut E {
        self.dst.wrapping_add(place.to as usize)
    }

    /// What is added to a box.
    #[inline(always)]
    fn added(self, tables: Tables, place: &Place) -> Added<'a> {
        let params = self.params;
        let waits = opaque(self.base) + params.waiting as u32;
        let beside = params.operation.other.wrapping_sub(self.dst as u64);
        let from = (self.of_box(place) as u64).wrapping_add(beside);
        let bytes = place.target_words * size_of::<E>() as u32;
        let (stretches, bytes) = match params.are_one {
            0 => (place.targets, bytes),
            _ => (1, place.targets * bytes),
        };
        Added { params, waits, from, beside, stretches, bytes, tables }
    }

    /// Begins to copy what is added to a box.
    ///
    /// # Safety
    /// Barriers separate this from what filled the tables, and from what stored the box before.
    #[inline(always)]
    unsafe fn ask(self, tables: Tables, place: &Place) {
        let added = self.added(tables, place);
        // SAFETY: the caller's obligations.
        unsafe {
            match self.params.vector as u32 {
                VECTOR => added.ask::<E, VECTOR, SECTOR>(),
                _ if size_of::<E>() > 4 => added.ask::<E, 8, 8>(),
                _ => added.ask::<E, 4, 4>(),
            }
        }
    }

    /// Stores a box.
    ///
    /// # Safety
    /// Those of [`Stored::store`].
    #[inline(always)]
    unsafe fn store_as<P: Pair, const FORMAT: u64, const COMPLEX: bool>(
        self,
        tables: Tables,
        place: &Place,
    ) {
        let added = self.added(tables, place);
        let adding = Adding::<P, FORMAT, COMPLEX> { added, sizes: PhantomData };
        let skew = AsItLies(self.src).skew(place);
        // SAFETY: the caller's obligations.
        unsafe { walk(self.of_box(place), skew, &self.params.boxes, tables, place, adding) }
    }
}

impl<E: Element> Stored for Sums<'_, E> {
    #[inline(always)]
    unsafe fn fill_targets(self, tables: Tables) {
        // SAFETY: the caller's obligations.
        unsafe { tables.fill_targets::<E>(&self.params.boxes, opaque(self.base)) }
    }

    #[inline(always)]
    unsafe fn fetch(self, _: Tables, _: &Place) {}

    #[inline(always)]
    unsafe fn store(self, tables: Tables, place: &Place) {
        const BF16: u64 = Format::BF16 as u64;
        const F16: u64 = Format::F16 as u64;
        const F32: u64 = Format::F32 as u64;
        const F64: u64 = Format::F64 as u64;
        let operation = &self.params.operation;
        // SAFETY: the caller's obligations.
        unsafe {
            match size_of::<E>() {
                2 if operation.dst == BF16 => {
                    self.store_as::<Sizes<2, 2>, BF16, false>(tables, place)
                }
                2 => self.store_as::<Sizes<2, 2>, F16, false>(tables, place),
                4 => self.store_as::<Sizes<4, 4>, F32, false>(tables, place),
                8 if operation.flags & flags::COMPLEX == 0 => {
                    self.store_as::<Sizes<8, 8>, F64, false>(tables, place)
                }
                8 => self.store_as::<Sizes<8, 8>, F32, true>(tables, place),
                _ => self.store_as::<Sizes<16, 16>, F64, true>(tables, place),
            }
        }
    }
}

/// Defines an entry point.
macro_rules! compute_boxes_beside {
    ($name:ident: $element:ty) => {
        arithmetic_entry! {
            "Adds boxes, held as they lie in the source and gathered word by word, to what lies as the destination does.",
            COMPUTE_BOXES_BESIDE: ComputeBoxesBeside, $name: $element, |src, dst, params| {
                limit_registers();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                let sums = Sums { src, dst: dst as *mut $element, params: &params, base };
                let source = Beside { src: AsItLies(src), sums };
                move_in_turn::<$element>(source, &params.boxes, base, sums)
            }
        }
    };
}

compute_boxes_beside!(compute_boxes_beside_b2: u16);
compute_boxes_beside!(compute_boxes_beside_b4: u32);
compute_boxes_beside!(compute_boxes_beside_b8: u64);
compute_boxes_beside!(compute_boxes_beside_b16: B16);
