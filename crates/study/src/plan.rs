//! Running a kernel of the catalogue: the checks, and the grid for a block.

use crate::block::Block;
use crate::catalogue::{Axes, Code, Cover, Kernel, Own};
use crate::image::STUDY;
use crate::outcome::Outcome;
use crate::{Error, Result};
use bytemuck::Pod;
use kernel_abi::Width;
use kernel_abi::classic::Matrices;
use std::fmt;
use transpose::raw::{self, Grid};
use transpose::{Layout, MatrixView, MatrixViewMut};

/// The side of the tiles of the kernels with [`Cover::Tile`].
const TILE: usize = kernel_abi::classic::TILE as usize;

/// Runs `kernel` in blocks of that shape.
///
/// # Errors
/// As [`plan`] and [`Plan::run`].
pub fn run<'s, 'd, T: Pod>(
    kernel: Kernel,
    block: Block,
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<()> {
    let (src, mut dst) = (src.into(), dst.into());
    Ok(plan(kernel, block, src, dst.reborrow())?.run(src, dst)?)
}

/// Plans `kernel` in blocks of that shape, for matrices laid out like these. Nothing is launched.
///
/// # Errors
/// [`Error::IllegalBlock`]; [`transpose::Error::ElementSize`] and [`Error::Source`];
/// [`transpose::Error::ShapeMismatch`], [`transpose::Error::CopyShapeMismatch`] or [`Error::Destination`] unless
/// `dst` is laid out for the kernel's [`Outcome`]; [`Error::GridLimit`] if that takes more
/// blocks than a grid has.
pub fn plan<'s, 'd, T: Pod>(
    kernel: Kernel,
    block: Block,
    src: impl Into<MatrixView<'s, T>>,
    dst: impl Into<MatrixViewMut<'d, T>>,
) -> Result<Plan> {
    let (src, dst) = (src.into(), dst.into());
    let layouts = Layouts::of(&src, &dst);
    kernel.check_block(block)?;
    kernel.check_source(layouts.element_bytes, src.nrows(), src.ncols())?;
    check_destination(kernel, &layouts)?;
    Ok(Plan(match kernel.facts().code {
        Code::LibraryCopy => Work::Library(transpose::Plan::copy(src, dst)?),
        Code::Library(strategy) => Work::Library(transpose::Plan::new(src, dst, strategy)?),
        Code::Own(own) => Work::Own { layouts, launch: launch(kernel, own, block, &layouts)? },
    }))
}

/// A kernel of the catalogue that has been checked for matrices of some layout, and only waits to be run.
#[derive(Clone, Debug)]
pub struct Plan(Work);

#[derive(Clone, Debug)]
enum Work {
    /// The library has the kernel.
    Library(transpose::Plan),
    /// This crate's image has it.
    Own {
        layouts: Layouts,
        /// The entry point's name, and its grid; `None` where there is nothing to move.
        launch: Option<(&'static str, Grid)>,
    },
}

impl Plan {
    /// Runs the kernel on matrices that are laid out as the plan was made for.
    ///
    /// # Errors
    /// [`transpose::Error::PlanMismatch`] for other layouts, [`transpose::Error::DeviceMismatch`] for matrices on two devices,
    /// and what the device reports.
    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> transpose::Result<()> {
        let (src, dst) = (src.into(), dst.into());
        let (planned, launch) = match &self.0 {
            Work::Library(plan) => return plan.run(src, dst),
            Work::Own { layouts, launch } => (layouts, launch),
        };
        let actual = Layouts::of(&src, &dst);
        if *planned != actual {
            let (planned, actual) = (planned.to_string(), actual.to_string());
            return Err(transpose::Error::PlanMismatch { planned, actual });
        }
        let Some((entry, grid)) = *launch else { return Ok(()) };
        let [rows, cols, src_ld, dst_ld] =
            [src.nrows(), src.ncols(), src.ld(), dst.ld()].map(|n| n as u64);
        let matrices = Matrices { rows, cols, src_ld, dst_ld };
        // SAFETY: every row of the table takes two addresses and `Matrices`. The kernels read the elements of a source of those
        // rows and columns and write those of the destination that the plan was checked for: `grid` covers them, and what
        // is beyond is masked, or was refused. They move elements as they are, or add to the four bytes of an f32: any bits are a
        // `T`. No two threads touch the same element of the destination.
        unsafe { raw::launch(&STUDY, entry, grid, src, dst, &matrices) }
    }
}

/// How a source and a destination are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layouts {
    element_bytes: usize,
    src: Layout,
    dst: Layout,
}

impl Layouts {
    fn of<T: Pod>(src: &MatrixView<'_, T>, dst: &MatrixViewMut<'_, T>) -> Self {
        Layouts { element_bytes: size_of::<T>(), src: src.layout(), dst: dst.layout() }
    }
}

impl fmt::Display for Layouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layouts { element_bytes, src, dst } = self;
        let [(rows, cols), (dst_rows, dst_cols)] = [src.shape(), dst.shape()];
        write!(
            f,
            "{rows} × {cols} to {dst_rows} × {dst_cols} elements of {element_bytes} bytes, "
        )?;
        write!(f, "leading dimensions {} and {}", src.ld(), dst.ld())
    }
}

