//! A square matrix, or a batch of them, of elements that fill no vector or of rows that start anywhere: two tiles, mirrored at the
//! diagonal, change places.
//!
//! As `square`, but an element has any number of words, and a row of a tile may start at any of them. An H200 issues 13 instructions
//! of a lane in the time that it copies a byte, so bytes must not move one by one:
//!
//! ```text
//! load    each row of both tiles by vectors of 16 bytes if all of them start on one, else by units; held as far behind a multiple of
//!         4 as they lie in memory
//! barrier
//! gather  unit by unit: the words of one come from the columns of what is held
//! ```
//!
//! A *unit* is what a lane stores at a time: 4 bytes, or a word if that is longer. A thread gathers the same unit of every so many
//! rows, and those rows start alike on a unit, because their number is a multiple of 4. So it finds out once for all of them where the unit's words are in
//! the first, and from one row to the next all of them lie equally much further on.
//!
//! What a row has before its first whole unit and behind its last belongs to units that it shares with other blocks' tiles. It is loaded and
//! stored word by word, a thread for each end: no block accesses a byte of another's tiles, so there is nothing for blocks to agree on. In a block
//! a barrier stands between what is loaded and what is stored.

use super::square::{place, Place};
use super::units::{ahead, hold_vector, size, Word};
use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::global::load_vector;
use crate::launch::never_more_registers;
use crate::opaque::opaque;
use crate::tile::shared_address;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::{SquareTuples, SQUARE_THREADS};

/// Bytes of a vector.
const VECTOR: u32 = size::<B16>();

/// Vectors or units of each tile that a thread has in flight.
const IN_FLIGHT: usize = 4;

/// A tile of the matrix, and where its rows are held in shared memory.
#[derive(Clone, Copy)]
struct Tile<E> {
    start: *mut E,
    rows: u32,
    /// Bytes of a row.
    bytes: u32,
    held: u32,
}

/// Bytes from one row to the next.
#[derive(Clone, Copy)]
struct Pitch {
    matrix: u64,
    held: u32,
}

impl<E: Word> Tile<E> {
    /// Where a row starts.
    #[inline(always)]
    fn row(&self, pitch: Pitch, row: u32) -> *mut E {
        self.start.wrapping_byte_add((row as u64 * pitch.matrix) as usize)
    }

    /// Where a row is held: as far behind a multiple of 4 as it starts in memory.
    #[inline(always)]
    fn hold(&self, pitch: Pitch, row: u32) -> u32 {
        // A product of 8 bits, which the compiler would make of it, takes more instructions.
        let start = opaque((self.start as u32).wrapping_add(row.wrapping_mul(pitch.matrix as u32)));
        self.held + row * pitch.held + start % 4
    }

    /// The bytes of a row that are no whole units: those before the first one, or, of a second number, behind the last.
    #[inline(always)]
    fn end(&self, row: *mut E, is_second: bool) -> (u32, u32) {
        let ahead = ahead::<E::Unit>(row as u64).min(self.bytes);
        let units = (self.bytes - ahead) / size::<E::Unit>() * size::<E::Unit>();
        if is_second {
            (ahead + units, self.bytes)
        } else {
            (0, ahead)
        }
    }
}

