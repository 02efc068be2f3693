//! Loads a box's stretches of the source, by whole vectors, into the image: through registers, or past them.

use super::place::Place;
use super::source::{AsItLies, Source};
use super::tables::{first_of, Extent, Stretch, Tables};
use crate::divide::less_once;
use crate::element::{Element, B16};
use crate::global::{
    await_copies, can_copy, copy_four, copy_vector, copy_vector_cached, load_vector,
};
use crate::opaque::{not_unrolled, opaque};
use crate::tensor::axes::{divide, unrolled};
use cuda_std::thread;
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{Boxes, ByVectors, BOX_THREADS};

/// A source, and how its boxes get into the image.
pub trait Load: Source {
    /// Whether what is loaded is on its way while threads do something else.
    fn are_copies(self) -> bool;

    /// Prepares the image, before anything is loaded.
    ///
    /// # Safety
    /// The obligations of the entry points; a barrier follows.
    #[inline(always)]
    unsafe fn prepare(self, _: &Boxes) {}

    /// Begins to load the stretches of a box.
    ///
    /// # Safety
    /// The obligations of the entry points; barriers separate this from what told where the stretches lie, and from what loaded what the image held.
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place);

    /// Waits until those that this thread loads are in the image, of the box that the block moves in such a turn.
    ///
    /// # Safety
    /// The thread has [begun](Self::begin) to load the box, and nothing else has been told since; all threads of the block call it, as it may have a barrier, and another one follows.
    unsafe fn finish(self, params: &Boxes, tables: impl Fn() -> Tables, turn: u32);
}

impl<E: Element> Load for AsItLies<E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        copies::<E>()
    }

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe {
            if copies::<E>() {
                begin_copies::<E, true>(params, tables, place);
            } else {
                load::<E>(params, tables, place);
            }
        }
    }

    #[inline(always)]
    unsafe fn finish(self, _: &Boxes, _: impl Fn() -> Tables, _: u32) {
        if copies::<E>() {
            await_copies();
        }
    }
}

/// Vectors that a thread has in flight.
const IN_FLIGHT: usize = 4;

/// Where a vector goes that there is not.
const NOTHING: u32 = u32::MAX;

/// Loads the stretches of the source into the image.
///
/// # Safety
/// Those of [`move_boxes`](super::move_boxes); barriers separate this from what told where the stretches lie, and from what loaded what the
/// image held.
#[inline(always)]
pub unsafe fn load<E: Element>(params: &Boxes, tables: Tables, place: &Place) {
    let all = place.sources * params.vectors as u32;
    let mut ends = Extent::NONE;
    let mut first = thread::thread_idx_x();
    while first < all {
        // What is loaded is not looked at before all of it is on its way.
        let mut held = [B16::ANY; IN_FLIGHT];
        let mut holds = [NOTHING; IN_FLIGHT];
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            let number = first + K as u32 * BOX_THREADS;
            // Of a block's last vectors no thread has one: then no warp does anything.
            if number < all {
                // SAFETY: the caller's obligations.
                let (stretch, at) = unsafe { vector(params, tables, number, VECTOR) };
                ends = ends.or(stretch.words);
                if stretch.words.has_whole(at) {
                    // SAFETY: a vector between the source's words.
                    held[K] = unsafe { load_vector(stretch.from + at as u64) };
                    holds[K] = stretch.hold + at;
                }
            }
        } }
        unrolled! { K in [0 1 2 3] of IN_FLIGHT => {
            if holds[K] != NOTHING {
                // SAFETY: the image has the stretch's vectors, and this is this thread's.
                unsafe { hold(held[K], holds[K], params.by_vectors) }
            }
        } }
        first += IN_FLIGHT as u32 * BOX_THREADS;
    }
    if ends.are_ends() {
        // SAFETY: the caller's obligations.
        unsafe { load_ends::<E>(params, tables, place, VECTOR, held_at) }
    }
}

/// Whether images are [copied](copy): those of narrow words all, those of 4-byte words that are held by vectors. (Boxes of wider words were as often slower by
/// that as faster.)
#[inline(always)]
pub fn copies<E>() -> bool {
    can_copy() && size_of::<E>() <= 4
}

/// As [`load`], by copies, which take no registers, so that more blocks run side by side.
///
/// # Safety
/// Those of [`load`]; the image is held by vectors.
#[inline(always)]
pub unsafe fn copy<E: Element>(params: &Boxes, tables: Tables, place: &Place) {
    // SAFETY: the caller's obligations.
    unsafe { begin_copies::<E, false>(params, tables, place) }
    await_copies();
}

