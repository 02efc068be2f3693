//! What is moved in which order: steps that can be done side by side, each of one move or of two. Pure arithmetic.

use super::tiles::Tiles;
use crate::Result;
use crate::tensor::TensorLayout;
use smallvec::SmallVec;
use std::ops::Range;

/// Where some elements are, and where they belong: two layouts of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub from: TensorLayout,
    pub to: TensorLayout,
}

/// Elements of which slices along an axis have a multiple, so that they start on cache lines where the whole does.
pub(super) const SLICE: usize = 64;

impl Move {
    /// Some of `of` slices along the longest axis, none of which is empty if that has [`SLICE`] times as many elements.
    pub fn slices(&self, slices: Range<usize>, of: usize) -> Result<Move> {
        let shape = self.to.shape().iter();
        let longest = shape.enumerate().max_by_key(|&(_, length)| length);
        let Some((axis, &length)) = longest.filter(|_| slices != (0..of)) else { return Ok(*self) };
        let start = |slice: usize| match slice {
            all if all == of => length,
            slice => length * slice / of / SLICE * SLICE,
        };
        let range = start(slices.start)..start(slices.end);
        let part = |layout: &TensorLayout| layout.slice(axis, range.clone(), 1);
        Ok(Move { from: part(&self.from)?, to: part(&self.to)? })
    }
}

/// Steps of which none reads what another one writes.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "a plan has one")]
pub(super) enum Schedule {
    /// Tile by tile from one array to another; whether those that follow each other are apart, and so have no pages in common.
    Tiles { src: TensorLayout, dst: TensorLayout, tiles: Tiles, apart: bool },
    /// A square of `side` rows, in its own memory: tiles of `tile` rows that change places across the diagonal, two by two.
    Pairs { side: usize, tile: usize },
    /// Matrices of `rows × cols`, one behind the other, each in its own memory.
    Panels { rows: usize, cols: usize, count: usize },
}

impl Schedule {
    /// How many steps there are.
    pub fn count(&self) -> usize {
        match *self {
            Schedule::Tiles { tiles, .. } => tiles.count(),
            Schedule::Pairs { side, tile } => {
                let along = side.div_ceil(tile);
                along * (along + 1) / 2
            }
            Schedule::Panels { count, .. } => count,
        }
    }

    /// The moves of the largest step, in elements.
    pub fn largest(&self) -> SmallVec<[usize; 2]> {
        match *self {
            Schedule::Tiles { tiles, .. } => SmallVec::from_elem(tiles.most_elements(), 1),
            Schedule::Pairs { side, tile } if tile >= side => SmallVec::from_elem(side * side, 1),
            Schedule::Pairs { tile, .. } => SmallVec::from_elem(tile * tile, 2),
            Schedule::Panels { rows, cols, .. } => SmallVec::from_elem(rows * cols, 1),
        }
    }

    /// All elements.
    pub fn elements(&self) -> usize {
        match *self {
            Schedule::Tiles { dst, .. } => dst.len(),
            Schedule::Pairs { side, .. } => side * side,
            Schedule::Panels { rows, cols, count } => rows * cols * count,
        }
    }

    /// The moves of a step, whose number is below [`count`](Self::count): all elements are read before any is written.
    pub fn step(&self, number: usize, element_bytes: usize) -> Result<SmallVec<[Move; 2]>> {
        let mut moves = SmallVec::new();
        match *self {
            Schedule::Tiles { src, dst, tiles, apart } => {
                let tile = if apart { tiles.apart(number) } else { tiles.get(number) };
                moves.push(Move { from: tile.of(&src)?, to: tile.of(&dst)? });
            }
            Schedule::Pairs { side, tile } => {
                let whole = TensorLayout::contiguous(&[side, side], element_bytes)?;
                let (above, right) = pair(number);
                let range = |at: usize| at * tile..((at + 1) * tile).min(side);
                let part = |down, along| whole.slice(0, range(down), 1)?.slice(1, range(along), 1);
                let (one, other) = (part(above, right)?, part(right, above)?);
                moves.push(Move { from: one, to: other.t() });
                if above != right {
                    moves.push(Move { from: other, to: one.t() });
                }
            }
            Schedule::Panels { rows, cols, .. } => {
                let start = number * rows * cols;
                let at = |shape: [usize; 2], strides: [isize; 2]| {
                    TensorLayout::strided(&shape, &strides, start, element_bytes)
                };
                let from = at([rows, cols], [cols as isize, 1])?;
                let to = at([rows, cols], [1, rows as isize])?;
                moves.push(Move { from, to });
            }
        }
        Ok(moves)
    }
}

/// The numbered pair `(above, right)` with `above ≤ right`: (0, 0), (0, 1), (1, 1), (0, 2), …
fn pair(number: usize) -> (usize, usize) {
    let mut right = (((8 * number + 1) as f64).sqrt() as usize).saturating_sub(1) / 2;
    // The root may be rounded either way.
    while right * (right + 1) / 2 > number {
        right -= 1;
    }
    while (right + 1) * (right + 2) / 2 <= number {
        right += 1;
    }
    (number - right * (right + 1) / 2, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_numbered() {
        let mut expected = (0..200).flat_map(|right| (0..=right).map(move |above| (above, right)));
        for number in 0..200 * 201 / 2 {
            assert_eq!(Some(pair(number)), expected.next());
        }
    }

    /// Slices are the move, in any groups that follow each other, and none is empty.
    #[test]
    fn slices_are_the_move() {
        for shape in [[512, 3], [7, 1000], [700, 699], [8 * SLICE, 1]] {
            let from = TensorLayout::contiguous(&shape, 4).unwrap();
            let to = TensorLayout::contiguous(&[shape[1], shape[0]], 4).unwrap().t();
            let whole = Move { from, to };
            assert_eq!(whole.slices(0..8, 8).unwrap(), whole);
            for cut in 1..8 {
                let parts =
                    [0..cut, cut..cut + 1, cut + 1..8].into_iter().filter(|part| !part.is_empty());
                let mut moved = Vec::new();
                for Move { from, to } in parts.map(|part| whole.slices(part, 8).unwrap()) {
                    assert!(!to.is_empty() && from.shape() == to.shape());
                    moved.extend(from.offsets().zip(to.offsets()));
                }
                let mut expected: Vec<_> = from.offsets().zip(to.offsets()).collect();
                moved.sort_unstable();
                expected.sort_unstable();
                assert_eq!(moved, expected);
            }
        }
    }

    /// Every element of a square is read once, and goes where its transpose is.
    #[test]
    fn pairs_are_the_square() {
        for (side, tile) in [(1, 1), (7, 3), (8, 4), (5, 9)] {
            let schedule = Schedule::Pairs { side, tile };
            let mut seen = vec![false; side * side];
            for number in 0..schedule.count() {
                for Move { from, to } in schedule.step(number, 4).unwrap() {
                    for (from, to) in from.offsets().zip(to.offsets()) {
                        assert_eq!((from / side, from % side), (to % side, to / side));
                        assert!(!std::mem::replace(&mut seen[from], true));
                    }
                }
            }
            assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