/// Exchanges the two tiles of this block.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn square_tuples<E: Word>(matrix: *mut E, _: *mut u32, params: SquareTuples) {
    let square = params.square;
    never_more_registers::<80>();
    let Some(Place { upper, has_mirror, before }) = place(&square) else { return };
    // SAFETY: the launch has dynamic shared memory for two tiles.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let tuple = Divisor32::from(params.tuple);
    let element = tuple.divisor * size::<E>();
    let pitch = Pitch { matrix: square.ld * element as u64, held: params.pitch as u32 };
    let length = |tile: u64| params.tile.min(square.side - tile * params.tile) as u32;
    let tile = |(row, col): (u64, u64), held: u32| {
        let elements = before + (row * square.ld + col) * params.tile;
        let start = matrix.wrapping_byte_add((elements * element as u64) as usize);
        Tile { start, rows: length(row), bytes: length(col) * element, held }
    };
    let first = tile(upper, base);
    let second = tile((upper.1, upper.0), base + params.tile as u32 * pitch.held);
    let has_mirror = has_mirror as u32;
    let second_rows = second.rows * has_mirror;

    // Whether all rows of both tiles start and end on multiples of so many bytes.
    let all = first.start as u32 | second.start as u32 | pitch.matrix as u32;
    let all = all | first.bytes | second.bytes;
    let has_ends = !all.is_multiple_of(size::<E::Unit>());
    // SAFETY: the tiles are inside the matrix and this block's alone, and held apart from each other; a barrier stands between what is
    // loaded and what is stored.
    unsafe {
        if all.is_multiple_of(VECTOR) {
            let along = params.vectors_along as u32;
            let load = |from: *mut E| load_vector(from as u64);
            let hold = |vector, address| hold_vector(vector, address);
            load_rows(first, second, second_rows, pitch, along, B16::ANY, load, hold);
        } else {
            let along = params.units_along as u32;
            let load = |from: *mut E| E::Unit::load(from as *const E::Unit);
            let hold = |unit: E::Unit, address| unit.store_shared(address);
            load_rows(first, second, second_rows, pitch, along, E::Unit::ANY, load, hold);
        }
        if has_ends {
            load_ends(first, first.rows, pitch);
            load_ends(second, second_rows, pitch);
        }
        thread::sync_threads();
        let mut turn = 0;
        while turn <= has_mirror {
            let (from, to) = if turn == 0 { (first, second) } else { (second, first) };
            gather(from, to, pitch, tuple, params.units_along as u32);
            if has_ends {
                gather_ends(from, to, pitch, tuple);
            }
            turn += 1;
        }
    }
}

/// What a thread loads of a tile: the same vector, or unit, of some rows. They are a multiple of 4 rows apart, and so start alike
/// on 4 bytes.
struct Share {
    /// Bytes from a row's start to the first such vector.
    ahead: u32,
    /// Where the thread's first row is held.
    hold: u32,
    /// Rows of the tile.
    rows: u32,
    /// Bytes of a row.
    bytes: u32,
}

impl Share {
    /// The share, by vectors `V`, of a thread that begins with `row`.
    #[inline(always)]
    fn of<E: Word, V>(tile: Tile<E>, rows: u32, pitch: Pitch, row: u32) -> Self {
        let ahead = ahead::<V>(tile.row(pitch, row) as u64);
        Share { ahead, hold: tile.hold(pitch, row), rows, bytes: tile.bytes }
    }

    /// Whether the tile has a row, and it the vector that is `at` bytes from its first.
    #[inline(always)]
    fn has<V>(&self, row: u32, at: u32) -> bool {
        row < self.rows && self.ahead + at + size::<V>() <= self.bytes
    }
}

/// Loads all of the rows of both tiles that is whole vectors, or whole units. `1 << along` threads take one row.
///
/// # Safety
/// The rows are this block's, and what they are held in nobody's; a barrier follows.
#[allow(clippy::too_many_arguments)] // Two tiles, how they lie, and what is loaded.
#[inline(always)]
unsafe fn load_rows<E: Word, V: Copy>(
    first: Tile<E>,
    second: Tile<E>,
    second_rows: u32,
    pitch: Pitch,
    along: u32,
    any: V,
    load: impl Fn(*mut E) -> V,
    hold: impl Fn(V, u32),
) {
    let step = SQUARE_THREADS >> along;
    let first_row = thread::thread_idx_x() >> along;
    let tiles = [first, second];
    let shares = [
        Share::of::<E, V>(first, first.rows, pitch, first_row),
        Share::of::<E, V>(second, second_rows, pitch, first_row),
    ];
    let rows = first.rows.max(second_rows);
    let longest = first.bytes.max(second.bytes);
    let mut at = (thread::thread_idx_x() & ((1 << along) - 1)) * size::<V>();
    while at < longest {
        // Nothing of what follows from the row is computed before, for all vectors.
        let mut row = opaque(first_row);
        while row < rows {
            let mut held = [[any; IN_FLIGHT]; 2];
            crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                const TILE: usize = K % 2;
                let (row, share) = (row + (K / 2) as u32 * step, &shares[TILE]);
                if share.has::<V>(row, at) {
                    let start = tiles[TILE].row(pitch, row);
                    held[TILE][K / 2] = load(start.wrapping_byte_add((share.ahead + at) as usize));
                }
            });
            // And nothing is kept but what was loaded.
            row = opaque(row);
            crate::unroll!(K in [0 1 2 3 4 5 6 7] {
                const TILE: usize = K % 2;
                let (row, share) = (row + (K / 2) as u32 * step, &shares[TILE]);
                if share.has::<V>(row, at) {
                    let rows = row - first_row;
                    hold(held[TILE][K / 2], share.hold + rows * pitch.held + share.ahead + at);
                }
            });
            row += IN_FLIGHT as u32 * step;
        }
        at += size::<V>() << along;
    }
}

