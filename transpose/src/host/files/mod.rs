//! Arrays in files, moved to other files through a bounded amount of memory.
//!
//! Threads take tiles: each reads the stretches of one, turns it, by itself or on a device, and writes its stretches. Nothing is mapped, so
//! that no memory is counted as the program's but the buffers.

mod place;
mod turner;

#[cfg(unix)]
pub use place::FileFrom;
pub use place::{ReadAt, WriteAt};
pub use turner::Through;

use super::progress::{Progress, Watch};
use super::stretches::in_memory_order;
use super::threads::{Numbers, together};
use super::tiles::Tiles;
use crate::tensor::TensorLayout;
use crate::transfer::runs;
use crate::{Error, Result};
use bytemuck::Pod;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use turner::{Turner, of_sectors};

/// The most bytes of a tile. Larger ones make stretches longer than a call of the system needs to be worth it.
const TILE: usize = 16 << 20;

/// Moves the elements of a file to another file, from one layout to another of the same shape, with at most `memory` bytes of buffers:
/// those of the host, and those of the device each.
///
/// ```
/// use transpose::TensorLayout;
/// use transpose::host::files::{FileFrom, Through, move_between};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (given, taken) = (folder.path().join("rows.bin"), folder.path().join("cols.bin"));
/// std::fs::write(&given, [1u8, 2, 3, 4, 5, 6])?;
/// let (src, dst) = (std::fs::File::open(&given)?, std::fs::File::create(&taken)?);
/// let src = FileFrom { file: &src, path: &given, start: 0 };
/// let dst = FileFrom { file: &dst, path: &taken, start: 0 };
/// let from = TensorLayout::contiguous(&[2, 3], 1)?.t(); // as 3 × 2
/// let to = TensorLayout::contiguous(&[3, 2], 1)?;
/// move_between::<u8>((&src, &from), (&dst, &to), Through::Cpu, 1 << 20, &|_progress| ())?;
/// assert_eq!(std::fs::read(&taken)?, [1, 4, 2, 5, 3, 6]);
/// # Ok(())
/// # }
/// ```
///
/// Source and destination are not the same bytes: of a file that is moved onto itself parts are read after others were written, and nothing says so.
///
/// # Errors
/// [`Error::Read`] and [`Error::Write`]; the destination then holds any part of the elements. Before anything is written:
/// [`Error::TensorShapeMismatch`], [`Error::TensorOverlap`] for a destination that is not [injective](TensorLayout::is_injective),
/// [`Error::TensorSizeOverflow`] for layouts that are too long for elements of this size, and [`Error::HostBudget`] for less memory than an
/// element takes. And what the device reports, and [`Error::HostMemory`].
pub fn move_between<T: Pod>(
    (src, from): (&dyn ReadAt, &TensorLayout),
    (dst, to): (&dyn WriteAt, &TensorLayout),
    through: Through,
    memory: usize,
    watch: &Watch,
) -> Result<()> {
    if from.shape() != to.shape() {
        let (src, dst) = (from.shape().to_vec(), to.shape().to_vec());
        return Err(Error::TensorShapeMismatch { src, dst });
    }
    let size = size_of::<T>();
    let of_this_size = |layout: &TensorLayout| {
        TensorLayout::strided(layout.shape(), layout.strides(), layout.offset(), size)
    };
    let (from, to) = (&of_this_size(from)?, &of_this_size(to)?);
    to.require_injective()?;
    if from.is_empty() || size == 0 {
        return Ok(());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Two buffers for each thread; the simulator's device has two more of the host's memory.
    let buffers = match through {
        Through::Device(device) if !device.is_gpu() => 4,
        _ => 2,
    };
    let threads = cores.min(memory / buffers / size.max(4096)).max(1);
    let most = (memory / buffers / threads).min(TILE.max(size)) / size;
    if most == 0 {
        let needed = buffers.saturating_mul(size);
        return Err(Error::HostBudget { option: "memory", needed, limit: memory });
    }
    let tiles = Tiles::new(from, to, most - most % of_sectors::<T>().min(most), 0);
    let work = Work {
        src,
        dst,
        layouts: [*from, *to],
        numbers: Numbers::new(tiles.count()),
        tiles,
        writing: Mutex::new(()),
        done: Mutex::new(0),
        watch,
    };
    let threads = threads.min(tiles.count());
    together(threads, || work.numbers.or_stop(|| work.by_one::<T>(through)))
}

/// What the threads share.
struct Work<'a> {
    src: &'a dyn ReadAt,
    dst: &'a dyn WriteAt,
    layouts: [TensorLayout; 2],
    tiles: Tiles,
    /// Of the tiles.
    numbers: Numbers,
    /// Held by who writes: systems let one write to a file at a time, and threads that spin until it is their turn take as long again.
    writing: Mutex<()>,
    done: Mutex<u64>,
    watch: &'a Watch<'a>,
}

