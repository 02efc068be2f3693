//! The shape of a block of threads, and which shapes a kernel runs in.

use crate::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A block of `x × y` threads. Neighbours along x are neighbours in a warp.
///
/// Reads and writes itself as `32×8`; `32x8` is read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Threads along x.
    pub x: u32,
    /// Threads along y.
    pub y: u32,
}

/// The shapes that Dalmasso's grid-level optimisation tries, and the order in which it does.
pub const DALMASSO_BLOCKS: [Block; 16] = {
    const SHAPES: [(u32, u32); 16] = [
        (8, 1),
        (8, 2),
        (8, 8),
        (8, 16),
        (8, 32),
        (16, 8),
        (16, 16),
        (32, 4),
        (32, 8),
        (32, 16),
        (32, 32),
        (64, 2),
        (128, 1),
        (128, 2),
        (256, 1),
        (256, 2),
    ];
    let mut blocks = [Block { x: 0, y: 0 }; 16];
    let mut index = 0;
    while index < 16 {
        blocks[index] = Block { x: SHAPES[index].0, y: SHAPES[index].1 };
        index += 1;
    }
    blocks
};

/// The threads that a block may have, on every GPU.
const MAX_THREADS: u64 = 1024;

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}×{}", self.x, self.y))
    }
}

impl FromStr for Block {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.split_once(['x', '×'])
            .and_then(|(x, y)| Some(Block { x: x.trim().parse().ok()?, y: y.trim().parse().ok()? }))
            .filter(|block: &Block| block.x > 0 && block.y > 0)
            .ok_or_else(|| Error::BlockSyntax { text: text.to_owned() })
    }
}

/// The shapes that a kernel runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shapes {
    /// This one, and why.
    Only(Block, &'static str),
    /// All.
    Any,
    /// Those at least this wide, and why.
    AtLeastWide(u32, &'static str),
    /// Those with a single row, and why.
    Line(&'static str),
}

impl Shapes {
    /// Why the kernel does not run in `block`; `None` if it does.
    pub fn objection(self, block: Block) -> Option<String> {
        let Block { x, y } = block;
        if x == 0 || y == 0 {
            return Some("a block needs a thread".to_owned());
        }
        if u64::from(x) * u64::from(y) > MAX_THREADS {
            return Some(format!("a GPU's blocks have at most {MAX_THREADS} threads"));
        }
        match self {
            Shapes::Only(only, why) => {
                (block != only).then(|| format!("its blocks are {only}, {why}"))
            }
            Shapes::Any => None,
            Shapes::AtLeastWide(least, why) => {
                (x < least).then(|| format!("its blocks are at least {least} wide, {why}"))
            }
            Shapes::Line(why) => (y != 1).then(|| format!("its blocks have one row, {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_read_back() {
        for block in DALMASSO_BLOCKS {
            assert_eq!(block.to_string().parse::<Block>().unwrap(), block);
        }
        assert_eq!("256x2".parse::<Block>().unwrap(), Block { x: 256, y: 2 });
        for text in ["", "8", "8x", "8x-1", "8x1x1", "axb"] {
            let error = text.parse::<Block>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn no_block_is_empty_or_larger_than_a_gpu_allows() {
        for (x, y) in [(0, 1), (1, 0), (1025, 1), (33, 32), (u32::MAX, u32::MAX)] {
            assert!(Shapes::Any.objection(Block { x, y }).is_some(), "{x} × {y}");
        }
        assert_eq!(Shapes::Any.objection(Block { x: 1, y: 1024 }), None);
    }
}
