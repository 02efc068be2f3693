//! Planning moves that compute on the way.
//!
//! | file | what it is about |
//! |---|---|
//! | `operands` | the move in canonical form: axes of up to three memories |
//! | `units` | the planner of `compute_units`, which serves every move |
//! | `pixels` | the planner of `compute_pixels`, for few channels |
//! | `tiles` | the planner of `compute_tiles`, for moves whose fastest axis changes |

mod operands;
mod pixels;
mod tiles;
mod units;

use super::{require_same_shape, words};
use crate::arithmetic::{Arithmetic, ConvertTo, Number};
use crate::device::{Device, across};
use crate::image::EntryPoint;
use crate::kernels::ARITHMETIC;
use crate::launch::Launch;
use crate::plan::problem::alignment;
use crate::tensor::{TensorView, TensorViewMut};
use crate::{Error, Facts, Result};
use kernel_abi::arithmetic::Operation;
use kernel_abi::{Kernel, Params, Width};
use operands::{DST, OTHER, Operand, Operands, Other, SRC};
use std::fmt;
use std::marker::PhantomData;

/// The place, in the parameters of every kernel that computes, of the second operand's address.
const OTHER_FIELD: usize = Operation::FIELDS - 1;

/// A move that computes on the way, checked, that only waits to be run: of numbers `T` to numbers `U`, and perhaps with a second operand of these.
///
/// ```
/// use transpose::{Arithmetic, ArithmeticPlan, Device, DeviceMatrix, DeviceTensor, TensorView};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let pixels = DeviceTensor::from_host(&device, &[2, 3], &[0u8, 51, 102, 153, 204, 255])?;
/// let mut numbers = DeviceTensor::<f32>::zeroed(&device, &[3, 2])?;
/// let scaling = Arithmetic::scaling(0.5);
/// let plan = ArithmeticPlan::new(&scaling, pixels.view().t(), &mut numbers)?;
/// plan.run(pixels.view().t(), &mut numbers)?;
/// assert_eq!(numbers.to_host()?, [0.0, 76.5, 25.5, 102.0, 51.0, 127.5]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ArithmeticPlan<T, U> {
    problem: Problem,
    /// Elements from each memory's element `[0, …, 0]` to where the move starts.
    starts: [isize; 3],
    parts: Vec<Part>,
    types: PhantomData<fn(T) -> U>,
}

/// A launch, and bytes from where the second operand's move starts to where this launch starts.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    launch: Launch,
    other: u64,
}

/// All that a plan depends on beside the device and what is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Problem {
    src: Operand,
    dst: Operand,
    other: Other,
}

impl Problem {
    /// Whether a plan made for this problem can be run on the other: see [`TensorProblem::serves`](super::TensorProblem::serves).
    fn serves(&self, actual: &Self) -> bool {
        let serves = |planned: &Operand, actual: &Operand| {
            let strides = |operand: &Operand| {
                (operand.layout.shape().to_vec(), operand.layout.strides().to_vec())
            };
            strides(planned) == strides(actual) && actual.align >= planned.align
        };
        let others = match (&self.other, &actual.other) {
            (Other::None, Other::None) | (Other::Destination, Other::Destination) => true,
            (Other::Numbers(planned), Other::Numbers(actual))
            | (Other::Channels(planned), Other::Channels(actual)) => serves(planned, actual),
            _ => false,
        };
        others && serves(&self.src, &actual.src) && serves(&self.dst, &actual.dst)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { src, dst, other } = self;
        write!(
            f,
            "{:?} elements of {} bytes, {:?} apart, to elements of {} bytes, {:?} apart",
            src.layout.shape(),
            src.element_bytes,
            src.layout.strides(),
            dst.element_bytes,
            dst.layout.strides()
        )?;
        match other {
            Other::None => Ok(()),
            Other::Destination => write!(f, ", added to what is there"),
            Other::Numbers(other) => {
                write!(f, ", and others {:?} apart", other.layout.strides())
            }
            Other::Channels(table) => {
                write!(f, ", channels {:?} apart", table.layout.strides())
            }
        }
    }
}

impl<T: ConvertTo<U>, U: Number> ArithmeticPlan<T, U> {
    /// Plans what is computed of tensors laid out like `src` for ones laid out like `dst`, at addresses aligned no worse. Nothing is launched.
    ///
    /// # Errors
    /// [`Error::TensorShapeMismatch`] for different shapes.
    pub fn new<'s, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Self>
    where
        T: 's,
        U: 'd,
    {
        Ok(Self::candidates(arithmetic, src, dst)?.swap_remove(0))
    }

