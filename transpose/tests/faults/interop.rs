//! Operations that lend to other libraries and borrow from them.

#![allow(dead_code, unused_imports, reason = "each feature uses its part")]

use crate::operations::Operation;
use std::cell::RefCell;
use transpose::{Device, DeviceMatrix, DeviceTensor, Result};

/// Of each library that there is a feature for, whatever the driver answers.
pub const OPERATIONS: &[Operation] = &[
    #[cfg(feature = "dlpack")]
    ("tensors are exported and imported by DLPack", |device, _| {
        use transpose::interop::dlpack::{
            DlElement, ForeignStream, Imported, export, export_as, export_legacy, export_legacy_as,
        };
        let tensor = || DeviceTensor::from_host(device, &[30, 20], &[7u32; 600]);
        let (legacy, own) = (ForeignStream::LEGACY, u32::DATA_TYPE);
        for typed in [true, false] {
            let tensor = tensor()?;
            let managed =
                if typed { export(tensor, legacy)? } else { export_as(tensor, own, legacy)? };
            // SAFETY: it was just exported, and nobody else has it.
            let mut imported = unsafe { Imported::from_raw(device, managed.as_ptr()) }?;
            imported.view::<u32>()?.to_host()?;
            imported.view_bits::<u32>()?.to_host()?;
            imported.view_mut::<u32>()?.fill(1)?;
            imported.view_bits_mut::<u32>()?.fill(1)?;
            imported.to_tensor::<u32>()?;
            imported.to_tensor_bits::<u32>()?;
            // SAFETY: the stream is one of every thread's.
            unsafe { imported.release_on(legacy) }?;
        }
        for typed in [true, false] {
            let tensor = tensor()?;
            let managed = match typed {
                true => export_legacy(tensor, legacy)?,
                false => export_legacy_as(tensor, own, legacy)?,
            };
            // SAFETY: it was just exported, and nobody else has it.
            unsafe { Imported::from_raw_legacy(device, managed.as_ptr()) }?;
        }
        Ok(())
    }),
    #[cfg(feature = "ndarray")]
    ("arrays of ndarray come and go", |device, _| {
        let host = ndarray::Array3::<u32>::ones((5, 6, 20));
        let mut tensor = DeviceTensor::from_ndarray(device, &host.view().reversed_axes())?;
        let mut back = tensor.to_ndarray::<ndarray::Ix3>()?;
        tensor.view().to_ndarray::<ndarray::IxDyn>()?;
        tensor.view().copy_to_ndarray(&mut back)?;
        tensor.view_mut().copy_from_ndarray(&back)?;
        let flat = ndarray::Array2::<u32>::ones((30, 20));
        let matrix = DeviceMatrix::from_ndarray(device, &flat.t())?;
        matrix.view().to_ndarray()?;
        matrix.to_ndarray().map(drop)
    }),
];

/// What tries an operation at each of its calls, by its name.
pub type Try<'a> = &'a dyn Fn(&str, &dyn Fn() -> Result<()>);

/// Of cudarc and cust, which answer for what they do themselves with a lost device, and know only so many answers.
pub fn of_others(try_each: Try<'_>) {
    let device = Device::cuda(0).unwrap();
    #[cfg(feature = "cudarc")]
    of_cudarc(&device, try_each);
    #[cfg(feature = "cust")]
    of_cust(&device, try_each);
    let _ = (device, try_each);
}

/// Of cudarc, whose stream and slice are there: cudarc itself keeps a context if it cannot ask it for its attributes. It panics where the driver
/// refuses an event, and makes an enum of the driver's answers, which has no place for those that it does not know.
#[cfg(feature = "cudarc")]
fn of_cudarc(device: &Device, try_each: Try<'_>) {
    use cudarc::driver::CudaContext;
    use transpose::interop::cudarc as interop;
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let slice = RefCell::new(stream.alloc_zeros::<u32>(600).unwrap());
    let lend = |device: &Device| -> Result<()> {
        let mut slice = slice.borrow_mut();
        interop::with_view(device, slice.as_view(), |view| {
            view.reshape(&[30, 20])?.t().to_tensor().map(drop)
        })?;
        interop::with_view_mut(device, slice.as_view_mut(), |mut view| view.fill(1))?;
        let mut tensor = DeviceTensor::<u32>::zeroed(device, &[30, 20])?;
        interop::with_cuda_view(tensor.view(), &stream, |_| Ok(()))?;
        interop::with_cuda_view_mut(tensor.view_mut(), &stream, |mut view| {
            Ok(stream.memset_zeros(&mut view)?)
        })
    };
    try_each("slices of cudarc are lent", &|| {
        // What fails while something is dropped cudarc says at the next call.
        let _ = stream.context().check_err();
        for device in [interop::device(stream.clone())?, device.clone()] {
            let lent = std::panic::AssertUnwindSafe(|| lend(&device));
            // A panic is cudarc's, and leaves nothing either.
            std::panic::catch_unwind(lent).unwrap_or(Ok(()))?;
        }
        Ok(())
    });
}

/// Of cust, whose context, stream and buffer are there. Its enum of the driver's answers has no place for those that it does not know: the driver
/// must not give such.
#[cfg(feature = "cust")]
fn of_cust(device: &Device, try_each: Try<'_>) {
    use cust::memory::DeviceBuffer;
    use cust::stream::{Stream, StreamFlags};
    use transpose::interop::cust as interop;
    let _context = cust::quick_init().unwrap();
    let stream = std::sync::Arc::new(Stream::new(StreamFlags::DEFAULT, None).unwrap());
    let buffer = RefCell::new(DeviceBuffer::from_slice(&[0u32; 600]).unwrap());
    try_each("buffers of cust are lent", &|| {
        let mut buffer = buffer.borrow_mut();
        for device in [interop::device(stream.clone())?, device.clone()] {
            interop::with_view(&device, &buffer, |view| {
                view.reshape(&[30, 20])?.t().to_tensor().map(drop)
            })?;
            interop::with_view_mut(&device, &mut buffer, |mut view| view.fill(1))?;
        }
        Ok(())
    });
}
