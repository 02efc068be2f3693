//! The catalogue: every kernel of the texts, its names, and what a launch has to know of it.

use crate::block::{Block, Shapes};
use crate::outcome::Outcome;
use crate::{Error, Result};
use bytemuck::Pod;
use kernel_abi::classic::Matrices;
use kernel_abi::{Width, study as table};
use std::fmt;
use std::str::FromStr;
use transpose::Strategy;

/// A text whose kernels are in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Ruetsch, Micikevicius and Scudiero, "Optimizing Matrix Transpose in CUDA".
    Nvidia,
    /// Dalmasso, `matrixTransposeCUDA`.
    Dalmasso,
    /// AMD, "Tiling and coalescing: matrix transpose".
    Amd,
    /// Grossi, "GPU Computing", lecture 7.
    Lecture,
}

impl Source {
    /// Every text.
    pub const ALL: [Source; 4] = [Source::Nvidia, Source::Dalmasso, Source::Amd, Source::Lecture];

    /// Author and title.
    pub fn title(self) -> &'static str {
        match self {
            Source::Nvidia => {
                "Ruetsch, Micikevicius and Scudiero, \"Optimizing Matrix Transpose in CUDA\""
            }
            Source::Dalmasso => "Dalmasso, \"matrixTransposeCUDA\"",
            Source::Amd => "AMD, \"Tiling and coalescing: matrix transpose\"",
            Source::Lecture => "Grossi, \"GPU Computing\", lecture 7",
        }
    }
}

/// What the grid's axes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axes {
    /// x runs along a row of the source, y down its rows.
    Cartesian,
    /// x runs down the rows of the source, y along them.
    Exchanged,
    /// x runs down the rows, each a record.
    RowRecords,
    /// x runs along the columns, each a record.
    ColRecords,
}

/// What a block covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// A tile of 32 × 32.
    Tile,
    /// One element for each thread.
    Threads,
    /// Elements for so many blocks side by side along x.
    Times(u32),
}

/// Where a kernel is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Code {
    /// The library has it: it plans copies by it.
    LibraryCopy,
    /// The library has it: it plans transposes by it.
    Library(Strategy),
    /// In this crate's image.
    Own(Own),
}

/// What a launch has to know of a kernel in this crate's image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Own {
    pub kernel: &'static kernel_abi::Kernel<Matrices>,
    pub cover: Cover,
    pub axes: Axes,
}

/// What there is to know of a kernel.
pub(crate) struct Facts {
    name: &'static str,
    name_in_text: &'static str,
    source: Source,
    outcome: Outcome,
    shapes: Shapes,
    block: Block,
    pub code: Code,
}

