//! Panels of rows, held on chip by one block or by several together.

use super::pitch::tuple_pitch;
use super::{BANKS_BYTES, WORD, launch};
use crate::divide::{divisor, divisor32};
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{self as abi, GROUPED, PADDED, PANEL, PANEL_TUPLES, TO_ROWS};

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
        (self.held(word).2 * word.bytes()).max(WORD)
    }

    pub fn launch(&self, word: Width) -> Launch {
        let Panels { length, width, panels, gap, tile_length, tile_width, tuple, .. } = *self;
        let (pitch, padded, _) = self.held(word);
        let threads =
            (tile_length * tile_width * tuple / 8).next_multiple_of(32).clamp(32, self.threads);
        let set = |bit, is: bool| if is { bit } else { 0 };
        let params = abi::Panels {
            length: length as u64,
            width: width as u64,
            row: divisor(width * tuple),
            panels: divisor(panels),
            gap: gap as u64,
            tile_length: tile_length as u64,
            tile_width: tile_width as u64,
            pitch: pitch as u64,
            mode: set(TO_ROWS, self.to_rows) | set(PADDED, padded) | set(GROUPED, self.waits()),
            tuple: divisor32(tuple),
        };
        let kernel = if tuple == 1 { &PANEL } else { &PANEL_TUPLES };
        let blocks = panels * self.parts();
        let launch = launch(kernel, word, [blocks, 1], threads, self.shared_bytes(word), params);
        Launch { cooperative: self.waits(), ..launch }
    }
}
