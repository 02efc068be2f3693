//! Loads a tile of narrow words by vectors. Where rows start anywhere, a thread loads the aligned vector that its words of a row start in, and slides them out of that
//! and the next lane's. (If each thread loaded both, neither would be in the cache yet, and memory would be asked for all of them twice.)
//!
//! A lane that is its row's last, or its warp's, has no next one, and copies the vectors beside its own to shared memory (`cp.async`), to a place of its own: they are on their way with all others then,
//! and take no registers. Loaded when they are needed, a row at a time, each would have the warp wait for memory once more.
//!
//! Vectors that lie in part behind the source's last word, or before its first, are loaded word by word, when all others are in shared memory.

use super::axes::divide;
use super::on_the_way::OnTheWay;
use super::tile::{Offsets, Place, Source, Tile};
use crate::element::{Element, B16};
use crate::global::{await_copies, can_copy, copy_vector, load_vector};
use crate::micro_block::MicroBlock;
use crate::slide::slide;
use crate::warp::next_lanes_vector;
use cuda_std::thread;
use kernel_abi::fast::{VECTOR, WARP};
use kernel_abi::tensor::Tiles;

/// Loads a tile and transposes it into shared memory, `SLID` where not all rows start on vectors, and without padding between the columns if vectors are `TURNED` for sure. What is kept of a column is whole vectors; what there is behind its last row may be anything.
///
/// # Safety
/// The obligations of [`load`](super::tiles::load); all threads of the block call this together, and each has one micro-block.
#[inline(always)]
pub unsafe fn load_rows<E: MicroBlock<R>, const R: usize, const SLID: bool, const TURNED: bool>(
    source: Source<E>,
    params: &Tiles,
    on_the_way: impl OnTheWay<E>,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
) {
    let own = Own::<R>::of::<E>(params, offsets);
    let Own { top, first, vector, .. } = own;
    // The last row again where there are no more.
    let row = |i: usize| (top + i as u32).min(place.rows - 1);
    // SAFETY: an entry of the table.
    let from = |i: usize| source.address(unsafe { Offsets::of(offsets.rows, row(i)) }, first);
    // SAFETY: the caller's obligations.
    let (mut held, all_inside) = unsafe { own.load::<E, SLID>(source, place, from) };
    if SLID {
        let is_there = top < place.rows && first < place.cols && all_inside;
        // SAFETY: the caller's obligations; vectors of what lies between the source's words.
        held = unsafe { own.slide::<E>(held, is_there, from) };
    }
    for held in &mut held {
        *held = on_the_way.vector(*held);
    }
    if top < place.kept_rows::<E>() {
        // SAFETY: no two threads have a micro-block in common, and the tile has its columns.
        unsafe {
            E::store_columns(held, tile.kept::<TURNED>(top, first, vector), tile.pitch());
            if !all_inside {
                let (rows, columns) = ([top, R as u32], [first, vector]);
                load_singly::<E, TURNED>(source, on_the_way, offsets, tile, place, rows, columns);
            }
        }
    }
}

/// The micro-block of a thread: a vector of each of `R` rows.
#[derive(Clone, Copy)]
struct Own<const R: usize> {
    /// The first row.
    top: u32,
    /// The first column.
    first: u32,
    /// The vector's number in each row.
    vector: u32,
    /// Whether the next lane has the vectors beside these.
    has_next: bool,
    /// Where in shared memory this thread keeps them, if not.
    beside: u32,
}

impl<const R: usize> Own<R> {
    /// This thread's.
    #[inline(always)]
    fn of<E>(params: &Tiles, offsets: Offsets) -> Self {
        let (thread, warps) = (thread::thread_idx_x(), thread::block_dim_x() / WARP);
        let (group, vector) = divide(thread, params.row_vectors);
        let is_last = vector + 1 == params.row_vectors as u32;
        let place = if is_last { warps + group } else { thread / WARP };
        Own {
            top: group * R as u32,
            first: vector * (VECTOR / size_of::<E>() as u32),
            vector,
            has_next: !is_last && thread % WARP != WARP - 1,
            beside: offsets.end.next_multiple_of(VECTOR) + place * (R as u32 * VECTOR),
        }
    }