/// Defines the enum and its facts side by side.
macro_rules! catalogue {
    ($(
        $(#[$doc:meta])*
        $kernel:ident: $name:literal, $name_in_text:literal of $source:ident,
        $outcome:ident, $shapes:expr, $x:literal x $y:literal, $code:expr;
    )+) => {
        /// A kernel of one of the texts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kernel {
            $($(#[$doc])* $kernel,)+
        }

        impl Kernel {
            /// Every kernel, in the order of the texts.
            pub const ALL: &'static [Kernel] = &[$(Kernel::$kernel),+];

            pub(crate) fn facts(self) -> Facts {
                match self {
                    $(Kernel::$kernel => Facts {
                        name: $name,
                        name_in_text: $name_in_text,
                        source: Source::$source,
                        outcome: Outcome::$outcome,
                        shapes: $shapes,
                        block: Block { x: $x, y: $y },
                        code: $code,
                    },)+
                }
            }
        }
    };
}

/// The blocks of the NVIDIA text.
const NVIDIA: Shapes = Shapes::Only(Block { x: 32, y: 8 }, "which move a tile of 32 × 32 elements");

/// A block of the AMD page: as many threads as its tile has elements.
const fn square(side: u32) -> Shapes {
    Shapes::Only(Block { x: side, y: side }, "one thread for each element of its tile")
}

/// Blocks for tiles whose padding has a fixed place in static shared memory.
const WIDE: Shapes = Shapes::AtLeastWide(8, "for its tile has room to pad at most 128 rows");

/// A kernel in this crate's image.
const fn own(kernel: &'static kernel_abi::Kernel<Matrices>, cover: Cover, axes: Axes) -> Code {
    Code::Own(Own { kernel, cover, axes })
}

/// Blocks for records, which have one axis.
const LINE: Shapes = Shapes::Line("for records lie along one axis");

catalogue! {
    /// Copies tile by tile.
    Copy: "copy", "copy" of Nvidia,
        Copy, NVIDIA, 32 x 8, Code::LibraryCopy;
    /// Copies through shared memory: what staging and the barrier cost.
    CopyShared: "copy_shared", "copySharedMem" of Nvidia,
        Copy, NVIDIA, 32 x 8, own(&table::COPY_SHARED, Cover::Tile, Axes::Cartesian);
    /// Reads rows, writes columns.
    Naive: "naive", "transposeNaive" of Nvidia,
        Transpose, NVIDIA, 32 x 8, Code::Library(Strategy::Naive);
    /// Through an unpadded tile: coalesced, with bank conflicts.
    Coalesced: "coalesced", "transposeCoalesced" of Nvidia,
        Transpose, NVIDIA, 32 x 8, Code::Library(Strategy::Tiled);
    /// Through a padded tile: no bank conflicts.
    BankConflictFree: "bank_conflict_free", "transposeNoBankConflicts" of Nvidia,
        Transpose, NVIDIA, 32 x 8, Code::Library(Strategy::Padded);
    /// Transposes inside each tile and leaves the tiles where they are.
    FineGrained: "fine_grained", "transposeFineGrained" of Nvidia,
        FineGrained, NVIDIA, 32 x 8, own(&table::FINE_GRAINED, Cover::Tile, Axes::Cartesian);
    /// Moves each tile to its transposed place and leaves its elements as they are.
    CoarseGrained: "coarse_grained", "transposeCoarseGrained" of Nvidia,
        CoarseGrained, NVIDIA, 32 x 8, own(&table::COARSE_GRAINED, Cover::Tile, Axes::Cartesian);
    /// Padded, blocks walking along diagonals.
    Diagonal: "diagonal", "transposeDiagonal" of Nvidia,
        Transpose, NVIDIA, 32 x 8, Code::Library(Strategy::Diagonal);
    /// Padded, with the roles of the block's axes exchanged: consecutive blocks walk down the
    /// rows of the source.
    Swapped: "swapped", "swapped block axes" of Nvidia,
        Transpose, NVIDIA, 32 x 8, own(&table::SWAPPED, Cover::Tile, Axes::Exchanged);
    /// Padded, into a destination whose rows are one memory partition (256 bytes) further apart
    /// than they need to be.
    PartitionPadded: "partition_padded", "odata padded by one partition" of Nvidia,
        Transpose, NVIDIA, 32 x 8, Code::Library(Strategy::Padded);

    /// Copies along rows: the upper bound.
    CopyRow: "copy_row", "copyRow" of Dalmasso,
        Copy, Shapes::Any, 16 x 16, own(&table::COPY_ROW, Cover::Threads, Axes::Cartesian);
    /// Copies down columns: the lower bound.
    CopyCol: "copy_col", "copyCol" of Dalmasso,
        Copy, Shapes::Any, 16 x 16, own(&table::COPY_COL, Cover::Threads, Axes::Exchanged);
    /// Reads rows, writes columns.
    NaiveRow: "naive_row", "transposeNaiveRow" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::NAIVE_ROW, Cover::Threads, Axes::Cartesian);
    /// Reads columns, writes rows.
    NaiveCol: "naive_col", "transposeNaiveCol" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::NAIVE_COL, Cover::Threads, Axes::Exchanged);
    /// Reads rows, writes columns, four elements a thread.
    Unroll4Row: "unroll4_row", "transposeUnroll4Row" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::UNROLL4_ROW, Cover::Times(4), Axes::Cartesian);
    /// Reads columns, writes rows, four elements a thread.
    Unroll4Col: "unroll4_col", "transposeUnroll4Col" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::UNROLL4_COL, Cover::Times(4), Axes::Exchanged);
    /// Reads rows, writes columns, blocks walking along diagonals.
    DiagonalRow: "diagonal_row", "transposeDiagonalRow" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::DIAGONAL_ROW, Cover::Threads, Axes::Cartesian);
    /// Reads columns, writes rows, blocks walking along diagonals.
    DiagonalCol: "diagonal_col", "transposeDiagonalCol" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::DIAGONAL_COL, Cover::Threads, Axes::Exchanged);
    /// Through a tile of the block's shape.
    Smem: "smem", "transposeSmem" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::SMEM, Cover::Threads, Axes::Cartesian);
    /// Through a padded tile of the block's shape.
    SmemPad: "smem_pad", "transposeSmemPad" of Dalmasso,
        Transpose, WIDE, 16 x 16, own(&table::SMEM_PAD, Cover::Threads, Axes::Cartesian);
    /// Two elements a thread through a padded tile in dynamic shared memory.
    SmemUnrollPadDyn: "smem_unroll_pad_dyn", "transposeSmemUnrollPadDyn" of Dalmasso,
        Transpose, Shapes::Any, 16 x 16, own(&table::SMEM_UNROLL_PAD_DYN, Cover::Times(2), Axes::Cartesian);

    /// Reads rows, writes columns, in tiles of 16.
    AmdNaive16: "amd_naive_16", "transpose_naive_kernel (tile_dim 16)" of Amd,
        Transpose, square(16), 16 x 16, own(&table::NAIVE_ROW, Cover::Threads, Axes::Cartesian);
    /// Reads rows, writes columns, in tiles of 32.
    AmdNaive32: "amd_naive_32", "transpose_naive_kernel (tile_dim 32)" of Amd,
        Transpose, square(32), 32 x 32, own(&table::NAIVE_ROW, Cover::Threads, Axes::Cartesian);
    /// Through a 16 × 16 tile, one element a thread.
    Lds16: "lds_16", "transpose_lds_kernel (tile_dim 16)" of Amd,
        Transpose, square(16), 16 x 16, own(&table::LDS_16, Cover::Threads, Axes::Cartesian);
    /// Through a 32 × 32 tile, one element a thread.
    Lds32: "lds_32", "transpose_lds_kernel (tile_dim 32)" of Amd,
        Transpose, square(32), 32 x 32, own(&table::LDS_32, Cover::Threads, Axes::Cartesian);

    /// Reads rows, writes columns.
    NaiveGmem: "naive_gmem", "naiveGmem" of Lecture,
        Transpose, Shapes::Any, 16 x 16, own(&table::NAIVE_ROW, Cover::Threads, Axes::Cartesian);
    /// Adds to both fields of an array of structures.
    InnerStruct: "inner_struct", "testInnerStruct" of Lecture,
        StructFields, LINE, 128 x 1, own(&table::INNER_STRUCT, Cover::Threads, Axes::RowRecords);
    /// Adds to both fields of a structure of arrays.
    InnerArray: "inner_array", "testInnerArray" of Lecture,
        ArrayFields, LINE, 128 x 1, own(&table::INNER_ARRAY, Cover::Threads, Axes::ColRecords);
    /// Adds to one field of an array of structures.
    InnerStructX: "inner_struct_x", "testInnerStruct (x alone)" of Lecture,
        StructX, LINE, 128 x 1, own(&table::INNER_STRUCT_X, Cover::Threads, Axes::RowRecords);
    /// Adds to one field of a structure of arrays.
    InnerArrayX: "inner_array_x", "testInnerArray (x alone)" of Lecture,
        ArrayX, LINE, 128 x 1, own(&table::INNER_ARRAY_X, Cover::Threads, Axes::ColRecords);
}

