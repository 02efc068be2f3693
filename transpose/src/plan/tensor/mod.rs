//! Planning moves of arrays of any rank: pure arithmetic.
//!
//! A move is brought to [canonical form](canonical), and goes one of four ways:
//!
//! | what it then is | how it goes |
//! |---|---|
//! | one stretch of memory | the driver copies it |
//! | the transpose of a matrix, or of a batch of them | as [`Plan`] has it |
//! | the fastest axis changes | `tiles`, through a transposed tile, if the [model](model) says so |
//! | anything else | `words`, a word a thread at a time |

mod canonical;
mod model;
mod tiles;
mod words;

use super::problem::{Batch, Problem, alignment};
use super::{Plan, Strategy};
use crate::kernels;
use crate::launch::{Fields, Launch};
use crate::layout::Layout;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Facts, Result};
use bytemuck::Pod;
use canonical::{Axis, Canonical, TensorProblem};
use kernel_abi::{Kernel, Params, Width};
use std::fmt;
use std::time::Duration;

/// The move of one tensor to another, checked, that only waits to be run.
///
/// ```
/// use transpose::{Device, DeviceTensor, TensorPlan};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let src = DeviceTensor::from_host(&device, &[2, 3, 2], &(0..12).collect::<Vec<u32>>())?;
/// let mut dst = DeviceTensor::zeroed(&device, &[2, 2, 3])?;
/// let permuted = src.view().permute_axes(&[2, 0, 1])?;
/// let plan = TensorPlan::new(permuted, &mut dst)?;
/// plan.run(permuted, &mut dst)?;
/// assert_eq!(dst.to_host()?, [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TensorPlan {
    problem: TensorProblem,
    /// Bytes from each side's element `[0, …, 0]` to the address that launches are given.
    starts: [isize; 2],
    way: Way,
}

/// How a move goes.
#[derive(Clone, Debug)]
enum Way {
    /// As one stretch of so many bytes.
    Copy(usize),
    /// By kernels.
    Launches(Vec<Launch>),
}

impl TensorPlan {
    /// Plans the move of tensors laid out like `src` to ones laid out like `dst`, at addresses aligned no worse. Nothing is launched.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`] for different shapes.
    pub fn new<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        let src = src.into();
        let problem = problem(&src, &dst.into())?;
        Ok(best(&problem, src.device().facts()))
    }

    /// Plans like [`new`](Self::new), for a device that is like `facts` and tensors that need not exist: of elements of `element_bytes`
    /// bytes, laid out like `src` and `dst` in memory that a device allocates.
    ///
    /// ```
    /// use transpose::{Device, TensorLayout, TensorPlan};
    /// # fn main() -> transpose::Result<()> {
    /// let src = TensorLayout::contiguous(&[48, 28, 28, 48, 28], 4)?.t();
    /// let dst = TensorLayout::contiguous(src.shape(), 4)?;
    /// let plan = TensorPlan::for_layouts(4, &src, &dst, Device::simulated().facts())?;
    /// assert_eq!(plan.kernel_names(), ["tiles_b4"]);
    /// println!("{plan}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), [`Error::TensorOverlap`] for a destination in which an element has two indices, and
    /// [`Error::TensorSizeOverflow`] for layouts that are too long for elements of that size.
    pub fn for_layouts(
        element_bytes: usize,
        src: &TensorLayout,
        dst: &TensorLayout,
        facts: &Facts,
    ) -> Result<Self> {
        let of_this_size = |layout: &TensorLayout| {
            let (shape, strides) = (layout.shape(), layout.strides());
            TensorLayout::strided(shape, strides, layout.offset(), element_bytes)
        };
        let (src, dst) = (of_this_size(src)?, of_this_size(dst)?);
        require_same_shape(&src, &dst)?;
        dst.require_injective()?;
        let align = |layout: &TensorLayout| alignment((layout.offset() * element_bytes) as u64);
        let (src_align, dst_align) = (align(&src), align(&dst));
        let problem = TensorProblem { element_bytes, src, dst, src_align, dst_align };
        Ok(best(&problem, facts))
    }

    /// The ways that the move can go, the one of [`new`](Self::new) first: each kernel, with tiles of the few shapes that promise most.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        let src = src.into();
        let problem = problem(&src, &dst.into())?;
        let ways = Ways::of(&problem, src.device().facts());
        Ok(ways.map_or_else(|plan| vec![*plan], Ways::all))
    }

    /// Plans like [`new`](Self::new), by measuring: each of the [`candidates`](Self::candidates) is run a few times, and the fastest is
    /// taken. What `dst` holds is lost. On the simulator, whose times mean nothing, this is [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`run`](Self::run).
    pub fn measure<'s, 'd, T: Pod>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        /// Runs of each candidate that count, after one that does not.
        const RUNS: usize = 5;
        let (src, mut dst) = (src.into(), dst.into());
        let mut fastest: Option<(Duration, Self)> = None;
        for plan in Self::candidates(src, dst.reborrow())? {
            plan.run(src, dst.reborrow())?;
            let mut best = Duration::MAX;
            for _ in 0..RUNS {
                match src.device().time(|| plan.run(src, dst.reborrow()))? {
                    Some(time) => best = best.min(time),
                    None => return Ok(plan),
                }
            }
            if fastest.as_ref().is_none_or(|(fastest, _)| best < *fastest) {
                fastest = Some((best, plan));
            }
        }
        let (_, plan) = fastest.expect("there is always a way");
        Ok(plan)
    }

    /// The names of the kernels that the plan launches, in order; none where the driver copies.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        match &self.way {
            Way::Copy(_) => Vec::new(),
            Way::Launches(launches) => launches.iter().map(|launch| launch.entry.name).collect(),
        }
    }

    /// Moves `src` to `dst`, both laid out as the plan was made for.
    ///
    /// The work is queued on the tensors' device; reading a tensor back waits for it.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for other layouts, [`Error::TensorShapeMismatch`], [`Error::DeviceMismatch`] for tensors on two devices,
    /// and what the device reports.
    pub fn run<'s, 'd, T: Pod>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<()> {
        let (src, dst) = (src.into(), dst.into());
        let actual = problem(&src, &dst)?;
        if !self.problem.serves(&actual) {
            let (planned, actual) = (self.problem.to_string(), actual.to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        let device = src.device();
        if !device.is_same(dst.device()) {
            let (src, dst) = (device.to_string(), dst.device().to_string());
            return Err(Error::DeviceMismatch { src, dst });
        }
        let [from, to] = [(src.address(), 0), (dst.address(), 1)]
            .map(|(address, side)| address.wrapping_add_signed(self.starts[side] as i64));
        match &self.way {
            // SAFETY: all elements of both views, which lie in live memory, of which that of `dst` is borrowed exclusively.
            Way::Copy(bytes) => unsafe { device.copy(from, to, *bytes) },
            Way::Launches(launches) => launches.iter().try_for_each(|launch| {
                // SAFETY: the plan was made for these layouts, whose elements lie in live memory, and for no addresses less
                // aligned; `dst` is borrowed exclusively, and no two indices lead to one of its elements.
                unsafe { device.launch(launch, [from, to]) }
            }),
        }
    }
}

/// What the plan will do: the kernels by name, with their grids, and the tiles that they move.
impl fmt::Display for TensorPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        match &self.way {
            Way::Copy(bytes) => write!(f, " a copy of {bytes} bytes"),
            Way::Launches(launches) => launches.iter().try_for_each(|launch| {
                write!(
                    f,
                    " {} on {:?} blocks of {:?} threads",
                    launch.entry.name, launch.grid, launch.block
                )?;
                tiles::describe(launch).map_or(Ok(()), |tiles| write!(f, ", {tiles}"))
            }),
        }
    }
}