impl Work<'_> {
    /// Moves tiles until there are none.
    fn by_one<T: Pod>(&self, through: Through) -> Result<()> {
        let mut turner = Turner::<T>::new(through, self.tiles.most_elements());
        while let Some(number) = self.numbers.take() {
            let turner = turner.as_mut().map_err(|error| error.clone())?;
            let tile = self.tiles.get(number);
            let [from, to] = self.layouts.map(|layout| tile.of(&layout));
            self.one(turner, &from?, &to?)?;
        }
        Ok(())
    }

    fn one<T: Pod>(
        &self,
        turner: &mut Turner<T>,
        from: &TensorLayout,
        to: &TensorLayout,
    ) -> Result<()> {
        let size = size_of::<T>() as u64;
        let ordered = in_memory_order(from)?;
        let lines = turner.incoming()?[..ordered.len()].chunks_exact_mut(ordered.run());
        for (line, start) in lines.zip(runs(&ordered)) {
            let at = start as u64 * size;
            let read = self.src.read_at(bytemuck::cast_slice_mut(line), at);
            read.map_err(|error| Error::Read {
                path: self.src.path().map(Path::to_owned),
                at,
                kind: error.kind(),
                reason: error.to_string(),
            })?;
        }
        let outgoing = turner.turn(from, to)?;
        let ordered = in_memory_order(to)?;
        let lines = outgoing[..ordered.len()].chunks_exact(ordered.run());
        let alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, start) in lines.zip(runs(&ordered)) {
            let at = start as u64 * size;
            let written = self.dst.write_at(bytemuck::cast_slice(line), at);
            written.map_err(|error| Error::Write {
                path: self.dst.path().map(Path::to_owned),
                at,
                kind: error.kind(),
                reason: error.to_string(),
            })?;
        }
        drop(alone);
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += ordered.len() as u64 * size;
        let total = self.layouts[1].len() as u64 * size;
        (self.watch)(Progress { done: *done, total });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Takes and gives so many bytes, and no more.
    struct Small(u64);

    impl Small {
        fn room(&self, bytes: &[u8], at: u64) -> io::Result<()> {
            let there = at + bytes.len() as u64 <= self.0;
            if there { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }
    }

    impl ReadAt for Small {
        fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
            self.room(bytes, at)
        }
    }

    impl WriteAt for Small {
        fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
            self.room(bytes, at)
        }

        fn path(&self) -> Option<&Path> {
            Some(Path::new("full.bin"))
        }
    }

    /// A 3 × 2 matrix, transposed.
    fn transposed(src: &dyn ReadAt, dst: &dyn WriteAt, memory: usize) -> Result<()> {
        let (from, to) =
            (TensorLayout::contiguous(&[3, 2], 4)?, TensorLayout::contiguous(&[2, 3], 4)?);
        move_between::<u32>((src, &from.t()), (dst, &to), Through::Cpu, memory, &|_| ())
    }

    /// Elements of 32 MiB, more than a tile has of others.
    #[test]
    fn an_element_may_be_larger_than_a_tile() {
        type Large = [[[u8; 4096]; 4096]; 2];
        let bytes = size_of::<Large>();
        let [from, to] =
            [[2, 1], [1, 2]].map(|shape| TensorLayout::contiguous(&shape, bytes).unwrap());
        let file = Small(2 * bytes as u64);
        let moved = |memory| {
            let (src, dst) = ((&file as &dyn ReadAt, &from.t()), (&file as &dyn WriteAt, &to));
            move_between::<Large>(src, dst, Through::Cpu, memory, &|_| ())
        };
        assert_eq!(moved(2 * bytes), Ok(()));
        let refused =
            Error::HostBudget { option: "memory", needed: 2 * bytes, limit: 2 * bytes - 1 };
        assert_eq!(moved(2 * bytes - 1), Err(refused));
    }

    /// Takes a millisecond for a tile, and panics once: when it has as many bytes as its second field says.
    struct Slow(AtomicUsize, usize);

    impl WriteAt for Slow {
        fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<()> {
            assert_ne!(self.0.fetch_add(bytes.len(), Ordering::Relaxed), self.1);
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        }
    }

    #[test]
    fn a_panic_stops_all_threads() {
        let layout = TensorLayout::contiguous(&[1 << 20], 1).unwrap();
        let source = Small(1 << 20);
        // The watch of the first tile, or the destination of one of them.
        for (most, tiles) in [(usize::MAX, 0), (8 << 12, usize::MAX)] {
            let (slow, seen) = (Slow(AtomicUsize::new(0), most), AtomicUsize::new(0));
            let watch = |_| assert!(seen.fetch_add(1, Ordering::Relaxed) != tiles);
            let moved = || {
                let (src, dst) =
                    ((&source as &dyn ReadAt, &layout), (&slow as &dyn WriteAt, &layout));
                move_between::<u8>(src, dst, Through::Cpu, 1 << 14, &watch).map_err(drop)
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(moved)).is_err());
            assert!(slow.0.into_inner() < 1 << 19);
        }
    }

    #[test]
    fn errors_say_which_file_and_where() {
        let (kind, reason) =
            (io::ErrorKind::StorageFull, io::Error::from(io::ErrorKind::StorageFull).to_string());
        assert_eq!(transposed(&Small(24), &Small(24), 1 << 20), Ok(()));
        let read = transposed(&Small(20), &Small(24), 1 << 20).unwrap_err();
        assert_eq!(read, Error::Read { path: None, at: 0, kind, reason: reason.clone() });
        assert_eq!(
            read.to_string(),
            format!("the source cannot be read at byte 0 of the elements: {reason}")
        );
        let written = transposed(&Small(24), &Small(20), 1 << 20).unwrap_err();
        assert_eq!(
            written,
            Error::Write { path: Some("full.bin".into()), at: 0, kind, reason: reason.clone() }
        );
        assert_eq!(
            written.to_string(),
            format!("full.bin cannot be written at byte 0 of the elements: {reason}")
        );
        // Tiles of one element.
        let written = transposed(&Small(24), &Small(20), 8).unwrap_err();
        assert!(matches!(written, Error::Write { at: 20, .. }), "{written}");
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_written() {
        let small = Small(0);
        let long = TensorLayout::strided(&[2], &[isize::MAX / 2], 0, 1).unwrap();
        let both = || ((&small as &dyn ReadAt, &long), (&small as &dyn WriteAt, &long));
        let moved = |result| matches!(result, Err(Error::TensorSizeOverflow { .. }));
        let (from, to) = both();
        assert!(moved(move_between::<u32>(from, to, Through::Cpu, 1 << 20, &|_| ())));
        assert!(matches!(
            transposed(&small, &small, 7),
            Err(Error::HostBudget { option: "memory", needed: 8, limit: 7 })
        ));
    }

    #[cfg(unix)]
    #[test]
    fn a_start_past_all_files_is_an_error() {
        let path = std::env::current_exe().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let src = FileFrom { file: &file, path: &path, start: u64::MAX };
        let read = transposed(&src, &Small(24), 8).unwrap_err();
        assert!(matches!(&read, Error::Read { path: Some(named), .. } if *named == path), "{read}");
    }
}
