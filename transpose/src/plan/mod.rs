//! Choosing kernels and grids: pure arithmetic, done without a device.
//!
//! A [`Plan`] that exists has been checked: the shapes fit each other, the elements have a kernel, every grid
//! is within the limits of every GPU. Running it launches and does nothing else.

pub(crate) mod classic;
pub(crate) mod fast;
mod measure;
mod problem;
mod tensor;

pub use measure::{CacheWarning, PlanCache};
pub use problem::Batch;
pub(crate) use tensor::conjugate_in_place;
pub use tensor::{ArithmeticPlan, TensorPlan};

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
use problem::alignment;
pub(crate) use problem::{Problem, require_transposed};
use std::fmt;

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
    /// Plans the transpose of matrices laid out like `src` into ones laid out like `dst`, at
    /// addresses aligned no worse. Nothing is launched.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`] unless `dst` is `src.ncols() × src.nrows()`, and
    /// [`Error::ElementSize`] for an element that the strategy has no kernel for.
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

    /// Plans like [`new`](Self::new), for a device that is like `facts` and matrices that need not exist: of elements of
    /// `element_bytes` bytes, laid out like `src` and `dst`.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix, Layout, Plan, Strategy};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let (src, dst) = (Layout::contiguous(1000, 96, 4)?, Layout::new(96, 1000, 1024, 4)?);
    /// let plan = Plan::for_layouts(4, src, dst, Strategy::Auto, device.facts())?;
    /// assert_eq!(plan.kernel_names(), ["micro_b4"]);
    /// // A window may start anywhere.
    /// let plan = Plan::for_layouts(4, src.aligned_to(4), dst, Strategy::Auto, device.facts())?;
    /// assert_eq!(plan.kernel_names(), ["rows_b4"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::SizeOverflow`] for layouts of more than 4 TiB.
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

    /// Plans the transpose of a batch: `src` and `dst` are its first matrices, and the others follow
    /// at the batch's strides.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::BatchOutOfBounds`] or [`Error::BatchOverlap`] for matrices
    /// outside the memory that the views are taken from, or destinations in each other.
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

    /// Plans like [`batched`](Self::batched), for a device that is like `facts` and matrices that need not exist: of elements of
    /// `element_bytes` bytes, laid out like `src` and `dst`.
    ///
    /// # Errors
    /// As [`for_layouts`](Self::for_layouts), [`Error::BatchOverlap`], and [`Error::BatchOutOfBounds`] for a batch of more than 4 TiB.
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

    /// Plans like [`new`](Self::new) with [`Strategy::Auto`], by measuring: every kernel that can
    /// serve the matrices is run a few times, and the fastest is taken. What `dst` holds is lost.
    ///
    /// Where `cache` knows the fastest kernel for matrices like these, nothing is run; else it learns
    /// it. On the simulator, whose times mean nothing, this is [`new`](Self::new).
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix, Plan, PlanCache};
    /// # fn main() -> transpose::Result<()> {
    /// let (device, _) = Device::any();
    /// let src = DeviceMatrix::<f32>::zeroed(&device, 300, 200)?;
    /// let mut dst = DeviceMatrix::zeroed(&device, 200, 300)?;
    /// let mut cache = PlanCache::in_memory(); // or PlanCache::open("plans.txt")
    /// let plan = Plan::measure(&src, &mut dst, &mut cache)?;
    /// plan.run(&src, &mut dst)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`run`](Self::run).
    pub fn measure<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        /// Runs of each candidate that count, after one that does not.
        const RUNS: usize = 5;
        let (src, mut dst) = (src.into(), dst.into());
        let estimate = Plan::new(src, dst.reborrow(), Strategy::Auto)?;
        require_one_memory(src.device, dst.device)?;
        let device = dst.device;
        let problem = estimate.problem;
        let candidates = all_ways(&problem, device.facts());
        let known = cache.get(device.name(), &problem);
        if let Some((_, launches)) = candidates.iter().find(|(name, _)| known == Some(*name)) {
            return Ok(Plan { problem, launches: launches.clone() });
        }
        let mut fastest: Option<(std::time::Duration, &str, Plan)> = None;
        for (name, launches) in candidates {
            let plan = Plan { problem, launches };
            plan.run(src, dst.reborrow())?;
            let mut best = None;
            for _ in 0..RUNS {
                match device.time(|| plan.run(src, dst.reborrow()))? {
                    Some(time) => best = Some(best.map_or(time, |best| time.min(best))),
                    None => return Ok(estimate),
                }
            }
            if let Some(time) = best
                && fastest.as_ref().is_none_or(|(fastest, _, _)| time < *fastest)
            {
                fastest = Some((time, name, plan));
            }
        }
        let Some((_, name, plan)) = fastest else {
            return Ok(estimate);
        };
        cache.insert(device.name(), &problem, name);
        Ok(plan)
    }

    /// All plans that [`measure`](Self::measure) chooses from: one for each kernel that can serve the matrices.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        let src = src.into();
        let Plan { problem, .. } = Plan::new(src, dst, Strategy::Auto)?;
        let candidates = all_ways(&problem, src.device.facts()).into_iter();
        Ok(candidates.map(|(_, launches)| Plan { problem, launches }).collect())
    }

    /// The same plan, and whether the GPU's L2 cache should give up what the plan writes before what it reads.
    ///
    /// That is faster by 1 to 3 % where no cache holds the matrices, and a plan of [`Strategy::Auto`] does so by itself from
    /// 32 MiB on. Say `false` if other data should stay in the cache meanwhile: what is kept is in its way. This
    /// changes no result, and nothing at all on chips other than those of compute capability 9.0, or with other
    /// strategies.
    #[must_use]
    pub fn evict_last(mut self, evict_last: bool) -> Self {
        self.launches.iter_mut().for_each(|launch| launch.evict_last = evict_last);
        self
    }

    /// The names of the kernels that the plan launches, in order.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        self.launches.iter().map(|launch| launch.entry.name).collect()
    }

    /// Plans a copy by a kernel that moves the same tiles as the classic transposes do, every element staying where it is.
    ///
    /// The difference between its speed and a transpose's is what transposing costs; the difference between its speed and that of
    /// [`MatrixView::copy_into`] without gaps is what tiles of this shape cost.
    ///
    /// # Errors
    /// [`Error::CopyShapeMismatch`] for different shapes, and [`Error::ElementSize`] for elements that are not 1, 2, 4, 8 or 16 bytes.
    pub fn copy<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Self> {
        let (src, dst) = (src.into(), dst.into());
        require_same_shape(&src, &dst)?;
        Self::classic(&classic_kernels::COPY, problem(&src, &dst, Batch::ONE))
    }

    /// The plan for a problem whose matrices fit each other.
    fn of_problem(problem: Problem, strategy: Strategy, facts: &Facts) -> Result<Self> {
        let classic = match strategy {
            Strategy::Naive => &classic_kernels::NAIVE,
            Strategy::Tiled => &classic_kernels::TILED,
            Strategy::Padded => &classic_kernels::PADDED,
            Strategy::Diagonal => &classic_kernels::DIAGONAL,
            Strategy::Auto => {
                let launches = by_matrices(&problem, facts)?;
                let launches = tensor::better(&problem, &launches, facts).unwrap_or(launches);
                return Ok(Plan { problem, launches });
            }
        };
        Self::classic(classic, problem)
    }

    fn classic(kernel: &Kernel<Matrices>, problem: Problem) -> Result<Self> {
        if problem.element_bytes == 0 {
            return Ok(Plan { problem, launches: Vec::new() });
        }
        let width = width_of_bytes(problem.element_bytes)?;
        let launches = classic::launches(kernel, width, &problem, GRID_LIMIT)?;
        Ok(Plan { problem, launches })
    }

    /// Transposes `src` into `dst`, both laid out as the plan was made for. For a batch these are
    /// its first matrices.
    ///
    /// The work is queued on the matrices' device; reading a matrix back waits for it.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for other layouts, [`Error::DeviceMismatch`] for matrices on two
    /// devices, the errors of [`batched`](Self::batched) for a batch that does not fit these
    /// matrices, and what the device reports.
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

