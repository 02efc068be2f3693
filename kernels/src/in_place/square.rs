//! Square matrices: two tiles, mirrored at the diagonal, change places in one pass.
//!
//! A block loads both, keeps them in shared memory, and stores each transposed where the other was.
//! Accesses to the matrix are 16 bytes wide where `VECTOR` elements fill that; a column of a tile
//! is put together from single elements, which an odd pitch keeps out of each other's banks.

use crate::divide::Divisor32;
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::opaque::opaque;
use crate::tile::shared_address;
use crate::walk::in_pairs;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::thread;
use kernel_abi::in_place::{Square, SQUARE_THREADS};

/// `LANES` neighbours of a row, moved by one access.
pub trait Neighbours<const LANES: usize>: Element {
    /// Loads `LANES` elements.
    ///
    /// # Safety
    /// As [`Element::load`], for all of them, aligned to all of them.
    unsafe fn load_all(from: *const Self) -> [Self; LANES];

    /// Stores `LANES` elements.
    ///
    /// # Safety
    /// As [`Element::store`], for all of them, aligned to all of them.
    unsafe fn store_all(elements: [Self; LANES], to: *mut Self);
}

/// Implements [`Neighbours`] for elements that are moved one by one.
macro_rules! single {
    ($($element:ty),+) => {
        $(impl Neighbours<1> for $element {
            #[inline(always)]
            unsafe fn load_all(from: *const Self) -> [Self; 1] {
                // SAFETY: the caller's obligations.
                [unsafe { Self::load(from) }]
            }

            #[inline(always)]
            unsafe fn store_all(elements: [Self; 1], to: *mut Self) {
                // SAFETY: the caller's obligations.
                unsafe { elements[0].store(to) }
            }
        })+
    };
}

single!(u32, u64);

/// Implements [`Neighbours`] for the elements that fill 16 bytes.
macro_rules! neighbours {
    ($element:ty, $lanes:literal, |$vector:ident| $split:expr, |$elements:ident| $join:expr) => {
        impl Neighbours<$lanes> for $element {
            #[inline(always)]
            unsafe fn load_all(from: *const Self) -> [Self; $lanes] {
                // SAFETY: the caller's obligations.
                let $vector = unsafe { load_vector(from as u64) };
                $split
            }

            #[inline(always)]
            unsafe fn store_all($elements: [Self; $lanes], to: *mut Self) {
                // SAFETY: the caller's obligations.
                unsafe { store_vector(to as u64, $join) }
            }
        }
    };
}

neighbours!(u32, 4, |vector| vector.u32s(), |elements| B16::from_u32s(elements));
neighbours!(u64, 2, |vector| vector.u64s(), |elements| B16::from_u64s(elements));
neighbours!(B16, 1, |vector| [vector], |elements| elements[0]);

/// Exchanges the two tiles of this block.
///
/// # Safety
/// The obligations of the entry points. `STEPS` is `TILE² / VECTOR / SQUARE_THREADS`.
#[allow(clippy::needless_range_loop)] // With iterators the arrays go to local memory.
#[inline(always)]
unsafe fn square<
    E: Neighbours<VECTOR>,
    const TILE: u32,
    const VECTOR: usize,
    const STEPS: usize,
