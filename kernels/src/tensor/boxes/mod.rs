//! Moves of elements of several words, and along axes that are short: through a box in shared memory, gathered word by word.
//!
//! A box has some indices of a few axes. In the source it is some *stretches* of words that lie together, in the destination some others.
//! A block loads its box's stretches of the source by vectors, holds them one after the other, each as it lies there, and then collects
//! the words of each stretch of the destination:
//!
//! ```text
//! word p of the destination's stretch h   =   image[start(h) + place(p)]
//! ```
//!
//! An axis adds the same number of bytes to a word's place in the image for each step, whether `h` counts it or `p`. So one table for `h` and one
//! for `p` say where every word is, whatever the axes are: elements of several words, a few columns, matrices of a batch.
//!
//! Where the source is in descending order along an axis, its steps in the image are negative, and `start` and `place` count down from the axis's end. A source that is
//! repeated along an axis has every word once: its steps are 0.
//!
//! # Stretches that start anywhere
//! Whole aligned vectors are loaded, those that a stretch starts and ends in as well, and held as they come. So that a vector of memory is one of
//! shared memory, an axis adds to places in the image what it adds to addresses, modulo 16: the image is skewed as the memory is.
//!
//! Words of less than 4 bytes are stored several at a time: 4 bytes of a lane, on a multiple of 4, out of 2 or 4 words. Where words lie
//! together on both sides, in *runs* of 4 bytes and more, a table of runs serves as well as one of words, and is shorter, so that stretches may be
//! longer. Then 4 bytes, or 8, are what is left of a run and the start of the next, each of them cut out of two or three words of shared memory.
//!
//! # A block's boxes
//! A block moves several boxes. What tables say is the same for all of them; where each box starts is found out once, by a lane for each. While a
//! box is gathered, where the next one's stretches lie is worked out, so that the threads that load vectors look up an entry and no more.
//!
//! | file | what it is about |
//! |---|---|
//! | `place` | where a box starts, and how many stretches it has |
//! | `tables` | the tables in shared memory |
//! | `source` | where a box's words are loaded from |
//! | `load` | a box's stretches of the source, into the image |
//! | `gather` | its stretches of the destination, out of the image |
//! | `turns` | the boxes of a block one after the other, of narrow words, and where they are computed |
//!
//! # Past registers
//! Vectors of words of 4 bytes and less are copied to shared memory on chips that can: what is on its way takes no registers then, and more blocks run side by
//! side, so that some store while others load: through the L1 cache, unless they lie in too many of its lines. Images of narrow words that are not held by vectors are copied by 4 bytes. While the first box of a block is on
//! its way, the tables of the destination are filled.
//!
//! # Banks
//! The lanes of a warp take `1 << lanes` neighbouring units of each of some neighbouring stretches. How far apart an axis holds stretches of the source
//! is the planner's choice, modulo 16 or at least modulo 4: so that as few as can be of what a warp gathers lie in one bank.

pub mod gather;
pub mod load;
pub mod place;
pub mod source;
pub mod tables;
pub mod turns;

use super::tensor_entry;
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::opaque;
use cuda_std::thread;
use gather::{fetch, gather};
use kernel_abi::tensor::Boxes;
use load::{copies, copy, load, Load};
use place::Place;
use source::{AsItLies, Source};
use tables::Tables;
use turns::{move_in_turn, Stored};

/// Moves a block's boxes: as many further on each as there are blocks, so that neighbours are moved at about the same time.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
unsafe fn move_boxes<E: Element>(src: *const E, dst: *mut E, params: &Boxes, base: u32) {
    let tables = Tables::of(params, base);
    let boxes = params.boxes as u32;
    let source = AsItLies(src);
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there, and between
    // that and what is stored next: the stretches of the next box are told after all have loaded those of this one.
    unsafe {
        tables.fill::<E>(source, params, base);
        thread::sync_threads();
        let mut place = tables.place(0);
        tables.tell_stretches(source, params, base, &place);
        let (mut turn, mut number) = (0, thread::block_idx_x());
        loop {
            thread::sync_threads();
            if params.fetch != 0 {
                fetch(dst.wrapping_add(place.to as usize), params.fetch, tables, &place);
            }
            if copies::<E>() && params.by_vectors != 0 {
                copy::<E>(params, tables, &place);
            } else {
                load::<E>(params, tables, &place);
            }
            thread::sync_threads();
            let this = place;
            number += thread::grid_dim_x();
            turn += 1;
            if number < boxes {
                place = tables.place(turn);
                tables.tell_stretches(source, params, base, &place);
            }
            gather(dst.wrapping_add(this.to as usize), source.skew(&this), params, tables, &this);
            if number >= boxes {
                return;
            }
        }
    }
}

/// As [`move_boxes`], of narrow words, or of any source: where that is copied, the tables of the destination are filled meanwhile.
///
/// # Safety
/// Those of [`move_boxes`].
#[inline(always)]
pub unsafe fn move_overlapped<E: Element>(
    source: impl Load,
    dst: *mut E,
    params: &Boxes,
    base: u32,
) {
    // SAFETY: the caller's obligations.
    unsafe { move_in_turn::<E>(source, params, base, Gathered { source, dst, params, base }) }
}

/// A destination that is gathered word by word.
#[derive(Clone, Copy)]
struct Gathered<'a, S, E> {
    source: S,
    dst: *mut E,
    params: &'a Boxes,
    base: u32,
}

impl<S: Source, E: Element> Stored for Gathered<'_, S, E> {
    #[inline(always)]
    unsafe fn fill_targets(self, tables: Tables) {
        // SAFETY: the caller's obligations.
        unsafe { tables.fill_targets::<E>(self.params, opaque(self.base)) }
    }

    #[inline(always)]
    unsafe fn fetch(self, tables: Tables, place: &Place) {
        let to = self.dst.wrapping_add(place.to as usize);
        // SAFETY: the caller's obligations.
        unsafe { fetch(to, self.params.fetch, tables, place) }
    }

    #[inline(always)]
    unsafe fn store(self, tables: Tables, place: &Place) {
        let to = self.dst.wrapping_add(place.to as usize);
        // SAFETY: the caller's obligations.
        unsafe { gather(to, self.source.skew(place), self.params, tables, place) }
    }
}

/// Defines one entry point.
macro_rules! boxes {
    ($name:ident: $element:ty) => {
        tensor_entry! {
            "Moves boxes, held as they lie in the source and gathered word by word.",
            BOXES: Boxes, $name: $element, |src, dst, params| {
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                if copies::<$element>() {
                    never_more_registers::<48>();
                } else {
                    never_more_registers::<56>();
                }
                if size_of::<$element>() < 4 {
                    move_overlapped::<$element>(AsItLies(src), dst, &params, base)
                } else {
                    move_boxes::<$element>(src, dst, &params, base)
                }
            }
        }
    };
}

boxes!(boxes_b1: u8);
boxes!(boxes_b2: u16);
boxes!(boxes_b4: u32);
boxes!(boxes_b8: u64);
boxes!(boxes_b16: B16);
