//! The transpose of matrices whose rows start anywhere, and of elements of any size.
//!
//! The source is loaded as it lies: of every row the aligned vectors that cover the tile's columns.
//! They are stored to shared memory so that a row's first element comes to the same place in
//! every row (to the word; the rest, for elements smaller than a word, is added when
//! reading). A vector of the destination is then gathered down a column of the stage and stored
//! as a whole, in the windows that the module's page describes:
//!
//! ```text
//! stage[r][c] = src[first_row + r][first_col + c]
//! barrier
//! dst[c][row .. row + V] = (stage[row - first_row][c], …, stage[row - first_row + V - 1][c])
//! ```
//!
//! # Banks
//! A warp gathers eight vectors down the rows in each of four neighbouring columns. The rows that
//! two vectors above each other start with are `V` apart. A row's bytes are a multiple of 128, and each
//! step of `4 / bytes of an element` rows (at least one) adds one word, so those two start four
//! banks apart: eight vectors in four neighbouring columns meet 32 banks.
//!
//! Storing a vector to the stage takes four words, for it may start at any word. Eight neighbours
//! would meet the same bank in words four apart; so every group of eight starts with another word.
//!
//! # Tuples
//! An element of another size is a tuple of `k` words of 1, 2, 4, 8 or 16 bytes. Loading does not care.
//! A destination row is a row of words; its window may start inside a tuple, and word `q` of
//! it comes from row `q / k`, word `q mod k` of the element.

use super::gather::{store_vector, Gather};
use super::global::load_vector;
use super::shared::{store_pair, store_u32};
use super::{per_vector, Extent, VECTOR};
use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::multiply;
use cuda_std::thread;

/// An element that can be staged at a place of its own alignment.
pub trait Staged: Gather {
    /// Stores a vector to `at`, a multiple of the element's bytes and of four; `turn` is the word
    /// (or pair of words) to start with.
    ///
    /// # Safety
    /// The 16 bytes at `at` are in the block's shared memory and accessed by no other thread before
    /// the next barrier.
    unsafe fn stage(vector: B16, at: u32, turn: u32);
}

/// Implements [`Staged`] for elements that fit a word.
macro_rules! staged_by_words {
    ($($element:ty),+) => {
        $(impl Staged for $element {
            #[inline(always)]
            unsafe fn stage(vector: B16, at: u32, turn: u32) {
                let B16(mut a, mut b, mut c, mut d) = vector;
                if turn & 1 != 0 {
                    (a, b, c, d) = (b, c, d, a);
                }
                if turn & 2 != 0 {
                    (a, b, c, d) = (c, d, a, b);
                }
                // SAFETY: the caller's obligations.
                unsafe {
                    store_u32(at + turn % 4 * 4, a);
                    store_u32(at + (turn + 1) % 4 * 4, b);
                    store_u32(at + (turn + 2) % 4 * 4, c);
                    store_u32(at + (turn + 3) % 4 * 4, d);
                }
            }
        })+
    };
}

staged_by_words!(u8, u16, u32);

impl Staged for u64 {
    #[inline(always)]
    unsafe fn stage(vector: B16, at: u32, turn: u32) {
        let B16(mut a, mut b, mut c, mut d) = vector;
        if turn & 1 != 0 {
            (a, b, c, d) = (c, d, a, b);
        }
        // SAFETY: the caller's obligations.
        unsafe {
            store_pair(at + turn % 2 * 8, a, b);
            store_pair(at + (turn + 1) % 2 * 8, c, d);
        }
    }
}

impl Staged for B16 {
    #[inline(always)]
    unsafe fn stage(vector: B16, at: u32, _: u32) {
        // SAFETY: the caller's obligations.
        unsafe { vector.store_shared(at) }
    }
}

/// A stage for `ROWS` rows of `CHUNKS` vectors.
///
/// One vector of each row is spare: rows that start between two multiples of 16 bytes touch
/// `CHUNKS` vectors for `CHUNKS - 1` vectors' worth of elements.
#[derive(Clone, Copy)]
struct Stage<E, const CHUNKS: u32, const ROWS: u32> {
    base: u32,
    element: core::marker::PhantomData<E>,
}

/// Bytes in front of a row's first element, for what a row's first vector holds before it.
const MARGIN: u32 = VECTOR;

/// Bytes of a stage's row: the vectors and the margin, rounded up so that `V` rows of it are a
/// multiple of all 32 banks.
const fn row_bytes<E>(chunks: u32) -> u32 {
    let size = size_of::<E>() as u32;
    let round = if size <= 4 { 32 } else { 8 * size };
    (chunks * VECTOR + 2 * MARGIN).next_multiple_of(round)
}

