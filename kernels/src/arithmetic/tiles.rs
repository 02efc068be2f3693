//! Moves that compute, whose fastest axis changes: through the transposed tile of [`tensor::tiles`](crate::tensor::tiles).
//!
//! The tile is loaded as there, in elements of the source. It is computed on the way out: a thread loads units of columns from shared memory, computes them, and
//! stores them, by vectors on the side whose elements have more bytes. Where columns start anywhere, units start where the destination's do: a thread slides
//! what it loads out of two vectors, and stores those elements that its column has. Those would be parts of units at both ends of each column; so tiles have a unit's rows more,
//! *early* ones, which the tile before has as well, and meet on units ([`Place::meeting`]). Where the units of a column are is found once for all of them, in a table.
//!
//! The second operand is on its way before the unit ahead of it is computed, the first unit's before the tile is; and what a column ends with is fetched into the cache where it ends inside a line
//! ([`fetch`](super::fetch)).

use super::arithmetic_entry;
use super::fetch::{self, LINE};
use super::memory::{get, load_part, load_shared_part, put, store_part};
use super::operation::NoChannels;
use super::pair::{for_sizes, Pair};
use crate::element::{Element, B16};
use crate::global::{can_copy, fetch_sector};
use crate::launch::{is_hopper, never_more_registers};
use crate::slide::slide;
use crate::tensor::axes::{divide, elsewhere, unrolled};
use crate::tensor::on_the_way::AsTheyAre;
use crate::tensor::tile::{loader, Offsets, Place, Source, Tile};
use crate::tensor::tiles::load;
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeTiles};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{TileShape, Tiles};
use kernel_abi::Width;

/// A block's tile.
#[derive(Clone, Copy)]
pub(super) struct Held<E> {
    pub tile: Tile<E>,
    pub offsets: Offsets,
    pub place: Place,
}

impl<E: Element> Held<E> {
    /// That of this block, of which nothing is loaded yet.
    ///
    /// # Safety
    /// The obligations of the entry points.
    #[inline(always)]
    pub unsafe fn of_block(dst: u64, params: &ComputeTiles) -> Self {
        let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
        let tiles = &params.tiles;
        // SAFETY: the caller's obligations; the block's own memory.
        let held = unsafe {
            let base = crate::tile::shared_address(memory);
            let tile = Tile::<E>::new(base, tiles);
            let place = Place::of_block(tiles);
            let cols = base + tiles.tile as u32;
            let rows = cols + tiles.cols.tile as u32 * COLUMN_BYTES;
            let end = rows + (tiles.rows.tile as u32 + tiles.early as u32) * Offsets::BYTES;
            Held { tile, offsets: Offsets { rows, cols, end }, place }
        };
        // SAFETY: the block's own memory.
        unsafe { held.fill_tables(dst, params) };
        held.fill_ends(params);
        thread::sync_threads();
        held
    }

    /// Fills the last vector of each column if the column ends inside it, so that whole vectors can be loaded. The tile is stored over that.
    #[inline(always)]
    fn fill_ends(&self, params: &ComputeTiles) {
        let per_vector = VECTOR / size_of::<E>() as u32;
        let rows = self.place.rows / per_vector * per_vector;
        if rows == self.place.rows {
            return;
        }
        let mut col = thread::thread_idx_x();
        while col < self.place.cols {
            let at = self.tile.address(rows, col, loader::<E>(&params.tiles, col));
            // SAFETY: a vector of a column, which no other thread stores to before the barrier.
            unsafe { B16::ANY.store_shared(at) };
            col += thread::block_dim_x();
        }
    }

