//! Moves that compute, along axes that are short and in any order: through the boxes, and the pieces, of [`tensor`](crate::tensor).
//!
//! A box is loaded, computed in shared memory in the order in which it lies there, and gathered as words are that nothing is computed of, whatever order that is.
//!
//! ```text
//! source  ──vectors──▶  where they wait  ──computed──▶  image  ──gathered──▶  destination
//! ```
//!
//! Elements that keep their size wait in the image, and all of it is computed where it is: a load and a store of shared memory for 16 bytes, wherever stretches start. Others wait by themselves, a
//! thread's vectors wherever it likes, and each thread computes those that it has loaded. Of elements that become wider, what is loaded at a time is what becomes a vector of the image, or a whole
//! vector, if stretches are so long that the room which that leaves between them in the image is little.
//!
//! What lies between stretches is computed, too, and nothing gathers it.
//!
//! # Words
//! Elements that lie together on both sides are one word. A word of the source and one of the destination then differ in size as their elements do. Entry points are for words of the destination, and
//! for all sizes of elements that such words may have.

use super::arithmetic_entry;
use super::memory::{load_part, load_shared_part, store_shared_part};
use super::operation::NothingBeside;
use super::pair::{Pair, Sizes};
use crate::element::{Element, B16};
use crate::global::{await_copies, can_copy, copy_eight, copy_four, copy_vector};
use crate::launch::never_more_registers;
use crate::opaque::not_unrolled;
use crate::shared::store_u32;
use crate::tensor::boxes::load::{copy_by_fours, first_turn, hold, load_ends, Load, Vectors};
use crate::tensor::boxes::move_overlapped;
use crate::tensor::boxes::place::Place;
use crate::tensor::boxes::source::Source;
use crate::tensor::boxes::tables::{Extent, Stretch, Tables};
use crate::tensor::pieces::move_pieces;
use cuda_std::thread;
use kernel_abi::arithmetic::{Computed, Operation};
use kernel_abi::fast::VECTOR;
use kernel_abi::tensor::{box_vector, Boxes, BOX_THREADS};

/// A source that is computed before it is gathered as words like `E`.
struct Computing<'a, E> {
    src: *const E,
    computed: &'a Computed,
    /// Bytes of what is loaded at a time.
    vector: u32,
    /// Where the image starts in shared memory.
    image: u32,
}

impl<E> Clone for Computing<'_, E> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Computing<'_, E> {}

impl<E> Computing<'_, E> {
    /// Where a vector waits that is `at` bytes from the first of its stretch, and has this number among those of the box.
    #[inline(always)]
    fn waits(self, stretch: &Stretch, at: u32, number: u32) -> u32 {
        match self.computed.waiting as u32 {
            0 => stretch.hold + at,
            waiting => self.image + waiting + number * self.vector,
        }
    }
}

impl<E: Element> Source for Computing<'_, E> {
    #[inline(always)]
    fn start(self) -> u64 {
        self.src as u64
    }

    #[inline(always)]
    fn word_bytes(self) -> u64 {
        1 << self.computed.src_word
    }

    #[inline(always)]
    fn vector_bytes(self) -> u32 {
        self.vector
    }

    #[inline(always)]
    fn in_image(self, bytes: u32) -> u32 {
        (bytes * size_of::<E>() as u32) >> self.computed.src_word
    }
}

impl<E: Element> Load for Computing<'_, E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        can_copy()
    }

    #[inline(always)]
    unsafe fn prepare(self, params: &Boxes) {
        if self.computed.waiting != 0 {
            return;
        }
        // All of the image is computed, what no stretch has as well.
        let (mut at, end) = (thread::thread_idx_x() * VECTOR, params.image as u32);
        while at < end {
            not_unrolled();
            // SAFETY: a vector of the image, which no other thread has.
            unsafe { B16::from_u32s([0; 4]).store_shared(self.image + at) }
            at += BOX_THREADS * VECTOR;
        }
    }

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        let bytes = self.vector_bytes();
        let at_once = params.by_vectors | self.computed.waiting;
        let (mut vectors, mut ends) = (Vectors::of::<E>(params, place, bytes), Extent::NONE);
        while vectors.are_left() {
            // SAFETY: the caller's obligations.
            let (stretch, at) = unsafe { vectors.this(tables) };
            ends = ends.or(stretch.words);
            if stretch.words.has_whole(at) {
                let to = self.waits(&stretch, at, vectors.number);
                // SAFETY: a vector that is this thread's, and one between the source's words.
                unsafe { copy::<E>(to, stretch.from + at as u64, bytes, at_once) }
            }
            vectors.go_on();
        }
        if ends.are_ends() {
            let to = |stretch: &Stretch, at, number| self.waits(stretch, at, number);
            // SAFETY: the caller's obligations; words are some bytes.
            unsafe { load_ends::<u8>(params, tables, place, bytes, to) }
        }
    }

    #[inline(always)]
    unsafe fn finish(self, params: &Boxes, tables: impl Fn() -> Tables, turn: u32) {
        if can_copy() {
            await_copies();
        }
        // SAFETY: the caller's obligations.
        unsafe {
            let tables = tables();
            let place = tables.place(turn);
            compute_box::<E>(self, params, tables, &place)
        }
    }
}

