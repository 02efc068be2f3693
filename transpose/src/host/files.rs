//! Arrays in files, moved to other files through a bounded amount of memory.
//!
//! Threads take tiles: each reads the stretches of one, turns it, by itself or on a device, and writes its stretches. Nothing is mapped, so
//! that no memory is counted as the program's but the buffers.

use super::kernel;
use super::stores::Stores;
use super::stretches::{in_memory_order, packed};
use super::threads::together;
use super::tiles::Tiles;
use super::turn::{Scratch, turn};
use super::workspace::{Progress, Watch};
use crate::device::Device;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::transfer::runs;
use crate::{Error, PinnedBuffer, Result};
use bytemuck::Pod;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The most bytes of a tile. Larger ones make stretches longer than a call of the system needs to be worth it.
const TILE: usize = 16 << 20;

/// What elements are read from, at any place and by several threads at once.
pub trait ReadAt: Sync {
    /// Reads all of `bytes` from `at` bytes on.
    ///
    /// # Errors
    /// What the system reports, and an end before.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;

    /// What errors call it; `None` if it has no path.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// What elements are written to, at any place and by several threads at once.
pub trait WriteAt: Sync {
    /// Writes all of `bytes` from `at` bytes on.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;

    /// What errors call it; `None` if it has no path.
    fn path(&self) -> Option<&Path> {
        None
    }
}

/// A file from some byte on.
#[cfg(unix)]
#[derive(Debug)]
pub struct FileFrom<'a> {
    /// The file.
    pub file: &'a std::fs::File,
    /// What errors call it: where it is, or will be.
    pub path: &'a Path,
    /// Where the elements start, in bytes.
    pub start: u64,
}

#[cfg(unix)]
impl FileFrom<'_> {
    /// Where a byte of the elements is in the file.
    fn place(&self, at: u64) -> io::Result<u64> {
        self.start.checked_add(at).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

#[cfg(unix)]
impl ReadAt for FileFrom<'_> {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self.file, bytes, self.place(at)?)
    }

    fn path(&self) -> Option<&Path> {
        Some(self.path)
    }
}

#[cfg(unix)]
impl WriteAt for FileFrom<'_> {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.file, bytes, self.place(at)?)
    }

    fn path(&self) -> Option<&Path> {
        Some(self.path)
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes.len());
        let there = self.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(there);
        Ok(())
    }
}

/// What turns tiles.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Through<'a> {
    /// The cores that move them.
    Cpu,
    /// A device, which each thread uses on a stream of its own.
    Device(&'a Device),
}

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
/// # Errors
/// [`Error::Read`] and [`Error::Write`]; the destination then holds any part of the elements. Before anything is written:
/// [`Error::TensorShapeMismatch`], [`Error::TensorOverlap`] for a destination in which an element has two indices,
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
    let tile = (memory / buffers / threads).min(TILE);
    if tile < size {
        return Err(Error::HostBudget { needed: buffers * size, limit: memory });
    }
    let tiles = Tiles::new(from, to, tile / size, 0);
    let work = Work {
        src,
        dst,
        layouts: [*from, *to],
        tiles,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        writing: Mutex::new(()),
        done: Mutex::new(0),
        watch,
    };
    let threads = threads.min(tiles.count());
    together(threads, || {
        let ended = work.by_one::<T>(through);
        if ended.is_err() {
            work.stop.store(true, Ordering::Relaxed);
        }
        ended
    })
}

/// What the threads share.
struct Work<'a> {
    src: &'a dyn ReadAt,
    dst: &'a dyn WriteAt,
    layouts: [TensorLayout; 2],
    tiles: Tiles,
    /// The first tile that nobody has taken.
    next: AtomicUsize,
    /// Somebody has failed.
    stop: AtomicBool,
    /// Held by who writes: systems let one write to a file at a time, and threads that spin until it is their turn take as long again.
    writing: Mutex<()>,
    done: Mutex<u64>,
    watch: &'a Watch<'a>,
}

impl Work<'_> {
    /// Moves tiles until there are none.
    fn by_one<T: Pod>(&self, through: Through) -> Result<()> {
        let mut turner = Turner::<T>::new(through, self.tiles.most_elements());
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.tiles.count() {
                break;
            }
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

/// Two buffers, and what turns the contents of one into the other.
#[allow(clippy::large_enum_variant, reason = "each thread has one")]
enum Turner<T: Pod> {
    Cpu([Vec<T>; 2]),
    Device { stream: Device, memory: crate::DeviceTensor<T>, buffers: [PinnedBuffer<T>; 2] },
}

impl<T: Pod> Turner<T> {
    /// For tiles of at most so many elements.
    fn new(through: Through, elements: usize) -> Result<Self> {
        Ok(match through {
            Through::Cpu => {
                let buffer = || {
                    let bytes = elements * size_of::<T>();
                    bytemuck::allocation::try_zeroed_vec(elements)
                        .map_err(|()| Error::HostMemory { bytes })
                };
                Turner::Cpu([buffer()?, buffer()?])
            }
            Through::Device(device) => {
                let stream = device.new_stream()?;
                // Both halves start where vectors do.
                let elements = elements.next_multiple_of(64);
                let memory = crate::DeviceTensor::zeroed(&stream, &[2, elements])?;
                let buffer = || PinnedBuffer::zeroed(&stream, elements);
                let buffers = [buffer()?, buffer()?];
                Turner::Device { stream, memory, buffers }
            }
        })
    }

    /// Where a tile's elements come, in the order of the source's addresses.
    fn incoming(&mut self) -> Result<&mut [T]> {
        match self {
            Turner::Cpu([incoming, _]) => Ok(incoming),
            Turner::Device { buffers: [incoming, _], .. } => incoming.write(),
        }
    }

    /// The tile's elements in the order of the destination's addresses.
    fn turn(&mut self, from: &TensorLayout, to: &TensorLayout) -> Result<&[T]> {
        let size = size_of::<T>();
        let [from, to] = [packed(from, size)?, packed(to, size)?];
        match self {
            Turner::Cpu([incoming, outgoing]) => {
                let (src, dst) = (incoming.as_ptr(), outgoing.as_mut_ptr());
                // SAFETY: both buffers hold a tile, and the packed layouts have no gaps.
                unsafe { turn(src, &from, dst, &to, Stores::Near, &mut Scratch::default()) };
                Ok(outgoing)
            }
            Turner::Device { stream, memory, buffers: [incoming, outgoing] } => {
                let (up, elements) = (memory.device_address(), memory.shape()[1]);
                let down = up + (elements * size) as u64;
                memory.view_mut().index_axis(0, 0)?.upload_from(incoming)?;
                // SAFETY: the memory holds two tiles and is the stream's; what is read of it has been uploaded.
                unsafe {
                    let source = TensorView::<T>::valid(stream, up, from);
                    kernel::turn(source, TensorViewMut::valid(stream, down, to))?;
                }
                memory.view().index_axis(0, 1)?.download_into(outgoing)?;
                outgoing.read()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Err(Error::HostBudget { needed: 8, limit: 7 })
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
