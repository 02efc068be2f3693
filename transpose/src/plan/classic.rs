//! Grids for the kernels of the classic ladder.

use super::problem::Problem;
use crate::Result;
use crate::kernels::{Width, entry};
use crate::launch::{Fields, Launch};
use kernel_abi::Kernel;
use kernel_abi::classic::{BLOCK, COPY, Matrices};

/// The side of a tile, in elements.
const TILE: usize = kernel_abi::classic::TILE as usize;

/// The launches that move a matrix's tiles: one, unless the matrix has more tiles along an edge than
/// a grid has blocks, in which case it is moved in slabs. `limit` is what a grid may have along
/// x, y and z.
pub(crate) fn launches(
    kernel: &Kernel<Matrices>,
    width: Width,
    problem: &Problem,
    limit: [usize; 3],
) -> Result<Vec<Launch>> {
    let Problem { src, dst, .. } = *problem;
    if problem.is_empty() {
        return Ok(Vec::new());
    }
    let entry = entry(kernel, width)?;
    let slab_rows = limit[1] * limit[2] * TILE;
    let slab_cols = limit[0] * TILE;
    let slabs = (0..src.rows)
        .step_by(slab_rows)
        .flat_map(|row| (0..src.cols).step_by(slab_cols).map(move |col| (row, col)));
    let launches = slabs
        .map(|(row, col)| {
            let (rows, cols) = (slab_rows.min(src.rows - row), slab_cols.min(src.cols - col));
            let tile_rows = rows.div_ceil(TILE);
            let z = tile_rows.div_ceil(limit[1]);
            let copies = kernel.name == COPY.name;
            let dst_start = if copies { row * dst.ld + col } else { col * dst.ld + row };
            let [rows_there, cols_there, src_ld, dst_ld] =
                [rows, cols, src.ld, dst.ld].map(|n| n as u64);
            let matrices = Matrices { rows: rows_there, cols: cols_there, src_ld, dst_ld };
            Launch {
                entry,
                grid: [cols.div_ceil(TILE), tile_rows.div_ceil(z), z].map(|n| n as u32),
                block: BLOCK,
                dynamic_shared_bytes: 0,
                blocks_per_multiprocessor: 0,
                cooperative: false,
                evict_last: false,
                offsets: [row * src.ld + col, dst_start].map(|n| (n * width.bytes()) as u64),
                params: Fields::of(&matrices),
            }
        })
        .collect();
    Ok(launches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::GRID_LIMIT;
    use crate::plan::problem::tight;
    use kernel_abi::classic::{NAIVE, PADDED};

    fn problem(rows: usize, cols: usize) -> Problem {
        tight(4, rows, cols)
    }

    #[test]
    fn an_empty_matrix_needs_no_launch() {
        for (rows, cols) in [(0, 0), (0, 7), (7, 0)] {
            let launches = launches(&PADDED, Width::B4, &problem(rows, cols), GRID_LIMIT).unwrap();
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
            let launches = launches(&PADDED, Width::B1, &problem(rows, cols), GRID_LIMIT).unwrap();
            let mut covered = 0;
            for Launch { grid, params, .. } in launches {
                let Matrices { rows, cols, .. } = params.to().unwrap();
                let [x, y, z] = grid.map(|n| n as usize);
                assert!(x <= GRID_LIMIT[0] && y <= GRID_LIMIT[1] && z <= GRID_LIMIT[2]);
                assert!(y * z * TILE >= rows as usize && x * TILE >= cols as usize);
                covered += rows * cols;
            }
            assert_eq!(covered as usize, rows * cols);
        }
    }

    #[test]
    fn slabs_start_where_their_elements_are() {
        let launches = launches(&NAIVE, Width::B4, &problem(33, 70), [2, 1, 1]).unwrap();
        let slabs: Vec<_> =
            launches.iter().map(|slab| (slab.offsets, slab.params[0], slab.params[1])).collect();
        let expected = [
            ([0, 0], 32, 64),
            ([64 * 4, 64 * 33 * 4], 32, 6),
            ([32 * 70 * 4, 32 * 4], 1, 64),
            ([(32 * 70 + 64) * 4, (64 * 33 + 32) * 4], 1, 6),
        ];
        assert_eq!(slabs, expected);
    }
}
