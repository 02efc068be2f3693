//! Tensors of DLPack, both ways: on the simulator through the host's memory, on a GPU where they are.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use transpose::interop::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    DlElement, FLAG_READ_ONLY, ForeignStream, Imported, Refusal, device_type, export, export_as,
    export_legacy, type_code, wait_for,
};
use transpose::interop::half::{bf16, f16};
use transpose::interop::num_complex::{Complex32, Complex64};
use transpose::{Device, DeviceTensor, Error, Result, TensorLayout};
use transpose_tests::on_both_devices;

on_both_devices! {
    tensors_come_back,
    strides_are_kept,
    memory_is_the_same,
    host_memory_of_any_strides,
    other_versions,
    tensors_that_are_none,
    other_elements,
    nothing_to_move,
    order_with_other_streams,
}

/// A managed tensor as another library makes one: it owns memory, and counts the calls of its deleter.
struct Producer {
    managed: DLManagedTensorVersioned,
    legacy: DLManagedTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    memory: Memory,
    freed: Arc<AtomicUsize>,
}

enum Memory {
    Host(Vec<u32>),
    Device(Box<DeviceTensor<u32>>),
}

impl Producer {
    /// Elements 0, 1, 2, … of which element `[0, …, 0]` is the one at `offset`; in the device's memory if it is a GPU.
    fn new(device: &Device, len: u32, shape: &[i64], strides: &[i64], offset: u64) -> Box<Self> {
        let elements: Vec<u32> = (0..len).collect();
        let memory = match device.cuda_ordinal() {
            Some(_) => {
                let tensor = DeviceTensor::from_host(device, &[elements.len()], &elements);
                Memory::Device(Box::new(tensor.unwrap()))
            }
            None => Memory::Host(elements),
        };
        Self::of(device, memory, shape, strides, offset)
    }

    fn of(
        device: &Device,
        memory: Memory,
        shape: &[i64],
        strides: &[i64],
        offset: u64,
    ) -> Box<Self> {
        let (data, ordinal) = match &memory {
            Memory::Host(elements) => (elements.as_ptr().cast_mut().cast(), None),
            Memory::Device(tensor) => {
                (tensor.device_address() as *mut c_void, device.cuda_ordinal())
            }
        };
        let device = match ordinal {
            Some(ordinal) => DLDevice { device_type: device_type::CUDA, device_id: ordinal as i32 },
            None => DLDevice { device_type: device_type::CPU, device_id: 0 },
        };
        let mut producer = Box::new(Producer {
            managed: DLManagedTensorVersioned {
                version: DLPackVersion { major: 1, minor: 7 },
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(delete),
                flags: 0,
                dl_tensor: DLTensor {
                    data,
                    device,
                    ndim: shape.len() as i32,
                    dtype: u32::DATA_TYPE,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: 4 * offset,
                },
            },
            legacy: DLManagedTensor {
                dl_tensor: DLTensor {
                    data,
                    device,
                    ndim: 0,
                    dtype: u32::DATA_TYPE,
                    shape: std::ptr::null_mut(),
                    strides: std::ptr::null_mut(),
                    byte_offset: 0,
                },
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(delete_legacy),
            },
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            memory,
            freed: Arc::default(),
        });
        let tensor = &mut producer.managed.dl_tensor;
        tensor.shape = producer.shape.as_mut_ptr();
        if !strides.is_empty() {
            tensor.strides = producer.strides.as_mut_ptr();
        }
        producer.legacy.dl_tensor = *tensor;
        producer
    }

    fn freed(&self) -> Arc<AtomicUsize> {
        self.freed.clone()
    }

    /// Gives the tensor away, versioned.
    fn import(mut self: Box<Self>, device: &Device) -> Result<Imported> {
        self.managed.manager_ctx = std::ptr::from_mut(&mut *self).cast();
        let producer = Box::leak(self);
        // SAFETY: the tensor is one, its memory lives until the deleter is called, and nobody else has it.
        unsafe { Imported::from_raw(device, &raw mut producer.managed) }
    }

    /// Gives the tensor away as before DLPack 1.
    fn import_legacy(mut self: Box<Self>, device: &Device) -> Result<Imported> {
        self.legacy.manager_ctx = std::ptr::from_mut(&mut *self).cast();
        let producer = Box::leak(self);
        // SAFETY: as above.
        unsafe { Imported::from_raw_legacy(device, &raw mut producer.legacy) }
    }
}