/// Begins to copy the stretches of the source into the image. They are there when the thread has [awaited](await_copies) them.
///
/// # Safety
/// Those of [`copy`]; the image is held by vectors unless it may be `BY_FOURS`; nothing is loaded from the image before all threads have awaited theirs.
#[inline(always)]
pub unsafe fn begin_copies<E: Element, const BY_FOURS: bool>(
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    let turn = first_turn::<E>();
    // SAFETY: a vector of the image, which is this thread's, and one between the source's words.
    let ends = unsafe {
        if params.by_vectors == ByVectors::Cached as u64 {
            for_each_whole::<E>(params, tables, place, VECTOR, |stretch, at, _| {
                copy_vector_cached(stretch.hold + at, stretch.from + at as u64)
            })
        } else if !BY_FOURS || params.by_vectors != ByVectors::No as u64 {
            for_each_whole::<E>(params, tables, place, VECTOR, |stretch, at, _| {
                copy_vector(stretch.hold + at, stretch.from + at as u64)
            })
        } else {
            for_each_whole::<E>(params, tables, place, VECTOR, |stretch, at, _| {
                copy_by_fours(stretch.hold + at, stretch.from + at as u64, turn)
            })
        }
    };
    if ends.are_ends() {
        // SAFETY: the caller's obligations.
        unsafe { load_ends::<E>(params, tables, place, VECTOR, held_at) }
    }
}

/// Does something for each of this thread's vectors, of `bytes` bytes, that are loaded whole: with the stretch, how many bytes from the first of it the vector is, and its
/// number among those of the box. Returns [all](Extent::or) stretches.
///
/// # Safety
/// Those of [`load`].
#[inline(always)]
pub unsafe fn for_each_whole<E>(
    params: &Boxes,
    tables: Tables,
    place: &Place,
    bytes: u32,
    copy: impl Fn(&Stretch, u32, u32),
) -> Extent {
    let mut vectors = Vectors::of::<E>(params, place, bytes);
    let mut ends = Extent::NONE;
    while vectors.are_left() {
        // SAFETY: the caller's obligations.
        let (stretch, at) = unsafe { vectors.this(tables) };
        ends = ends.or(stretch.words);
        if stretch.words.has_whole(at) {
            copy(&stretch, at, vectors.number);
        }
        vectors.go_on();
    }
    ends
}

/// A thread's vectors of a box, one after the other.
pub struct Vectors {
    /// The number of this one among all of the box.
    pub number: u32,
    all: u32,
    row: u32,
    vector: u32,
    of_row: u32,
    bytes: u32,
    /// How far on the thread's next vector is: a division of each would take longer than sums of these.
    rows: u32,
    further: u32,
}

impl Vectors {
    /// This thread's vectors of a box, of `bytes` bytes each.
    #[inline(always)]
    pub fn of<E>(params: &Boxes, place: &Place, bytes: u32) -> Self {
        let (of_row, all) = (params.vectors as u32, place.sources * params.vectors as u32);
        let number = first_of::<E>();
        let (row, vector) = divide(number, params.vectors);
        let (rows, further) = divide(opaque(BOX_THREADS), params.vectors);
        Vectors { number, all, row, vector, of_row, bytes, rows, further }
    }

    /// Whether there is one.
    #[inline(always)]
    pub fn are_left(&self) -> bool {
        self.number < self.all
    }

    /// This one's stretch, and how many bytes from the first of the stretch it is: it is one of the stretch's if those are before its end.
    ///
    /// # Safety
    /// A barrier separates this from what told where the stretches lie; there is one.
    #[inline(always)]
    pub unsafe fn this(&self, tables: Tables) -> (Stretch, u32) {
        // SAFETY: an entry of the table.
        (unsafe { Stretch::load_shared(tables.stretch(self.row)) }, self.vector * self.bytes)
    }

    /// Goes on to the next.
    #[inline(always)]
    pub fn go_on(&mut self) {
        self.number += BOX_THREADS;
        let on = self.vector + self.further;
        self.vector = less_once(on, self.of_row);
        self.row += self.rows + u32::from(on >= self.of_row);
    }
}

/// Where a thread begins that has a vector by 4 bytes, in bytes from its start, modulo its width.
#[inline(always)]
pub fn first_turn<E>() -> u32 {
    first_of::<E>() / 8 * 4
}

