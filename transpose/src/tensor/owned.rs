//! The tensor that owns its device memory.

use super::layout::{TensorLayout, tensor_accessors};
use super::view::{TensorView, TensorViewMut, of_matrix, to_matrix};
use crate::device::{Buffer, Device};
use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;

/// An array of up to 16 axes in device memory, row-major: the last axis is the fastest.
///
/// Operations on it are queued on its [`Device`] in the order of the calls and may still run when the call has returned.
/// [`to_host`](Self::to_host) waits for them; dropping a tensor is allowed at any time. An element is any [`Pod`] type; it is
/// moved bit for bit.
///
/// ```
/// use transpose::{Device, DeviceTensor};
/// # fn main() -> transpose::Result<()> {
/// let (device, _why_no_gpu) = Device::any();
/// let elements: Vec<u16> = (0..24).collect();
/// let tensor = DeviceTensor::from_host(&device, &[2, 3, 4], &elements)?;
/// // Views are shapes and strides; nothing has moved yet.
/// let view = tensor.view().permute_axes(&[2, 0, 1])?.slice(0, .., -1)?;
/// assert_eq!((view.shape(), view.strides()), ([4, 2, 3].as_slice(), [-1, 12, 4].as_slice()));
/// assert_eq!(view.to_host()?[..7], [3, 7, 11, 15, 19, 23, 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceTensor<T> {
    buffer: Buffer,
    /// Contiguous, or that of a matrix.
    layout: TensorLayout,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceTensor<T> {
    tensor_accessors!();

    /// A tensor of `shape` that holds `elements`, in row-major order.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many as the shape has, [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`],
    /// [`Error::OutOfMemory`], and what the device reports.
    pub fn from_host(device: &Device, shape: &[usize], elements: &[T]) -> Result<Self> {
        let mut tensor = Self::uninitialized(device, shape)?;
        tensor.copy_from_host(elements)?;
        Ok(tensor)
    }

    /// A tensor of zero bytes.
    ///
    /// # Errors
    /// [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the device reports.
    pub fn zeroed(device: &Device, shape: &[usize]) -> Result<Self> {
        let tensor = Self::uninitialized(device, shape)?;
        device.fill_zero(&tensor.buffer)?;
        Ok(tensor)
    }

    /// A tensor whose elements are whatever its memory held.
    pub(super) fn uninitialized(device: &Device, shape: &[usize]) -> Result<Self> {
        let layout = TensorLayout::contiguous(shape, size_of::<T>())?;
        let buffer = device.allocate(layout.len() * size_of::<T>())?;
        Ok(DeviceTensor { buffer, layout, element: PhantomData })
    }

    /// Replaces the elements by those of the slice, in row-major order.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many, and what the device reports.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        let (expected, actual) = (self.len(), elements.len());
        if actual != expected {
            return Err(Error::TensorLength { shape: self.shape().to_vec(), expected, actual });
        }
        let rows = self.rows()?;
        // SAFETY: the layout lies inside the tensor's own buffer.
        unsafe { self.device().upload(self.buffer.address(), &rows, elements) }
    }

    /// The elements, in row-major order. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.view().to_host()
    }

    /// The elements as rows of one length: those of a matrix, or all as one.
    fn rows(&self) -> Result<Layout> {
        if self.is_contiguous() {
            return Layout::contiguous(1, self.len(), size_of::<T>());
        }
        let cols = self.layout.run();
        to_matrix::<T>(&self.layout.reshape(&[self.len() / cols, cols])?)
    }

    /// The device that holds the elements.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// The address of the first element on the device: a `CUdeviceptr` if the device is a GPU. As with
    /// [`DeviceMatrix::device_address`], what other code does with it is for that code to answer for.
    pub fn device_address(&self) -> u64 {
        self.buffer.address()
    }

    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// The whole tensor as a view.
    pub fn view(&self) -> TensorView<'_, T> {
        self.into()
    }

    /// The whole tensor as an exclusive view.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T> {
        self.into()
    }

    /// The part of the tensor's memory that lies as `layout` says, whose offset counts from the tensor's first element.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the tensor's memory has not.
    pub fn window(&self, layout: &TensorLayout) -> Result<TensorView<'_, T>> {
        let layout = self.part(layout)?;
        // SAFETY: all elements lie inside the buffer, which is borrowed as long as the view.
        Ok(unsafe { TensorView::valid(self.device(), self.device_address(), layout) })
    }

    /// Like [`window`](Self::window), exclusive.
    ///
    /// # Errors
    /// As [`window`](Self::window), and [`Error::TensorOverlap`] for a layout in which an element has two indices.
    pub fn window_mut(&mut self, layout: &TensorLayout) -> Result<TensorViewMut<'_, T>> {
        let layout = self.part(layout)?;
        TensorViewMut::<T>::admit(&layout)?;
        // SAFETY: all elements lie inside the buffer, which is borrowed exclusively as long as the view, and none has two
        // indices.
        Ok(unsafe { TensorViewMut::valid(self.device(), self.device_address(), layout) })
    }

    /// A layout of which all elements lie in the buffer, for elements of this size.
    fn part(&self, layout: &TensorLayout) -> Result<TensorLayout> {
        let available = self.buffer.bytes().checked_div(size_of::<T>()).unwrap_or(usize::MAX);
        layout.require_within(available)?;
        TensorLayout::strided(layout.shape(), layout.strides(), layout.offset(), size_of::<T>())
    }

    /// The same elements with other axes, in the same order; none is moved.
    ///
    /// # Errors
    /// [`Error::Reshape`] if the shape has not as many elements, or gaps between a matrix's rows do not permit it;
    /// [`Error::TooManyAxes`] and [`Error::TensorSizeOverflow`].
    pub fn reshape(&mut self, shape: &[usize]) -> Result<()> {
        self.layout = self.layout.reshape(shape)?;
        Ok(())
    }
}

