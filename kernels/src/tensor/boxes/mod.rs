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
//! # Stretches that start anywhere
//! Whole aligned vectors are loaded, those that a stretch starts and ends in as well, and held as they come. So that a vector of memory is one of
//! shared memory, an axis adds to places in the image what it adds to addresses, modulo 16: the image is skewed as the memory is.
//!
//! Words of less than 4 bytes are stored several at a time: 4 bytes of a lane, on a multiple of 4, out of 2 or 4 words. Where words lie
//! together on both sides, in *runs* of 4 bytes and more, a table of runs serves as well as one of words, and is shorter, so that stretches may be
//! longer. Then 4 bytes, or 8, are what is left of a run and the start of the next, each of them cut out of two or three words of shared memory.
//!
//! # Stretches of the destination that are long, or short
//! A stretch that has more words than a table should have is stored in *pieces*, for all of which the one table says where words are. The *targets* that
//! `h` counts are pieces then, or else stretches. Those that differ in the last digit of `h` alone are as far from each other as their neighbours, on either
//! side: a thread looks up once where the words of its unit are, and then takes steps.
//!
//! Short stretches of narrow words that start anywhere are stored word by word, by as many lanes as a stretch has words. Gaps between them, within a
//! sector, may be part of a stretch: the table says so ([`GAP`](kernel_abi::tensor::GAP)), and nothing is stored there.
//!
//! # A block's boxes
//! A block moves several boxes. What tables say is the same for all of them; where each box starts is found out once, by a lane for each. While a
//! box is gathered, where the next one's stretches lie is worked out, so that the threads that load vectors look up an entry and no more.
//!
//! | file | what it is about |
//! |---|---|
//! | `place` | where a box starts, and how many stretches it has |
//! | `tables` | the tables in shared memory |
//! | `load` | a box's stretches of the source, into the image |
//! | `gather` | its stretches of the destination, out of the image |
//!
//! # Banks
//! The lanes of a warp take `1 << lanes` neighbouring units of each of some neighbouring stretches. How far apart an axis holds stretches of the source
//! is the planner's choice, modulo 16 or at least modulo 4: so that as few as can be of what a warp gathers lie in one bank.

mod gather;
mod load;
mod place;
mod tables;

use super::tensor_entry;
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::opaque;
use cuda_std::thread;
use gather::{fetch, gather};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::Boxes;
use load::load;
use place::Place;
use tables::Tables;

/// Moves a block's boxes: as many further on each as there are blocks, so that neighbours are moved at about the same time.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
unsafe fn move_boxes<E: Element>(src: *const E, dst: *mut E, params: &Boxes, base: u32) {
    let tables = Tables::of(params, base);
    let boxes = params.boxes as u32;
    let from = |place: &Place| src.wrapping_add(place.from as usize) as u64;
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there, and between
    // that and what is stored next: the stretches of the next box are told after all have loaded those of this one.
    unsafe {
        tables.fill::<E>(params, base);
        thread::sync_threads();
        let tell = |place: Place| {
            let base = opaque(base);
            let tables = Tables::of(params, base);
            tables.tell_stretches::<E>(src as u64, from(&place), params, base, &place)
        };
        tell(tables.place(0));
        let mut turn = 0;
        loop {
            thread::sync_threads();
            {
                let tables = Tables::of(params, opaque(base));
                let place = tables.place(turn);
                if params.fetch != 0 {
                    fetch(dst.wrapping_add(place.to as usize), params, tables, &place);
                }
                load::<E>(src as u64, params, tables, &place);
            }
            thread::sync_threads();
            let is_last = thread::block_idx_x() + (turn + 1) * thread::grid_dim_x() >= boxes;
            if !is_last {
                tell(tables.place(turn + 1));
            }
            // What is looked up again need not be kept in registers.
            let tables = Tables::of(params, opaque(base));
            let place = tables.place(turn);
            let to = dst.wrapping_add(place.to as usize);
            gather(to, from(&place) as u32 % VECTOR, params, tables, &place);
            if is_last {
                return;
            }
            turn += 1;
        }
    }
}

/// Defines one entry point.
macro_rules! boxes {
    ($name:ident: $element:ty, $registers:literal) => {
        tensor_entry! {
            "Moves boxes, held as they lie in the source and gathered word by word.",
            BOXES: Boxes, $name: $element, |src, dst, params| {
                never_more_registers::<$registers>();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                move_boxes::<$element>(src, dst, &params, base)
            }
        }
    };
}

boxes!(boxes_b1: u8, 64);
boxes!(boxes_b2: u16, 64);
boxes!(boxes_b4: u32, 56);
boxes!(boxes_b8: u64, 56);
boxes!(boxes_b16: B16, 56);
