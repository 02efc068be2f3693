//! Memory of the host that a GPU can reach, in the ways that there are.
//!
//! An ordinary slice is *pageable*: before the GPU's copy engine can touch it, the driver copies
//! it to memory that stays where it is. The kinds here do without that:
//!
//! | [`MemoryKind`] | where it lies | who reaches it |
//! |---|---|---|
//! | [`Pinned`](MemoryKind::Pinned) | on the host, page-locked | the host; the GPU's copy engines |
//! | [`Mapped`](MemoryKind::Mapped) | on the host, page-locked | the host; kernels, over the bus, at every access ("zero-copy") |
//! | [`Unified`](MemoryKind::Unified) | where it was last touched | the host; kernels; its pages migrate |
//!
//! Over the bus, [`Strategy::Padded`](crate::Strategy::Padded) transposes faster than
//! [`Auto`](crate::Strategy::Auto), whose kernels are made for the GPU's own memory.
//!
//! # Safety of the safe API
//! Kernels run after the call that queued them has returned, so the host must not touch what they
//! use. [`HostMatrix::read`] and [`HostMatrix::write`] are the only ways to the elements; both
//! wait for the device first, and what they return borrows the matrix, so that nothing that
//! writes to it can be queued while it is looked at. Dropping a matrix waits too.

use crate::device::{Device, HOST_ALIGNMENT, HostAllocation};
use crate::layout::Layout;
use crate::memory_kind::MemoryKind;
use crate::view::{MatrixView, MatrixViewMut, Memory};
use crate::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A row-major matrix, rows without gaps, in host memory that a GPU can reach.
///
/// ```
/// use transpose::Device;
/// use transpose::study::{HostMatrix, MemoryKind};
///
/// # fn main() -> transpose::Result<()> {
/// let (device, _why_no_gpu) = Device::any();
/// let mut src = HostMatrix::zeroed(&device, MemoryKind::Mapped, 2, 3)?;
/// src.write()?.copy_from_slice(&[1u32, 2, 3, 4, 5, 6]);
/// let mut dst = HostMatrix::zeroed(&device, MemoryKind::Mapped, 3, 2)?;
/// // No copy: the kernel reads and writes the host's memory.
/// src.view()?.transpose_into(dst.view_mut()?)?;
/// assert_eq!(dst.read()?[..], [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// While somebody looks at a matrix, nothing that writes to it can be queued:
///
/// ```compile_fail,E0502
/// # use transpose::Device;
/// # use transpose::study::{HostMatrix, MemoryKind};
/// # fn main() -> transpose::Result<()> {
/// # let device = Device::simulated();
/// # let src = HostMatrix::<u32>::zeroed(&device, MemoryKind::Mapped, 2, 3)?;
/// # let mut dst = HostMatrix::<u32>::zeroed(&device, MemoryKind::Mapped, 3, 2)?;
/// let seen = dst.read()?;
/// src.view()?.transpose_into(dst.view_mut()?)?; // `dst` is borrowed by `seen`
/// assert_eq!(seen[0], 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HostMatrix<T> {
    device: Device,
    kind: MemoryKind,
    /// `None` if there are no bytes.
    allocation: Option<HostAllocation>,
    layout: Layout,
    element: PhantomData<T>,
}

