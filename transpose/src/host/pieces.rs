//! A move in pieces of which a core takes one at a time: they stay in its caches.

use super::schedule::Move;
use super::stores::Stores;
use super::stretches::Arrays;
use super::tiles::Tiles;
use super::turn::{self, Scratch};
use crate::Result;
use bytemuck::Pod;

/// The pieces of a move.
pub(super) struct Pieces {
    moved: Move,
    tiles: Tiles,
    stores: Stores,
}

impl Pieces {
    /// Of a move of elements of so many bytes, which are not 0, by such stores.
    pub fn new(Move { from, to }: Move, element_bytes: usize, stores: Stores) -> Result<Self> {
        // Pieces that follow each other follow each other in the source, too.
        let mut axes: Vec<usize> = (0..from.rank()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(from.strides()[axis].unsigned_abs()));
        let (from, to) = (from.permute_axes(&axes)?, to.permute_axes(&axes)?);
        let elements = (stores.tile() / element_bytes).max(1);
        let tiles = Tiles::new(&from, &to, elements, stores.lean());
        Ok(Pieces { moved: Move { from, to }, tiles, stores })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.tiles.count()
    }

    /// Moves the piece of a number below [`count`](Self::count), and says how many elements that were.
    ///
    /// # Safety
    /// The move's layouts lie in the arrays; nobody writes meanwhile what is read of the piece, nor uses what is written.
    pub unsafe fn turn<T: Pod>(
        &self,
        number: usize,
        arrays: &Arrays<T>,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let tile = self.tiles.get(number);
        let (from, to) = (tile.of(&self.moved.from)?, tile.of(&self.moved.to)?);
        // SAFETY: the caller's obligations; the tile is a part of the layouts.
        unsafe { turn::turn(arrays.src, &from, arrays.dst, &to, self.stores, scratch) };
        Ok(to.len())
    }
}
