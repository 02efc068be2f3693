//! Moves that compute, along axes that are short and in any order, where channels have a factor and a summand each: through the boxes, and the pieces, of [`boxes`](super::boxes).
//!
//! A box is computed as it lies in the source, so it is where elements lie there that says [which pairs](super::placed_pairs) they have.

use super::arithmetic_entry;
use super::boxes::{hold_results, limit_registers, Computing};
use super::memory::load_shared_part;
use super::pair::{Pair, Sizes};
use super::placed_pairs::PlacedPairs;
use crate::element::{Element, B16};
use crate::global::{await_copies, can_copy};
use crate::opaque::not_unrolled;
use crate::tensor::boxes::load::{held, hold, Load, Vectors};
use crate::tensor::boxes::move_overlapped;
use crate::tensor::boxes::place::Place;
use crate::tensor::boxes::source::Source;
use crate::tensor::boxes::tables::Tables;
use crate::tensor::pieces::move_pieces;
use cuda_std::shared::dynamic_shared_mem;
use kernel_abi::arithmetic::ChannelPlaces;
use kernel_abi::tensor::{Boxes, BOX_THREADS};

/// A source that is computed by the pairs of its channels before it is gathered as words like `E`.
struct ByPairs<'a, E> {
    computing: Computing<'a, E>,
    channels: &'a ChannelPlaces,
}

impl<'a, E> ByPairs<'a, E> {
    /// The pairs.
    #[inline(always)]
    fn pairs(self) -> PlacedPairs<'a> {
        let Computing { computed, image, .. } = self.computing;
        PlacedPairs { operation: &computed.operation, channels: self.channels, shared: image }
    }
}

impl<E> Clone for ByPairs<'_, E> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for ByPairs<'_, E> {}

impl<E: Element> Source for ByPairs<'_, E> {
    #[inline(always)]
    fn start(self) -> u64 {
        self.computing.start()
    }

    #[inline(always)]
    fn word_bytes(self) -> u64 {
        self.computing.word_bytes()
    }

    #[inline(always)]
    fn vector_bytes(self) -> u32 {
        self.computing.vector_bytes()
    }

    #[inline(always)]
    fn in_image(self, bytes: u32) -> u32 {
        self.computing.in_image(bytes)
    }
}

impl<E: Element> Load for ByPairs<'_, E> {
    #[inline(always)]
    fn are_copies(self) -> bool {
        self.computing.are_copies()
    }

    #[inline(always)]
    unsafe fn prepare(self, _: &Boxes) {
        // SAFETY: the caller's obligations.
        unsafe { self.pairs().keep(BOX_THREADS) }
    }

    #[inline(always)]
    unsafe fn begin(self, params: &Boxes, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe { self.computing.begin(params, tables, place) }
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
            compute_box(self, params, tables, &place)
        }
    }
}

/// Computes this thread's vectors of a box, by the sizes of elements.
///
/// # Safety
/// Those of [`Load::finish`]; what the thread has loaded is there.
#[inline(always)]
unsafe fn compute_box<E: Element>(
    source: ByPairs<'_, E>,
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    macro_rules! sizes {
        ($($src:literal $dst:literal),+) => {
            match source.computing.computed.src_bytes {
                $($src if $dst == size_of::<E>() => {
                    // SAFETY: the caller's obligations.
                    unsafe { compute_vectors::<Sizes<$src, $dst>, E>(source, params, tables, place) }
                })+
                _ => {}
            }
        };
    }
    sizes!(1 1, 2 1, 4 1, 1 2, 2 2, 4 2, 1 4, 2 4, 4 4)
}

/// Computes this thread's vectors of a box, which are those that it has loaded.
///
/// # Safety
/// Those of [`compute_box`].
#[inline(always)]
unsafe fn compute_vectors<P: Pair, E: Element>(
    source: ByPairs<'_, E>,
    params: &Boxes,
    tables: Tables,
    place: &Place,
) {
    let bytes = source.vector_bytes();
    let mut vectors = Vectors::of::<E>(params, place, bytes);
    while vectors.are_left() {
        // SAFETY: the caller's obligations; the vector is this thread's.
        unsafe {
            let (stretch, at) = vectors.this(tables);
            if at < stretch.end {
                let vector = OfVector {
                    waits: source.computing.waits(&stretch, at, vectors.number),
                    to: stretch.hold + at / P::SRC as u32 * P::DST as u32,
                    before: source.pairs().before(stretch.from, source.start()) + at,
                };
                if P::UNIT * P::SRC == 4 && P::UNIT * P::DST == 4 {
                    compute_bytes::<P, E>(source, vector, params.by_vectors)
                } else {
                    compute_units::<P, E>(source, vector, bytes, params.by_vectors)
                }
            }
        }
        vectors.go_on();
    }
}

