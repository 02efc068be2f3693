//! Choosing a kernel and a grid: pure arithmetic, done without a device.
//!
//! A [`Plan`] that exists has been checked: the shapes fit each other, the element width has a
//! kernel, every grid is within the limits of every GPU. Running it launches and does nothing else.

use crate::kernels::{Kernel, Width};
use crate::launch::Launch;
use crate::layout::Layout;
use crate::view::{MatrixView, MatrixViewMut};
use crate::{Error, Result, Strategy};
use bytemuck::Pod;
use std::fmt;

/// The side of a tile, in elements (`TILE` of the kernel crate).
const TILE: usize = 32;

/// The threads of a block (`TILE` × `BLOCK_ROWS` of the kernel crate).
const BLOCK: [u32; 3] = [32, 8, 1];

/// The blocks that a grid may have along x, y and z: the same for every GPU since 2012.
const GRID_LIMIT: [usize; 3] = [i32::MAX as usize, 65535, 65535];

/// What a plan is made for: the element and both layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Problem {
    element_bytes: usize,
    src: Layout,
    dst: Layout,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { element_bytes, src, dst } = self;
        write!(
            f,
            "{} × {} elements of {element_bytes} bytes, leading dimensions {} and {}",
            src.rows, src.cols, src.ld, dst.ld
        )
    }
}

/// A transpose that has been checked and only waits to be run.
///
/// ```
/// use transpose::{Device, DeviceMatrix, Plan, Strategy};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let src = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
/// let mut dst = DeviceMatrix::zeroed(&device, 3, 2)?;
/// let plan = Plan::new(&src, &mut dst, Strategy::Auto)?;
/// plan.run(&src, &mut dst)?;
/// assert_eq!(dst.to_host()?, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    problem: Problem,
    launches: Vec<Launch>,
}

impl Plan {
    /// Plans the transpose of matrices laid out like `src` into ones laid out like `dst`. Nothing
    /// is launched.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `dst` is `src.ncols() × src.nrows()`, and
    /// [`Error::ElementSize`] for an element that no kernel moves.
    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        strategy: Strategy,
    ) -> Result<Self> {
        let (src, dst) = (src.into().layout, dst.into().layout);
        if (src.rows, src.cols) != (dst.cols, dst.rows) {
            return Err(Error::ShapeMismatch {
                src_rows: src.rows,
                src_cols: src.cols,
                dst_rows: dst.rows,
                dst_cols: dst.cols,
            });
        }
        let kernel = match strategy {
            Strategy::Naive => Kernel::Naive,
            Strategy::Tiled => Kernel::Tiled,
            Strategy::Diagonal => Kernel::Diagonal,
            Strategy::Padded | Strategy::Auto => Kernel::Padded,
        };
        Self::with_kernel(kernel, Problem { element_bytes: size_of::<T>(), src, dst })
    }

    /// Plans the `copy` kernel: the same tiles, and every element stays where it is.
    pub(crate) fn copy<T: Pod>(src: Layout, dst: Layout) -> Result<Self> {
        if (src.rows, src.cols) != (dst.rows, dst.cols) {
            return Err(Error::CopyShapeMismatch {
                src_rows: src.rows,
                src_cols: src.cols,
                dst_rows: dst.rows,
                dst_cols: dst.cols,
            });
        }
        Self::with_kernel(Kernel::Copy, Problem { element_bytes: size_of::<T>(), src, dst })
    }

    /// The launches of a transpose between memories that no matrix owns as a whole, by the kernel
    /// that does well for any shape.
    pub(crate) fn launches_between(
        element_bytes: usize,
        src: Layout,
        dst: Layout,
    ) -> Result<Vec<Launch>> {
        debug_assert_eq!((src.rows, src.cols), (dst.cols, dst.rows));
        Ok(Self::with_kernel(Kernel::Padded, Problem { element_bytes, src, dst })?.launches)
    }

    fn with_kernel(kernel: Kernel, problem: Problem) -> Result<Self> {
        let width = Width::of_bytes(problem.element_bytes)?;
        let launches = launches(kernel, width, &problem, GRID_LIMIT);
        Ok(Plan { problem, launches })
    }

    /// Transposes `src` into `dst`, both laid out as the plan was made for.
    ///
    /// The work is queued on the matrices' device; reading a matrix back waits for it.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for other layouts, [`Error::DeviceMismatch`] for matrices on two
    /// devices, and what the device reports.
    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<()> {
        let (src, dst) = (src.into(), dst.into());
        let actual = Problem { element_bytes: size_of::<T>(), src: src.layout, dst: dst.layout };
        if actual != self.problem {
            return Err(Error::PlanMismatch {
                planned: self.problem.to_string(),
                actual: actual.to_string(),
            });
        }
        let device = src.same_device(&dst)?;
        for launch in &self.launches {
            // SAFETY: the plan was made for these layouts, whose extents the views guarantee to
            // be inside live buffers; `dst` is borrowed exclusively.
            unsafe { device.launch(launch, [src.address, dst.address])? }
        }
        Ok(())
    }
}

/// The launches that move a problem's tiles: one, unless the matrix has more tiles along an edge
/// than a grid has blocks, in which case it is moved in slabs.
fn launches(kernel: Kernel, width: Width, problem: &Problem, limit: [usize; 3]) -> Vec<Launch> {
    let Problem { src, dst, .. } = *problem;
    if src.is_empty() {
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
                Kernel::Copy => row * dst.ld + col,
                _ => col * dst.ld + row,
            };
            Launch {
                entry: kernel.entry(width),
                grid: [cols.div_ceil(TILE), tile_rows.div_ceil(z), z].map(|n| n as u32),
                block: BLOCK,
                dynamic_shared_bytes: 0,
                offsets: [row * src.ld + col, dst_start].map(|n| n as u64 * width.bytes()),
                words: [rows, cols, src.ld, dst.ld].map(|n| n as u64).into(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(rows: usize, cols: usize) -> Problem {
        Problem {
            element_bytes: 4,
            src: Layout { rows, cols, ld: cols },
            dst: Layout { rows: cols, cols: rows, ld: rows },
        }
    }

    #[test]
    fn an_empty_matrix_needs_no_launch() {
        for (rows, cols) in [(0, 0), (0, 7), (7, 0)] {
            let launches = launches(Kernel::Padded, Width::B4, &problem(rows, cols), GRID_LIMIT);
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
            let launches = launches(Kernel::Padded, Width::B1, &problem(rows, cols), GRID_LIMIT);
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
        let launches = launches(Kernel::Naive, Width::B4, &problem(33, 70), [2, 1, 1]);
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