    /// Loads the aligned vectors that its rows' words start in, which begin at what `from` gives, and starts to copy those beside them that no other lane has; and whether all of them lie between the
    /// source's words. Else those are loaded that do.
    ///
    /// # Safety
    /// The obligations of [`load_rows`].
    #[inline(always)]
    unsafe fn load<E, const SLID: bool>(
        &self,
        source: Source<E>,
        place: Place,
        from: impl Fn(usize) -> u64,
    ) -> ([B16; R], bool) {
        // The lane before may need what lies behind the last column.
        let (needed, more) =
            if SLID { (2 * VECTOR, VECTOR / size_of::<E>() as u32) } else { (VECTOR, 0) };
        let mut held = [B16::ANY; R];
        let mut all_inside = true;
        if self.top >= place.rows || self.first >= place.cols + more {
            return (held, all_inside);
        }
        let mut aligned = [0; R];
        for i in 0..R {
            let from = from(i);
            aligned[i] = from - from % VECTOR as u64;
            let is_inside = source.holds(aligned[i], needed);
            all_inside &= is_inside;
            if !SLID && is_inside {
                // SAFETY: an aligned vector of what lies between the source's words.
                held[i] = unsafe { load_vector(aligned[i]) };
            }
        }
        if !SLID {
            return (held, all_inside);
        }
        // SAFETY: aligned vectors of what lies between the source's words; places in shared memory that are this thread's.
        unsafe {
            if all_inside {
                for i in 0..R {
                    held[i] = load_vector(aligned[i]);
                }
                if can_copy() && !self.has_next && self.first < place.cols {
                    for i in 0..R {
                        copy_vector(self.beside + i as u32 * VECTOR, aligned[i] + VECTOR as u64);
                    }
                }
            } else {
                for i in 0..R {
                    if source.holds(aligned[i], VECTOR) {
                        held[i] = load_vector(aligned[i]);
                    }
                }
            }
        }
        (held, all_inside)
    }

    /// The words of its rows, out of the vectors that it holds and those beside them; anything if they are not all there.
    ///
    /// # Safety
    /// The obligations of [`load_rows`]; it has [loaded](Self::load) the vectors, and if `is_there`, those beside them can be loaded.
    #[inline(always)]
    unsafe fn slide<E>(
        &self,
        held: [B16; R],
        is_there: bool,
        from: impl Fn(usize) -> u64,
    ) -> [B16; R] {
        if can_copy() {
            await_copies();
        }
        let mut slid = [B16::ANY; R];
        for i in 0..R {
            // SAFETY: the caller's obligations.
            let mut next = unsafe { next_lanes_vector(held[i]) };
            let mut past = 0;
            if is_there {
                let from = from(i);
                past = from as u32 % VECTOR;
                if !self.has_next {
                    // SAFETY: this thread's own copy, which it has awaited; or an aligned vector of the source.
                    next = unsafe {
                        if can_copy() {
                            B16::load_shared(self.beside + i as u32 * VECTOR)
                        } else {
                            load_vector(from - past as u64 + VECTOR as u64)
                        }
                    };
                }
            }
            slid[i] = slide::<E>(held[i], next, past);
        }
        slid
    }
}

/// Loads the words of a micro-block one by one, and stores them to the tile.
///
/// # Safety
/// The obligations of [`load_rows`]; the micro-block of `rows` rows from `top` on, and a vector's columns from `first` on, is this thread's.
#[inline(always)]
unsafe fn load_singly<E: Element, const TURNED: bool>(
    source: Source<E>,
    on_the_way: impl OnTheWay<E>,
    offsets: Offsets,
    tile: Tile<E>,
    place: Place,
    [top, rows]: [u32; 2],
    [first, vector]: [u32; 2],
) {
    let cols = place.cols.min(first + VECTOR / size_of::<E>() as u32);
    let mut row = top;
    while row < place.rows.min(top + rows) {
        let mut col = first;
        while col < cols {
            // SAFETY: the caller's obligations; a word of the source.
            unsafe {
                let from = source.address(Offsets::of(offsets.rows, row), col);
                on_the_way
                    .word(E::load(from as *const E))
                    .store_shared(tile.kept::<TURNED>(row, col, vector));
            }
            col += 1;
        }
        row += 1;
    }
}
