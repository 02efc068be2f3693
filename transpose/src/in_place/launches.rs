//! The launches of the in-place kernels: words, blocks, grids and shared memory.

use super::cycles::cycle;
use super::decomposition::{Decomposition, gcd};
use super::plan::Shape;
use super::{Carry, InPlaceOptions};
use crate::device::Limits;
use crate::divide::{magic, magic32};
use crate::kernels::{InPlaceKernel, Width};
use crate::launch::Launch;

/// Bytes of a bank-conflict-free row of banks: shared memory's width.
const BANKS_BYTES: usize = 128;

/// Bytes of a coordination word: 32 flags, or a counter.
pub(super) const WORD: usize = 4;

/// The bytes of `flags` flags.
pub(super) fn flag_bytes(flags: usize) -> usize {
    flags.div_ceil(32) * WORD
}

fn launch<const N: usize>(
    kernel: InPlaceKernel,
    width: Width,
    grid: [usize; 2],
    threads: usize,
    shared: usize,
    words: [usize; N],
    magics: [(usize, u64); 4],
) -> Launch {
    let mut words = words.map(|word| word as u64);
    for (index, magic) in magics {
        if index < N {
            words[index] = magic;
        }
    }
    Launch {
        entry: kernel.entry(width),
        grid: [grid[0] as u32, grid[1] as u32, 1],
        block: [threads as u32, 1, 1],
        dynamic_shared_bytes: shared as u32,
        at_once: 0,
        offsets: [0, 0],
        words: words.into(),
    }
}

/// No magic number.
const NONE: (usize, u64) = (usize::MAX, 0);

/// log2 of the threads along a segment, for the fewest idle ones.
fn along(length: usize, threads: usize) -> usize {
    let most = threads.ilog2() as usize;
    if length < 32 {
        return (length.next_power_of_two().ilog2() as usize).min(most);
    }
    (5..=most).rev().min_by_key(|&along| length.next_multiple_of(1 << along)).unwrap_or(most)
}

/// Threads for a block that holds so many elements: eight each, a power of two, up to a limit.
fn threads_for(elements: usize, most: usize) -> usize {
    elements.div_ceil(8).next_power_of_two().clamp(32, most)
}

/// A square matrix, tiles exchanged across the diagonal. `None` if not even two elements fit on chip.
pub(super) fn square(shape: &Shape, limits: &Limits) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    if tuple != 1 {
        return square_tuples(shape, limits);
    }
    let bytes = width.bytes() as usize;
    let wide = ((side | ld) * bytes).is_multiple_of(16);
    // A tile's side, and the bytes that it takes in shared memory.
    let (tile, held) = match (wide, width) {
        // Columns of 32 words, and a word between them.
        (true, Width::B1) => (128, 128 * 33 * 4),
        (true, Width::B2) => (64, 64 * 33 * 4),
        (true, Width::B4) => (64, 64 * 65 * 4),
        _ => (32, 32 * 33 * bytes),
    };
    let tiles = side.div_ceil(tile);
    let words = [side, ld, tiles];
    let mut launch = launch(InPlaceKernel::Square, width, [1, 1], 256, 2 * held, words, [NONE; 4]);
    launch.grid = square_grid(tiles, ld, width);
    if wide {
        launch.entry = InPlaceKernel::wide_square(width);
    }
    Some(launch)
}

/// Tiles along a side of a square of tiles (`SQUARE_LOG2` of the kernel).
const SQUARE: usize = 32;

/// Rows that are a multiple of so many bytes apart meet in few banks of the memory.
const UNLUCKY_PITCH: usize = 1 << 17;

/// The grid that takes pairs of tiles, one after the other or in squares of them.
///
/// Measured on an H200 with 16 bytes: in squares 0.925 of a copy and else 0.902 where rows are 2¹⁸ bytes
/// apart, but 0.92 and 0.93 where they are 3 · 2¹⁶. Fewer bytes gain nothing from it.
fn square_grid(tiles: usize, ld: usize, width: Width) -> [u32; 3] {
    let unlucky = (ld * width.bytes() as usize).is_multiple_of(UNLUCKY_PITCH);
    let square = if width == Width::B16 && unlucky { SQUARE } else { 1 };
    let squares = tiles.div_ceil(square);
    [square * square, squares + 1, squares.div_ceil(2)].map(|n| n as u32)
}

