//! Which kernel serves a problem best.
//!
//! Tiles are best while they are full. Few columns, and few rows, are moved in pieces instead; and so are a few more columns than
//! tiles have, which would leave the last tile nearly empty. All lengths were measured (docs/decisions/019-tiles-or-spans.md).

use super::shapes::{micro_shape, rows_shape};
use super::task::{BEYOND_CACHE, Task};
use crate::kernels::Width;
use crate::launch::Launch;
use crate::layout::Layout;

/// From this many rows, or columns, on it counts what tiles beside, or below, them leave empty.
const MANY: usize = 1024;

/// Bytes of a row that `tall` is still good at.
const LONG_ROW: usize = 1280;

/// Rows and columns from which on tiles are full enough, if all rows start on vectors.
const fn least(word: Width) -> [usize; 2] {
    match word {
        Width::B1 => [64, 104],
        Width::B2 => [64, 64],
        Width::B4 => [28, 64],
        Width::B8 => [48, 64],
        Width::B16 => [20, 32],
    }
}

/// The same for columns, where the destination's rows do not start on sectors, and the matrices leave the cache.
const fn least_cols_past_sectors(word: Width) -> usize {
    match word {
        Width::B1 => 180,
        Width::B2 => 112,
        Width::B4 => 129,
        Width::B8 | Width::B16 => least(word)[1],
    }
}

/// Rows and columns from which on tiles are full enough, if rows start anywhere.
const fn least_anywhere(word: Width) -> [usize; 2] {
    match word {
        Width::B1 => [256, 180],
        Width::B2 => [128, 176],
        Width::B4 => [64, 64],
        Width::B8 => [40, 32],
        Width::B16 => [16, 16],
    }
}

/// How full, in 32nds, the tiles across more columns than one of them has must be. `aligned` is whether all rows start on vectors,
/// `on_sectors` whether the source's start on sectors.
const fn least_full(word: Width, aligned: bool, on_sectors: bool) -> usize {
    match (word, aligned, on_sectors) {
        (Width::B16, true, _) | (_, true, false) => 31,
        (_, true, true) | (Width::B4 | Width::B8 | Width::B16, false, _) => 28,
        (Width::B1 | Width::B2, false, _) => 24,
    }
}

impl Task<'_> {
    /// The launches of the best kernel for elements of one word.
    pub(super) fn best(&self) -> Vec<Launch> {
        let pieces = || self.few_cols().then(|| self.tall())?;
        let columns = || self.few_rows().then(|| self.gathered_or_scattered())?;
        pieces().or_else(columns).or_else(|| self.tiled()).unwrap_or_else(|| self.elements())
    }

    /// Whether there are so few columns, or so few more than tiles have, that pieces are better than tiles.
    fn few_cols(&self) -> bool {
        let Layout { rows, cols, ld } = self.problem.src;
        let split = self.vectors_split_sectors() && self.bytes() >= BEYOND_CACHE && rows >= MANY;
        let least = match (self.aligned, split) {
            (true, false) => least(self.word)[1],
            (true, true) => least_cols_past_sectors(self.word),
            (false, _) => least_anywhere(self.word)[1],
        };
        let on_sectors = ld.is_multiple_of(self.sector());
        let across =
            self.tile_cols().filter(|_| rows >= MANY && cols * self.word_bytes() <= LONG_ROW);
        let empty = across.is_some_and(|across| {
            cols > across
                && !self.fills(cols, across, least_full(self.word, self.aligned, on_sectors))
        });
        cols < least || empty
    }

    /// The same for rows. Of those that start on vectors half empty tiles are as good as full ones, and so they are of narrow elements.
    fn few_rows(&self) -> bool {
        let Layout { rows, cols, .. } = self.problem.src;
        if self.aligned {
            return rows < least(self.word)[0];
        }
        let wide = matches!(self.word, Width::B4 | Width::B8) && cols >= MANY;
        let empty = self.window().filter(|_| wide).is_some_and(|[down, _]| {
            // Windows start up to a sector earlier.
            let early = self.sector() - 1;
            rows + early <= 2 * down && rows * 32 < (rows + early).div_ceil(down) * down * 21
        });
        rows < least_anywhere(self.word)[0] || empty
    }

    /// The columns of a tile of the kernel that would move tiles.
    fn tile_cols(&self) -> Option<usize> {
        match self.aligned {
            true => Some(micro_shape(self.word).cols),
            false => self.window().map(|[_, cols]| cols),
        }
    }

    /// The rows and columns of a window of the `rows` kernel.
    fn window(&self) -> Option<[usize; 2]> {
        rows_shape(self.word).map(|shape| shape.window(self.word))
    }

    /// Whether tiles of `across` columns are as full as `least`, in 32nds.
    fn fills(&self, cols: usize, across: usize, least: usize) -> bool {
        cols * 32 >= cols.div_ceil(across) * across * least
    }

    /// Few rows: gathered if bytes and half-words, or by a single round of loads; the others scattered.
    fn gathered_or_scattered(&self) -> Option<Vec<Launch>> {
        match matches!(self.word, Width::B1 | Width::B2) || self.one_round().is_some() {
            true => self.lines().or_else(|| self.wide()),
            false => self.wide().or_else(|| self.lines()),
        }
    }

    /// Tiles of rows that start on vectors, or of rows that start anywhere, whichever is better.
    fn tiled(&self) -> Option<Vec<Launch>> {
        match self.needs_windows() {
            true => self.rows().or_else(|| self.micro()),
            false => self.micro().or_else(|| self.rows()),
        }
    }

    /// Whether so many sectors would be written in parts that windows are better although all rows start on vectors: those of bytes.
    fn needs_windows(&self) -> bool {
        const MANY_BYTES: usize = 80 << 20;
        const MANY_ROWS: usize = 1000;
        let Layout { rows, cols, .. } = self.problem.src;
        let many = self.bytes() >= MANY_BYTES && rows >= MANY_ROWS;
        let full = self.window().is_some_and(|[_, across]| self.fills(cols, across, 24));
        self.word == Width::B1 && self.vectors_split_sectors() && many && full
    }
}
