//! How an array is cut into tiles that are moved one by one. Pure arithmetic.
//!
//! A tile is a box of indices. Copies over the bus are fast where they move long stretches of memory, and a tile has stretches on both
//! sides, along other axes where axes change places. So a tile grows along the axes that are the fastest of the source and along those
//! that are the fastest of the destination, in turns, whichever side has the shorter stretches, twofold each time. What is left of the bytes
//! that it may have, less than twofold, goes to the next axis: as far as tiles along it are about as long as each other.

use crate::Result;
use crate::tensor::{MOST_AXES, TensorLayout};

/// The boxes that an array's indices are cut into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tiles {
    shape: [usize; MOST_AXES],
    /// Lengths of a tile along the axes; the last one along an axis may be shorter.
    tile: [usize; MOST_AXES],
    rank: usize,
}

/// A box of indices: where it starts and ends along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    start: [usize; MOST_AXES],
    end: [usize; MOST_AXES],
}

impl Tiles {
    /// Tiles of at most `elements` > 0 elements for a copy between two layouts of one shape, which is not empty. The stretches of the
    /// source are `2^lean` times as long as those of the destination, if both can grow.
    pub fn new(src: &TensorLayout, dst: &TensorLayout, elements: usize, lean: i32) -> Self {
        let rank = src.rank();
        let mut shape = [1; MOST_AXES];
        shape[..rank].copy_from_slice(src.shape());
        let mut tile = [1; MOST_AXES];
        let sides = [by_distance(src), by_distance(dst)];
        loop {
            let stretches = sides.map(|axes| stretch(&axes[..rank], &shape, &tile));
            let lengths = stretches.map(|stretch| stretch.length as f64);
            let src_first = lengths[0] <= lengths[1] * f64::from(lean).exp2();
            let order = if src_first { [0, 1] } else { [1, 0] };
            let Some(axis) = order.iter().find_map(|&side| stretches[side].grows) else { break };
            let most = elements / (tile[..rank].iter().product::<usize>() / tile[axis]);
            let twice = (tile[axis] * 2).min(shape[axis]);
            if twice > most {
                tile[axis] = evenly(shape[axis], tile[axis], most);
                break;
            }
            tile[axis] = twice;
        }
        Tiles { shape, tile, rank }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        (0..self.rank).map(|axis| self.along(axis)).product()
    }

    /// The elements of the largest.
    pub fn most_elements(&self) -> usize {
        self.tile[..self.rank].iter().product()
    }

    fn along(&self, axis: usize) -> usize {
        self.shape[axis].div_ceil(self.tile[axis])
    }

    /// The tile of a number below [`count`](Self::count), in an order in which those that follow each other are apart along the first axis and
    /// along the last one, but for some where the first axis begins again.
    pub fn apart(&self, number: usize) -> Tile {
        let (mut index, mut rest, mut sum) = ([0; MOST_AXES], number, 0);
        for (axis, index) in index.iter_mut().enumerate().take(self.rank) {
            let (along, last) = (self.along(axis), axis + 1 == self.rank);
            *index = if last { rest + sum } else { rest } % along;
            (rest, sum) = (rest / along, sum + *index);
        }
        self.at(index)
    }

    /// The tile of a number below [`count`](Self::count): those that follow each other along the last axis follow each other.
    pub fn get(&self, number: usize) -> Tile {
        let (mut index, mut rest) = ([0; MOST_AXES], number);
        for axis in (0..self.rank).rev() {
            let along = self.along(axis);
            (index[axis], rest) = (rest % along, rest / along);
        }
        self.at(index)
    }

    /// The tile of indices of tiles along the axes.
    fn at(&self, index: [usize; MOST_AXES]) -> Tile {
        let (mut start, mut end) = ([0; MOST_AXES], [1; MOST_AXES]);
        for axis in 0..self.rank {
            start[axis] = index[axis] * self.tile[axis];
            end[axis] = (start[axis] + self.tile[axis]).min(self.shape[axis]);
        }
        Tile { start, end }
    }
}

impl Tile {
    /// The tile's elements of a layout.
    pub fn of(&self, layout: &TensorLayout) -> Result<TensorLayout> {
        let mut part = *layout;
        for axis in 0..layout.rank() {
            part = part.slice(axis, self.start[axis]..self.end[axis], 1)?;
        }
        Ok(part)
    }
}

/// The length of tiles along an axis, of at least `least` and at most `most` elements: where it can be, all but the last one have a length
/// that is a multiple of [`EVEN`], and the last one is not much shorter.
fn evenly(axis: usize, least: usize, most: usize) -> usize {
    let even = axis.div_ceil(axis.div_ceil(most)).next_multiple_of(EVEN);
    if even <= most { even.max(least) } else { (most - most % EVEN).max(least) }
}