/// Bytes of the two tiles that a block exchanges, if elements have several words.
const TUPLE_TILES_BYTES: usize = 40 << 10;

/// A square matrix of elements of several words.
fn square_tuples(shape: &Shape, limits: &Limits) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    let mut tile = 64;
    while tile > 1 && 2 * tile * tile * shape.element_bytes() > TUPLE_TILES_BYTES {
        tile /= 2;
    }
    let pitch = tuple_pitch(tile * tuple, tuple, width);
    let shared = 2 * tile * pitch * width.bytes() as usize;
    let tiles = side.div_ceil(tile);
    let mut launch = launch(
        InPlaceKernel::SquareTuples,
        width,
        [1, 1],
        256,
        shared,
        [side, ld, tiles, tile, pitch, tuple, 0],
        [(6, magic32(tuple)), NONE, NONE, NONE],
    );
    launch.grid = square_grid(tiles, ld * tuple, width);
    (shared <= limits.block_shared).then_some(launch)
}

/// Words from one segment of `words` words in shared memory to the next: of the least ones that have
/// room, that with the fewest bank conflicts between neighbouring segments.
fn tuple_pitch(words: usize, tuple: usize, width: Width) -> usize {
    let candidates = words..=words + (words / 16).max(4);
    candidates.min_by_key(|&pitch| conflicts(pitch, tuple, width)).unwrap_or(words)
}

/// The most words of 4 bytes that one bank serves when the lanes that are served together read whole
/// tuples, each from the next segment.
fn conflicts(pitch: usize, tuple: usize, width: Width) -> usize {
    let bytes = width.bytes() as usize;
    let lanes = 32.min(BANKS_BYTES / bytes);
    let mut banks = vec![Vec::new(); BANKS_BYTES / 4];
    for lane in 0..lanes {
        let first = (lane / tuple * pitch + lane % tuple) * bytes;
        for word in first / 4..(first + bytes).div_ceil(4) {
            let bank = &mut banks[word % (BANKS_BYTES / 4)];
            if !bank.contains(&word) {
                bank.push(word);
            }
        }
    }
    banks.iter().map(Vec::len).max().unwrap_or(0)
}

/// Panels whose rows become slots, or the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Panels {
    /// Rows of a panel: elements of a slot.
    pub length: usize,
    /// Elements of a row: slots of a panel.
    pub lines: usize,
    pub panels: usize,
    /// Elements left out after every `panels` slots.
    pub gap: usize,
    /// Slots become rows.
    pub to_rows: bool,
    pub tile_length: usize,
    pub tile_lines: usize,
    /// The most threads of a block, a multiple of 32.
    pub threads: usize,
    /// Words of an element.
    pub tuple: usize,
}

impl Panels {
    /// The blocks that hold a panel together.
    pub fn parts(&self) -> usize {
        self.length.div_ceil(self.tile_length) * self.lines.div_ceil(self.tile_lines)
    }

    /// Whether blocks wait for each other.
    fn waits(&self) -> bool {
        self.parts() > 1 || (self.gap > 0 && self.panels > 1)
    }

    /// The bytes of the counters.
    pub fn counter_bytes(&self) -> usize {
        if self.waits() { (1 + self.panels) * WORD } else { 0 }
    }

