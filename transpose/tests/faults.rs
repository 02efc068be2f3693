//! Faults of the driver in every operation: at each of its calls, by each kind of answer. The operation ends with that answer as its
//! error, nothing is left, nothing is given back twice, and the device goes on, or is said to be lost. No GPU is needed: the driver
//! keeps the books and fails where it is told to, each test in a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use support::recording::{
    lose_at_each_call, recovers_from_each_failure, refuse, take_calls, take_mistakes,
    with_recording,
};
use transpose::{
    Batch, Device, DeviceMatrix, DeviceTensor, Error, Graph, InPlace, InPlacePlan, PinnedBuffer,
    Plan, PlanCache, Result, Strategy, TensorLayout, copy_all,
};

const OUT_OF_MEMORY: u32 = 2;
const LAUNCH_FAILED: u32 = 719;
const UNKNOWN_TO_ALL: u32 = 999_999;

/// An operation of the library, with what it needs.
type Operation = (&'static str, fn(&Device) -> Result<()>);

fn matrix(device: &Device) -> Result<DeviceMatrix<u32>> {
    DeviceMatrix::from_host(device, 30, 20, &[7; 600])
}

fn tensor(device: &Device) -> Result<DeviceTensor<u32>> {
    DeviceTensor::from_host(device, &[5, 6, 20], &[7; 600])
}

/// Every operation that asks the driver for something.
const OPERATIONS: &[Operation] = &[
    ("matrices are made, filled and read", |device| {
        let mut matrix = DeviceMatrix::from_host_with_ld(device, 30, 20, 24, &[7u32; 600])?;
        matrix.fill(3)?;
        matrix.copy_from_host(&[8; 600])?;
        matrix.copy_from_host_with_ld(&[8; 900], 30)?;
        matrix.copy_to_host(&mut [0; 600])?;
        matrix.copy_to_host_with_ld(&mut [0; 900], 30)?;
        matrix.try_clone()?.to_host()?;
        DeviceMatrix::<u8>::zeroed_with_ld(device, 3, 4, 1 << 32)?.to_host().map(drop)
    }),
    ("matrices are transposed", |device| {
        let src = matrix(device)?;
        for strategy in Strategy::ALL {
            src.transposed_with(*strategy)?;
        }
        src.view().submatrix(1..9, 2..7)?.transposed()?;
        let mut dst = DeviceMatrix::zeroed(device, 20, 30)?;
        src.copy_into(&mut matrix(device)?)?;
        let batch = Batch { count: 2, src_stride: 200, dst_stride: 200 };
        let halves = src.window(0, 10, 20, 20)?;
        halves.transpose_batched_into(dst.window_mut(0, 20, 10, 10)?, batch)?;
        src.transpose_into(&mut dst)
    }),
    ("windows are moved between host and device", |device| {
        let mut matrix = matrix(device)?;
        let mut window = matrix.submatrix_mut(1..9, 2..7)?;
        window.fill(1)?;
        window.copy_from_host(&[1; 40])?;
        window.copy_from_host_with_ld(&[1; 80], 10)?;
        let window = matrix.submatrix(1..9, 2..7)?;
        window.copy_to_host_with_ld(&mut [0; 80], 10)?;
        window.to_matrix()?;
        window.to_host().map(drop)
    }),
    ("matrices are transposed in place", |device| {
        matrix(device)?.transpose_in_place()?;
        DeviceMatrix::<u32>::zeroed(device, 64, 64)?.transpose_in_place()?;
        let mut large = DeviceMatrix::<f32>::zeroed(device, 3000, 2000)?;
        large.transpose_in_place()?;
        for algorithm in InPlace::ALL {
            match DeviceMatrix::<f32>::zeroed(device, 120, 90)?.transpose_in_place_with(*algorithm)
            {
                Err(Error::NotServed { .. }) => {}
                done => done?,
            }
        }
        let mut plan = InPlacePlan::measure(&mut large, InPlace::TwoStage, 2)?;
        plan.run(&mut large)?;
        let mut squares = DeviceMatrix::<u32>::zeroed(device, 8 * 16, 16)?;
        squares.view_mut().fill(1)?;
        squares.transpose_squares_in_place()
    }),
    ("structures and arrays change places", |device| {
        let mut fields = DeviceMatrix::<f32>::zeroed(device, 640, 4)?;
        fields.aos_to_soa()?;
        fields.soa_to_aos()?;
        fields.aos_to_asta(32)?;
        fields.asta_to_aos(4)
    }),
    ("complex numbers are conjugated", |device| {
        let mut matrix = DeviceMatrix::from_host(device, 30, 20, &[[1f32, 2.0]; 600])?;
        matrix.adjoint()?;
        matrix.conjugate_into(&mut DeviceMatrix::zeroed(device, 30, 20)?)?;
        matrix.conjugate_in_place()?;
        DeviceTensor::from_host(device, &[30, 20], &[[1f32, 2.0]; 600])?
            .view()
            .conjugated()
            .map(drop)
    }),
    ("arrays are made, filled and read", |device| {
        let mut tensor = tensor(device)?;
        tensor.fill(3)?;
        tensor.copy_from_host(&[8; 600])?;
        tensor.copy_to_host(&mut [0; 600])?;
        tensor.try_clone()?.to_host()?;
        let layout = TensorLayout::strided(&[20, 5], &[1, 40], 0, 4)?;
        DeviceTensor::from_host_strided(device, &[0u32; 200], &layout)?;
        let mut view = tensor.view_mut().slice(2, .., -3)?;
        view.fill(1)?;
        let len = view.len();
        view.copy_from_host(&vec![1; len])?;
        tensor.view().slice(0, 1.., 2)?.to_host().map(drop)
    }),
    ("axes change places", |device| {
        let src = tensor(device)?;
        for axes in [[2, 1, 0], [0, 2, 1], [1, 0, 2], [2, 0, 1]] {
            src.permuted(&axes)?;
        }
        src.view().slice(2, .., 2)?.to_tensor()?;
        src.view().slice(2, 3..4, 1)?.broadcast(&[5, 6, 4])?.to_tensor()?;
        let mut dst = [
            DeviceTensor::zeroed(device, &[20, 6, 5])?,
            DeviceTensor::zeroed(device, &[20, 6, 5])?,
        ];
        copy_all(dst.iter_mut().map(|dst| (src.view().t(), dst.view_mut())))
    }),
    ("plans are made, measured and run", |device| {
        let src = matrix(device)?;
        let mut dst = DeviceMatrix::zeroed(device, 20, 30)?;
        Plan::new(&src, &mut dst, Strategy::Auto)?.run(&src, &mut dst)?;
        let mut cache = PlanCache::in_memory();
        Plan::measure(&src, &mut dst, &mut cache)?.run(&src, &mut dst)?;
        for plan in Plan::candidates(&src, &mut dst)? {
            plan.run(&src, &mut dst)?;
        }
        let (src, mut dst) = (tensor(device)?, DeviceTensor::<u32>::zeroed(device, &[20, 6, 5])?);
        let plan = Plan::measure_moving(src.view().t(), &mut dst, &mut cache)?;
        plan.run(src.view().t(), &mut dst)
    }),
    ("streams wait for each other", |device| {
        let stream = device.new_stream()?;
        let src = matrix(device)?;
        let mut dst = DeviceMatrix::zeroed(&stream, 20, 30)?;
        src.transpose_into(&mut dst)?;
        dst.move_to_stream(device)?;
        stream.wait_for(device)?;
        let mut event = stream.record()?;
        device.wait(&event)?;
        event.is_done()?;
        event.record_again(device)?;
        event.synchronize()?;
        device.record()?.elapsed_since(&event)?;
        device.time(|| src.transpose_into(&mut dst))?;
        device.memory()?;
        device.synchronize()
    }),
    ("copies that nobody waits for", |device| {
        let mut buffer = PinnedBuffer::from_slice(device, &[7u32; 600])?;
        let mut matrix = matrix(device)?;
        matrix.upload_from(&buffer)?;
        matrix.view().download_into(&mut buffer)?;
        buffer.is_ready()?;
        buffer.read()?;
        buffer.write()?;
        let mut tensor = tensor(device)?;
        tensor.upload_from(&buffer)?;
        tensor.download_into(&mut buffer)?;
        let mut half = PinnedBuffer::<u32>::zeroed(device, 300)?;
        matrix.submatrix(.., ..10)?.download_into(&mut half)
    }),
    ("moves are captured and replayed", |device| {
        let src = tensor(device)?;
        let mut dst = DeviceTensor::zeroed(device, &[20, 6, 5])?;
        let graph = Graph::capture(device, [(src.view().t(), dst.view_mut())])?;
        graph.replay([(src.view().t(), dst.view_mut())])
    }),
];

fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Cuda { code, .. } => Some(*code),
        Error::Interrupted { source } => code_of(source),
        Error::OutOfMemory { .. } | Error::HostMemory { .. } => Some(OUT_OF_MEMORY),
        Error::NoDriver { reason, .. } => {
            reason.strip_prefix("cuInit answered ")?.split(':').next()?.parse().ok()
        }
        _ => None,
    }
}

