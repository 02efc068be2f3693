//! The streams and the memory of cust and cudarc, and of whoever takes tensors by DLPack, beside this library's: which calls of the driver
//! order them, on a driver that keeps the books, and results, on a GPU.
#![cfg(target_os = "linux")]

#[path = "../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use ::cudarc::driver::{CudaContext, CudaStream};
use ::cust::memory::{CopyDestination, DeviceBuffer};
use ::cust::stream::{Stream, StreamFlags};
use std::sync::Arc;
use support::recording::{
    FOREIGN, contexts, fail, live, refuse, set_current, take_calls, take_events, take_log,
    with_recording,
};
use transpose::interop::dlpack::{ForeignStream, export};
use transpose::interop::{cudarc, cust};
use transpose::{Device, DeviceTensor, Error};
use transpose_tests::Element;

const ROWS: usize = 300;
const COLS: usize = 200;

fn elements(salt: u64) -> Vec<u32> {
    (0..ROWS * COLS).map(|index| u32::scrambled(index, salt)).collect()
}

fn transposed(elements: &[u32]) -> Vec<u32> {
    (0..ROWS * COLS).map(|at| elements[at % ROWS * COLS + at / ROWS]).collect()
}

/// Which streams were put in order since the last time: `(first, then)`.
fn orders() -> Vec<(u64, u64)> {
    let events = take_events();
    let waits = events.iter().enumerate().filter(|(_, (what, _, _))| what == "wait");
    let order = |(at, (_, event, then)): (usize, &(String, u64, u64))| {
        let recorded = |(what, of, _): &&(String, u64, u64)| what == "record" && of == event;
        let first = events[..at].iter().rfind(recorded).map(|(_, _, first)| *first);
        (first.unwrap_or(0), *then)
    };
    waits.map(order).collect()
}

/// Those between two streams: cudarc also waits for the events of its own slices.
fn of_two_streams() -> Vec<(u64, u64)> {
    orders().into_iter().filter(|(first, then)| first != then && *first != 0).collect()
}

fn raw(device: &Device) -> u64 {
    device.cuda_stream().unwrap() as u64
}

fn cust_stream() -> Arc<Stream> {
    Arc::new(Stream::new(StreamFlags::DEFAULT, None).unwrap())
}

/// `CU_STREAM_LEGACY`.
const DEFAULT: u64 = 1;

#[test]
fn a_device_keeps_the_stream_of_cust() {
    with_recording("a_device_keeps_the_stream_of_cust", || {
        let context = ::cust::quick_init().unwrap();
        let stream = cust_stream();
        let device = cust::device(stream.clone()).unwrap();
        assert_eq!(cust::stream(&device), Some(stream.as_inner()));
        assert_eq!(cust::context(&device), Some(context.as_raw()));
        let tensor = DeviceTensor::<u32>::zeroed(&device, &[30, 20]).unwrap();
        drop((stream, device, context));
        assert!(live().contains(&"stream".to_owned()));
        drop(tensor);
        assert_eq!(live(), [""; 0]);
    });
}

#[test]
fn buffers_of_cust_are_lent_in_order() {
    with_recording("buffers_of_cust_are_lent_in_order", || {
        let _context = ::cust::quick_init().unwrap();
        let device = cust::device(cust_stream()).unwrap();
        let mut buffer = DeviceBuffer::from_slice(&[0u32; 600]).unwrap();
        take_events();
        let both_ways = [(DEFAULT, raw(&device)), (raw(&device), DEFAULT)];
        let shape = cust::with_view(&device, &buffer, |view| Ok(view.shape().to_vec())).unwrap();
        assert_eq!(shape, [600]);
        assert_eq!(orders(), both_ways);
        cust::with_view_mut(&device, &mut buffer, |_| Ok(())).unwrap();
        assert_eq!(orders(), both_ways);
        // Also if it fails, or panics.
        let refused = Error::ElementSize { bytes: 0 };
        cust::with_view(&device, &buffer, |_| Err::<(), _>(refused)).unwrap_err();
        assert_eq!(orders(), both_ways);
        let lent = std::panic::AssertUnwindSafe(|| {
            let _ = cust::with_view::<u32, ()>(&device, &buffer, |_| panic!("while it is lent"));
        });
        std::panic::catch_unwind(lent).unwrap_err();
        assert_eq!(orders(), both_ways);
        let elsewhere = Device::simulated();
        let refused = cust::with_view(&elsewhere, &buffer, |_| Ok(()));
        assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
    });
}