unsafe extern "C" fn delete(managed: *mut DLManagedTensorVersioned) {
    // SAFETY: the context is the box that `import` leaked.
    let producer = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Producer>()) };
    free(*producer);
}

unsafe extern "C" fn delete_legacy(managed: *mut DLManagedTensor) {
    // SAFETY: the context is the box that `import_legacy` leaked.
    let producer = unsafe { Box::from_raw((*managed).manager_ctx.cast::<Producer>()) };
    free(*producer);
}

fn free(producer: Producer) {
    producer.freed.fetch_add(1, Ordering::SeqCst);
    if let Memory::Host(mut elements) = producer.memory {
        // Whoever still reads it sees that.
        elements.fill(!0);
    }
}

fn count(freed: &AtomicUsize) -> usize {
    freed.load(Ordering::SeqCst)
}

fn tensors_come_back(device: &Device) {
    fn round_trip<T: DlElement + PartialEq + std::fmt::Debug>(
        device: &Device,
        element: impl Fn(u8) -> T,
    ) {
        let elements: Vec<T> = (0..60).map(element).collect();
        for legacy in [false, true] {
            let tensor = DeviceTensor::from_host(device, &[3, 4, 5], &elements).unwrap();
            // SAFETY: the tensors were just exported, and nobody else has them.
            let imported = unsafe {
                match legacy {
                    true => {
                        let managed = export_legacy(tensor, ForeignStream::LEGACY).unwrap();
                        Imported::from_raw_legacy(device, managed.as_ptr()).unwrap()
                    }
                    false => {
                        let managed = export(tensor, ForeignStream::LEGACY).unwrap();
                        Imported::from_raw(device, managed.as_ptr()).unwrap()
                    }
                }
            };
            assert_eq!(
                (imported.shape(), imported.strides()),
                ([3, 4, 5].as_slice(), [20, 5, 1].as_slice())
            );
            assert_eq!((imported.data_type(), imported.is_read_only()), (T::DATA_TYPE, false));
            assert_eq!(
                (imported.is_reached(), imported.is_copied()),
                (device.is_gpu(), !legacy && !device.is_gpu())
            );
            let tensor = imported.to_tensor::<T>().unwrap();
            drop(imported);
            assert_eq!(tensor.to_host().unwrap(), elements);
        }
    }
    round_trip(device, |n| n as i8);
    round_trip(device, u64::from);
    round_trip(device, |n| -i32::from(n));
    round_trip(device, |n| f64::from(n) / 8.0);
    round_trip(device, |n| f16::from_f32(n.into()));
    round_trip(device, |n| bf16::from_f32(n.into()));
    round_trip(device, |n| Complex32::new(n.into(), -1.0));
    round_trip(device, |n| Complex64::new(n.into(), -1.0));
}

/// A view of any strides, negative and 0 ones too, is exported and imported with them on a GPU.
fn strides_are_kept(device: &Device) {
    let elements: Vec<u16> = (0..24).collect();
    let tensor = DeviceTensor::from_host(device, &[4, 6], &elements).unwrap();
    let layout = TensorLayout::strided(&[3, 2], &[-1, 12], 4, 2).unwrap();
    let tensor = DeviceTensor::<u16>::from_allocation(tensor.into_allocation(), layout).unwrap();
    let managed = export(tensor, ForeignStream::UNORDERED).unwrap();
    // SAFETY: as above.
    let imported = unsafe { Imported::from_raw(device, managed.as_ptr()).unwrap() };
    let strides = if device.is_gpu() { [-1, 12] } else { [2, 1] };
    assert_eq!((imported.shape(), imported.strides()), ([3, 2].as_slice(), strides.as_slice()));
    assert_eq!(imported.to_tensor::<u16>().unwrap().to_host().unwrap(), [4, 16, 3, 15, 2, 14]);
}

