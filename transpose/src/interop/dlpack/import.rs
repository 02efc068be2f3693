//! Tensors of other libraries for a device.

use super::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_IS_COPIED,
    FLAG_READ_ONLY, VERSION, device_type,
};
use super::element::DlElement;
use super::order::ForeignStream;
use super::refusal::Refusal;
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::transfer::upload;
use crate::{Device, Error, Result};
use bytemuck::Pod;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A tensor that another library has given away: its memory, where it is, with its strides.
///
/// Dropped, it waits for the device's queue and calls the producer's deleter; [`release_on`](Self::release_on) does so without
/// waiting. A view does not outlive it:
///
/// ```compile_fail,E0505
/// # use transpose::interop::dlpack::Imported;
/// fn too_late(imported: Imported) -> usize {
///     let view = imported.view::<f32>().unwrap();
///     drop(imported);
///     view.rank()
/// }
/// ```
#[derive(Debug)]
pub struct Imported {
    device: Device,
    /// Given back when dropped.
    _managed: Managed,
    memory: DLDevice,
    data_type: DLDataType,
    flags: u64,
    /// Of the memory that the layout's offset counts from.
    lowest: *mut c_void,
    /// Made for elements of the data type's size.
    layout: TensorLayout,
    /// Whether the producer waits for what is queued.
    is_waited_for: bool,
}

/// What is to be freed.
#[derive(Debug)]
enum Managed {
    Legacy(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

impl Drop for Managed {
    fn drop(&mut self) {
        // SAFETY: who made this gave the tensor up, and the deleter, which may be none, is called once.
        unsafe {
            match *self {
                Managed::Legacy(tensor) => {
                    if let Some(delete) = tensor.as_ref().deleter {
                        delete(tensor.as_ptr());
                    }
                }
                Managed::Versioned(tensor) => {
                    if let Some(delete) = tensor.as_ref().deleter {
                        delete(tensor.as_ptr());
                    }
                }
            }
        }
    }
}

impl Imported {
    /// Takes what a capsule named `dltensor_versioned` holds. Whatever this returns, the tensor's deleter is called in the end.
    ///
    /// # Errors
    /// [`Refusal::Version`], [`Refusal::Malformed`], [`Refusal::DataType`] for elements that are not whole bytes,
    /// [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`].
    ///
    /// # Safety
    /// - `tensor` is null or a managed tensor as DLPack describes them, which the caller gives up: the capsule's name says so.
    /// - For as long as this lives, and until all that was queued on the device with its views is done, the elements stay allocated and
    ///   initialized, and nothing else writes them, nor reads them where they are written by [`view_mut`](Self::view_mut).
    /// - What has written them is done, or ordered before what is queued on the device from now on.
    pub unsafe fn from_raw(device: &Device, tensor: *mut DLManagedTensorVersioned) -> Result<Self> {
        let tensor = NonNull::new(tensor).ok_or(NULL)?;
        let managed = Managed::Versioned(tensor);
        // SAFETY: a managed tensor; of another version, only what comes before the flags is looked at.
        unsafe {
            let version = (*tensor.as_ptr()).version;
            if version.major != VERSION.major {
                let (major, minor) = (version.major, version.minor);
                return Err(Refusal::Version { major, minor }.into());
            }
            let (flags, tensor) = ((*tensor.as_ptr()).flags, (*tensor.as_ptr()).dl_tensor);
            Self::of(device, managed, flags, &tensor)
        }
    }

    /// Takes what a capsule named `dltensor` holds, as libraries gave it before DLPack 1.
    ///
    /// # Errors
    /// Those of [`from_raw`](Self::from_raw).
    ///
    /// # Safety
    /// Those of [`from_raw`](Self::from_raw). The structure has no flags: the caller knows whether the tensor may be written to.
    pub unsafe fn from_raw_legacy(device: &Device, tensor: *mut DLManagedTensor) -> Result<Self> {
        let tensor = NonNull::new(tensor).ok_or(NULL)?;
        let managed = Managed::Legacy(tensor);
        // SAFETY: a managed tensor.
        unsafe { Self::of(device, managed, 0, &(*tensor.as_ptr()).dl_tensor) }
    }

    /// # Safety
    /// As for [`from_raw`](Self::from_raw); `tensor` is that of `managed`.
    unsafe fn of(device: &Device, managed: Managed, flags: u64, tensor: &DLTensor) -> Result<Self> {
        let data_type = tensor.dtype;
        let bytes = data_type.bytes().ok_or(Refusal::DataType { found: data_type })?;
        // SAFETY: the pointers are those of a tensor with so many axes.
        let (layout, below) = unsafe { layout_of(tensor, bytes)? };
        let offset = isize::try_from(tensor.byte_offset).ok();
        let start = offset
            .and_then(|offset| offset.checked_sub((below * bytes) as isize))
            .ok_or(Refusal::Malformed { what: "its offset is longer than memory" })?;
        // An address, on a GPU, that the host does not follow.
        let lowest = tensor.data.wrapping_byte_offset(start);
        if tensor.data.is_null() && !layout.is_empty() {
            return Err(NULL.into());
        }
        let (device, memory) = (device.clone(), tensor.device);
        Ok(Imported {
            device,
            _managed: managed,
            memory,
            data_type,
            flags,
            lowest,
            layout,
            is_waited_for: false,
        })
    }

    /// What an element is.
    pub fn data_type(&self) -> DLDataType {
        self.data_type
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Elements from one index of each axis to the next.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Where the memory is.
    pub fn memory(&self) -> DLDevice {
        self.memory
    }

    /// Whether the tensor must not be written to. One of before DLPack 1 never says so.
    pub fn is_read_only(&self) -> bool {
        self.flags & FLAG_READ_ONLY != 0
    }

    /// Whether the producer has made a copy.
    pub fn is_copied(&self) -> bool {
        self.flags & FLAG_IS_COPIED != 0
    }

    /// Whether kernels on the device reach the memory where it is.
    pub fn is_reached(&self) -> bool {
        let DLDevice { device_type, device_id } = self.memory;
        match (self.device.cuda_ordinal(), device_type) {
            (Some(ordinal), device_type::CUDA) => i64::from(ordinal) == i64::from(device_id),
            (Some(_), device_type::CUDA_HOST | device_type::CUDA_MANAGED) => true,
            _ => false,
        }
    }

    /// The elements, where they are.
    ///
    /// # Errors
    /// [`Refusal::DataType`] for other elements, [`Refusal::Memory`] for memory that the device does not reach, [`Error::Misaligned`].
    pub fn view<T: DlElement>(&self) -> Result<TensorView<'_, T>> {
        self.require(T::DATA_TYPE)?;
        self.view_bits()
    }

    /// The elements, whatever they are, as any type of their size.
    ///
    /// # Errors
    /// Those of [`view`](Self::view).
    pub fn view_bits<T: Pod>(&self) -> Result<TensorView<'_, T>> {
        self.require_reached::<T>()?;
        let (address, len) = (self.lowest.addr() as u64, self.layout.range().end);
        // SAFETY: who made this vouched for the elements, which are borrowed as long as the view.
        unsafe { TensorView::from_raw_parts(&self.device, address, len, self.layout) }
    }

    /// The elements, where they are, to be written.
    ///
    /// # Errors
    /// Those of [`view`](Self::view), [`Refusal::ReadOnly`], and [`Error::TensorOverlap`] if an element has two indices.
    pub fn view_mut<T: DlElement>(&mut self) -> Result<TensorViewMut<'_, T>> {
        self.require(T::DATA_TYPE)?;
        self.view_bits_mut()
    }

