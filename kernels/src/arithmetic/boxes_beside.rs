//! Sums, along axes that are short and in any order, with what lies together where the destination's elements do: through the boxes of [`tensor`](crate::tensor).
//!
//! A box waits in shared memory as it lies in the source, and nothing is computed of it there. What is [added](super::added) to it waits beside it, in stretches as the destination has them:
//!
//! ```text
//! source          ──vectors──▶  image  ──gathered──▶  α·a + β·b  ──▶  destination
//! second operand  ──vectors──────────▶  waits  ───────────▲
//! ```
//!
//! Both are asked for together, so a block waits once for each box.
//!
//! There are boxes for what sums are of: `f16`, `bf16`, `f32`, `f64` and complex numbers of the last two, which keep their type; and for sums of two types, `u8`, `f16` and `bf16` added to `f32`, and `u8` and
//! `f32` added to `f16` and `bf16`. The image has elements of the source, which are converted as they are gathered. Formats are looked at once for a box.

use super::added::{fill_others, load_words, Added, Waiting};
use super::arithmetic_entry;
use super::boxes::limit_registers;
use super::memory::{load_shared_part, store_part};
use super::operation::NoChannels;
use super::pair::{Pair, Sizes};
use crate::element::{Element, B16};
use crate::global::{await_copies, can_copy};
use crate::opaque::opaque;
use crate::tensor::boxes::gather::walk::{walk, Visitor};
use crate::tensor::boxes::load::Load;
use crate::tensor::boxes::place::Place;
use crate::tensor::boxes::source::{AsItLies, Source};
use crate::tensor::boxes::tables::Tables;
use crate::tensor::boxes::turns::{move_in_turn, Stored};
use core::marker::PhantomData;
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeBoxesBeside, Format, Operation};
use kernel_abi::tensor::Boxes;

/// The numbers of [`Format`]s that boxes have.
const U8: u64 = Format::U8 as u64;
const BF16: u64 = Format::BF16 as u64;
const F16: u64 = Format::F16 as u64;
const F32: u64 = Format::F32 as u64;
const F64: u64 = Format::F64 as u64;

/// Adds what waits, to elements of the sizes of `P`, of the format `SRC` in the image and of `DST` in the destination, or of parts of these formats. Units of what waits start on multiples of their bytes if it lies `ALIKE`, as the destination does.
struct Adding<'a, P, const SRC: u64, const DST: u64, const COMPLEX: bool, const ALIKE: bool> {
    waiting: Waiting<'a, ALIKE>,
    sizes: PhantomData<P>,
}

impl<P, const SRC: u64, const DST: u64, const COMPLEX: bool, const ALIKE: bool> Clone
    for Adding<'_, P, SRC, DST, COMPLEX, ALIKE>
{
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, const SRC: u64, const DST: u64, const COMPLEX: bool, const ALIKE: bool> Copy
    for Adding<'_, P, SRC, DST, COMPLEX, ALIKE>
{
}

impl<P: Pair, const SRC: u64, const DST: u64, const COMPLEX: bool, const ALIKE: bool> Visitor
    for Adding<'_, P, SRC, DST, COMPLEX, ALIKE>
{
    #[inline(always)]
    unsafe fn beside(self, target: u32, to: u64) -> u32 {
        // SAFETY: the caller's obligations.
        unsafe { self.waiting.beside(target, to) }
    }

    #[inline(always)]
    unsafe fn store(self, to: u64, bytes: usize, beside: u32, unit: B16) {
        let operation = &self.waiting.params.operation;
        // What is known takes no instructions to be looked at.
        let flags = match COMPLEX {
            true => operation.flags | flags::COMPLEX | flags::OTHER,
            false => flags::OTHER,
        };
        let operation = Operation { src: SRC, dst: DST, flags, ..*operation };
        // SAFETY: the caller's obligations; a barrier separates this from the copies.
        unsafe {
            let others = match ALIKE || P::DST >= 4 {
                true => [load_shared_part(beside, bytes)],
                false => [load_words(beside, bytes)],
            };
            let [result] = match bytes == P::DST {
                true => P::compute::<false, 1>(&operation, [unit], others, &[NoChannels]),
                false => P::compute::<true, 1>(&operation, [unit], others, &[NoChannels]),
            };
            store_part(to, bytes, result)
        }
    }
}

/// A source of boxes, of elements like `I`, and a destination of elements like `E` to which something is added.
struct Sums<'a, I, E> {
    src: *const I,
    dst: *mut E,
    params: &'a ComputeBoxesBeside,
    base: u32,
}

