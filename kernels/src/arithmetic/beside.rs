//! Matrices that are transposed and added to what lies as the destination does, where rows start anywhere: the tiles of `compute_rows`, and beside them in shared memory
//! what a thread adds.
//!
//! A thread that asks for what it adds when the tile is there waits twice in each tile, and has few registers for what is on its way. So it asks before the tile is
//! loaded, and what comes waits in shared memory: `cp.async` (PTX ISA, "Asynchronous copy") needs no registers. A thread has a place for each unit that it asks for, and reads
//! what it asked for itself, so that no barrier is needed but to wait for its own copies.
//!
//! There is room for all that is added to a tile: one that asks again for what had no room waits again, and reads between its stores. So tiles of elements that become
//! wider have fewer columns, which fewer threads load than compute. And they have as many rows as leave the cache its room, for what waits at barriers is the less of a block's time the more it moves, and
//! spans of narrow results are longer: decision 129. Fewer blocks then run on a multiprocessor at a time, and more of its memory is left as a cache for what is on its way:
//! decision 099.
//!
//! Only what is built for compute capability 9.0 has these copies, and plans choose the kernel there alone; elsewhere a thread loads what it adds unit by unit.

use super::arithmetic_entry;
use super::column::{slid, Units};
use super::matrices::{together, Pieces, SpansOf};
use super::memory::{await_copies, get, load_shared_part, put, start_copy, store_part};
use super::operation::NoChannels;
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::fast::rows::OnTheWayIn;
use crate::fast::{per_vector, VECTOR};
use crate::launch::{is_hopper, never_more_registers};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::arithmetic::{
    flags, span_align, span_elements, step_alike, ComputeMatrices, Format, Operation, SpanTile,
    BESIDE_THREADS,
};
use kernel_abi::Width;

/// Elements stay what they are on the way in; `SOME_LOAD` says whether some threads of a block load none, and `LOOKS_ONCE` whether they have one micro-block: of two LLVM would keep what is loaded in memory.
struct BySome<const SOME_LOAD: bool, const LOOKS_ONCE: bool>;

impl<E: Element, const SOME_LOAD: bool, const LOOKS_ONCE: bool> OnTheWayIn<E>
    for BySome<SOME_LOAD, LOOKS_ONCE>
{
    const LOOKS_ONCE: bool = LOOKS_ONCE;
    const SOME_LOAD: bool = SOME_LOAD;
}

/// The columns of a tile that a thread has a unit of, from one of them on.
#[derive(Clone, Copy)]
struct Columns {
    /// The column, and how many there are from it on.
    col: u32,
    left: u32,
    /// Row of the tile that a unit of a span that starts on time has first.
    on_time: u32,
    /// Elements that the column's span is early, and the destination's address of the unit.
    early: u32,
    at: u64,
    /// Bytes from a column of the thread to its next.
    apart: u64,
    /// Bytes from the destination to what is added to it.
    beside: u64,
    /// The thread's place for what is added to the column.
    slot: u32,
    /// Whether all of every column's unit is known to be there, and what is added to it is asked for.
    are_whole: bool,
}

impl Columns {
    /// Elements that spans start on multiples of.
    const fn of_sector<P: Pair>() -> u32 {
        span_elements(P::SRC, P::DST)
    }

    /// Elements of the units that a thread has in a column, and their bytes.
    const fn elements<P: Pair>() -> u32 {
        (together::<P>() * P::UNIT) as u32
    }

    const fn bytes<P: Pair>() -> u32 {
        Self::elements::<P>() * P::DST as u32
    }

    /// How many threads have units of one column, in tiles of `rows` rows.
    const fn threads<P: Pair>(rows: u32) -> u32 {
        (rows - Self::of_sector::<P>()) / Self::elements::<P>()
    }

    /// Columns from one that a thread has to its next.
    const fn step<P: Pair>(rows: u32) -> u32 {
        step_alike(BESIDE_THREADS / Self::threads::<P>(rows), Self::of_sector::<P>())
    }

    /// Whether the spans of all columns of a thread start alike.
    const fn are_alike<P: Pair>(rows: u32) -> bool {
        Self::step::<P>(rows).is_multiple_of(Self::of_sector::<P>())
    }

