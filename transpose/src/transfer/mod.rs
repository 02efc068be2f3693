//! Copies between host memory and device memory, of any strides on either side, and from device to device.
//!
//! Host memory is walked once and in the order of its addresses, whatever its strides: axes are brought into that order on both sides, and
//! where the device's side then has another order, the device permutes, through memory that is given back after. Elements that lie
//! together are copied from where they are; others are gathered, or spread, by rows. What lies between elements is never touched.
//!
//! | file | what it is about |
//! |---|---|
//! | `constants` | small arrays, which go to the device with launches |
//! | `device` | arrays that go to another device |
//! | `host` | a host array with its axes in the order of its memory |
//! | `matrix`, `tensor` | the methods of matrices and tensors |

mod constants;
mod device;
mod host;
mod matrix;
mod tensor;

use crate::layout::Layout;
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut, to_matrix};
use crate::{Error, Result};
use bytemuck::Pod;
pub(crate) use constants::Constants;
pub(crate) use host::{in_order, runs};
pub(crate) use tensor::require_len;

/// Rows of fewer bytes are brought together on the device, and not copied one by one.
const SHORT_ROW: usize = 32;

/// Copies the host's elements to a view of the same shape; they have been read when this returns.
///
/// # Safety
/// Element `[i, j, …]` of the host can be read at `host` plus the layout's offset, in elements, of `[i, j, …]`; nothing
/// writes it meanwhile.
pub(crate) unsafe fn upload<T: Pod>(
    dst: TensorViewMut<'_, T>,
    host: *const T,
    layout: &TensorLayout,
) -> Result<()> {
    require_shapes(layout.shape(), dst.shape())?;
    if dst.is_empty() || size_of::<T>() == 0 {
        return Ok(());
    }
    let (host_layout, order) = in_order(layout)?;
    // What is repeated in host memory is uploaded once.
    let once = host_layout.once()?;
    let gathered;
    // SAFETY: the caller vouches for the elements; those of a contiguous layout follow each other.
    let elements = unsafe {
        if once.is_contiguous() {
            std::slice::from_raw_parts(host.add(once.offset()), once.len())
        } else {
            gathered = gather(host, &once)?;
            &gathered[..]
        }
    };
    let dst = order.apply_mut(dst)?;
    if let Some(rows) = rows(&dst.view()).filter(|_| once.shape() == dst.shape()) {
        // SAFETY: the rows are all elements of the view, which borrows them exclusively.
        return unsafe { dst.device.upload(dst.device_address(), &rows, elements) };
    }
    let memory = DeviceTensor::uninitialized(dst.device, once.shape())?;
    let rows = Layout::contiguous(1, once.len(), size_of::<T>())?;
    // SAFETY: the memory was allocated for as many elements.
    unsafe { dst.device.upload(memory.device_address(), &rows, elements)? };
    memory.view().broadcast(dst.shape())?.copy_into(dst)
}

/// Copies a view's elements to the host, which has a layout of the same shape.
///
/// # Errors
/// [`Error::TensorOverlap`] for a layout in which an element has two indices, and what the device reports.
///
/// # Safety
/// Element `[i, j, …]` of the host can be written at `host` plus the layout's offset, in elements, of `[i, j, …]`; nothing
/// else uses it meanwhile.
pub(crate) unsafe fn download<T: Pod>(
    src: TensorView<'_, T>,
    host: *mut T,
    layout: &TensorLayout,
) -> Result<()> {
    require_shapes(src.shape(), layout.shape())?;
    layout.require_injective()?;
    if src.is_empty() || size_of::<T>() == 0 {
        return Ok(());
    }
    let (host_layout, order) = in_order(layout)?;
    let src = order.apply(src)?;
    if rows(&src).is_none() {
        // SAFETY: the caller's obligations; the elements are the same ones in the same order.
        return unsafe { download_rows(src.to_tensor()?.view(), host, &host_layout) };
    }
    // SAFETY: as above.
    unsafe { download_rows(src, host, &host_layout) }
}

/// Downloads a view that is rows of one length to a host array with its axes in the order of its memory.
///
/// # Safety
/// Those of [`download`].
unsafe fn download_rows<T: Pod>(
    src: TensorView<'_, T>,
    host: *mut T,
    layout: &TensorLayout,
) -> Result<()> {
    let shape = src.shape();
    let rows = rows(&src).ok_or_else(|| Error::NotAMatrix {
        shape: shape.to_vec(),
        strides: src.strides().to_vec(),
    })?;
    let address = src.device_address();
    if layout.is_contiguous() {
        // SAFETY: the caller vouches for the elements, which follow each other, and the view borrows what is read.
        unsafe {
            let elements = std::slice::from_raw_parts_mut(host.add(layout.offset()), layout.len());
            return src.device.download(address, &rows, elements);
        }
    }
    let mut gathered = host_memory(layout.len())?;
    // SAFETY: the view borrows what is read.
    unsafe { src.device.download(address, &rows, &mut gathered)? };
    let length = layout.run();
    for (run, offset) in gathered.chunks_exact(length).zip(runs(layout)) {
        // SAFETY: the caller vouches for the elements, of which as many follow each other.
        unsafe { std::ptr::copy_nonoverlapping(run.as_ptr(), host.add(offset), length) };
    }
    Ok(())
}

/// The elements of a host array one after the other.
///
/// # Safety
/// As for [`upload`].
unsafe fn gather<T: Pod>(host: *const T, layout: &TensorLayout) -> Result<Vec<T>> {
    let mut gathered = host_memory(layout.len())?;
    let length = layout.run();
    for (run, offset) in gathered.chunks_exact_mut(length).zip(runs(layout)) {
        // SAFETY: the caller vouches for the elements, of which as many follow each other.
        unsafe { std::ptr::copy_nonoverlapping(host.add(offset), run.as_mut_ptr(), length) };
    }
    Ok(gathered)
}

/// Zeroed host memory for so many elements.
fn host_memory<T: Pod>(len: usize) -> Result<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(len)
        .map_err(|()| Error::HostMemory { bytes: len * size_of::<T>() })
}

/// A view's elements, in row-major order, as rows that are worth a copy each; `None` if they do not lie so.
fn rows<T: Pod>(view: &TensorView<'_, T>) -> Option<Layout> {
    if view.is_contiguous() {
        return Layout::contiguous(1, view.len(), size_of::<T>()).ok();
    }
    let cols = view.layout().run();
    if cols * size_of::<T>() < SHORT_ROW {
        return None;
    }
    to_matrix::<T>(&view.layout().reshape(&[view.len() / cols, cols]).ok()?).ok()
}

/// Refuses a source and a destination, one of them a host array, that have not one shape.
fn require_shapes(src: &[usize], dst: &[usize]) -> Result<()> {
    if src == dst {
        return Ok(());
    }
    Err(Error::TensorShapeMismatch { src: src.to_vec(), dst: dst.to_vec() })
}