impl<I, E> Clone for Sums<'_, I, E> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, E> Copy for Sums<'_, I, E> {}

impl<'a, I: Element, E: Element> Sums<'a, I, E> {
    /// Where a box starts in the destination.
    #[inline(always)]
    fn of_box(self, place: &Place) -> *mut E {
        self.dst.wrapping_add(place.to as usize)
    }

    /// What is added to a box.
    ///
    /// # Safety
    /// Barriers separate this from what filled the tables.
    #[inline(always)]
    unsafe fn added(self, tables: Tables, place: &Place) -> Added<'a> {
        // SAFETY: the caller's obligations.
        unsafe { Added::of(self.params, [self.dst, self.of_box(place)], self.base, tables, place) }
    }

    /// Begins to copy what is added to a box.
    ///
    /// # Safety
    /// Barriers separate this from what filled the tables, and from what stored the box before.
    #[inline(always)]
    unsafe fn ask(self, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe { self.added(tables, place).ask::<E>() }
    }

    /// Stores a box.
    ///
    /// # Safety
    /// Those of [`Stored::store`].
    #[inline(always)]
    unsafe fn store_as<P: Pair, const SRC: u64, const DST: u64, const COMPLEX: bool>(
        self,
        tables: Tables,
        place: &Place,
    ) {
        let (to, skew) = (self.of_box(place), AsItLies(self.src).skew(place));
        // SAFETY: the caller's obligations.
        unsafe {
            let added = self.added(tables, place);
            // Of wider words, and of those that are converted, the code would be longer than what it gains.
            if size_of::<E>() < 4 && P::SRC == P::DST && self.params.others == 0 {
                let (waiting, sizes) = (added.waiting(to), PhantomData);
                let adding = Adding::<P, SRC, DST, COMPLEX, true> { waiting, sizes };
                return walk::<E, I>(to, skew, &self.params.boxes, tables, place, adding);
            }
            let (waiting, sizes) = (added.waiting(to), PhantomData);
            let adding = Adding::<P, SRC, DST, COMPLEX, false> { waiting, sizes };
            walk::<E, I>(to, skew, &self.params.boxes, tables, place, adding)
        }
    }
}

impl<I: Element, E: Element> Source for Sums<'_, I, E> {
    #[inline(always)]
    fn start(self) -> u64 {
        AsItLies(self.src).start()
    }

    #[inline(always)]
    fn word_bytes(self) -> u64 {
        AsItLies(self.src).word_bytes()
    }

    #[inline(always)]
    fn vector_bytes(self) -> u32 {
        AsItLies(self.src).vector_bytes()
    }

    #[inline(always)]
    fn in_image(self, bytes: u32) -> u32 {
        AsItLies(self.src).in_image(bytes)
    }
}

impl<I: Element, E: Element> Load for Sums<'_, I, E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        AsItLies(self.src).are_copies()
    }

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe {
            if !self.are_copies() {
                // What is loaded through registers is awaited.
                self.ask(tables, place);
            }
            AsItLies(self.src).begin(params, tables, place)
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
                self.ask(tables, &tables.place(turn));
            }
        }
        if can_copy() {
            await_copies();
        }
    }
}