    /// Words from one segment in shared memory to the next, whether they are padded, and the words
    /// that a tile takes.
    fn held(&self, width: Width) -> (usize, bool, usize) {
        let (row, slot) = (self.tile_lines * self.tuple, self.tile_length * self.tuple);
        let whole_rows = self.tile_lines == self.lines;
        let banks = BANKS_BYTES / (width.bytes() as usize).max(4);
        match (self.to_rows, whole_rows) {
            // One segment, read with a stride of a row.
            (false, true) => {
                let words = self.tile_length * row;
                let padded = row.is_multiple_of(2);
                (row, padded, words + if padded { words / 32 } else { 0 })
            }
            (to_rows, _) if self.tuple > 1 => {
                let (segment, segments) =
                    if to_rows { (slot, self.tile_lines) } else { (row, self.tile_length) };
                let pitch = tuple_pitch(segment, self.tuple, width);
                (pitch, false, pitch * segments)
            }
            (false, false) => {
                let pitch = self.tile_lines | 1;
                (pitch, false, pitch * self.tile_length)
            }
            // Neighbours in a row of the result are `pitch` apart, neighbours in a column 1.
            (true, _) => {
                let step = banks.div_ceil(self.lines) % banks;
                let pitch = self.tile_length + (banks + step - self.tile_length % banks) % banks;
                let pitch = if self.lines < banks { pitch } else { self.tile_length | 1 };
                (pitch, false, pitch * self.tile_lines)
            }
        }
    }

    /// The bytes of shared memory that a tile takes.
    pub fn shared_bytes(&self, width: Width) -> usize {
        (self.held(width).2 * width.bytes() as usize).max(WORD)
    }

    pub fn launch(&self, width: Width) -> Launch {
        let Panels { length, lines, panels, gap, tile_length, tile_lines, tuple, .. } = *self;
        let (pitch, padded, _) = self.held(width);
        let threads =
            (tile_length * tile_lines * tuple / 8).next_multiple_of(32).clamp(32, self.threads);
        let mode =
            usize::from(self.to_rows) | usize::from(padded) << 1 | usize::from(self.waits()) << 2;
        launch(
            if tuple == 1 { InPlaceKernel::Panel } else { InPlaceKernel::PanelTuples },
            width,
            [panels * self.parts(), 1],
            threads,
            self.shared_bytes(width),
            [
                length,
                lines,
                0,
                panels,
                0,
                gap,
                panels,
                tile_length,
                tile_lines,
                pitch,
                mode,
                tuple,
                0,
            ],
            [(2, magic(lines * tuple)), (4, magic(panels)), (12, magic32(tuple)), NONE],
        )
    }
}

/// Cycles up to this length are short: a lane may walk them to find their lowest place.
const SHORT_CYCLE: usize = 64;

/// Cycles that a multiprocessor should have, if each is moved by one warp.
const CYCLES_EACH: usize = 128;

/// The length of the longest cycle, if it is short. As those of squares and of powers of two are. The
/// cycle of offset 1 is the longest: the lengths of the others divide its length.
fn short_cycle(rows: usize, cols: usize) -> Option<usize> {
    let length = cycle(1, rows, cols).take(SHORT_CYCLE + 1).count();
    (length <= SHORT_CYCLE).then_some(length)
}

/// A number near the golden section of `count` without a common divisor with it: its multiples
/// modulo `count` are all numbers below, in an order that is spread evenly and has no pattern.
fn scramble(count: usize) -> usize {
    let near = (count as f64 * 0.618_033_988_75) as usize;
    (near.max(1)..).find(|&number| gcd(number, count) == 1).unwrap_or(1)
}

/// Slots that move along the cycles of their transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    pub rows: usize,
    pub cols: usize,
    /// Elements of a slot.
    pub length: usize,
    /// Slots between two gaps.
    pub period: usize,
    /// Elements left out after every period.
    pub gap: usize,
    pub instances: usize,
}

impl Slots {
    /// Slots without a gap.
    pub fn dense(rows: usize, cols: usize, length: usize, instances: usize) -> Self {
        Slots { rows, cols, length, period: 1, gap: 0, instances }
    }

    /// Whether the kernel can count the slots.
    pub fn countable(&self) -> bool {
        self.rows.saturating_mul(self.cols) < 1 << 31 && self.length.max(self.gap) < 1 << 31
    }

