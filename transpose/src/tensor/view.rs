//! Views of any rank on device memory: what moves read from and write to. Making one of another moves nothing.

use super::layout::{TensorLayout, tensor_accessors};
use crate::device::Device;
use crate::layout::Layout;
use crate::matrix::view::{MatrixView, MatrixViewMut, Memory};
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// An array of any rank in device memory that it borrows.
///
/// A view is a shape and strides; its methods give other views on the same elements, and move none.
#[derive(Debug)]
pub struct TensorView<'a, T> {
    pub(crate) device: &'a Device,
    /// Of the memory that the layout's offset counts from.
    pub(crate) memory: u64,
    layout: TensorLayout,
    element: PhantomData<&'a T>,
}

/// An array of any rank in device memory that it borrows exclusively.
///
/// No element has two indices, so that what a move writes is what is there after it. Its methods give other views on the same
/// elements, take the view, and move nothing; [`reborrow`](Self::reborrow) gives one to take.
///
/// Two views of the same elements are not to be had:
///
/// ```compile_fail,E0499
/// # use transpose::{Device, DeviceTensor};
/// let mut a = DeviceTensor::<f32>::zeroed(&Device::simulated(), &[4, 4]).unwrap();
/// let (first, second) = (a.view_mut(), a.view_mut());
/// drop((first, second));
/// ```
#[derive(Debug)]
pub struct TensorViewMut<'a, T> {
    pub(crate) device: &'a Device,
    /// Of the memory that the layout's offset counts from.
    pub(crate) memory: u64,
    layout: TensorLayout,
    element: PhantomData<&'a mut T>,
}

impl<T> Clone for TensorView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for TensorView<'_, T> {}

