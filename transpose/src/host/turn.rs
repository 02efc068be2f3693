//! One tile, moved by one core from a layout to another.
//!
//! Where the fastest axes of both sides differ, squares as wide as a cache line go through registers: each line is read once, whatever the
//! distance of rows. What will not be looked at again soon is put together to stretches of several lines, and goes to memory past
//! the caches.

use super::square::square;
use super::stores::{LINE, Place, Stores, fence, stream};
use crate::tensor::{MOST_AXES, TensorLayout};
use bytemuck::Pod;

/// Copies the elements of one layout to another of the same shape.
///
/// # Safety
/// The layouts' elements can be read from `src` on and written from `dst` on, and nobody else uses what is written meanwhile.
pub(super) unsafe fn turn<T: Pod>(
    src: *const T,
    from: &TensorLayout,
    dst: *mut T,
    to: &TensorLayout,
    stores: Stores,
    scratch: &mut Scratch,
) {
    let (along, down) = (fastest(from), fastest(to));
    for (start, end) in outer(from, to, [along, down]) {
        // SAFETY: the caller's obligations.
        unsafe {
            let plane = Plane {
                src: src.add(start),
                dst: dst.add(end),
                cols: from.shape().get(along).copied().unwrap_or(1),
                rows: if along == down { 1 } else { from.shape()[down] },
                src_strides: [stride(from, down), stride(from, along)],
                dst_strides: [stride(to, down), stride(to, along)],
            };
            plane.turn(stores, scratch);
        }
    }
    fence(stores);
}

/// The axis along which elements are the closest together; the last one if there is none of more than one element.
fn fastest(layout: &TensorLayout) -> usize {
    let axes = (0..layout.rank()).rev();
    let moving = axes.filter(|&axis| layout.shape()[axis] > 1 && layout.strides()[axis] != 0);
    let nearest = moving.min_by_key(|&axis| layout.strides()[axis].unsigned_abs());
    nearest.unwrap_or(layout.rank().saturating_sub(1))
}

fn stride(layout: &TensorLayout, axis: usize) -> isize {
    layout.strides().get(axis).copied().unwrap_or(0)
}

/// Where the planes along two axes start on both sides.
fn outer(
    from: &TensorLayout,
    to: &TensorLayout,
    inner: [usize; 2],
) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (from, to) = (*from, *to);
    let axes: Vec<usize> = (0..from.rank()).filter(|axis| !inner.contains(axis)).collect();
    let mut index = [0; MOST_AXES];
    let mut next = Some((from.offset(), to.offset()));
    std::iter::from_fn(move || {
        let current = next?;
        let (mut start, mut end) = current;
        next = None;
        for &axis in axes.iter().rev() {
            let (src, dst) = (from.strides()[axis], to.strides()[axis]);
            index[axis] += 1;
            if index[axis] < from.shape()[axis] {
                next = Some((start.wrapping_add_signed(src), end.wrapping_add_signed(dst)));
                break;
            }
            // Back to the axis's first index.
            index[axis] = 0;
            let back = from.shape()[axis] as isize - 1;
            start = start.wrapping_add_signed(-src * back);
            end = end.wrapping_add_signed(-dst * back);
        }
        Some(current)
    })
}

/// `rows × cols` elements on both sides, with their distances down and along.
struct Plane<T> {
    src: *const T,
    dst: *mut T,
    rows: usize,
    cols: usize,
    src_strides: [isize; 2],
    dst_strides: [isize; 2],
}

impl<T: Pod> Plane<T> {
    /// # Safety
    /// Those of [`turn`].
    unsafe fn turn(&self, stores: Stores, scratch: &mut Scratch) {
        let unit = self.src_strides[1] == 1;
        // SAFETY: the caller's obligations.
        unsafe {
            if self.rows == 1 && unit && self.dst_strides[1] == 1 {
                return std::ptr::copy_nonoverlapping(self.src, self.dst, self.cols);
            }
            if !unit || self.dst_strides[0] != 1 {
                return self.part(0..self.rows, 0..self.cols);
            }
            match size_of::<T>() {
                1 => self.squares::<LINE>(stores, scratch),
                2 => self.squares::<{ LINE / 2 }>(stores, scratch),
                4 => self.squares::<{ LINE / 4 }>(stores, scratch),
                8 => self.squares::<{ LINE / 8 }>(stores, scratch),
                16 => self.squares::<{ LINE / 16 }>(stores, scratch),
                _ => self.part(0..self.rows, 0..self.cols),
            }
        }
    }

    /// Element by element.
    ///
    /// # Safety
    /// Those of [`turn`].
    unsafe fn part(&self, rows: std::ops::Range<usize>, cols: std::ops::Range<usize>) {
        for row in rows {
            for col in cols.clone() {
                let at = |[down, along]: [isize; 2]| row as isize * down + col as isize * along;
                // SAFETY: the caller's obligations.
                unsafe {
                    *self.dst.offset(at(self.dst_strides)) = *self.src.offset(at(self.src_strides));
                }
            }
        }
    }

    /// By squares of N, a cache line wide, and what is left of them at the edges. Rows of the source and columns of the destination
    /// have no gaps.
    ///
    /// # Safety
    /// Those of [`turn`].
    unsafe fn squares<const N: usize>(&self, stores: Stores, scratch: &mut Scratch) {
        let (rows, cols) = (self.rows - self.rows % N, self.cols - self.cols % N);
        // SAFETY: the caller's obligations; the parts are the plane.
        unsafe {
            match stores {
                Stores::Near => {
                    self.each_square::<N>(self.src, (self.dst, self.dst_strides[1]), rows, cols);
                }
                Stores::Far => {
                    for col in (0..cols).step_by(WIDTH) {
                        self.strip::<N>(col..cols.min(col + WIDTH), rows, scratch.lines());
                    }
                }
            }
            self.part(0..rows, cols..self.cols);
            self.part(rows..self.rows, 0..self.cols);
        }
    }

