//! Moves of words of 1 and 2 bytes in boxes whose stretches of the destination are very short, or long: in pieces of some hundred words.
//!
//! A box is held in shared memory as [`boxes`](super::boxes) hold it, and what loads it is the same. What differs is how it is stored. There a stretch of the
//! destination is looked up for every unit that is stored of it, or has as many entries in a table as it has words.
//!
//! # Pieces
//! What lies together in the destination for many words is stored in *pieces*, for all of which one table of a few hundred entries says where words are. The
//! *targets* that are numbered are pieces. Those that differ in the last digit of their number alone are a *row*, each as far from the next as the others, on
//! either side: a thread looks up once where the words of its unit are, and then takes steps.
//!
//! # Gaps
//! Stretches of a few words with gaps behind them are stretches of more words with gaps in them: the table says where there is a gap
//! ([`GAP`](kernel_abi::tensor::GAP)), and nothing is stored there. Words are stored one at a time then, by as many lanes as a piece has words.
//!
//! | file | what it is about |
//! |---|---|
//! | `targets` | where a box's pieces are, and the words in them |
//! | `store` | stores them |

mod store;
mod targets;

use super::boxes::load::{copies, Load};
use super::boxes::place::Place;
use super::boxes::source::{AsItLies, Source};
use super::boxes::tables::Tables;
use super::boxes::turns::{move_in_turn, Stored};
use super::tensor_entry;
use crate::element::Element;
use crate::launch::never_more_registers;
use crate::opaque::opaque;
use kernel_abi::tensor::Pieces;
use store::store;
use targets::Targets;

/// Moves a block's boxes.
///
/// # Safety
/// The obligations of the entry points; `base` is the shared-memory address of the image and the tables behind it.
#[inline(always)]
pub unsafe fn move_pieces<E: Element>(source: impl Load, dst: *mut E, params: &Pieces, base: u32) {
    let stored = InPieces { source, dst, params, base };
    // SAFETY: the caller's obligations.
    unsafe { move_in_turn::<E>(source, &params.boxes, base, stored) }
}

/// A destination that is stored piece by piece.
#[derive(Clone, Copy)]
struct InPieces<'a, S, E> {
    source: S,
    dst: *mut E,
    params: &'a Pieces,
    base: u32,
}

impl<S: Source, E: Element> InPieces<'_, S, E> {
    /// A box's targets.
    #[inline(always)]
    fn targets(self, tables: Tables, place: &Place) -> Targets<E> {
        Targets::of(self.source.skew(place), self.dst, self.params, tables, place)
    }
}

impl<S: Source, E: Element> Stored for InPieces<'_, S, E> {
    #[inline(always)]
    unsafe fn fill_targets(self, tables: Tables) {
        // SAFETY: the caller's obligations.
        unsafe { targets::fill::<E>(tables, self.params, opaque(self.base)) }
    }

    #[inline(always)]
    unsafe fn fetch(self, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe { self.targets(tables, place).fetch() }
    }

    #[inline(always)]
    unsafe fn store(self, tables: Tables, place: &Place) {
        // SAFETY: the caller's obligations.
        unsafe { store(self.params, &self.targets(tables, place)) }
    }
}

/// Defines one entry point.
macro_rules! pieces {
    ($name:ident: $element:ty) => {
        tensor_entry! {
            "Moves boxes, held as they lie in the source and gathered piece by piece.",
            PIECES: Pieces, $name: $element, |src, dst, params| {
                if copies::<$element>() {
                    never_more_registers::<48>();
                } else {
                    never_more_registers::<64>();
                }
                let memory = cuda_std::shared::dynamic_shared_mem::<u8>();
                let base = crate::tile::shared_address(memory);
                move_pieces::<$element>(AsItLies(src), dst, &params, base)
            }
        }
    };
}

pieces!(pieces_b1: u8);
pieces!(pieces_b2: u16);
