//! Host memory that copies use while the program goes on: page-locked, so that the GPU reaches it by itself.
//!
//! What makes it safe: work that is queued keeps a mark behind itself in the buffer. Whoever looks at the elements waits for the marks
//! of what writes them; whoever changes them waits for all marks; and the memory of a buffer that is dropped is given back when the
//! device has come to them. A buffer that is leaked keeps its memory for good. There is no other handle to a pending copy, so there is none to
//! lose.

use crate::device::{Device, HostMemory, Mark, require_one_memory};
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut};
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::transfer::require_len;
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::mem::take;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Elements in page-locked host memory, to and from which a device copies while the program goes on.
///
/// Uploads from it and downloads into it are queued and return at once: [`DeviceMatrix::upload_from`],
/// [`DeviceMatrix::download_into`], and the like of views and tensors. [`read`](Self::read) and [`write`](Self::write) wait for the copies of this
/// buffer and no others. A drop waits for nothing.
///
/// Page-locked memory is taken from what the host has for everything else, and takes milliseconds to be had: keep a few buffers, and use
/// them again and again. On the simulator it is ordinary memory, and copies are done when they return.
///
/// ```
/// use transpose::{Device, DeviceMatrix, PinnedBuffer};
/// # fn main() -> transpose::Result<()> {
/// let (device, _) = Device::any();
/// let mut buffer = PinnedBuffer::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut a = DeviceMatrix::zeroed(&device, 2, 3)?;
/// a.upload_from(&buffer)?;
/// a.transposed()?.download_into(&mut buffer)?;
/// // … other work of the host, while the device copies and transposes …
/// assert_eq!(buffer.read()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(())
/// # }
/// ```
///
/// While the elements are looked at, nothing that writes them can be queued:
///
/// ```compile_fail,E0502
/// # use transpose::{Device, DeviceMatrix, PinnedBuffer};
/// # let device = Device::simulated();
/// # let a = DeviceMatrix::<u8>::zeroed(&device, 2, 3).unwrap();
/// # let mut buffer = PinnedBuffer::<u8>::zeroed(&device, 6).unwrap();
/// let seen = buffer.read().unwrap();
/// a.download_into(&mut buffer).unwrap(); // `buffer` is borrowed by `seen`
/// assert_eq!(seen[0], 0);
/// ```
#[derive(Debug)]
pub struct PinnedBuffer<T> {
    /// Before the device, which keeps what it is of. `None` if there are no bytes, or the buffer is going.
    memory: Option<HostMemory>,
    len: usize,
    pending: Mutex<Vec<Pending>>,
    device: Device,
    element: PhantomData<T>,
}

/// A copy that was queued, and may be done.
#[derive(Debug)]
struct Pending {
    direction: Direction,
    /// The queue that it is in.
    queue: usize,
    /// Behind it.
    mark: Arc<Mark>,
}

/// What a copy does with the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Direction {
    /// Reads it.
    Upload,
    /// Writes it.
    Download,
}