    /// Fills the tables: for each row, bytes from the tile's start in the source to where it starts, and each [`Column`].
    ///
    /// # Safety
    /// There is shared memory for them, which nothing else uses before the next barrier.
    #[inline(always)]
    unsafe fn fill_tables(&self, dst: u64, params: &ComputeTiles) {
        let Tiles { rows, cols, early, .. } = &params.tiles;
        let (all_rows, all_cols) = (rows.tile as u32 + *early as u32, cols.tile as u32);
        let mut index = thread::thread_idx_x();
        let beside = params.operation.other.wrapping_sub(dst);
        let fetches = fetch::is_wanted(&params.operation);
        // SAFETY: entries of the tables, which no other thread has.
        unsafe {
            while index < all_cols {
                let before = self.place.to.wrapping_add(elsewhere(cols, index));
                let start = dst.wrapping_add(before.wrapping_mul(params.operation.dst_bytes));
                let column = Column::of(start, self.place, params);
                column.store(self.offsets.cols + index * COLUMN_BYTES);
                if fetches {
                    column.fetch_end(beside, params);
                }
                index += thread::block_dim_x();
            }
            index -= all_cols;
            while index < all_rows {
                let words = elsewhere(rows, index).wrapping_mul(size_of::<E>() as u64);
                words.store_shared(self.offsets.rows + index * Offsets::BYTES);
                index += thread::block_dim_x();
            }
        }
    }
}

/// What the block's threads know of a column.
#[derive(Clone, Copy)]
struct Column {
    /// The destination's address of its first unit.
    at: u64,
    /// That unit's first row, before the first one if columns start anywhere.
    row: i32,
    /// The rows that the tile stores: the first, and behind the last.
    first: u32,
    end: u32,
}

/// Bytes of a [`Column`] in its table.
const COLUMN_BYTES: u32 = VECTOR;

impl Column {
    /// The column whose first row goes to the address `start`.
    #[inline(always)]
    fn of(start: u64, place: Place, params: &ComputeTiles) -> Self {
        let shift = params.operation.dst_bytes.trailing_zeros();
        let elements = (start >> shift) as u32;
        // Elements of the unit that a row lies in, before it.
        let before = |row: u32| elements.wrapping_add(row) & (params.unit as u32 - 1);
        let (first, end) = place.meeting(&params.tiles, before);
        let row = first as i32 - before(first) as i32;
        let at = start.wrapping_add(((row as i64) << shift) as u64);
        Column { at, row, first, end }
    }

    /// Fetches what is added to its last element, `beside` bytes from that, if the column is as long as a line of the caches and ends inside one: other blocks store to the rest of that. (Of shorter columns
    /// more would be fetched than is added.)
    ///
    /// # Safety
    /// The second operand has what the column has.
    #[inline(always)]
    unsafe fn fetch_end(&self, beside: u64, params: &ComputeTiles) {
        let shift = params.operation.dst_bytes.trailing_zeros();
        let is_long = self.end.saturating_sub(self.first) << shift >= LINE;
        let end = self.at.wrapping_add(((self.end as i32 - self.row) as u64) << shift);
        if is_long && !(end as u32).is_multiple_of(LINE) {
            // SAFETY: the caller's obligations.
            unsafe { fetch_sector(end.wrapping_add(beside).wrapping_sub(1)) }
        }
    }

    /// Stores it to the table.
    ///
    /// # Safety
    /// An entry of the table, which no other thread has.
    #[inline(always)]
    unsafe fn store(&self, at: u32) {
        let ends = self.first | self.end << 16;
        // SAFETY: the caller's obligations.
        unsafe {
            B16(self.at as u32, (self.at >> 32) as u32, self.row as u32, ends).store_shared(at);
        }
    }

    /// Loads it from the table.
    ///
    /// # Safety
    /// An entry of the table; a barrier separates this from what filled it.
    #[inline(always)]
    unsafe fn load(at: u32) -> Self {
        // SAFETY: the caller's obligations.
        let B16(low, high, row, ends) = unsafe { B16::load_shared(at) };
        let at = low as u64 | (high as u64) << 32;
        Column { at, row: row as i32, first: ends & 0xffff, end: ends >> 16 }
    }
}

/// A unit of a column.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// The column.
    col: u32,
    /// The unit's first row.
    row: i32,
    /// The destination's address of that row.
    pub at: u64,
    /// The rows that the tile stores of the column: the first, and behind the last.
    first: i32,
    end: i32,
}

