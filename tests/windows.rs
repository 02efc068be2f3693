//! Parts of matrices, views of views, host memory of any strides, other types and shapes for the same memory, and memory that
//! changes hands: on the simulator and on a GPU, against indexing on the host.

use proptest::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use transpose::{
    Allocation, Batch, Device, DeviceMatrix, DeviceTensor, Error, Layout, MatrixViewMut,
    TensorLayout,
};
use transpose_tests::{Element, cases, on_both_devices};

on_both_devices! {
    windows_do_not_wrap,
    submatrices,
    ranges_that_are_not_there,
    halves,
    halves_keep_to_themselves,
    views_do_what_matrices_do,
    host_memory_of_any_strides,
    host_rows_with_gaps,
    filled,
    clones,
    other_shapes,
    other_types,
    bits_of_parts,
    bits_that_are_no_elements,
    memory_is_given_away_and_taken_back,
    memory_that_others_free,
}

fn host<T: Element>(len: usize) -> Vec<T> {
    (0..len).map(|index| T::scrambled(index, 1)).collect()
}

/// The elements in `rows` and `cols` of a matrix whose rows are `ld` apart in `host`.
fn part<T: Copy>(host: &[T], ld: usize, rows: Range<usize>, cols: Range<usize>) -> Vec<T> {
    rows.flat_map(|row| cols.clone().map(move |col| host[row * ld + col])).collect()
}

fn windows_do_not_wrap(device: &Device) {
    let mut matrix = DeviceMatrix::<u16>::zeroed(device, 100, 80).unwrap();
    let wraps = |column, cols| move |error: &Error| matches!(error, Error::WindowWraps { column: from, cols: wide, ld: 80 } if (*from, *wide) == (column, cols));
    assert!(matrix.window(70, 20, 20, 80).is_err_and(|error| wraps(70, 20)(&error)));
    assert!(matrix.window(3 * 80 + 79, 1, 2, 80).is_err_and(|error| wraps(79, 2)(&error)));
    assert!(matrix.window_mut(70, 20, 20, 80).is_err_and(|error| wraps(70, 20)(&error)));
    assert!(matrix.window(70, 20, 10, 80).is_ok());
    assert!(matrix.window(70, 0, 20, 80).is_ok());
    // The memory as another matrix.
    assert!(matrix.window(70, 1, 7930, 7930).is_ok());
    assert!(matrix.window(70, 20, 20, 20).is_ok());
    // Between the rows is part of the memory.
    let gaps = DeviceMatrix::<u16>::zeroed_with_ld(device, 4, 6, 9).unwrap();
    assert!(gaps.window(4, 3, 5, 9).is_ok());
    assert!(gaps.window(5, 3, 5, 9).is_err());
}

/// A range within `0..=length`.
fn range(length: usize) -> impl Strategy<Value = Range<usize>> {
    (0..=length).prop_flat_map(move |start| (start..=length).prop_map(move |end| start..end))
}

/// A matrix's rows, columns and gaps; a part of it, and a part of that.
#[allow(clippy::type_complexity, reason = "said in the line above")]
fn parts() -> impl Strategy<Value = ([usize; 3], [Range<usize>; 2], [Range<usize>; 2])> {
    (0..30usize, 0..30usize, 0..5usize)
        .prop_flat_map(|size| (Just(size), range(size.0), range(size.1)))
        .prop_flat_map(|((rows, cols, gap), down, along)| {
            let inner = (range(down.len()), range(along.len()));
            (Just([rows, cols, gap]), Just([down, along]), inner)
        })
        .prop_map(|(size, outer, inner)| (size, outer, [inner.0, inner.1]))
}

fn submatrices(device: &Device) {
    proptest!(cases(80), |((size, [rows, cols], [down, along]) in parts())| {
        let [nrows, ncols, gap] = size;
        let host = host::<u16>(nrows * ncols);
        let matrix = DeviceMatrix::from_host_with_ld(device, nrows, ncols, ncols + gap, &host).unwrap();
        let outer = matrix.submatrix(rows.clone(), cols.clone()).unwrap();
        prop_assert_eq!(outer.shape(), (rows.len(), cols.len()));
        prop_assert_eq!(outer.to_host().unwrap(), part(&host, ncols, rows.clone(), cols.clone()));
        let inner = outer.submatrix(down.clone(), along.clone()).unwrap();
        let [down, along] = [(&rows, &down), (&cols, &along)]
            .map(|(outer, inner)| outer.start + inner.start..outer.start + inner.end);
        let expected = part(&host, ncols, down.clone(), along.clone());
        prop_assert_eq!(inner.to_host().unwrap(), expected);
        let transposed = inner.transposed().unwrap();
        prop_assert_eq!(transposed.shape(), (along.len(), down.len()));
        let expected: Vec<u16> =
            along.flat_map(|col| down.clone().map(move |row| row * ncols + col)).map(|at| host[at]).collect();
        prop_assert_eq!(transposed.to_host().unwrap(), expected);
    });
}

