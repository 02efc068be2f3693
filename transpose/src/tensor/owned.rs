//! The tensor that owns its device memory.

use super::layout::{TensorLayout, tensor_accessors};
use super::view::{TensorView, TensorViewMut, of_matrix, to_matrix};
use crate::allocation::Allocation;
use crate::device::{Buffer, Device};
use crate::matrix::DeviceMatrix;
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;

/// An array of up to 16 axes in device memory, row-major (the last axis is the fastest) unless it was made of an [`Allocation`].
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
    /// All elements lie in the buffer, and none has two indices.
    layout: TensorLayout,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceTensor<T> {
    tensor_accessors!();

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
    pub(crate) fn uninitialized(device: &Device, shape: &[usize]) -> Result<Self> {
        let layout = TensorLayout::contiguous(shape, size_of::<T>())?;
        let buffer = device.allocate(layout.len() * size_of::<T>())?;
        Ok(DeviceTensor { buffer, layout, element: PhantomData })
    }

    /// The tensor of `layout` in `allocation`, which it owns from now on. The layout's offset counts from the allocation's start, and its
    /// strides may be any, also negative, that give each element one index.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements outside the allocation, [`Error::TensorOverlap`], and [`Error::TensorSizeOverflow`]; with
    /// each of them the allocation is dropped.
    pub fn from_allocation(allocation: Allocation, layout: TensorLayout) -> Result<Self> {
        layout.require_within(allocation.capacity::<T>())?;
        layout.require_injective()?;
        let (shape, strides) = (layout.shape(), layout.strides());
        let layout = TensorLayout::strided(shape, strides, layout.offset(), size_of::<T>())?;
        Ok(DeviceTensor { buffer: allocation.into_buffer(), layout, element: PhantomData })
    }

    /// The tensor's memory, for other code or for another shape. [`layout`](Self::layout) says where its elements are.
    pub fn into_allocation(self) -> Allocation {
        Allocation::of_buffer(self.buffer)
    }

    /// The device that holds the elements.
    pub fn device(&self) -> &Device {
        self.buffer.device()
    }

    /// The address of element `[0, …, 0]` on the device: a `CUdeviceptr` if the device is a GPU. As with
    /// [`DeviceMatrix::device_address`], what other code does with it is for that code to answer for.
    pub fn device_address(&self) -> u64 {
        self.buffer.address() + (self.layout.offset() * size_of::<T>()) as u64
    }

    /// Whether its device has allocated the memory, so that other devices can reach it.
    pub(crate) fn is_of_device(&self) -> bool {
        self.buffer.is_of_device()
    }

    /// The tensor that `buffer`, in which all elements of the layout lie, holds.
    pub(crate) fn of_buffer(buffer: Buffer, layout: TensorLayout) -> Self {
        debug_assert!(layout.range().end * size_of::<T>() <= buffer.bytes());
        DeviceTensor { buffer, layout, element: PhantomData }
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
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

    /// The part of the tensor's memory that lies as `layout` says, whose offset counts from the memory's start, as that of the
    /// tensor's own [`layout`](Self::layout).
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the tensor's memory has not.
    pub fn window(&self, layout: &TensorLayout) -> Result<TensorView<'_, T>> {
        let layout = self.part(layout)?;
        // SAFETY: all elements lie inside the buffer, which is borrowed as long as the view.
        Ok(unsafe { TensorView::valid(self.device(), self.buffer.address(), layout) })
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
        Ok(unsafe { TensorViewMut::valid(self.device(), self.buffer.address(), layout) })
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
    /// [`Error::Reshape`] if the shape has not as many elements, or gaps between them do not permit it;
    /// [`Error::TooManyAxes`] and [`Error::TensorSizeOverflow`].
    pub fn reshape(&mut self, shape: &[usize]) -> Result<()> {
        self.layout = self.layout.reshape(shape)?;
        Ok(())
    }
}

impl<'a, T: Pod> From<&'a DeviceTensor<T>> for TensorView<'a, T> {
    fn from(tensor: &'a DeviceTensor<T>) -> Self {
        // SAFETY: the layout lies inside the buffer, which is borrowed as long as the view.
        unsafe { TensorView::valid(tensor.device(), tensor.buffer.address(), tensor.layout) }
    }
}

impl<'a, T: Pod> From<&'a mut DeviceTensor<T>> for TensorViewMut<'a, T> {
    fn from(tensor: &'a mut DeviceTensor<T>) -> Self {
        // SAFETY: as for views; the buffer is borrowed exclusively, and no element of a tensor has two indices.
        unsafe { TensorViewMut::valid(tensor.device(), tensor.buffer.address(), tensor.layout) }
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

    /// The tensor of two axes as a matrix. The memory is the same. A tensor that is none is dropped; its view, which
    /// [`MatrixView::try_from`](crate::MatrixView) takes, may be one, as it may start anywhere.
    ///
    /// # Errors
    /// [`Error::NotAMatrix`] for one of more or fewer axes, one that is not the rows of a matrix at the start of its memory, and memory
    /// that ends with the last row where there are gaps between rows.
    fn try_from(tensor: DeviceTensor<T>) -> Result<Self> {
        let layout = to_matrix::<T>(&tensor.layout)?;
        if tensor.layout.offset() != 0 || layout.capacity() * size_of::<T>() > tensor.buffer.bytes()
        {
            let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            return Err(Error::NotAMatrix { shape, strides });
        }
        Ok(DeviceMatrix::of_buffer(tensor.buffer, layout))
    }
}
