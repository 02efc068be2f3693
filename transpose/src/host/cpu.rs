//! Moves between host arrays by the CPU alone, for machines without a GPU: in blocks that stay in its caches, by all of its cores.

use super::pieces::Pieces;
use super::progress::{Progress, Watch};
use super::schedule::Move;
use super::stores::Stores;
use super::stretches::Arrays;
use super::threads::together;
use super::turn::Scratch;
use super::{HostView, HostViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Transposes a host array into another, whose shape is the source's reversed, by `threads` threads; by all cores if that is 0.
///
/// ```
/// use transpose::host::{HostView, HostViewMut, cpu};
/// # fn main() -> transpose::Result<()> {
/// let (src, mut dst) = ([1u8, 2, 3, 4, 5, 6], [0; 6]);
/// cpu::transpose_into(HostView::matrix(&src, 2, 3)?, HostViewMut::matrix(&mut dst, 3, 2)?, 0)?;
/// assert_eq!(dst, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Error::TensorShapeMismatch`].
pub fn transpose_into<T: Pod>(src: HostView<T>, dst: HostViewMut<T>, threads: usize) -> Result<()> {
    copy_into(src.t(), dst, threads)
}

/// Copies the elements of one host array to another of the same shape, whatever the strides of both, by `threads` threads; by all cores
/// if that is 0.
///
/// # Errors
/// [`Error::TensorShapeMismatch`].
pub fn copy_into<T: Pod>(src: HostView<T>, dst: HostViewMut<T>, threads: usize) -> Result<()> {
    copy_into_watched(src, dst, threads, &|_| ())
}

/// Like [`copy_into`], and tells how far it is.
///
/// # Errors
/// [`Error::TensorShapeMismatch`].
pub fn copy_into_watched<T: Pod>(
    src: HostView<T>,
    mut dst: HostViewMut<T>,
    threads: usize,
    watch: &Watch,
) -> Result<()> {
    let (from, to) = (*src.layout(), *dst.layout());
    if from.shape() != to.shape() {
        let (src, dst) = (from.shape().to_vec(), to.shape().to_vec());
        return Err(Error::TensorShapeMismatch { src, dst });
    }
    let size = size_of::<T>();
    if from.is_empty() || size == 0 {
        return Ok(());
    }
    let total = to.len() * size;
    let pieces = Pieces::new(Move { from, to }, size, Stores::of(total))?;
    let work = Work {
        arrays: Arrays { src: src.start(), dst: dst.start_mut() },
        next: AtomicUsize::new(0),
        done: Mutex::new(0u64),
    };
    let by_one = || {
        let (work, mut scratch) = (&work, Scratch::default());
        loop {
            let number = work.next.fetch_add(1, Ordering::Relaxed);
            if number >= pieces.count() {
                return Ok(());
            }
            // SAFETY: the views borrow the elements of both layouts, those of the destination exclusively; each piece is one thread's.
            let elements = unsafe { pieces.turn(number, &work.arrays, &mut scratch) }?;
            let mut done = work.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *done += (elements * size) as u64;
            watch(Progress { done: *done, total: total as u64 });
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(pieces.count());
    together(threads, by_one)
}

/// What the threads share.
struct Work<T> {
    arrays: Arrays<T>,
    /// The first piece that nobody has taken.
    next: AtomicUsize,
    done: Mutex<u64>,
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Work<T> {}