    /// Transposes the first `rows` rows of some columns, by way of stretches that go to memory past the caches.
    ///
    /// A stretch may end within a line; what is in that line is kept before the stretch that follows it.
    ///
    /// # Safety
    /// Those of [`turn`]; the lengths are multiples of N, with at most [`WIDTH`] columns, and `lines` are scratch memory.
    unsafe fn strip<const N: usize>(
        &self,
        cols: std::ops::Range<usize>,
        rows: usize,
        lines: *mut Line,
    ) {
        for row in (0..rows).step_by(STRETCH * N) {
            let next = rows.min(row + STRETCH * N);
            // SAFETY: the part lies in the plane, its transpose and what is kept of a line in the scratch memory.
            unsafe {
                let src = self.src.offset(row as isize * self.src_strides[0]).add(cols.start);
                let staged = (lines.add(1).cast(), (PITCH * N) as isize);
                self.each_square::<N>(src, staged, next - row, cols.len());
                for (line, col) in cols.clone().enumerate() {
                    let to = self.dst.offset(col as isize * self.dst_strides[1]).add(row);
                    let place = if row == 0 { Place::First } else { Place::Later };
                    let bytes = (next - row) * size_of::<T>();
                    let stretch = lines.add(line * PITCH + 1).cast();
                    stream(stretch, to.cast(), bytes, place, next == rows);
                }
            }
        }
    }

    /// Transposes squares of `rows × cols` elements, both multiples of N, to a destination of that pitch, in elements.
    ///
    /// # Safety
    /// As many elements can be read from `src` on, and written from the destination on.
    unsafe fn each_square<const N: usize>(
        &self,
        src: *const T,
        (dst, pitch): (*mut T, isize),
        rows: usize,
        cols: usize,
    ) {
        for row in (0..rows).step_by(N) {
            for col in (0..cols).step_by(N) {
                // SAFETY: the square lies in what the caller vouches for.
                unsafe {
                    let from = src.offset(row as isize * self.src_strides[0]).add(col);
                    let to = dst.offset(col as isize * pitch).add(row);
                    square::<T, N>((from, self.src_strides[0]), (to, pitch));
                }
            }
        }
    }
}

/// A line of memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(
    #[allow(dead_code, reason = "lines are written and read by their addresses")] [u8; LINE],
);

/// Lines of a stretch that goes to memory at once: memory is faster by stretches than by lines.
const STRETCH: usize = 16;

/// Lines from one stretch's start to the next's in scratch memory: one more, for what is kept of the line before. It is odd, for stretches
/// a power of two apart would share places in the caches.
const PITCH: usize = STRETCH + 1;

/// Stretches that are put together at a time: they stay in a core's own cache.
const WIDTH: usize = 256;

/// Where one core puts stretches together. Memory is taken when it is needed.
#[derive(Default)]
pub(super) struct Scratch(Vec<Line>);

impl Scratch {
    fn lines(&mut self) -> *mut Line {
        self.0.resize(WIDTH * PITCH, Line([0; LINE]));
        self.0.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Turns a matrix whose transpose starts anywhere and has gaps between its rows: all elements are there, and nothing else is written.
    fn one<T: Pod + PartialEq>(shape: [usize; 2], gap: usize, skew: usize, stores: Stores) {
        let [rows, cols] = shape;
        let bytes = |count: usize, salt: usize| -> Vec<u8> {
            (0..count * size_of::<T>()).map(|at| ((at * 0x9e37 + salt) >> 5) as u8).collect()
        };
        let src: Vec<T> = bytemuck::pod_collect_to_vec(&bytes(rows * cols, 1));
        let pitch = rows + gap;
        let before: Vec<T> = bytemuck::pod_collect_to_vec(&bytes(skew + cols * pitch, 2));
        let mut dst = before.clone();
        let from = TensorLayout::contiguous(&[rows, cols], size_of::<T>()).unwrap();
        let to = TensorLayout::strided(&[rows, cols], &[1, pitch as isize], skew, size_of::<T>());
        let (to, mut scratch) = (to.unwrap(), Scratch::default());
        // SAFETY: both layouts lie in their memories.
        unsafe { turn(src.as_ptr(), &from, dst.as_mut_ptr(), &to, stores, &mut scratch) };
        let mut expected = before;
        for (from, to) in from.offsets().zip(to.offsets()) {
            expected[to] = src[from];
        }
        assert!(dst == expected, "{rows} × {cols}, gap {gap}, skew {skew}, {stores:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Stretches of every word: some that end a tile, some that are one line or none.
        #[test]
        fn every_element_is_turned(
            rows in prop_oneof![1..70usize, 250..300usize, 1000..1100usize],
            cols in prop_oneof![1..70usize, 250..300usize],
            gap in 0..20usize,
            skew in 0..20usize,
            far in any::<bool>(),
        ) {
            let stores = if far { Stores::Far } else { Stores::Near };
            one::<u8>([rows, cols], gap, skew, stores);
            one::<u16>([rows, cols], gap, skew, stores);
            one::<u32>([rows, cols], gap, skew, stores);
            one::<u64>([rows, cols], gap, skew, stores);
            one::<u128>([rows, cols], gap, skew, stores);
            one::<[u16; 3]>([rows, cols], gap, skew, stores);
        }
    }
}
