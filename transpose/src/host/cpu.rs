//! Moves between host arrays by the CPU alone, for machines without a GPU: in blocks that stay in its caches, by all of its cores.

use super::progress::{Progress, Watch};
use super::stores::Stores;
use super::stretches::Arrays;
use super::threads::together;
use super::tiles::Tiles;
use super::turn::{self, Scratch};
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
    // Tiles that follow each other follow each other in the source, too.
    let mut axes: Vec<usize> = (0..from.rank()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(from.strides()[axis].unsigned_abs()));
    let (from, to) = (from.permute_axes(&axes)?, to.permute_axes(&axes)?);
    let total = to.len() * size;
    let stores = Stores::of(total);
    let tiles = Tiles::new(&from, &to, (stores.tile() / size).max(1), stores.lean());
    let work = Work {
        arrays: Arrays { src: src.start(), dst: dst.start_mut() },
        next: AtomicUsize::new(0),
        done: Mutex::new(0u64),
    };
    let by_one = || {
        let (work, mut scratch) = (&work, Scratch::default());
        loop {
            let number = work.next.fetch_add(1, Ordering::Relaxed);
            if number >= tiles.count() {
                return Ok(());
            }
            let tile = tiles.get(number);
            let (from, to) = (tile.of(&from)?, tile.of(&to)?);
            // SAFETY: the views borrow the elements of both layouts, those of the destination exclusively; each tile is one thread's.
            unsafe {
                turn::turn(work.arrays.src, &from, work.arrays.dst, &to, stores, &mut scratch)
            };
            let mut done = work.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *done += (to.len() * size) as u64;
            watch(Progress { done: *done, total: total as u64 });
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(tiles.count());
    together(threads, by_one)
}

/// What the threads share.
struct Work<T> {
    arrays: Arrays<T>,
    /// The first tile that nobody has taken.
    next: AtomicUsize,
    done: Mutex<u64>,
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Work<T> {}