/// What the plan will do: the kernels by name, with their grids and blocks.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        for Launch { entry, grid, block, .. } in &self.launches {
            write!(f, " {} on {grid:?} blocks of {block:?} threads", entry.name)?;
        }
        Ok(())
    }
}

/// The launches of the kernels that only know matrices.
fn by_matrices(problem: &Problem, facts: &Facts) -> Result<Vec<Launch>> {
    fast::launches(problem, GRID_LIMIT, tuning(facts))
}

/// The launches of each kernel of matrices that can serve a problem, and those of the kernels that serve any move where they are expected to be
/// faster.
fn all_ways(problem: &Problem, facts: &Facts) -> Vec<(&'static str, Vec<Launch>)> {
    let mut ways = fast::candidates(problem, GRID_LIMIT, tuning(facts));
    let general = by_matrices(problem, facts)
        .ok()
        .and_then(|launches| tensor::better(problem, &launches, facts))
        .and_then(|launches| Some((launches.first()?.entry.name, launches)));
    ways.extend(general);
    ways
}

/// The numbers that plans for such a device are made by.
fn tuning(facts: &Facts) -> &'static fast::Tuning {
    fast::Tuning::of(facts.compute_capability)
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
            let plan = Plan::for_layouts(bytes, src, dst, Strategy::Auto, device.facts()).unwrap();
            plan.kernel_names()[0].split('_').next().unwrap().to_owned()
        };
        let general = ["tiles", "boxes", "words"];
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
        ] {
            let kernel = family(bytes, rows, cols, slack);
            assert!(!general.contains(&kernel.as_str()), "{bytes}: {rows} × {cols}: {kernel}");
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
            let plan = Plan::for_layouts(6, from, to, Strategy::Auto, device.facts()).unwrap();
            let expected = Plan::new(&src, &mut dst, Strategy::Auto).unwrap();
            assert_eq!((plan.problem, &plan.launches), (expected.problem, &expected.launches));
            plan.run(&src, &mut dst).unwrap();
        }
        let layout = |rows, cols| Layout::contiguous(rows, cols, 4).unwrap();
        let facts = device.facts();
        let mismatch = Plan::for_layouts(4, layout(3, 5), layout(3, 5), Strategy::Auto, facts);
        assert!(matches!(mismatch, Err(Error::ShapeMismatch { .. })));
        let batch = Batch { count: 9, src_stride: 0, dst_stride: 14 };
        let batched =
            |batch| Plan::batched_for_layouts(4, layout(3, 5), layout(5, 3), batch, facts);
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
                        let plan = Plan::for_layouts(bytes, from, to, strategy, &facts);
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
            let refused = Plan::for_layouts(bytes, beyond, to, Strategy::Auto, &facts);
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
                vec![Plan::new(src, dst, strategy).unwrap()]
            };
            past_the_ends(|n| n as u32, plan, &[[1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 2, 1]]);
        }
        let elements = |src: MatrixView<'_, [u32; 3]>, dst: MatrixViewMut<'_, [u32; 3]>| {
            let plans = Plan::candidates(src, dst).unwrap().into_iter();
            plans.filter(|plan| plan.kernel_names() == ["elements_b4"]).collect()
        };
        past_the_ends(|n| [n as u32; 3], elements, &[[1, 0, 0], [0, 1, 0], [3, 2, 0]]);
    }

    /// Runs plans with so many blocks more along x, y and z, and looks at all of the matrix whose window is the destination.
    fn past_the_ends<T: Pod + PartialEq + fmt::Debug>(
        element: impl Fn(usize) -> T,
        plans: impl Fn(MatrixView<'_, T>, MatrixViewMut<'_, T>) -> Vec<Plan>,
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
