//! The plan for a factor and a summand of each channel: it holds their table on the device, so that running it is what computes and no more.

use super::interleaved;
use super::plan::ArithmeticPlan;
use crate::arithmetic::{Arithmetic, ConvertTo, Number, kind::Real};
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::transfer::Constants;
use crate::{Error, Result};
use bytemuck::Pod;
use kernel_abi::arithmetic::flags;
use std::fmt;
use std::sync::Arc;

/// Numbers `T` times the factor and plus the summand of their index on an axis, as numbers `U`: checked, its table on the device, only waiting to be run.
///
/// [`TensorView::normalize_into`] makes one for each call. A table comes to the device by a launch for each 1 KiB of it: a pair has 8 bytes, or 16 if it is
/// computed in numbers of 64 bits. One of more than 4 KiB is copied, and what is queued is waited for. The last eight tables of a stream, of up to 16 KiB, stay on the
/// device until its last handle is dropped, so that calls with factors and summands of before bring nothing.
///
/// ```
/// use transpose::{Device, DeviceTensor, NormalizingPlan};
/// # fn main() -> transpose::Result<()> {
/// let device = Device::simulated();
/// let image = DeviceTensor::from_host(&device, &[2, 3], &[0u8, 100, 200, 255, 50, 150])?;
/// let mut planes = DeviceTensor::<f32>::zeroed(&device, &[3, 2])?;
/// let (factors, summands) = ([1.0, 0.5, 2.0], [0.0, -10.0, 1.0]);
/// let plan = NormalizingPlan::new(image.view().t(), 0, &factors, &summands, &mut planes)?;
/// plan.run(image.view().t(), &mut planes)?; // as often as there are images
/// assert_eq!(planes.to_host()?, [0.0, 255.0, 40.0, 15.0, 401.0, 301.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NormalizingPlan<T, U> {
    plan: ArithmeticPlan<T, U>,
    axis: usize,
    table: Arc<Table>,
    order: Order,
}

/// The order of the pairs in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// That of the axis.
    Ascending,
    /// From the axis's end: that of channels in a source which has them in reverse order, for the kernels whose threads load all channels of a pixel.
    Descending,
}

/// The pairs of an axis's indices, in numbers of those that it is computed in.
#[derive(Debug)]
enum Table {
    Narrow(Constants<[f32; 2]>),
    Wide(Constants<[f64; 2]>),
}

impl Table {
    /// Brings the factors and summands of an axis to the device of a view of numbers.
    fn of<T: ConvertTo<U> + Number<Kind = Real>, U: Number>(
        arithmetic: &Arithmetic<U>,
        src: &TensorView<'_, T>,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
        order: Order,
    ) -> Result<Self> {
        let (shape, device) = (src.shape(), src.device());
        let length = *shape.get(axis).ok_or(Error::NoSuchAxis { axis, axes: shape.len() })?;
        for actual in [factors.len(), summands.len()] {
            if actual != length {
                return Err(Error::TensorLength { shape: vec![length], expected: length, actual });
            }
        }
        let pairs = factors.iter().zip(summands).map(|(factor, summand)| [*factor, *summand]);
        let mut pairs: Vec<_> = pairs.collect();
        if order == Order::Descending {
            pairs.reverse();
        }
        if arithmetic.by_channel::<T>().flags & flags::WIDE != 0 {
            return Constants::new(device, pairs).map(Table::Wide);
        }
        let pairs = pairs.into_iter().map(|pair| pair.map(|value| value as f32)).collect();
        Constants::new(device, pairs).map(Table::Narrow)
    }
}

/// A table along an axis of a shape, which has that axis: each index of the others has all of it.
fn along<'a, P: Pod>(
    table: &'a Constants<P>,
    axis: usize,
    shape: &[usize],
    order: Order,
) -> Result<TensorView<'a, P>> {
    let mut alone = vec![1; shape.len()];
    alone[axis] = shape[axis];
    let table = table.view()?;
    let table = match order {
        Order::Ascending => table,
        Order::Descending => table.slice(0, .., -1)?,
    };
    table.reshape(&alone)?.broadcast(shape)
}

/// Whether there is such an axis, of [a pixel's channels](interleaved::CHANNELS), along which numbers lie together in the source, in the other direction than in the destination, where others are between them; and numbers are
/// such as the kernels of those channels have pairs of.
fn are_reversed<T, U>(src: &TensorLayout, dst: &TensorLayout, axis: usize) -> bool {
    /// Bytes of such numbers at most.
    const NARROW: usize = 4;
    let stride = |layout: &TensorLayout| layout.strides().get(axis).copied().unwrap_or(0);
    let (from, to) = (stride(src), stride(dst));
    let are_channels = src.shape().get(axis).is_some_and(|few| interleaved::CHANNELS.contains(few));
    size_of::<T>().max(size_of::<U>()) <= NARROW
        && are_channels
        && from.unsigned_abs() == 1
        && to.unsigned_abs() > 1
        && from.signum() != to.signum()
}