/// The bytes by which each [`skew_rows`] rows are shifted against the ones before.
const fn skew<E>() -> u32 {
    let size = size_of::<E>() as u32;
    if size > 4 {
        size
    } else {
        4
    }
}

/// The rows that share a shift: those of a word.
const fn skew_rows<E>() -> u32 {
    let size = size_of::<E>() as u32;
    if size < 4 {
        4 / size
    } else {
        1
    }
}

/// Bytes of shared memory for a stage.
const fn stage_bytes<E>(chunks: u32, rows: u32) -> u32 {
    (rows * row_bytes::<E>(chunks) + rows.div_ceil(skew_rows::<E>()) * skew::<E>())
        .next_multiple_of(VECTOR)
}

impl<E: Staged, const CHUNKS: u32, const ROWS: u32> Stage<E, CHUNKS, ROWS> {
    /// Elements that a row of the stage holds wherever the row starts.
    const COLS: u32 = (CHUNKS - 1) * per_vector::<E>();

    /// Where element 0 of `row` lies, but for its bytes past a word.
    #[inline(always)]
    fn row(&self, row: u32) -> u32 {
        self.base + MARGIN + row * row_bytes::<E>(CHUNKS) + row / skew_rows::<E>() * skew::<E>()
    }

    /// Loads rows `first_row ..` of the source, as far as there are, from `first_col` on; a
    /// block has `THREADS` threads, and each loads `PASSES` vectors.
    ///
    /// # Safety
    /// The obligations of the entry points; the stage is as large as [`stage_bytes`].
    #[inline(always)]
    unsafe fn load<const THREADS: u32, const PASSES: usize>(
        &self,
        matrices: &Matrices<E>,
        first_row: i64,
        first_col: u64,
    ) {
        let size = size_of::<E>() as u64;
        let t = thread::thread_idx_x();
        let (chunk, top) = (t % CHUNKS, t / CHUNKS);
        let step = THREADS / CHUNKS;
        let stride = matrices.src_ld * size;
        let extent = Extent::of(matrices.src, matrices.rows, matrices.cols, matrices.src_ld);
        // Where this thread's row of a pass starts. Rows before the first are not dereferenced.
        let start = (matrices.src as u64)
            .wrapping_add((first_row + top as i64) as u64 * stride)
            .wrapping_add(first_col * size);
        let row_start = |pass: usize| start.wrapping_add((pass as u32 * step) as u64 * stride);
        let vector =
            |pass: usize| row_start(pass) / VECTOR as u64 * VECTOR as u64 + (chunk * VECTOR) as u64;
        let inside =
            |pass: usize| ((first_row + (top + pass as u32 * step) as i64) as u64) < matrices.rows;
        // A row's first vector starts as many bytes before its first element as that lies past
        // a multiple of 16; what of those is not a whole word stays.
        let place = |pass: usize| {
            let unit = if size > 4 { size as u32 } else { 4 };
            let before = row_start(pass) as u32 % VECTOR / unit * unit;
            self.row(top + pass as u32 * step) + chunk * VECTOR - before
        };

        let mut held = [B16::ANY; PASSES];
        for (pass, held) in held.iter_mut().enumerate() {
            if inside(pass) && extent.holds_vector(vector(pass)) {
                // SAFETY: the vector is inside the source and aligned.
                *held = unsafe { load_vector(vector(pass)) };
            }
        }
        // One byte elements are read back by bytes: the words' order gains nothing there.
        let turn = if size == 1 { 0 } else { t / 8 % 4 };
        for pass in 0..PASSES {
            // SAFETY: no two threads have a vector in common.
            unsafe { E::stage(held[pass], place(pass), turn) };
        }

        // The vectors that hold the matrix's first and last byte, if this thread has them.
        for pass in 0..PASSES {
            if inside(pass) && !extent.holds_vector(vector(pass)) {
                let mut byte = 0;
                while byte < VECTOR {
                    let from = vector(pass) + byte as u64;
                    if extent.holds(from) {
                        // SAFETY: the element is inside the source; its place is this thread's.
                        unsafe { E::load(from as *const E).store_shared(place(pass) + byte) };
                    }
                    byte += size as u32;
                }
            }
        }
    }

    /// Where row `row` has its element 0, to the byte.
    ///
    /// `src` is the source's address of row 0 of the stage, in the column that the stage starts with.
    #[inline(always)]
    fn row_to_the_byte(&self, row: u32, src: u32, stride: u32) -> u32 {
        let past_word = if size_of::<E>() < 4 { (src + row * stride) % 4 } else { 0 };
        self.row(row) + past_word
    }
}

