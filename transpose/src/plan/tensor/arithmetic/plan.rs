//! The plan that programs hold, and running it.

use super::operands::{DST, OTHER, Other, SRC};
use super::part::Part;
use super::problem::{Problem, operand, problem};
use super::wanted::Wanted;
use super::work::{self, Work, waiting};
use crate::arithmetic::{Arithmetic, ConvertTo, Number};
use crate::device::{Buffer, Device, across};
use crate::tensor::{TensorView, TensorViewMut};
use crate::{Error, Result};
use kernel_abi::Params;
use kernel_abi::arithmetic::Operation;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

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
    work: Arc<Work>,
    types: PhantomData<fn(T) -> U>,
}

/// What is computed with beside the source, as a call gives it.
struct Second<'a> {
    other: Other,
    /// Where it is, if that is not where the destination is.
    memory: Option<(&'a Device, u64)>,
}

impl<'a> Second<'a> {
    fn none() -> Self {
        Second { other: Other::None, memory: None }
    }

    fn destination() -> Self {
        Second { other: Other::Destination, memory: None }
    }

    fn numbers<E: Number>(view: &'a TensorView<'_, E>) -> Self {
        let memory = Some((view.device(), view.address()));
        Second { other: Other::Numbers(operand(view)), memory }
    }

    fn channels<E: Number>(table: &'a TensorView<'_, E>) -> Self {
        let memory = Some((table.device(), table.address()));
        Second { other: Other::Channels(operand(table)), memory }
    }
}