/// The problem of a source and a destination of the same shape.
fn problem<T: Pod>(src: &TensorView<'_, T>, dst: &TensorViewMut<'_, T>) -> Result<TensorProblem> {
    require_same_shape(src.layout(), dst.layout())?;
    Ok(TensorProblem {
        element_bytes: size_of::<T>(),
        src: *src.layout(),
        dst: *dst.layout(),
        src_align: alignment(src.address()),
        dst_align: alignment(dst.address()),
    })
}

/// How many shapes of tile are candidates.
const SHAPES: usize = 6;

/// Bytes of elements that are moved as they are, rather than as a matrix's.
const LONG_ELEMENT: usize = 128;

/// Fewer rows, or columns, of elements of several words are few.
const FEW: usize = 32;

/// Whether one can be copied to the other.
fn require_same_shape(src: &TensorLayout, dst: &TensorLayout) -> Result<()> {
    if src.shape() == dst.shape() {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.shape().to_vec(), dst: dst.shape().to_vec() })
}

/// A move, and how it may go.
struct Ways<'a> {
    problem: &'a TensorProblem,
    facts: &'a Facts,
    canonical: Canonical,
}

impl<'a> Ways<'a> {
    /// Those of a problem; the plan itself where nothing is left to choose.
    fn of(problem: &'a TensorProblem, facts: &'a Facts) -> Result<Self, Box<TensorPlan>> {
        let plan = |starts, way| Box::new(TensorPlan { problem: *problem, starts, way });
        if problem.src.is_empty() || problem.element_bytes == 0 {
            return Err(plan([0, 0], Way::Launches(Vec::new())));
        }
        let canonical = Canonical::of(problem);
        if canonical.words() == canonical.run() {
            let bytes = canonical.words() * canonical.word_bytes();
            return Err(plan(canonical.starts, Way::Copy(bytes)));
        }
        Ok(Ways { problem, facts, canonical })
    }

    /// The plan that launches these.
    fn plan(&self, launches: Vec<Launch>) -> TensorPlan {
        let (problem, starts) = (*self.problem, self.canonical.starts);
        TensorPlan { problem, starts, way: Way::Launches(launches) }
    }