impl<T: Pod> HostMatrix<T> {
    /// A `rows × cols` matrix of zero bytes.
    ///
    /// # Errors
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`], also for unified memory that would not
    /// fit the device's, and what the device reports; [`Error::Unsupported`] for unified memory
    /// where the host must not touch it while the GPU works; [`Error::HostAlignment`] for elements
    /// that the host wants aligned to more than 256 bytes.
    pub fn zeroed(device: &Device, kind: MemoryKind, rows: usize, cols: usize) -> Result<Self> {
        let layout = Layout::contiguous(rows, cols, size_of::<T>())?;
        let needed = align_of::<T>();
        if needed > HOST_ALIGNMENT {
            return Err(Error::HostAlignment { needed, given: HOST_ALIGNMENT });
        }
        let bytes = layout.len() * size_of::<T>();
        let allocation = match bytes {
            0 => None,
            _ => Some(device.allocate_host(kind, bytes)?),
        };
        let device = device.clone();
        let matrix = Self { device, kind, allocation, layout, element: PhantomData };
        match matrix.host() {
            // A driver that does not do as the device promises.
            Some(host) if !host.is_aligned() => {
                Err(Error::HostAlignment { needed, given: 1 << host.addr().trailing_zeros() })
            }
            _ => Ok(matrix),
        }
    }

    /// The elements to look at, row by row, once all queued work is done.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn read(&self) -> Result<HostRef<'_, T>> {
        self.device.synchronize()?;
        Ok(HostRef(match self.host() {
            // SAFETY: see `host`; the device is idle, and what could write waits for the borrow.
            Some(host) => Elements::Here(unsafe { std::slice::from_raw_parts(host, self.len()) }),
            None => Elements::Copied(self.downloaded()?),
        }))
    }

    /// The elements to change, row by row, once all queued work is done.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn write(&mut self) -> Result<HostMut<'_, T>> {
        self.device.synchronize()?;
        let len = self.len();
        Ok(HostMut(match self.host() {
            Some(host) => {
                // SAFETY: see `host`; the device is idle, and all that uses the matrix waits for
                // the exclusive borrow.
                ElementsMut::Here(unsafe { std::slice::from_raw_parts_mut(host, len) })
            }
            None => ElementsMut::Copied(self.downloaded()?, self),
        }))
    }

    /// The matrix as kernels read it.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for pinned memory.
    pub fn view(&self) -> Result<MatrixView<'_, T>> {
        Ok(MatrixView::whole(self.memory()?, self.layout))
    }

    /// The matrix as kernels write it.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for pinned memory.
    pub fn view_mut(&mut self) -> Result<MatrixViewMut<'_, T>> {
        Ok(MatrixViewMut::whole(self.memory()?, self.layout))
    }

    /// The kind of memory.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// `(rows, columns)`.
    pub fn shape(&self) -> (usize, usize) {
        (self.layout.rows, self.layout.cols)
    }

    fn len(&self) -> usize {
        self.layout.len()
    }

    /// The first element, valid for all of them: pages of host memory, zeroed when they were
    /// allocated, aligned for the element. `None` on the simulator, whose memory has no address
    /// on the host.
    fn host(&self) -> Option<*mut T> {
        match &self.allocation {
            Some(allocation) => allocation.host.map(|host| host.as_ptr().cast()),
            None => Some(std::ptr::NonNull::dangling().as_ptr()),
        }
    }

    /// The elements as kernels reach them. For a window that is written the matrix must be borrowed exclusively.
    fn memory(&self) -> Result<Memory<'_, T>> {
        let address = match (self.kind, &self.allocation) {
            (MemoryKind::Pinned, _) => return Err(Error::NotMapped { kind: self.kind }),
            (_, Some(allocation)) => allocation.address,
            (_, None) => 0,
        };
        // SAFETY: the allocation lives as long as the matrix and holds as many elements. The matrix is borrowed as long as the views,
        // by those that write exclusively; the host reads and writes when nothing is queued, and borrows the matrix, too.
        Ok(unsafe { Memory::new(&self.device, address, self.len()) })
    }

    /// The elements, copied out of the simulator.
    fn downloaded(&self) -> Result<Vec<T>> {
        let mut host = vec![T::zeroed(); self.len()];
        let address = self.allocation.as_ref().map_or(0, |allocation| allocation.address);
        // SAFETY: the layout is that of the matrix's own allocation.
        unsafe { self.device.download(address, &self.layout, &mut host)? };
        Ok(host)
    }
}

impl<T> Drop for HostMatrix<T> {
    fn drop(&mut self) {
        if let Some(allocation) = self.allocation.take() {
            self.device.free_host(self.kind, allocation);
        }
    }
}

/// The elements of a [`HostMatrix`], to look at.
pub struct HostRef<'a, T>(Elements<'a, T>);

enum Elements<'a, T> {
    Here(&'a [T]),
    Copied(Vec<T>),
}

impl<T> Deref for HostRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Elements::Here(elements) => elements,
            Elements::Copied(elements) => elements,
        }
    }
}

/// The elements of a [`HostMatrix`], to change.
///
/// On the simulator the change takes effect when this is dropped.
pub struct HostMut<'a, T: Pod>(ElementsMut<'a, T>);

enum ElementsMut<'a, T: Pod> {
    Here(&'a mut [T]),
    Copied(Vec<T>, &'a HostMatrix<T>),
}

impl<T: Pod> Deref for HostMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            ElementsMut::Here(elements) => elements,
            ElementsMut::Copied(elements, _) => elements,
        }
    }
}

impl<T: Pod> DerefMut for HostMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            ElementsMut::Here(elements) => elements,
            ElementsMut::Copied(elements, _) => elements,
        }
    }
}

impl<T: Pod> Drop for HostMut<'_, T> {
    fn drop(&mut self) {
        if let ElementsMut::Copied(elements, matrix) = &self.0 {
            let address = matrix.allocation.as_ref().map_or(0, |allocation| allocation.address);
            // SAFETY: the layout is that of the matrix's own allocation.
            let written = unsafe { matrix.device.upload(address, &matrix.layout, elements) };
            debug_assert!(written.is_ok(), "a live allocation of the simulator: {written:?}");
        }
    }
}
