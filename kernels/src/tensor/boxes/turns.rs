//! Moves a block's boxes, one after the other: of narrow words, and all that are computed on the way.

use super::load::Load;
use super::place::Place;
use super::tables::Tables;
use crate::element::Element;
use crate::opaque::opaque;
use cuda_std::thread;
use kernel_abi::tensor::Boxes;

/// What is the kernel's own: the destination.
pub trait Stored: Copy {
    /// Fills the tables of the destination.
    ///
    /// # Safety
    /// Those of [`Tables::fill_targets`].
    unsafe fn fill_targets(self, tables: Tables);

    /// Fetches sectors of the destination that a box stores a part of, before it is stored.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables.
    unsafe fn fetch(self, tables: Tables, place: &Place);

    /// Stores a box.
    ///
    /// # Safety
    /// A barrier separates this from what loaded the image.
    unsafe fn store(self, tables: Tables, place: &Place);
}

/// Moves a block's boxes: as many further on each as there are blocks, so that neighbours are moved at about the same time. The tables of the destination are
/// filled while the first box is on its way, where that can be.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
pub unsafe fn move_in_turn<E: Element>(
    source: impl Load,
    params: &Boxes,
    base: u32,
    stored: impl Stored,
) {
    // What is worked out again from the address need not be kept in registers meanwhile.
    let tables = || Tables::of(params, opaque(base));
    // Only copies are on their way while threads do something else; and what is fetched is found by the tables of the destination.
    let can_be_late = source.are_copies();
    let is_late = can_be_late && params.fetch == 0;
    // SAFETY: the caller's obligations, and the barriers between what is stored to shared memory and what is loaded from there, and between
    // that and what is stored next: the stretches of the next box are told after all have loaded those of this one.
    unsafe {
        source.prepare(params);
        tables().fill_sources::<E>(source, params);
        if !is_late {
            stored.fill_targets(tables());
        }
        thread::sync_threads();
        let tell = |turn: u32| {
            let place = tables().place(turn);
            tables().tell_stretches(source, params, opaque(base), &place)
        };
        let begin_loading = |turn: u32| {
            let (tables, place) = (tables(), tables().place(turn));
            if params.fetch != 0 {
                stored.fetch(tables, &place);
            }
            source.begin(params, tables, &place);
        };
        tell(0);
        let mut turn = 0;
        if can_be_late {
            thread::sync_threads();
            begin_loading(0);
            if is_late {
                stored.fill_targets(tables());
            }
        }
        loop {
            if !can_be_late || turn > 0 {
                thread::sync_threads();
                begin_loading(turn);
            }
            source.finish(params, tables, turn);
            thread::sync_threads();
            let number = thread::block_idx_x() + (turn + 1) * thread::grid_dim_x();
            let is_last = number >= params.boxes as u32;
            if !is_last {
                tell(turn + 1);
            }
            stored.store(tables(), &tables().place(turn));
            if is_last {
                return;
            }
            turn += 1;
        }
    }
}
