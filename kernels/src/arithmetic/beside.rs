//! Matrices that are transposed and added to what lies as the destination does, where rows start anywhere: the tiles of `compute_rows`, and beside them in shared memory
//! what a thread adds.
//!
//! A thread that asks for what it adds when the tile is there waits twice in each tile, and has few registers for what is on its way. So it asks before the tile is
//! loaded, and what comes waits in shared memory: `cp.async` (PTX ISA, "Asynchronous copy") needs no registers. A thread has a place for each unit that it asks for, and reads
//! what it asked for itself, so that no barrier is needed but to wait for its own copies. There is room for a round of columns; a tile whose elements become wider takes several rounds.
//!
//! Fewer blocks then run on a multiprocessor at a time, and more of its memory is left as a cache for what is on its way: decision 099.
//!
//! Only what is built for compute capability 9.0 has these copies; elsewhere a thread loads and keeps what it adds.

use super::arithmetic_entry;
use super::column::slid;
use super::matrices::{step_alike, InColumn, Pieces, Span, SpansOf};
use super::memory::{await_copies, load_shared_part, start_copy};
use super::operation::NoChannels;
use super::pair::{for_sizes, Pair};
use super::twos::Kept;
use crate::element::Element;
use crate::fast::per_vector;
use crate::launch::never_more_registers;
use cuda_std::thread;
use kernel_abi::arithmetic::{beside_bytes, span_elements, ComputeMatrices, SpanTile};
use kernel_abi::Width;

/// The columns of a tile that a thread has a unit of, from one of them on.
#[derive(Clone, Copy)]
struct Columns {
    span: Span<1>,
    /// The column, and how many there are.
    col: u32,
    cols: u32,
    /// Where the thread's unit of the column is.
    here: InColumn,
    /// The column's start in the destination, and what belongs to a unit of a span that starts on time.
    start: u64,
    second: u64,
    /// Bytes from a column to the next that the thread has.
    apart: u64,
    second_apart: u64,
    /// Row of the tile that a unit of a span that starts on time has first.
    on_time: u32,
}

impl Columns {
    /// Elements that spans start on multiples of.
    const fn of_sector<P: Pair>() -> u32 {
        span_elements(P::SRC, P::DST)
    }

    /// Bytes of a unit.
    const fn bytes<P: Pair>() -> usize {
        P::UNIT * P::DST
    }

    /// How many columns of a thread there is room for.
    const fn round<P: Pair>(threads: u32) -> u32 {
        beside_bytes(P::SRC, P::DST) / (threads * Self::bytes::<P>() as u32)
    }

    /// Units of a span in tiles of `rows` rows.
    const fn units<P: Pair>(rows: u32) -> u32 {
        (rows - Self::of_sector::<P>()) / P::UNIT as u32
    }

    /// Columns from one that a thread has to its next.
    const fn step<P: Pair>(rows: u32, threads: u32) -> u32 {
        step_alike(threads / Self::units::<P>(rows), Self::of_sector::<P>())
    }

    /// All of this thread's.
    #[inline(always)]
    fn of<
        P: Pair,
        E: Element,
        const ROW_VECTORS: u32,
        const ROWS: u32,
        const PITCH: u32,
        const GROUP: u32,
        const THREADS: u32,
    >(
        params: &ComputeMatrices,
        pieces: &Pieces<E>,
        tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    ) -> Self {
        let of_sector = Self::of_sector::<P>();
        let (units, step) = (Self::units::<P>(ROWS), Self::step::<P>(ROWS, THREADS));
        let t = thread::thread_idx_x();
        let (number, col) = (t % units, t / units);
        let cols = if col < step { tile.cols(&pieces.matrices) } else { 0 };
        let on_time = of_sector - 1 + number * P::UNIT as u32;
        let row = tile.row + on_time as i64;
        let span = Span::<1>::of_rows(row, tile.row, pieces.matrices.rows, on_time);
        let first_col = tile.col + col as u64;
        let start = pieces.dst + first_col * pieces.stride;
        Columns {
            span,
            col,
            cols,
            here: span.in_column::<P>(start),
            start,
            second: pieces.second_of(params, row, first_col),
            apart: step as u64 * pieces.stride,
            second_apart: params.other_cols.wrapping_mul(step as u64),
            on_time,
        }
    }

    /// This thread's first place of those from `slots` on.
    #[inline(always)]
    fn first_slot<P: Pair>(slots: u32) -> u32 {
        slots + thread::thread_idx_x() * Self::bytes::<P>() as u32
    }

    /// Whether there is another column.
    #[inline(always)]
    fn is_there(&self) -> bool {
        self.col < self.cols
    }

    /// Goes on to the thread's next column.
    #[inline(always)]
    fn go_on<P: Pair>(&mut self, step: u32) {
        self.col += step;
        self.start = self.start.wrapping_add(self.apart);
        self.second = self.second.wrapping_add(self.second_apart);
        self.here = if step.is_multiple_of(Self::of_sector::<P>()) {
            self.here.further(self.apart)
        } else {
            self.span.in_column::<P>(self.start)
        };
    }

