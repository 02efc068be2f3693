//! A panel transposed on chip: its rows become slots, or its slots rows.
//!
//! A *panel* is `length` rows of `width` elements; transposed, it is `width` *slots* of `length`
//! elements each. The rows follow each other without a gap. Slots do too, but after every `period`
//! of them `gap` elements are left out: that is where the rows go which no panel holds.
//!
//! ```text
//! load a tile of a panel
//! wait until the whole panel, and the next one if slots reach into it, is loaded
//! store the tile transposed
//! ```
//!
//! One block may hold the whole panel, or several a tile each (see `group`). With neither group nor
//! gap this is the barrier-sync (BS) kernel of Sung et al. (PPoPP 2014), transposition 0010!.
//!
//! An element that is not as wide as an access is a *tuple* of words, and moves word by word.

use super::group::Group;
use super::segments::{self, Segments};
use super::unit_segments::{Lines, UnitTile};
use super::units::Word;
use crate::divide::{Divisor, Divisor32};
use crate::element::{Element, B16};
use crate::launch::never_more_registers;
use crate::opaque::{lane_again, opaque};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::{
    self, Panels, BY_VECTORS, GROUPED, PADDED, TO_ROWS, UNITS, UNITS_ALIGNED,
};

/// The words of an element: one, unless there are `MANY`.
#[derive(Clone, Copy)]
struct Tuple<const MANY: bool>(Divisor32);

impl<const MANY: bool> Tuple<MANY> {
    #[inline(always)]
    fn words(self) -> u32 {
        if MANY {
            self.0.divisor
        } else {
            1
        }
    }

    /// The element that a word of a line belongs to, and the word's number in it.
    #[inline(always)]
    fn split(self, position: u32) -> (u32, u32) {
        if MANY {
            self.0.divide(position)
        } else {
            (position, 0)
        }
    }
}

/// A block's tile in shared memory: a segment for each row, or, towards rows, for each slot.
#[derive(Clone, Copy)]
struct Held<const MANY: bool> {
    base: u32,
    pitch: u32,
    padded: bool,
    by_slots: bool,
    tuple: Tuple<MANY>,
}

/// Bytes in shared memory between elements that are 32 apart in a row, and in a slot.
struct Steps {
    rows: u32,
    slots: u32,
}

impl<const MANY: bool> Held<MANY> {
    /// The address of a word of the element in a row and a slot of the tile.
    #[inline(always)]
    fn address<E>(self, row: u32, slot: u32, word: u32) -> u32 {
        let (segment, position) = if self.by_slots { (slot, row) } else { (row, slot) };
        let index = segment * self.pitch + position * self.tuple.words() + word;
        let index = if self.padded { index + (index >> 5) } else { index };
        self.base + index * size_of::<E>() as u32
    }

    /// Padding is by 32 elements, so it is as regular as what it is inserted into. Tuples have no
    /// such steps.
    #[inline(always)]
    fn steps<E>(self) -> Steps {
        let along = if self.padded { 33 } else { 32 } * size_of::<E>() as u32;
        let across = along * self.pitch;
        let (rows, slots) = if self.by_slots { (across, along) } else { (along, across) };
        Steps { rows, slots }
    }
}

/// Transposes the tiles that this block takes.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn panel<E: Word, const TUPLES: bool>(matrix: *mut E, scratch: *mut u32, params: Panels) {
    // Two blocks of 512 threads at a time, on all chips. For other elements the assembler sees to that by itself, where
    // it is possible.
    if size_of::<E>() < 4 || size_of::<E>() == 4 && !TUPLES {
        never_more_registers::<64>();
    }
    let Panels { length, width, tile_length, tile_width, mode, .. } = params;
    // SAFETY: the launch has dynamic shared memory for a tile.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    // Worked out anew for each tile: kept, it would take a register that narrow words need.
    let tiles_along = || opaque(width as u32).div_ceil(opaque(tile_width as u32));
    let parts = tiles_along() * (length as u32).div_ceil(tile_length as u32);
    let group = Group { counters: scratch, parts, waits: mode & GROUPED != 0 };
    // SAFETY: all threads are here; the launch is cooperative if blocks wait. The other obligations are the caller's.
    unsafe {
        group.each_part(params.panels.divisor as u32, base, |order, part| {
            let along = tiles_along();
            let place = (part / along, part % along);
            tile::<E, TUPLES>(matrix, base, group, &params, order, place)
        })
    }
}

