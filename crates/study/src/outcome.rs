//! What a kernel does, done on the host: the oracle that its results are compared with.

use bytemuck::Pod;

/// What a kernel makes of a `rows × cols` source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The same matrix.
    Copy,
    /// The transpose.
    Transpose,
    /// Every tile of 32 × 32 transposed where it is.
    FineGrained,
    /// Every tile of 32 × 32 moved to its transposed place, its elements as they were.
    CoarseGrained,
    /// Of an `n × 2` array of structures `x, y`: `x + 10, y + 20`.
    StructFields,
    /// Of a `2 × n` structure of arrays `x, y`: `x + 10, y + 20`.
    ArrayFields,
    /// Of an `n × 2` array of structures `x, y`: the row of all `x + 10`.
    StructX,
    /// Of a `2 × n` structure of arrays `x, y`: the row of all `x + 10`.
    ArrayX,
}

/// The side of the tiles that [`Outcome::FineGrained`] and [`Outcome::CoarseGrained`] speak of.
const TILE: usize = 32;

/// What the field kernels add to `x` and to `y`.
const ADDED: [f32; 2] = [10.0, 20.0];

impl Outcome {
    /// The shape of the destination, `(rows, columns)`.
    pub fn dst_shape(self, rows: usize, cols: usize) -> (usize, usize) {
        match self {
            Outcome::Copy | Outcome::FineGrained | Outcome::StructFields | Outcome::ArrayFields => {
                (rows, cols)
            }
            Outcome::Transpose | Outcome::CoarseGrained => (cols, rows),
            Outcome::StructX => (1, rows),
            Outcome::ArrayX => (1, cols),
        }
    }

    /// Why there is no such outcome for a `rows × cols` source of elements of that width; `None`
    /// if there is.
    pub(crate) fn objection(
        self,
        element_bytes: usize,
        rows: usize,
        cols: usize,
    ) -> Option<&'static str> {
        match self {
            Outcome::Copy | Outcome::Transpose => None,
            Outcome::FineGrained | Outcome::CoarseGrained => {
                let whole = rows.is_multiple_of(TILE) && cols.is_multiple_of(TILE);
                (!whole).then_some("it moves whole tiles of 32 × 32, and these have part tiles")
            }
            _ if element_bytes != 4 => Some("its fields are f32, 4 bytes"),
            Outcome::StructFields | Outcome::StructX => {
                (cols != 2).then_some("it takes an array of structures x, y: n × 2")
            }
            Outcome::ArrayFields | Outcome::ArrayX => {
                (rows != 2).then_some("it takes a structure of arrays x, y: 2 × n")
            }
        }
    }

    /// The destination, row by row. There must be no [`objection`](Self::objection).
    pub(crate) fn of<T: Pod>(self, src: &[T], rows: usize, cols: usize) -> Vec<T> {
        let (dst_rows, dst_cols) = self.dst_shape(rows, cols);
        let at = |row, col| src[row * cols + col];
        let plus = |row, col, field: usize| add(at(row, col), ADDED[field]);
        let element = |row: usize, col: usize| match self {
            Outcome::Copy => at(row, col),
            Outcome::Transpose => at(col, row),
            Outcome::FineGrained => {
                let (tile_row, tile_col) = (row / TILE * TILE, col / TILE * TILE);
                at(tile_row + col % TILE, tile_col + row % TILE)
            }
            Outcome::CoarseGrained => {
                let (tile_row, tile_col) = (row / TILE * TILE, col / TILE * TILE);
                at(tile_col + row % TILE, tile_row + col % TILE)
            }
            Outcome::StructFields => plus(row, col, col),
            Outcome::ArrayFields => plus(row, col, row),
            Outcome::StructX => plus(col, 0, 0),
            Outcome::ArrayX => plus(0, col, 0),
        };
        (0..dst_rows)
            .flat_map(|row| (0..dst_cols).map(move |col| (row, col)))
            .map(|(row, col)| element(row, col))
            .collect()
    }
}

/// The sum, for elements that are the four bytes of an `f32`.
fn add<T: Pod>(element: T, addend: f32) -> T {
    let value: f32 = bytemuck::pod_read_unaligned(bytemuck::bytes_of(&element));
    bytemuck::pod_read_unaligned(bytemuck::bytes_of(&(value + addend)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ones_by_hand() {
        assert_eq!(Outcome::Copy.of(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 2, 3, 4, 5, 6]);
        assert_eq!(Outcome::Transpose.of(&[1, 2, 3, 4, 5, 6], 2, 3), [1, 4, 2, 5, 3, 6]);
        let records = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
        assert_eq!(Outcome::StructFields.of(&records, 3, 2), [11.0, 22.0, 13.0, 24.0, 15.0, 26.0]);
        assert_eq!(Outcome::ArrayFields.of(&records, 2, 3), [11.0, 12.0, 13.0, 24.0, 25.0, 26.0]);
        assert_eq!(Outcome::StructX.of(&records, 3, 2), [11.0, 13.0, 15.0]);
        assert_eq!(Outcome::ArrayX.of(&records, 2, 3), [11.0, 12.0, 13.0]);
    }

    /// The two halves of a transpose, one after the other, are the transpose.
    #[test]
    fn fine_and_coarse_make_a_transpose() {
        let (rows, cols) = (64, 96);
        let src: Vec<usize> = (0..rows * cols).collect();
        let fine = Outcome::FineGrained.of(&src, rows, cols);
        let both = Outcome::CoarseGrained.of(&fine, rows, cols);
        assert_eq!(both, Outcome::Transpose.of(&src, rows, cols));
        assert_ne!(both, fine);
        assert_eq!(fine[1], cols, "the first row of a tile was its first column");
        let coarse = Outcome::CoarseGrained.of(&src, rows, cols);
        assert_eq!(coarse[1], 1, "the first row of a tile stays its first row");
        assert_eq!(coarse[rows * 32], 32, "the second tile of a row is the second of a column");
    }
}