    /// Like [`view_mut`](Self::view_mut), as any type of the elements' size.
    ///
    /// # Errors
    /// Those of [`view_mut`](Self::view_mut).
    pub fn view_bits_mut<T: Pod>(&mut self) -> Result<TensorViewMut<'_, T>> {
        self.require_reached::<T>()?;
        if self.is_read_only() {
            return Err(Refusal::ReadOnly.into());
        }
        let (address, len) = (self.lowest.addr() as u64, self.layout.range().end);
        // SAFETY: who made this vouched for the elements, which are borrowed exclusively as long as the view.
        unsafe { TensorViewMut::from_raw_parts(&self.device, address, len, self.layout) }
    }

    /// A tensor of the device's own with the same elements, without gaps: also from the host's memory, which is walked once.
    ///
    /// # Errors
    /// [`Refusal::DataType`], [`Refusal::Memory`] for memory of another device, [`Error::Misaligned`], [`Error::OutOfMemory`], [`Error::HostMemory`], and what the device reports.
    pub fn to_tensor<T: DlElement>(&self) -> Result<DeviceTensor<T>> {
        self.require(T::DATA_TYPE)?;
        self.to_tensor_bits()
    }

    /// Like [`to_tensor`](Self::to_tensor), as any type of the elements' size.
    ///
    /// # Errors
    /// Those of [`to_tensor`](Self::to_tensor).
    pub fn to_tensor_bits<T: Pod>(&self) -> Result<DeviceTensor<T>> {
        const HOST: [i32; 3] =
            [device_type::CPU, device_type::CUDA_HOST, device_type::CUDA_MANAGED];
        if self.is_reached() || !HOST.contains(&self.memory.device_type) {
            return self.view_bits()?.to_tensor();
        }
        self.require_size::<T>()?;
        let host = self.lowest.cast::<T>();
        if !self.layout.is_empty() && !host.is_aligned() {
            let (address, needed) = (host.addr() as u64, align_of::<T>() as u64);
            return Err(Error::Misaligned { address, needed });
        }
        let mut tensor = DeviceTensor::uninitialized(&self.device, self.shape())?;
        // SAFETY: who made this vouched for the elements, which the host reaches.
        unsafe { upload(tensor.view_mut(), host, &self.layout)? };
        Ok(tensor)
    }

    /// Gives the tensor back without waiting: the stream on which the producer uses and frees its memory waits for what is queued on the
    /// device.
    ///
    /// # Errors
    /// What the driver answers; then the tensor is given back as if it were dropped.
    ///
    /// # Safety
    /// What the producer does with the memory after its deleter was called is ordered on the stream.
    pub unsafe fn release_on(mut self, stream: ForeignStream) -> Result<()> {
        stream.wait_for_queue(&self.device)?;
        self.is_waited_for = true;
        Ok(())
    }

    fn require(&self, wanted: DLDataType) -> Result<()> {
        if self.data_type == wanted {
            return Ok(());
        }
        Err(Refusal::DataType { found: self.data_type }.into())
    }

    fn require_size<T>(&self) -> Result<()> {
        if self.data_type.bytes() == Some(size_of::<T>()) {
            return Ok(());
        }
        Err(Refusal::DataType { found: self.data_type }.into())
    }

    fn require_reached<T>(&self) -> Result<()> {
        self.require_size::<T>()?;
        if self.is_reached() {
            return Ok(());
        }
        Err(Refusal::Memory { device: self.memory }.into())
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if self.is_reached() && !self.is_waited_for {
            // A failure is one of earlier work, and later calls report it.
            let _ = self.device.synchronize();
        }
    }
}