/// Transposes the tile in a place of the panel that is `order`th in its turn.
///
/// # Safety
/// The obligations of the entry points; all threads of the block call it together, with nothing in shared memory.
#[inline(always)]
unsafe fn tile<E: Word, const TUPLES: bool>(
    matrix: *mut E,
    base: u32,
    group: Group,
    params: &Panels,
    order: u32,
    (down, along): (u32, u32),
) {
    let (gap, panels) = (params.gap, params.panels.divisor);
    // Nothing of what follows from these is computed before the first tile and kept for all.
    let again = |word: u64| opaque(word as u32) as u64;
    let (length, width) = (again(params.length), again(params.width));
    let (tile_length, tile_width) = (again(params.tile_length), again(params.tile_width));
    let mode = again(params.mode);
    let to_rows = mode & TO_ROWS != 0;
    let padded = mode & PADDED != 0;
    let tuple = in_place::Divisor32 {
        divisor: again(params.tuple.divisor),
        magic: again(params.tuple.magic),
    };
    let tuple = Tuple::<TUPLES>(tuple.into());
    let k = tuple.words();
    let held = Held { base, pitch: params.pitch as u32, padded, by_slots: to_rows, tuple };
    // Slots reach into the next panel's rows: the last panel goes first, or, backwards, last.
    let descending = gap != 0 && !to_rows;
    let panel = if descending { panels as u32 - 1 - order } else { order } as u64;

    let first_row = down * tile_length as u32;
    let first_col = along * tile_width as u32;
    let tile_rows = (length as u32 - first_row).min(tile_length as u32);
    let tile_cols = (width as u32 - first_col).min(tile_width as u32);
    let start = ((panel * length + first_row as u64) * width + first_col as u64) * k as u64;
    // SAFETY: the caller's obligations.
    let rows = Rows { start: unsafe { matrix.add(start as usize) }, pitch: width * k as u64, held };
    let slots = Slots {
        // SAFETY: the caller's obligations.
        start: unsafe { matrix.add((first_row * k) as usize) },
        first: panel * width + first_col as u64,
        length: length * k as u64,
        period: params.panels.into(),
        gap: gap * k as u64,
        held,
    };
    if size_of::<E>() < 4 && mode & UNITS != 0 {
        let tuple = Divisor32::from(params.tuple);
        let tile = UnitTile {
            base,
            pitch: params.pitch as u32,
            tuple,
            load_along: again(params.load_along) as u32,
            store_along: again(params.store_along) as u32,
            has_ends: mode & UNITS_ALIGNED == 0,
            by_vectors: mode & BY_VECTORS != 0,
        };
        let first = slots.first as u32;
        let slots = slots.start.wrapping_add((slots.first * slots.length) as usize);
        // One code for both ways.
        let (from, to) = if to_rows { (slots, rows.start) } else { (rows.start, slots) };
        let lines = |start, [length, gap]: [u64; 2]| Lines {
            start,
            length,
            first,
            period: params.period.into(),
            gap,
        };
        let from = lines(from, [params.load_step, params.load_gap]);
        let to = lines(to, [params.store_step, params.store_gap]);
        // Segments, and words of one. Worked out anew before the stores: kept, they would take registers that the loads need.
        let extent = |of_rows: bool| {
            let [rows, cols] = [
                (down, &params.length, &params.tile_length),
                (along, &params.width, &params.tile_width),
            ]
            .map(|(number, side, tile)| {
                let (number, side, tile) =
                    (opaque(number), again(*side) as u32, again(*tile) as u32);
                (side - number * tile).min(tile)
            });
            if of_rows {
                [rows, cols * tuple.divisor]
            } else {
                [cols, rows * tuple.divisor]
            }
        };
        // SAFETY: the caller's obligations; all places are inside the panel, and a barrier stands in `loaded`.
        unsafe {
            tile.load(&from, extent(!to_rows));
            group.loaded(order, params.gap != 0);
            tile.store(&from, &to, extent(to_rows));
        }
        return;
    }
    // Tiles as wide as the panel are one stretch of memory.
    let stretch = Stretch { start: rows.start, line: params.row.into(), held };
    let whole_rows = tile_width == width;
    let (row_words, slot_words) = (tile_cols * k, tile_rows * k);
    let all_words = tile_rows * row_words;
    let steps = held.steps::<E>();

    // SAFETY: the caller's obligations; all places are inside the panel, and in shared memory each
    // is written once before the barrier of `loaded`.
    unsafe {
        if to_rows {
            segments::load(tile_cols, slot_words, steps.slots, &slots);
            group.loaded(order, gap != 0);
            if whole_rows {
                stretch.store(all_words);
            } else {
                segments::store(tile_rows, row_words, steps.rows, &rows);
            }
        } else {
            if whole_rows {
                stretch.load(all_words);
            } else {
                segments::load(tile_rows, row_words, steps.rows, &rows);
            }
            group.loaded(order, gap != 0);
            segments::store(tile_cols, slot_words, steps.slots, &slots);
        }
    }
}

