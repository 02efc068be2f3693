//! The kernels of the texts: rows of the table. All take [`Matrices`].

use crate::classic::{Matrices, BLOCK};
use crate::table;

/// The threads of a block of any shape, on every GPU.
pub const MOST_THREADS: u32 = 1024;

table! { STUDY of Study:
    /// Copies through an unpadded tile.
    COPY_SHARED = "copy_shared" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Transposes inside each tile.
    FINE_GRAINED = "fine_grained" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Transposes the order of the tiles.
    COARSE_GRAINED = "coarse_grained" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Transposes through a padded tile, blocks walking down the rows.
    SWAPPED = "swapped" takes Matrices {
        1: exactly BLOCK, 2: exactly BLOCK, 4: exactly BLOCK, 8: exactly BLOCK, 16: exactly BLOCK
    }
    /// Copies along rows: the upper bound.
    COPY_ROW = "copy_row" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Copies down columns: the lower bound.
    COPY_COL = "copy_col" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes: reads rows, writes columns.
    NAIVE_ROW = "naive_row" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes: reads columns, writes rows.
    NAIVE_COL = "naive_col" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes four elements a thread: reads rows, writes columns.
    UNROLL4_ROW = "unroll4_row" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes four elements a thread: reads columns, writes rows.
    UNROLL4_COL = "unroll4_col" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes along diagonals: reads rows, writes columns.
    DIAGONAL_ROW = "diagonal_row" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes along diagonals: reads columns, writes rows.
    DIAGONAL_COL = "diagonal_col" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes through a tile of the block's shape.
    SMEM = "smem" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes through a padded tile of the block's shape.
    SMEM_PAD = "smem_pad" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes two elements a thread through a padded tile in dynamic shared memory.
    SMEM_UNROLL_PAD_DYN = "smem_unroll_pad_dyn" takes Matrices {
        1: at_most MOST_THREADS, 2: at_most MOST_THREADS, 4: at_most MOST_THREADS, 8: at_most MOST_THREADS, 16: at_most MOST_THREADS
    }
    /// Transposes through a 16 × 16 tile.
    LDS_16 = "lds_16" takes Matrices {
        1: exactly [16, 16, 1], 2: exactly [16, 16, 1], 4: exactly [16, 16, 1], 8: exactly [16, 16, 1], 16: exactly [16, 16, 1]
    }
    /// Transposes through a 32 × 32 tile.
    LDS_32 = "lds_32" takes Matrices {
        1: exactly [32, 32, 1], 2: exactly [32, 32, 1], 4: exactly [32, 32, 1], 8: exactly [32, 32, 1], 16: exactly [32, 32, 1]
    }
    /// Adds to both fields of an array of structures.
    INNER_STRUCT = "inner_struct" takes Matrices {
        4: at_most MOST_THREADS
    }
    /// Adds to both fields of a structure of arrays.
    INNER_ARRAY = "inner_array" takes Matrices {
        4: at_most MOST_THREADS
    }
    /// Adds to `x` of an array of structures.
    INNER_STRUCT_X = "inner_struct_x" takes Matrices {
        4: at_most MOST_THREADS
    }
    /// Adds to `x` of a structure of arrays.
    INNER_ARRAY_X = "inner_array_x" takes Matrices {
        4: at_most MOST_THREADS
    }
}
