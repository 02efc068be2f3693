//! The transpose of matrices with few rows: what a structure of arrays becomes when it is made an
//! array of structures.
//!
//! Many columns are one piece of the destination. This is `tall` in a mirror: a block loads one
//! window of every source row, scatters its elements to where they belong in the piece, and stores
//! the piece as it lies. The piece starts on a sector; its first and last tuple of `rows` elements
//! may be shared with the blocks beside it.
//!
//! ```text
//! stage[c · rows + r] = src[r][c]
//! barrier
//! dst piece = stage
//! ```

use super::gather::Gather;
use super::global::{load_vector, store_vector};
use super::shared::load_words;
use super::stage::{store_element, Stage};
use super::{past_sector, per_vector, Extent, VECTOR};
use crate::element::{Element, B16};
use crate::matrices::Matrices;
use cuda_std::{shared, thread};

/// An element that a vector can be taken apart into.
pub trait Scatter: Gather {
    /// Stores element `i` of the vector to the stage's address `at(i)`, where that is not `None`.
    ///
    /// # Safety
    /// Each address is in the block's shared memory, aligned to the element or to a word, and accessed
    /// by no other thread before the next barrier.
    unsafe fn scatter(vector: B16, at: impl Fn(u32) -> Option<u32>);
}

/// Implements [`Scatter`] for elements of which a word has several.
macro_rules! scatter_parts_of_words {
    ($($element:ty),+) => {
        $(impl Scatter for $element {
            #[inline(always)]
            unsafe fn scatter(vector: B16, at: impl Fn(u32) -> Option<u32>) {
                const PARTS: u32 = 4 / size_of::<$element>() as u32;
                let word = |number: u32, word: u32| {
                    for part in 0..PARTS {
                        if let Some(at) = at(number * PARTS + part) {
                            let element = (word >> (part * 32 / PARTS)) as $element;
                            // SAFETY: the caller's obligations.
                            unsafe { element.store_shared(at) };
                        }
                    }
                };
                word(0, vector.0);
                word(1, vector.1);
                word(2, vector.2);
                word(3, vector.3);
            }
        })+
    };
}

scatter_parts_of_words!(u8, u16, u32);

impl Scatter for u64 {
    #[inline(always)]
    unsafe fn scatter(vector: B16, at: impl Fn(u32) -> Option<u32>) {
        let pair = |number: u32, low: u32, high: u32| {
            if let Some(at) = at(number) {
                // SAFETY: the caller's obligations.
                unsafe {
                    low.store_shared(at);
                    high.store_shared(at + 4);
                }
            }
        };
        pair(0, vector.0, vector.1);
        pair(1, vector.2, vector.3);
    }
}

impl Scatter for B16 {
    #[inline(always)]
    unsafe fn scatter(vector: B16, at: impl Fn(u32) -> Option<u32>) {
        if let Some(at) = at(0) {
            // SAFETY: the caller's obligations.
            unsafe { super::shared::store_words(at, vector) };
        }
    }
}

/// The columns of one block, and the piece of the destination that it stores.
struct Piece {
    /// Elements of the destination before the piece; negative in the first block.
    start: i64,
    /// The first column that has an element in the piece.
    first_col: u64,
    /// One past the last column that has.
    end_col: u64,
}

/// Transposes the columns of one block: `window`, times the rows a multiple of a sector's elements.
///
/// # Safety
/// The obligations of the entry points, the destination's rows following each other without a gap;
/// `base` is the shared-memory address of enough memory for `window * rows` elements, a sector, and
/// one word for every 32 of those.
#[inline(always)]
unsafe fn transpose<E: Scatter>(matrices: Matrices<E>, window: u32, base: u32) {
    let Matrices { dst, rows, cols, .. } = matrices;
    let size = size_of::<E>() as u64;
    let stage = Stage { base };
    let early = past_sector::<E>(dst as u64) as u64;
    let nominal = thread::block_idx_x() as u64 * window as u64;
    let piece = Piece {
        start: (nominal * rows) as i64 - early as i64,
        first_col: nominal.saturating_sub(early.div_ceil(rows)),
        end_col: (nominal + window as u64).min(cols),
    };
    if piece.first_col >= cols {
        return;
    }
    // SAFETY: the caller's obligations.
    unsafe { load(&matrices, stage, &piece, window) };
    thread::sync_threads();

    let mut number = thread::thread_idx_x();
    while number < window * rows as u32 / per_vector::<E>() {
        let element = piece.start + (number * per_vector::<E>()) as i64;
        let to = (dst as u64).wrapping_add((element as u64).wrapping_mul(size));
        let at = stage.address(number * VECTOR);
        if element >= 0 && element as u64 + per_vector::<E>() as u64 <= rows * cols {
            // SAFETY: the vector is in the destination and aligned; it was scattered to.
            unsafe { store_vector(to, load_words(at)) };
        } else {
            for i in 0..per_vector::<E>() {
                if ((element + i as i64) as u64) < rows * cols {
                    // SAFETY: as above, for one element.
                    unsafe {
                        E::pick(at + i * size as u32).store((to as *mut E).add(i as usize));
                    }
                }
            }
        }
        number += thread::block_dim_x();
    }
}

