//! The classic ladder: a block of 32 × 8 threads moves a tile of 32 × 32 elements.
//!
//! Any grid that covers the matrix will do: blocks past its ends move nothing.

use crate::{params, table};

/// The side of a tile, in elements.
pub const TILE: u32 = 32;

/// The rows of threads in a block.
pub const BLOCK_ROWS: u32 = 8;

/// The shape of a block.
pub const BLOCK: [u32; 3] = [TILE, BLOCK_ROWS, 1];

params! {
    /// A row-major `rows × cols` source and its destination: shape, and leading dimensions in elements.
    Matrices {
        /// Rows of the source.
        rows,
        /// Columns of the source.
        cols,
        /// Elements from one row of the source to the next.
        src_ld,
        /// Elements from one row of the destination to the next.
        dst_ld,
    }
}

table! { CLASSIC of Classic:
    /// Every element stays where it is: what transposing the same tiles is measured against.
    COPY = "copy" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Strided stores.
    NAIVE = "naive" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Through a tile in shared memory.
    TILED = "tiled" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Through a padded tile.
    PADDED = "padded" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Through a padded tile, blocks along diagonals.
    DIAGONAL = "diagonal" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
}