impl Spot {
    /// The unit of a number, of those that the tile's columns have.
    ///
    /// # Safety
    /// A barrier separates this from what filled the tables.
    #[inline(always)]
    pub unsafe fn of<P: Pair, E: Element, const WHOLE: bool>(
        number: u32,
        params: &ComputeTiles,
        held: Held<E>,
    ) -> Self {
        let (col, index) = divide(number, params.col_units);
        // SAFETY: the caller's obligations.
        let column = unsafe { Column::load(held.offsets.cols + col * COLUMN_BYTES) };
        let before = index * P::UNIT as u32;
        let at = column.at.wrapping_add((before * P::DST as u32) as u64);
        if WHOLE {
            // What is loaded of the tile does not wait for the table.
            return Spot { col, row: before as i32, at, first: 0, end: held.place.rows as i32 };
        }
        Spot {
            col,
            row: column.row + before as i32,
            at,
            first: column.first as i32,
            end: column.end as i32,
        }
    }

    /// Whether the tile stores all elements.
    #[inline(always)]
    fn is_whole<P: Pair>(&self) -> bool {
        self.row >= self.first && self.row + P::UNIT as i32 <= self.end
    }

    /// Whether it stores the `j`-th element.
    #[inline(always)]
    fn has(&self, j: usize) -> bool {
        let row = self.row + j as i32;
        row >= self.first && row < self.end
    }

    /// The elements of the source.
    ///
    /// # Safety
    /// A barrier separates this from what loaded the tile.
    #[inline(always)]
    pub unsafe fn elements<P: Pair, E: Element, const WHOLE: bool>(
        &self,
        params: &ComputeTiles,
        held: Held<E>,
    ) -> B16 {
        let vector = loader::<E>(&params.tiles, self.col);
        let address = |row: i32| held.tile.address(row as u32, self.col, vector);
        // SAFETY: vectors of which the column has an element.
        unsafe {
            if WHOLE {
                if self.row < self.end {
                    return load_shared_part(address(self.row), P::UNIT * P::SRC);
                }
                return B16::ANY;
            }
            let per_vector = VECTOR as i32 / P::SRC as i32;
            let first = self.row & -per_vector;
            let second = first + per_vector;
            let in_second = second < self.row + P::UNIT as i32 && second < self.end;
            let load = |row: i32, is_needed: bool| {
                if is_needed {
                    B16::load_shared(address(row))
                } else {
                    B16::ANY
                }
            };
            let low = load(first, first >= 0 && first < self.end);
            let high = load(second, in_second);
            slide::<E>(low, high, (self.row - first) as u32 * P::SRC as u32)
        }
    }

    /// The elements of the second operand, so many bytes beside the destination's.
    ///
    /// # Safety
    /// The operand has the column's elements.
    #[inline(always)]
    unsafe fn others<P: Pair>(&self, beside: u64) -> B16 {
        let at = self.at.wrapping_add(beside);
        // SAFETY: the caller's obligations.
        unsafe {
            if self.is_whole::<P>() {
                return load_part(at, P::UNIT * P::DST);
            }
            let mut words = [0u32; 4];
            unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                if self.has(J) {
                    let element = load_part(at.wrapping_add((J * P::DST) as u64), P::DST);
                    put(&mut words, J, P::DST, element);
                }
            } }
            B16::from_u32s(words)
        }
    }

    /// Stores the results.
    ///
    /// # Safety
    /// No other thread has the unit.
    #[inline(always)]
    pub unsafe fn store<P: Pair>(&self, results: B16) {
        let at = self.at;
        // SAFETY: the caller's obligations.
        unsafe {
            if self.is_whole::<P>() {
                store_part(at, P::UNIT * P::DST, results);
            } else {
                unrolled! { J in [0 1 2 3 4 5 6 7] of P::UNIT => {
                    if self.has(J) {
                        let element = get(results, J, P::DST);
                        store_part(at.wrapping_add((J * P::DST) as u64), P::DST, element);
                    }
                } }
            }
        }
    }
}

