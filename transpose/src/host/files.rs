//! Arrays in files, moved to other files through a bounded amount of memory.
//!
//! Threads take tiles: each reads the stretches of one, turns it, by itself or on a device, and writes its stretches. Nothing is mapped, so
//! that no memory is counted as the program's but the buffers.

use super::in_flight;
use super::stretches::{in_memory_order, packed};
use super::tiles::Tiles;
use super::turn::{Scratch, Stores, turn};
use super::workspace::{Progress, Watch};
use crate::device::Device;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::transfer::runs;
use crate::{Error, PinnedBuffer, Result};
use bytemuck::Pod;
use std::io;
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
}

/// What elements are written to, at any place and by several threads at once.
pub trait WriteAt: Sync {
    /// Writes all of `bytes` from `at` bytes on.
    ///
    /// # Errors
    /// What the system reports.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
}

/// A file from some byte on.
#[cfg(unix)]
#[derive(Debug)]
pub struct FileFrom<'a> {
    /// The file.
    pub file: &'a std::fs::File,
    /// Where the elements start, in bytes.
    pub start: u64,
}

#[cfg(unix)]
impl ReadAt for FileFrom<'_> {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self.file, bytes, self.start + at)
    }
}

#[cfg(unix)]
impl WriteAt for FileFrom<'_> {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.file, bytes, self.start + at)
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
/// # Errors
/// What reading and writing report; and errors of this library as [`io::ErrorKind::Other`], among them
/// [`Error::TensorShapeMismatch`], [`Error::TensorOverlap`] for a destination in which an element has two indices, and [`Error::HostBudget`]
/// for less memory than an element takes.
pub fn move_between<T: Pod>(
    (src, from): (&dyn ReadAt, &TensorLayout),
    (dst, to): (&dyn WriteAt, &TensorLayout),
    through: Through,
    memory: usize,
    watch: &Watch,
) -> io::Result<()> {
    if from.shape() != to.shape() {
        let (src, dst) = (from.shape().to_vec(), to.shape().to_vec());
        return Err(io::Error::other(Error::TensorShapeMismatch { src, dst }));
    }
    to.require_injective().map_err(io::Error::other)?;
    let size = size_of::<T>();
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
        let error = Error::HostBudget { needed: buffers * size, limit: memory };
        return Err(io::Error::other(error));
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
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let ended = work.by_one::<T>(through);
                    if ended.is_err() {
                        work.stop.store(true, Ordering::Relaxed);
                    }
                    ended
                })
            })
            .collect();
        let ends = all.into_iter().map(|one| match one.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All of them are waited for.
        ends.collect::<Vec<_>>().into_iter().collect()
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
    fn by_one<T: Pod>(&self, through: Through) -> io::Result<()> {
        let mut turner = Turner::<T>::new(through, self.tiles.most_elements());
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.tiles.count() {
                break;
            }
            let turner = turner.as_mut().map_err(|error| io::Error::other(error.clone()))?;
            let tile = self.tiles.get(number);
            let [from, to] = self.layouts.map(|layout| tile.of(&layout).map_err(io::Error::other));
            self.one(turner, &from?, &to?)?;
        }
        Ok(())
    }

    fn one<T: Pod>(
        &self,
        turner: &mut Turner<T>,
        from: &TensorLayout,
        to: &TensorLayout,
    ) -> io::Result<()> {
        let size = size_of::<T>() as u64;
        let ordered = in_memory_order(from).map_err(io::Error::other)?;
        let incoming = turner.incoming().map_err(io::Error::other)?;
        let lines = incoming[..ordered.len()].chunks_exact_mut(ordered.run());
        for (line, start) in lines.zip(runs(&ordered)) {
            self.src.read_at(bytemuck::cast_slice_mut(line), start as u64 * size)?;
        }
        let outgoing = turner.turn(from, to).map_err(io::Error::other)?;
        let ordered = in_memory_order(to).map_err(io::Error::other)?;
        let lines = outgoing[..ordered.len()].chunks_exact(ordered.run());
        let alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        for (line, start) in lines.zip(runs(&ordered)) {
            self.dst.write_at(bytemuck::cast_slice(line), start as u64 * size)?;
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
                    in_flight::turn(source, TensorViewMut::valid(stream, down, to))?;
                }
                memory.view().index_axis(0, 1)?.download_into(outgoing)?;
                outgoing.read()
            }
        }
    }
}
