//! Tensors of any rank: memory, views and conversions, on the simulator and on a GPU.

use transpose::{
    Device, DeviceMatrix, DeviceTensor, Error, Layout, MatrixView, MatrixViewMut, TensorLayout,
    TensorView, TensorViewMut,
};
use transpose_tests::{Element, on_both_devices};

on_both_devices! {
    elements_come_back,
    parts_of_a_tensor,
    matrices_are_tensors_of_two_axes,
    what_is_not_a_matrix,
    memory_of_others,
    windows_are_held_to_the_memory,
    filled,
}

fn host<T: Element>(len: usize) -> Vec<T> {
    (0..len).map(|index| T::scrambled(index, 1)).collect()
}

fn elements_come_back(device: &Device) {
    fn round_trip<T: Element>(device: &Device) {
        for shape in [&[][..], &[5], &[0, 3], &[2, 3, 4], &[1; 16], &[2; 9]] {
            let host = host::<T>(shape.iter().product());
            let mut tensor = DeviceTensor::from_host(device, shape, &host).unwrap();
            assert_eq!((tensor.shape(), tensor.rank()), (shape, shape.len()));
            assert_eq!(tensor.to_host().unwrap(), host);
            let zeroes = vec![T::zeroed(); host.len()];
            tensor.copy_from_host(&zeroes).unwrap();
            assert_eq!(tensor.to_host().unwrap(), zeroes);
            let zeroed = DeviceTensor::<T>::zeroed(device, shape).unwrap();
            assert_eq!(zeroed.to_host().unwrap(), zeroes);
        }
    }
    round_trip::<u8>(device);
    round_trip::<u32>(device);
    round_trip::<[u8; 3]>(device);
    assert!(matches!(
        DeviceTensor::<u32>::from_host(device, &[2, 3], &[0; 5]),
        Err(Error::TensorLength { expected: 6, actual: 5, .. })
    ));
    let nothing = DeviceTensor::<[u8; 0]>::from_host(device, &[2, 3], &[[]; 6]).unwrap();
    assert_eq!(nothing.view().t().to_host().unwrap().len(), 6);
}

fn parts_of_a_tensor(device: &Device) {
    let (planes, rows, cols) = (3, 4, 5);
    let host = host::<u32>(planes * rows * cols);
    let tensor = DeviceTensor::from_host(device, &[planes, rows, cols], &host).unwrap();
    let at = |plane: usize, row: usize, col: usize| host[(plane * rows + row) * cols + col];

    let turned = tensor.view().permute_axes(&[2, 0, 1]).unwrap();
    assert_eq!((turned.shape(), turned.strides()), ([5, 3, 4].as_slice(), [1, 20, 5].as_slice()));
    let some = turned.slice(0, 1..4, -2).unwrap().slice(2, .., 3).unwrap().to_host().unwrap();
    let expected =
        [3, 1].map(|col| (0..3).map(move |plane| [at(plane, 0, col), at(plane, 3, col)]));
    assert_eq!(some, expected.into_iter().flatten().flatten().collect::<Vec<_>>());

    let row = tensor.view().index_axis(0, 1).unwrap().index_axis(0, 2).unwrap();
    let repeated = row.broadcast(&[2, 5]).unwrap().to_host().unwrap();
    let row = row.to_host().unwrap();
    assert_eq!(repeated, [row.clone(), row].concat());

    let (left, right) = tensor.view().split_at(2, 2).unwrap();
    assert_eq!((left.shape(), right.shape()), ([3, 4, 2].as_slice(), [3, 4, 3].as_slice()));
    assert_eq!(right.to_host().unwrap()[3], at(0, 1, 2));
    let one = left.insert_axis(1).unwrap().reshape(&[12, 1, 2]).unwrap();
    assert_eq!(one.to_host().unwrap(), left.to_host().unwrap());
}