/// Elements of which tiles along an axis have a multiple, so that rows start on cache lines.
const EVEN: usize = 128;

/// The axes from the closest elements to the farthest. Those of stride 0 are the last: their elements are the same.
fn by_distance(layout: &TensorLayout) -> [usize; MOST_AXES] {
    let mut axes = std::array::from_fn(|axis| axis);
    axes[..layout.rank()].sort_by_key(|&axis| match layout.strides()[axis].unsigned_abs() {
        0 => usize::MAX,
        stride => stride,
    });
    axes
}

/// What a tile has of one side: how many elements lie together, and along which axis that can grow.
#[derive(Clone, Copy)]
struct Stretch {
    length: usize,
    grows: Option<usize>,
}

fn stretch(axes: &[usize], shape: &[usize], tile: &[usize]) -> Stretch {
    let mut length = 1;
    for &axis in axes {
        length *= tile[axis];
        if tile[axis] < shape[axis] {
            return Stretch { length, grows: Some(axis) };
        }
    }
    Stretch { length, grows: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn transposed(rows: usize, cols: usize, elements: usize, lean: i32) -> Tiles {
        let src = TensorLayout::contiguous(&[rows, cols], 4).unwrap();
        let dst = TensorLayout::contiguous(&[cols, rows], 4).unwrap().t();
        Tiles::new(&src, &dst, elements, lean)
    }

    #[test]
    fn tiles_are_square_or_lean() {
        assert_eq!(transposed(4096, 4096, 1 << 16, 0).tile[..2], [256, 256]);
        assert_eq!(transposed(4096, 4096, 1 << 16, 2).tile[..2], [128, 512]);
        assert_eq!(transposed(4096, 4096, 1 << 16, -4).tile[..2], [1024, 64]);
        // Where one side has nothing more to give, the other has the rest.
        assert_eq!(transposed(3, 4096, 1 << 10, 0).tile[..2], [3, 256]);
        assert_eq!(transposed(5, 7, 1 << 10, 0).tile[..2], [5, 7]);
        assert_eq!(transposed(5, 7, 1, 0).count(), 35);
    }

    /// A limit a little below a power of two costs a little of a tile, not half of it.
    #[test]
    fn tiles_fill_what_they_may_have() {
        // Five along an axis rather than four and a narrow one.
        assert_eq!(transposed(32768, 32768, (1 << 26) - 64, 0).tile[..2], [6656, 8192]);
        assert_eq!(transposed(65536, 65536, (1 << 26) - 64, 0).tile[..2], [7296, 8192]);
        assert_eq!(transposed(30011, 29989, (1 << 26) - 64, 0).tile[..2], [7552, 8192]);
    }

    #[test]
    fn tiles_that_follow_each_other_are_apart() {
        let tiles = transposed(32768, 32768, 1 << 26, 0);
        let both = (1..tiles.count()).map(|number| (tiles.apart(number - 1), tiles.apart(number)));
        for (one, next) in both {
            assert!((0..2).all(|axis| one.start[axis] != next.start[axis]), "{one:?} {next:?}");
        }
    }

    proptest! {
        /// Every index is in one tile, and no tile has too many elements.
        #[test]
        fn tiles_are_the_array(
            axes in proptest::collection::vec(1..7usize, 1..4),
            order in any::<prop::sample::Index>(),
            room in 1..60usize,
            lean in -3..4,
        ) {
            let rank = axes.len();
            let src = TensorLayout::contiguous(&axes, 4).unwrap();
            let mut turned: Vec<usize> = (0..rank).collect();
            turned.rotate_left(order.index(rank));
            let permuted: Vec<usize> = turned.iter().map(|&axis| axes[axis]).collect();
            let mut back = vec![0; rank];
            turned.iter().enumerate().for_each(|(at, &axis)| back[axis] = at);
            let dst = TensorLayout::contiguous(&permuted, 4).unwrap().permute_axes(&back).unwrap();
            let tiles = Tiles::new(&src, &dst, room, lean);
            prop_assert!(tiles.most_elements() <= room);
            let mut seen: Vec<usize> = (0..tiles.count())
                .flat_map(|number| tiles.get(number).of(&src).unwrap().offsets().collect::<Vec<_>>())
                .collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..src.len()).collect::<Vec<_>>());
            // The other order has the same tiles.
            let all = |tile: &dyn Fn(usize) -> Tile| {
                let mut starts: Vec<_> = (0..tiles.count()).map(|number| tile(number).start).collect();
                starts.sort_unstable();
                starts
            };
            prop_assert_eq!(all(&|number| tiles.apart(number)), all(&|number| tiles.get(number)));
        }
    }
}