/// Loads the piece's columns of every row and scatters them.
///
/// # Safety
/// Those of [`transpose`].
#[inline(always)]
unsafe fn load<E: Scatter>(matrices: &Matrices<E>, stage: Stage, piece: &Piece, window: u32) {
    let Matrices { src, rows, cols, src_ld, .. } = *matrices;
    let size = size_of::<E>() as u64;
    let extent = Extent::of(src, rows, cols, src_ld);
    let elements = window * rows as u32;
    let count = (piece.end_col - piece.first_col) as u32;
    // As many vectors as any row may touch.
    let per_row = count.div_ceil(per_vector::<E>()) + 1;
    // The piece may start inside its first column.
    let skipped = (piece.start - (piece.first_col * rows) as i64) as i32;
    let vector = |number: u32| {
        let (row, vector) = (number / per_row, number % per_row);
        let start = src as u64 + (row as u64 * src_ld + piece.first_col) * size;
        let from = start / VECTOR as u64 * VECTOR as u64 + (vector * VECTOR) as u64;
        // The column of the vector's first element, from the piece's first on.
        let first =
            (vector * per_vector::<E>()) as i32 - (start as u32 % VECTOR / size as u32) as i32;
        (row, first, from)
    };
    let place = |row: u32, col: i32| {
        let element = (col * rows as i32 + row as i32 - skipped) as u32;
        ((col as u32) < count && element < elements).then(|| stage.address(element * size as u32))
    };
    let threads = thread::block_dim_x();
    let all = per_row * rows as u32;
    let mut number = thread::thread_idx_x();
    // Two vectors are loaded before the first is scattered. Written out: a loop over what is held
    // would not be unrolled for one-byte elements, and would go through memory.
    let fetch = |number: u32| {
        let (_, _, from) = vector(number);
        if number < all && extent.holds_vector(from) {
            // SAFETY: the vector is readable and aligned.
            unsafe { load_vector(from) }
        } else {
            B16::ANY
        }
    };
    let spread = |number: u32, held: B16| {
        let (row, first, from) = vector(number);
        if number < all && extent.holds_vector(from) {
            // SAFETY: each element has a place of its own.
            unsafe { E::scatter(held, |i| place(row, first + i as i32)) };
        }
    };
    while number < all {
        let (one, two) = (fetch(number), fetch(number + threads));
        spread(number, one);
        spread(number + threads, two);
        number += 2 * threads;
    }

    // The vectors that hold the matrix's first and last byte, if this thread has them.
    let mut number = thread::thread_idx_x();
    while number < all {
        let (row, first, from) = vector(number);
        if !extent.holds_vector(from) {
            // SAFETY: each element has a place of its own.
            unsafe { scatter_inside::<E>(extent, from, |i| place(row, first + i as i32)) };
        }
        number += threads;
    }
}

/// Loads and stores those elements of a vector that are inside the source, one by one.
///
/// # Safety
/// `extent` is readable; the places are as [`Scatter::scatter`] demands.
#[inline(always)]
unsafe fn scatter_inside<E: Scatter>(extent: Extent, from: u64, at: impl Fn(u32) -> Option<u32>) {
    for i in 0..per_vector::<E>() {
        let from = from + (i * size_of::<E>() as u32) as u64;
        if let (true, Some(at)) = (extent.holds(from), at(i)) {
            // SAFETY: the element is readable; its place is its own.
            unsafe { store_element(E::load(from as *const E), at) };
        }
    }
}

/// Defines the entry point of one width.
macro_rules! wide {
    ($($name:ident: $element:ty),+) => {
        $(crate::fast_entry! {
            "Transposes matrices of few rows to destinations without gaps; `window` is how many \
             columns a block moves.",
            $name: $element, |matrices, window| {
                let base = crate::tile::shared_address(shared::dynamic_shared_mem::<u8>());
                transpose::<$element>(matrices, window as u32, base)
            }
        })+
    };
}

wide!(wide_b1: u8, wide_b2: u16, wide_b4: u32, wide_b8: u64, wide_b16: B16);