/// The tile's rows.
struct Rows<E, const MANY: bool> {
    start: *mut E,
    /// Words from one row to the next.
    pitch: u64,
    held: Held<MANY>,
}

impl<E, const MANY: bool> Segments<E> for Rows<E, MANY> {
    const REGULAR: bool = !MANY;

    #[inline(always)]
    fn global(&self, segment: u32) -> *mut E {
        self.start.wrapping_add(segment as usize * self.pitch as usize)
    }

    #[inline(always)]
    fn shared(&self, segment: u32, position: u32) -> u32 {
        let (slot, word) = self.held.tuple.split(position);
        self.held.address::<E>(segment, slot, word)
    }
}

/// The tile's columns, in slots.
struct Slots<E, const MANY: bool> {
    start: *mut E,
    first: u64,
    /// Words of a slot.
    length: u64,
    period: Divisor,
    /// Words of a gap.
    gap: u64,
    held: Held<MANY>,
}

impl<E, const MANY: bool> Segments<E> for Slots<E, MANY> {
    const REGULAR: bool = !MANY;

    #[inline(always)]
    fn global(&self, segment: u32) -> *mut E {
        let slot = self.first + segment as u64;
        let gaps = if self.gap == 0 { 0 } else { self.period.divide(slot).0 * self.gap };
        self.start.wrapping_add((slot * self.length + gaps) as usize)
    }

    #[inline(always)]
    fn shared(&self, segment: u32, position: u32) -> u32 {
        let (row, word) = self.held.tuple.split(position);
        self.held.address::<E>(row, segment, word)
    }
}

/// Whole rows of the panel as one stretch, cut into segments of [`CUT`] words for the warps.
struct Stretch<E, const MANY: bool> {
    start: *mut E,
    /// Divides by the words of a row.
    line: Divisor,
    held: Held<MANY>,
}

/// Words that a warp moves at a time.
const CUT: u32 = 256;

impl<E: Element, const MANY: bool> Stretch<E, MANY> {
    /// Loads a stretch; it is held as it is.
    ///
    /// # Safety
    /// The obligations of [`segments::load`].
    #[inline(always)]
    unsafe fn load(&self, elements: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            self.each(
                elements,
                |at| E::load(self.start.add(at as usize)),
                |at, element| element.store_shared(self.held.address::<E>(0, 0, at)),
            );
        }
    }

    /// Stores a stretch, taken across the slots that are held.
    ///
    /// # Safety
    /// The obligations of [`segments::store`].
    #[inline(always)]
    unsafe fn store(&self, elements: u32) {
        // SAFETY: the caller's obligations.
        unsafe {
            self.each(
                elements,
                |at| {
                    let (row, rest) = self.line.divide(at as u64);
                    let (slot, word) = self.held.tuple.split(rest as u32);
                    E::load_shared(self.held.address::<E>(row as u32, slot, word))
                },
                |at, element| element.store(self.start.add(at as usize)),
            );
        }
    }

    /// Loads and stores every element, a warp those of a line.
    ///
    /// # Safety
    /// All threads of a block of whole warps call it together.
    #[inline(always)]
    unsafe fn each(&self, elements: u32, load: impl Fn(u32) -> E, store: impl Fn(u32, E)) {
        let (lane, warp) = (thread::thread_idx_x() & 31, thread::thread_idx_x() >> 5);
        let step = (thread::block_dim_x() >> 5) * CUT;
        let mut first = warp * CUT;
        while first < elements {
            let at = first + lane;
            let mut held = [E::ANY; (CUT / 32) as usize];
            crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                if at + K as u32 * 32 < elements {
                    held[K] = load(at + K as u32 * 32);
                }
            });
            // SAFETY: which segments are moved is the same for all lanes of a warp.
            unsafe { segments::all_in_flight() };
            let at = first + lane_again();
            crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                if at + K as u32 * 32 < elements {
                    store(at + K as u32 * 32, held[K]);
                }
            });
            first += step;
        }
    }
}

crate::in_place::in_place_entries! {
    "Turns the rows of panels into slots, or slots into rows.",
    PANEL: Panels, panel =>
        panel_b1: u8, false; panel_b2: u16, false; panel_b4: u32, false; panel_b8: u64, false;
        panel_b16: B16, false
}

crate::in_place::in_place_entries! {
    "Does the same with elements of several words.",
    PANEL_TUPLES: Panels, panel =>
        panel_tuples_b1: u8, true; panel_tuples_b2: u16, true; panel_tuples_b4: u32, true;
        panel_tuples_b8: u64, true; panel_tuples_b16: B16, true
}