    /// The launch, and the bytes of the flags.
    pub fn launch(
        &self,
        element_bytes: usize,
        limits: &Limits,
        options: &InPlaceOptions,
    ) -> (Launch, usize) {
        // The kernels move bytes: the widest words that fit slots and gaps.
        let width = Width::dividing([self.length, self.gap].map(|n| n * element_bytes));
        let bytes = width.bytes() as usize;
        let words = Slots {
            length: self.length * element_bytes / bytes,
            gap: self.gap * element_bytes / bytes,
            ..*self
        };
        if options.carry == Carry::SharedMemory {
            words.through_shared_memory(width, limits, options)
        } else if words.has_many_short_cycles(width, limits) {
            (words.by_leaders(width, limits), 0)
        } else {
            words.through_registers(width, limits)
        }
    }

    /// Whether one warp to a cycle leaves nobody idle.
    fn has_many_short_cycles(&self, width: Width, limits: &Limits) -> bool {
        let units = self.units(self.pieces(width).0);
        let many = |length| units / length >= CYCLES_EACH * limits.multiprocessors;
        units < 1 << 31 && short_cycle(self.rows, self.cols).is_some_and(many)
    }

    /// The pieces that a slot of so many words is cut into for the registers of a warp, and the words
    /// of one.
    fn pieces(&self, width: Width) -> (usize, usize) {
        let most = 32 * lane_words(width);
        let pieces = self.length.div_ceil(most);
        let piece = self.length.div_ceil(pieces);
        let piece = if pieces > 1 { piece.next_multiple_of(32) } else { piece };
        (self.length.div_ceil(piece), piece)
    }

    /// Long cycles, a flag to each piece.
    fn through_registers(&self, width: Width, limits: &Limits) -> (Launch, usize) {
        let (pieces, piece) = self.pieces(width);
        // As many bytes in flight with short pieces as with long ones.
        let kernel = match piece.div_ceil(8 * lane_words(width)) {
            0 | 1 => InPlaceKernel::PermuteShortest,
            2 => InPlaceKernel::PermuteShort,
            _ => InPlaceKernel::Permute,
        };
        let units = self.units(pieces);
        let threads = if limits.in_turn { 32 } else { 128 };
        // As many as their registers leave room for.
        let per_multiprocessor = if width.bytes() < 8 { 5 } else { 4 };
        let most = if limits.in_turn { 1 } else { per_multiprocessor * limits.multiprocessors };
        // A few pieces to a warp: those that find theirs moved already cost little.
        let blocks = units.div_ceil(threads / 8).clamp(1, most);
        (self.moving(kernel, width, [blocks, threads, 0], (pieces, piece)), flag_bytes(units))
    }

    /// Short cycles, each moved by one warp.
    fn by_leaders(&self, width: Width, limits: &Limits) -> Launch {
        let (pieces, piece) = self.pieces(width);
        let kernel = match piece.div_ceil(8 * lane_words(width)) {
            0 | 1 => InPlaceKernel::LeadersShort,
            _ => InPlaceKernel::Leaders,
        };
        let blocks = self.units(pieces).div_ceil(128).clamp(1, 16 * limits.multiprocessors);
        self.moving(kernel, width, [blocks, 128, 0], (pieces, piece))
    }

    /// Cycles of any length, by one step at a time; two pieces of any length to a warp.
    fn through_shared_memory(
        &self,
        width: Width,
        limits: &Limits,
        options: &InPlaceOptions,
    ) -> (Launch, usize) {
        let bytes = width.bytes() as usize;
        let room = limits.block_shared.min(options.on_chip_bytes.unwrap_or(usize::MAX));
        let pieces = (2 * self.length * bytes).div_ceil(room).min(self.length);
        let piece = self.length.div_ceil(pieces);
        let pieces = self.length.div_ceil(piece);
        let warps = if limits.in_turn { 1 } else { (room / (2 * piece * bytes)).clamp(1, 4) };
        let shared = warps * 2 * piece * bytes;
        let units = self.units(pieces);
        let per_multiprocessor = (limits.multiprocessor_shared / (shared + 1024)).clamp(1, 16);
        let most = if limits.in_turn { 1 } else { per_multiprocessor * limits.multiprocessors };
        let blocks = units.div_ceil(4 * warps).clamp(1, most);
        let blocks = [blocks, 32 * warps, shared];
        (self.moving(InPlaceKernel::Carry, width, blocks, (pieces, piece)), flag_bytes(units))
    }