fn matrices_are_tensors_of_two_axes(device: &Device) {
    let (rows, cols, ld) = (6, 10, 16);
    let host = host::<u16>(rows * cols);
    let matrix = DeviceMatrix::from_host_with_ld(device, rows, cols, ld, &host).unwrap();
    let view = TensorView::from(&matrix);
    assert_eq!((view.shape(), view.strides()), ([rows, cols].as_slice(), [16, 1].as_slice()));
    let lower = MatrixView::try_from(view.slice(0, 2.., 2).unwrap()).unwrap();
    assert_eq!((lower.shape(), lower.ld()), ((2, cols), 2 * ld));
    let transposed = DeviceMatrix::<u16>::zeroed(device, cols, 2).unwrap();
    let mut transposed = DeviceTensor::from(transposed);
    lower.transpose_into(MatrixViewMut::try_from(transposed.view_mut()).unwrap()).unwrap();
    let part = view.slice(0, 2.., 2).unwrap();
    assert_eq!(transposed.to_host().unwrap(), part.t().to_host().unwrap());

    // The matrix, its memory and its gaps become a tensor's and come back.
    let address = matrix.device_address();
    let mut tensor = DeviceTensor::from(matrix);
    assert_eq!((tensor.device_address(), tensor.is_contiguous()), (address, false));
    assert_eq!(tensor.to_host().unwrap(), host);
    tensor.reshape(&[2, 3, 5, 2]).unwrap();
    assert_eq!(tensor.to_host().unwrap(), host);
    tensor.copy_from_host(&host).unwrap();
    assert_eq!(tensor.to_host().unwrap(), host);
    assert!(matches!(tensor.reshape(&[60]), Err(Error::Reshape { .. })));
    tensor.reshape(&[rows, cols]).unwrap();
    let matrix = DeviceMatrix::try_from(tensor).unwrap();
    assert_eq!((matrix.shape(), matrix.ld()), ((rows, cols), ld));
    assert_eq!(matrix.to_host().unwrap(), host);
}

fn what_is_not_a_matrix(device: &Device) {
    let mut tensor = DeviceTensor::<u32>::zeroed(device, &[4, 6]).unwrap();
    let view = tensor.view();
    for view in [
        view.t(),
        view.slice(0, .., -1).unwrap(),
        view.slice(1, .., 2).unwrap(),
        view.insert_axis(0).unwrap(),
        view.index_axis(0, 0).unwrap(),
        view.index_axis(0, 0).unwrap().broadcast(&[3, 6]).unwrap(),
    ] {
        assert!(matches!(MatrixView::try_from(view), Err(Error::NotAMatrix { .. })), "{view:?}");
    }
    // Axes of one index lie as one likes.
    for (view, shape) in [
        (view.slice(0, 1..2, -1).unwrap(), (1, 6)),
        (view.slice(1, 3.., 9).unwrap(), (4, 1)),
        (view.slice(0, 4.., 1).unwrap(), (0, 6)),
        (view.slice(1, 6.., 1).unwrap().t(), (0, 4)),
    ] {
        assert_eq!(MatrixView::try_from(view).unwrap().shape(), shape);
    }
    let column = tensor.view_mut().index_axis(1, 0).unwrap().insert_axis(1).unwrap();
    assert_eq!(MatrixViewMut::try_from(column).unwrap().ld(), 6);
    let three = DeviceTensor::<u32>::zeroed(device, &[2, 2, 2]).unwrap();
    assert!(matches!(DeviceMatrix::try_from(three), Err(Error::NotAMatrix { .. })));
}

fn memory_of_others(device: &Device) {
    let host = host::<u32>(60);
    let owner = DeviceMatrix::from_host(device, 1, 60, &host).unwrap();
    let address = owner.device_address();
    let layout = TensorLayout::strided(&[3, 4], &[-20, 2], 41, 4).unwrap();
    // SAFETY: the matrix lives until the elements are back, and nothing else uses it meanwhile.
    let view = |len| unsafe { TensorView::<u32>::from_raw_parts(device, address, len, layout) };
    let expected: Vec<u32> =
        (0..3).flat_map(|i| (0..4).map(move |j| 41 - 20 * i + 2 * j)).map(|at| host[at]).collect();
    assert_eq!(view(48).unwrap().to_host().unwrap(), expected);
    assert!(matches!(view(47), Err(Error::TensorOutOfBounds { available: 47, .. })));
    assert!(matches!(view(usize::MAX / 2), Err(Error::TensorSizeOverflow { .. })));
    let twice = TensorLayout::strided(&[3, 4], &[0, 2], 0, 4).unwrap();
    // SAFETY: the matrix lives until the end of this function, and the views are refused before anything is read or written.
    unsafe {
        let refused = TensorViewMut::<u32>::from_raw_parts(device, address, 60, twice);
        assert!(matches!(refused, Err(Error::TensorOverlap { .. })));
        let refused = TensorView::<u32>::from_raw_parts(device, address + 2, 50, layout);
        assert!(matches!(refused, Err(Error::Misaligned { needed: 4, .. })));
        let matrix = |rows, ld| Layout::new(rows, 7, ld, 1).unwrap();
        assert!(MatrixView::<u32>::from_raw_parts(device, address, 60, matrix(6, 10)).is_ok());
        let refused = MatrixView::<u32>::from_raw_parts(device, address, 60, matrix(7, 10));
        assert!(matches!(refused, Err(Error::WindowOutOfBounds { end: 67, available: 60, .. })));
        let refused =
            MatrixViewMut::<[u16; 3]>::from_raw_parts(device, address + 1, 60, matrix(1, 7));
        assert!(matches!(refused, Err(Error::Misaligned { needed: 2, .. })));
        // A layout that was made for narrower elements.
        let refused = MatrixView::<u32>::from_raw_parts(
            device,
            address,
            60,
            matrix(2, isize::MAX as usize / 3),
        );
        assert!(matches!(refused, Err(Error::SizeOverflow { element_bytes: 4, .. })));
    }
}