fn ranges_that_are_not_there(device: &Device) {
    let mut matrix = DeviceMatrix::<u8>::zeroed(device, 100, 80).unwrap();
    assert_eq!(
        matrix.submatrix(0..20, 70..90).unwrap_err().to_string(),
        "there are no rows 0..20 and columns 70..90 in a matrix of 100 × 80"
    );
    assert!(matches!(
        matrix.submatrix_mut(99..=100, ..),
        Err(Error::SubmatrixOutOfBounds { rows: Range { start: 99, end: 101 }, nrows: 100, .. })
    ));
    #[allow(clippy::reversed_empty_ranges, reason = "that it is refused is what is tested")]
    let backwards = matrix.submatrix(5..4, ..);
    assert!(backwards.is_err());
    assert!(matrix.submatrix(.., ..=usize::MAX).is_err());
    assert!(matrix.submatrix(usize::MAX.., ..).is_err());
    assert_eq!(matrix.submatrix(100.., 80..).unwrap().shape(), (0, 0));
    assert_eq!(matrix.submatrix(100.., 3..).unwrap().to_host().unwrap(), []);
    assert!(matrix.split_at_row(101).is_err());
    assert_eq!(
        matrix.split_at_col_mut(81).unwrap_err().to_string(),
        "a matrix of 100 × 80 cannot be split at column 81"
    );
}

fn halves(device: &Device) {
    let size = (0..20usize, 0..20usize, 0..4usize)
        .prop_flat_map(|(rows, cols, gap)| (Just((rows, cols, gap)), 0..=rows, 0..=cols));
    proptest!(cases(60), |(((rows, cols, gap), row, col) in size)| {
        let ld = cols + gap;
        let mut matrix = DeviceMatrix::<u32>::zeroed_with_ld(device, rows, cols, ld).unwrap();
        let (above, mut below) = matrix.split_at_row_mut(row).unwrap();
        let (mut left, mut right) = above.split_at_col(col).unwrap();
        left.fill(1).unwrap();
        right.fill(2).unwrap();
        below.fill(3).unwrap();
        let all = matrix.window(0, 1, rows * ld, rows * ld).unwrap().to_host().unwrap();
        for (index, element) in all.into_iter().enumerate() {
            let expected = match (index / ld, index % ld) {
                (_, at) if at >= cols => 0,
                (down, _) if down >= row => 3,
                (_, at) if at >= col => 2,
                _ => 1,
            };
            prop_assert_eq!(element, expected, "{} of {}", index, ld);
        }
        let (left, right) = matrix.split_at_col(col).unwrap();
        prop_assert_eq!(left.to_host().unwrap().len() + right.to_host().unwrap().len(), rows * cols);
        let (above, below) = matrix.split_at_row(row).unwrap();
        let both = [above.to_host().unwrap(), below.to_host().unwrap()].concat();
        prop_assert_eq!(both, matrix.to_host().unwrap());
    });
}

/// A batch that starts in one half, or in a part of it, must not reach the other.
fn halves_keep_to_themselves(device: &Device) {
    let source = DeviceMatrix::<u8>::zeroed(device, 8, 8).unwrap();
    let first = source.window(0, 2, 2, 2).unwrap();
    let mut matrix = DeviceMatrix::<u8>::zeroed(device, 8, 8).unwrap();
    for dst_stride in [0, 2, 4, 10, 16, 32] {
        let batch = Batch { count: 2, src_stride: 4, dst_stride };
        let refused = |start: MatrixViewMut<'_, u8>| {
            let start = start.submatrix(..2, ..2).unwrap();
            assert!(first.transpose_batched_into(start, batch).is_err(), "{dst_stride}");
        };
        let (left, right) = matrix.split_at_col_mut(4).unwrap();
        refused(left);
        refused(right);
        let (above, below) = matrix.split_at_row_mut(4).unwrap();
        refused(above);
        refused(below);
        refused(matrix.submatrix_mut(.., 1..).unwrap());
    }
    let batch = Batch { count: 1, src_stride: 0, dst_stride: 0 };
    let start = matrix.submatrix_mut(6.., 6..).unwrap();
    first.transpose_batched_into(start, batch).unwrap();
}