/// What both kinds of view have.
macro_rules! views {
    ($view:ident, $matrix:ident, $others:literal) => {
        impl<'a, T: Pod> $view<'a, T> {
            tensor_accessors!();

            /// The device that holds the elements.
            pub fn device(&self) -> &Device {
                self.device
            }

            /// The address of element `[0, …, 0]` on the device: a `CUdeviceptr` if the device is a GPU. See
            /// [`DeviceMatrix::device_address`](crate::DeviceMatrix::device_address).
            pub fn device_address(&self) -> u64 {
                self.address()
            }

            /// The address of element `[0, …, 0]`.
            pub(crate) fn address(&self) -> u64 {
                self.memory + (self.layout.offset() * size_of::<T>()) as u64
            }

            /// The array of `layout` in memory that other code has: `len` elements from `address` on, from which the layout's offset
            /// counts. With negative strides that is not where element `[0, …, 0]` is.
            ///
            /// The address is a `CUdeviceptr` if the device is a GPU: of memory that others have allocated, or of the host's that
            /// kernels reach.
            ///
            /// ```
            /// use transpose::{Device, DeviceMatrix, TensorLayout, TensorView};
            /// # fn main() -> transpose::Result<()> {
            /// let device = Device::simulated();
            /// let owner = DeviceMatrix::from_host(&device, 1, 6, &[1u8, 2, 3, 4, 5, 6])?;
            /// let layout = TensorLayout::strided(&[3, 2], &[1, 3], 0, 1)?;
            /// // SAFETY: the six elements live and stay what they are until `to_host` has waited for the copy.
            /// let view = unsafe { TensorView::<u8>::from_raw_parts(&device, owner.device_address(), 6, layout)? };
            /// assert_eq!(view.to_host()?, [1, 4, 2, 5, 3, 6]);
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            /// [`Error::Misaligned`] unless `address` is a multiple of the largest power of two, up to 16, that divides the size of `T`,
            #[doc = concat!(
                "[`Error::TensorOutOfBounds`] for elements outside the `len`, [`Error::TensorSizeOverflow`]", $others, "."
            )]
            ///
            /// # Safety
            /// For `'a`, and until all that was queued on the device with the view is done:
            /// - The layout's elements stay allocated, and what lies between the lowest and the highest, in memory that kernels on the
            ///   device reach; the elements are initialized.
            /// - Nothing writes the elements, nor reads them if the view is exclusive, but work that is ordered before the view is made,
            ///   on the device's queue ([`Device::cuda_stream`]) or by an event that this queue waits for.
            pub unsafe fn from_raw_parts(
                device: &'a Device,
                address: u64,
                len: usize,
                layout: TensorLayout,
            ) -> Result<Self> {
                layout.require_within(len)?;
                let (shape, strides) = (layout.shape(), layout.strides());
                let layout =
                    TensorLayout::strided(shape, strides, layout.offset(), size_of::<T>())?;
                Self::admit(&layout)?;
                // SAFETY: the caller's obligations; the memory is only looked at for its address.
                let memory = unsafe { Memory::<T>::of_others(device, address, len) };
                memory.map_err(|error| match error {
                    Error::SizeOverflow { cols, element_bytes, .. } => {
                        Error::TensorSizeOverflow { shape: vec![cols], element_bytes }
                    }
                    other => other,
                })?;
                // SAFETY: the caller's obligations, and what was checked.
                Ok(unsafe { Self::valid(device, address, layout) })
            }

            /// The array that is laid out so in the memory at an address.
            ///
            /// # Safety
            /// Those of [`from_raw_parts`](Self::from_raw_parts); the layout was made for elements of `T`'s size, and admitted.
            pub(crate) unsafe fn valid(
                device: &'a Device,
                memory: u64,
                layout: TensorLayout,
            ) -> Self {
                $view { device, memory, layout, element: PhantomData }
            }

            /// The same memory, of which another layout's elements are a part.
            pub(crate) fn with(self, layout: TensorLayout) -> Self {
                let $view { device, memory, element, .. } = self;
                $view { device, memory, layout, element }
            }

            /// The same elements, axis `i` being what axis `axes[i]` was.
            ///
            /// # Errors
            /// [`Error::NotAPermutation`] unless each axis is named once.
            pub fn permute_axes(self, axes: &[usize]) -> Result<Self> {
                let layout = self.layout.permute_axes(axes)?;
                Ok(self.with(layout))
            }

            /// The same elements, two axes in each other's place: `swap_axes(rank - 2, rank - 1)` transposes each matrix of a batch.
            ///
            /// # Errors
            /// [`Error::NoSuchAxis`].
            pub fn swap_axes(self, first: usize, second: usize) -> Result<Self> {
                let layout = self.layout.swap_axes(first, second)?;
                Ok(self.with(layout))
            }

            /// The same elements, the order of the axes reversed.
            pub fn t(self) -> Self {
                let layout = self.layout.t();
                self.with(layout)
            }

            /// Along one axis, the indices in `range`, every `step`-th of them; from the range's end backwards if `step` is negative.
            ///
            /// # Errors
            /// [`Error::NoSuchAxis`], and [`Error::SliceOutOfBounds`] for a range outside the axis or a step of 0.
            pub fn slice(
                self,
                axis: usize,
                range: impl RangeBounds<usize>,
                step: isize,
            ) -> Result<Self> {
                let layout = self.layout.slice(axis, range, step)?;
                Ok(self.with(layout))
            }

            /// What has index `index` on an axis, without that axis.
            ///
            /// # Errors
            /// [`Error::NoSuchAxis`] and [`Error::IndexOutOfBounds`].
            pub fn index_axis(self, axis: usize, index: usize) -> Result<Self> {
                let layout = self.layout.index_axis(axis, index)?;
                Ok(self.with(layout))
            }

            /// The same elements with one more axis, of length 1, before axis `axis`.
            ///
            /// # Errors
            /// [`Error::NoSuchAxis`] for an axis behind the one past the last, and [`Error::TooManyAxes`].
            pub fn insert_axis(self, axis: usize) -> Result<Self> {
                let layout = self.layout.insert_axis(axis)?;
                Ok(self.with(layout))
            }

            /// The same elements in the same row-major order of indices, with other axes.
            ///
            /// # Errors
            /// [`Error::Reshape`] if the shape has not as many elements, or the strides do not permit it without moving any;
            /// [`Error::TooManyAxes`] and [`Error::TensorSizeOverflow`].
            pub fn reshape(self, shape: &[usize]) -> Result<Self> {
                let layout = self.layout.reshape(shape)?;
                Ok(self.with(layout))
            }
        }

        impl<'a, T: Pod> From<$matrix<'a, T>> for $view<'a, T> {
            /// A matrix is a tensor of two axes, its rows and its columns.
            fn from(matrix: $matrix<'a, T>) -> Self {
                let layout = of_matrix(&matrix.layout());
                let (device, memory) = (matrix.device, matrix.address);
                $view { device, memory, layout, element: PhantomData }
            }
        }

        impl<'a, T: Pod> TryFrom<$view<'a, T>> for $matrix<'a, T> {
            type Error = Error;

            /// A tensor of two axes is a matrix if its rows are: without gaps, and one behind the other.
            ///
            /// # Errors
            /// [`Error::NotAMatrix`] for any other.
            fn try_from(view: $view<'a, T>) -> Result<Self> {
                let layout = to_matrix::<T>(&view.layout)?;
                // SAFETY: the elements lie inside memory that is borrowed as long as the view, exclusively if it is.
                let memory = unsafe { Memory::new(view.device, view.address(), layout.extent()) };
                Ok($matrix::whole(memory, layout))
            }
        }
    };
}