const NULL: Refusal = Refusal::Malformed { what: "a pointer is null" };

/// The layout of a tensor's elements from the lowest on, and how many elements that is before `[0, …, 0]`.
///
/// # Safety
/// `shape` and `strides` are null or point to `ndim` numbers.
unsafe fn layout_of(tensor: &DLTensor, element_bytes: usize) -> Result<(TensorLayout, usize)> {
    const NEGATIVE: Refusal =
        Refusal::Malformed { what: "a number of axes or a length is negative" };
    let rank = usize::try_from(tensor.ndim).map_err(|_| NEGATIVE)?;
    if rank > 0 && tensor.shape.is_null() {
        return Err(NULL.into());
    }
    // SAFETY: the caller's obligation.
    let shape = unsafe { numbers(tensor.shape, rank) };
    let shape: Result<Vec<usize>, _> =
        shape.iter().map(|&length| usize::try_from(length)).collect();
    let shape = shape.map_err(|_| NEGATIVE)?;
    if tensor.strides.is_null() {
        return Ok((TensorLayout::contiguous(&shape, element_bytes)?, 0));
    }
    // SAFETY: the caller's obligation.
    let strides: Vec<isize> =
        unsafe { numbers(tensor.strides, rank) }.iter().map(|&stride| stride as isize).collect();
    if shape.contains(&0) {
        return Ok((TensorLayout::strided(&shape, &strides, 0, element_bytes)?, 0));
    }
    let backwards = shape.iter().zip(&strides).filter(|&(_, &stride)| stride < 0);
    let below = backwards
        .map(|(&length, stride)| (length - 1).checked_mul(stride.unsigned_abs()))
        .try_fold(0usize, |sum, part| sum.checked_add(part?));
    let overflow = || Error::TensorSizeOverflow { shape: shape.clone(), element_bytes };
    let below =
        below.filter(|&below| below <= isize::MAX as usize / element_bytes).ok_or_else(overflow)?;
    Ok((TensorLayout::strided(&shape, &strides, below, element_bytes)?, below))
}

/// # Safety
/// `first` points to `count` numbers, or `count` is 0.
unsafe fn numbers<'a>(first: *const i64, count: usize) -> &'a [i64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's obligation.
    unsafe { std::slice::from_raw_parts(first, count) }
}
