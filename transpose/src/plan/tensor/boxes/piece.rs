//! A piece of a stretch that is too long for one table.

use super::super::sectors::SECTOR;
use crate::divide::gcd;

/// Bytes that a lane stores at a time.
pub(super) const UNIT: usize = 4;

/// The slowest axis of a stretch that is in pieces, and how many of its indices a piece has.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    axis: u8,
    indices: u32,
}

impl Piece {
    pub fn of(axis: usize, indices: usize) -> Self {
        Piece { axis: axis as u8, indices: indices as u32 }
    }

    pub fn axis(self) -> usize {
        usize::from(self.axis)
    }

    pub fn indices(self) -> usize {
        self.indices as usize
    }
}

/// The indices of an axis of so many, `stride` words apart, that a piece of at most `most` words has: about as many as the other pieces, and
/// whole sectors or at least units of 4 bytes if that can be. `None` if it would be all or less than one.
pub(super) fn piece_of(stride: usize, all: usize, most: usize, word: usize) -> Option<usize> {
    let most = most / stride;
    if most == 0 || most >= all {
        return None;
    }
    let fair = all.div_ceil(all.div_ceil(most));
    let bytes = stride * word;
    let whole = [SECTOR, 8, UNIT].into_iter().find_map(|unit| {
        let indices = fair.next_multiple_of(unit / gcd(unit, bytes));
        (indices <= most).then_some(indices)
    });
    let indices = whole.unwrap_or(fair);
    (indices < all).then_some(indices)
}