    /// All of this thread's, whose places are from `slots` on.
    #[inline(always)]
    fn of<
        P: Pair,
        E: Element,
        const ROW_VECTORS: u32,
        const ROWS: u32,
        const PITCH: u32,
        const GROUP: u32,
    >(
        pieces: &Pieces<E>,
        tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
        slots: u32,
    ) -> Self {
        let (threads, step) = (Self::threads::<P>(ROWS), Self::step::<P>(ROWS));
        let t = thread::thread_idx_x();
        let (number, col) = (t % threads, t / threads);
        let cols = tile.cols(&pieces.matrices);
        let left = if col < step && col < cols { (cols - col).div_ceil(step) } else { 0 };
        let on_time = Self::of_sector::<P>() - 1 + number * Self::elements::<P>();
        // What all threads have in common, and what they do not.
        let of_tile = pieces.dst.wrapping_add(tile.col * pieces.stride);
        let start = of_tile.wrapping_add(col as u64 * pieces.stride);
        let early = (start as u32 % span_align(P::SRC, P::DST) as u32) / P::DST as u32;
        let of_rows = (tile.row as u64).wrapping_mul(P::DST as u64);
        let at =
            start.wrapping_add(of_rows).wrapping_add(((on_time - early) * P::DST as u32) as u64);
        let is_inside = tile.row >= 0 && (tile.row + ROWS as i64) as u64 <= pieces.matrices.rows;
        let mut columns = Columns {
            col,
            left,
            on_time,
            early,
            at,
            apart: step as u64 * pieces.stride,
            beside: pieces.beside,
            slot: slots + t * Self::bytes::<P>(),
            are_whole: is_hopper() && is_inside,
        };
        if is_hopper() && !is_inside && Self::are_alike::<P>(ROWS) {
            let units = columns.unit(pieces, tile);
            columns.are_whole = match together::<P>() {
                1 => units.are_whole::<P, 1>(),
                _ => units.are_whole::<P, 2>(),
            };
        }
        columns
    }

    /// The unit of the column, and how much of it is there.
    #[inline(always)]
    fn unit<
        E: Element,
        const ROW_VECTORS: u32,
        const ROWS: u32,
        const PITCH: u32,
        const GROUP: u32,
    >(
        &self,
        pieces: &Pieces<E>,
        tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    ) -> Units {
        // As far as it matters.
        let near = |rows: i64| rows.clamp(-1 << 16, 1 << 16) as i32;
        let row = (self.on_time - self.early) as i32;
        let end = near(pieces.matrices.rows as i64 - tile.row) - row;
        Units { at: self.at, first: near(-tile.row) - row, end }
    }

    /// The byte of the tile's column that the unit begins at.
    #[inline(always)]
    fn byte<P: Pair>(&self) -> u32 {
        (self.on_time - self.early) * P::SRC as u32
    }

    /// Goes on to the thread's next column.
    #[inline(always)]
    fn go_on<P: Pair, const ROWS: u32>(&mut self) {
        let step = Self::step::<P>(ROWS);
        self.col += step;
        self.left -= 1;
        self.slot += step * Self::threads::<P>(ROWS) * Self::bytes::<P>();
        self.at = self.at.wrapping_add(self.apart);
        if !Self::are_alike::<P>(ROWS) {
            // Later than the column before by as much as it starts further inside a sector, or else a sector less.
            let of_sector = Self::of_sector::<P>();
            let early = (self.early + self.apart as u32 / P::DST as u32) % of_sector;
            let later = (self.early as i32 - early as i32) * P::DST as i32;
            self.at = self.at.wrapping_add(later as u64);
            self.early = early;
        }
    }

    /// Asks for what is added to all of them, if the units are whole.
    ///
    /// # Safety
    /// The second operand has it, and the places are the thread's. No copy to them is on its way.
    #[inline(always)]
    unsafe fn ask<P: Pair, const ROWS: u32>(mut self) {
        if !self.are_whole {
            return;
        }
        while self.left > 0 {
            let from = self.at.wrapping_add(self.beside);
            // SAFETY: the caller's obligations; a second operand of this kernel starts on units where the destination does.
            unsafe { start_copy(self.slot, from, Self::bytes::<P>() as usize) };
            self.go_on::<P, ROWS>();
        }
    }
}

/// This thread's columns, of which it has asked for what is added to them.
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
>(
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    slots: u32,
) -> Columns {
    let columns = Columns::of::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP>(pieces, tile, slots);
    // SAFETY: the caller's obligations.
    unsafe { columns.ask::<P, ROWS>() };
    columns
}

/// Computes the spans of a transposed tile's columns.
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
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    columns: Columns,
) {
    let operation = params.operation;
    let formats = [operation.src as u32, operation.dst as u32];
    macro_rules! together {
        ($add:ident($($arg:expr),+)) => {
            match together::<P>() {
                1 => $add::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, 1>($($arg),+),
                _ => $add::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, 2>($($arg),+),
            }
        };
    }
    await_copies();
    if !columns.are_whole {
        // SAFETY: the caller's obligations.
        return unsafe { together!(add_parts(&operation, pieces, tile, columns)) };
    }
    // What most sums are of is compiled once more for these formats, which then take no instructions to be looked at.
    macro_rules! common {
        ($($src:ident to $dst:ident),+) => { $(
            if P::SRC == Format::$src.bytes()
                && P::DST == Format::$dst.bytes()
                && formats == [Format::$src as u32, Format::$dst as u32]
                && operation.flags == flags::OTHER
            {
                let (src, dst) = (Format::$src as u64, Format::$dst as u64);
                let operation = Operation { src, dst, flags: flags::OTHER, ..operation };
                // SAFETY: the caller's obligations; the units are whole.
                return unsafe { together!(add_whole(&operation, tile, columns)) };
            }
        )+ };
    }
    common!(
        F32 to F32, BF16 to BF16, F16 to F16, BF16 to F32, F16 to F32, U8 to F32, U8 to F16, F32 to F16, F32 to BF16
    );
    // SAFETY: the caller's obligations; the units are whole.
    unsafe { together!(add_whole(&operation, tile, columns)) }
}