/// A GPU's memory is used where it is, read and written; the simulator says that it does not reach it.
fn memory_is_the_same(device: &Device) {
    let producer = Producer::new(device, 24, &[2, 3, 4], &[], 0);
    let freed = producer.freed();
    let address = producer.managed.dl_tensor.data.addr() as u64;
    let mut imported = producer.import(device).unwrap();
    if !device.is_gpu() {
        let memory = DLDevice { device_type: device_type::CPU, device_id: 0 };
        let refused = imported.view::<u32>();
        assert!(
            matches!(refused, Err(Error::DlPack(Refusal::Memory { device })) if device == memory)
        );
        assert!(imported.view_mut::<u32>().is_err());
        return;
    }
    let view = imported.view::<u32>().unwrap();
    assert_eq!(view.device_address(), address);
    let turned = view.permuted(&[2, 0, 1]).unwrap();
    turned.copy_into(imported.view_mut::<u32>().unwrap().reshape(&[4, 2, 3]).unwrap()).unwrap();
    let written = imported.to_tensor::<u32>().unwrap();
    // SAFETY: the test's deleter frees in the order of the device's queue.
    unsafe { imported.release_on(ForeignStream::LEGACY).unwrap() };
    assert_eq!(count(&freed), 1);
    let expected: Vec<u32> = (0..4).flat_map(|k| (0..6).map(move |ij| ij * 4 + k)).collect();
    assert_eq!(turned.to_host().unwrap(), expected);
    assert_eq!(written.to_host().unwrap(), expected);
}

fn host_memory_of_any_strides(device: &Device) {
    let cases: [(&[i64], &[i64], u64); 6] = [
        (&[2, 3, 4], &[], 0),
        (&[4, 3, 2], &[1, 4, 12], 0),
        (&[3, 2], &[7, 2], 5),
        (&[3, 4], &[-8, -2], 23),
        (&[2, 0, 3], &[9, 9, 9], 0),
        (&[5, 4], &[0, 6], 1),
    ];
    for (shape, strides, offset) in cases {
        for legacy in [false, true] {
            let elements = Memory::Host((0..24).collect());
            let producer = Producer::of(device, elements, shape, strides, offset);
            let freed = producer.freed();
            let imported =
                if legacy { producer.import_legacy(device) } else { producer.import(device) }
                    .unwrap();
            let tensor = imported.to_tensor::<u32>().unwrap();
            assert_eq!(count(&freed), 0);
            drop(imported);
            assert_eq!(count(&freed), 1);
            let mut expected = vec![offset as i64];
            for (axis, &length) in shape.iter().enumerate() {
                let stride = strides
                    .get(axis)
                    .copied()
                    .unwrap_or_else(|| shape[axis + 1..].iter().product());
                let next = |&at: &i64| (0..length).map(move |index| at + index * stride);
                expected = expected.iter().flat_map(next).collect();
            }
            let actual: Vec<i64> = tensor.to_host().unwrap().into_iter().map(i64::from).collect();
            assert_eq!(actual, expected, "{shape:?} {strides:?}");
        }
    }
}

fn other_versions(device: &Device) {
    let mut producer = Producer::new(device, 1, &[1], &[1], 0);
    producer.managed.version.major = 2;
    // Nothing else may be looked at.
    producer.managed.dl_tensor.ndim = -1;
    let freed = producer.freed();
    let refused = producer.import(device);
    assert!(matches!(refused, Err(Error::DlPack(Refusal::Version { major: 2, .. }))));
    assert_eq!(count(&freed), 1);
}

fn tensors_that_are_none(device: &Device) {
    let refused = |change: fn(&mut Producer), expected: fn(&Error) -> bool| {
        let mut producer = Producer::new(device, 4, &[2, 2], &[2, 1], 0);
        let freed = producer.freed();
        change(&mut producer);
        let error = producer.import(device).unwrap_err();
        assert!(expected(&error), "{error}");
        assert_eq!(count(&freed), 1);
    };
    let malformed = |error: &Error| matches!(error, Error::DlPack(Refusal::Malformed { .. }));
    let overflow = |error: &Error| matches!(error, Error::TensorSizeOverflow { .. });
    refused(|of| of.managed.dl_tensor.ndim = -1, malformed);
    refused(|of| of.shape[1] = -2, malformed);
    refused(|of| of.managed.dl_tensor.shape = std::ptr::null_mut(), malformed);
    refused(|of| of.managed.dl_tensor.data = std::ptr::null_mut(), malformed);
    refused(|of| of.managed.dl_tensor.byte_offset = u64::MAX, malformed);
    refused(|of| of.shape[0] = i64::MAX, overflow);
    refused(|of| of.strides[0] = i64::MIN, overflow);
    refused(|of| of.strides[0] = i64::MAX, overflow);
    refused(
        |of| of.managed.dl_tensor.dtype.bits = 4,
        |error| matches!(error, Error::DlPack(Refusal::DataType { .. })),
    );
    // SAFETY: null is refused.
    let null = unsafe { Imported::from_raw(device, std::ptr::null_mut()) };
    assert!(malformed(&null.unwrap_err()));
    // No deleter is none to call.
    let mut producer = Producer::new(device, 1, &[1], &[1], 0);
    producer.managed.deleter = None;
    let freed = producer.freed();
    drop(producer.import(device).unwrap());
    assert_eq!(count(&freed), 0);
    // Memory of another device.
    let mut producer = Producer::new(device, 1, &[1], &[1], 0);
    producer.managed.dl_tensor.device = DLDevice { device_type: device_type::CUDA, device_id: 99 };
    let imported = producer.import(device).unwrap();
    assert!(matches!(imported.to_tensor::<u32>(), Err(Error::DlPack(Refusal::Memory { .. }))));
}

