//! Where the elements of an array of any rank lie: shape, strides and offset, checked. Pure arithmetic.

use crate::layout::indices;
use crate::{Error, Result};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Range, RangeBounds};

/// The most axes that a tensor has.
pub const MOST_AXES: usize = 16;

/// The shape of an array of any rank, how far its elements are apart along each axis, and where it starts.
///
/// Element `[i, j, …]` lies `offset + i · strides[0] + j · strides[1] + …` elements behind the start of a memory. A stride may be
/// negative, or 0: then one element stands for a whole axis. *Row-major* means that the last axis is the fastest.
///
/// A layout that exists is valid: it has at most 16 axes, no element lies before the memory's start, and neither the
/// elements' number of bytes nor the end of the last one exceeds `isize`, for the element size that the layout was made for.
///
/// ```
/// use transpose::TensorLayout;
/// # fn main() -> transpose::Result<()> {
/// let images = TensorLayout::contiguous(&[8, 224, 224, 3], 4)?;
/// let channels_first = images.permute_axes(&[0, 3, 1, 2])?;
/// assert_eq!(channels_first.shape(), [8, 3, 224, 224]);
/// assert_eq!(channels_first.strides(), [150528, 1, 672, 3]);
/// let mirrored = channels_first.slice(3, .., -1)?;
/// assert_eq!((mirrored.strides()[3], mirrored.offset()), (-3, 669));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct TensorLayout {
    rank: usize,
    /// What lies behind the rank is 0, here and in `strides`.
    shape: [usize; MOST_AXES],
    strides: [isize; MOST_AXES],
    offset: usize,
}

impl TensorLayout {
    /// An array of `shape` without gaps, row-major, of elements of `element_bytes` bytes.
    ///
    /// # Errors
    /// [`Error::TooManyAxes`] and [`Error::TensorSizeOverflow`].
    pub fn contiguous(shape: &[usize], element_bytes: usize) -> Result<Self> {
        let mut layout = Self::of_shape(shape)?;
        let overflow = || Error::TensorSizeOverflow { shape: shape.to_vec(), element_bytes };
        // An axis of no elements makes no larger one fit: shapes are multiplied before they are known to be empty.
        let elements = shape.iter().try_fold(1usize, |all, &length| all.checked_mul(length.max(1)));
        let elements = elements.ok_or_else(overflow)?;
        let empty = shape.contains(&0);
        let bytes = if empty { Some(0) } else { elements.checked_mul(element_bytes) };
        bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(overflow)?;
        if isize::try_from(elements).is_err() {
            return Err(overflow());
        }
        let mut stride = 1;
        for axis in (0..shape.len()).rev() {
            layout.strides[axis] = stride as isize;
            stride *= shape[axis].max(1);
        }
        Ok(layout)
    }

    /// An array of `shape`, `strides` elements of `element_bytes` bytes apart along its axes, whose element `[0, …, 0]` is the memory's
    /// element `offset`. Where there are no elements they start at 0.
    ///
    /// # Errors
    /// [`Error::TooManyAxes`], [`Error::StrideCount`] unless there is a stride for each axis, [`Error::TensorOutOfBounds`] for elements
    /// before the memory's start, and [`Error::TensorSizeOverflow`].
    pub fn strided(
        shape: &[usize],
        strides: &[isize],
        offset: usize,
        element_bytes: usize,
    ) -> Result<Self> {
        // The number of elements, which broadcast axes multiply too.
        let mut layout = Self::contiguous(shape, element_bytes)?;
        if strides.len() != shape.len() {
            return Err(Error::StrideCount { axes: shape.len(), strides: strides.len() });
        }
        layout.strides[..strides.len()].copy_from_slice(strides);
        if layout.is_empty() {
            return Ok(layout);
        }
        layout.offset = offset;
        let (below, above) = layout.reach();
        if below > offset as i128 {
            return Err(layout.out_of_bounds(isize::MAX as usize));
        }
        let end = (offset as i128 + above + 1) * element_bytes.max(1) as i128;
        if end > isize::MAX as i128 {
            return Err(Error::TensorSizeOverflow { shape: shape.to_vec(), element_bytes });
        }
        Ok(layout)
    }