/// Memory of a pool goes at once, or on any stream: what uses it is waited for before its owner has it back.
#[test]
fn buffers_of_cust_in_pools_are_waited_for() {
    with_recording("buffers_of_cust_in_pools_are_waited_for", || {
        let _context = ::cust::quick_init().unwrap();
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        let device = Device::cuda(0).unwrap();
        // SAFETY: it is synchronized with at once.
        let mut buffer = unsafe { DeviceBuffer::from_slice_async(&[1u32; 600], &stream) }.unwrap();
        stream.synchronize().unwrap();
        let waits_behind = |work: &str| {
            let calls = take_calls();
            let last = |name| calls.iter().rposition(|call| call == name);
            assert!(last("cuStreamSynchronize") > last(work), "{work}: {calls:?}");
            assert_eq!(orders(), [(DEFAULT, raw(&device))]);
        };
        take_calls();
        take_events();
        let copy = cust::with_view(&device, &buffer, |view| view.to_tensor()).unwrap();
        waits_behind("cuMemcpyDtoDAsync_v2");
        cust::with_view_mut(&device, &mut buffer, |mut view| view.fill(1)).unwrap();
        waits_behind("cuLaunchKernelEx");
        let lent = std::panic::AssertUnwindSafe(|| {
            let _ = cust::with_view::<u32, ()>(&device, &buffer, |view| {
                view.copy_into(&mut DeviceTensor::zeroed(&device, &[600])?)?;
                panic!("while it is lent")
            });
        });
        std::panic::catch_unwind(lent).unwrap_err();
        waits_behind("cuMemcpyDtoDAsync_v2");
        drop(copy);
    });
}

#[test]
fn slices_of_cust_lie_together() {
    with_recording("slices_of_cust_lie_together", || {
        let _context = ::cust::quick_init().unwrap();
        let device = Device::cuda(0).unwrap();
        let tensor = DeviceTensor::<u32>::zeroed(&device, &[30, 20]).unwrap();
        // SAFETY: nothing is done with the slices.
        unsafe {
            let slice = cust::slice(tensor.view()).unwrap();
            assert_eq!(slice.as_device_ptr().as_raw(), tensor.device_address());
            assert_eq!(slice.len(), 600);
            let refused = cust::slice(tensor.view().t());
            assert!(matches!(refused, Err(Error::Reshape { .. })), "{refused:?}");
            let refused = cust::slice(tensor.view().slice(1, ..1, 1).unwrap());
            assert!(matches!(refused, Err(Error::NotAMatrix { .. })), "{refused:?}");
        }
    });
}