/// Copies `bytes` bytes of the source to where they wait: at once, or by 4 bytes in an order in which lanes meet in few banks. They are there when the thread has awaited them.
///
/// # Safety
/// Both addresses are multiples of the bytes, or that of shared memory, which is this thread's, is one of 4 if it is not at once; the source has them.
#[inline(always)]
unsafe fn copy<E>(to: u32, from: u64, bytes: u32, at_once: u64) {
    // SAFETY: the caller's obligations.
    unsafe {
        match bytes {
            VECTOR if !can_copy() => hold(load_part(from, 16), to, at_once),
            VECTOR if at_once == 0 => copy_by_fours(to, from, first_turn::<E>()),
            VECTOR => copy_vector(to, from),
            _ if !can_copy() => {
                let part = load_part(from, if bytes == 8 { 8 } else { 4 });
                store_u32(to, part.0);
                if bytes == 8 {
                    store_u32(to + 4, part.1);
                }
            }
            8 => copy_eight(to, from),
            _ => copy_four(to, from),
        }
    }
}

/// Computes this thread's vectors of a box, by the sizes of elements.
///
/// # Safety
/// Those of [`Load::finish`]; what the thread has loaded is there.
#[inline(always)]
unsafe fn compute_box<E: Element>(
    source: Computing<'_, E>,
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    macro_rules! sizes {
        ($($src:literal $dst:literal),+) => {
            match (source.computed.src_bytes, source.computed.operation.dst_bytes) {
                $(($src, $dst) if $dst <= size_of::<E>() => {
                    // SAFETY: the caller's obligations.
                    unsafe { compute_vectors::<Sizes<$src, $dst>, E>(source, params, tables, place) }
                })+
                _ => {}
            }
        };
    }
    sizes!(1 1, 2 1, 4 1, 1 2, 2 2, 4 2, 8 2, 1 4, 2 4, 4 4, 8 4, 4 8, 8 8, 16 8, 8 16, 16 16)
}

/// Computes this thread's vectors of a box.
///
/// # Safety
/// Those of [`compute_box`].
#[inline(always)]
unsafe fn compute_vectors<P: Pair, E: Element>(
    source: Computing<'_, E>,
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    let operation = &source.computed.operation;
    if P::SRC == P::DST {
        thread::sync_threads();
        // SAFETY: the caller's obligations.
        return unsafe { compute_in_place::<P>(operation, source.image, params.image as u32) };
    }
    let by_vectors = params.by_vectors;
    let bytes = source.vector_bytes();
    let mut vectors = Vectors::of::<E>(params, place, bytes);
    while vectors.are_left() {
        // SAFETY: the caller's obligations.
        let (stretch, at) = unsafe { vectors.this(tables) };
        if at < stretch.words.end() {
            let waits = source.waits(&stretch, at, vectors.number);
            let to = stretch.hold + at / P::SRC as u32 * P::DST as u32;
            // SAFETY: the caller's obligations; the vector is this thread's.
            unsafe {
                if P::SRC < P::DST && size_of::<E>() < 8 && bytes == VECTOR {
                    compute_whole_at::<P>(operation, [waits, to], by_vectors)
                } else {
                    compute_vector_at::<P>(operation, [waits, to], by_vectors)
                }
            }
        }
        vectors.go_on();
    }
}

/// Computes a vector that waits at an address of shared memory, to another one.
///
/// # Safety
/// Those of [`compute_box`]; both are this thread's.
#[inline(always)]
unsafe fn compute_vector_at<P: Pair>(operation: &Operation, [from, to]: [u32; 2], by_vectors: u64) {
    let bytes = box_vector(P::SRC, P::DST);
    // SAFETY: the caller's obligations.
    unsafe {
        let vector = load_shared_part(from, bytes);
        let [result] = P::compute::<true, 1>(operation, [vector], [B16::ANY], &[NothingBeside]);
        match bytes / P::SRC * P::DST {
            16 => hold(result, to, by_vectors),
            8 if by_vectors == 0 => {
                store_u32(to, result.0);
                store_u32(to + 4, result.1);
            }
            results => store_shared_part(to, results, result),
        }
    }
}

/// Computes a vector of elements that become several vectors of wider ones.
///
/// # Safety
/// Those of [`compute_vector_at`].
#[inline(always)]
unsafe fn compute_whole_at<P: Pair>(operation: &Operation, [from, to]: [u32; 2], by_vectors: u64) {
    // SAFETY: the caller's obligations.
    unsafe {
        let B16(a, b, c, d) = B16::load_shared(from);
        if 4 * P::SRC == P::DST {
            let part = |word: u32| B16(word, 0, 0, 0);
            let to_second = to + 2 * VECTOR;
            hold_two(compute_two::<P>(operation, [part(a), part(b)]), to, by_vectors);
            hold_two(compute_two::<P>(operation, [part(c), part(d)]), to_second, by_vectors);
        } else {
            let halves = [B16(a, b, 0, 0), B16(c, d, 0, 0)];
            hold_two(compute_two::<P>(operation, halves), to, by_vectors);
        }
    }
}