fn check_destination(kernel: Kernel, layouts: &Layouts) -> Result<()> {
    let Layouts { element_bytes, src, dst } = *layouts;
    let [(src_rows, src_cols), (dst_rows, dst_cols)] = [src.shape(), dst.shape()];
    let (rows, cols) = kernel.outcome().dst_shape(src_rows, src_cols);
    if (dst_rows, dst_cols) != (rows, cols) {
        use transpose::Error::{CopyShapeMismatch, ShapeMismatch};
        return Err(match kernel.outcome() {
            Outcome::Transpose => ShapeMismatch { src_rows, src_cols, dst_rows, dst_cols }.into(),
            Outcome::Copy => CopyShapeMismatch { src_rows, src_cols, dst_rows, dst_cols }.into(),
            _ => Error::Destination {
                kernel: kernel.name(),
                needed: format!("{rows} × {cols}"),
                actual: format!("{dst_rows} × {dst_cols}"),
            },
        });
    }
    let least = kernel.dst_ld(element_bytes, src_rows, src_cols);
    if dst.ld() < least {
        return Err(Error::Destination {
            kernel: kernel.name(),
            needed: format!("rows at least {least} elements apart"),
            actual: format!("rows {} elements apart", dst.ld()),
        });
    }
    Ok(())
}

/// The entry point and its grid, or `None` for a matrix without elements, or whose elements have no bytes.
fn launch(
    kernel: Kernel,
    own: Own,
    block: Block,
    layouts: &Layouts,
) -> Result<Option<(&'static str, Grid)>> {
    let Layouts { element_bytes, src, .. } = *layouts;
    let (rows, cols) = src.shape();
    if src.is_empty() || element_bytes == 0 {
        return Ok(None);
    }
    let entry = Width::of_bytes(element_bytes).and_then(|width| own.kernel.entry(width));
    let entry = entry.ok_or(transpose::Error::ElementSize { bytes: element_bytes })?;
    let (along_x, along_y) = match own.axes {
        Axes::Cartesian => (cols, rows),
        Axes::Exchanged => (rows, cols),
        Axes::RowRecords => (rows, 1),
        Axes::ColRecords => (cols, 1),
    };
    let (tile_x, tile_y) = match own.cover {
        Cover::Tile => (TILE, TILE),
        Cover::Threads => (block.x as usize, block.y as usize),
        Cover::Times(times) => ((block.x * times) as usize, block.y as usize),
    };
    let (blocks_x, blocks_y) = (along_x.div_ceil(tile_x), along_y.div_ceil(tile_y));
    let [limit_x, limit_y, limit_z] = Grid::MOST_BLOCKS;
    let z = blocks_y.div_ceil(limit_y);
    if blocks_x > limit_x || z > limit_z {
        let (kernel, block) = (kernel.name(), [block.x, block.y]);
        return Err(Error::GridLimit { kernel, block, rows, cols });
    }
    let grid = Grid {
        blocks: [blocks_x, blocks_y.div_ceil(z), z].map(|n| n as u32),
        threads: [block.x, block.y, 1],
        dynamic_shared_bytes: dynamic_shared_bytes(kernel, block, element_bytes),
    };
    Ok(Some((entry.name, grid)))
}

/// The dynamic shared memory that a kernel wants; its source says the same.
fn dynamic_shared_bytes(kernel: Kernel, block: Block, element_bytes: usize) -> u32 {
    match kernel {
        Kernel::SmemUnrollPadDyn => {
            let padding = if block.y < 32 { 32 >> block.y.ilog2() } else { 1 };
            block.y * (2 * block.x + padding) * element_bytes as u32
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
                let bytes = dynamic_shared_bytes(kernel, block, 16);
                assert!(bytes <= SHARED_BYTES, "{block}: {bytes}");
            }
        }
    }

    /// Grids are within their limits and cover the matrix, or are refused.
    #[test]
    fn grids_cover_long_matrices() {
        let block = Block { x: 8, y: 1 };
        let planned = |kernel: Kernel, rows, cols| {
            let Code::Own(own) = kernel.facts().code else { panic!("the library's") };
            let [src, dst] = [(rows, cols), (cols, rows)]
                .map(|(rows, cols)| Layout::contiguous(rows, cols, 1).unwrap());
            launch(kernel, own, block, &Layouts { element_bytes: 1, src, dst })
        };
        let [_, limit_y, limit_z] = Grid::MOST_BLOCKS;
        for (rows, cols) in [(1, 1), (1 << 20, 3), (3, 1 << 20), (65535, 9), (65536, 8)] {
            for kernel in [Kernel::NaiveRow, Kernel::NaiveCol, Kernel::Unroll4Row] {
                let (_, grid) = planned(kernel, rows, cols).unwrap().unwrap();
                let [x, y, z] = grid.blocks.map(|n| n as usize);
                assert!(y <= limit_y && z <= limit_z);
                let times = if kernel == Kernel::Unroll4Row { 4 } else { 1 };
                let (long_x, long_y) =
                    if kernel == Kernel::NaiveCol { (rows, cols) } else { (cols, rows) };
                assert!(x * 8 * times >= long_x && y * z >= long_y);
            }
        }
        let refused = planned(Kernel::NaiveRow, 1 << 33, 1);
        assert!(matches!(refused, Err(Error::GridLimit { .. })));
    }
}