/// [`add`], of units that are whole.
///
/// # Safety
/// Its obligations; the thread has waited for its copies.
#[inline(always)]
unsafe fn add_whole<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const K: usize,
>(
    operation: &Operation,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    mut columns: Columns,
) {
    let bytes = Columns::bytes::<P>() as usize;
    while columns.left > 0 {
        let kept = |byte| tile.transposed.address(columns.col, byte);
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile.
        unsafe {
            let others = load_shared_part(columns.slot, bytes);
            let others = core::array::from_fn(|k| get(others, k, P::UNIT * P::DST));
            let values = slid::<P, K>(kept, columns.byte::<P>());
            let results = P::compute::<true, K>(operation, values, others, &[NoChannels; K]);
            let mut words = [0; 4];
            for k in 0..K {
                put(&mut words, k, P::UNIT * P::DST, results[k]);
            }
            store_part(columns.at, bytes, B16::from_u32s(words));
        }
        columns.go_on::<P, ROWS>();
    }
}

/// [`add`], of units of which there may be a part: at the source's first and last rows.
///
/// # Safety
/// Its obligations.
#[inline(always)]
unsafe fn add_parts<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const K: usize,
>(
    operation: &Operation,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    mut columns: Columns,
) {
    while columns.left > 0 {
        let units = columns.unit(pieces, tile);
        let kept = |byte| tile.transposed.address(columns.col, byte);
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile.
        unsafe {
            let others = units.others::<P, K>(columns.at.wrapping_add(columns.beside));
            let values = slid::<P, K>(kept, columns.byte::<P>());
            let results = P::compute::<true, K>(operation, values, others, &[NoChannels; K]);
            units.store::<P, K>(results);
        }
        columns.go_on::<P, ROWS>();
    }
}

/// Defines an entry point: for which sizes of the destination's elements there is which tile, the first one for those that have no other.
macro_rules! compute_rows_beside {
    ($name:ident: $element:ty, $width:ident, $bytes:tt, $first:ident as $of:literal $(, $sizes:ident if $dst_bytes:literal)*) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Transposes matrices whose rows start anywhere, and adds what lies as the destination does.",
            COMPUTE_ROWS_BESIDE: ComputeMatrices, $name: $element, |src, dst, params| {
                if is_hopper() {
                    never_more_registers::<64>();
                } else {
                    // Left to itself the assembler stops at fewer on some chips, and spills.
                    never_more_registers::<128>();
                }
                $(if params.operation.dst_bytes == $dst_bytes {
                    return compute_rows_beside!(@tile $dst_bytes, $sizes, src, dst, params, $element, $width, $bytes);
                })*
                compute_rows_beside!(@tile $of, $first, src, dst, params, $element, $width, $bytes)
            }
        }
    };
    (@tile $dst_bytes:literal, $sizes:ident, $src:ident, $dst:ident, $params:ident, $element:ty, $width:ident, $bytes:tt) => {{
        const TILE: SpanTile = SpanTile::beside(Width::$width, $dst_bytes);
        const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
        const GROUP: u32 = per_vector::<$element>();
        const R: usize = TILE.block_rows as usize;
        const BLOCKS: usize = TILE.micro_blocks as usize;
        let base = crate::tile::shared_address(dynamic_shared_mem::<u8>());
        let slots = base + TILE.vectors() * VECTOR;
        let pieces = Pieces::of_block($src, $dst, &$params);
        // As in `compute_rows`, constants to choose from by a shift.
        const OF_SECTOR: u64 = super::matrices::of_sector(size_of::<$element>());
        let of_sector = (OF_SECTOR >> (7 * $params.operation.dst_bytes)) as u32 % 128;
        let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
        let columns = for_sizes!($bytes $sizes, $params, ask(&pieces, tile, slots),
            [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP]);
        tile.load_as::<R, BLOCKS, _>(&pieces.matrices, &BySome::<{ TILE.loaders() < BESIDE_THREADS }, { TILE.micro_blocks == 1 }>);
        for_sizes!($bytes $sizes, $params, add(&$params, &pieces, tile, columns),
            [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP])
    }};
}

compute_rows_beside!(compute_rows_beside_b1: u8, B1, 1, four_times as 4, alike if 1, twice if 2);
compute_rows_beside!(compute_rows_beside_b2: u16, B2, 2, alike as 2, narrower if 1, twice if 4);
compute_rows_beside!(compute_rows_beside_b4: u32, B4, 4, narrower as 2, alike if 4, twice if 8);
compute_rows_beside!(compute_rows_beside_b8: u64, B8, 8, narrower as 4, alike if 8);