impl<I: Element, E: Element> Stored for Sums<'_, I, E> {
    #[inline(always)]
    unsafe fn fill_targets(self, tables: Tables) {
        // SAFETY: the caller's obligations.
        unsafe {
            tables.fill_targets::<E>(&self.params.boxes, opaque(self.base));
            if self.params.others != 0 {
                fill_others::<E>(self.params, self.base);
            }
        }
    }

    #[inline(always)]
    unsafe fn fetch(self, _: Tables, _: &Place) {}

    #[inline(always)]
    unsafe fn store(self, tables: Tables, place: &Place) {
        let Operation { src, dst, flags, .. } = self.params.operation;
        macro_rules! store {
            ($src:literal $dst:literal: $from:ident $to:ident $(, $complex:literal)?) => {
                self.store_as::<Sizes<$src, $dst>, $from, $to, { false $(|| $complex)? }>(tables, place)
            };
        }
        // SAFETY: the caller's obligations.
        unsafe {
            match (size_of::<I>(), size_of::<E>()) {
                (1, 2) if dst == BF16 => store!(1 2: U8 BF16),
                (1, 2) => store!(1 2: U8 F16),
                (1, 4) => store!(1 4: U8 F32),
                (2, 2) if dst == BF16 => store!(2 2: BF16 BF16),
                (2, 2) => store!(2 2: F16 F16),
                (2, 4) if src == BF16 => store!(2 4: BF16 F32),
                (2, 4) => store!(2 4: F16 F32),
                (4, 2) if dst == BF16 => store!(4 2: F32 BF16),
                (4, 2) => store!(4 2: F32 F16),
                (4, 4) => store!(4 4: F32 F32),
                (8, 8) if flags & flags::COMPLEX == 0 => store!(8 8: F64 F64),
                (8, 8) => store!(8 8: F32 F32, true),
                _ => store!(16 16: F64 F64, true),
            }
        }
    }
}

/// Moves boxes of elements like `I` to elements like `E`, and adds something.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn add_boxes<I: Element, E: Element>(
    src: *const I,
    dst: *mut u8,
    params: &ComputeBoxesBeside,
) {
    limit_registers();
    // SAFETY: the caller's obligations; the address is one of shared memory.
    unsafe {
        let base = crate::tile::shared_address(cuda_std::shared::dynamic_shared_mem::<u8>());
        let sums = Sums { src, dst: dst as *mut E, params, base };
        move_in_turn::<I>(sums, &params.boxes, base, sums)
    }
}

/// Defines the entry points for elements that keep their type, and those for elements that become some of the destination.
macro_rules! compute_boxes_beside {
    ($name:ident: $element:ty) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Adds boxes, held as they lie in the source and gathered word by word, to what lies together where the destination's elements do.",
            COMPUTE_BOXES_BESIDE: ComputeBoxesBeside, $name: $element, |src, dst, params| {
                add_boxes::<$element, $element>(src, dst, &params)
            }
        }
    };
    ($name:ident: $element:ty => $first:ty $(, $bytes:literal => $second:ty)?) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Adds boxes of numbers of another type, held as they lie in the source and gathered one by one, to what lies together where the destination's elements do.",
            COMPUTE_BOXES_MIXED: ComputeBoxesBeside, $name: $element, |src, dst, params| {
                $(if params.operation.dst_bytes == $bytes {
                    return add_boxes::<$element, $second>(src, dst, &params);
                })?
                add_boxes::<$element, $first>(src, dst, &params)
            }
        }
    };
}

compute_boxes_beside!(compute_boxes_beside_b2: u16);
compute_boxes_beside!(compute_boxes_beside_b4: u32);
compute_boxes_beside!(compute_boxes_beside_b8: u64);
compute_boxes_beside!(compute_boxes_beside_b16: B16);
compute_boxes_beside!(compute_boxes_mixed_b1: u8 => u16, 4 => u32);
compute_boxes_beside!(compute_boxes_mixed_b2: u16 => u32);
compute_boxes_beside!(compute_boxes_mixed_b4: u32 => u16);