    /// Whether elements of several words are better moved by `words` than as a matrix's: long ones, as fast, and with more loads in flight than
    /// `elements` has; and those of few rows or columns, which leave the tiles of the other kernels nearly empty.
    fn better_by_words(&self) -> bool {
        let Canonical { word, .. } = self.canonical;
        let tuple = self.canonical.run();
        let long = word == Width::B16 && tuple * word.bytes() >= LONG_ELEMENT;
        let few = self.canonical.axes().iter().skip(1).take(2).any(|axis| axis.length < FEW);
        tuple > 1 && (long || few)
    }

    /// The launches of `words` and of the `most` best by tiles, in the order of what the model says of them.
    fn by_model(&self, most: usize) -> Vec<Vec<Launch>> {
        let words = cost_of_words(&self.canonical);
        let tiles = tiles::best(&self.canonical, most);
        let cheaper = tiles.partition_point(|&(cost, _)| cost < words);
        let mut all: Vec<_> = tiles.into_iter().map(|(_, launch)| vec![launch]).collect();
        if cheaper == 0 || most > 1 {
            all.insert(cheaper, words::launches(&self.canonical));
        }
        all
    }

    /// The best way.
    fn best(self) -> TensorPlan {
        let matrix =
            if self.better_by_words() { None } else { matrix(&self.canonical, self.facts) };
        let launches = matrix.unwrap_or_else(|| self.by_model(1).swap_remove(0));
        self.plan(launches)
    }

    /// Every way, the best first.
    fn all(self) -> Vec<TensorPlan> {
        let mut ways = self.by_model(SHAPES);
        if let Some(matrix) = matrix(&self.canonical, self.facts) {
            let at = if self.better_by_words() { ways.len() } else { 0 };
            ways.insert(at, matrix);
        }
        ways.into_iter().map(|launches| self.plan(launches)).collect()
    }
}

/// The best plan for a problem.
fn best(problem: &TensorProblem, facts: &Facts) -> TensorPlan {
    Ways::of(problem, facts).map_or_else(|plan| *plan, Ways::best)
}

/// What the model says of `words`.
fn cost_of_words(canonical: &Canonical) -> f64 {
    let bytes = canonical.word_bytes();
    let src_bytes = match canonical.axes() {
        [Axis { length, src: 1, .. }, ..] => model::sectors(length * bytes, bytes) / *length as f64,
        [Axis { src, .. }, ..] => {
            src.unsigned_abs().saturating_mul(bytes).min(model::SECTOR) as f64
        }
        [] => bytes as f64,
    };
    let axes = canonical.axes().len();
    model::WEIGHTS.words(canonical.word, canonical.words(), axes, src_bytes)
}

/// The launches of [`Plan`] for a move that is the transpose of matrices.
fn matrix(canonical: &Canonical, facts: &Facts) -> Option<Vec<Launch>> {
    let tuple = canonical.run();
    let axes = if tuple > 1 { &canonical.axes()[1..] } else { canonical.axes() };
    let (rows, cols, apart) = match *axes {
        [rows, cols] => (rows, cols, Axis { length: 1, src: 0, dst: 0 }),
        [rows, cols, apart] => (rows, cols, apart),
        _ => return None,
    };
    let elements = |words: isize| {
        usize::try_from(words).ok().filter(|words| words % tuple == 0).map(|words| words / tuple)
    };
    if elements(rows.dst) != Some(1) || elements(cols.src) != Some(1) {
        return None;
    }
    let bytes = tuple * canonical.word_bytes();
    let src = Layout::new(rows.length, cols.length, elements(rows.src)?, bytes).ok()?;
    let dst = Layout::new(cols.length, rows.length, elements(cols.dst)?, bytes).ok()?;
    let batch = Batch {
        count: apart.length,
        src_stride: elements(apart.src)?,
        dst_stride: elements(apart.dst)?,
    };
    let [from, to] = canonical.aligned;
    let problem =
        Problem::of_layouts(bytes, src.aligned_to(from), dst.aligned_to(to), batch).ok()?;
    Some(Plan::of_problem(problem, Strategy::Auto, facts).ok()?.launches)
}

/// What a launch asks of a multiprocessor.
struct Block {
    threads: u32,
    /// Bytes of dynamic shared memory.
    shared: usize,
}

/// A launch of a kernel that moves arrays of any rank, so many words further on either side.
fn launch<P: Params>(
    kernel: &Kernel<P>,
    canonical: &Canonical,
    blocks: usize,
    block: Block,
    offsets: [isize; 2],
    params: &P,
) -> Launch {
    Launch {
        entry: kernels::entry(kernel, canonical.word).expect("the kernels exist for every word"),
        grid: [blocks as u32, 1, 1],
        block: [block.threads, 1, 1],
        dynamic_shared_bytes: block.shared as u32,
        blocks_per_multiprocessor: 0,
        evict_last: true,
        cooperative: false,
        offsets: offsets.map(|words| (words * canonical.word_bytes() as isize) as u64),
        params: Fields::of(params),
    }
}