/// Begins to copy a vector by 4 bytes, from those on that are `turn` bytes behind its start, modulo its width: in an order in which lanes meet in few banks.
///
/// # Safety
/// Those of [`copy_vector_cached`], but that `to` need be a multiple of 4 alone; `turn` is one, too.
#[inline(always)]
pub unsafe fn copy_by_fours(to: u32, from: u64, turn: u32) {
    unrolled! { STEP in [0 1 2 3] of 4 => {
        let at = (turn + STEP as u32 * 4) % VECTOR;
        // SAFETY: the caller's obligations; `from` is a multiple of a vector, and `at` one of 4.
        unsafe { copy_four(to + at, from | at as u64) }
    } }
}

/// The stretch of one of a box's vectors, which have `vector_bytes`, and how many bytes from the first of the stretch it is.
///
/// # Safety
/// Those of [`load`]; there is such a vector.
#[inline(always)]
unsafe fn vector(params: &Boxes, tables: Tables, number: u32, vector_bytes: u32) -> (Stretch, u32) {
    let (row, vector) = divide(number, params.vectors);
    // SAFETY: an entry of the table.
    (unsafe { Stretch::load_shared(tables.stretch(row)) }, vector * vector_bytes)
}

/// Where a vector goes that is held as it comes.
#[inline(always)]
fn held_at(stretch: &Stretch, at: u32, _: u32) -> u32 {
    stretch.hold + at
}

/// Loads those of this thread's vectors, of `vector_bytes`, that have words of a stretch and are not loaded whole: word by word, to where `to` says that a vector goes. Of what lies beside a stretch nothing is loaded.
///
/// # Safety
/// Those of [`load`].
#[inline(always)]
pub unsafe fn load_ends<E: Element>(
    params: &Boxes,
    tables: Tables,
    place: &Place,
    vector_bytes: u32,
    to: impl Fn(&Stretch, u32, u32) -> u32,
) {
    let all = place.sources * params.vectors as u32;
    let mut number = first_of::<E>();
    while number < all {
        not_unrolled();
        // SAFETY: an entry of the table; this thread's vector of the image, and words of the stretch.
        unsafe {
            let (stretch, at) = vector(params, tables, number, vector_bytes);
            if at < stretch.words.end() && !stretch.words.has_whole(at) {
                load_words::<E>(&stretch, at, to(&stretch, at, number), vector_bytes)
            }
        }
        number += BOX_THREADS;
    }
}

/// Loads the words of a stretch that lie in a vector of `bytes` bytes, `vector` bytes from where its first one starts: all of them are on their way together. The rest of the vector in shared memory is 0, as narrow words are loaded from there
/// with others beside them.
///
/// # Safety
/// The words are readable; the vector at `hold` in shared memory is this thread's.
#[inline(always)]
unsafe fn load_words<E: Element>(stretch: &Stretch, vector: u32, hold: u32, bytes: u32) {
    const MOST: usize = VECTOR as usize;
    let none = E::of_vector(B16::from_u32s([0; 4]));
    let (from, size) = (stretch.from + vector as u64, size_of::<E>());
    let (start, end) = (stretch.words.start(), stretch.words.end());
    let mut words = [none; MOST];
    unrolled! { WORD in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] of MOST => {
        let at = (WORD * size) as u32;
        if at < bytes && (start..end).contains(&(vector + at)) {
            // SAFETY: the caller's obligations.
            words[WORD] = unsafe { E::load((from + at as u64) as *const E) };
        }
    } }
    unrolled! { WORD in [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] of MOST => {
        let at = (WORD * size) as u32;
        if at < bytes {
            // SAFETY: the caller's obligations.
            unsafe { words[WORD].store_shared(hold + at) }
        }
    } }
}

/// Stores a vector to shared memory: at once, or by 4 bytes, in an order in which lanes meet no bank twice.
///
/// # Safety
/// The 16 bytes from `address` on, a multiple of 4, and of 16 if it is stored at once, are shared memory that no other thread accesses before the
/// next barrier.
#[inline(always)]
pub unsafe fn hold(vector: B16, address: u32, at_once: u64) {
    if at_once != 0 {
        // SAFETY: the caller's obligations.
        unsafe { vector.store_shared(address) }
        return;
    }
    let turn = (thread::thread_idx_x() >> 3) & 3;
    let B16(a, b, c, d) = vector;
    let (a, b, c, d) = if turn & 1 == 0 { (a, b, c, d) } else { (b, c, d, a) };
    let (a, b, c, d) = if turn & 2 == 0 { (a, b, c, d) } else { (c, d, a, b) };
    let store = |j: u32, word: u32| {
        // SAFETY: the caller's obligations.
        unsafe { word.store_shared(address + ((j + turn) & 3) * 4) }
    };
    store(0, a);
    store(1, b);
    store(2, c);
    store(3, d);
}