    /// Refuses a layout that is too long for elements of so many bytes.
    ///
    /// # Errors
    /// [`Error::TensorSizeOverflow`].
    pub(crate) fn require_bytes(&self, element_bytes: usize) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // Of a layout that exists both can be counted. Broadcast axes multiply the number of elements too.
        let (mut above, mut len) = (0, 1);
        for (&length, &stride) in self.shape().iter().zip(self.strides()) {
            above += (length as isize - 1) * stride.max(0);
            len *= length;
        }
        let end = self.offset + above as usize + 1;
        let bytes = end.max(len).checked_mul(element_bytes.max(1));
        if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(Error::TensorSizeOverflow { shape: self.shape().to_vec(), element_bytes });
        }
        Ok(())
    }

    /// A shape, and no strides yet.
    fn of_shape(given: &[usize]) -> Result<Self> {
        if given.len() > MOST_AXES {
            return Err(Error::TooManyAxes { axes: given.len(), most: MOST_AXES });
        }
        let mut shape = [0; MOST_AXES];
        shape[..given.len()].copy_from_slice(given);
        Ok(TensorLayout { rank: given.len(), shape, strides: [0; MOST_AXES], offset: 0 })
    }

    /// Two axes whose elements are known to lie in a memory, from its start on.
    pub(super) fn of_checked([rows, cols]: [usize; 2], [down, along]: [isize; 2]) -> Self {
        let (mut shape, mut strides) = ([0; MOST_AXES], [0; MOST_AXES]);
        shape[..2].copy_from_slice(&[rows, cols]);
        strides[..2].copy_from_slice(&[down, along]);
        TensorLayout { rank: 2, shape, strides, offset: 0 }
    }

    /// How many elements the lowest lies before `[0, …, 0]`, and the highest behind it. There are elements.
    fn reach(&self) -> (i128, i128) {
        let mut reach = (0, 0);
        for (&length, &stride) in self.shape().iter().zip(self.strides()) {
            let far = (length as i128 - 1) * stride as i128;
            if far < 0 { reach.0 -= far } else { reach.1 += far }
        }
        reach
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    /// Elements from one index of each axis to the next.
    pub fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    /// Elements from the memory's start to `[0, …, 0]`.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements; a tensor without axes has one.
    pub fn len(&self) -> usize {
        self.shape().iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// The stretch of memory from the lowest element to one past the highest.
    pub fn range(&self) -> Range<usize> {
        if self.is_empty() {
            return self.offset..self.offset;
        }
        // What was checked when the layout was made: both ends are offsets.
        let (below, above) = self.reach();
        self.offset - below as usize..self.offset + above as usize + 1
    }

    /// The lowest element, and the same elements in the memory from there on.
    pub(crate) fn lowest_on(&self) -> (usize, Self) {
        let lowest = self.range().start;
        (lowest, TensorLayout { offset: self.offset - lowest, ..*self })
    }

    /// Whether the elements follow each other in row-major order, without gaps.
    pub fn is_contiguous(&self) -> bool {
        let mut stride = 1;
        let follow = |(&length, &actual): (&usize, &isize)| {
            let follows = length == 1 || actual == stride;
            stride *= length as isize;
            follows
        };
        self.is_empty() || self.shape().iter().zip(self.strides()).rev().all(follow)
    }

    /// Whether each axis steps over all that the axes of smaller strides reach, so that no two indices share an element.
    ///
    /// That holds for every part of a contiguous array and every order of its axes. Strides that avoid each other in a more
    /// intricate way are not seen to: those of a layout whose elements interleave are refused like those of one whose elements overlap.
    ///
    /// ```
    /// use transpose::TensorLayout;
    /// # fn main() -> transpose::Result<()> {
    /// let of = |shape, strides| TensorLayout::strided(shape, strides, 0, 1);
    /// assert!(of(&[2, 2], &[2, 3])?.is_injective()); // 0, 2 and 3, 5
    /// assert!(!of(&[3, 2], &[2, 3])?.is_injective()); // 0, 2, 4 and 3, 5, 7 interleave
    /// assert!(!of(&[4, 2], &[2, 4])?.is_injective()); // 0, 2, 4, 6 and 4, 6, 8, 10 overlap
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_injective(&self) -> bool {
        // Mostly the axes are in order, the fastest last.
        let mut last = 0usize;
        let in_order = self.shape().iter().zip(self.strides()).rev().all(|(&length, &stride)| {
            let stride = stride.unsigned_abs();
            let apart = length <= 1 || stride > last;
            // Where there are no elements strides may be any.
            last = last.wrapping_add(length.saturating_sub(1).wrapping_mul(stride));
            apart
        });
        in_order || self.is_injective_in_order()
    }

    /// The same, whatever order the axes are in.
    fn is_injective_in_order(&self) -> bool {
        let mut axes = [(0usize, 0usize); MOST_AXES];
        let mut count = 0;
        for (&length, &stride) in self.shape().iter().zip(self.strides()) {
            if length == 0 {
                return true;
            }
            if length > 1 {
                axes[count] = (stride.unsigned_abs(), length);
                count += 1;
            }
        }
        axes[..count].sort_unstable();
        let mut last = 0;
        axes[..count].iter().all(|&(stride, length)| {
            let apart = stride > last;
            last += (length - 1) * stride;
            apart
        })
    }

    /// Refuses a layout whose elements do not all lie in a memory of `available`.
    pub(crate) fn require_within(&self, available: usize) -> Result<()> {
        if self.is_empty() || self.range().end <= available {
            return Ok(());
        }
        Err(self.out_of_bounds(available))
    }

    /// Refuses a layout that cannot be written to, because one element has several indices.
    pub(crate) fn require_injective(&self) -> Result<()> {
        if self.is_injective() {
            return Ok(());
        }
        Err(Error::TensorOverlap { shape: self.shape().to_vec(), strides: self.strides().to_vec() })
    }

    fn out_of_bounds(&self, available: usize) -> Error {
        let (shape, strides) = (self.shape().to_vec(), self.strides().to_vec());
        Error::TensorOutOfBounds { shape, strides, offset: self.offset, available }
    }

    /// Refuses an axis that there is not.
    fn require_axis(&self, axis: usize) -> Result<()> {
        if axis < self.rank {
            return Ok(());
        }
        Err(Error::NoSuchAxis { axis, axes: self.rank })
    }

    /// The same elements, axis `i` being what axis `axes[i]` was: `[0, 3, 1, 2]` makes channels-first of channels-last.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`] unless each axis is named once.
    pub fn permute_axes(&self, axes: &[usize]) -> Result<Self> {
        let mut named = [false; MOST_AXES];
        let new = |&axis: &usize| axis < self.rank && !std::mem::replace(&mut named[axis], true);
        if axes.len() != self.rank || !axes.iter().all(new) {
            return Err(Error::NotAPermutation { axes: axes.to_vec(), rank: self.rank });
        }
        let mut permuted = *self;
        for (to, &from) in axes.iter().enumerate() {
            permuted.shape[to] = self.shape[from];
            permuted.strides[to] = self.strides[from];
        }
        Ok(permuted)
    }

    /// The same elements, two axes in each other's place: `swap_axes(rank - 2, rank - 1)` transposes each matrix of a batch.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`].
    pub fn swap_axes(&self, first: usize, second: usize) -> Result<Self> {
        self.require_axis(first)?;
        self.require_axis(second)?;
        let mut swapped = *self;
        swapped.shape.swap(first, second);
        swapped.strides.swap(first, second);
        Ok(swapped)
    }

    /// The same elements, the order of the axes reversed.
    pub fn t(&self) -> Self {
        let mut reversed = *self;
        reversed.shape[..self.rank].reverse();
        reversed.strides[..self.rank].reverse();
        reversed
    }

    /// Along one axis, the indices in `range`, every `step`-th of them; from the range's end backwards if `step` is negative.
    ///
    /// Every second index is `slice(axis, .., 2)`, all of them in reverse `slice(axis, .., -1)`.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], and [`Error::SliceOutOfBounds`] for a range outside the axis or a step of 0.
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>, step: isize) -> Result<Self> {
        self.require_axis(axis)?;
        let length = self.shape[axis];
        let Range { start, end } = indices(range, length);
        if start > end || end > length || step == 0 {
            return Err(Error::SliceOutOfBounds { axis, start, end, step, length });
        }
        let mut sliced = *self;
        let indices = end - start;
        sliced.shape[axis] = indices.div_ceil(step.unsigned_abs());
        // No two indices are left that a stride which cannot be expressed would lie between.
        let stride = self.strides[axis].checked_mul(step);
        sliced.strides[axis] = if sliced.shape[axis] > 1 { stride.unwrap_or(0) } else { 1 };
        if indices > 0 {
            let first = if step > 0 { start } else { end - 1 };
            sliced.offset = self.offset_of(axis, first);
        }
        Ok(sliced)
    }

    /// The offset of index `index` of an axis, which there is, unless there are no elements.
    fn offset_of(&self, axis: usize, index: usize) -> usize {
        if self.is_empty() {
            return self.offset;
        }
        // Between two offsets of elements.
        self.offset.wrapping_add_signed(self.strides[axis].wrapping_mul(index as isize))
    }

    /// Along one axis, the indices before `index`, and those from it on.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], and [`Error::IndexOutOfBounds`] for an index behind the axis's end.
    pub fn split_at(&self, axis: usize, index: usize) -> Result<(Self, Self)> {
        self.require_axis(axis)?;
        let length = self.shape[axis];
        if index > length {
            return Err(Error::IndexOutOfBounds { axis, index, length });
        }
        Ok((self.slice(axis, ..index, 1)?, self.slice(axis, index.., 1)?))
    }

    /// What has index `index` on an axis, without that axis.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`] and [`Error::IndexOutOfBounds`].
    pub fn index_axis(&self, axis: usize, index: usize) -> Result<Self> {
        self.require_axis(axis)?;
        let length = self.shape[axis];
        if index >= length {
            return Err(Error::IndexOutOfBounds { axis, index, length });
        }
        let mut rest = TensorLayout { offset: self.offset_of(axis, index), ..*self };
        rest.shape.copy_within(axis + 1.., axis);
        rest.strides.copy_within(axis + 1.., axis);
        rest.rank -= 1;
        (rest.shape[rest.rank], rest.strides[rest.rank]) = (0, 0);
        Ok(rest)
    }

    /// The same elements with one more axis, of length 1, before axis `axis`.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`] for an axis behind the one past the last, and [`Error::TooManyAxes`].
    pub fn insert_axis(&self, axis: usize) -> Result<Self> {
        if axis > self.rank {
            return Err(Error::NoSuchAxis { axis, axes: self.rank });
        }
        if self.rank == MOST_AXES {
            return Err(Error::TooManyAxes { axes: self.rank + 1, most: MOST_AXES });
        }
        let mut more = TensorLayout { rank: self.rank + 1, ..*self };
        more.shape.copy_within(axis..self.rank, axis + 1);
        more.strides.copy_within(axis..self.rank, axis + 1);
        (more.shape[axis], more.strides[axis]) = (1, 1);
        Ok(more)
    }

    /// The same elements, repeated to another shape, as NumPy does: shapes are aligned at their last axes, and along axes of
    /// length 1, or that there are not, the elements are repeated.
    ///
    /// # Errors
    /// [`Error::Broadcast`] for a shape that this one cannot be repeated to, [`Error::TooManyAxes`], and [`Error::TensorSizeOverflow`]
    /// for more elements than can be counted.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Self> {
        let mut wider = Self::contiguous(shape, 1)?;
        let refused = || Error::Broadcast { shape: self.shape().to_vec(), wanted: shape.to_vec() };
        let added = shape.len().checked_sub(self.rank).ok_or_else(refused)?;
        wider.strides = [0; MOST_AXES];
        wider.offset = self.offset;
        for axis in 0..self.rank {
            let (length, wanted) = (self.shape[axis], shape[added + axis]);
            if length != wanted && length != 1 {
                return Err(refused());
            }
            if length == wanted {
                wider.strides[added + axis] = self.strides[axis];
            }
        }
        Ok(wider)
    }

    /// The same elements in the same row-major order of indices, with other axes.
    ///
    /// # Errors
    /// [`Error::Reshape`] if the shape has not as many elements, or the strides do not permit it without moving any;
    /// [`Error::TooManyAxes`] and [`Error::TensorSizeOverflow`].
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        let mut other = Self::contiguous(shape, 1)?;
        let refused = || Error::Reshape {
            shape: self.shape().to_vec(),
            strides: self.strides().to_vec(),
            wanted: shape.to_vec(),
        };
        if other.len() != self.len() {
            return Err(refused());
        }
        other.offset = self.offset;
        if self.is_empty() {
            return Ok(other);
        }
        // From the last axis on: as many axes of each shape as make the same number of elements. Those of this one must lie
        // together, and those of the other divide them.
        let mut from = self.joined();
        let mut left = from.next();
        for axis in (0..shape.len()).rev() {
            let length = shape[axis];
            if length == 1 {
                continue;
            }
            let (elements, stride) = left.ok_or_else(refused)?;
            if elements % length != 0 {
                return Err(refused());
            }
            other.strides[axis] = stride;
            left = match elements / length {
                1 => from.next(),
                rest => Some((rest, stride.wrapping_mul(length as isize))),
            };
        }
        Ok(other)
    }

    /// Lengths and strides, from the last axis on: axes of length 1 left out, neighbours that lie together as one.
    pub(crate) fn joined(&self) -> impl Iterator<Item = (usize, isize)> + use<> {
        let layout = *self;
        let mut axis = self.rank;
        std::iter::from_fn(move || {
            let mut joined: Option<(usize, isize)> = None;
            while axis > 0 {
                let (length, stride) = (layout.shape[axis - 1], layout.strides[axis - 1]);
                joined = match joined {
                    _ if length == 1 => joined,
                    None => Some((length, stride)),
                    Some((inner, by)) if by.checked_mul(inner as isize) == Some(stride) => {
                        Some((inner * length, by))
                    }
                    found => return found,
                };
                axis -= 1;
            }
            joined
        })
    }

    /// How many elements lie together wherever one does, along the last axes. There are elements.
    pub(crate) fn run(&self) -> usize {
        self.joined().next().map_or(1, |(length, stride)| if stride == 1 { length } else { 1 })
    }

    /// The offsets of all elements, in row-major order of their indices.
    #[cfg(test)]
    pub(crate) fn offsets(&self) -> impl Iterator<Item = usize> + use<> {
        let layout = *self;
        (0..self.len()).map(move |index| {
            let mut rest = index;
            let mut offset = layout.offset;
            for axis in (0..layout.rank).rev() {
                offset = offset.wrapping_add_signed(
                    layout.strides[axis].wrapping_mul((rest % layout.shape[axis]) as isize),
                );
                rest /= layout.shape[axis];
            }
            offset
        })
    }
}

