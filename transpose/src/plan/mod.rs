//! Choosing kernels and grids: pure arithmetic, done without a device.
//!
//! A [`Plan`] that exists has been checked: the shapes fit each other, the elements have a kernel, every grid
//! is within the limits of every GPU. Running it launches and does nothing else. Inside, plans of matrices ([`matrix`]) and of arrays of
//! any rank ([`tensor`]) are different ones. Both know the kernels of matrices ([`fast`]); matrices that these are not for, or slower for, go the way of
//! tensors.

pub(crate) mod classic;
pub(crate) mod fast;
mod matrix;
mod measure;
mod memo;
mod operand;
mod problem;
mod tensor;

pub(crate) use matrix::{MatrixPlan, launches, require_same_shape};
pub use measure::{CacheWarning, PlanCache};
pub use operand::{Destination, Source};
pub use problem::Batch;
pub use tensor::{ArithmeticPlan, NormalizingPlan};
pub(crate) use tensor::{SquareBatch, TensorPlan, conjugate_in_place};

use crate::complex::Conjugate;
use crate::layout::AlignedLayout;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Facts, Result, Strategy};
use bytemuck::Pod;
pub(crate) use problem::{Problem, VECTOR, require_transposed};
use std::fmt;

/// The transpose of matrices, or the move of one tensor to another, that has been checked and only waits to be run.
///
/// | method | plans what | of |
/// |---|---|---|
/// | [`new`](Self::new), [`batched`](Self::batched) | [`DeviceMatrix::transpose_into`](crate::DeviceMatrix::transpose_into), [`transpose_batched_into`](crate::MatrixView::transpose_batched_into) | matrices |
/// | [`moving`](Self::moving), [`conjugating`](Self::conjugating) | [`TensorView::copy_into`], [`conjugate_into`](TensorView::conjugate_into) | tensors of one shape |
///
/// Planning takes 0.1 to 0.5 µs for matrices and images, 2 for most moves of several axes, and up to 20 for large ones of odd strides. The plans of some hundred recent moves are kept for the whole program, in a megabyte or two:
/// who asks for one again, as calls do that plan each time, has it in 0.2 µs. Nothing else depends on that.
///
/// Those `for_layouts` need no memory. [`measure`](Self::measure), [`measure_batched`](Self::measure_batched), [`measure_moving`](Self::measure_moving) and
/// [`measure_conjugating`](Self::measure_conjugating) choose by running all that [`candidates`](Self::candidates),
/// [`moving_candidates`](Self::moving_candidates) and [`conjugating_candidates`](Self::conjugating_candidates) list.
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
pub struct Plan(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Matrices(MatrixPlan),
    Tensors(TensorPlan),
}

impl From<MatrixPlan> for Plan {
    fn from(plan: MatrixPlan) -> Self {
        Plan(Kind::Matrices(plan))
    }
}

impl From<TensorPlan> for Plan {
    fn from(plan: TensorPlan) -> Self {
        Plan(Kind::Tensors(plan))
    }
}

/// Transposes of matrices.
impl Plan {
    /// Plans the transpose of matrices laid out like `src` into ones laid out like `dst`, at
    /// addresses aligned no worse. Nothing is launched.
    ///
    /// # Errors
    /// [`Error::ShapeMismatch`](crate::Error::ShapeMismatch) unless `dst` is `src.ncols() × src.nrows()`, and
    /// [`Error::ElementSize`](crate::Error::ElementSize) for an element that the strategy has no kernel for.
    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        strategy: Strategy,
    ) -> Result<Self> {
        Ok(MatrixPlan::new(src, dst, strategy)?.into())
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
    /// As [`new`](Self::new), and [`Error::SizeOverflow`](crate::Error::SizeOverflow) for layouts of more than 4 TiB.
    pub fn for_layouts(
        element_bytes: usize,
        src: impl Into<AlignedLayout>,
        dst: impl Into<AlignedLayout>,
        strategy: Strategy,
        facts: &Facts,
    ) -> Result<Self> {
        Ok(MatrixPlan::for_layouts(element_bytes, src, dst, strategy, facts)?.into())
    }

    /// Plans the transpose of a batch: `src` and `dst` are its first matrices, and the others follow
    /// at the batch's strides.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::BatchOutOfBounds`](crate::Error::BatchOutOfBounds) or [`Error::BatchOverlap`](crate::Error::BatchOverlap) for matrices
    /// outside the memory that the views are taken from, or destinations that have an element in common.
    pub fn batched<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        batch: Batch,
    ) -> Result<Self> {
        Ok(MatrixPlan::batched(src, dst, batch)?.into())
    }

    /// Plans like [`batched`](Self::batched), for a device that is like `facts` and matrices that need not exist: of elements of
    /// `element_bytes` bytes, laid out like `src` and `dst`.
    ///
    /// # Errors
    /// As [`for_layouts`](Self::for_layouts), [`Error::BatchOverlap`](crate::Error::BatchOverlap), and [`Error::BatchOutOfBounds`](crate::Error::BatchOutOfBounds) for a batch of more than 4 TiB.
    pub fn batched_for_layouts(
        element_bytes: usize,
        src: impl Into<AlignedLayout>,
        dst: impl Into<AlignedLayout>,
        batch: Batch,
        facts: &Facts,
    ) -> Result<Self> {
        Ok(MatrixPlan::batched_for_layouts(element_bytes, src, dst, batch, facts)?.into())
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
        Ok(MatrixPlan::measure(src, dst, Batch::ONE, cache)?.into())
    }

    /// Plans like [`batched`](Self::batched), by measuring as [`measure`](Self::measure) does. What the destinations hold is lost.
    ///
    /// # Errors
    /// As [`batched`](Self::batched) and [`run`](Self::run).
    pub fn measure_batched<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
        batch: Batch,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        Ok(MatrixPlan::measure(src, dst, batch, cache)?.into())
    }

    /// All plans that [`measure`](Self::measure) chooses from: one for each kernel that can serve the matrices.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        Ok(MatrixPlan::candidates(src, dst)?.into_iter().map(Plan::from).collect())
    }

    /// Plans a copy by a kernel that moves the same tiles as the classic transposes do, every element staying where it is.
    ///
    /// The difference between its speed and a transpose's is what transposing costs; the difference between its speed and that of
    /// [`MatrixView::copy_into`] without gaps is what tiles of this shape cost.
    ///
    /// # Errors
    /// [`Error::CopyShapeMismatch`](crate::Error::CopyShapeMismatch) for different shapes, and [`Error::ElementSize`](crate::Error::ElementSize) for elements that are not 1, 2, 4, 8 or 16 bytes.
    pub fn copy<'s, 'd, T: Pod>(
        src: impl Into<MatrixView<'s, T>>,
        dst: impl Into<MatrixViewMut<'d, T>>,
    ) -> Result<Self> {
        Ok(MatrixPlan::copy(src, dst)?.into())
    }
}