fn views_do_what_matrices_do(device: &Device) {
    let mut matrix = DeviceMatrix::<u32>::zeroed(device, 4, 5).unwrap();
    let mut view = matrix.submatrix_mut(1..3, 2..).unwrap();
    view.copy_from_host(&[1, 2, 3, 4, 5, 6]).unwrap();
    assert!(matches!(view.copy_from_host(&[1]), Err(Error::LengthMismatch { expected: 6, .. })));
    assert_eq!(view.to_host().unwrap(), [1, 2, 3, 4, 5, 6]);
    let mut into = [0; 6];
    view.view().copy_to_host(&mut into).unwrap();
    assert_eq!(into, [1, 2, 3, 4, 5, 6]);
    let copy = view.view().to_matrix().unwrap();
    assert_eq!((copy.shape(), copy.is_contiguous()), ((2, 3), true));
    assert_eq!(copy.to_host().unwrap(), into);
    view.reborrow().split_at_row(1).unwrap().1.fill(9).unwrap();
    assert_eq!(
        matrix.to_host().unwrap(),
        [[0; 7].as_slice(), &[1, 2, 3, 0, 0, 9, 9, 9], &[0; 5]].concat()
    );

    let mut tensor = DeviceTensor::<u32>::zeroed(device, &[2, 3, 4]).unwrap();
    let mut turned = tensor.view_mut().permute_axes(&[2, 0, 1]).unwrap();
    let elements = host::<u32>(24);
    turned.copy_from_host(&elements).unwrap();
    assert_eq!(turned.to_host().unwrap(), elements);
    turned.slice(0, ..2, 1).unwrap().fill(7).unwrap();
    let back = tensor.view().permute_axes(&[2, 0, 1]).unwrap().to_host().unwrap();
    assert_eq!(back, [&[7; 12], &elements[12..]].concat());
    let mut into = vec![0; 24];
    tensor.copy_to_host(&mut into).unwrap();
    assert_eq!(into, tensor.to_host().unwrap());
    assert!(tensor.copy_to_host(&mut into[1..]).is_err());
}

/// Axes in any order, with gaps, backwards, and repeated where only reading is asked for.
fn host_layouts(repeated: bool) -> impl Strategy<Value = TensorLayout> {
    let axis = (1..6usize, 0..3usize, any::<bool>(), 0..8u8);
    let axes = proptest::collection::vec(axis, 0..5).prop_shuffle();
    let order = Just((0..5usize).collect::<Vec<_>>()).prop_shuffle();
    (axes, order, 0..9usize).prop_map(move |(axes, order, before)| {
        let order: Vec<usize> = order.into_iter().filter(|&axis| axis < axes.len()).collect();
        let (mut strides, mut offset, mut stride) = (vec![0; axes.len()], before, 1);
        for axis in order {
            let (length, gap, backwards, repeat) = axes[axis];
            if repeated && repeat == 0 {
                continue;
            }
            strides[axis] = if backwards { -stride } else { stride };
            if backwards {
                offset += (length - 1) * stride as usize;
            }
            stride = stride * length as isize + gap as isize;
        }
        let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        TensorLayout::strided(&shape, &strides, offset, 16).unwrap()
    })
}

/// Where element `index`, counted row-major, lies.
fn offset_of(layout: &TensorLayout, mut index: usize) -> usize {
    let mut offset = layout.offset() as isize;
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
        offset += (index % length) as isize * stride;
        index /= length;
    }
    offset as usize
}

