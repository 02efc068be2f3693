//! Transposes of a matrix, or of a batch of them.

use super::measure::{PlanCache, measured};
use super::problem::{Batch, Problem, alignment};
use super::{classic, fast, tensor};
use crate::device::{across, require_one_memory};
use crate::facts::GRID_LIMIT;
use crate::kernels::width_of_bytes;
use crate::launch::Launch;
use crate::layout::AlignedLayout;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::{Error, Facts, Result, Strategy};
use bytemuck::Pod;
use kernel_abi::Kernel;
use kernel_abi::classic::{self as classic_kernels, Matrices};
use std::fmt;

/// A transpose of matrices that has been checked and only waits to be run: a [`Plan`](super::Plan), whose methods of the same names say what
/// these do.
#[derive(Clone, Debug)]
pub(crate) struct MatrixPlan {
    problem: Problem,
    pub(super) launches: Vec<Launch>,
}

impl MatrixPlan {
    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        strategy: Strategy,
    ) -> Result<Self> {
        let src = src.into();
        let problem = problem(&src, &dst.into(), Batch::ONE);
        problem.require_transposed()?;
        Self::of_problem(problem, strategy, src.device.facts())
    }

    pub fn for_layouts(
        element_bytes: usize,
        src: impl Into<AlignedLayout>,
        dst: impl Into<AlignedLayout>,
        strategy: Strategy,
        facts: &Facts,
    ) -> Result<Self> {
        let problem = Problem::of_layouts(element_bytes, src.into(), dst.into(), Batch::ONE)?;
        Self::of_problem(problem, strategy, facts)
    }

    pub fn batched<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        batch: Batch,
    ) -> Result<Self> {
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, &dst, batch);
        problem.require_transposed()?;
        problem.require_batch(src.available, dst.available)?;
        Self::of_problem(problem, Strategy::Auto, src.device.facts())
    }

    pub fn batched_for_layouts(
        element_bytes: usize,
        src: impl Into<AlignedLayout>,
        dst: impl Into<AlignedLayout>,
        batch: Batch,
        facts: &Facts,
    ) -> Result<Self> {
        let problem = Problem::of_layouts(element_bytes, src.into(), dst.into(), batch)?;
        Self::of_problem(problem, Strategy::Auto, facts)
    }

    pub fn measure<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        batch: Batch,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        let (src, mut dst) = (src.into(), dst.into());
        let estimate = Self::batched(src, dst.reborrow(), batch)?;
        require_one_memory(src.device, dst.device)?;
        let (device, problem) = (src.device, estimate.problem);
        let ways = all_ways(&problem, device.facts()).into_iter();
        let ways = ways.map(|(name, launches)| (name.to_owned(), MatrixPlan { problem, launches }));
        let run = |plan: &Self| plan.run(src, dst.reborrow());
        let fastest = measured(device, cache, &problem.key(), ways.collect(), run)?;
        Ok(fastest.unwrap_or(estimate))
    }

    pub fn candidates<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        let src = src.into();
        let MatrixPlan { problem, .. } = MatrixPlan::new(src, dst, Strategy::Auto)?;
        let candidates = all_ways(&problem, src.device.facts()).into_iter();
        Ok(candidates.map(|(_, launches)| MatrixPlan { problem, launches }).collect())
    }

    pub fn copy<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Self> {
        let (src, dst) = (src.into(), dst.into());
        require_same_shape(&src, &dst)?;
        Self::classic(&classic_kernels::COPY, problem(&src, &dst, Batch::ONE))
    }

    pub fn kernel_names(&self) -> Vec<&'static str> {
        self.launches.iter().map(|launch| launch.entry.name).collect()
    }

    /// The plan for a problem whose matrices fit each other.
    fn of_problem(problem: Problem, strategy: Strategy, facts: &Facts) -> Result<Self> {
        let classic = match strategy {
            Strategy::Naive => &classic_kernels::NAIVE,
            Strategy::Tiled => &classic_kernels::TILED,
            Strategy::Padded => &classic_kernels::PADDED,
            Strategy::Diagonal => &classic_kernels::DIAGONAL,
            Strategy::Auto => {
                let launches = launches(&problem, facts)?;
                return Ok(MatrixPlan { problem, launches });
            }
        };
        Self::classic(classic, problem)
    }

    fn classic(kernel: &Kernel<Matrices>, problem: Problem) -> Result<Self> {
        if problem.element_bytes == 0 {
            return Ok(MatrixPlan { problem, launches: Vec::new() });
        }
        let width = width_of_bytes(problem.element_bytes)?;
        let launches = classic::launches(kernel, width, &problem, GRID_LIMIT)?;
        Ok(MatrixPlan { problem, launches })
    }

    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<()> {
        let (src, dst) = (src.into(), dst.into());
        let actual = problem(&src, &dst, self.problem.batch);
        if !self.problem.serves(&actual) {
            return Err(Error::PlanMismatch {
                planned: self.problem.to_string(),
                actual: actual.to_string(),
            });
        }
        actual.require_batch(src.available, dst.available)?;
        across(src.device, dst.device, |device| {
            self.launches.iter().try_for_each(|launch| {
                // SAFETY: the plan was made for these layouts, whose extents the views, and for a batch
                // the check above, guarantee to be inside live buffers; `dst` is borrowed exclusively.
                unsafe { device.launch(launch, [src.address, dst.address]) }
            })
        })
    }
}