/// Moves of tensors.
impl Plan {
    /// Plans the move of tensors laid out like `src` to ones laid out like `dst`, of the same shape and at addresses aligned no worse.
    /// Nothing is launched.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor, Plan};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let src = DeviceTensor::from_host(&device, &[2, 3, 2], &(0..12).collect::<Vec<u32>>())?;
    /// let mut dst = DeviceTensor::zeroed(&device, &[2, 2, 3])?;
    /// let permuted = src.view().permute_axes(&[2, 0, 1])?;
    /// let plan = Plan::moving(permuted, &mut dst)?;
    /// plan.run(permuted, &mut dst)?;
    /// assert_eq!(dst.to_host()?, [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch) for different shapes.
    pub fn moving<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        Ok(TensorPlan::new(src, dst)?.into())
    }

    /// Plans like [`moving`](Self::moving), for a device that is like `facts` and tensors that need not exist: of elements of
    /// `element_bytes` bytes, laid out like `src` and `dst` in memory that a device allocates.
    ///
    /// ```
    /// use transpose::{Device, Plan, TensorLayout};
    /// # fn main() -> transpose::Result<()> {
    /// let src = TensorLayout::contiguous(&[48, 28, 28, 48, 28], 4)?.t();
    /// let dst = TensorLayout::contiguous(src.shape(), 4)?;
    /// let plan = Plan::moving_for_layouts(4, &src, &dst, Device::simulated().facts())?;
    /// assert_eq!(plan.kernel_names(), ["tiles_b4"]);
    /// println!("{plan}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`moving`](Self::moving), [`Error::TensorOverlap`](crate::Error::TensorOverlap) for a destination in which an element has two
    /// indices, and [`Error::TensorSizeOverflow`](crate::Error::TensorSizeOverflow) for layouts that are too long for elements of that
    /// size, and for more than 4 TiB of them.
    pub fn moving_for_layouts(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Self> {
        Ok(TensorPlan::for_layouts(element_bytes, src, dst, facts)?.into())
    }

    /// Plans like [`moving`](Self::moving), by measuring: each of the [`moving_candidates`](Self::moving_candidates) is run a few
    /// times, and the fastest is taken. What `dst` holds is lost.
    ///
    /// Where `cache` knows the fastest way of such a move, nothing is run; else it learns it. A move is such a move if shape, strides and
    /// alignments are the same, axes of one element and axes that lie together apart. On the simulator, whose times mean
    /// nothing, this is [`moving`](Self::moving).
    ///
    /// # Errors
    /// As [`moving`](Self::moving) and [`run`](Self::run).
    pub fn measure_moving<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        Ok(TensorPlan::measure(src, dst, cache)?.into())
    }

    /// The ways that the move can go, the one of [`moving`](Self::moving) first: each kernel, with tiles of the few shapes that promise
    /// most.
    ///
    /// # Errors
    /// As [`moving`](Self::moving).
    pub fn moving_candidates<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        Ok(TensorPlan::candidates(src, dst)?.into_iter().map(Plan::from).collect())
    }

    /// Like [`moving_candidates`](Self::moving_candidates), for tensors that need not exist.
    ///
    /// # Errors
    /// As [`moving_for_layouts`](Self::moving_for_layouts).
    pub fn moving_candidates_for_layouts(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Vec<Self>> {
        let plans = TensorPlan::candidates_for_layouts(element_bytes, src, dst, facts)?;
        Ok(plans.into_iter().map(Plan::from).collect())
    }

    /// Plans like [`moving`](Self::moving), of complex numbers, each of which becomes its conjugate on the way.
    ///
    /// ```
    /// use transpose::{Device, DeviceTensor, Plan};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let src = DeviceTensor::from_host(&device, &[1, 3], &[[1.0, 2.0], [3.0, -4.0], [5.0, 0.0f32]])?;
    /// let mut dst = DeviceTensor::zeroed(&device, &[3, 1])?;
    /// let plan = Plan::conjugating(src.view().t(), &mut dst)?;
    /// plan.run(src.view().t(), &mut dst)?;
    /// assert_eq!(dst.to_host()?, [[1.0, -2.0], [3.0, 4.0], [5.0, -0.0]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`moving`](Self::moving).
    pub fn conjugating<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        Ok(TensorPlan::conjugating(src, dst)?.into())
    }

    /// Plans like [`conjugating`](Self::conjugating), by measuring as [`measure_moving`](Self::measure_moving) does. What `dst` holds is lost.
    ///
    /// # Errors
    /// As [`conjugating`](Self::conjugating) and [`run`](Self::run).
    pub fn measure_conjugating<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        Ok(TensorPlan::measure_conjugating(src, dst, cache)?.into())
    }

    /// The ways that the move can go, the one of [`conjugating`](Self::conjugating) first, as
    /// [`moving_candidates`](Self::moving_candidates) has them.
    ///
    /// # Errors
    /// As [`moving`](Self::moving).
    pub fn conjugating_candidates<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        Ok(TensorPlan::conjugating_candidates(src, dst)?.into_iter().map(Plan::from).collect())
    }

    /// The fraction of a device-to-device copy's speed that the library's model of a GPU expects of a move. By that number it chooses.
    /// `None` for a transpose of matrices, whose kernels are chosen by rules.
    pub fn expected(&self) -> Option<f64> {
        match &self.0 {
            Kind::Matrices(_) => None,
            Kind::Tensors(plan) => Some(plan.expected()),
        }
    }
}