fn host_memory_of_any_strides(device: &Device) {
    fn check<T: Element>(device: &Device, layout: TensorLayout, to: TensorLayout, axes: &[usize]) {
        let memory = host::<T>(layout.range().end + 3);
        let expected: Vec<T> = (0..layout.len()).map(|at| memory[offset_of(&layout, at)]).collect();
        let tensor = DeviceTensor::from_host_strided(device, &memory, &layout).unwrap();
        assert_eq!(tensor.to_host().unwrap(), expected, "{layout:?}");

        // From and to a device view with another order of axes.
        let mut inverse = vec![0; axes.len()];
        axes.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
        let shape: Vec<usize> = inverse.iter().map(|&axis| layout.shape()[axis]).collect();
        let mut other = DeviceTensor::<T>::zeroed(device, &shape).unwrap();
        let mut turned = other.view_mut().permute_axes(axes).unwrap();
        turned.copy_from_host_strided(&memory, &layout).unwrap();
        assert_eq!(turned.to_host().unwrap(), expected, "{layout:?} to {axes:?}");

        // Nothing but the elements is written.
        let source = DeviceTensor::from_host(device, to.shape(), &host::<T>(to.len())).unwrap();
        let canary = T::scrambled(7, 99);
        let mut target = vec![canary; to.range().end + 3];
        source.view().copy_to_host_strided(&mut target, &to).unwrap();
        for (at, element) in host::<T>(to.len()).into_iter().enumerate() {
            let place = &mut target[offset_of(&to, at)];
            assert_eq!(std::mem::replace(place, canary), element, "{to:?}");
        }
        assert_eq!(target, vec![canary; target.len()], "{to:?}");
    }
    let axes = |rank: usize| Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    let layouts =
        host_layouts(true).prop_flat_map(move |layout| (Just(layout), axes(layout.rank())));
    proptest!(cases(60), |((layout, axes) in layouts, to in host_layouts(false))| {
        check::<u8>(device, layout, to, &axes);
        check::<u64>(device, layout, to, &axes);
        check::<[u8; 3]>(device, layout, to, &axes);
    });
    let tensor = DeviceTensor::<u8>::zeroed(device, &[2, 3]).unwrap();
    let layout =
        |shape: &[usize], strides: &[isize]| TensorLayout::strided(shape, strides, 0, 1).unwrap();
    let refused = |layout| tensor.view().copy_to_host_strided(&mut [0; 6], &layout).unwrap_err();
    assert!(matches!(refused(layout(&[2, 3], &[0, 1])), Error::TensorOverlap { .. }));
    assert!(matches!(refused(layout(&[2, 3], &[4, 1])), Error::TensorOutOfBounds { .. }));
    assert!(matches!(refused(layout(&[3, 2], &[2, 1])), Error::TensorShapeMismatch { .. }));
    assert!(DeviceTensor::from_host_strided(device, &[0u8; 6], &layout(&[2, 3], &[4, 1])).is_err());
}

fn host_rows_with_gaps(device: &Device) {
    let size = (0..12usize, 0..12usize, 0..5usize, 0..3usize, 0..3usize);
    proptest!(cases(40), |((rows, cols, gap, host_gap, behind) in size)| {
        let ld = cols + host_gap;
        let extent = Layout::new(rows, cols, ld, 4).unwrap().extent();
        let memory = host::<u32>(extent + behind);
        let mut matrix = DeviceMatrix::<u32>::zeroed_with_ld(device, rows, cols, cols + gap).unwrap();
        matrix.copy_from_host_with_ld(&memory, ld).unwrap();
        prop_assert_eq!(matrix.to_host().unwrap(), part(&memory, ld, 0..rows, 0..cols));
        let mut back = vec![!0; extent + behind];
        matrix.copy_to_host_with_ld(&mut back, ld).unwrap();
        for (at, (element, original)) in back.into_iter().zip(&memory).enumerate() {
            let inside = at < extent && at % ld.max(1) < cols;
            prop_assert_eq!(element, if inside { *original } else { !0 });
        }
        if extent > 0 {
            let short = matrix.copy_from_host_with_ld(&memory[..extent - 1], ld);
            prop_assert!(matches!(short, Err(Error::LengthMismatch { .. })), "{:?}", short);
        }
    });
    let mut matrix = DeviceMatrix::<u32>::zeroed(device, 2, 3).unwrap();
    let narrow = matrix.copy_from_host_with_ld(&[0; 6], 2);
    assert!(matches!(narrow, Err(Error::LeadingDimension { ld: 2, cols: 3 })));
}