    /// What is moved along cycles by itself.
    fn units(&self, pieces: usize) -> usize {
        self.rows * self.cols * pieces * self.instances
    }

    /// A launch of so many blocks, of so many threads and bytes of shared memory.
    fn moving(
        &self,
        kernel: InPlaceKernel,
        width: Width,
        [blocks, threads, shared]: [usize; 3],
        (pieces, piece): (usize, usize),
    ) -> Launch {
        let words = [
            self.rows,
            self.cols,
            0,
            self.length,
            piece,
            pieces,
            self.period,
            0,
            self.gap,
            self.instances,
            scramble(self.units(pieces).div_ceil(32)),
            0,
        ];
        let magics = [
            (2, magic32(self.cols)),
            (7, magic32(self.period)),
            (11, magic32(self.rows * self.cols)),
            NONE,
        ];
        launch(kernel, width, [blocks, 1], threads, shared, words, magics)
    }
}

/// The words of a super-element that a lane has room for.
fn lane_words(width: Width) -> usize {
    if width == Width::B16 { 4 } else { 8 }
}

/// Tiles of consecutive memory, `count` of them, each transposed by its cycles.
pub(super) fn flags(
    count: usize,
    rows: usize,
    cols: usize,
    spread: usize,
    padding: bool,
    width: Width,
    limits: &Limits,
) -> Launch {
    let threads = if limits.in_turn { 1 } else { threads_for(rows * cols, 256) };
    let words = (rows * cols * spread).div_ceil(32);
    let words = if padding { words + words / 32 } else { words };
    launch(
        InPlaceKernel::Flags,
        width,
        [count, 1],
        threads,
        words * WORD,
        [rows, cols, 0, spread.ilog2() as usize, usize::from(padding), words],
        [(2, magic(cols)), NONE, NONE, NONE],
    )
}

/// The bytes of shared memory that [`fused`] takes.
pub(super) fn fused_shared_bytes(tile_rows: usize, tile_cols: usize, width: Width) -> usize {
    let buffer = tile_rows * (tile_cols | 1) * width.bytes() as usize;
    16 + 2 * buffer.next_multiple_of(16)
}

/// `rows × cols` tiles moved along their cycles, and transposed; with the bytes of the flags.
pub(super) fn fused(
    (rows, cols): (usize, usize),
    (tile_rows, tile_cols): (usize, usize),
    width: Width,
    limits: &Limits,
) -> (Launch, usize) {
    let shared = fused_shared_bytes(tile_rows, tile_cols, width);
    let per_multiprocessor = (limits.multiprocessor_shared / (shared + 1024)).clamp(1, 8);
    let most = if limits.in_turn { 1 } else { limits.multiprocessors * per_multiprocessor };
    let blocks = most.min(rows * cols);
    let launch = launch(
        InPlaceKernel::Fused,
        width,
        [blocks, 1],
        threads_for(tile_rows * tile_cols, 256),
        shared,
        [rows, cols, 0, tile_rows, tile_cols, 0, tile_cols | 1],
        [(2, magic(cols)), (5, magic(tile_rows)), NONE, NONE],
    );
    (launch, flag_bytes(rows * cols))
}

/// Elements moved along cycles, a thread per cycle.
pub(super) fn cycles(rows: usize, cols: usize, width: Width, limits: &Limits) -> Launch {
    let threads = if limits.in_turn { 1 } else { 256 };
    let blocks = (rows * cols).div_ceil(threads).min(limits.multiprocessors * 64);
    launch(
        InPlaceKernel::Cycle,
        width,
        [blocks, 1],
        threads,
        0,
        [rows, cols, 0],
        [(2, magic(cols)), NONE, NONE, NONE],
    )
}

