//! One tile, moved by one core from a layout to another.
//!
//! Where the fastest axes of both sides differ, squares as wide as a cache line go through registers and the stack: each line of memory is
//! read once and written once, as a whole, whatever the distance of rows, so that rows a power of two apart cost no more than others.

use crate::tensor::{MOST_AXES, TensorLayout};
use bytemuck::Pod;

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// It stays in the caches.
    Near,
    /// Whole lines go to memory past the caches, where the processor can do that.
    Far,
}

/// Bytes of a cache line.
const LINE: usize = 64;

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
            plane.turn(stores);
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
    unsafe fn turn(&self, stores: Stores) {
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
                1 => self.squares::<LINE>(stores),
                2 => self.squares::<{ LINE / 2 }>(stores),
                4 => self.squares::<{ LINE / 4 }>(stores),
                8 => self.squares::<{ LINE / 8 }>(stores),
                16 => self.squares::<{ LINE / 16 }>(stores),
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
    unsafe fn squares<const N: usize>(&self, stores: Stores) {
        let (rows, cols) = (self.rows - self.rows % N, self.cols - self.cols % N);
        let (src_pitch, dst_pitch) = (self.src_strides[0], self.dst_strides[1]);
        let aligned = self.dst.addr().is_multiple_of(LINE)
            && (dst_pitch * size_of::<T>() as isize) % LINE as isize == 0;
        let far = stores == Stores::Far && aligned;
        for row in (0..rows).step_by(N) {
            for col in (0..cols).step_by(N) {
                let mut square = Square([[T::zeroed(); N]; N]);
                // SAFETY: the square lies in the plane.
                unsafe {
                    let src = self.src.offset(row as isize * src_pitch).add(col);
                    for down in 0..N {
                        let line = *src.offset(down as isize * src_pitch).cast::<[T; N]>();
                        for along in 0..N {
                            square.0[along][down] = line[along];
                        }
                    }
                    let dst = self.dst.offset(col as isize * dst_pitch).add(row);
                    for (along, line) in square.0.iter().enumerate() {
                        store(line, dst.offset(along as isize * dst_pitch).cast(), far);
                    }
                }
            }
        }
        // SAFETY: the caller's obligations.
        unsafe {
            self.part(0..rows, cols..self.cols);
            self.part(rows..self.rows, 0..self.cols);
        }
    }
}

/// As memory has lines.
#[repr(align(64))]
struct Square<T, const N: usize>([[T; N]; N]);

/// Stores a line.
///
/// # Safety
/// The line can be written at `to`, which is aligned to a line if it goes far.
#[inline(always)]
unsafe fn store<T: Pod, const N: usize>(line: &[T; N], to: *mut [T; N], far: bool) {
    #[cfg(target_arch = "x86_64")]
    if far {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
        let (from, to) = (line.as_ptr().cast::<__m128i>(), to.cast::<__m128i>());
        for at in 0..LINE / 16 {
            // SAFETY: both are a line, which is aligned; every x86-64 has the instructions.
            unsafe { _mm_stream_si128(to.add(at), _mm_load_si128(from.add(at))) };
        }
        return;
    }
    let _ = far;
    // SAFETY: the caller's obligation.
    unsafe { *to = *line }
}

/// What went past the caches is there for others when this core says that it is done.
fn fence(stores: Stores) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Far {
        // SAFETY: every x86-64 has the instruction, which touches no memory.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
    let _ = stores;
}
