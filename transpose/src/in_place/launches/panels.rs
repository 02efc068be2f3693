//! Panels of rows, held on chip by one block or by several together.

use super::pitch::{tuple_pitch, unit_pitch, units_along};
use super::{BANKS_BYTES, WORD, launch};
use crate::divide::{divisor, divisor32};
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{
    self as abi, BY_VECTORS, GROUPED, PADDED, PANEL, PANEL_TUPLES, TO_ROWS, UNITS, UNITS_ALIGNED,
};

/// Panels whose rows become slots, or the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Panels {
    /// Rows of a panel: elements of a slot.
    pub length: usize,
    /// Elements of a row: slots of a panel.
    pub width: usize,
    pub panels: usize,
    /// Elements left out after every `panels` slots.
    pub gap: usize,
    /// Slots become rows.
    pub to_rows: bool,
    pub tile_length: usize,
    pub tile_width: usize,
    /// The most threads of a block, a multiple of 32.
    pub threads: usize,
    /// Words of an element.
    pub tuple: usize,
}

/// Bytes of a unit.
const UNIT: usize = 4;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// Bytes of the shortest segments that are moved by units: of shorter ones too much is before the first and behind the last.
const LEAST_SEGMENT: usize = 32;

/// Bytes of the smallest tile that is: in smaller ones, finding out where units are takes longer than moving words.
const LEAST_TILE: usize = 8 << 10;

/// How a tile of narrow words is held, and moved by units.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// Bytes from one segment in shared memory to the next.
    pitch: usize,
    /// Bytes of all of them.
    bytes: usize,
    /// log2 of the threads along a segment that is loaded, and stored.
    load_along: usize,
    store_along: usize,
    /// Whether all segments start and end on units.
    are_aligned: bool,
    /// Whether those that are loaded do on vectors.
    by_vectors: bool,
}

impl Panels {
    /// The blocks that hold a panel together.
    pub fn parts(&self) -> usize {
        self.length.div_ceil(self.tile_length) * self.width.div_ceil(self.tile_width)
    }

    /// Whether blocks wait for each other. Then they take tiles by tickets, and any number of blocks from
    /// [`parts`](Self::parts) on will do.
    fn waits(&self) -> bool {
        self.parts() > 1 || (self.gap > 0 && self.panels > 1)
    }

    /// The bytes of the counters.
    pub fn counter_bytes(&self) -> usize {
        if self.waits() { (1 + self.panels) * WORD } else { 0 }
    }

    /// How narrow words are moved by units, if segments are long enough for that.
    fn units(&self, word: Width) -> Option<Units> {
        let element = self.tuple * word.bytes();
        let (row, slot) = (self.tile_width * element, self.tile_length * element);
        let is_small = row.min(slot) < LEAST_SEGMENT || self.tile_length * row < LEAST_TILE;
        if word.bytes() >= UNIT || is_small {
            return None;
        }
        let (loaded, stored, segments) = match self.to_rows {
            true => (slot, self.tile_length, self.tile_width),
            false => (row, self.tile_width, self.tile_length),
        };
        let threads = self.block_threads();
        let store_along = units_along(stored, element, UNIT, threads.next_power_of_two());
        let pitch = unit_pitch(loaded, element, UNIT, store_along);
        let rows = self.width | self.tile_width;
        let slots = self.length | self.gap | self.tile_length;
        let start_on = |sides: usize, unit| (sides * element).is_multiple_of(unit);
        // What a thread loads at a time, and how many of those it has in flight.
        let by_vectors = start_on(if self.to_rows { slots } else { rows }, VECTOR);
        let (vector, flight) = if by_vectors { (VECTOR, 4) } else { (UNIT, 8) };
        let turns = |along: usize| {
            let across = (threads >> along).max(1);
            loaded.div_ceil((vector * flight) << along) * segments.div_ceil(across)
        };
        Some(Units {
            pitch,
            bytes: pitch * segments,
            load_along: (3..=5).rev().min_by_key(|&along| turns(along)).unwrap_or(5),
            store_along: store_along.min(5),
            are_aligned: start_on(rows | slots, UNIT),
            by_vectors,
        })
    }

