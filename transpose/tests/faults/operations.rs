//! Operations on one device.

use transpose::raw::{self, Grid, Image, Params};
use transpose::{
    Allocation, Batch, Device, DeviceMatrix, DeviceTensor, Error, Graph, InPlace, InPlaceOptions,
    InPlacePlan, PinnedBuffer, Plan, PlanCache, Result, Strategy, TensorLayout, copy_all,
};

/// An operation of the library, with what it needs: what it is, and how it goes, on a device or on two.
pub type Operation = (&'static str, fn(&Device, &Device) -> Result<()>);

fn matrix(device: &Device) -> Result<DeviceMatrix<u32>> {
    DeviceMatrix::from_host(device, 30, 20, &[7; 600])
}

fn tensor(device: &Device) -> Result<DeviceTensor<u32>> {
    DeviceTensor::from_host(device, &[5, 6, 20], &[7; 600])
}

/// Of matrices, arrays, plans, streams, copies and graphs on one device.
pub const OPERATIONS: &[Operation] = &[
    ("matrices are made, filled and read", |device, _| {
        let mut matrix = DeviceMatrix::from_host_with_ld(device, 30, 20, 24, &[7u32; 600])?;
        matrix.fill(3)?;
        matrix.copy_from_host(&[8; 600])?;
        matrix.copy_from_host_with_ld(&[8; 900], 30)?;
        matrix.copy_to_host(&mut [0; 600])?;
        matrix.copy_to_host_with_ld(&mut [0; 900], 30)?;
        matrix.try_clone()?.to_host()?;
        DeviceMatrix::<u8>::zeroed_with_ld(device, 3, 4, 1 << 32)?.to_host().map(drop)
    }),
    ("matrices are transposed", |device, _| {
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
        let mut plan = Plan::batched(halves, dst.window_mut(0, 20, 10, 10)?, batch)?;
        plan.run(halves, dst.window_mut(0, 20, 10, 10)?)?;
        src.view().transpose_into_with(&mut dst, Strategy::Padded)?;
        plan = Plan::copy(&src, &mut matrix(device)?)?;
        plan.run(&src, &mut matrix(device)?)?;
        src.transpose_into(&mut dst)
    }),
    ("windows are moved between host and device", |device, _| {
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
    ("matrices are transposed in place", |device, _| {
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
        squares.transpose_squares_in_place()?;
        let mut plan =
            InPlacePlan::with_options(&large, InPlace::Auto, &InPlaceOptions::default())?;
        plan.run_step_by_step(&mut large).map(drop)
    }),
    ("structures and arrays change places", |device, _| {
        let mut fields = DeviceMatrix::<f32>::zeroed(device, 640, 4)?;
        fields.aos_to_soa()?;
        fields.soa_to_aos()?;
        fields.aos_to_asta(32)?;
        fields.asta_to_aos(4)?;
        let options = InPlaceOptions::default();
        fields.aos_to_asta_with(32, &options)?;
        fields.asta_to_soa(4)?;
        fields.soa_to_asta(32)?;
        fields.asta_to_soa(4)?;
        fields.soa_to_asta_with(32, &options)
    }),
    ("complex numbers are conjugated", |device, _| {
        let mut matrix = DeviceMatrix::from_host(device, 30, 20, &[[1f32, 2.0]; 600])?;
        matrix.adjoint()?;
        matrix.conjugate_into(&mut DeviceMatrix::zeroed(device, 30, 20)?)?;
        matrix.conjugate_in_place()?;
        matrix.adjoint_into(&mut DeviceMatrix::zeroed(device, 20, 30)?)?;
        DeviceTensor::from_host(device, &[30, 20], &[[1f32, 2.0]; 600])?.view().conjugated()?;
        let src = DeviceTensor::from_host(device, &[30, 20], &[[1f32, 2.0]; 600])?;
        let mut dst = DeviceTensor::zeroed(device, &[20, 30])?;
        Plan::conjugating(src.view().t(), &mut dst)?.run(src.view().t(), &mut dst)
    }),
    ("arrays are made, filled and read", |device, _| {
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
        let part = tensor.view().slice(0, 1.., 2)?;
        part.copy_to_host_strided(&mut [0; 300], &TensorLayout::contiguous(part.shape(), 4)?)?;
        let layout = TensorLayout::contiguous(&[5, 6, 20], 4)?;
        tensor.view_mut().copy_from_host_strided(&[1; 600], &layout)?;
        tensor.view().slice(0, 1.., 2)?.to_host().map(drop)
    }),
    ("axes change places", |device, _| {
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
    ("plans are made and run", |device, _| {
        let src = matrix(device)?;
        let mut dst = DeviceMatrix::zeroed(device, 20, 30)?;
        Plan::new(&src, &mut dst, Strategy::Auto)?.run(&src, &mut dst)?;
        for plan in Plan::candidates(&src, &mut dst)? {
            plan.run(&src, &mut dst)?;
        }
        Ok(())
    }),
    ("plans are measured", |device, _| {
        let (src, mut dst) = (matrix(device)?, DeviceMatrix::zeroed(device, 20, 30)?);
        let mut cache = PlanCache::in_memory();
        Plan::measure(&src, &mut dst, &mut cache)?.run(&src, &mut dst)
    }),
    ("plans of batches are measured", |device, _| {
        let (src, mut dst) = (matrix(device)?, DeviceMatrix::<u32>::zeroed(device, 20, 30)?);
        let batch = Batch { count: 2, src_stride: 200, dst_stride: 200 };
        let (halves, mut cache) = (src.window(0, 10, 20, 20)?, PlanCache::in_memory());
        let to = dst.window_mut(0, 20, 10, 10)?;
        let plan = Plan::measure_batched(halves, to, batch, &mut cache)?;
        plan.run(halves, dst.window_mut(0, 20, 10, 10)?)
    }),
    ("plans of arrays are made and run", |device, _| {
        let (src, mut dst) = (tensor(device)?, DeviceTensor::<u32>::zeroed(device, &[20, 6, 5])?);
        for plan in Plan::moving_candidates(src.view().t(), &mut dst)? {
            plan.run(src.view().t(), &mut dst)?;
        }
        Plan::moving(src.view().t(), &mut dst)?.run(src.view().t(), &mut dst)
    }),
    ("plans of arrays are measured", |device, _| {
        let (src, mut dst) = (tensor(device)?, DeviceTensor::<u32>::zeroed(device, &[20, 6, 5])?);
        let mut cache = PlanCache::in_memory();
        let plan = Plan::measure_moving(src.view().t(), &mut dst, &mut cache)?;
        plan.run(src.view().t(), &mut dst)
    }),
    ("plans that conjugate are measured", |device, _| {
        let src = DeviceTensor::from_host(device, &[30, 20], &[[1f32, 2.0]; 600])?;
        let (mut dst, mut cache) =
            (DeviceTensor::zeroed(device, &[20, 30])?, PlanCache::in_memory());
        let plan = Plan::measure_conjugating(src.view().t(), &mut dst, &mut cache)?;
        plan.run(src.view().t(), &mut dst)
    }),
    ("streams wait for each other", |device, _| {
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
        assert_eq!((Device::all()?.len(), Device::cuda_count()?), (1, 1));
        device.synchronize()
    }),
    ("arrays are copied to other devices", |device, other| {
        let stream = device.new_stream()?;
        matrix(device)?.to_device(&stream)?.to_device(other)?.to_host()?;
        let copy = tensor(other)?.to_device(device)?;
        #[cfg(feature = "simulator")]
        let copy = copy.to_device(&Device::simulated())?;
        copy.to_device(device)?;
        device.synchronize()
    }),
    ("copies that nobody waits for", |device, _| {
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
    ("moves are captured and replayed", |device, _| {
        let src = tensor(device)?;
        let mut dst = DeviceTensor::zeroed(device, &[20, 6, 5])?;
        let graph = Graph::capture(device, [(src.view().t(), dst.view_mut())])?;
        graph.replay([(src.view().t(), dst.view_mut())])
    }),
    ("memory and kernels of others are used", |device, _| {
        let owner = DeviceTensor::<u32>::zeroed(device, &[30, 20])?;
        let address = owner.device_address();
        // SAFETY: the memory is that of `owner`, which is dropped in the order of the device; its elements are `u32`.
        let memory = unsafe { Allocation::from_raw(device, address, 2400, move |_| drop(owner)) }?;
        let tensor =
            DeviceTensor::<u32>::from_allocation(memory, TensorLayout::contiguous(&[30, 20], 4)?)?;
        let mut dst = DeviceMatrix::<u32>::zeroed(device, 1, 1)?;
        let grid = Grid { blocks: [1; 3], threads: [1; 3], dynamic_shared_bytes: 0 };
        let from = transpose::MatrixView::try_from(tensor.view())?;
        // SAFETY: the driver runs nothing.
        unsafe { raw::launch(&KERNELS, "k", grid, from, dst.view_mut(), &NoParams) }?;
        let other = device.new_stream()?;
        if let Some(stream) = other.cuda_stream() {
            // SAFETY: the stream lives, and waits for nothing that waits for it.
            unsafe {
                device.wait_for_raw_stream(stream)?;
                device.raw_stream_waits(stream)?;
            }
        }
        device.synchronize()
    }),
];

static KERNELS: Image =
    Image::new("tests", ".version 7.0 .target sm_70 .visible .entry k() { ret; }");

/// Parameters of a kernel that takes none.
#[derive(Clone, Copy)]
#[repr(C)]
struct NoParams;

// SAFETY: no fields, no bytes.
unsafe impl Params for NoParams {}