    /// The address of what is added to the unit.
    #[inline(always)]
    fn from<P: Pair>(&self) -> u64 {
        self.second.wrapping_sub(self.here.early as u64 * P::DST as u64)
    }

    /// Whether what is added to the unit is asked for: all of it is there, in one piece.
    #[inline(always)]
    fn is_asked_for<P: Pair>(&self) -> bool {
        let starts_on_unit = (self.from::<P>() as usize).is_multiple_of(Self::bytes::<P>());
        self.here.units.are_whole::<P, 1>() && starts_on_unit
    }

    /// Asks for what is added to a round of columns.
    ///
    /// # Safety
    /// The second operand has it, and the block's shared memory has [`beside_bytes`] from `slots` on. No copy to this thread's places there is on its way.
    #[inline(always)]
    unsafe fn ask<P: Pair, const ROWS: u32, const THREADS: u32>(mut self, slots: u32) {
        let bytes = Self::bytes::<P>();
        let mut slot = Self::first_slot::<P>(slots);
        for _ in 0..Self::round::<P>(THREADS) {
            if !self.is_there() {
                break;
            }
            if self.is_asked_for::<P>() {
                // SAFETY: the caller's obligations.
                unsafe { start_copy(slot, self.from::<P>(), bytes) };
            }
            slot += THREADS * bytes as u32;
            self.go_on::<P>(Self::step::<P>(ROWS, THREADS));
        }
    }
}

/// This thread's columns, of which it has asked for what is added to the first round.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn ask<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    slots: u32,
) -> Columns {
    let columns =
        Columns::of::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, THREADS>(params, pieces, tile);
    // SAFETY: the caller's obligations.
    unsafe { columns.ask::<P, ROWS, THREADS>(slots) };
    columns
}

/// Computes the spans of a transposed tile's columns, round by round.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile, and [`ask`] gave the columns.
#[inline(always)]
unsafe fn add<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    slots: u32,
    mut columns: Columns,
) {
    let bytes = Columns::bytes::<P>();
    while columns.is_there() {
        let mut slot = Columns::first_slot::<P>(slots);
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile; what this thread has copied, it waits for.
        unsafe {
            await_copies();
            for _ in 0..Columns::round::<P>(THREADS) {
                if !columns.is_there() {
                    break;
                }
                let InColumn { early, units } = columns.here;
                let others = if columns.is_asked_for::<P>() {
                    [load_shared_part(slot, bytes)]
                } else {
                    units.others::<P, 1>(columns.from::<P>())
                };
                let byte = (columns.on_time - early) * P::SRC as u32;
                let kept = |byte| tile.transposed.address(columns.col, byte);
                let values = slid::<P, E, 1>(kept, byte);
                let results =
                    P::compute::<true, 1>(&params.operation, values, others, &[NoChannels]);
                units.store::<P, 1>(results);
                slot += THREADS * bytes as u32;
                columns.go_on::<P>(Columns::step::<P>(ROWS, THREADS));
            }
            columns.ask::<P, ROWS, THREADS>(slots);
        }
    }
}

/// Defines an entry point.
macro_rules! compute_rows_beside {
    ($name:ident: $element:ty, $width:ident, $bytes:tt, $registers:expr) => {
        arithmetic_entry! {
            "Transposes matrices whose rows start anywhere, and adds what lies as the destination does.",
            COMPUTE_ROWS_BESIDE: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: SpanTile = SpanTile::of(Width::$width);
                // Left to itself the assembler stops at fewer on some chips, and spills.
                never_more_registers::<{ $registers }>();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const THREADS: u32 = TILE.block()[0];
                let bytes = cuda_std::shared_array![crate::element::B16; TILE.vectors() as usize];
                let base = crate::tile::shared_address(bytes.cast());
                let slots = crate::tile::shared_address(cuda_std::shared::dynamic_shared_mem::<u8>());
                let pieces = Pieces::of_block(src, dst, &params);
                // As in `compute_rows`, constants to choose from by a shift.
                const OF_SECTOR: u64 = super::matrices::of_sector(size_of::<$element>());
                let of_sector = (OF_SECTOR >> (7 * params.operation.dst_bytes)) as u32 % 128;
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                let columns = for_sizes!($bytes matrices, params, ask(&params, &pieces, tile, slots),
                    [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, THREADS]);
                tile.load_as::<R>(&pieces.matrices, &Kept::<false>);
                for_sizes!($bytes matrices, params, add(&params, tile, slots, columns),
                    [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, THREADS])
            }
        }
    };
}

compute_rows_beside!(compute_rows_beside_b1: u8, B1, 1, 96);
compute_rows_beside!(compute_rows_beside_b2: u16, B2, 2, 96);
compute_rows_beside!(compute_rows_beside_b4: u32, B4, 4, 96);
compute_rows_beside!(compute_rows_beside_b8: u64, B8, 8, 64);