impl<T: Pod> PinnedBuffer<T> {
    /// `len` elements of zero bytes, for copies to and from the device, on whichever of its streams.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the device reports.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let bytes =
            len.checked_mul(size_of::<T>()).ok_or(Error::HostMemory { bytes: usize::MAX })?;
        let memory =
            (bytes > 0).then(|| device.allocate_host(bytes, align_of::<T>())).transpose()?;
        let (pending, device) = (Mutex::default(), device.clone());
        Ok(PinnedBuffer { memory, len, pending, device, element: PhantomData })
    }

    /// As many elements as the slice has, and the same.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, elements: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, elements.len())?;
        buffer.write()?.copy_from_slice(elements);
        Ok(buffer)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device that the buffer is for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Whether all copies that were queued are done, so that neither [`read`](Self::read) nor [`write`](Self::write) would wait.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn is_ready(&self) -> Result<bool> {
        for copy in self.pending().iter() {
            if !copy.mark.is_done()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The elements to look at, once the downloads into the buffer are done. Uploads may be under way.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn read(&self) -> Result<&[T]> {
        // Others may queue uploads meanwhile.
        let downloads = |copy: &&Pending| copy.direction == Direction::Download;
        let marks: Vec<_> =
            self.pending().iter().filter(downloads).map(|copy| copy.mark.clone()).collect();
        marks.iter().try_for_each(|mark| mark.synchronize())?;
        // SAFETY: the memory holds `len` elements, which are initialized: zeroed at first, and written by what writes any `T`. What
        // was queued to write them is done; more is queued, or they are changed, with an exclusive borrow only.
        Ok(unsafe { std::slice::from_raw_parts(self.start(), self.len) })
    }

    /// The elements to change, once all copies from and into the buffer are done.
    ///
    /// # Errors
    /// What the device reports, failures of queued work included.
    pub fn write(&mut self) -> Result<&mut [T]> {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        pending.iter().try_for_each(|copy| copy.mark.synchronize())?;
        pending.clear();
        // SAFETY: as in `read`; nothing that was queued uses them any more, and the borrow is exclusive.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) })
    }

    /// The first element; for no bytes, anything that is aligned.
    fn start(&self) -> *mut T {
        let start = self.memory.as_ref().map(HostMemory::start);
        start.map_or(NonNull::dangling(), NonNull::cast::<T>).as_ptr()
    }

    fn pending(&self) -> MutexGuard<'_, Vec<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a copy between the buffer and a matrix of `rows × cols` on `stream`: after the copies that it must not meet, and with
    /// a mark behind it. For a download the buffer must be borrowed exclusively.
    fn queue(
        &self,
        stream: &Device,
        (rows, cols): (usize, usize),
        direction: Direction,
        copy: impl FnOnce(*mut T) -> Result<()>,
    ) -> Result<()> {
        let expected = rows * cols;
        if self.len != expected {
            return Err(Error::LengthMismatch { rows, cols, expected, actual: self.len });
        }
        require_one_memory(&self.device, stream)?;
        if self.memory.is_none() {
            return Ok(());
        }
        let (queue, mark) = (stream.queue_id(), Arc::new(stream.mark(false)?));
        let mut pending = self.pending();
        for other in pending.iter().filter(|other| other.queue != queue) {
            if direction == Direction::Download || other.direction == Direction::Download {
                stream.wait_for_mark(&other.mark)?;
            }
        }
        let queued = copy(self.start());
        // Also if only a part could be queued.
        let marked = stream.or_wait(stream.put(&mark));
        // A download comes after all that was queued before it, an upload after those in its queue.
        pending.retain(|other| {
            direction == Direction::Upload
                && (other.queue != queue || other.direction == Direction::Download)
        });
        pending.push(Pending { direction, queue, mark });
        queued.and(marked)
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            let pending = take(self.pending.get_mut().unwrap_or_else(PoisonError::into_inner));
            self.device.retire(memory, pending.into_iter().map(|copy| copy.mark).collect());
        }
    }
}

impl<T: Pod> MatrixView<'_, T> {
    /// Queues a copy of the elements, row by row, into a buffer of as many, and returns. [`PinnedBuffer::read`] waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless the buffer has as many elements, [`Error::DeviceMismatch`] for a buffer of another device, and
    /// what the device reports.
    pub fn download_into(&self, buffer: &mut PinnedBuffer<T>) -> Result<()> {
        buffer.queue(self.device, self.shape(), Direction::Download, |host| {
            // SAFETY: the view's elements lie in live memory of this queue. The buffer has as many, and keeps them until the mark behind
            // the copy has passed; until then it lets nobody look at them, and has other copies wait.
            unsafe { self.device.download_later(self.address, &self.layout, host) }
        })
    }
}

impl<T: Pod> MatrixViewMut<'_, T> {
    /// Queues a copy of the elements of a buffer to this window, row by row, and returns. What the buffer has now is what is copied:
    /// [`PinnedBuffer::write`] waits for it.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless the buffer has as many elements, [`Error::DeviceMismatch`] for a buffer of another device, and
    /// what the device reports.
    pub fn upload_from(&mut self, buffer: &PinnedBuffer<T>) -> Result<()> {
        buffer.queue(self.device, self.shape(), Direction::Upload, |host| {
            // SAFETY: the view's elements lie in live memory of this queue, and are borrowed exclusively. The buffer has as many, and
            // keeps them until the mark behind the copy has passed; until then it lets nobody change them, and has downloads wait.
            unsafe { self.device.upload_later(self.address, &self.layout, host) }
        })
    }
}

impl<T: Pod> TensorView<'_, T> {
    /// Queues a copy of the elements, in row-major order, into a buffer of as many, and returns. [`PinnedBuffer::read`] waits for
    /// it.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless the buffer has as many elements, [`Error::NotAMatrix`] for elements that lie neither together nor as
    /// the rows of a matrix, [`Error::DeviceMismatch`] for a buffer of another device, and what the device reports.
    pub fn download_into(&self, buffer: &mut PinnedBuffer<T>) -> Result<()> {
        require_len(self.shape(), buffer.len)?;
        let rows = self.reshape(&rows(self.layout())).and_then(MatrixView::try_from);
        rows.map_err(|error| no_rows(error, self.layout()))?.download_into(buffer)
    }
}