/// A vector that waits to be computed.
#[derive(Clone, Copy)]
struct OfVector {
    /// Where it waits in shared memory.
    waits: u32,
    /// Where results go in shared memory.
    to: u32,
    /// Bytes before it in the source, and of [all channels](ChannelPlaces::behind).
    before: u32,
}

/// Computes the units of a vector of `bytes` bytes, one after the other.
///
/// # Safety
/// Those of [`compute_box`]; the vector is this thread's.
#[inline(always)]
unsafe fn compute_units<P: Pair, E: Element>(
    source: ByPairs<'_, E>,
    vector: OfVector,
    bytes: u32,
    by_vectors: u64,
) {
    let unit = (P::UNIT * P::SRC) as u32;
    let mut past = 0;
    loop {
        let waits = vector.waits + past;
        // SAFETY: the caller's obligations.
        unsafe {
            let elements = if P::SRC == P::DST {
                held(waits, by_vectors)
            } else {
                load_shared_part(waits, P::UNIT * P::SRC)
            };
            let before = vector.before + past;
            let results = source.pairs().compute::<P>(elements, before, P::SRC);
            let to = vector.to + past / P::SRC as u32 * P::DST as u32;
            hold_results(results, P::UNIT * P::DST, to, by_vectors);
        }
        past += unit;
        // Only of what becomes wider there may be several.
        if P::SRC >= P::DST || past >= bytes {
            return;
        }
    }
}

/// Computes a vector of single bytes that stay single bytes, by fours.
///
/// # Safety
/// Those of [`compute_units`].
#[inline(always)]
unsafe fn compute_bytes<P: Pair, E: Element>(
    source: ByPairs<'_, E>,
    vector: OfVector,
    by_vectors: u64,
) {
    // SAFETY: the caller's obligations.
    let B16(mut a, mut b, mut c, mut d) = unsafe { held(vector.waits, by_vectors) };
    for four in 0..4 {
        not_unrolled();
        let elements = B16(a, 0, 0, 0);
        // SAFETY: the caller's obligations.
        let results =
            unsafe { source.pairs().compute::<P>(elements, vector.before + four * 4, P::SRC) };
        (a, b, c, d) = (b, c, d, results.0);
    }
    // SAFETY: the caller's obligations.
    unsafe { hold(B16(a, b, c, d), vector.to, by_vectors) }
}

/// Defines an entry point.
macro_rules! compute_boxes_by_pairs {
    ($name:ident: $element:ty) => {
        arithmetic_entry! {
            "Computes boxes by the pairs of their channels, held as they lie in the source and gathered word by word.",
            COMPUTE_BOXES_BY_PAIRS: ComputeBoxesByPairs, $name: $element, |src, dst, params| {
                limit_registers();
                let image = crate::tile::shared_address(dynamic_shared_mem::<u8>());
                let vector = params.boxes.vector as u32;
                let computing = Computing { src, computed: &params.computed, vector, image };
                let source = ByPairs { computing, channels: &params.channels };
                move_overlapped::<$element>(source, dst as *mut $element, &params.boxes, image)
            }
        }
    };
}

compute_boxes_by_pairs!(compute_boxes_by_pairs_b1: u8);
compute_boxes_by_pairs!(compute_boxes_by_pairs_b2: u16);
compute_boxes_by_pairs!(compute_boxes_by_pairs_b4: u32);

/// Defines an entry point.
macro_rules! compute_pieces_by_pairs {
    ($name:ident: $element:ty) => {
        arithmetic_entry! {
            "Computes boxes by the pairs of their channels, held as they lie in the source and gathered piece by piece.",
            COMPUTE_PIECES_BY_PAIRS: ComputePiecesByPairs, $name: $element, |src, dst, params| {
                limit_registers();
                let image = crate::tile::shared_address(dynamic_shared_mem::<u8>());
                let vector = params.pieces.boxes.vector as u32;
                let computing = Computing { src, computed: &params.computed, vector, image };
                let source = ByPairs { computing, channels: &params.channels };
                move_pieces::<$element>(source, dst as *mut $element, &params.pieces, image)
            }
        }
    };
}

compute_pieces_by_pairs!(compute_pieces_by_pairs_b1: u8);
compute_pieces_by_pairs!(compute_pieces_by_pairs_b2: u16);
