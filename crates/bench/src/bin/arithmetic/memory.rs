//! The memories of a case, and its numbers in them.

use crate::case::{Case, Second};
use anyhow::Result;
use bench::memory::ensure_free;
use bench::race::Pairs;
use transpose::bytemuck::Pod;
use transpose::{Device, DeviceMatrix, TensorView, TensorViewMut};

/// Bytes after which sources repeat themselves.
pub const PATTERN: usize = 3 << 20;

/// So many bytes of a pattern on a device.
pub fn filled(device: &Device, bytes: usize) -> transpose::Result<DeviceMatrix<u8>> {
    let byte = |at: usize| ((at * at * 7 + at * 31) >> 3) as u8 & 0x77;
    let pattern: Vec<u8> = (0..PATTERN).map(byte).collect();
    let mut memory = DeviceMatrix::zeroed(device, 1, bytes)?;
    let repeated = DeviceMatrix::from_host(device, 1, PATTERN, &pattern)?;
    for start in (0..bytes).step_by(PATTERN) {
        let part = PATTERN.min(bytes - start);
        let to = memory.submatrix_mut(.., start..start + part)?;
        repeated.submatrix(.., ..part)?.copy_into(to)?;
    }
    Ok(memory)
}

/// The numbers of a memory, in some order.
pub fn source<'a, T: Pod>(
    memory: &'a DeviceMatrix<u8>,
    case: &Case,
) -> transpose::Result<TensorView<'a, T>> {
    let shape = source_shape(case);
    let flat = memory.submatrix(.., ..bytes_of_shape::<T>(&shape))?.cast::<T>()?;
    let all = TensorView::from(flat).reshape(&shape)?;
    all.slice(shape.len() - 1 - case.inner[0], case.gaps[0].., 1)?.permute_axes(&case.axes)
}

/// The numbers of a destination.
pub fn target<'a, U: Pod>(
    memory: &'a mut DeviceMatrix<u8>,
    case: &Case,
) -> transpose::Result<TensorViewMut<'a, U>> {
    let (shape, gap) = (target_shape(case), case.gaps[1]);
    let flat = memory.submatrix_mut(.., ..bytes_of_shape::<U>(&shape))?.cast::<U>()?;
    TensorViewMut::from(flat).reshape(&shape)?.slice(shape.len() - 1 - case.inner[1], gap.., 1)
}

/// A source's shape, gaps included.
fn source_shape(case: &Case) -> Vec<usize> {
    with_gap(&case.shape, case.inner[0], case.gaps[0])
}

/// A destination's shape, gaps included.
fn target_shape(case: &Case) -> Vec<usize> {
    let shape: Vec<usize> = case.axes.iter().map(|&axis| case.shape[axis]).collect();
    with_gap(&shape, case.inner[1], case.gaps[1])
}

/// A shape whose rows have a gap of so many indices before them; each index of a row has `inner` axes of its own: none if it is an element, one if it is a pixel.
fn with_gap(shape: &[usize], inner: usize, gap: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    if let Some(row) = shape.iter_mut().rev().nth(inner) {
        *row += gap;
    }
    shape
}

/// Bytes of an array.
fn bytes_of_shape<T>(shape: &[usize]) -> usize {
    shape.iter().product::<usize>() * size_of::<T>()
}

/// Bytes of a case's source and destination.
pub fn bytes_of<T, U>(case: &Case) -> [usize; 2] {
    [size_of::<T>(), size_of::<U>()].map(|bytes| case.elements() * bytes)
}

/// Sources and destinations of a case.
pub fn memories<T, U>(device: &Device, case: &Case) -> Result<Pairs<DeviceMatrix<u8>>> {
    let [src, dst] = bytes_of::<T, U>(case);
    // The copy reads and writes as many bytes as are read and written here, so both memories have room for the mean of both.
    let with_gaps = bytes_of_shape::<T>(&source_shape(case));
    let most = with_gaps.max(bytes_of_shape::<U>(&target_shape(case)));
    ensure_free(device, 7 * most, 14 * most)?;
    let pair = || Ok((filled(device, most)?, DeviceMatrix::zeroed(device, 1, most)?));
    Ok(Pairs::new(device, src + dst, pair)?)
}

/// Memory of the second operand that is not the destination; hardly any if there is none.
pub fn other_memory<U>(device: &Device, case: &Case) -> Result<DeviceMatrix<u8>> {
    let Second::Numbers(order, gap) = case.second else {
        return Ok(DeviceMatrix::zeroed(device, 1, 1)?);
    };
    let elements: usize = laid_out(case, order, gap).iter().product();
    Ok(filled(device, elements * size_of::<U>())?)
}

/// The shape of the second operand's memory, gaps included.
pub fn laid_out(case: &Case, order: &[usize], gap: usize) -> Vec<usize> {
    let shape: Vec<usize> = order.iter().map(|&axis| case.shape[case.axes[axis]]).collect();
    with_gap(&shape, 0, gap)
}

/// The second operand's numbers, in the result's order.
pub fn others<'a, U: Pod>(
    memory: &'a DeviceMatrix<u8>,
    case: &Case,
    order: &[usize],
    gap: usize,
) -> transpose::Result<TensorView<'a, U>> {
    let shape = laid_out(case, order, gap);
    let last = shape.len() - 1;
    let flat = memory.submatrix(.., ..)?.cast::<U>()?;
    let all = TensorView::from(flat).reshape(&shape)?.slice(last, ..shape[last] - gap, 1)?;
    let mut inverse = vec![0; order.len()];
    for (at, &axis) in order.iter().enumerate() {
        inverse[axis] = at;
    }
    all.permute_axes(&inverse)
}
