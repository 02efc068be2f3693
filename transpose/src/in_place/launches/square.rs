//! Square matrices: tiles mirrored at the diagonal change places.

use super::launch;
use super::pitch::{unit_pitch, units_along};
use crate::divide::{divisor32, gcd};
use crate::facts::{Facts, GRID_LIMIT};
use crate::far_rows::tiles_apart;
use crate::in_place::shape::Shape;
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{
    SQUARE, SQUARE_THREADS, SQUARE_TUPLES, SQUARE_WIDE, Square, SquareTuples,
};

/// Threads of a block.
const THREADS: usize = SQUARE_THREADS as usize;

/// Square matrices of one layout at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Squares {
    pub count: usize,
    /// Elements from one to the next; nothing if there is only one.
    pub stride: usize,
    /// A power of two that divides the first one's address.
    pub align: usize,
}

impl Squares {
    /// A single matrix in memory of its own.
    pub const ONE: Squares = Squares { count: 1, stride: 0, align: 256 };
}

/// Square matrices, tiles exchanged across the diagonal. `None` if not even two elements fit on chip, or no grid has as many blocks.
pub fn square(shape: &Shape, squares: Squares, facts: &Facts) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    let bytes = width.bytes();
    let all = ((side | ld | squares.stride) * bytes) | squares.align;
    let wide = all.is_multiple_of(16);
    // A tile's side, and the bytes that it takes in shared memory.
    let (tile, held) = match (wide, width) {
        _ if tuple != 1 => return square_tuples(shape, squares, facts),
        // Columns of 32 words, and a word between them.
        (true, Width::B1) => (128, 128 * 33 * 4),
        (true, Width::B2) => (64, 64 * 33 * 4),
        (true, Width::B4) => (64, 64 * 65 * 4),
        (false, Width::B1 | Width::B2) => return square_tuples(shape, squares, facts),
        _ => (32, 32 * 33 * bytes),
    };
    let kernel = if wide { &SQUARE_WIDE } else { &SQUARE };
    let (grid, square) = tiled(shape, squares, tile)?;
    Some(launch(kernel, width, grid, THREADS, 2 * held, square))
}

/// The tiles that a block has room for: two, unless each matrix is one.
fn tiles_held(tiles: u64) -> usize {
    if tiles > 1 { 2 } else { 1 }
}

/// The grid, and the matrices in such tiles, if there is such a grid.
fn tiled(shape: &Shape, squares: Squares, tile: usize) -> Option<([usize; 2], Square)> {
    let tiles = shape.rows.div_ceil(tile);
    let apart = apart(shape, tile, tiles);
    let [across, down] = grid(tiles, apart);
    let blocks = across.checked_mul(squares.count)?;
    let square = Square {
        side: shape.rows as u64,
        ld: shape.ld as u64,
        tiles: tiles as u64,
        apart: apart as u64,
        stride: squares.stride as u64,
        across: divisor32(across),
    };
    (blocks <= GRID_LIMIT[0] && down <= GRID_LIMIT[1]).then_some(([blocks, down], square))
}

/// Rows a multiple of so many bytes apart meet in few of the memory's banks.
const FAR_ROWS: usize = 128 << 10;

/// How far apart two columns of tiles should lie where rows meet in few of the memory's banks, in bytes.
const PAIR_DISTANCE: usize = 8 << 10;

/// How far apart rows of tiles are that are walked together, in tiles: their mirrors are columns of tiles.
fn apart(shape: &Shape, tile: usize, tiles: usize) -> usize {
    let bytes = shape.element_bytes();
    tiles_apart(FAR_ROWS, PAIR_DISTANCE, tile * bytes, tiles, shape.ld.checked_mul(bytes))
}

/// Two rows of tiles for each row of the grid, and rows for whole groups of those that take turns.
fn grid(tiles: usize, apart: usize) -> [usize; 2] {
    let side = tiles.next_multiple_of((2 * apart).max(1));
    [side + 1, side.div_ceil(2)]
}

/// Bytes of the two tiles that a block exchanges, if they are not made for vectors.
const TUPLE_TILES_BYTES: usize = 60 << 10;

/// Bytes of a sector of memory.
const SECTOR: usize = 32;

/// Square matrices of elements of several words, or of rows that start anywhere, in the largest tiles of which a block holds as many as
/// it exchanges.
fn square_tuples(shape: &Shape, squares: Squares, facts: &Facts) -> Option<Launch> {
    let element = shape.element_bytes();
    let fits = |tile: usize| 2 * tile * tile * element <= TUPLE_TILES_BYTES;
    let most = (1..=128).rev().find(|&tile| fits(tile)).unwrap_or(1).min(shape.rows);
    let in_tiles = |most| square_in_tiles(shape, squares, tuple_tile(shape, most), facts);
    (1..=most).rev().find_map(in_tiles)
}

/// Square matrices of elements of several words in tiles of that side, if those fit on chip and a grid has as many blocks.
fn square_in_tiles(shape: &Shape, squares: Squares, tile: usize, facts: &Facts) -> Option<Launch> {
    let Shape { width, tuple, .. } = *shape;
    let element = shape.element_bytes();
    let unit = width.bytes().max(4);
    let units_along = units_along(tile, element, unit, THREADS);
    let pitch = unit_pitch(tile * element, element, unit, units_along);
    let (grid, square) = tiled(shape, squares, tile)?;
    let shared = tiles_held(square.tiles) * tile * pitch;
    let params = SquareTuples {
        square,
        tile: tile as u64,
        pitch: pitch as u64,
        units_along: units_along as u64,
        vectors_along: vectors_along(tile, (tile * element).div_ceil(16)) as u64,
        tuple: divisor32(tuple),
    };
    let launch = launch(&SQUARE_TUPLES, width, grid, THREADS, shared, params);
    (shared <= facts.block_shared).then_some(launch)
}

/// The side of a tile, up to `most`: of whole sectors if rows start on those, or of as many elements in the last tile as in the others.
fn tuple_tile(shape: &Shape, most: usize) -> usize {
    let element = shape.element_bytes();
    let even = shape.rows.div_ceil(shape.rows.div_ceil(most));
    let sector = SECTOR / gcd(SECTOR, element);
    let whole = most / sector * sector;
    let starts_on_sectors = (shape.ld * element).is_multiple_of(SECTOR);
    if starts_on_sectors && whole > 0 { whole } else { even }
}

/// log2 of the threads along a row of so many vectors, of which a thread takes four rows at a time: so that it does that the fewest times.
fn vectors_along(tile: usize, vectors: usize) -> usize {
    let turns = |along: usize| vectors.div_ceil(1 << along) * tile.div_ceil((4 * THREADS) >> along);
    (1..=5).rev().min_by_key(|&along| turns(along)).unwrap_or(4)
}