/// Loads what rows have before their first whole unit and behind their last.
///
/// # Safety
/// Those of [`load_rows`].
#[inline(always)]
unsafe fn load_ends<E: Word>(tile: Tile<E>, rows: u32, pitch: Pitch) {
    let mut number = thread::thread_idx_x();
    while number < 2 * rows {
        let row = number / 2;
        let from = tile.row(pitch, row);
        let (mut at, end) = tile.end(from, number % 2 == 1);
        let hold = tile.hold(pitch, row);
        while at < end {
            // SAFETY: the caller's obligations; a word of the row.
            unsafe { E::load(from.wrapping_byte_add(at as usize)).store_shared(hold + at) }
            at += size::<E>();
        }
        number += SQUARE_THREADS;
    }
}

/// Where the words of a row of the result are in shared memory: in a column of what is held.
struct Column<E> {
    from: Tile<E>,
    pitch: Pitch,
    tuple: Divisor32,
}

impl<E: Word> Column<E> {
    /// The places of the words from a byte of the result's first row on, as many as a unit has.
    #[inline(always)]
    fn unit(&self, at: u32) -> [u32; 4] {
        let (mut row, mut word) = self.tuple.divide(at / size::<E>());
        let mut hold = self.from.hold(self.pitch, row);
        let mut places = [0; 4];
        crate::unroll!(WORD in [0 1 2 3] {
            if WORD * size_of::<E>() < size_of::<E::Unit>() {
                if WORD != 0 {
                    word += 1;
                    if word == self.tuple.divisor {
                        (row, word) = (row + 1, 0);
                        hold = self.from.hold(self.pitch, row);
                    }
                }
                places[WORD] = hold + word * size::<E>();
            }
        });
        places
    }
}

/// Stores the columns of `from` as the rows of `to`, all that is whole units of these.
///
/// # Safety
/// Those of [`load_rows`], which a barrier separates from this.
#[inline(always)]
unsafe fn gather<E: Word>(from: Tile<E>, to: Tile<E>, pitch: Pitch, tuple: Divisor32, along: u32) {
    let column = Column { from, pitch, tuple };
    let (unit, rows) = (size::<E::Unit>(), SQUARE_THREADS >> along);
    let first_row = thread::thread_idx_x() >> along;
    if first_row >= to.rows {
        return;
    }
    let start = to.row(pitch, first_row);
    let element = tuple.divisor * size::<E>();
    let mut at =
        (thread::thread_idx_x() & ((1 << along) - 1)) * unit + ahead::<E::Unit>(start as u64);
    while at + unit <= to.bytes {
        let places = column.unit(at);
        let mut to_row = start.wrapping_byte_add(at as usize);
        let mut moved_on = first_row * element;
        while moved_on < to.rows * element {
            // SAFETY: the caller's obligations; the unit is inside the row.
            unsafe { E::unit(places, moved_on).store(to_row as *mut E::Unit) }
            moved_on += rows * element;
            to_row = to_row.wrapping_byte_add((rows as u64 * pitch.matrix) as usize);
        }
        at += unit << along;
    }
}

/// Stores what the rows of `to` have before their first whole unit and behind their last.
///
/// # Safety
/// Those of [`gather`].
#[inline(always)]
unsafe fn gather_ends<E: Word>(from: Tile<E>, to: Tile<E>, pitch: Pitch, tuple: Divisor32) {
    let element = tuple.divisor * size::<E>();
    let mut number = thread::thread_idx_x();
    while number < 2 * to.rows {
        let row = number / 2;
        let start = to.row(pitch, row);
        let (mut at, end) = to.end(start, number % 2 == 1);
        while at < end {
            let (source, word) = tuple.divide(at / size::<E>());
            let place = from.hold(pitch, source) + row * element + word * size::<E>();
            // SAFETY: the caller's obligations; a word of the row.
            unsafe { E::load_shared(place).store(start.wrapping_byte_add(at as usize)) }
            at += size::<E>();
        }
        number += SQUARE_THREADS;
    }
}

crate::in_place::in_place_entries! {
    "Transposes square matrices of elements of several words, or of rows that start anywhere.",
    SQUARE_TUPLES: SquareTuples, square_tuples =>
        square_tuples_b1: u8; square_tuples_b2: u16; square_tuples_b4: u32; square_tuples_b8: u64;
        square_tuples_b16: B16
}