impl<'a, T: Pod> From<&'a DeviceTensor<T>> for TensorView<'a, T> {
    fn from(tensor: &'a DeviceTensor<T>) -> Self {
        // SAFETY: the layout lies inside the buffer, which is borrowed as long as the view.
        unsafe { TensorView::valid(tensor.device(), tensor.device_address(), tensor.layout) }
    }
}

impl<'a, T: Pod> From<&'a mut DeviceTensor<T>> for TensorViewMut<'a, T> {
    fn from(tensor: &'a mut DeviceTensor<T>) -> Self {
        // SAFETY: as for views; the buffer is borrowed exclusively, and no element of a contiguous array or of a matrix has
        // two indices.
        unsafe { TensorViewMut::valid(tensor.device(), tensor.device_address(), tensor.layout) }
    }
}

impl<'a, T: Pod> From<&'a DeviceMatrix<T>> for TensorView<'a, T> {
    fn from(matrix: &'a DeviceMatrix<T>) -> Self {
        matrix.view().into()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceMatrix<T>> for TensorViewMut<'a, T> {
    fn from(matrix: &'a mut DeviceMatrix<T>) -> Self {
        matrix.view_mut().into()
    }
}

impl<T: Pod> From<DeviceMatrix<T>> for DeviceTensor<T> {
    /// The matrix as a tensor of two axes, its rows and its columns. The memory is the same.
    fn from(matrix: DeviceMatrix<T>) -> Self {
        let layout = of_matrix(&matrix.layout());
        DeviceTensor { buffer: matrix.into_buffer(), layout, element: PhantomData }
    }
}

impl<T: Pod> TryFrom<DeviceTensor<T>> for DeviceMatrix<T> {
    type Error = Error;

    /// The tensor of two axes as a matrix. The memory is the same.
    ///
    /// # Errors
    /// [`Error::NotAMatrix`] for one of more or fewer axes.
    fn try_from(tensor: DeviceTensor<T>) -> Result<Self> {
        let layout = to_matrix::<T>(&tensor.layout)?;
        Ok(DeviceMatrix::of_buffer(tensor.buffer, layout))
    }
}