/// The device goes on after every fault that is not its own.
fn recovers(code: u32) {
    let device = Device::cuda(0).unwrap();
    for (name, operation) in OPERATIONS {
        println!("{name}");
        let right = |error: &Error| code_of(error) == Some(code) && !error.is_sticky();
        recovers_from_each_failure(code, || operation(&device), right);
    }
}

#[test]
fn memory_runs_out_at_any_call() {
    with_recording("memory_runs_out_at_any_call", || recovers(OUT_OF_MEMORY));
}

#[test]
fn the_driver_answers_what_nobody_knows() {
    with_recording("the_driver_answers_what_nobody_knows", || recovers(UNKNOWN_TO_ALL));
}

/// From one call on nothing works any more: each operation says so, and gives back what it has, once.
#[test]
fn the_device_is_lost_at_any_call() {
    with_recording("the_device_is_lost_at_any_call", || {
        lose_at_each_call(LAUNCH_FAILED, || Device::cuda(0)?.synchronize(), code_of);
        // Here a device that was lost works again: it is lost at another call of another operation next.
        let device = Device::cuda(0).unwrap();
        for (name, operation) in OPERATIONS {
            println!("{name}");
            lose_at_each_call(LAUNCH_FAILED, || operation(&device), code_of);
        }
        drop(device);
        assert_eq!(take_mistakes(), [""; 0]);
    });
}

