//! Running a kernel of the catalogue: the checks, and the grid for a block.

use super::block::Block;
use super::catalogue::{Axes, Cover, Kernel};
use super::outcome::Outcome;
use crate::facts::GRID_LIMIT;
use crate::kernels::{Width, width_of_bytes};
use crate::launch::Launch;
use crate::layout::Layout;
use crate::view::{MatrixView, MatrixViewMut};
use crate::{Error, Plan, Result};
use bytemuck::Pod;

/// The side of the tiles of the kernels with [`Cover::Tile`].
const TILE: usize = 32;

/// Runs `kernel` in blocks of that shape.
///
/// # Errors
/// As [`plan`], [`Error::DeviceMismatch`], and what the device reports.
pub fn run<'s, 'd, T: Pod>(
    kernel: Kernel,
    block: Block,
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<()> {
    let (src, mut dst) = (src.into(), dst.into());
    plan(kernel, block, src, dst.reborrow())?.run(src, dst)
}

/// Plans `kernel` in blocks of that shape, for matrices laid out like these. Nothing is launched.
///
/// # Errors
/// [`Error::IllegalBlock`]; [`Error::ElementSize`] and [`Error::StudySource`];
/// [`Error::ShapeMismatch`], [`Error::CopyShapeMismatch`] or [`Error::StudyDestination`] unless
/// `dst` is laid out for the kernel's [`Outcome`]; [`Error::GridLimit`] if that takes more
/// blocks than a grid has.
pub fn plan<'s, 'd, T: Pod>(
    kernel: Kernel,
    block: Block,
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<Plan> {
    let (src, dst) = (src.into(), dst.into());
    let element_bytes = size_of::<T>();
    kernel.check_block(block)?;
    kernel.check_source(element_bytes, src.nrows(), src.ncols())?;
    check_destination(kernel, element_bytes, src.layout, dst.layout)?;
    if element_bytes == 0 {
        return Ok(Plan::of(&src, &dst, Vec::new()));
    }
    let width = width_of_bytes(element_bytes)?;
    let launch = launch(kernel, block, width, src.layout, dst.layout)?;
    Ok(Plan::of(&src, &dst, launch.into_iter().collect()))
}

fn check_destination(kernel: Kernel, element_bytes: usize, src: Layout, dst: Layout) -> Result<()> {
    let (rows, cols) = kernel.outcome().dst_shape(src.rows, src.cols);
    if (dst.rows, dst.cols) != (rows, cols) {
        let (src_rows, src_cols) = (src.rows, src.cols);
        let (dst_rows, dst_cols) = (dst.rows, dst.cols);
        return Err(match kernel.outcome() {
            Outcome::Transpose => Error::ShapeMismatch { src_rows, src_cols, dst_rows, dst_cols },
            Outcome::Copy => Error::CopyShapeMismatch { src_rows, src_cols, dst_rows, dst_cols },
            _ => Error::StudyDestination {
                kernel: kernel.name(),
                needed: format!("{rows} × {cols}"),
                actual: format!("{dst_rows} × {dst_cols}"),
            },
        });
    }
    let least = kernel.dst_ld(element_bytes, src.rows, src.cols);
    if dst.ld < least {
        return Err(Error::StudyDestination {
            kernel: kernel.name(),
            needed: format!("rows at least {least} elements apart"),
            actual: format!("rows {} elements apart", dst.ld),
        });
    }
    Ok(())
}

/// The launch, or `None` for a matrix without elements.
fn launch(
    kernel: Kernel,
    block: Block,
    width: Width,
    src: Layout,
    dst: Layout,
) -> Result<Option<Launch>> {
    if src.is_empty() {
        return Ok(None);
    }
    let facts = kernel.facts();
    let (along_x, along_y) = match facts.axes {
        Axes::Cartesian => (src.cols, src.rows),
        Axes::Exchanged => (src.rows, src.cols),
        Axes::RowRecords => (src.rows, 1),
        Axes::ColRecords => (src.cols, 1),
    };
    let (tile_x, tile_y) = match facts.cover {
        Cover::Tile => (TILE, TILE),
        Cover::Threads => (block.x as usize, block.y as usize),
        Cover::Times(times) => ((block.x * times) as usize, block.y as usize),
    };
    let (blocks_x, blocks_y) = (along_x.div_ceil(tile_x), along_y.div_ceil(tile_y));
    let z = blocks_y.div_ceil(GRID_LIMIT[1]);
    if blocks_x > GRID_LIMIT[0] || z > GRID_LIMIT[2] {
        let (kernel, block) = (kernel.name(), [block.x, block.y]);
        return Err(Error::GridLimit { kernel, block, rows: src.rows, cols: src.cols });
    }
    let entry = kernel.entry(width).ok_or(Error::ElementSize { bytes: width.bytes() })?;
    Ok(Some(Launch {
        entry,
        grid: [blocks_x, blocks_y.div_ceil(z), z].map(|n| n as u32),
        block: [block.x, block.y, 1],
        dynamic_shared_bytes: dynamic_shared_bytes(kernel, block, width),
        at_once: 0,
        cooperative: false,
        evict_last: false,
        offsets: [0, 0],
        params: [src.rows, src.cols, src.ld, dst.ld].map(|n| n as u64).into(),
    }))
}

/// The dynamic shared memory that a kernel wants; its source says the same.
fn dynamic_shared_bytes(kernel: Kernel, block: Block, width: Width) -> u32 {
    match kernel {
        Kernel::SmemUnrollPadDyn => {
            let padding = if block.y < 32 { 32 >> block.y.ilog2() } else { 1 };
            block.y * (2 * block.x + padding) * width.bytes() as u32
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every GPU gives a block without being asked for more.
    const SHARED_BYTES: u32 = 48 << 10;

    #[test]
    fn dynamic_shared_memory_is_within_limits_for_every_block() {
        let kernel = Kernel::SmemUnrollPadDyn;
        for x in 1..=1024 {
            for y in (1..=1024).filter(|y| x * y <= 1024) {
                let block = Block { x, y };
                kernel.check_block(block).unwrap();
                let bytes = dynamic_shared_bytes(kernel, block, Width::B16);
                assert!(bytes <= SHARED_BYTES, "{block}: {bytes}");
            }
        }
    }

    /// Grids are within their limits and cover the matrix, or are refused.
    #[test]
    fn grids_cover_long_matrices() {
        let block = Block { x: 8, y: 1 };
        let layouts = |rows, cols| {
            (Layout { rows, cols, ld: cols }, Layout { rows: cols, cols: rows, ld: rows })
        };
        for (rows, cols) in [(1, 1), (1 << 20, 3), (3, 1 << 20), (65535, 9), (65536, 8)] {
            for kernel in [Kernel::NaiveRow, Kernel::NaiveCol, Kernel::Unroll4Row] {
                let (src, dst) = layouts(rows, cols);
                let launch = launch(kernel, block, Width::B1, src, dst).unwrap().unwrap();
                let [x, y, z] = launch.grid.map(|n| n as usize);
                assert!(y <= GRID_LIMIT[1] && z <= GRID_LIMIT[2]);
                let times = if kernel == Kernel::Unroll4Row { 4 } else { 1 };
                let (long_x, long_y) =
                    if kernel == Kernel::NaiveCol { (rows, cols) } else { (cols, rows) };
                assert!(x * 8 * times >= long_x && y * z >= long_y);
            }
        }
        let (src, dst) = layouts(1 << 33, 1);
        let refused = launch(Kernel::NaiveRow, block, Width::B1, src, dst);
        assert!(matches!(refused, Err(Error::GridLimit { .. })));
    }
}
