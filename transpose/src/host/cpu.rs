//! Moves between host arrays by the CPU alone, for machines without a GPU: in blocks that stay in its caches, by all of its cores.

use super::pieces::Pieces;
use super::progress::{Progress, Watch};
use super::schedule::Move;
use super::stores::Stores;
use super::stretches::Arrays;
use super::threads::{Numbers, together};
use super::turn::Scratch;
use super::{HostView, HostViewMut};
use crate::{Error, Result};
use bytemuck::Pod;
use std::sync::{Mutex, PoisonError};

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
    let arrays = Arrays { src: src.start(), dst: dst.start_mut() };
    let work = Work { arrays, numbers: Numbers::new(pieces.count()), done: Mutex::new(0u64) };
    let by_one = || {
        let (work, mut scratch) = (&work, Scratch::default());
        while let Some(number) = work.numbers.take() {
            // SAFETY: the views borrow the elements of both layouts, those of the destination exclusively; each piece is one thread's.
            let elements = unsafe { pieces.turn(number, &work.arrays, &mut scratch) }?;
            let mut done = work.done.lock().unwrap_or_else(PoisonError::into_inner);
            *done += (elements * size) as u64;
            watch(Progress { done: *done, total: total as u64 });
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores } else { threads }.min(pieces.count());
    together(threads, || work.numbers.or_stop(by_one))
}

/// What the threads share.
struct Work<T> {
    arrays: Arrays<T>,
    /// Of the pieces.
    numbers: Numbers,
    done: Mutex<u64>,
}

// SAFETY: the threads read elements of the source, and each writes elements of the destination that no other one writes.
unsafe impl<T: Pod> Sync for Work<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn a_watch_that_panics_stops_all_threads() {
        let (src, mut dst) = (vec![1u8; 64 << 18], vec![0u8; 64 << 18]);
        let calls = AtomicUsize::new(0);
        let watch = |_| {
            assert!(calls.fetch_add(1, Ordering::Relaxed) > 0);
            std::thread::sleep(Duration::from_millis(5));
        };
        let from = HostView::matrix(&src, 4096, 4096).unwrap();
        let to = HostViewMut::matrix(&mut dst, 4096, 4096).unwrap();
        let moved = || copy_into_watched(from.t(), to, 2, &watch).map_err(drop);
        assert!(catch_unwind(AssertUnwindSafe(moved)).is_err());
        // Of 64 pieces the other one moves the one that it has.
        assert!(calls.into_inner() < 32);
    }
}
