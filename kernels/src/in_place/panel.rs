//! A panel transposed on chip: its rows become slots, or its slots rows.
//!
//! A *panel* is `length` rows of `lines` elements; transposed, it is `lines` *slots* of `length`
//! elements each. The rows follow each other without a gap. Slots do too, but after every `period`
//! of them `gap` elements are left out: that is where the rows go which no panel holds.
//!
//! ```text
//! load the tile of the panel that this block holds
//! wait until the whole panel, and the next one if slots reach into it, is loaded
//! store the tile transposed
//! ```
//!
//! One block may hold the whole panel, or several a tile each (see `group`). With neither group nor
//! gap this is the barrier-sync (BS) kernel of Sung et al. (PPoPP 2014), transposition 0010!.

use super::divide::Divisor;
use super::group::Group;
use super::sweep::sweep;
use crate::element::{Element, B16};
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;

/// What the host says about the panels.
#[derive(Clone, Copy)]
pub struct Words {
    /// Rows of a panel: elements of a slot.
    pub length: u64,
    /// Elements of a row: slots of a panel.
    pub lines: u64,
    /// The multiplier of `lines`.
    pub lines_magic: u64,
    /// Slots between two gaps.
    pub period: u64,
    /// The multiplier of `period`.
    pub period_magic: u64,
    /// Elements left out after every period.
    pub gap: u64,
    /// Number of panels.
    pub panels: u64,
    /// Rows of a tile.
    pub tile_length: u64,
    /// Columns of a tile.
    pub tile_lines: u64,
    /// Elements from one segment of the tile in shared memory to the next.
    pub pitch: u64,
    /// log2 of the threads along a segment that is loaded, and, from bit 8, one that is stored.
    pub along: u64,
    /// [`TO_ROWS`], [`PADDED`], [`GROUPED`].
    pub mode: u64,
}

/// Slots become rows; otherwise rows become slots.
const TO_ROWS: u64 = 1;
/// One word in 32 of shared memory stays empty.
const PADDED: u64 = 2;
/// Blocks wait for each other.
const GROUPED: u64 = 4;

/// A block's tile in shared memory.
#[derive(Clone, Copy)]
struct Held {
    base: u32,
    pitch: u32,
    padded: bool,
}

impl Held {
    #[inline(always)]
    fn address<E>(self, segment: u32, position: u32) -> u32 {
        let index = segment * self.pitch + position;
        let index = if self.padded { index + (index >> 5) } else { index };
        self.base + index * size_of::<E>() as u32
    }
}

/// Transposes the tile that this block takes.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn panel<E: Element>(matrix: *mut E, scratch: *mut u32, words: Words) {
    let Words { length, lines, gap, panels, tile_length, tile_lines, mode, .. } = words;
    // SAFETY: the launch has dynamic shared memory for a tile.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let held = Held { base, pitch: words.pitch as u32, padded: mode & PADDED != 0 };
    let tiles_along = (lines as u32).div_ceil(tile_lines as u32);
    let parts = tiles_along * (length as u32).div_ceil(tile_length as u32);
    let group = Group { counters: scratch, parts, waits: mode & GROUPED != 0 };

    // SAFETY: nothing is in shared memory yet.
    let ticket = unsafe { group.ticket(base) };
    let (order, part) = (ticket / parts as u64, ticket as u32 % parts);
    let to_rows = mode & TO_ROWS != 0;
    // Slots reach into the next panel's rows: the last panel goes first, or, backwards, last.
    let descending = gap != 0 && !to_rows;
    let panel = if descending { panels - 1 - order } else { order };
    let neighbour = match (gap != 0 && order > 0, to_rows) {
        (false, _) => None,
        (true, false) => Some(panel + 1),
        (true, true) => Some(panel - 1),
    };

    let first_row = part / tiles_along * tile_length as u32;
    let first_line = part % tiles_along * tile_lines as u32;
    let tile_rows = (length as u32 - first_row).min(tile_length as u32);
    let tile_cols = (lines as u32 - first_line).min(tile_lines as u32);
    let rows = panel * length + first_row as u64;
    let period = Divisor { divisor: words.period, magic: words.period_magic };
    let row = |k: u32| (rows + k as u64) * lines + first_line as u64;
    let slot = |k: u32| {
        let slot = panel * lines + (first_line + k) as u64;
        let gaps = if gap == 0 { 0 } else { period.divide(slot).0 * gap };
        slot * length + gaps + first_row as u64
    };
    // Tiles as wide as the panel are one segment in memory.
    let whole_rows = tile_lines == lines;
    let per_row = Divisor { divisor: lines, magic: words.lines_magic };
    let (load_along, store_along) = (words.along as u32 & 0xff, words.along as u32 >> 8);

    // SAFETY: the caller's obligations; all addresses are inside the panel.
    let load = |at: u64| unsafe { E::load(matrix.add(at as usize)) };
    // SAFETY: as above; what is overwritten has been loaded.
    let store = |at: u64, element: E| unsafe { element.store(matrix.add(at as usize)) };
    // SAFETY: each place of the tile is written once, and the barrier of `loaded` follows.
    let hold = |segment, position, element: E| unsafe {
        element.store_shared(held.address::<E>(segment, position))
    };
    // SAFETY: written before the barrier.
    let held = |segment, position| unsafe { E::load_shared(held.address::<E>(segment, position)) };

    if to_rows {
        sweep(tile_cols, tile_rows, load_along, |k, x| load(slot(k) + x as u64), hold);
    } else if whole_rows {
        let start = row(0);
        sweep(1, tile_rows * tile_cols, load_along, |_, x| load(start + x as u64), hold);
    } else {
        sweep(tile_rows, tile_cols, load_along, |k, x| load(row(k) + x as u64), hold);
    }
    // SAFETY: all threads are here; there is a counter per panel.
    unsafe { group.loaded(panel, neighbour) };
    if !to_rows {
        sweep(
            tile_cols,
            tile_rows,
            store_along,
            |k, x| held(x, k),
            |k, x, element| store(slot(k) + x as u64, element),
        );
    } else if whole_rows {
        let start = row(0);
        let from = |x: u32| {
            let (row, col) = per_row.divide(x as u64);
            held(col as u32, row as u32)
        };
        sweep(
            1,
            tile_rows * tile_cols,
            store_along,
            |_, x| from(x),
            |_, x, element| store(start + x as u64, element),
        );
    } else {
        sweep(
            tile_rows,
            tile_cols,
            store_along,
            |k, x| held(x, k),
            |k, x, element| store(row(k) + x as u64, element),
        );
    }
}

crate::in_place_entries! {
    "Turns the rows of panels into slots, or slots into rows.",
    panel of Words { length, lines, lines_magic, period, period_magic, gap, panels, tile_length,
        tile_lines, pitch, along, mode } =>
        panel_b1: u8; panel_b2: u16; panel_b4: u32; panel_b8: u64; panel_b16: B16
}