/// CUDA's own words for what cannot be undone, and for what can.
#[test]
fn a_lost_device_is_told_from_a_failure() {
    with_recording("a_lost_device_is_told_from_a_failure", || {
        let device = Device::cuda(0).unwrap();
        let answered = |code| {
            refuse("cuStreamSynchronize", code);
            device.synchronize().unwrap_err()
        };
        for lost in [214, 700, 702, 709, 710, 716, 719] {
            assert!(answered(lost).is_sticky(), "{lost}");
        }
        for not in [1, 2, 201, 400, 701, 720, 801, UNKNOWN_TO_ALL] {
            assert!(!answered(not).is_sticky(), "{not}");
        }
        let interrupted = Error::Interrupted { source: Box::new(answered(700)) };
        assert!(interrupted.is_sticky());
    });
}

/// What has failed is not asked for again: the failing call is the last but those that give back, wait or switch contexts.
#[test]
fn nothing_is_launched_after_a_failed_launch() {
    with_recording("nothing_is_launched_after_a_failed_launch", || {
        let device = Device::cuda(0).unwrap();
        let mut large = DeviceMatrix::<f32>::zeroed(&device, 3000, 2000).unwrap();
        large.transpose_in_place().unwrap();
        take_calls();
        refuse("cuLaunchKernelEx", LAUNCH_FAILED);
        assert!(large.transpose_in_place().unwrap_err().is_sticky());
        let calls = take_calls();
        let launches = calls.iter().filter(|call| call.starts_with("cuLaunch")).count();
        assert_eq!(launches, 1, "{calls:?}");
    });
}