fn filled(device: &Device) {
    fn check<T: Element>(device: &Device) {
        let value = T::scrambled(3, 5);
        let mut matrix = DeviceMatrix::<T>::zeroed(device, 70, 33).unwrap();
        matrix.submatrix_mut(1..69, 1..32).unwrap().fill(value).unwrap();
        for (index, element) in matrix.to_host().unwrap().into_iter().enumerate() {
            let inside = (1..69).contains(&(index / 33)) && (1..32).contains(&(index % 33));
            assert_eq!(element, if inside { value } else { T::zeroed() }, "{index}");
        }
        let mut tensor = DeviceTensor::<T>::zeroed(device, &[3, 0, 2]).unwrap();
        tensor.fill(value).unwrap();
        tensor = DeviceTensor::zeroed(device, &[]).unwrap();
        tensor.fill(value).unwrap();
        assert_eq!(tensor.to_host().unwrap(), [value]);
    }
    check::<u8>(device);
    check::<u32>(device);
    check::<u128>(device);
    check::<[u8; 3]>(device);
    DeviceMatrix::<[u8; 0]>::zeroed(device, 3, 4).unwrap().fill([]).unwrap();
}

fn clones(device: &Device) {
    let elements = host::<u16>(30);
    let mut matrix = DeviceMatrix::from_host_with_ld(device, 5, 6, 9, &elements).unwrap();
    let clone = matrix.try_clone().unwrap();
    matrix.fill(0).unwrap();
    assert_eq!((clone.layout(), clone.to_host().unwrap()), (matrix.layout(), elements.clone()));
    assert_ne!(clone.device_address(), matrix.device_address());
    let tensor = DeviceTensor::from(clone);
    let clone = tensor.try_clone().unwrap();
    assert!(clone.is_contiguous());
    assert_eq!(clone.to_host().unwrap(), elements);
    assert_eq!(
        DeviceMatrix::<u16>::zeroed(device, 0, 6).unwrap().try_clone().unwrap().shape(),
        (0, 6)
    );
}

fn other_shapes(device: &Device) {
    let elements = host::<u16>(30);
    let mut matrix = DeviceMatrix::from_host(device, 5, 6, &elements).unwrap();
    matrix.reshape(3, 10).unwrap();
    assert_eq!((matrix.shape(), matrix.ld()), ((3, 10), 10));
    let rows = matrix.submatrix(1.., ..).unwrap().reshape(5, 4).unwrap();
    assert_eq!(rows.to_host().unwrap(), elements[10..]);
    assert!(matches!(matrix.reshape(4, 7), Err(Error::Reshape { .. })));
    assert!(matches!(matrix.reshape(usize::MAX, 2), Err(Error::Reshape { .. })));
    assert!(matrix.submatrix(.., 1..).unwrap().reshape(9, 3).is_err());
    assert_eq!(matrix.submatrix(..1, 1..).unwrap().reshape(3, 3).unwrap().shape(), (3, 3));
    assert_eq!(matrix.shape(), (3, 10));
}

fn other_types(device: &Device) {
    let elements = host::<u32>(24);
    let bytes: Vec<u8> = bytemuck::cast_slice(&elements).to_vec();
    let matrix = DeviceMatrix::from_host_with_ld(device, 4, 6, 8, &elements).unwrap();
    let words = matrix.view().cast::<u64>().unwrap();
    assert_eq!((words.shape(), words.ld()), ((4, 3), 4));
    assert_eq!(words.to_host().unwrap(), bytemuck::pod_collect_to_vec::<u32, u64>(&elements));
    let signed = matrix.view().cast::<i32>().unwrap().to_host().unwrap();
    assert_eq!(bytemuck::cast_slice::<i32, u32>(&signed), elements);
    let turned = DeviceTensor::from_host(device, &[2, 3, 4], &elements).unwrap();
    let view = turned.view().permute_axes(&[1, 0, 2]).unwrap().slice(0, .., -1).unwrap();
    let halves = view.cast::<u16>().unwrap();
    assert_eq!((halves.shape(), halves.strides()), ([3, 2, 8].as_slice(), [-8, 24, 1].as_slice()));
    assert_eq!(
        halves.to_host().unwrap(),
        bytemuck::pod_collect_to_vec::<u32, u16>(&view.to_host().unwrap())
    );
    let owned = turned.cast::<[u8; 3]>();
    assert!(matches!(owned, Err(Error::Cast { from_bytes: 4, to_bytes: 3, .. })));
    let owned = matrix.cast::<u8>().unwrap();
    assert_eq!((owned.shape(), owned.ld()), ((4, 24), 32));
    assert_eq!(owned.to_host().unwrap(), bytes);
    let back = owned.cast::<u128>();
    assert!(matches!(back, Err(Error::Cast { .. })));
    let single = DeviceMatrix::from_host_with_ld(device, 1, 4, 5, &elements[..4]).unwrap();
    let single = single.cast::<u64>().unwrap();
    assert_eq!((single.shape(), single.ld()), ((1, 2), 2));
}