/// What a block of either kernel does after loading: which vectors are its.
struct Lanes {
    /// Vectors from a window's start.
    vector: u32,
    /// Columns from the tile's first.
    col: u32,
}

/// Walks the vectors of a warp: eight down each of four neighbouring columns at a time.
#[inline(always)]
fn lanes(warps: u32, vectors: u32, cols: u32) -> impl Iterator<Item = Lanes> {
    let (lane, warp) = (thread::thread_idx_x() % 32, thread::thread_idx_x() / 32);
    let blocks = vectors.div_ceil(8);
    let mut slot = warp;
    core::iter::from_fn(move || {
        (slot < cols.div_ceil(4) * blocks).then(|| {
            let col = slot / blocks * 4 + lane / 8;
            let vector = slot % blocks * 8 + lane % 8;
            slot += warps;
            Lanes { vector, col }
        })
    })
    .filter(move |lanes| lanes.vector < vectors && lanes.col < cols)
}

/// Transposes one tile whose windows start on multiples of `ALIGN` bytes.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of a stage.
#[inline(always)]
unsafe fn transpose<
    E: Staged,
    const CHUNKS: u32,
    const ROWS: u32,
    const THREADS: u32,
    const PASSES: usize,
    const ALIGN: u32,
>(
    matrices: Matrices<E>,
    base: u32,
) {
    let stage = Stage::<E, CHUNKS, ROWS> { base, element: core::marker::PhantomData };
    let size = size_of::<E>() as u32;
    let align = ALIGN / size;
    let window = ROWS - align;
    let cols = Stage::<E, CHUNKS, ROWS>::COLS;
    let nominal = thread::block_idx_x() as i64 * window as i64;
    let first_row = nominal - (align - 1) as i64;
    let first_col = thread::block_idx_y() as u64 * cols as u64;
    // SAFETY: the caller's obligations.
    unsafe { stage.load::<THREADS, PASSES>(&matrices, first_row, first_col) };
    thread::sync_threads();

    let stride = matrices.src_ld as u32 * size;
    let corner = (matrices.src as u32)
        .wrapping_add((first_row as u32).wrapping_mul(stride))
        .wrapping_add(first_col as u32 * size);
    for Lanes { vector, col } in lanes(THREADS / 32, window / per_vector::<E>(), cols) {
        let to_col = first_col + col as u64;
        if to_col < matrices.cols {
            let start = matrices.dst as u64 + to_col * matrices.dst_ld * size as u64;
            let early = start as u32 % ALIGN / size;
            let below = vector * per_vector::<E>();
            let row = nominal + below as i64 - early as i64;
            let staged = below + align - 1 - early;
            let to = start.wrapping_add((row as u64).wrapping_mul(size as u64));
            // Rows that share a place in their word are a fixed number of bytes apart.
            let period = skew_rows::<E>();
            let first = |i: u32| {
                if i < period {
                    stage.row_to_the_byte(staged + i, corner, stride) + col * size
                } else {
                    0
                }
            };
            let firsts = [first(0), first(1), first(2), first(3)];
            let step = period * row_bytes::<E>(CHUNKS) + skew::<E>();
            // SAFETY: the window's rows were loaded; the vector is aligned as the window is.
            unsafe {
                let mut i = 0;
                let next = || {
                    let address = firsts[(i % period) as usize] + i / period * step;
                    i += 1;
                    address
                };
                store_vector::<E>(to, row, matrices.rows, next, |i| {
                    stage.row_to_the_byte(staged + i, corner, stride) + col * size
                });
            }
        }
    }
}

/// What the kernel of tuples is told besides its matrices.
#[derive(Clone, Copy)]
struct Tuples {
    /// Words of an element.
    k: u32,
    /// The inverse of `k`: 2³² / `k`, rounded up.
    inverse: u32,
    /// Columns of a tile.
    cols: u32,
    /// Words of a window: whole sectors and whole elements.
    window: u32,
}

impl Tuples {
    /// The element that a word is part of, and which of its words it is. `word * k` must be below 2³².
    #[inline(always)]
    fn split(self, word: u32) -> (u32, u32) {
        let element = multiply::high(word, self.inverse);
        (element, word - element * self.k)
    }
}

/// Transposes one tile of tuples: `matrices` counts words along the rows of both matrices, and rows in
/// `rows`.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of a stage. `cols * k`
/// words fit a row of the stage, and `window` words, `ALIGN` bytes and three tuples its rows.
#[inline(always)]
unsafe fn transpose_tuples<
    E: Staged,
    const CHUNKS: u32,
    const ROWS: u32,
    const THREADS: u32,
    const PASSES: usize,
    const ALIGN: u32,