fn cudarc_stream() -> Arc<CudaStream> {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

#[test]
fn a_device_keeps_the_stream_of_cudarc() {
    with_recording("a_device_keeps_the_stream_of_cudarc", || {
        let stream = cudarc_stream();
        let device = cudarc::device(stream.clone()).unwrap();
        assert_eq!(device.cuda_stream(), Some(stream.cu_stream().cast()));
        assert_eq!(device.cuda_context(), Some(stream.context().cu_ctx().cast()));
        let tensor = DeviceTensor::<u32>::zeroed(&device, &[30, 20]).unwrap();
        drop((stream, device));
        assert!(live().contains(&"stream".to_owned()));
        drop(tensor);
        assert_eq!(live(), [""; 0]);
    });
}

/// On one stream nothing waits for anything; on two each waits for the other.
#[test]
fn slices_of_cudarc_are_lent_in_order() {
    with_recording("slices_of_cudarc_are_lent_in_order", || {
        let stream = cudarc_stream();
        let (here, beside) = (cudarc::device(stream.clone()).unwrap(), Device::cuda(0).unwrap());
        let theirs = stream.cu_stream() as u64;
        let mut slice = stream.alloc_zeros::<u32>(600).unwrap();
        for device in [here, beside] {
            let other = raw(&device);
            let expected = match other == theirs {
                true => Vec::new(),
                false => vec![(theirs, other), (other, theirs)],
            };
            take_events();
            let len = cudarc::with_view(&device, slice.as_view(), |view| Ok(view.len())).unwrap();
            assert_eq!(len, 600);
            assert_eq!(of_two_streams(), expected);
            let part = slice.slice_mut(100..300);
            let len = cudarc::with_view_mut(&device, part, |view| Ok(view.len())).unwrap();
            assert_eq!(len, 200);
            assert_eq!(of_two_streams(), expected);
        }
        let elsewhere = Device::simulated();
        let refused = cudarc::with_view(&elsewhere, slice.as_view(), |_| Ok(()));
        assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
    });
}

/// Memory of this library as a view of cudarc: nothing is freed twice, and cudarc's stream comes in between.
#[test]
fn tensors_are_lent_to_cudarc() {
    with_recording("tensors_are_lent_to_cudarc", || {
        let stream = cudarc_stream();
        let device = Device::cuda(0).unwrap();
        let (ours, theirs) = (raw(&device), stream.cu_stream() as u64);
        let mut tensor = DeviceTensor::<u32>::zeroed(&device, &[30, 20]).unwrap();
        let before = live();
        take_events();
        let len = cudarc::with_cuda_view(tensor.view(), &stream, |view| Ok(view.len())).unwrap();
        assert_eq!(len, 600);
        let expected = [(ours, theirs), (theirs, ours)];
        assert_eq!(of_two_streams(), expected);
        take_calls();
        cudarc::with_cuda_view_mut(tensor.view_mut(), &stream, |mut view| {
            Ok(stream.memset_zeros(&mut view)?)
        })
        .unwrap();
        assert!(!take_calls().contains(&"cuMemFreeAsync".to_owned()));
        assert_eq!(of_two_streams(), expected);
        assert_eq!(live(), before);
        let apart = cudarc::with_cuda_view(tensor.view().t(), &stream, |_| Ok(()));
        assert!(matches!(apart, Err(Error::Reshape { .. })), "{apart:?}");
        let lent = std::panic::AssertUnwindSafe(|| {
            let _ = cudarc::with_cuda_view::<_, ()>(tensor.view(), &stream, |_| panic!("lent"));
        });
        std::panic::catch_unwind(lent).unwrap_err();
        assert_eq!(of_two_streams(), expected);
        assert_eq!(live(), before);
    });
}

/// What other streams of cudarc do with a view that is lent comes after the stream that it is lent to, and so after the library's.
#[test]
fn lent_tensors_are_in_order_with_every_stream_of_cudarc() {
    with_recording("lent_tensors_are_in_order_with_every_stream_of_cudarc", || {
        let context = CudaContext::new(0).unwrap();
        let [first, second] = [(); 2].map(|()| context.new_stream().unwrap());
        let device = Device::cuda(0).unwrap();
        let mut tensor = DeviceTensor::<u32>::zeroed(&device, &[600]).unwrap();
        let [ours, theirs, other] =
            [raw(&device), first.cu_stream() as u64, second.cu_stream() as u64];
        let chain = [(ours, theirs), (theirs, other), (other, theirs), (theirs, ours)];
        take_events();
        cudarc::with_cuda_view(tensor.view(), &first, |view| Ok(second.clone_dtoh(&view)?))
            .unwrap();
        assert_eq!(of_two_streams(), chain);
        cudarc::with_cuda_view_mut(tensor.view_mut(), &first, |mut view| {
            Ok(second.memset_zeros(&mut view)?)
        })
        .unwrap();
        assert_eq!(of_two_streams(), chain);
        // A view whose order other streams cannot be told is not lent.
        take_log();
        let told = cudarc::with_cuda_view(tensor.view(), &first, |_| {
            Ok(take_log().iter().rposition(|call| call.starts_with("cuEventRecord")).unwrap())
        });
        fail(told.unwrap(), 2);
        let lent = cudarc::with_cuda_view::<_, ()>(tensor.view(), &first, |_| unreachable!());
        assert!(matches!(lent, Err(Error::Cuda { code: 2, .. })), "{lent:?}");
    });
}

/// cudarc makes its context the current one.
#[test]
fn what_is_lent_by_cudarc_leaves_the_current_context() {
    with_recording("what_is_lent_by_cudarc_leaves_the_current_context", || {
        let stream = cudarc_stream();
        let (here, beside) = (cudarc::device(stream.clone()).unwrap(), Device::cuda(0).unwrap());
        let mut slice = stream.alloc_zeros::<u32>(600).unwrap();
        for device in [here, beside] {
            let mut tensor = DeviceTensor::<u32>::zeroed(&device, &[600]).unwrap();
            for (given, left) in [(FOREIGN, (1, FOREIGN)), (0, (0, 0))] {
                set_current(given);
                cudarc::with_view(&device, slice.as_view(), |_| Ok(())).unwrap();
                assert_eq!(contexts(), left);
                cudarc::with_view_mut(&device, slice.as_view_mut(), |_| Ok(())).unwrap();
                assert_eq!(contexts(), left);
                cudarc::with_cuda_view(tensor.view(), &stream, |_| Ok(())).unwrap();
                assert_eq!(contexts(), left);
                cudarc::with_cuda_view_mut(tensor.view_mut(), &stream, |_| Ok(())).unwrap();
                assert_eq!(contexts(), left);
            }
        }
    });
}

/// A tensor that was given away goes when its consumer is done with it, whether or not the streams can be put in order; else it stays.
#[test]
fn exported_memory_is_freed_behind_its_consumer() {
    with_recording("exported_memory_is_freed_behind_its_consumer", || {
        let device = Device::cuda(0).unwrap();
        let freed = |stream, refused: &str| {
            let tensor = DeviceTensor::from_host(&device, &[4], &[1u32, 2, 3, 4]).unwrap();
            let managed = export(tensor, stream).unwrap();
            take_log();
            refuse(refused, 2);
            // SAFETY: it was just exported; nobody else has it.
            unsafe { (managed.as_ref().deleter.unwrap())(managed.as_ptr()) };
            refuse("", 0);
            let log = take_log();
            let first = |name| log.iter().position(|call| call.starts_with(name));
            (first("cuCtxSynchronize"), first("cuMemFreeAsync"))
        };
        let (waited, free) = freed(ForeignStream::LEGACY, "");
        assert!(waited.is_none() && free.is_some());
        for refused in ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"] {
            let (waited, free) = freed(ForeignStream::LEGACY, refused);
            assert!(waited.is_some() && waited < free, "{refused}: {waited:?}, {free:?}");
        }
        let (waited, free) = freed(ForeignStream::PER_THREAD, "cuCtxSynchronize");
        assert!(waited.is_some() && free.is_none(), "{waited:?}, {free:?}");
        assert!(live().contains(&"pool memory".to_owned()));
    });
}