impl<T: ConvertTo<U> + Number<Kind = Real>, U: Number> NormalizingPlan<T, U> {
    /// Plans for tensors laid out like `src` and `dst`, their lowest elements at addresses aligned no worse, and brings the table of `factors` and `summands` of `axis` to their device.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::TensorLength`] unless there are as many factors and summands as the axis is long,
    /// [`Error::TensorShapeMismatch`] for different shapes, [`Error::OutOfMemory`], and what the device reports.
    pub fn new<'s, 'd>(
        src: impl Into<TensorView<'s, T>>,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Self>
    where
        T: 's,
        U: 'd,
    {
        let (src, mut dst) = (src.into(), dst.into());
        let numbers = [factors, summands];
        if are_reversed::<T, U>(src.layout(), dst.layout(), axis) {
            let plan = Self::of_order(src, axis, numbers, dst.reborrow(), Order::Descending)?;
            if plan.kernel_names().into_iter().all(interleaved::is_entry) {
                return Ok(plan);
            }
        }
        Self::of_order(src, axis, numbers, dst, Order::Ascending)
    }

    /// The plan by a table in such an order.
    fn of_order(
        src: TensorView<'_, T>,
        axis: usize,
        [factors, summands]: [&[f64]; 2],
        dst: TensorViewMut<'_, U>,
        order: Order,
    ) -> Result<Self> {
        let (arithmetic, shape) = (Arithmetic::converting(), src.shape());
        let table = Table::of(&arithmetic, &src, axis, factors, summands, order)?;
        let plan = match &table {
            Table::Narrow(table) => {
                ArithmeticPlan::by_channel(&arithmetic, src, along(table, axis, shape, order)?, dst)
            }
            Table::Wide(table) => {
                ArithmeticPlan::by_channel(&arithmetic, src, along(table, axis, shape, order)?, dst)
            }
        };
        Ok(NormalizingPlan { plan: plan?, axis, table: Arc::new(table), order })
    }

    /// The ways that these can go, the one of [`new`](Self::new) first. They have one table.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn candidates<'s, 'd>(
        src: impl Into<TensorView<'s, T>>,
        axis: usize,
        factors: &[f64],
        summands: &[f64],
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<Vec<Self>>
    where
        T: 's,
        U: 'd,
    {
        let (src, mut dst, arithmetic) = (src.into(), dst.into(), Arithmetic::converting());
        let shape = src.shape();
        let NormalizingPlan { table, order, .. } =
            Self::new(src, axis, factors, summands, dst.reborrow())?;
        let plans = match &*table {
            Table::Narrow(table) => {
                let table = along(table, axis, shape, order)?;
                ArithmeticPlan::candidates_by_channel(&arithmetic, src, table, dst)
            }
            Table::Wide(table) => {
                let table = along(table, axis, shape, order)?;
                ArithmeticPlan::candidates_by_channel(&arithmetic, src, table, dst)
            }
        };
        let of_plan = |plan| NormalizingPlan { plan, axis, table: table.clone(), order };
        Ok(plans?.into_iter().map(of_plan).collect())
    }

    /// Computes `dst` of `src`, both laid out as the plan was made for.
    ///
    /// The work is queued on the tensors' device; reading a tensor back waits for it.
    ///
    /// # Errors
    /// As [`ArithmeticPlan::run`].
    pub fn run<'s, 'd>(
        &self,
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, U>>,
    ) -> Result<()>
    where
        T: 's,
        U: 'd,
    {
        let (src, dst, shape) = (src.into(), dst.into(), self.plan.shape());
        match &*self.table {
            Table::Narrow(table) => {
                self.plan.run_by_channel(src, along(table, self.axis, shape, self.order)?, dst)
            }
            Table::Wide(table) => {
                self.plan.run_by_channel(src, along(table, self.axis, shape, self.order)?, dst)
            }
        }
    }

    /// The names of the kernels that the plan launches, in order.
    pub fn kernel_names(&self) -> Vec<&'static str> {
        self.plan.kernel_names()
    }
}

/// What the plan will do: the kernels by name, with their grids.
impl<T, U> fmt::Display for NormalizingPlan<T, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.fmt(f)
    }
}