/// Loads the second operand's part of a thread's first unit.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what filled the tables.
#[inline(always)]
unsafe fn first_other<P: Pair>(dst: u64, params: &ComputeTiles, held: Held<impl Element>) -> B16 {
    if params.operation.flags & flags::OTHER == 0 {
        return B16::ANY;
    }
    let beside = params.operation.other.wrapping_sub(dst);
    let number = thread::thread_idx_x();
    if number >= held.place.cols * params.col_units as u32 {
        return B16::ANY;
    }
    // SAFETY: the caller's obligations.
    unsafe {
        if params.whole != 0 {
            Spot::of::<P, _, true>(number, params, held).others::<P>(beside)
        } else {
            Spot::of::<P, _, false>(number, params, held).others::<P>(beside)
        }
    }
}

/// Computes a tile.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile.
#[inline(always)]
unsafe fn store<P: Pair>(
    dst: u64,
    params: &ComputeTiles,
    held: Held<impl Element>,
    first_other: B16,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        if params.whole != 0 {
            store_columns::<P, _, true>(dst, params, held, first_other);
        } else {
            store_columns::<P, _, false>(dst, params, held, first_other);
        }
    }
}

/// Computes a tile whose columns start on units, or anywhere.
///
/// # Safety
/// Those of [`store`].
#[inline(always)]
unsafe fn store_columns<P: Pair, E: Element, const WHOLE: bool>(
    dst: u64,
    params: &ComputeTiles,
    held: Held<E>,
    first_other: B16,
) {
    let operation = &params.operation;
    let has_other = operation.flags & flags::OTHER != 0;
    let all = held.place.cols * params.col_units as u32;
    let beside = operation.other.wrapping_sub(dst);
    let mut number = thread::thread_idx_x();
    let mut other = first_other;
    // SAFETY: the caller's obligations; units are shared out among threads.
    unsafe {
        while number < all {
            let spot = Spot::of::<P, E, WHOLE>(number, params, held);
            let values = spot.elements::<P, E, WHOLE>(params, held);
            number += thread::block_dim_x();
            let this = other;
            if has_other && number < all {
                other = Spot::of::<P, E, WHOLE>(number, params, held).others::<P>(beside);
            }
            let [results] = P::compute::<true, _>(operation, [values], [this], &[NoChannels]);
            spot.store::<P>(results);
        }
    }
}

/// Defines an entry point.
macro_rules! compute_tiles {
    ($name:ident: $element:ty, $width:ident, $bytes:tt) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Computes tiles of what lies together in the source by what lies together in the destination.",
            COMPUTE_TILES: ComputeTiles, $name: $element, |src, dst, params| {
                const SHAPE: TileShape = TileShape::of(Width::$width);
                const ROWS: usize = SHAPE.block_rows as usize;
                const BLOCKS: usize = SHAPE.micro_blocks as usize;
                // As few as hold what is computed, so that as many blocks run together as there can be.
                // (Where vectors beside others are loaded when they are needed, the assembler would spill; tiles of bytes also on chips that were not measured.)
                if $bytes == 1 && !is_hopper() {
                    never_more_registers::<56>();
                } else if can_copy() {
                    never_more_registers::<{ if matches!($bytes, 2 | 4) { 40 } else { 48 } }>();
                } else {
                    never_more_registers::<{ if $bytes == 4 { 40 } else if $bytes == 2 { 56 } else { 48 } }>();
                }
                let held = Held::<$element>::of_block(dst as u64, &params);
                let other = for_sizes!($bytes, params, first_other(dst as u64, &params, held));
                let Held { tile, offsets, place } = held;
                let source = Source::<$element>::new(src, place, &params.tiles);
                load::<_, ROWS, BLOCKS, true>(source, &params.tiles, AsTheyAre, offsets, tile, place);
                thread::sync_threads();
                for_sizes!($bytes, params, store(dst as u64, &params, held, other))
            }
        }
    };
}

compute_tiles!(compute_tiles_b1: u8, B1, 1);
compute_tiles!(compute_tiles_b2: u16, B2, 2);
compute_tiles!(compute_tiles_b4: u32, B4, 4);
compute_tiles!(compute_tiles_b8: u64, B8, 8);
compute_tiles!(compute_tiles_b16: B16, B16, 16);
