//! Grids for the kernels of the classic ladder.

use super::problem::Problem;
use crate::kernels::{Classic, Width};
use crate::launch::Launch;

/// The side of a tile, in elements (`TILE` of the kernel crate).
const TILE: usize = 32;

/// The threads of a block (`TILE` × `BLOCK_ROWS` of the kernel crate).
const BLOCK: [u32; 3] = [32, 8, 1];

/// The launches that move a matrix's tiles: one, unless the matrix has more tiles along an edge than
/// a grid has blocks, in which case it is moved in slabs. `limit` is what a grid may have along
/// x, y and z.
pub(crate) fn launches(
    kernel: Classic,
    width: Width,
    problem: &Problem,
    limit: [usize; 3],
) -> Vec<Launch> {
    let Problem { src, dst, .. } = *problem;
    if problem.is_empty() {
        return Vec::new();
    }
    let slab_rows = limit[1] * limit[2] * TILE;
    let slab_cols = limit[0] * TILE;
    let slabs = (0..src.rows)
        .step_by(slab_rows)
        .flat_map(|row| (0..src.cols).step_by(slab_cols).map(move |col| (row, col)));
    slabs
        .map(|(row, col)| {
            let (rows, cols) = (slab_rows.min(src.rows - row), slab_cols.min(src.cols - col));
            let tile_rows = rows.div_ceil(TILE);
            let z = tile_rows.div_ceil(limit[1]);
            let dst_start = match kernel {
                Classic::Copy => row * dst.ld + col,
                _ => col * dst.ld + row,
            };
            Launch {
                entry: kernel.entry(width),
                grid: [cols.div_ceil(TILE), tile_rows.div_ceil(z), z].map(|n| n as u32),
                block: BLOCK,
                dynamic_shared_bytes: 0,
                at_once: 0,
                cooperative: false,
                evict_last: false,
                offsets: [row * src.ld + col, dst_start].map(|n| n as u64 * width.bytes()),
                words: [rows, cols, src.ld, dst.ld].map(|n| n as u64).into(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::GRID_LIMIT;
    use crate::plan::problem::tight;

    fn problem(rows: usize, cols: usize) -> Problem {
        tight(4, rows, cols)
    }

    #[test]
    fn an_empty_matrix_needs_no_launch() {
        for (rows, cols) in [(0, 0), (0, 7), (7, 0)] {
            let launches = launches(Classic::Padded, Width::B4, &problem(rows, cols), GRID_LIMIT);
            assert!(launches.is_empty());
        }
    }

    /// Grids are within their limits and their tiles cover the matrix, even for matrices that
    /// are longer than any grid axis.
    #[test]
    fn grids_cover_any_shape() {
        for (rows, cols) in
            [(1, 1), (33, 31), (65535 * 32 + 1, 5), (1 << 20, 1 << 20), (1 << 38, 1), (1, 1 << 38)]
        {
            let launches = launches(Classic::Padded, Width::B1, &problem(rows, cols), GRID_LIMIT);
            let mut covered = 0;
            for Launch { grid, words, .. } in launches {
                let [x, y, z] = grid.map(|n| n as usize);
                assert!(x <= GRID_LIMIT[0] && y <= GRID_LIMIT[1] && z <= GRID_LIMIT[2]);
                assert!(y * z * TILE >= words[0] as usize && x * TILE >= words[1] as usize);
                covered += words[0] * words[1];
            }
            assert_eq!(covered as usize, rows * cols);
        }
    }

    #[test]
    fn slabs_start_where_their_elements_are() {
        let launches = launches(Classic::Naive, Width::B4, &problem(33, 70), [2, 1, 1]);
        let slabs: Vec<_> =
            launches.iter().map(|slab| (slab.offsets, slab.words[0], slab.words[1])).collect();
        let expected = [
            ([0, 0], 32, 64),
            ([64 * 4, 64 * 33 * 4], 32, 6),
            ([32 * 70 * 4, 32 * 4], 1, 64),
            ([(32 * 70 + 64) * 4, (64 * 33 + 32) * 4], 1, 6),
        ];
        assert_eq!(slabs, expected);
    }
}