impl fmt::Display for MatrixPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        for Launch { entry, grid, block, .. } in &self.launches {
            write!(f, " {} on {grid:?} blocks of {block:?} threads", entry.name)?;
        }
        Ok(())
    }
}

/// The launches that transpose a problem the fastest way that is known: of a kernel that only knows matrices, or of those that serve any move where
/// none is for it or they are faster.
///
/// # Errors
/// [`Error::NoGrid`] if no kernel's launches cover the problem.
pub(crate) fn launches(problem: &Problem, facts: &Facts) -> Result<Vec<Launch>> {
    let launches = match fast::best(problem, facts) {
        Some(launches) => tensor::better(problem, &launches, facts).or(Some(launches)),
        None => tensor::transposing(problem, facts),
    };
    launches.ok_or_else(|| Error::NoGrid { problem: problem.to_string() })
}

/// The launches of each kernel of matrices that can serve a problem, and those of the kernels that serve any move where they are taken.
fn all_ways(problem: &Problem, facts: &Facts) -> Vec<(&'static str, Vec<Launch>)> {
    let mut ways = fast::all(problem, facts);
    let taken = launches(problem, facts).ok();
    let taken = taken.and_then(|launches| Some((launches.first()?.entry.name, launches)));
    ways.extend(taken.filter(|(_, launches)| ways.iter().all(|(_, way)| way != launches)));
    ways
}

fn problem<T: Pod>(src: &MatrixView<'_, T>, dst: &MatrixViewMut<'_, T>, batch: Batch) -> Problem {
    Problem {
        element_bytes: size_of::<T>(),
        src: src.layout,
        dst: dst.layout,
        src_align: alignment(src.address),
        dst_align: alignment(dst.address),
        batch: batch.normalised(),
    }
}