mod gpu {
    use super::*;

    #[test]
    fn cust_and_this_library_on_one_stream() {
        if transpose_tests::gpu().is_none() {
            return;
        }
        let _context = ::cust::quick_init().unwrap();
        for device in [cust::device(cust_stream()).unwrap(), Device::cuda(0).unwrap()] {
            for round in 0..20 {
                let host = elements(round);
                let src = DeviceBuffer::from_slice(&host).unwrap();
                let mut dst = DeviceBuffer::from_slice(&vec![0; host.len()]).unwrap();
                cust::with_view(&device, &src, |src| {
                    cust::with_view_mut(&device, &mut dst, |dst| {
                        let src = src.reshape(&[ROWS, COLS])?;
                        src.t().copy_into(dst.reshape(&[COLS, ROWS])?)
                    })
                })
                .unwrap();
                drop(src);
                let mut back = vec![0; host.len()];
                dst.copy_to(&mut back).unwrap();
                assert!(back == transposed(&host));
            }
            let tensor = DeviceTensor::from_host(&device, &[ROWS, COLS], &elements(7)).unwrap();
            device.synchronize().unwrap();
            let mut back = vec![0; ROWS * COLS];
            // SAFETY: the tensor lives, its work is done, and the copy waits.
            unsafe { cust::slice(tensor.view()) }.unwrap().copy_to(&mut back).unwrap();
            assert!(back == elements(7));
        }
    }

    #[test]
    fn cudarc_and_this_library_on_one_stream_and_on_two() {
        if transpose_tests::gpu().is_none() {
            return;
        }
        let context = CudaContext::new(0).unwrap();
        let streams =
            [context.new_stream().unwrap(), context.default_stream(), context.per_thread_stream()];
        for stream in streams {
            for device in [cudarc::device(stream.clone()).unwrap(), Device::cuda(0).unwrap()] {
                for round in 0..20 {
                    there_and_back(&device, &stream, round);
                }
            }
        }
    }

    fn there_and_back(device: &Device, stream: &Arc<CudaStream>, round: u64) {
        let host = elements(round);
        let src = stream.clone_htod(&host).unwrap();
        let mut dst = stream.alloc_zeros::<u32>(host.len()).unwrap();
        cudarc::with_view(device, src.as_view(), |src| {
            cudarc::with_view_mut(device, dst.as_view_mut(), |dst| {
                src.reshape(&[ROWS, COLS])?.t().copy_into(dst.reshape(&[COLS, ROWS])?)
            })
        })
        .unwrap();
        drop(src);
        assert!(stream.clone_dtoh(&dst).unwrap() == transposed(&host));
        let mut tensor = DeviceTensor::<u32>::zeroed(device, &[ROWS, COLS]).unwrap();
        cudarc::with_cuda_view_mut(tensor.view_mut(), stream, |mut view| {
            Ok(stream.memcpy_htod(&host, &mut view)?)
        })
        .unwrap();
        let turned = tensor.transposed().unwrap();
        drop(tensor);
        let back =
            cudarc::with_cuda_view(turned.view(), stream, |view| Ok(stream.clone_dtoh(&view)?));
        assert!(back.unwrap() == transposed(&host));
    }

    /// The default stream of each thread is another stream in each thread.
    #[test]
    fn default_streams_of_two_threads() {
        if transpose_tests::gpu().is_none() {
            return;
        }
        let context = CudaContext::new(0).unwrap();
        let device = cudarc::device(context.per_thread_stream()).unwrap();
        for round in 0..20 {
            let host = elements(round);
            let mut tensor = DeviceTensor::from_host(&device, &[ROWS, COLS], &host).unwrap();
            for _ in 0..4 {
                tensor = std::thread::spawn(move || tensor.transposed().unwrap()).join().unwrap();
            }
            assert!(tensor.to_host().unwrap() == host);
        }
    }
}
