//! Arrays in host memory that a program lends: a shape, strides, and whether the device can reach the memory by itself.

use crate::tensor::TensorLayout;
use crate::{Device, Error, PinnedBuffer, Result};
use bytemuck::Pod;
use std::marker::PhantomData;

/// An array of any rank and strides in host memory that it borrows.
///
/// ```
/// use transpose::host::HostView;
/// # fn main() -> transpose::Result<()> {
/// let elements = [1u16, 2, 3, 4, 5, 6];
/// let columns = HostView::matrix(&elements, 2, 3)?.t();
/// assert_eq!((columns.layout().shape(), columns.layout().strides()), (&[3, 2][..], &[1, 3][..]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HostView<'a, T> {
    start: *const T,
    layout: TensorLayout,
    pinned: Pinned,
    elements: PhantomData<&'a [T]>,
}

/// An array of any rank and strides in host memory that it borrows exclusively. No element has two indices: its layout is
/// [injective](TensorLayout::is_injective).
#[derive(Debug)]
pub struct HostViewMut<'a, T> {
    start: *mut T,
    layout: TensorLayout,
    pinned: Pinned,
    elements: PhantomData<&'a mut [T]>,
}

/// Which devices reach memory by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pinned {
    No,
    /// What is pinned for a simulated device is ordinary memory.
    ForSimulated,
    /// All of them, whichever it was allocated for.
    ForGpus,
}

impl Pinned {
    fn of<T: Pod>(buffer: &PinnedBuffer<T>) -> Self {
        if buffer.device().is_gpu() { Pinned::ForGpus } else { Pinned::ForSimulated }
    }
}

impl<T> Clone for HostView<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for HostView<'_, T> {}

// SAFETY: a view is what a shared slice is, and gives no more than that.
unsafe impl<T: Sync> Send for HostView<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostView<'_, T> {}
// SAFETY: a view is what an exclusive slice is.
unsafe impl<T: Send> Send for HostViewMut<'_, T> {}
// SAFETY: a shared reference to the view gives its layout and no element.
unsafe impl<T: Sync> Sync for HostViewMut<'_, T> {}

impl<'a, T: Pod> HostView<'a, T> {
    /// Those of the slice's elements that `layout` names, whose offset counts from the slice's start.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the slice has not, and [`Error::TensorSizeOverflow`].
    pub fn new(elements: &'a [T], layout: &TensorLayout) -> Result<Self> {
        let layout = checked::<T>(layout, elements.len())?;
        Ok(HostView { start: elements.as_ptr(), layout, pinned: Pinned::No, elements: PhantomData })
    }

    /// The slice as a matrix, row by row.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are `rows * cols` elements, and [`Error::TensorSizeOverflow`] where that is more than can be addressed.
    pub fn matrix(elements: &'a [T], rows: usize, cols: usize) -> Result<Self> {
        Self::new(elements, &of_matrix::<T>(rows, cols, elements.len())?)
    }

    /// Those of a buffer's elements that `layout` names: copies to the device read them where they are. Downloads into the buffer
    /// are waited for.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and what the device reports.
    pub fn pinned(buffer: &'a PinnedBuffer<T>, layout: &TensorLayout) -> Result<Self> {
        Ok(HostView { pinned: Pinned::of(buffer), ..Self::new(buffer.read()?, layout)? })
    }
}

impl<'a, T: Pod> HostViewMut<'a, T> {
    /// Those of the slice's elements that `layout` names, whose offset counts from the slice's start.
    ///
    /// # Errors
    /// [`Error::TensorOutOfBounds`] for elements that the slice has not, [`Error::TensorOverlap`] for a layout that is not
    /// [injective](TensorLayout::is_injective), and [`Error::TensorSizeOverflow`].
    pub fn new(elements: &'a mut [T], layout: &TensorLayout) -> Result<Self> {
        let layout = checked::<T>(layout, elements.len())?;
        layout.require_injective()?;
        let start = elements.as_mut_ptr();
        Ok(HostViewMut { start, layout, pinned: Pinned::No, elements: PhantomData })
    }

    /// The slice as a matrix, row by row.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless there are `rows * cols` elements, and [`Error::TensorSizeOverflow`] where that is more than can be addressed.
    pub fn matrix(elements: &'a mut [T], rows: usize, cols: usize) -> Result<Self> {
        let layout = of_matrix::<T>(rows, cols, elements.len())?;
        Self::new(elements, &layout)
    }

    /// Those of a buffer's elements that `layout` names: copies from the device write them where they are. Copies of the buffer that
    /// were queued are waited for.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and what the device reports.
    pub fn pinned(buffer: &'a mut PinnedBuffer<T>, layout: &TensorLayout) -> Result<Self> {
        let pinned = Pinned::of(buffer);
        Ok(HostViewMut { pinned, ..Self::new(buffer.write()?, layout)? })
    }

    /// The first element of the memory that the layout's offset counts from.
    pub(super) fn start_mut(&mut self) -> *mut T {
        self.start
    }
}

macro_rules! views {
    ($view:ident) => {
        impl<T: Pod> $view<'_, T> {
            /// The shape and the strides, in elements.
            pub fn layout(&self) -> &TensorLayout {
                &self.layout
            }

            /// Whether the device that the memory is pinned for reaches it by itself.
            pub fn is_pinned(&self) -> bool {
                self.pinned != Pinned::No
            }

            /// Whether this device reaches the memory by itself.
            pub(super) fn is_reached_by(&self, device: &Device) -> bool {
                match self.pinned {
                    Pinned::No => false,
                    Pinned::ForSimulated => !device.is_gpu(),
                    Pinned::ForGpus => true,
                }
            }

            /// The same elements, axis `i` being what axis `axes[i]` was.
            ///
            /// # Errors
            /// [`Error::NotAPermutation`] unless each axis is named once.
            pub fn permute_axes(self, axes: &[usize]) -> Result<Self> {
                Ok($view { layout: self.layout.permute_axes(axes)?, ..self })
            }

            /// The same elements, the order of the axes reversed.
            pub fn t(self) -> Self {
                $view { layout: self.layout.t(), ..self }
            }
        }
    };
}

views!(HostView);
views!(HostViewMut);

impl<T: Pod> HostView<'_, T> {
    /// The first element of the memory that the layout's offset counts from.
    pub(super) fn start(&self) -> *const T {
        self.start
    }
}

/// A layout for elements of this type, all of which lie in a memory of so many.
fn checked<T>(layout: &TensorLayout, available: usize) -> Result<TensorLayout> {
    layout.require_within(available)?;
    TensorLayout::strided(layout.shape(), layout.strides(), layout.offset(), size_of::<T>())
}

fn of_matrix<T>(rows: usize, cols: usize, actual: usize) -> Result<TensorLayout> {
    let layout = TensorLayout::contiguous(&[rows, cols], size_of::<T>())?;
    let expected = layout.len();
    if actual != expected {
        return Err(Error::LengthMismatch { rows, cols, expected, actual });
    }
    Ok(layout)
}