    /// The threads of a block.
    fn block_threads(&self) -> usize {
        let words = self.tile_length * self.tile_width * self.tuple;
        (words / 8).next_multiple_of(32).clamp(32, self.threads)
    }

    /// Words from one segment in shared memory to the next, whether they are padded, and the words
    /// that a tile takes.
    fn held(&self, word: Width) -> (usize, bool, usize) {
        let (row, slot) = (self.tile_width * self.tuple, self.tile_length * self.tuple);
        let whole_rows = self.tile_width == self.width;
        let banks = BANKS_BYTES / (word.bytes()).max(4);
        match (self.to_rows, whole_rows) {
            // One segment, read with a stride of a row.
            (false, true) => {
                let words = self.tile_length * row;
                let padded = row.is_multiple_of(2);
                (row, padded, words + if padded { words / 32 } else { 0 })
            }
            (to_rows, _) if self.tuple > 1 => {
                let (segment, segments) =
                    if to_rows { (slot, self.tile_width) } else { (row, self.tile_length) };
                let pitch = tuple_pitch(segment, self.tuple, word);
                (pitch, false, pitch * segments)
            }
            (false, false) => {
                let pitch = self.tile_width | 1;
                (pitch, false, pitch * self.tile_length)
            }
            // Neighbours in a row of the result are `pitch` apart, neighbours in a column 1.
            (true, _) => {
                let step = banks.div_ceil(self.width) % banks;
                let pitch = self.tile_length + (banks + step - self.tile_length % banks) % banks;
                let pitch = if self.width < banks { pitch } else { self.tile_length | 1 };
                (pitch, false, pitch * self.tile_width)
            }
        }
    }

    /// The bytes of shared memory that a tile takes.
    pub fn shared_bytes(&self, word: Width) -> usize {
        match self.units(word) {
            Some(units) => units.bytes,
            None => (self.held(word).2 * word.bytes()).max(WORD),
        }
    }

    pub fn launch(&self, word: Width) -> Launch {
        let Panels { length, width, panels, gap, tile_length, tile_width, tuple, .. } = *self;
        let (pitch, padded, _) = self.held(word);
        let threads = self.block_threads();
        let set = |bit, is: bool| if is { bit } else { 0 };
        let units = self.units(word);
        let moved = units.map_or(0, |units| {
            UNITS | set(UNITS_ALIGNED, units.are_aligned) | set(BY_VECTORS, units.by_vectors)
        });
        let along = units.map_or([0; 2], |units| [units.load_along, units.store_along]);
        let (rows, slots) = ([width * tuple, 0], [length * tuple, gap * tuple]);
        let [[load_step, load_gap], [store_step, store_gap]] =
            if self.to_rows { [slots, rows] } else { [rows, slots] };
        let params = abi::Panels {
            length: length as u64,
            width: width as u64,
            row: divisor(width * tuple),
            panels: divisor(panels),
            gap: gap as u64,
            tile_length: tile_length as u64,
            tile_width: tile_width as u64,
            pitch: units.map_or(pitch, |units| units.pitch) as u64,
            mode: set(TO_ROWS, self.to_rows)
                | set(PADDED, padded)
                | set(GROUPED, self.waits())
                | moved,
            tuple: divisor32(tuple),
            period: divisor32(if gap > 0 { panels } else { 1 }),
            load_along: along[0] as u64,
            store_along: along[1] as u64,
            load_step: load_step as u64,
            load_gap: load_gap as u64,
            store_step: store_step as u64,
            store_gap: store_gap as u64,
        };
        let kernel = if tuple == 1 { &PANEL } else { &PANEL_TUPLES };
        let blocks = panels * self.parts();
        let launch = launch(kernel, word, [blocks, 1], threads, self.shared_bytes(word), params);
        Launch { cooperative: self.waits(), ..launch }
    }
}