fn windows_are_held_to_the_memory(device: &Device) {
    let host = host::<u64>(20);
    let mut tensor = DeviceTensor::from_host(device, &[4, 5], &host).unwrap();
    let layout = |shape: &[usize], strides: &[isize], offset| {
        TensorLayout::strided(shape, strides, offset, 8).unwrap()
    };
    let diagonal = layout(&[4], &[6], 0);
    let elements = tensor.window(&diagonal).unwrap().to_host().unwrap();
    assert_eq!(elements, [host[0], host[6], host[12], host[18]]);
    assert!(tensor.window(&layout(&[4], &[6], 1)).is_ok());
    assert!(matches!(
        tensor.window(&layout(&[4], &[6], 2)),
        Err(Error::TensorOutOfBounds { offset: 2, available: 20, .. })
    ));
    assert!(tensor.window(&layout(&[2, 3], &[0, 1], 0)).is_ok());
    assert!(matches!(
        tensor.window_mut(&layout(&[2, 3], &[0, 1], 0)),
        Err(Error::TensorOverlap { .. })
    ));
    assert!(matches!(
        tensor.window_mut(&layout(&[2, 3], &[2, 1], 0)),
        Err(Error::TensorOverlap { .. })
    ));
    assert!(tensor.window_mut(&diagonal).is_ok());
    // A layout that was made for narrower elements.
    let long = TensorLayout::strided(&[0], &[1], isize::MAX as usize, 1).unwrap();
    assert!(tensor.window(&long).unwrap().to_host().unwrap().is_empty());
    assert!(tensor.window(&TensorLayout::contiguous(&[1 << 61], 1).unwrap()).is_err());
}

/// Two halves of one tensor are written at a time.
#[test]
fn halves_are_written_separately() {
    let device = Device::simulated();
    let mut tensor = DeviceTensor::<u8>::zeroed(&device, &[4, 4]).unwrap();
    let (left, right) = tensor.view_mut().split_at(1, 2).unwrap();
    for (half, value) in [(left, 1u8), (right, 2)] {
        let source = DeviceMatrix::from_host(&device, 2, 4, &[value; 8]).unwrap();
        source.transpose_into(MatrixViewMut::try_from(half).unwrap()).unwrap();
    }
    assert_eq!(tensor.to_host().unwrap(), [1, 1, 2, 2].repeat(4));
}

/// Every element gets the value and nothing beside them does, by vectors and by elements, from vectors on and from anywhere.
fn filled(device: &Device) {
    fn check<T: Element>(device: &Device) {
        for len in [0, 1, 2, 15, 16, 17, 100, 1000, 4099] {
            for offset in [0, 1, 16] {
                let host: Vec<T> = (0..offset + len + 20).map(|at| T::scrambled(at, 3)).collect();
                let mut tensor = DeviceTensor::from_host(device, &[host.len()], &host).unwrap();
                let value = T::scrambled(7, 4);
                let part = tensor.view_mut().slice(0, offset..offset + len, 1).unwrap();
                part.reshape(&[1, len, 1]).unwrap().fill(value).unwrap();
                let (mut expected, actual) = (host, tensor.to_host().unwrap());
                expected[offset..offset + len].fill(value);
                assert!(actual == expected, "{len} of {} bytes from {offset} on", size_of::<T>());
            }
        }
        // Rows with gaps between them keep what is there.
        let mut rows =
            DeviceTensor::<T>::from_host(device, &[3, 40], &[T::scrambled(1, 1); 120]).unwrap();
        rows.view_mut().slice(1, ..32, 1).unwrap().fill(T::scrambled(2, 2)).unwrap();
        for (at, element) in rows.to_host().unwrap().into_iter().enumerate() {
            let which = if at % 40 < 32 { 2 } else { 1 };
            assert_eq!(element, T::scrambled(which, which as u64));
        }
    }
    check::<u8>(device);
    check::<u16>(device);
    check::<[u8; 3]>(device);
    check::<u32>(device);
    check::<[u8; 5]>(device);
    check::<u64>(device);
    check::<[u32; 3]>(device);
    check::<u128>(device);
    check::<[u64; 6]>(device);
    check::<[u8; 33]>(device);
}