impl<T: ConvertTo<U>, U: Number> ArithmeticPlan<T, U> {
    /// Plans what is computed of tensors laid out like `src` for ones laid out like `dst`, whose lowest elements are at addresses aligned no worse: those are elements `[0, …, 0]` unless a stride is
    /// negative. Nothing is launched.
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
        let operation = arithmetic.operation::<T>(None);
        Self::best(&operation, src.into(), Second::none(), dst.into())
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
        let (operation, other) = (arithmetic.operation::<T>(Some(beta)), other.into());
        Self::best(&operation, src.into(), Second::numbers(&other), dst.into())
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
        let operation = arithmetic.operation::<T>(Some(beta));
        Self::best(&operation, src.into(), Second::destination(), dst.into())
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
        let operation = arithmetic.operation::<T>(None);
        Self::planned(&operation, src.into(), Second::none(), dst.into())
    }

    /// The ways that the move can go, the one of [`onto`](Self::onto) first.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates_onto<'s, 'd>(
        arithmetic: &Arithmetic<U>,
        src: impl Into<TensorView<'s, T>>,
        beta: U::Factor,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Vec<Self>>
    where
        T: 's,
        U: 'd,
    {
        let operation = arithmetic.operation::<T>(Some(beta));
        Self::planned(&operation, src.into(), Second::destination(), dst.into())
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
        let (operation, other) = (arithmetic.operation::<T>(Some(beta)), other.into());
        Self::planned(&operation, src.into(), Second::numbers(&other), dst.into())
    }

    /// Plans for a factor and a summand of each index of an axis, which are in a table of pairs.
    pub(super) fn by_channel<'t, P: Number>(
        arithmetic: &Arithmetic<U>,
        src: TensorView<'_, T>,
        table: TensorView<'t, P>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<Self> {
        let operation = arithmetic.by_channel::<T>();
        Self::best(&operation, src, Second::channels(&table), dst)
    }

    /// The ways that [`by_channel`](Self::by_channel) can go, its own first.
    pub(super) fn candidates_by_channel<'t, P: Number>(
        arithmetic: &Arithmetic<U>,
        src: TensorView<'_, T>,
        table: TensorView<'t, P>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<Vec<Self>> {
        let operation = arithmetic.by_channel::<T>();
        Self::planned(&operation, src, Second::channels(&table), dst)
    }

    /// Computes `dst` of `src`, with the table that [`by_channel`](Self::by_channel) is for.
    pub(super) fn run_by_channel<P: Number>(
        &self,
        src: TensorView<'_, T>,
        table: TensorView<'_, P>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<()> {
        self.run_with(src, Second::channels(&table), dst)
    }

    /// The best plan for what is computed with a second operand.
    fn best(
        operation: &Operation,
        src: TensorView<'_, T>,
        second: Second<'_>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<Self> {
        let problem = problem(&src, second.other, &dst)?;
        let work = work::best(&problem, operation, src.device().facts());
        Ok(ArithmeticPlan { problem, work, types: PhantomData })
    }

    /// The plans for what is computed with a second operand, the best first.
    fn planned(
        operation: &Operation,
        src: TensorView<'_, T>,
        second: Second<'_>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<Vec<Self>> {
        let problem = problem(&src, second.other, &dst)?;
        let ways = work::planned(&problem, operation, src.device().facts(), Wanted::All);
        let plan = |work| ArithmeticPlan { problem, work: Arc::new(work), types: PhantomData };
        Ok(ways.into_iter().map(plan).collect())
    }

    /// The bytes of device memory that the plan takes while it runs, for what waits between two passes. If there is no memory for it, a slower way takes none.
    pub fn scratch(&self) -> usize {
        self.problem.src.layout.len() * waiting(&self.work.parts)
    }

    /// The shape of the tensors that the plan is for.
    pub(super) fn shape(&self) -> &[usize] {
        self.problem.src.layout.shape()
    }

    /// The names of the kernels that the plan launches, in order.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        self.work.parts.iter().map(|part| part.launch.entry.name).collect()
    }

    /// Computes `dst` of `src`, both laid out as the plan was made for.
    ///
    /// The work is queued on the tensors' device; reading a tensor back waits for it.
    ///
    /// # Errors
    /// [`Error::PlanMismatch`] for other layouts, for addresses aligned worse, or a plan that adds a second operand, [`Error::TensorShapeMismatch`],
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
        self.run_with(src.into(), Second::none(), dst.into())
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
        let other = other.into();
        self.run_with(src.into(), Second::numbers(&other), dst.into())
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
        self.run_with(src.into(), Second::destination(), dst.into())
    }

    /// Computes `dst` of `src` and a second operand, if the plan was made for memories like these.
    fn run_with(
        &self,
        src: TensorView<'_, T>,
        second: Second<'_>,
        dst: TensorViewMut<'_, U>,
    ) -> Result<()> {
        let actual = problem(&src, second.other, &dst)?;
        if !self.problem.serves(&actual) {
            let (planned, actual) = (self.problem.to_string(), actual.to_string());
            return Err(Error::PlanMismatch { planned, actual });
        }
        let (of_second, second) = second.memory.unwrap_or((dst.device(), dst.address()));
        let addresses = [src.address(), dst.address(), second];
        across(src.device(), dst.device(), |_| {
            across(of_second, dst.device(), |device| {
                // SAFETY: all elements of the views, which lie in live memory, of which that of `dst` is borrowed exclusively. Where that is the second
                // operand too, each element is loaded and stored by one thread, in this order.
                unsafe { self.launch(device, addresses) }
            })
        })
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
        let start = |memory: usize| {
            let behind = self.work.starts[memory] * bytes[memory] as isize;
            addresses[memory].wrapping_add_signed(behind as i64)
        };
        let (parts, scratch) = match self.scratch() {
            0 => (&self.work.parts, None),
            bytes => match device.allocate(bytes) {
                Ok(scratch) => (&self.work.parts, Some(scratch)),
                Err(Error::OutOfMemory { .. }) if !self.work.instead.is_empty() => {
                    (&self.work.instead, None)
                }
                Err(error) => return Err(error),
            },
        };
        let scratch_address = scratch.as_ref().map_or(0, Buffer::address);
        let [src, dst, other] = [SRC, DST, OTHER].map(start);
        let starts = [src, dst, other, scratch_address];
        parts.iter().try_for_each(|part| {
            let [src, dst, other] = part.memories.map(|memory| starts[memory]);
            let mut launch = part.launch.clone();
            if !part.moves {
                launch.params = launch.params.with(OTHER_FIELD, other.wrapping_add(part.other));
            }
            // SAFETY: the caller's obligations; memory that was taken is given back behind what is queued here.
            unsafe { device.launch(&launch, [src, dst]) }
        })
    }
}

/// What the plan will do: the kernels by name, with their grids.
impl<T, U> fmt::Display for ArithmeticPlan<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.problem)?;
        self.work.parts.iter().try_for_each(|Part { launch, .. }| {
            let (name, grid, block) = (launch.entry.name, launch.grid, launch.block);
            write!(f, " {name} on {grid:?} blocks of {block:?} threads")
        })
    }
}