impl PartialEq for TensorLayout {
    fn eq(&self, other: &Self) -> bool {
        (self.shape(), self.strides(), self.offset)
            == (other.shape(), other.strides(), other.offset)
    }
}

impl Eq for TensorLayout {}

impl Hash for TensorLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.shape(), self.strides(), self.offset).hash(state);
    }
}

impl fmt::Debug for TensorLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, strides) = (self.shape(), self.strides());
        f.debug_struct("TensorLayout")
            .field("shape", &shape)
            .field("strides", &strides)
            .field("offset", &self.offset)
            .finish()
    }
}

/// The methods by which whatever has a `layout` of any rank tells its shape.
macro_rules! tensor_accessors {
    () => {
        /// Shape, strides and offset.
        pub fn layout(&self) -> &$crate::TensorLayout {
            &self.layout
        }

        /// Number of axes.
        pub fn rank(&self) -> usize {
            self.layout.rank()
        }

        /// The length of each axis.
        pub fn shape(&self) -> &[usize] {
            self.layout.shape()
        }

        /// Elements from one index of each axis to the next.
        pub fn strides(&self) -> &[isize] {
            self.layout.strides()
        }

        /// Number of elements; a tensor without axes has one.
        pub fn len(&self) -> usize {
            self.layout.len()
        }

        /// Whether there are no elements.
        pub fn is_empty(&self) -> bool {
            self.layout.is_empty()
        }

        /// Whether the elements follow each other in row-major order, without gaps.
        pub fn is_contiguous(&self) -> bool {
            self.layout.is_contiguous()
        }
    };
}
pub(crate) use tensor_accessors;

#[cfg(test)]
mod tests;
