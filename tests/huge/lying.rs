//! How an array lies in memory that it may not fill: with elements between that are not its own, and with an axis in descending order.

use bytemuck::Pod;
use transpose::{DeviceTensor, TensorView, TensorViewMut};

/// An array in row-major order.
#[derive(Clone, Copy)]
pub struct Lying<'a> {
    shape: &'a [usize],
    /// An axis, and how many other elements are behind what belongs to each of its indices.
    gap: (usize, usize),
    /// The axis whose last index comes first.
    descending: Option<usize>,
}

impl<'a> Lying<'a> {
    /// One without gaps, in ascending order.
    pub fn of(shape: &'a [usize]) -> Self {
        Lying { shape, gap: (0, 0), descending: None }
    }

    /// With `elements` other elements behind what belongs to each index of `axis`.
    pub fn gap(self, axis: usize, elements: usize) -> Self {
        Lying { gap: (axis, elements), ..self }
    }

    /// With the last index of an axis first.
    pub fn descending(self, axis: usize) -> Self {
        Lying { descending: Some(axis), ..self }
    }

    pub fn shape(&self) -> &'a [usize] {
        self.shape
    }

    /// How often the gap comes, and the elements before each.
    fn parts(&self) -> [usize; 2] {
        let (slower, faster) = self.shape.split_at(self.gap.0 + 1);
        [slower, faster].map(|axes| axes.iter().product())
    }

    /// The shape of memory that has all of it.
    pub fn memory(&self) -> [usize; 2] {
        let [count, elements] = self.parts();
        [count, elements + self.gap.1]
    }

    /// The array in such memory.
    pub fn view<'v, T: Pod>(&self, memory: &'v DeviceTensor<T>) -> TensorView<'v, T> {
        let [_, elements] = self.parts();
        let ascending = memory.view().slice(1, ..elements, 1).unwrap().reshape(self.shape).unwrap();
        match self.descending {
            Some(axis) => ascending.slice(axis, .., -1).unwrap(),
            None => ascending,
        }
    }

    /// The array in such memory, to be written, in ascending order.
    pub fn view_mut<'v, T: Pod>(&self, memory: &'v mut DeviceTensor<T>) -> TensorViewMut<'v, T> {
        let [_, elements] = self.parts();
        memory.view_mut().slice(1, ..elements, 1).unwrap().reshape(self.shape).unwrap()
    }

    /// The length and the stride of each axis, these axes in another order.
    pub fn axes(&self, order: &[usize]) -> Vec<(usize, isize)> {
        let axis = |axis: usize| {
            let within: usize = self.shape[axis + 1..].iter().product();
            let gaps = match axis <= self.gap.0 {
                true => self.shape[axis + 1..=self.gap.0].iter().product::<usize>() * self.gap.1,
                false => 0,
            };
            let stride = (within + gaps) as isize;
            (self.shape[axis], if self.descending == Some(axis) { -stride } else { stride })
        };
        order.iter().map(|&number| axis(number)).collect()
    }

    /// The offset of its first element in memory.
    pub fn start(&self) -> usize {
        self.descending.map_or(0, |axis| {
            let (length, stride) = self.axes(&[axis])[0];
            (length - 1) * stride.unsigned_abs()
        })
    }
}