fn other_elements(device: &Device) {
    let mut imported = {
        let mut producer = Producer::new(device, 4, &[2, 2], &[], 0);
        producer.managed.flags = FLAG_READ_ONLY;
        producer.import(device).unwrap()
    };
    assert!(imported.is_read_only());
    let found = u32::DATA_TYPE;
    let refusal = |error: Error| matches!(error, Error::DlPack(Refusal::DataType { found: of }) if of == found);
    assert!(imported.to_tensor::<f32>().is_err_and(refusal));
    assert!(imported.to_tensor_bits::<u64>().is_err_and(refusal));
    assert_eq!(imported.to_tensor_bits::<[u8; 4]>().unwrap().to_host().unwrap()[3], [3, 0, 0, 0]);
    if device.is_gpu() {
        assert!(matches!(imported.view_mut::<u32>(), Err(Error::DlPack(Refusal::ReadOnly))));
    }
    // Truth values, and elements of several lanes, are moved as bits and keep their name.
    let vectors = DLDataType { code: type_code::FLOAT, bits: 32, lanes: 2 };
    let tensor = DeviceTensor::from_host(device, &[2], &[5u64, 6]).unwrap();
    let managed = export_as(tensor, vectors, ForeignStream::LEGACY).unwrap();
    // SAFETY: as above.
    let imported = unsafe { Imported::from_raw(device, managed.as_ptr()).unwrap() };
    assert_eq!(imported.data_type(), vectors);
    assert_eq!(imported.to_tensor_bits::<u64>().unwrap().to_host().unwrap(), [5, 6]);
    let tensor = DeviceTensor::from_host(device, &[2], &[1u8, 0]).unwrap();
    assert!(export_as(tensor, vectors, ForeignStream::LEGACY).is_err());
    let tensor = DeviceTensor::from_host(device, &[2], &[1u8, 0]).unwrap();
    let managed = export_as(tensor, DLDataType::BOOL, ForeignStream::LEGACY).unwrap();
    // SAFETY: the deleter is called once.
    unsafe { managed.as_ref().deleter.unwrap()(managed.as_ptr()) };
}

fn nothing_to_move(device: &Device) {
    let tensor = DeviceTensor::<f32>::zeroed(device, &[3, 0]).unwrap();
    let managed = export(tensor, ForeignStream::LEGACY).unwrap();
    // SAFETY: as above.
    unsafe { assert!(managed.as_ref().dl_tensor.data.is_null()) };
    // SAFETY: as above.
    let imported = unsafe { Imported::from_raw(device, managed.as_ptr()).unwrap() };
    assert_eq!(imported.to_tensor::<f32>().unwrap().shape(), [3, 0]);
    // A tensor without axes.
    let number = Producer::new(device, 1, &[], &[], 0).import(device).unwrap();
    assert_eq!(number.to_tensor::<u32>().unwrap().to_host().unwrap(), [0]);
}

fn order_with_other_streams(device: &Device) {
    for consumer in [ForeignStream::LEGACY, ForeignStream::PER_THREAD, ForeignStream::UNORDERED] {
        wait_for(device, consumer).unwrap();
        let tensor = DeviceTensor::from_host(device, &[2, 2], &[1u32, 2, 3, 4]).unwrap();
        let managed = export(tensor.transposed().unwrap(), consumer).unwrap();
        // SAFETY: as above.
        let imported = unsafe { Imported::from_raw(device, managed.as_ptr()).unwrap() };
        assert_eq!(imported.to_tensor::<u32>().unwrap().to_host().unwrap(), [1, 3, 2, 4]);
    }
}