>(
    matrices: Matrices<E>,
    tuples: Tuples,
    base: u32,
) {
    let stage = Stage::<E, CHUNKS, ROWS> { base, element: core::marker::PhantomData };
    let size = size_of::<E>() as u32;
    let align = ALIGN / size;
    let Tuples { k, cols, window, .. } = tuples;
    // Above every word that a window may start early with.
    let above = tuples.split(align - 1).0 + 1;
    let nominal_row = thread::block_idx_x() as i64 * tuples.split(window).0 as i64;
    let first_row = nominal_row - above as i64;
    let tile_col = thread::block_idx_y() as u64 * cols as u64;
    // SAFETY: the caller's obligations.
    unsafe { stage.load::<THREADS, PASSES>(&matrices, first_row, tile_col * k as u64) };
    thread::sync_threads();

    let stride = matrices.src_ld as u32 * size;
    let corner = (matrices.src as u32)
        .wrapping_add((first_row as u32).wrapping_mul(stride))
        .wrapping_add(tile_col as u32 * k * size);
    let nominal = thread::block_idx_x() as i64 * window as i64;
    for Lanes { vector, col } in lanes(THREADS / 32, window / per_vector::<E>(), cols) {
        let to_col = tile_col + col as u64;
        if to_col * (k as u64) < matrices.cols {
            let start = matrices.dst as u64 + to_col * matrices.dst_ld * size as u64;
            let early = start as u32 % ALIGN / size;
            let below = vector * per_vector::<E>();
            let word = nominal + below as i64 - early as i64;
            let to = start.wrapping_add((word as u64).wrapping_mul(size as u64));
            let staged = above * k + below - early;
            let tuple = |row: u32| stage.row_to_the_byte(row, corner, stride) + col * k * size;
            let (mut row, mut part) = tuples.split(staged);
            let mut start_of_tuple = tuple(row);
            let next = || {
                let address = start_of_tuple + part * size;
                part += 1;
                if part == k {
                    (row, part) = (row + 1, 0);
                    start_of_tuple = if size < 4 {
                        tuple(row)
                    } else {
                        start_of_tuple + row_bytes::<E>(CHUNKS) + skew::<E>()
                    };
                }
                address
            };
            // SAFETY: the window's rows were loaded; the vector is aligned as the window is.
            unsafe {
                store_vector::<E>(to, word, matrices.rows * k as u64, next, |i| {
                    let (row, part) = tuples.split(staged + i);
                    tuple(row) + part * size
                });
            }
        }
    }
}

/// Defines the entry points of one width: for elements, and for tuples of such words.
macro_rules! rows {
    ($rows:ident, $tuples:ident: $element:ty, chunks $chunks:literal, rows $count:literal, threads $threads:literal, passes $passes:literal, align $align:literal) => {
        crate::fast_entry! {
            "Transposes matrices whose rows start anywhere.",
            $rows: $element, |matrices| {
                let bytes = cuda_std::shared_array![
                    B16; (stage_bytes::<$element>($chunks, $count) / VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                transpose::<$element, $chunks, $count, $threads, $passes, $align>(matrices, base)
            }
        }
        crate::fast_entry! {
            "Transposes matrices of tuples of `k` words; all columns and leading dimensions are \
given in words.",
            $tuples: $element, |matrices, k, inverse, tile_cols, window| {
                let bytes = cuda_std::shared_array![
                    B16; (stage_bytes::<$element>($chunks, $count) / VECTOR) as usize
                ];
                let base = crate::tile::shared_address(bytes.cast());
                let tuples = Tuples {
                    k: k as u32,
                    inverse: inverse as u32,
                    cols: tile_cols as u32,
                    window: window as u32,
                };
                transpose_tuples::<$element, $chunks, $count, $threads, $passes, $align>(matrices, tuples, base)
            }
        }
    };
}

rows!(rows_b1, tuples_b1: u8, chunks 8, rows 256, threads 512, passes 4, align 16);
rows!(rows_b2, tuples_b2: u16, chunks 16, rows 128, threads 512, passes 4, align 32);
rows!(rows_b4, tuples_b4: u32, chunks 16, rows 128, threads 512, passes 4, align 32);
rows!(rows_b8, tuples_b8: u64, chunks 32, rows 64, threads 512, passes 4, align 32);
rows!(rows_b16, tuples_b16: B16, chunks 16, rows 64, threads 256, passes 4, align 32);