/// Stores two vectors to shared memory, one behind the other.
///
/// # Safety
/// Those of [`hold`], of both.
#[inline(always)]
unsafe fn hold_two([first, second]: [B16; 2], to: u32, by_vectors: u64) {
    // SAFETY: the caller's obligations.
    unsafe {
        hold(first, to, by_vectors);
        hold(second, to + VECTOR, by_vectors);
    }
}

/// The results for two vectors, or two parts of vectors that become vectors.
#[inline(always)]
fn compute_two<P: Pair>(operation: &Operation, vectors: [B16; 2]) -> [B16; 2] {
    P::compute::<true, 2>(operation, vectors, [B16::ANY; 2], &[NothingBeside; 2])
}

/// Computes the image where it is, whatever lies in it, each thread vectors that are a block's threads apart: two at a time, so that formats are looked at once for both.
///
/// # Safety
/// Those of [`compute_box`]; a barrier separates this from what the threads have loaded, and from what gathers it.
#[inline(always)]
unsafe fn compute_in_place<P: Pair>(operation: &Operation, image: u32, bytes: u32) {
    const STEP: u32 = BOX_THREADS * VECTOR;
    let (mut at, end) = (image + thread::thread_idx_x() * VECTOR, image + bytes);
    while at < end {
        not_unrolled();
        let next = at + STEP;
        // SAFETY: the caller's obligations; vectors that no other thread has.
        unsafe {
            let first = B16::load_shared(at);
            let second = if next < end { B16::load_shared(next) } else { first };
            let [first, second] = compute_vectors_of::<P>(operation, [first, second]);
            first.store_shared(at);
            if next < end {
                second.store_shared(next);
            }
        }
        at = next + STEP;
    }
}

/// The results for two vectors of elements that keep their size.
#[inline(always)]
fn compute_vectors_of<P: Pair>(operation: &Operation, vectors: [B16; 2]) -> [B16; 2] {
    if P::SRC == 1 && P::DST == 1 {
        let [first, second] = vectors;
        return [compute_bytes::<P>(operation, first), compute_bytes::<P>(operation, second)];
    }
    if P::SRC >= 8 {
        // Numbers of 64 bits take twice as many registers.
        let [first, second] = vectors;
        let [first] = P::compute::<true, 1>(operation, [first], [B16::ANY], &[NothingBeside]);
        let [second] = P::compute::<true, 1>(operation, [second], [B16::ANY], &[NothingBeside]);
        return [first, second];
    }
    compute_two::<P>(operation, vectors)
}

/// The results for a vector of single bytes, of which a unit is half of it.
#[inline(always)]
fn compute_bytes<P: Pair>(operation: &Operation, B16(a, b, c, d): B16) -> B16 {
    let [low, high] = compute_two::<P>(operation, [B16(a, b, 0, 0), B16(c, d, 0, 0)]);
    B16(low.0, low.1, high.0, high.1)
}

/// As many registers as leave room for four blocks; where nothing can be copied past them, more.
#[inline(always)]
pub(super) fn limit_registers() {
    if can_copy() {
        never_more_registers::<64>();
    } else {
        never_more_registers::<96>();
    }
}

/// Defines an entry point.
macro_rules! compute_boxes {
    ($name:ident: $element:ty) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Computes boxes, held as they lie in the source and gathered word by word.",
            COMPUTE_BOXES: ComputeBoxes, $name: $element, |src, dst, params| {
                limit_registers();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let image = crate::tile::shared_address(memory);
                let vector = params.boxes.vector as u32;
                let source = Computing { src, computed: &params.computed, vector, image };
                move_overlapped::<$element>(source, dst as *mut $element, &params.boxes, image)
            }
        }
    };
}

compute_boxes!(compute_boxes_b1: u8);
compute_boxes!(compute_boxes_b2: u16);
compute_boxes!(compute_boxes_b4: u32);
compute_boxes!(compute_boxes_b8: u64);
compute_boxes!(compute_boxes_b16: B16);

/// Defines an entry point.
macro_rules! compute_pieces {
    ($name:ident: $element:ty) => {
        #[cfg(feature = "arithmetic_tensors")]
        arithmetic_entry! {
            "Computes boxes, held as they lie in the source and gathered piece by piece.",
            COMPUTE_PIECES: ComputePieces, $name: $element, |src, dst, params| {
                limit_registers();
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let image = crate::tile::shared_address(memory);
                let vector = params.pieces.boxes.vector as u32;
                let source = Computing { src, computed: &params.computed, vector, image };
                move_pieces::<$element>(source, dst as *mut $element, &params.pieces, image)
            }
        }
    };
}

compute_pieces!(compute_pieces_b1: u8);
compute_pieces!(compute_pieces_b2: u16);
