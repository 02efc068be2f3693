//! The same bits as elements of another type: of matrices and tensors.

use crate::layout::Layout;
use crate::matrix::DeviceMatrix;
use crate::matrix::view::{MatrixView, MatrixViewMut, Memory, alignment_of, require_aligned};
use crate::tensor::{DeviceTensor, MOST_AXES, TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

/// Bytes of the elements before and after a cast.
#[derive(Clone, Copy)]
struct Sizes {
    from: usize,
    to: usize,
}

impl Sizes {
    fn of<T, U>() -> Self {
        Sizes { from: size_of::<T>(), to: size_of::<U>() }
    }

    /// How many elements after are so many before; `None` if they are not whole ones.
    fn convert(self, elements: usize) -> Option<usize> {
        let bytes = elements.checked_mul(self.from)?;
        match self {
            Sizes { from, to } if from == to => Some(elements),
            Sizes { to: 0, .. } => None,
            Sizes { to, .. } => bytes.is_multiple_of(to).then_some(bytes / to),
        }
    }

    fn refused(self, layout: &TensorLayout) -> Error {
        let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
        let offset = layout.offset();
        Error::Cast { shape, strides, offset, from_bytes: self.from, to_bytes: self.to }
    }
}

impl TensorLayout {
    /// The same bytes as elements of another size: the last axis has as many more or fewer.
    fn cast(&self, sizes: Sizes) -> Result<TensorLayout> {
        if sizes.from == sizes.to {
            return Ok(*self);
        }
        self.cast_to(sizes).ok_or_else(|| sizes.refused(self))
    }

    fn cast_to(&self, sizes: Sizes) -> Option<TensorLayout> {
        let last = self.rank().checked_sub(1)?;
        let (mut shape, mut strides) = ([0; MOST_AXES], [0; MOST_AXES]);
        for axis in 0..self.rank() {
            let (length, stride) = (self.shape()[axis], self.strides()[axis]);
            (shape[axis], strides[axis]) = match axis {
                _ if axis == last && (stride == 1 || length <= 1) => (sizes.convert(length)?, 1),
                _ if axis == last => return None,
                _ if length <= 1 => (length, 1),
                _ => {
                    // Where there are no elements strides may be any.
                    let apart = isize::try_from(sizes.convert(stride.unsigned_abs())?).ok()?;
                    (length, apart * stride.signum())
                }
            };
        }
        let offset = if self.is_empty() { 0 } else { sizes.convert(self.offset())? };
        TensorLayout::strided(&shape[..=last], &strides[..=last], offset, sizes.to).ok()
    }
}

impl Layout {
    /// The same bytes as elements of another size: rows have as many more or fewer.
    fn cast(&self, sizes: Sizes) -> Result<Layout> {
        self.cast_to(sizes).ok_or_else(|| {
            let (shape, strides) = (vec![self.rows, self.cols], vec![self.ld as isize, 1]);
            Error::Cast { shape, strides, offset: 0, from_bytes: sizes.from, to_bytes: sizes.to }
        })
    }

    fn cast_to(&self, sizes: Sizes) -> Option<Layout> {
        if sizes.from == sizes.to {
            return Some(*self);
        }
        let cols = sizes.convert(self.cols)?;
        let ld = match self.rows {
            // What lies behind a single row need not be whole elements.
            0 | 1 => self.ld.checked_mul(sizes.from)? / sizes.to,
            _ => sizes.convert(self.ld)?,
        };
        Layout::new(self.rows, cols, ld, sizes.to).ok()
    }
}

/// The casts of both kinds of view.
macro_rules! casts {
    ($matrix:ident, $tensor:ident) => {
        impl<'a, T: Pod> $matrix<'a, T> {
            /// The same bytes as elements of type `U`, which may have another size: each row has as many more or fewer.
            ///
            /// # Errors
            /// [`Error::Cast`] for rows, or distances between them, that are not whole elements, and [`Error::Misaligned`].
            pub fn cast<U: Pod>(self) -> Result<$matrix<'a, U>> {
                let sizes = Sizes::of::<T, U>();
                let layout = self.layout.cast(sizes)?;
                require_aligned(self.address, alignment_of(size_of::<U>()))?;
                let bytes = self.available.saturating_mul(size_of::<T>());
                let available = bytes.checked_div(size_of::<U>()).unwrap_or(self.available);
                // SAFETY: the view's own bytes, of which any are a `U`, borrowed as the view is.
                let memory = unsafe { Memory::new(self.device, self.address, available) };
                $matrix::window(memory, 0, layout)
            }
        }

        impl<'a, T: Pod> $tensor<'a, T> {
            /// The same bytes as elements of type `U`, which may have another size: then the last axis, whose elements lie together, has
            /// as many more or fewer.
            ///
            /// # Errors
            /// [`Error::Cast`] for elements, or distances between them, that are not whole ones of the other type, and
            /// [`Error::Misaligned`].
            pub fn cast<U: Pod>(self) -> Result<$tensor<'a, U>> {
                // What lies before the lowest element is not the view's, and need not be whole elements.
                let (lowest, layout) = self.layout().lowest_on();
                let layout = layout.cast(Sizes::of::<T, U>())?;
                let memory = self.memory + (lowest * size_of::<T>()) as u64;
                require_aligned(memory, alignment_of(size_of::<U>()))?;
                // SAFETY: the view's own bytes, of which any are a `U`, borrowed as the view is; two indices have one element
                // only if they had.
                Ok(unsafe { $tensor::valid(self.device, memory, layout) })
            }
        }
    };
}

casts!(MatrixView, TensorView);
casts!(MatrixViewMut, TensorViewMut);

impl<T: Pod> DeviceMatrix<T> {
    /// The same bytes as elements of type `U`, which may have another size: each row has as many more or fewer. Nothing is moved.
    ///
    /// ```
    /// use transpose::{Device, DeviceMatrix};
    /// # fn main() -> transpose::Result<()> {
    /// let a = DeviceMatrix::from_host(&Device::simulated(), 1, 2, &[1.0f32, -2.0])?;
    /// let bits = a.cast::<u32>()?.cast::<[u8; 2]>()?;
    /// assert_eq!((bits.shape(), bits.to_host()?[3]), ((1, 4), [0, 0xc0]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Cast`] for rows, or distances between them, that are not whole elements; then the matrix is dropped. A cast of its
    /// [`view`](Self::view) tells beforehand.
    pub fn cast<U: Pod>(self) -> Result<DeviceMatrix<U>> {
        let layout = self.layout().cast(Sizes::of::<T, U>())?;
        DeviceMatrix::from_allocation(self.into_allocation(), layout)
    }
}

impl<T: Pod> DeviceTensor<T> {
    /// The same bytes as elements of type `U`, which may have another size: then the last axis, whose elements lie together, has
    /// as many more or fewer. Nothing is moved.
    ///
    /// # Errors
    /// [`Error::Cast`] for elements, distances between them, or an [offset](TensorLayout::offset), that are not whole ones of the other type;
    /// then the tensor is dropped. A cast of its [`view`](Self::view) tells beforehand of all but the offset.
    pub fn cast<U: Pod>(self) -> Result<DeviceTensor<U>> {
        let layout = self.layout().cast(Sizes::of::<T, U>())?;
        DeviceTensor::from_allocation(self.into_allocation(), layout)
    }
}