/// The row shuffle of the decomposition, so many rows to a block.
pub(super) fn shuffle_rows(
    d: &Decomposition,
    block_rows: usize,
    backwards: bool,
    width: Width,
) -> Launch {
    let elements = block_rows * d.cols;
    launch(
        InPlaceKernel::Rows,
        width,
        [d.rows.div_ceil(block_rows), 1],
        threads_for(elements, 512),
        elements * width.bytes() as usize,
        [
            d.rows,
            0,
            d.cols,
            0,
            d.common,
            0,
            d.wide,
            0,
            d.tall_inverse,
            block_rows,
            usize::from(backwards),
        ],
        [(1, magic(d.rows)), (3, magic(d.cols)), (5, magic(d.common)), (7, magic(d.wide))],
    )
}

/// Elements of a row that a block stages (`CHUNK` of the kernel).
const CHUNK: usize = 2048;

/// The row shuffle into the scratch memory, for so many rows from `first` on.
pub(super) fn stage_rows(
    d: &Decomposition,
    (first, count): (usize, usize),
    backwards: bool,
    width: Width,
) -> Launch {
    launch(
        InPlaceKernel::StageRows,
        width,
        [d.cols.div_ceil(CHUNK), count],
        256,
        0,
        [
            d.rows,
            0,
            d.cols,
            0,
            d.common,
            0,
            d.wide,
            0,
            d.tall_inverse,
            first,
            usize::from(backwards),
        ],
        [(1, magic(d.rows)), (3, magic(d.cols)), (5, magic(d.common)), (7, magic(d.wide))],
    )
}

/// A column permutation of the decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    /// Shuffle; otherwise turn.
    pub shuffle: bool,
    /// The inverse.
    pub backwards: bool,
    /// Columns of a strip.
    pub strip: usize,
    /// Rows of a part of a strip.
    pub part_rows: usize,
}

impl Columns {
    /// The bytes of the counters.
    pub fn counter_bytes(&self, d: &Decomposition) -> usize {
        if self.part_rows < d.rows { (1 + d.cols.div_ceil(self.strip)) * WORD } else { 0 }
    }

    pub fn launch(&self, d: &Decomposition, width: Width) -> Launch {
        let Columns { strip, part_rows, .. } = *self;
        let threads = threads_for(part_rows * strip, 512);
        let held = (part_rows + strip - 1) * strip * width.bytes() as usize;
        let mode = usize::from(self.shuffle)
            | usize::from(self.backwards) << 1
            | along(strip, threads) << 8;
        launch(
            InPlaceKernel::Columns,
            width,
            [d.cols.div_ceil(strip) * d.rows.div_ceil(part_rows), 1],
            threads,
            held.max(WORD),
            [
                d.rows,
                0,
                d.cols,
                strip,
                part_rows,
                d.common,
                0,
                d.tall,
                0,
                d.wide,
                0,
                d.wide_inverse,
                mode,
            ],
            [(1, magic(d.rows)), (6, magic(d.common)), (8, magic(d.tall)), (10, magic(d.wide))],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{conflicts, flag_bytes, gcd, scramble, short_cycle, tuple_pitch};
    use crate::kernels::Width;

    #[test]
    fn scrambled_words_are_all_words() {
        for count in 1..2000 {
            let number = scramble(count);
            assert!(number >= 1 && gcd(number, count) == 1, "{count}");
        }
        assert_eq!(flag_bytes(33), 8);
    }

    #[test]
    fn pitches_of_tuples_avoid_conflicts() {
        for (tuple, width) in [(3, Width::B4), (3, Width::B8), (5, Width::B4), (2, Width::B16)] {
            for words in (tuple * 40..tuple * 60).step_by(tuple) {
                let pitch = tuple_pitch(words, tuple, width);
                assert!(pitch >= words && conflicts(pitch, tuple, width) <= 2, "{tuple} {words}");
            }
        }
        assert_eq!(conflicts(32, 1, Width::B4), 32);
        assert_eq!(conflicts(33, 1, Width::B4), 1);
    }

    #[test]
    fn squares_and_powers_of_two_have_short_cycles() {
        assert_eq!(short_cycle(100, 100), Some(2));
        assert_eq!(short_cycle(16384, 128), Some(3));
        assert_eq!(short_cycle(16384, 64), Some(10));
        assert_eq!(short_cycle(125, 10000), None);
    }
}