    /// Plans like [`new`](Self::new), and adds `beta` times a second operand, laid out like `other`, to what is computed. The operand may be what the
    /// destination holds.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn adding<'s, 'o, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        beta: U::Factor,
        other: impl Into<TensorView<'o, U>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Self>
    where
        T: 's,
        U: 'o + 'd,
    {
        Ok(Self::candidates_adding(arithmetic, src, beta, other, dst)?.swap_remove(0))
    }

    /// Plans like [`adding`](Self::adding), for a destination that is the second operand too.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn onto<'s, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Self>
    where
        T: 's,
        U: 'd,
    {
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, Other::Destination, &dst)?;
        let operation = arithmetic.operation::<T>(Some(beta));
        Ok(Self::planned(problem, &operation, src.device().facts()).swap_remove(0))
    }

    /// The ways that the move can go, the one of [`new`](Self::new) first: each kernel, with tiles of the few shapes that promise most.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates<'s, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Vec<Self>>
    where
        T: 's,
        U: 'd,
    {
        let src = src.into();
        let problem = problem(&src, Other::None, &dst.into())?;
        Ok(Self::planned(problem, &arithmetic.operation::<T>(None), src.device().facts()))
    }

    /// The ways that the move can go, the one of [`adding`](Self::adding) first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates_adding<'s, 'o, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        beta: U::Factor,
        other: impl Into<TensorView<'o, U>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Vec<Self>>
    where
        T: 's,
        U: 'o + 'd,
    {
        let src = src.into();
        let problem = problem(&src, numbers(&other.into()), &dst.into())?;
        Ok(Self::planned(problem, &arithmetic.operation::<T>(Some(beta)), src.device().facts()))
    }

    /// Plans for a factor and a summand of each index of an axis, which are in a table of pairs.
    pub(crate) fn by_channel<'t, P: Number>(
        arithmetic: &Arithmetic<U>,
        src: TensorView<'_, T>,
        table: TensorView<'t, P>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<Vec<Self>> {
        let problem = problem(&src, Other::Channels(operand(&table)), &dst)?;
        let operation = arithmetic.by_channel::<T>();
        Ok(Self::planned(problem, &operation, src.device().facts()))
    }

    /// Computes `dst` of `src`, with the table that [`by_channel`](Self::by_channel) is for.
    pub(crate) fn run_by_channel<P: Number>(
        &self,
        src: TensorView<'_, T>,
        table: TensorView<'_, P>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<()> {
        self.require(problem(&src, Other::Channels(operand(&table)), &dst)?)?;
        let addresses = [src.address(), dst.address(), table.address()];
        across(src.device(), dst.device(), |_| {
            across(table.device(), dst.device(), |device| {
                // SAFETY: as in `run`; the table has a pair for each index of an axis.
                unsafe { self.launch(device, addresses) }
            })
        })
    }

    /// The plans for a problem, the best first.
    fn planned(problem: Problem, operation: &Operation, facts: &Facts) -> Vec<Self> {
        let plan = |starts, parts| ArithmeticPlan { problem, starts, parts, types: PhantomData };
        if problem.src.layout.is_empty() {
            return vec![plan([0; 3], Vec::new())];
        }
        let operands = Operands::of(&problem.src, &problem.dst, &problem.other);
        let ways = ways(&operands, operation, facts);
        ways.into_iter().map(|parts| plan(operands.starts, parts)).collect()
    }

    /// The names of the kernels that the plan launches, in order.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        self.parts.iter().map(|part| part.launch.entry.name).collect()
    }

    /// Computes `dst` of `src`, both laid out as the plan was made for.
    ///
    /// The work is queued on the tensors' device; reading a tensor back waits for it.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for other layouts, or a plan that adds a second operand, [`Error::TensorShapeMismatch`],
    /// [`Error::DeviceMismatch`] for tensors on two devices, and what the device reports.
    pub fn run<'s, 'd>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: 's,
        U: 'd,
    {
        let (src, dst) = (src.into(), dst.into());
        self.require(problem(&src, Other::None, &dst)?)?;
        let addresses = [src.address(), dst.address(), dst.address()];
        // SAFETY: all elements of the views, which lie in live memory, of which that of `dst` is borrowed exclusively.
        across(src.device(), dst.device(), |device| unsafe { self.launch(device, addresses) })
    }

    /// Computes `dst` of `src` and the second operand, all laid out as the plan was made for.
    ///
    /// # Errors
    /// As [`run`](Self::run), but for a plan that adds none.
    pub fn run_adding<'s, 'o, 'd>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        other: impl Into<TensorView<'o, U>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: 's,
        U: 'o + 'd,
    {
        let (src, other, dst) = (src.into(), other.into(), dst.into());
        self.require(problem(&src, numbers(&other), &dst)?)?;
        let addresses = [src.address(), dst.address(), other.address()];
        across(src.device(), dst.device(), |_| {
            across(other.device(), dst.device(), |device| {
                // SAFETY: as in `run`; the second operand is borrowed too.
                unsafe { self.launch(device, addresses) }
            })
        })
    }

    /// Adds to `dst`, times the plan's factor, what is computed of `src`: [`run_adding`](Self::run_adding) where `dst` is the second operand too.
    ///
    /// # Errors
    /// As [`run_adding`](Self::run_adding).
    pub fn run_onto<'s, 'd>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: 's,
        U: 'd,
    {
        let (src, dst) = (src.into(), dst.into());
        self.require(problem(&src, Other::Destination, &dst)?)?;
        let addresses = [src.address(), dst.address(), dst.address()];
        // SAFETY: as in `run`. Each element of the destination is loaded and stored by one thread, in this order.
        across(src.device(), dst.device(), |device| unsafe { self.launch(device, addresses) })
    }

    /// Whether the plan was made for this.
    fn require(&self, actual: Problem) -> Result<()> {
        if self.problem.serves(&actual) {
            return Ok(());
        }
        let (planned, actual) = (self.problem.to_string(), actual.to_string());
        Err(Error::PlanMismatch { planned, actual })
    }

    /// Launches everything, for elements `[0, …, 0]` at these addresses.
    ///
    /// # Safety
    /// The plan was made for memories like these, which live on the device; that of the destination is exclusive.
    unsafe fn launch(&self, device: &Device, addresses: [u64; 3]) -> Result<()> {
        let of_other = match &self.problem.other {
            Other::Numbers(other) | Other::Channels(other) => other.element_bytes,
            Other::None | Other::Destination => size_of::<U>(),
        };
        let bytes = [size_of::<T>(), size_of::<U>(), of_other];
        let start = |side: usize| {
            let behind = self.starts[side] * bytes[side] as isize;
            addresses[side].wrapping_add_signed(behind as i64)
        };
        let [src, dst, other] = [SRC, DST, OTHER].map(start);
        self.parts.iter().try_for_each(|part| {
            let mut launch = part.launch.clone();
            launch.params = launch.params.with(OTHER_FIELD, other.wrapping_add(part.other));
            // SAFETY: the caller's obligations.
            unsafe { device.launch(&launch, [src, dst]) }
        })
    }
}