impl<T: Pod> TensorViewMut<'_, T> {
    /// Queues a copy of the elements of a buffer to this view, in row-major order, and returns. [`PinnedBuffer::write`] waits for
    /// it.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless the buffer has as many elements, [`Error::NotAMatrix`] for elements that lie neither together nor as
    /// the rows of a matrix, [`Error::DeviceMismatch`] for a buffer of another device, and what the device reports.
    pub fn upload_from(&mut self, buffer: &PinnedBuffer<T>) -> Result<()> {
        require_len(self.shape(), buffer.len)?;
        let layout = *self.layout();
        let rows = self.reborrow().reshape(&rows(&layout)).and_then(MatrixViewMut::try_from);
        rows.map_err(|error| no_rows(error, &layout))?.upload_from(buffer)
    }
}

/// The shape of the matrix that a layout's elements, in row-major order, are the rows of, if they are that of one: a row is what lies together.
fn rows(layout: &TensorLayout) -> [usize; 2] {
    if layout.is_contiguous() {
        return [1, layout.len()];
    }
    let cols = layout.run();
    [layout.len() / cols, cols]
}

/// Why elements are not the rows of a matrix, by the shape that the caller knows.
fn no_rows(error: Error, layout: &TensorLayout) -> Error {
    match error {
        Error::Reshape { .. } | Error::NotAMatrix { .. } => {
            let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
            Error::NotAMatrix { shape, strides }
        }
        other => other,
    }
}

/// What both kinds of array do by their views.
macro_rules! copies {
    ($array:ident, $view:ident, $view_mut:ident) => {
        impl<T: Pod> $array<T> {
            /// Queues a copy of the elements, in row-major order, into a buffer of as many, and returns. [`PinnedBuffer::read`] waits
            /// for it.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($view), "::download_into`].")]
            pub fn download_into(&self, buffer: &mut PinnedBuffer<T>) -> Result<()> {
                self.view().download_into(buffer)
            }

            /// Queues a copy of the elements of a buffer to this array, in row-major order, and returns. [`PinnedBuffer::write`]
            /// waits for it.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($view_mut), "::upload_from`].")]
            pub fn upload_from(&mut self, buffer: &PinnedBuffer<T>) -> Result<()> {
                self.view_mut().upload_from(buffer)
            }
        }
    };
}

copies!(DeviceMatrix, MatrixView, MatrixViewMut);
copies!(DeviceTensor, TensorView, TensorViewMut);

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::*;

    /// Rows of three elements of which each has one behind it, along two axes; and every other element.
    #[test]
    fn rows_may_have_any_number_of_axes() {
        let device = Device::simulated();
        let before: Vec<u32> = (0..24).collect();
        let mut tensor = DeviceTensor::from_host(&device, &[2, 3, 4], &before).unwrap();
        let mut rows = PinnedBuffer::zeroed(&device, 18).unwrap();
        let part = tensor.view().slice(2, ..3, 1).unwrap();
        part.download_into(&mut rows).unwrap();
        assert_eq!(rows.read().unwrap(), part.to_host().unwrap());
        rows.write().unwrap().fill(7);
        tensor.view_mut().slice(2, ..3, 1).unwrap().upload_from(&rows).unwrap();
        let filled: Vec<u32> = (0..24).map(|at| if at % 4 < 3 { 7 } else { at }).collect();
        assert_eq!(tensor.to_host().unwrap(), filled);

        let other = DeviceTensor::from_host(&device, &[24], &before).unwrap();
        let other = other.view().slice(0, .., 2).unwrap();
        let mut elements = PinnedBuffer::zeroed(&device, 12).unwrap();
        other.download_into(&mut elements).unwrap();
        assert_eq!(elements.read().unwrap(), other.to_host().unwrap());
    }

    #[test]
    fn what_is_no_rows_is_named_as_it_is() {
        let device = Device::simulated();
        let mut tensor = DeviceTensor::<u8>::zeroed(&device, &[2, 3, 4]).unwrap();
        let mut buffer = PinnedBuffer::zeroed(&device, 24).unwrap();
        let refused = Error::NotAMatrix { shape: vec![4, 3, 2], strides: vec![1, 4, 12] };
        assert_eq!(tensor.view().t().download_into(&mut buffer), Err(refused.clone()));
        assert_eq!(tensor.view_mut().t().upload_from(&buffer), Err(refused));
    }
}