/// Whether one can be copied to the other.
pub(crate) fn require_same_shape<T: Pod>(
    src: &MatrixView<'_, T>,
    dst: &MatrixViewMut<'_, T>,
) -> Result<()> {
    if src.shape() == dst.shape() {
        return Ok(());
    }
    Err(Error::CopyShapeMismatch {
        src_rows: src.nrows(),
        src_cols: src.ncols(),
        dst_rows: dst.nrows(),
        dst_cols: dst.ncols(),
    })
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;
    use crate::{Device, DeviceMatrix, Layout};

    /// What would leave the tiles of matrices' kernels nearly empty is moved by the kernels of tensors; what would not, and what is small, is not.
    #[test]
    fn empty_tiles_are_avoided() {
        let device = Device::simulated();
        let family = |bytes: usize, rows: usize, cols: usize, slack: [usize; 2]| {
            let src = Layout::new(rows, cols, cols + slack[0], bytes).unwrap();
            let dst = Layout::new(cols, rows, rows + slack[1], bytes).unwrap();
            let plan =
                MatrixPlan::for_layouts(bytes, src, dst, Strategy::Auto, device.facts()).unwrap();
            plan.kernel_names()[0].split('_').next().unwrap().to_owned()
        };
        let general = ["tiles", "boxes", "pieces", "words", "runs"];
        for (bytes, rows, cols, slack) in [
            (12, 8, 1392894, [0, 0]),
            (6, 10, 3800981, [0, 0]),
            (3, 4247555, 4, [0, 0]),
            (24, 1856668, 2, [0, 0]),
            (2, 3, 25642267, [0, 5]),
            (4, 3372160, 2, [3, 0]),
            (2, 16, 2187360, [0, 5]),
            (4, 6311235, 9, [16, 0]),
            (16, 8, 2631173, [1, 1]),
            // Elements that are for no kernel of matrices, or for which `tuples` is slow.
            (5, 3663, 3663, [0, 0]),
            (7, 3096, 3096, [0, 0]),
            (9, 2730, 2730, [0, 0]),
            (10, 2590, 2590, [0, 0]),
            (200, 579, 579, [0, 0]),
            // Elements that a tile's row holds none of.
            (300, 472, 472, [0, 0]),
            (512, 362, 362, [0, 0]),
            (4096, 3, 2, [1, 0]),
            (48, 1182, 1182, [0, 0]),
            // Fewer than 4 MiB, of which 30 µs would be lost.
            (11, 2, 61456, [0, 0]),
        ] {
            let kernel = family(bytes, rows, cols, slack);
            assert!(general.contains(&kernel.as_str()), "{bytes}: {rows} × {cols}: {kernel}");
        }
        for (bytes, rows, cols, slack) in [
            (4, 16384, 16384, [0, 0]),
            (4, 16777216, 2, [0, 0]),
            (1, 2, 16777216, [0, 0]),
            (4, 10007, 9973, [0, 0]),
            (3, 4096, 4096, [0, 0]),
            (12, 4096, 4096, [0, 0]),
            (12, 8, 1000, [0, 0]),
            // A launch's latency is more than could be gained.
            (36, 66, 66, [0, 0]),
        ] {
            let kernel = family(bytes, rows, cols, slack);
            assert!(!general.contains(&kernel.as_str()), "{bytes}: {rows} × {cols}: {kernel}");
        }
    }

    /// Of a single row or column no axis is left where there are gaps, and of both none: that is planned as well.
    #[test]
    fn single_rows_and_columns_between_gaps_have_plans() {
        let facts = Facts::h200();
        for bytes in [1, 2, 3, 4, 8, 16, 40, 600] {
            for (rows, cols) in [(1, 1), (1, 5), (1, 9_000_001), (9_000_001, 1), (300, 1)] {
                for slack in [[0, 0], [7, 0], [0, 7], [16, 16]] {
                    let src = Layout::new(rows, cols, cols + slack[0], bytes).unwrap();
                    let dst = Layout::new(cols, rows, rows + slack[1], bytes).unwrap();
                    let plan = MatrixPlan::for_layouts(bytes, src, dst, Strategy::Auto, &facts);
                    assert!(!plan.unwrap().launches.is_empty());
                }
            }
        }
    }

    /// What is planned for layouts is what is planned for matrices that are laid out so.
    #[test]
    fn layouts_are_enough() {
        let device = Device::simulated();
        for (rows, cols) in [(1, 1), (0, 5), (5, 70), (64, 64), (1000, 70), (70, 999)] {
            let src =
                DeviceMatrix::<[u8; 6]>::zeroed_with_ld(&device, rows, cols, cols + 3).unwrap();
            let mut dst = DeviceMatrix::<[u8; 6]>::zeroed(&device, cols, rows).unwrap();
            let (from, to) = (src.layout(), dst.layout());
            let plan =
                MatrixPlan::for_layouts(6, from, to, Strategy::Auto, device.facts()).unwrap();
            let expected = MatrixPlan::new(&src, &mut dst, Strategy::Auto).unwrap();
            assert_eq!((plan.problem, &plan.launches), (expected.problem, &expected.launches));
            plan.run(&src, &mut dst).unwrap();
        }
        let layout = |rows, cols| Layout::contiguous(rows, cols, 4).unwrap();
        let facts = device.facts();
        let mismatch =
            MatrixPlan::for_layouts(4, layout(3, 5), layout(3, 5), Strategy::Auto, facts);
        assert!(matches!(mismatch, Err(Error::ShapeMismatch { .. })));
        let batch = Batch { count: 9, src_stride: 0, dst_stride: 14 };
        let batched =
            |batch| MatrixPlan::batched_for_layouts(4, layout(3, 5), layout(5, 3), batch, facts);
        assert!(matches!(batched(batch), Err(Error::BatchOverlap { .. })));
        assert!(batched(Batch { dst_stride: 15, ..batch }).is_ok());
        let far = Batch { src_stride: usize::MAX / 8, ..batch };
        assert!(matches!(batched(far), Err(Error::BatchOutOfBounds { .. })));
        assert!(batched(Batch { count: 1, ..far }).is_ok());
    }

    /// Plans for the largest layouts are within the limits of every grid; larger ones are refused. Those of one row are not taken as
    /// large: they take a million launches.
    #[test]
    fn the_largest_layouts_have_plans() {
        let facts = Device::simulated().facts().clone();
        for bytes in [1, 2, 3, 4, 6, 8, 12, 16, 500, 1 << 20] {
            let most: usize = (1 << 42) / bytes;
            let side = most.isqrt();
            for (rows, cols) in [(1, most / 100), (most, 1), (most / 50, 50), (side, side)] {
                let (from, to) = (
                    Layout::contiguous(rows, cols, bytes).unwrap(),
                    Layout::contiguous(cols, rows, bytes).unwrap(),
                );
                for &strategy in Strategy::ALL {
                    for align in [16, 1] {
                        let from = from.aligned_to(align);
                        let plan = MatrixPlan::for_layouts(bytes, from, to, strategy, &facts);
                        let Ok(plan) = plan else {
                            assert!(strategy != Strategy::Auto && width_of_bytes(bytes).is_err());
                            continue;
                        };
                        assert!(!plan.launches.is_empty(), "{plan}");
                        let limited = |launch: &Launch| {
                            launch.grid.iter().zip(GRID_LIMIT).all(|(&n, most)| n as usize <= most)
                        };
                        assert!(plan.launches.iter().all(limited), "{plan}");
                    }
                }
            }
            let beyond = Layout::contiguous(most + 1, 1, bytes).unwrap();
            let to = Layout::contiguous(1, most + 1, bytes).unwrap();
            let refused = MatrixPlan::for_layouts(bytes, beyond, to, Strategy::Auto, &facts);
            assert!(matches!(refused, Err(Error::SizeOverflow { .. })));
        }
    }

    /// The kernels whose rows of the table do not say how many blocks they take mask any grid: blocks past the ends leave alone what lies
    /// around the destination.
    #[test]
    fn blocks_past_the_ends_do_nothing() {
        const STRATEGIES: [Strategy; 4] =
            [Strategy::Naive, Strategy::Tiled, Strategy::Padded, Strategy::Diagonal];
        for strategy in STRATEGIES {
            let plan = |src: MatrixView<'_, u32>, dst: MatrixViewMut<'_, u32>| {
                vec![MatrixPlan::new(src, dst, strategy).unwrap()]
            };
            past_the_ends(|n| n as u32, plan, &[[1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 2, 1]]);
        }
    }

    /// Runs plans with so many blocks more along x, y and z, and looks at all of the matrix whose window is the destination.
    fn past_the_ends<T: Pod + PartialEq + fmt::Debug>(
        element: impl Fn(usize) -> T,
        plans: impl Fn(MatrixView<'_, T>, MatrixViewMut<'_, T>) -> Vec<MatrixPlan>,
        more: &[[u32; 3]],
    ) {
        const ROWS: usize = 70;
        const COLS: usize = 37;
        const AROUND: usize = 40;
        let device = Device::simulated();
        let source: Vec<T> = (0..ROWS * COLS).map(&element).collect();
        let src = DeviceMatrix::from_host(&device, ROWS, COLS, &source).unwrap();
        let (rows, cols) = (COLS + 2 * AROUND, ROWS + 2 * AROUND);
        let canaries = vec![element(1 << 20); rows * cols];
        let mut expected = canaries.clone();
        for (n, &element) in source.iter().enumerate() {
            expected[(AROUND + n % COLS) * cols + AROUND + n / COLS] = element;
        }
        let mut dst = DeviceMatrix::from_host(&device, rows, cols, &canaries).unwrap();
        let window = dst.window_mut(AROUND * cols + AROUND, COLS, ROWS, cols).unwrap();
        let address = window.address;
        let plans = plans(src.view(), window);
        assert!(!plans.is_empty());
        for plan in plans {
            for more in more {
                dst.copy_from_host(&canaries).unwrap();
                for mut launch in plan.launches.iter().cloned() {
                    (0..3).for_each(|axis| launch.grid[axis] += more[axis]);
                    // SAFETY: the kernel masks what is outside the matrices that it is told of, which is what is tested; all of
                    // what lies around them is in live buffers or found by the simulator.
                    unsafe { device.launch(&launch, [src.view().address, address]).unwrap() };
                }
                assert!(dst.to_host().unwrap() == expected, "{plan} {more:?}");
            }
        }
    }
}