/// Of either.
impl Plan {
    /// The same plan, and whether the GPU's L2 cache should give up what the plan writes before what it reads.
    ///
    /// That is faster by 1 to 3 % where no cache holds the matrices, and a plan of [`Strategy::Auto`] does so by itself from
    /// 32 MiB on. Say `false` if other data should stay in the cache meanwhile: what is kept is in its way. This
    /// changes no result, and nothing at all on chips other than those of compute capability 9.0, or with other
    /// strategies.
    #[must_use]
    pub fn evict_last(mut self, evict_last: bool) -> Self {
        let launches = match &mut self.0 {
            Kind::Matrices(plan) => &mut plan.launches[..],
            Kind::Tensors(plan) => plan.launches_mut(),
        };
        launches.iter_mut().for_each(|launch| launch.evict_last = evict_last);
        self
    }

    /// The names of the kernels that the plan launches, in order; none where it copies one stretch of memory, by the driver or as fast as that.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        match &self.0 {
            Kind::Matrices(plan) => plan.kernel_names(),
            Kind::Tensors(plan) => plan.kernel_names(),
        }
    }

    /// Transposes or moves `src` to `dst`, both laid out as the plan was made for. For a batch these are its first matrices.
    ///
    /// The work is queued on their device; reading the destination back waits for it.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix, Plan, Strategy, TensorView};
    /// # fn main() -> transpose::Result<()> {
    /// let device = Device::simulated();
    /// let a = DeviceMatrix::from_host(&device, 1, 2, &[1u8, 2])?;
    /// let mut b = DeviceMatrix::zeroed(&device, 2, 1)?;
    /// Plan::new(&a, &mut b, Strategy::Auto)?.run(&a, &mut b)?; // a matrix and its transpose
    /// let turned = TensorView::from(&a).t();
    /// Plan::moving(turned, &mut b)?.run(turned, &mut b)?; // tensors of one shape
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::PlanMismatch`](crate::Error::PlanMismatch) for other layouts, [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for
    /// memory of two devices, [`Error::TensorShapeMismatch`](crate::Error::TensorShapeMismatch) for tensors of two shapes,
    /// [`Error::NotAMatrix`](crate::Error::NotAMatrix) for a tensor that is none where the plan is of matrices, the errors of
    /// [`batched`](Self::batched) for a batch that does not fit these matrices, and what the device reports.
    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<Source<'s, T>>,
        dst: impl Into<Destination<'d, T>>,
    ) -> Result<()> {
        let (src, dst) = (src.into(), dst.into());
        match &self.0 {
            Kind::Matrices(plan) => plan.run(src.matrix()?, dst.matrix()?),
            Kind::Tensors(plan) => plan.run(src.tensor(), dst.tensor()),
        }
    }
}

/// What the plan will do: the kernels by name, with their grids and blocks, and the tiles that they move.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Matrices(plan) => plan.fmt(f),
            Kind::Tensors(plan) => plan.fmt(f),
        }
    }
}