/// What the plan will do: the kernels by name, with their grids.
impl<T, U> fmt::Display for ArithmeticPlan<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        self.parts.iter().try_for_each(|Part { launch, .. }| {
            let (name, grid, block) = (launch.entry.name, launch.grid, launch.block);
            write!(f, " {name} on {grid:?} blocks of {block:?} threads")
        })
    }
}

/// How a view's elements lie.
fn operand<E: Number>(view: &TensorView<'_, E>) -> Operand {
    let (layout, align) = (*view.layout(), alignment(view.address()));
    Operand { layout, element_bytes: size_of::<E>(), align }
}

/// A second operand like a view.
fn numbers<U: Number>(view: &TensorView<'_, U>) -> Other {
    Other::Numbers(operand(view))
}

/// The problem of a source, a destination and perhaps a second operand of the same shape.
fn problem<T: Number, U: Number>(
    src: &TensorView<'_, T>,
    other: Other,
    dst: &TensorViewMut<'_, U>,
) -> Result<Problem> {
    require_same_shape(src.layout(), dst.layout())?;
    if let Other::Numbers(other) | Other::Channels(other) = &other {
        require_same_shape(&other.layout, dst.layout())?;
    }
    Ok(Problem { src: operand(src), dst: operand(&dst.view()), other })
}

/// The ways to go, the best first.
fn ways(operands: &Operands, operation: &Operation, facts: &Facts) -> Vec<Vec<Part>> {
    /// How many shapes of tile are candidates.
    const SHAPES: usize = 6;
    let mut in_tiles = tiles::best(operands, operation, facts, SHAPES);
    let by_units = units::launches(operands, operation);
    let in_pixels = pixels::launch(operands, operation).map(|part| vec![part]);
    let cost = words::cost(&tiles::in_words(operands), facts);
    let few = in_pixels.is_some();
    let tiles_first = !few
        && !operands.are_in_units()
        && in_tiles.first().is_some_and(|(of_tiles, _)| *of_tiles < cost);
    let rest = in_tiles.split_off(usize::from(tiles_first).min(in_tiles.len()));
    let one = |(_, part): (f64, Part)| vec![part];
    let ways = in_pixels.into_iter().chain(in_tiles.into_iter().map(one)).chain([by_units]);
    ways.chain(rest.into_iter().map(one)).collect()
}

/// The entry point of a kernel for a source of elements of so many bytes.
fn entry<P: Params>(kernel: &Kernel<P>, bytes: usize) -> EntryPoint {
    let entry = Width::of_bytes(bytes).and_then(|width| kernel.entry(width));
    ARITHMETIC.entry(entry.expect("there are kernels for every number").name)
}