>(
    matrix: *mut E,
    _: *mut u32,
    params: Square,
) {
    let Some(Place { upper, has_mirror, before }) = place(&params) else { return };
    // SAFETY: where this block's matrix starts.
    let matrix = unsafe { matrix.add(before as usize) };
    // SAFETY: the launch has dynamic shared memory for two tiles.
    let base = unsafe { shared_address(dynamic_shared_mem::<u8>()) };
    let pitch = TILE + 1;
    let address = |tile: u32, row: u32, col: u32| {
        base + ((tile * TILE + row) * pitch + col) * size_of::<E>() as u32
    };
    let vectors = TILE / VECTOR as u32;
    let col = thread::thread_idx_x() % vectors * VECTOR as u32;
    let first_row = thread::thread_idx_x() / vectors;
    let step_rows = SQUARE_THREADS / vectors;
    let inside = |tile: (u64, u64), row: u32| {
        tile.0 * TILE as u64 + (row as u64) < params.side
            && tile.1 * TILE as u64 + (col as u64) < params.side
    };
    let address_in = |tile: (u64, u64), row: u32| {
        let row = tile.0 * TILE as u64 + row as u64;
        // SAFETY: inside the matrix, as `inside` is asked first.
        unsafe { matrix.add((row * params.ld + tile.1 * TILE as u64 + col as u64) as usize) }
    };
    let mirror = (upper.1, upper.0);

    let mut held = [[[E::ANY; VECTOR]; STEPS]; 2];
    for step in 0..STEPS {
        let row = first_row + step as u32 * step_rows;
        if inside(upper, row) {
            // SAFETY: inside the matrix.
            held[0][step] = unsafe { E::load_all(address_in(upper, row)) };
        }
        if has_mirror && inside(mirror, row) {
            // SAFETY: inside the matrix.
            held[1][step] = unsafe { E::load_all(address_in(mirror, row)) };
        }
    }
    for tile in 0..2 {
        for step in 0..STEPS {
            let row = first_row + step as u32 * step_rows;
            for lane in 0..VECTOR {
                // SAFETY: inside the tile; each place once, and a barrier follows.
                unsafe {
                    held[tile][step][lane].store_shared(address(
                        tile as u32,
                        row,
                        col + lane as u32,
                    ))
                }
            }
        }
    }
    thread::sync_threads();
    // SAFETY: called after the barrier, for a place inside the matrix; both tiles have been read.
    let store = |tile: u32, target: (u64, u64), row: u32| unsafe {
        let mut elements = [E::ANY; VECTOR];
        for (lane, element) in elements.iter_mut().enumerate() {
            *element = E::load_shared(address(tile, col + lane as u32, row));
        }
        E::store_all(elements, address_in(target, row))
    };
    // Else the addresses would be kept from the loads on, in 15 registers.
    let first_row = opaque(first_row);
    for step in 0..STEPS {
        let row = first_row + step as u32 * step_rows;
        if inside(mirror, row) {
            store(0, mirror, row);
        }
        if has_mirror && inside(upper, row) {
            store(1, upper, row);
        }
    }
}

/// What a block of a batch of squares takes.
pub struct Place {
    /// The row and the column of a tile above the diagonal, or on it.
    pub upper: (u64, u64),
    /// Whether it has a mirror image, which the block takes too.
    pub has_mirror: bool,
    /// Elements before its matrix.
    pub before: u64,
}

/// The place of this block.
///
/// The grid's x axis counts along rows of tiles, of one matrix after the other, its y axis the rows, in the order of
/// [`in_pairs`]: if rows of a matrix meet in few banks of the memory, two rows of tiles are walked at a time, whose mirrors are
/// columns `apart` tiles from each other.
#[inline(always)]
pub fn place(params: &Square) -> Option<Place> {
    let Square { tiles, apart, stride, across, .. } = *params;
    let (number, x) = Divisor32::from(across).divide(thread::block_idx_x());
    let whole = (2 * apart).max(1) - 1;
    let (row, col) = fold((tiles + whole) & !whole, apart as u32, x as u64)?;
    let before = number as u64 * stride;
    (col < tiles).then_some(Place { upper: (row, col), has_mirror: row != col, before })
}

/// The place of the block that is the `x`th of its row of the grid, in the upper triangle of `side × side` places.
///
/// Rows `row` and `side − 1 − row` of the triangle have `side + 1` places together: one row of the grid.
#[inline(always)]
fn fold(side: u64, apart: u32, x: u64) -> Option<(u64, u64)> {
    let row = in_pairs(thread::block_idx_y(), apart) as u64;
    let mirror = side - 1 - row;
    if x < side - row {
        Some((row, row + x))
    } else if mirror != row {
        Some((mirror, x - 1))
    } else {
        None
    }
}

crate::in_place::in_place_entries! {
    "Transposes a square matrix, element by element.",
    SQUARE: Square, square =>
        square_b4: u32, 32, 1, 4; square_b8: u64, 32, 1, 4
}

crate::in_place::in_place_entries! {
    "Transposes a square matrix by 16-byte accesses.",
    SQUARE_WIDE: Square, square =>
        square_wide_b4: u32, 64, 4, 4; square_wide_b8: u64, 32, 2, 2;
        square_wide_b16: B16, 32, 1, 4
}