/// What lies before a view does not matter: only addresses do, to elements that are aligned.
fn bits_of_parts(device: &Device) {
    let elements = host::<u8>(64);
    let mut tensor = DeviceTensor::from_host(device, &[64], &elements).unwrap();
    let threes = tensor.view().slice(0, 4..61, 1).unwrap().cast::<[u8; 3]>().unwrap();
    assert_eq!(threes.device_address(), tensor.device_address() + 4);
    let threes = threes.to_host().unwrap();
    assert_eq!((threes.len(), threes.as_flattened()), (19, &elements[4..61]));
    // From the last row to the first; the lowest element is the last row's first.
    let rows = tensor.view().slice(0, 2..62, 1).unwrap().reshape(&[5, 12]).unwrap();
    let rows = rows.slice(0, .., -1).unwrap();
    let sixes = rows.cast::<[u8; 6]>().unwrap();
    assert_eq!((sixes.shape(), sixes.strides()), ([5, 2].as_slice(), [-2, 1].as_slice()));
    assert_eq!(sixes.to_host().unwrap().as_flattened(), rows.to_host().unwrap());
    let back = sixes.cast::<u8>().unwrap();
    assert_eq!((back.shape(), back.strides()), (rows.shape(), rows.strides()));
    let mut part = tensor.view_mut().slice(0, 1..4, 1).unwrap().cast::<[u8; 3]>().unwrap();
    part.fill([7, 8, 9]).unwrap();
    assert_eq!(tensor.to_host().unwrap()[..5], [elements[0], 7, 8, 9, elements[4]]);
    let one = tensor.view().slice(0, 1..5, 1).unwrap().cast::<u32>();
    assert!(matches!(one, Err(Error::Misaligned { needed: 4, .. })), "{one:?}");
    // Memory that is owned starts where it starts.
    let layout = TensorLayout::strided(&[3], &[1], 4, 1).unwrap();
    let owned = DeviceTensor::<u8>::from_allocation(tensor.into_allocation(), layout).unwrap();
    let refused = owned.cast::<[u8; 3]>().map(drop);
    assert!(matches!(refused, Err(Error::Cast { offset: 4, .. })), "{refused:?}");
}

fn bits_that_are_no_elements(device: &Device) {
    let mut matrix = DeviceMatrix::<u8>::zeroed(device, 8, 8).unwrap();
    assert!(matches!(
        matrix.submatrix(.., 1..5).unwrap().cast::<u32>(),
        Err(Error::Misaligned { needed: 4, .. })
    ));
    assert!(matches!(matrix.submatrix(.., ..5).unwrap().cast::<u32>(), Err(Error::Cast { .. })));
    assert!(matches!(
        matrix.submatrix_mut(.., 4..).unwrap().cast::<u32>().unwrap().fill(1),
        Ok(())
    ));
    let view = DeviceTensor::from(matrix);
    assert!(view.view().t().cast::<u16>().is_err());
    assert!(view.view().slice(1, .., 2).unwrap().cast::<u16>().is_err());
    assert!(view.view().cast::<[u8; 0]>().is_err());
    // Nothing that a shape of no elements has apart can be counted in bytes.
    let apart = TensorLayout::strided(&[2, 0], &[isize::MIN / 2, 1], 0, 2).unwrap();
    let none = DeviceTensor::<u16>::zeroed(device, &[4]).unwrap();
    assert!(matches!(none.window(&apart).unwrap().cast::<u8>(), Err(Error::Cast { .. })));
    let scalar = DeviceTensor::<u16>::zeroed(device, &[]).unwrap();
    assert!(scalar.view().cast::<u8>().is_err());
    assert!(scalar.view().cast::<i16>().is_ok());
}

