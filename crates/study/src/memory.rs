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
//! Over the bus, [`Strategy::Padded`](transpose::Strategy::Padded) transposes faster than
//! [`Auto`](transpose::Strategy::Auto), whose kernels are made for the GPU's own memory.
//!
//! # Safety of the safe API
//! Kernels run after the call that queued them has returned, so the host must not touch what they
//! use. [`HostMatrix::read`] and [`HostMatrix::write`] are the only ways to the elements; both
//! wait for the device first, and what they return borrows the matrix, so that nothing that
//! writes to it can be queued while it is looked at. Dropping a matrix waits too.

use crate::allocation::Allocation;
use crate::memory_kind::MemoryKind;
use crate::{Error, Result};
use bytemuck::Pod;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use transpose::{Device, DeviceMatrix, Layout, MatrixView, MatrixViewMut};

/// What the memory is aligned to at least, in bytes.
const ALIGNMENT: usize = 256;

/// A row-major matrix, rows without gaps, in host memory that a GPU can reach.
///
/// ```
/// use study::{HostMatrix, MemoryKind};
/// use transpose::Device;
///
/// # fn main() -> study::Result<()> {
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
/// # use study::{HostMatrix, MemoryKind};
/// # use transpose::Device;
/// # fn main() -> study::Result<()> {
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
pub struct HostMatrix<T: Pod> {
    device: Device,
    kind: MemoryKind,
    layout: Layout,
    memory: Memory<T>,
}

#[derive(Debug)]
enum Memory<T: Pod> {
    /// Memory of the host; `None` if there are no bytes.
    Host(Option<Allocation>),
    /// The simulator has one kind of memory, and it has no address on the host. It stands in for every kind.
    Simulated(DeviceMatrix<T>),
}

impl<T: Pod> HostMatrix<T> {
    /// A `rows × cols` matrix of zero bytes.
    ///
    /// # Errors
    /// [`transpose::Error::SizeOverflow`], [`transpose::Error::OutOfMemory`], also for unified memory that would not
    /// fit the device's, and what the device reports; [`Error::NoConcurrentAccess`] for unified memory
    /// where the host must not touch it while the GPU works; [`Error::HostAlignment`] for elements
    /// that the host wants aligned to more than 256 bytes.
    pub fn zeroed(device: &Device, kind: MemoryKind, rows: usize, cols: usize) -> Result<Self> {
        let needed = align_of::<T>();
        if needed > ALIGNMENT {
            return Err(Error::HostAlignment { needed, given: ALIGNMENT });
        }
        let layout = Layout::contiguous(rows, cols, size_of::<T>())?;
        let memory = match device.cuda_ordinal() {
            None => Memory::Simulated(DeviceMatrix::zeroed(device, rows, cols)?),
            Some(ordinal) => Memory::Host(match layout.len() * size_of::<T>() {
                0 => None,
                bytes => Some(Allocation::zeroed(ordinal, kind, bytes)?),
            }),
        };
        if let Memory::Host(allocation) = &memory
            && let host = first::<T>(allocation)
            && !host.is_aligned()
        {
            // A driver that does not do as it promises.
            let given = 1 << host.addr().trailing_zeros();
            return Err(Error::HostAlignment { needed, given });
        }
        Ok(HostMatrix { device: device.clone(), kind, layout, memory })
    }

    /// The elements to look at, row by row, once all queued work is done.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn read(&self) -> Result<HostRef<'_, T>> {
        self.device.synchronize()?;
        let len = self.layout.len();
        Ok(HostRef(match &self.memory {
            Memory::Simulated(matrix) => Elements::Copied(matrix.to_host()?),
            Memory::Host(allocation) => {
                // SAFETY: see `first`; the device is idle, and what could write waits for the borrow.
                Elements::Here(unsafe { std::slice::from_raw_parts(first(allocation), len) })
            }
        }))
    }

    /// The elements to change, row by row, once all queued work is done.
    ///
    /// # Errors
    /// What the device reports, failures of earlier queued work included.
    pub fn write(&mut self) -> Result<HostMut<'_, T>> {
        self.device.synchronize()?;
        let len = self.layout.len();
        Ok(HostMut(match &mut self.memory {
            Memory::Simulated(matrix) => ElementsMut::Copied(matrix.to_host()?, matrix),
            Memory::Host(allocation) => {
                // SAFETY: see `first`; the device is idle, and all that uses the matrix waits for
                // the exclusive borrow.
                ElementsMut::Here(unsafe { std::slice::from_raw_parts_mut(first(allocation), len) })
            }
        }))
    }

    /// The matrix as kernels read it.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for pinned memory.
    pub fn view(&self) -> Result<MatrixView<'_, T>> {
        let address = self.address()?;
        Ok(match &self.memory {
            Memory::Simulated(matrix) => matrix.view(),
            // SAFETY: the allocation holds the elements, initialized and aligned to pages, and lives as long as the matrix, which is
            // borrowed as long as the view, and whose drop waits for the device. The host changes elements only when nothing is
            // queued, and borrows the matrix for that, too.
            Memory::Host(_) => unsafe {
                MatrixView::from_raw_parts(
                    &self.device,
                    address,
                    self.layout.extent(),
                    self.layout,
                )?
            },
        })
    }

    /// The matrix as kernels write it.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for pinned memory.
    pub fn view_mut(&mut self) -> Result<MatrixViewMut<'_, T>> {
        let address = self.address()?;
        Ok(match &mut self.memory {
            Memory::Simulated(matrix) => matrix.view_mut(),
            // SAFETY: as in `view`; the matrix is borrowed exclusively, so that nothing else uses the elements.
            Memory::Host(_) => unsafe {
                MatrixViewMut::from_raw_parts(
                    &self.device,
                    address,
                    self.layout.extent(),
                    self.layout,
                )?
            },
        })
    }

    /// The kind of memory.
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// `(rows, columns)`.
    pub fn shape(&self) -> (usize, usize) {
        self.layout.shape()
    }

    /// The first element's address for kernels; 0 where there are no bytes, or no host memory.
    fn address(&self) -> Result<u64> {
        match (self.kind, &self.memory) {
            (MemoryKind::Pinned, _) => Err(Error::NotMapped { kind: self.kind }),
            (_, Memory::Host(Some(allocation))) => Ok(allocation.address()),
            _ => Ok(0),
        }
    }
}

/// The first element on the host, valid for all of them: pages of host memory, zeroed when they were
/// allocated, aligned for the element.
fn first<T>(allocation: &Option<Allocation>) -> *mut T {
    allocation.as_ref().map_or(NonNull::dangling(), |allocation| allocation.host().cast()).as_ptr()
}

impl<T: Pod> Drop for HostMatrix<T> {
    fn drop(&mut self) {
        // Queued work may still use the memory. A failure here is one of that work, and later
        // calls report it; there is nobody to report it to now.
        let _ = self.device.synchronize();
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
    Copied(Vec<T>, &'a mut DeviceMatrix<T>),
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
        if let ElementsMut::Copied(elements, matrix) = &mut self.0 {
            let written = matrix.copy_from_host(elements);
            debug_assert!(written.is_ok(), "a live matrix of the simulator: {written:?}");
        }
    }
}
