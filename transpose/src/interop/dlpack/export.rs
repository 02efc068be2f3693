//! A device's tensors for other libraries.

use super::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_IS_COPIED,
    VERSION, device_type,
};
use super::element::DlElement;
use super::order::ForeignStream;
use super::refusal::Refusal;
use crate::tensor::{DeviceTensor, TensorLayout};
use crate::{Device, Result};
use bytemuck::Pod;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Gives a tensor away, strides and all: what a capsule named `dltensor_versioned` holds. Whoever gets it calls its deleter once, on any
/// thread.
///
/// The consumer's stream waits for what is queued on the device. On the simulator the tensor is copied to the host's memory.
///
/// # Errors
/// [`Error::HostMemory`](crate::Error::HostMemory) on the simulator, and what the device reports.
pub fn export<T: DlElement>(
    tensor: DeviceTensor<T>,
    consumer: ForeignStream,
) -> Result<NonNull<DLManagedTensorVersioned>> {
    export_as(tensor, T::DATA_TYPE, consumer)
}

/// Like [`export`], of elements that go by another name: `DLDataType::BOOL`, or that of an imported tensor which was moved as bits.
///
/// # Errors
/// Those of [`export`], and [`Refusal::DataType`] unless its elements have as many bytes.
pub fn export_as<T: Pod>(
    tensor: DeviceTensor<T>,
    data_type: DLDataType,
    consumer: ForeignStream,
) -> Result<NonNull<DLManagedTensorVersioned>> {
    let given = Given::new(tensor, data_type, consumer)?;
    Ok(given.manage(|dl_tensor, flags, manager_ctx| DLManagedTensorVersioned {
        version: VERSION,
        manager_ctx,
        deleter: Some(delete::<DLManagedTensorVersioned>),
        flags,
        dl_tensor,
    }))
}

/// Like [`export`], for consumers that know nothing of DLPack 1: what a capsule named `dltensor` holds.
///
/// # Errors
/// Those of [`export`].
pub fn export_legacy<T: DlElement>(
    tensor: DeviceTensor<T>,
    consumer: ForeignStream,
) -> Result<NonNull<DLManagedTensor>> {
    export_legacy_as(tensor, T::DATA_TYPE, consumer)
}

/// Like [`export_legacy`], of elements that go by another name.
///
/// # Errors
/// Those of [`export_as`].
pub fn export_legacy_as<T: Pod>(
    tensor: DeviceTensor<T>,
    data_type: DLDataType,
    consumer: ForeignStream,
) -> Result<NonNull<DLManagedTensor>> {
    let given = Given::new(tensor, data_type, consumer)?;
    Ok(given.manage(|dl_tensor, _, manager_ctx| DLManagedTensor {
        dl_tensor,
        manager_ctx,
        deleter: Some(delete::<DLManagedTensor>),
    }))
}

/// A tensor on its way out.
struct Given {
    data: *mut c_void,
    device: DLDevice,
    dtype: DLDataType,
    flags: u64,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
    /// Frees the memory.
    free: Box<dyn FnOnce()>,
}

/// What an exported tensor's context points to. The arrays are in it because the tensor points to them.
struct Exported<M> {
    managed: M,
    _axes: [Box<[i64]>; 2],
    free: Box<dyn FnOnce()>,
}

impl Given {
    fn new<T: Pod>(
        tensor: DeviceTensor<T>,
        dtype: DLDataType,
        consumer: ForeignStream,
    ) -> Result<Self> {
        if dtype.bytes() != Some(size_of::<T>()) {
            return Err(Refusal::DataType { found: dtype }.into());
        }
        let device = tensor.device().clone();
        match device.cuda_ordinal() {
            Some(ordinal) => Self::of_gpu(tensor, &device, ordinal, dtype, consumer),
            None => Self::of_host(&tensor, dtype),
        }
    }

    /// The memory itself.
    fn of_gpu<T: Pod>(
        tensor: DeviceTensor<T>,
        device: &Device,
        ordinal: u32,
        dtype: DLDataType,
        consumer: ForeignStream,
    ) -> Result<Self> {
        consumer.wait_for_queue(device)?;
        let address = if tensor.is_empty() { 0 } else { tensor.device_address() };
        let [shape, strides] = axes(tensor.layout());
        let device = device.clone();
        let free = Box::new(move || {
            match consumer.release(&device) {
                Ok(()) => drop(tensor),
                // The consumer may still use the memory, and nobody is left to tell: it stays.
                Err(_) => std::mem::forget(tensor),
            }
        });
        let device = DLDevice { device_type: device_type::CUDA, device_id: ordinal as i32 };
        // An address on the GPU, which the host does not follow.
        let data = std::ptr::without_provenance_mut(address as usize);
        Ok(Given { data, device, dtype, flags: 0, shape, strides, free })
    }

    /// A copy in the host's memory, without gaps.
    fn of_host<T: Pod>(tensor: &DeviceTensor<T>, dtype: DLDataType) -> Result<Self> {
        let mut elements = tensor.to_host()?;
        let [shape, strides] = axes(&TensorLayout::contiguous(tensor.shape(), size_of::<T>())?);
        let data = match elements.is_empty() {
            true => std::ptr::null_mut(),
            false => elements.as_mut_ptr().cast(),
        };
        let device = DLDevice { device_type: device_type::CPU, device_id: 0 };
        let free = Box::new(move || drop(elements));
        Ok(Given { data, device, dtype, flags: FLAG_IS_COPIED, shape, strides, free })
    }

    /// The tensor in a structure that its deleter frees.
    fn manage<M>(self, managed: impl FnOnce(DLTensor, u64, *mut c_void) -> M) -> NonNull<M> {
        let Given { data, device, dtype, flags, mut shape, mut strides, free } = self;
        let dl_tensor = DLTensor {
            data,
            device,
            ndim: shape.len() as i32,
            dtype,
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        };
        let place: *mut Exported<M> = Box::into_raw(Box::<Exported<M>>::new_uninit()).cast();
        let managed = managed(dl_tensor, flags, place.cast());
        // SAFETY: the box was made for it, and is this function's alone; the field lies in it.
        unsafe {
            place.write(Exported { managed, _axes: [shape, strides], free });
            NonNull::new_unchecked(&raw mut (*place).managed)
        }
    }
}

/// Shape and strides as DLPack has them.
fn axes(layout: &TensorLayout) -> [Box<[i64]>; 2] {
    [
        layout.shape().iter().map(|&length| length as i64).collect(),
        layout.strides().iter().map(|&stride| stride as i64).collect(),
    ]
}

/// A structure that knows its context.
trait Managed {
    fn context(&self) -> *mut c_void;
}

impl Managed for DLManagedTensor {
    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }
}

impl Managed for DLManagedTensorVersioned {
    fn context(&self) -> *mut c_void {
        self.manager_ctx
    }
}

/// Frees what [`Given::manage`] made.
///
/// # Safety
/// It is called once with what that returned.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    // SAFETY: the context is the box, which is given up.
    let exported = unsafe { Box::from_raw((*managed).context().cast::<Exported<M>>()) };
    (exported.free)();
}
