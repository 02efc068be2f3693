//! Other crates' arrays and numbers, on the simulator and on a GPU.

use half::{bf16, f16};
use ndarray::{Array, ArrayD, Axis, CowArray, Ix2, Ix3, IxDyn, ShapeBuilder, Slice, s};
use num_complex::{Complex, Complex64};
use proptest::prelude::*;
use transpose::{Device, DeviceMatrix, DeviceTensor, Error};
use transpose_tests::{cases, on_both_devices};

on_both_devices! {
    halves_are_elements,
    complex_numbers_are_elements,
    arrays_of_any_order_and_stride,
    arrays_to_matrices,
    arrays_of_another_shape,
    arrays_that_share_their_elements,
}

fn halves_are_elements(device: &Device) {
    let host: Vec<f16> = (0..70 * 30).map(|n| f16::from_f32(n as f32 / 8.0)).collect();
    let transposed = DeviceMatrix::from_host(device, 70, 30, &host).unwrap().transposed().unwrap();
    for (at, element) in transposed.to_host().unwrap().into_iter().enumerate() {
        assert_eq!(element, host[at % 70 * 30 + at / 70]);
    }
    // Bits that are no number stay what they are.
    let nan = bf16::from_bits(0x7fa5);
    let tensor = DeviceTensor::from_host(device, &[1, 2], &[nan, bf16::ONE]).unwrap();
    assert_eq!(tensor.transposed().unwrap().to_host().unwrap()[0].to_bits(), 0x7fa5);
}

fn complex_numbers_are_elements(device: &Device) {
    let host: Vec<Complex64> =
        (0..40 * 50).map(|n| Complex::new(n.into(), -f64::from(n))).collect();
    let transposed = DeviceMatrix::from_host(device, 40, 50, &host).unwrap().transposed().unwrap();
    for (at, element) in transposed.to_host().unwrap().into_iter().enumerate() {
        assert_eq!(element, host[at % 40 * 50 + at / 40]);
    }
    let small = [Complex::new(f16::ONE, f16::NEG_ONE); 3];
    let tensor = DeviceTensor::from_host(device, &[3], &small).unwrap();
    assert_eq!(tensor.to_host().unwrap(), small);
}

/// A shape, an order of axes, and for each axis the step of a slice.
fn arrays() -> impl Strategy<Value = (Vec<usize>, Vec<usize>, bool, Vec<isize>)> {
    let steps = prop_oneof![Just(1isize), Just(1), Just(-1), Just(2), Just(-3)];
    (0..5usize).prop_flat_map(move |rank| {
        let shape = proptest::collection::vec(0..7usize, rank);
        let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        (shape, order, any::<bool>(), proptest::collection::vec(steps.clone(), rank))
    })
}

fn arrays_of_any_order_and_stride(device: &Device) {
    proptest!(cases(150), |((shape, order, fortran, steps) in arrays())| {
        let len: usize = shape.iter().product();
        let elements: Vec<u32> = (1..=len as u32).collect();
        let array = Array::from_shape_vec(IxDyn(&shape).set_f(fortran), elements).unwrap();
        let mut view = array.view().permuted_axes(order.clone());
        for (axis, &step) in steps.iter().enumerate() {
            view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
        }
        let tensor = DeviceTensor::from_ndarray(device, &view).unwrap();
        prop_assert_eq!(tensor.shape(), view.shape());
        prop_assert_eq!(&tensor.to_ndarray::<IxDyn>().unwrap(), &view);

        // Into an array of the same order and strides, in which nothing else changes.
        let mut target = ArrayD::<u32>::zeros(IxDyn(&shape).set_f(fortran));
        let mut expected = target.clone();
        let part = |whole: &mut ArrayD<u32>, work: &mut dyn FnMut(ndarray::ArrayViewMutD<'_, u32>)| {
            let mut view = whole.view_mut().permuted_axes(order.clone());
            for (axis, &step) in steps.iter().enumerate() {
                view.slice_axis_inplace(Axis(axis), Slice::new(0, None, step));
            }
            work(view);
        };
        part(&mut target, &mut |mut part| tensor.view().copy_to_ndarray(&mut part).unwrap());
        part(&mut expected, &mut |mut part| part.assign(&view));
        prop_assert_eq!(target, expected);
    });
    // What is repeated is uploaded once.
    let row = ndarray::arr1(&[1u8, 2, 3]);
    let repeated = row.broadcast((4, 3)).unwrap();
    let tensor = DeviceTensor::from_ndarray(device, &repeated).unwrap();
    assert_eq!(tensor.to_ndarray::<Ix2>().unwrap(), repeated);
}

fn arrays_to_matrices(device: &Device) {
    let array = Array::from_shape_fn((40, 30).f(), |(row, col)| (100 * row + col) as u16);
    let matrix = DeviceMatrix::from_ndarray(device, &array).unwrap();
    assert_eq!(matrix.to_ndarray().unwrap(), array);
    let transposed = DeviceMatrix::from_ndarray(device, &array.t()).unwrap();
    assert_eq!(transposed.to_host().unwrap(), matrix.transposed().unwrap().to_host().unwrap());
    let part = matrix.submatrix(3..9, 4..).unwrap().to_ndarray().unwrap();
    assert_eq!(part, array.slice(ndarray::s![3..9, 4..]));
}

fn arrays_of_another_shape(device: &Device) {
    let tensor = DeviceTensor::<u8>::zeroed(device, &[2, 3]).unwrap();
    assert!(matches!(tensor.to_ndarray::<Ix3>(), Err(Error::Rank { axes: 2, wanted: 3 })));
    let mut array = Array::<u8, _>::zeros((3, 2));
    let refused = tensor.view().copy_to_ndarray(&mut array);
    assert!(matches!(refused, Err(Error::TensorShapeMismatch { .. })));
    let axes = ArrayD::<u8>::zeros(vec![1; 17]);
    let refused = DeviceTensor::from_ndarray(device, &axes);
    assert!(matches!(refused, Err(Error::TooManyAxes { axes: 17, .. })));
    let empty = Array::<u8, _>::zeros((0, 2));
    assert_eq!(DeviceMatrix::from_ndarray(device, &empty).unwrap().to_ndarray().unwrap(), empty);
}

/// What is written gets elements of its own, in an order of its own; those who shared the old ones keep them.
fn arrays_that_share_their_elements(device: &Device) {
    let tensor = DeviceTensor::from_host(device, &[3, 2], &[1u16, 2, 3, 4, 5, 6]).unwrap();
    let expected = tensor.to_ndarray::<Ix2>().unwrap();
    let base = Array::from_elem((3, 1 << 16), 9u16);
    let part = s![..;-1, ..;1 << 15];
    let mut cow = CowArray::from(base.slice(part));
    tensor.view().copy_to_ndarray(&mut cow).unwrap();
    assert_eq!(cow, expected);
    let shared = base.into_shared();
    let mut other = shared.clone();
    other.slice_collapse(part);
    tensor.view().copy_to_ndarray(&mut other).unwrap();
    assert_eq!(other, expected);
    assert!(shared.iter().all(|&element| element == 9));
}