fn memory_is_given_away_and_taken_back(device: &Device) {
    let elements = host::<u32>(12);
    let matrix = DeviceMatrix::from_host(device, 3, 4, &elements).unwrap();
    let address = matrix.device_address();
    let allocation = matrix.into_allocation();
    assert_eq!((allocation.address(), allocation.bytes()), (address, 48));
    // The columns from the last to the first, as rows.
    let layout = TensorLayout::strided(&[4, 3], &[-1, 4], 3, 4).unwrap();
    let tensor = DeviceTensor::<u32>::from_allocation(allocation, layout).unwrap();
    assert_eq!(tensor.device_address(), address + 12);
    let expected: Vec<u32> = (0..4)
        .flat_map(|col| (0..3).map(move |row| row * 4 + 3 - col))
        .map(|at| elements[at])
        .collect();
    assert_eq!(tensor.to_host().unwrap(), expected);
    assert_eq!(tensor.try_clone().unwrap().to_host().unwrap(), expected);
    let mut tensor = tensor;
    tensor.copy_from_host(&elements).unwrap();
    assert_eq!(tensor.to_host().unwrap(), elements);
    assert!(matches!(tensor.reshape(&[12]), Err(Error::Reshape { .. })));
    let diagonal = TensorLayout::strided(&[3], &[5], 0, 4).unwrap();
    assert_eq!(
        tensor.window(&diagonal).unwrap().to_host().unwrap(),
        [9, 7, 5].map(|at| elements[at])
    );
    let allocation = tensor.into_allocation();
    assert_eq!(allocation.address(), address);

    // Refusals.
    let short = DeviceMatrix::<u32>::from_allocation(allocation, Layout::new(4, 2, 4, 4).unwrap());
    assert!(matches!(short, Err(Error::WindowOutOfBounds { end: 16, available: 12, .. })));
    let memory = || DeviceMatrix::<u32>::zeroed(device, 3, 4).unwrap().into_allocation();
    let tensor = |shape: &[usize], strides: &[isize], offset| {
        let layout = TensorLayout::strided(shape, strides, offset, 4).unwrap();
        DeviceTensor::<u32>::from_allocation(memory(), layout)
    };
    assert!(matches!(tensor(&[13], &[1], 0), Err(Error::TensorOutOfBounds { .. })));
    assert!(matches!(tensor(&[2, 2], &[0, 1], 0), Err(Error::TensorOverlap { .. })));
    // A tensor that owns more or less than the rows of a matrix.
    for (shape, strides, offset, fits) in
        [([3, 2], [4, 1], 0, true), ([3, 2], [4, 1], 2, false), ([3, 2], [5, 1], 0, false)]
    {
        let matrix = DeviceMatrix::try_from(tensor(&shape, &strides, offset).unwrap());
        assert_eq!(matrix.is_ok(), fits, "{shape:?} {strides:?} {offset}");
    }
}

/// Memory of another owner is given back once, when the last of it is dropped, and not if it was not taken.
fn memory_that_others_free(device: &Device) {
    let freed = Arc::new(AtomicUsize::new(0));
    let count = || freed.load(Ordering::SeqCst);
    let theirs = |bytes: usize| {
        let owner = DeviceMatrix::<u8>::zeroed(device, 1, bytes).unwrap();
        let (address, freed) = (owner.device_address(), freed.clone());
        let delete = move |_: &Device| {
            freed.fetch_add(1, Ordering::SeqCst);
            drop(owner);
        };
        (address, delete)
    };
    let (address, delete) = theirs(64);
    // SAFETY: the owner's 64 zeroed bytes, which nobody else uses, live until `delete` is called.
    let allocation = unsafe { Allocation::from_raw(device, address, 64, delete).unwrap() };
    let mut matrix =
        DeviceMatrix::<u32>::from_allocation(allocation, Layout::contiguous(4, 4, 4).unwrap())
            .unwrap();
    matrix.copy_from_host(&host(16)).unwrap();
    matrix.transpose_in_place().unwrap();
    let transposed = matrix.transposed().unwrap();
    let tensor = DeviceTensor::from(matrix);
    assert_eq!(count(), 0);
    drop(tensor);
    assert_eq!(count(), 1);
    assert_eq!(transposed.to_host().unwrap(), host::<u32>(16));

    let (address, delete) = theirs(64);
    // SAFETY: as above; the memory is refused.
    let refused = unsafe { Allocation::from_raw(device, address + 4, 60, delete) };
    assert!(matches!(refused, Err(Error::Misaligned { needed: 256, .. })));
    assert_eq!(count(), 1);
    // No bytes have an owner too.
    let (address, delete) = theirs(8);
    // SAFETY: as above.
    drop(unsafe { Allocation::from_raw(device, address, 0, delete).unwrap() });
    assert_eq!(count(), 2);
}

#[test]
fn what_owns_memory_of_others_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Allocation>();
    shared::<DeviceMatrix<u32>>();
    shared::<DeviceTensor<u32>>();
}
