//! What a step moves: its elements on both sides, in the order of the host's memory, and the shares of them that threads bring.

use super::board::Way;
use super::budget::aligned;
use super::schedule::Move;
use super::stretches::{Shares, in_memory_order};
use crate::Result;
use crate::tensor::TensorLayout;
use smallvec::SmallVec;

/// What a step moves.
pub(super) struct Cargo {
    pub parts: SmallVec<[Part; 2]>,
}

/// One of a step's moves.
pub(super) struct Part {
    pub moved: Move,
    /// Where in a slot its elements are, in bytes.
    pub at: usize,
    /// The elements in the order of the host's memory, where they come from and where they go.
    pub ordered: [TensorLayout; 2],
    /// What threads bring to the ring and from it, side by side.
    shares: [Shares; 2],
}

impl Cargo {
    /// Some moves, with elements of so many bytes, each in about so many shares.
    pub fn new(moves: SmallVec<[Move; 2]>, element_bytes: usize, shares: usize) -> Result<Self> {
        let mut next = 0;
        let part = |moved: Move| {
            let at = next;
            next += aligned(moved.to.len(), element_bytes);
            let ordered = [in_memory_order(&moved.from)?, in_memory_order(&moved.to)?];
            let shares = ordered.map(|ordered| Shares::new(&ordered, shares));
            Ok(Part { moved, at, ordered, shares })
        };
        Ok(Cargo { parts: moves.into_iter().map(part).collect::<Result<_>>()? })
    }

    /// Shares of one side.
    pub fn shares(&self, way: Way) -> usize {
        self.parts.iter().map(|part| part.shares[way as usize].count()).sum()
    }

    /// Elements that are written.
    pub fn elements(&self) -> usize {
        self.parts.iter().map(|part| part.moved.to.len()).sum()
    }

    /// The elements of a share, and where they lie in a slot, in bytes.
    pub fn share<T>(&self, way: Way, number: usize) -> Result<(TensorLayout, usize)> {
        let mut rest = number;
        for part in &self.parts {
            let shares = &part.shares[way as usize];
            if rest < shares.count() {
                let (share, before) = shares.get(rest)?;
                return Ok((share, part.at + before * size_of::<T>()));
            }
            rest -= shares.count();
        }
        unreachable!("shares are taken by their numbers")
    }
}