/// The width of a memory partition of the NVIDIA text's GPUs, in bytes.
const PARTITION_BYTES: usize = 256;

impl Kernel {
    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name that its text gives it; [`FromStr`] reads that too.
    pub fn name_in_text(self) -> &'static str {
        self.facts().name_in_text
    }

    /// The text that it is from.
    pub fn source(self) -> Source {
        self.facts().source
    }

    /// What it does.
    pub fn outcome(self) -> Outcome {
        self.facts().outcome
    }

    /// The block that its text runs it in, or reports most of.
    pub fn default_block(self) -> Block {
        self.facts().block
    }

    /// Whether it runs in such blocks.
    ///
    /// # Errors
    /// [`Error::IllegalBlock`] says why it does not.
    pub fn check_block(self, block: Block) -> Result<()> {
        let Facts { name, shapes, .. } = self.facts();
        match shapes.objection(block) {
            None => Ok(()),
            Some(reason) => {
                Err(Error::IllegalBlock { kernel: name, block: [block.x, block.y], reason })
            }
        }
    }

    /// Whether it takes a `rows × cols` source of `element_bytes` wide elements.
    ///
    /// # Errors
    /// [`transpose::Error::ElementSize`] for a width without kernels, unless it is zero, which needs none;
    /// [`Error::Source`] for a source that this kernel makes nothing of.
    pub fn check_source(self, element_bytes: usize, rows: usize, cols: usize) -> Result<()> {
        if element_bytes > 0 && Width::of_bytes(element_bytes).is_none() {
            return Err(transpose::Error::ElementSize { bytes: element_bytes }.into());
        }
        match self.outcome().objection(element_bytes, rows, cols) {
            None => Ok(()),
            Some(reason) => {
                let kernel = self.name();
                Err(Error::Source { kernel, rows, cols, element_bytes, reason })
            }
        }
    }

    /// The smallest leading dimension that it takes for its destination, in elements: as many as
    /// a row has, except for [`PartitionPadded`](Self::PartitionPadded).
    pub fn dst_ld(self, element_bytes: usize, rows: usize, cols: usize) -> usize {
        let (_, dst_cols) = self.outcome().dst_shape(rows, cols);
        match self {
            Kernel::PartitionPadded => dst_cols + PARTITION_BYTES / element_bytes.max(1),
            _ => dst_cols,
        }
    }

    /// The result, row by row, computed on the host.
    ///
    /// # Errors
    /// As [`check_source`](Self::check_source), and [`transpose::Error::LengthMismatch`] unless `src` holds
    /// `rows * cols` elements.
    pub fn expected<T: Pod>(self, src: &[T], rows: usize, cols: usize) -> Result<Vec<T>> {
        self.check_source(size_of::<T>(), rows, cols)?;
        let actual = src.len();
        match rows.checked_mul(cols) {
            // Rows without columns may be more than can be counted through.
            Some(0) if actual == 0 => Ok(Vec::new()),
            Some(expected) if expected == actual => Ok(self.outcome().of(src, rows, cols)),
            expected => {
                let expected = expected.unwrap_or(usize::MAX);
                Err(transpose::Error::LengthMismatch { rows, cols, expected, actual }.into())
            }
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let named = |kernel: &&Kernel| kernel.name() == name;
        let named_in_the_text = |kernel: &&Kernel| kernel.name_in_text() == name;
        let all = Kernel::ALL;
        all.iter().find(named).or_else(|| all.iter().find(named_in_the_text)).copied().ok_or_else(
            || Error::UnknownKernel {
                name: name.to_owned(),
                known: all.iter().map(|kernel| kernel.name()).collect::<Vec<_>>().join(", "),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_read_back() {
        for kernel in Kernel::ALL {
            assert_eq!(kernel.name().parse::<Kernel>().unwrap(), *kernel);
            assert_eq!(kernel.name_in_text().parse::<Kernel>().unwrap(), *kernel);
        }
        let names: HashSet<_> = Kernel::ALL.iter().map(|kernel| kernel.name()).collect();
        assert_eq!(names.len(), Kernel::ALL.len());
        let error = "fastest".parse::<Kernel>().unwrap_err();
        assert_eq!(error.to_string(), "there is no study kernel \"fastest\"");
        let all = format!("{error:#}");
        assert!(all.starts_with("there is no study kernel \"fastest\"\n  there are copy, "));
    }

    /// As many rows without columns as can be counted: nothing, at once.
    #[test]
    fn nothing_is_expected_of_empty_matrices() {
        for kernel in Kernel::ALL {
            for (rows, cols) in [(usize::MAX, 0), (0, usize::MAX), (0, 0)] {
                if let Ok(expected) = kernel.expected::<u32>(&[], rows, cols) {
                    assert!(expected.is_empty(), "{kernel}");
                }
            }
        }
    }

    /// A kernel of this crate has an entry point for each width that it takes, for its default block.
    #[test]
    fn entry_points_ship() {
        for kernel in Kernel::ALL {
            let Code::Own(own) = kernel.facts().code else { continue };
            for width in Width::ALL {
                let takes = [(32, 32), (32, 2), (2, 32)]
                    .into_iter()
                    .any(|(rows, cols)| kernel.check_source(width.bytes(), rows, cols).is_ok());
                assert_eq!(takes, own.kernel.entry(width).is_some(), "{kernel} {width:?}");
                let Block { x, y } = kernel.default_block();
                let allows = |entry: &kernel_abi::Entry| entry.block.allows([x, y, 1]);
                assert!(own.kernel.entry(width).is_none_or(allows), "{kernel}");
            }
        }
    }

    #[test]
    fn default_blocks_are_legal() {
        for kernel in Kernel::ALL {
            kernel.check_block(kernel.default_block()).unwrap();
        }
    }
}