views!(TensorView, MatrixView, "");
views!(
    TensorViewMut,
    MatrixViewMut,
    ", and [`Error::TensorOverlap`] for one in which an element has two indices"
);

impl<'a, T: Pod> TensorView<'a, T> {
    /// Anything can be read.
    pub(super) fn admit(_: &TensorLayout) -> Result<()> {
        Ok(())
    }

    /// The same elements, repeated to another shape: shapes are aligned at their last axes, and along axes of length 1, or that
    /// there are not, the elements are repeated.
    ///
    /// # Errors
    /// [`Error::Broadcast`] for a shape that this one cannot be repeated to, [`Error::TooManyAxes`], and [`Error::TensorSizeOverflow`].
    pub fn broadcast(self, shape: &[usize]) -> Result<Self> {
        let layout = self.layout.broadcast(shape)?;
        Ok(self.with(layout))
    }

    /// Along one axis, the indices before `index`, and those from it on.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], and [`Error::IndexOutOfBounds`] for an index behind the axis's end.
    pub fn split_at(self, axis: usize, index: usize) -> Result<(Self, Self)> {
        let (before, after) = self.layout.split_at(axis, index)?;
        Ok((self.with(before), self.with(after)))
    }
}

impl<'a, T: Pod> TensorViewMut<'a, T> {
    /// What is written must not have two indices.
    pub(super) fn admit(layout: &TensorLayout) -> Result<()> {
        layout.require_injective()
    }

    /// The same view, to read.
    pub fn view(&self) -> TensorView<'_, T> {
        let TensorViewMut { device, memory, layout, .. } = *self;
        TensorView { device, memory, layout, element: PhantomData }
    }

    /// The same view for a shorter time.
    pub fn reborrow(&mut self) -> TensorViewMut<'_, T> {
        TensorViewMut { element: PhantomData, ..*self }
    }

    /// Along one axis, the indices before `index`, and those from it on: two views that have no element in common.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], and [`Error::IndexOutOfBounds`] for an index behind the axis's end.
    pub fn split_at(self, axis: usize, index: usize) -> Result<(Self, Self)> {
        let (before, after) = self.layout.split_at(axis, index)?;
        let TensorViewMut { device, memory, .. } = self;
        // Each element has one index, so none is on both sides.
        Ok((
            TensorViewMut { device, memory, layout: before, element: PhantomData },
            TensorViewMut { device, memory, layout: after, element: PhantomData },
        ))
    }
}

/// A matrix's layout as one of two axes.
pub(super) fn of_matrix(layout: &Layout) -> TensorLayout {
    // A matrix's leading dimension is below 2⁶³ where there is more than one row. Strides that separate nothing are 1.
    let ld = if layout.nrows() > 1 { layout.ld() as isize } else { 1 };
    let axes = [layout.nrows(), layout.ncols()];
    TensorLayout::of_checked(axes, [ld, 1])
}

/// The layout of a matrix whose element `[0, 0]` is where a tensor's is.
///
/// # Errors
/// [`Error::NotAMatrix`].
pub(crate) fn to_matrix<T>(layout: &TensorLayout) -> Result<Layout> {
    let refused =
        || Error::NotAMatrix { shape: layout.shape().to_vec(), strides: layout.strides().to_vec() };
    let (&[rows, cols], &[down, along]) = (layout.shape(), layout.strides()) else {
        return Err(refused());
    };
    if layout.is_empty() {
        return Layout::contiguous(rows, cols, size_of::<T>());
    }
    let ld = if rows > 1 { usize::try_from(down).unwrap_or(0) } else { cols };
    if cols > 1 && along != 1 || ld < cols {
        return Err(refused());
    }
    Layout::new(rows, cols, ld, size_of::<T>())
}
