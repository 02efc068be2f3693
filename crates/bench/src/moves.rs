//! Moves between two layouts: what they must move at least, how fast they are, and whether they moved that and nothing else.
//!
//! A layout counts bytes here, and its last axis is an element's: that is what the library makes of elements too, so one type serves
//! elements of any size.

use crate::race::{Contestant, Pairs, Timing};
use anyhow::{Result, ensure};
use rayon::prelude::*;
use transpose::{Device, DeviceTensor, PinnedBuffer, Plan, TensorLayout};

/// Bytes of a sector, the least that a GPU's memory moves.
const SECTOR: usize = 32;

/// Bytes that an H200's memory is busy with whenever it moves a sector: two sectors. (Sectors alone in their pair are copied at two thirds of the speed
/// that they allow, as are rows of 2 + 1 sectors.)
const PIECE: usize = 64;

/// What a destination holds before a move; no source has such a byte.
const CANARY: u8 = 0xa5;

/// Bytes before and behind a destination that are looked at too. What starts on a vector or a sector still does.
const MARGIN: usize = 64 << 10;

/// A move of elements from one layout to another of the same shape, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Bytes of an element, which the last axis of both layouts has.
    pub element: usize,
    /// Where elements come from.
    pub src: TensorLayout,
    /// Where they go to.
    pub dst: TensorLayout,
}

/// A move that was drawn at random, or from a list.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// What kind of move it is.
    pub kind: &'static str,
    /// Its shape, in elements; axes in the destination's order, the fastest last.
    pub shape: Vec<usize>,
    /// The move.
    pub of: Move,
}

impl Move {
    /// The move between layouts of elements of so many bytes.
    ///
    /// # Errors
    /// Layouts that are too long, or have too many axes.
    pub fn new(element: usize, src: &TensorLayout, dst: &TensorLayout) -> Result<Self> {
        Ok(Move { element, src: in_bytes(element, src)?, dst: in_bytes(element, dst)? })
    }

    /// The permutation of a contiguous array: axis `i` of the result is axis `axes[i]` of it.
    ///
    /// # Errors
    /// As [`new`](Self::new), and axes that are no permutation.
    pub fn permutation(element: usize, shape: &[usize], axes: &[usize]) -> Result<Self> {
        let src = TensorLayout::contiguous(shape, element)?.permute_axes(axes)?;
        Self::new(element, &src, &TensorLayout::contiguous(src.shape(), element)?)
    }

    /// Bytes that are moved.
    pub fn bytes(&self) -> usize {
        self.src.len()
    }

    /// Bytes of memory that either side needs.
    pub fn reach(&self) -> usize {
        self.src.range().end.max(self.dst.range().end)
    }

    /// The widest word, up to 16 bytes, that elements, strides and starts are multiples of.
    pub fn word(&self) -> usize {
        let strides = [&self.src, &self.dst].into_iter().flat_map(|layout| {
            let axes = layout.shape().iter().zip(layout.strides()).rev().skip(1);
            let strides =
                axes.filter(|&(&length, _)| length > 1).map(|(_, stride)| stride.unsigned_abs());
            strides.chain([layout.offset()])
        });
        let all = strides.fold(self.element, |all, number| all | number);
        1 << all.trailing_zeros().min(4)
    }

    /// The fraction of a copy's speed that the sectors allow which hold elements: those of both sides must move.
    pub fn bound(&self) -> f64 {
        let sectors = pieces(&self.src, SECTOR).all + pieces(&self.dst, SECTOR).all;
        2.0 * self.bytes() as f64 / (sectors * SECTOR) as f64
    }

    /// The fraction of a copy's speed that memory allows which moves pieces of 64 bytes: those that hold elements of the source are read, those of the
    /// destination are written, and read before where they hold something else as well. No kernel can do without that, but a cache of many MiB can find
    /// some of it again.
    pub fn memory_bound(&self) -> f64 {
        2.0 * self.bytes() as f64 / (read(&self.src) + written(&self.dst)) as f64
    }
}

/// Bytes that memory reads, a piece at a time, for those of a layout of bytes.
fn read(layout: &TensorLayout) -> usize {
    pieces(layout, PIECE).all * PIECE
}

/// Bytes that memory moves to write those of a layout of bytes: pieces that hold something else as well are read before.
fn written(layout: &TensorLayout) -> usize {
    let pieces = pieces(layout, PIECE);
    (pieces.all + pieces.in_part) * PIECE
}

/// Bytes that memory moves, a piece at a time, where layouts are read and a destination is written, each given with the bytes of its elements; `is_read` says
/// whether all of the destination is read too, because something is added to it.
///
/// # Errors
/// Layouts that are too long, or have too many axes.
pub fn moved_by_memory(
    sources: &[(usize, &TensorLayout)],
    (element, dst): (usize, &TensorLayout),
    is_read: bool,
) -> Result<usize> {
    let dst = in_bytes(element, dst)?;
    let mut moved = if is_read { 2 * read(&dst) } else { written(&dst) };
    for (element, src) in sources {
        moved += read(&in_bytes(*element, src)?);
    }
    Ok(moved)
}

/// A layout of elements as one of bytes.
fn in_bytes(element: usize, layout: &TensorLayout) -> Result<TensorLayout> {
    let shape: Vec<usize> = layout.shape().iter().copied().chain([element]).collect();
    let strides = layout.strides().iter().map(|stride| stride * element as isize);
    let strides: Vec<isize> = strides.chain([1]).collect();
    Ok(TensorLayout::strided(&shape, &strides, layout.offset() * element, 1)?)
}

/// Pieces of memory that hold bytes of a layout.
struct Pieces {
    all: usize,
    /// Those that hold something else as well.
    in_part: usize,
}

/// The pieces of `size` bytes that hold bytes of a layout whose axes each step over all that those of smaller strides reach, in memory that starts on
/// one.
fn pieces(layout: &TensorLayout, size: usize) -> Pieces {
    let axes = layout.shape().iter().zip(layout.strides());
    let mut axes: Vec<(usize, usize)> = axes
        .filter(|&(&length, &stride)| length > 1 && stride != 0)
        .map(|(&length, &stride)| (stride.unsigned_abs(), length))
        .collect();
    axes.sort_unstable();
    // What lies together is one stretch.
    let mut stretch = 1;
    let together = axes.iter().take_while(|&&(stride, length)| {
        let follows = stride == stretch;
        stretch *= if follows { length } else { 1 };
        follows
    });
    let together = together.count();
    let apart = &axes[together..];
    let first = layout.range().start;
    let start_of = |number: usize| {
        let (mut rest, mut start) = (number, first);
        for &(stride, length) in apart {
            start += rest % length * stride;
            rest /= length;
        }
        start
    };
    let stretches: usize = apart.iter().map(|&(_, length)| length).product();
    let of_stretch = |number: usize| {
        let start = start_of(number);
        let (from, to) = (start / size, (start + stretch - 1) / size);
        let begun = number > 0 && (start_of(number - 1) + stretch - 1) / size == from;
        let whole = ((start + stretch) / size).saturating_sub(start.div_ceil(size));
        (to + 1 - from - usize::from(begun), whole)
    };
    let add = |a: (usize, usize), b: (usize, usize)| (a.0 + b.0, a.1 + b.1);
    let (all, whole) = (0..stretches).into_par_iter().map(of_stretch).reduce(|| (0, 0), add);
    Pieces { all, in_part: all - whole }
}

/// The byte that every source has in a place.
fn pattern(place: usize) -> u8 {
    let byte = ((place as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    if byte == CANARY { !CANARY } else { byte }
}

/// Memory that moves are made in, one after the other.
pub struct Arena {
    src: DeviceTensor<u8>,
    /// It has margins.
    dst: DeviceTensor<u8>,
    canaries: DeviceTensor<u8>,
    /// Where results are looked at: taking new memory for each, which is not pinned, takes longer than all else.
    host: PinnedBuffer<u8>,
}

impl Arena {
    /// One for layouts of up to `capacity` bytes.
    ///
    /// # Errors
    /// What the device reports.
    pub fn new(device: &Device, capacity: usize) -> Result<Self> {
        let bytes: Vec<u8> = (0..capacity).into_par_iter().map(pattern).collect();
        let canaries = vec![CANARY; capacity + 2 * MARGIN];
        Ok(Arena {
            src: DeviceTensor::from_host(device, &[capacity], &bytes)?,
            dst: DeviceTensor::zeroed(device, &[canaries.len()])?,
            canaries: DeviceTensor::from_host(device, &[canaries.len()], &canaries)?,
            host: PinnedBuffer::zeroed(device, 0)?,
        })
    }

    /// The ways that a move can go, the one first that the library takes by itself.
    ///
    /// # Errors
    /// Those of the library.
    pub fn candidates(&mut self, of: &Move) -> Result<Vec<Plan>> {
        let dst = self.dst.window_mut(&behind_margin(&of.dst)?)?;
        Ok(Plan::moving_candidates(self.src.window(&of.src)?, dst)?)
    }

    /// Makes a move, and returns what `watched` does with it; an error if a byte of the destination is not what it should be, or a byte
    /// between them, or in the margins beside them, is not what it was.
    ///
    /// # Errors
    /// That, and what the device reports.
    pub fn verify<R>(
        &mut self,
        of: &Move,
        plan: &Plan,
        watched: impl FnOnce(&Device, &dyn Fn() -> transpose::Result<()>) -> transpose::Result<R>,
    ) -> Result<R> {
        let dst = behind_margin(&of.dst)?;
        self.verify_made(of, plan, |src, memory| {
            let memory = std::cell::RefCell::new(memory);
            let run = || plan.run(src.window(&of.src)?, memory.borrow_mut().window_mut(&dst)?);
            watched(src.device(), &run)
        })
    }

    /// Likewise of a move that `made` makes with the memories of the source and of the destination.
    fn verify_made<R>(
        &mut self,
        of: &Move,
        plan: &Plan,
        made: impl FnOnce(&DeviceTensor<u8>, &mut DeviceTensor<u8>) -> transpose::Result<R>,
    ) -> Result<R> {
        // In memory with margins the destination's range and both margins start where the range does in memory without.
        let (start, len) = (of.dst.range().start, of.dst.range().len() + 2 * MARGIN);
        let stretch = TensorLayout::strided(&[len], &[1], start, 1)?;
        self.canaries.window(&stretch)?.copy_into(self.dst.window_mut(&stretch)?)?;
        let seen = made(&self.src, &mut self.dst)?;
        if self.host.len() < len {
            self.host = PinnedBuffer::zeroed(self.src.device(), len)?;
        }
        let result = &mut self.host.write()?[..len];
        self.dst.window(&stretch)?.copy_to_host(result)?;
        ensure!(is_moved(of, &result[MARGIN..]), "{plan}: wrong result");
        let of_chunk = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == CANARY).count();
        let left: usize = result.par_chunks(1 << 16).map(of_chunk).sum();
        ensure!(left + of.bytes() == result.len(), "{plan}: wrote beside its destination");
        Ok(seen)
    }

    /// Times a copy of as many bytes, the plans, and `others`, on their turns, in memory of which the L2 cache has nothing: `None` on a device without a
    /// clock.
    ///
    /// # Errors
    /// What the device reports.
    pub fn race<'a>(
        &self,
        of: &'a Move,
        plans: &'a [Plan],
        others: impl IntoIterator<Item = Contestant<'a, DeviceTensor<u8>>>,
        turns: usize,
    ) -> Result<Option<Vec<Timing>>> {
        if !self.src.device().is_gpu() {
            return Ok(None);
        }
        let stretch = TensorLayout::contiguous(&[of.bytes()], 1)?;
        let mut contestants: Vec<Contestant<DeviceTensor<u8>>> = vec![Box::new(move |src, dst| {
            src.window(&stretch)?.copy_into(dst.window_mut(&stretch)?)
        })];
        for plan in plans {
            contestants.push(Box::new(|src, dst| {
                plan.run(src.window(&of.src)?, dst.window_mut(&of.dst)?)
            }));
        }
        contestants.extend(others);
        let launches = (2_000_000_000 / (2 * of.bytes().max(1))).clamp(2, 50);
        Ok(self.pairs(of)?.race(&mut contestants, turns, launches)?)
    }

    /// Sources and destinations of a move, as long as it needs them.
    fn pairs(&self, of: &Move) -> transpose::Result<Pairs<DeviceTensor<u8>>> {
        let reach = of.reach();
        let pair = || {
            let src = self.src.window(&TensorLayout::contiguous(&[reach], 1)?)?.to_tensor()?;
            Ok((src, DeviceTensor::zeroed(self.src.device(), &[reach])?))
        };
        Pairs::rotated(self.src.device(), 2 * of.bytes(), 2 * reach, pair()?, |_| pair())
    }
}

/// A destination's layout in memory with margins.
fn behind_margin(layout: &TensorLayout) -> transpose::Result<TensorLayout> {
    TensorLayout::strided(layout.shape(), layout.strides(), layout.offset() + MARGIN, 1)
}

/// Whether every byte of the destination, of which the first is `result`'s, came from where it should.
fn is_moved(of: &Move, result: &[u8]) -> bool {
    let first = of.dst.range().start as isize;
    let axes = of.src.shape().iter().zip(of.src.strides()).zip(of.dst.strides());
    let mut axes: Vec<(usize, isize, isize)> = axes
        .filter(|&((&length, _), _)| length > 1)
        .map(|((&length, &src), &dst)| (length, src, dst))
        .collect();
    axes.sort_by_key(|&(_, _, dst)| dst.unsigned_abs());
    let (inner, outer) =
        axes.split_first().map_or(((1, 0, 0), &[][..]), |(&inner, outer)| (inner, outer));
    let rows: usize = outer.iter().map(|&(length, _, _)| length).product();
    (0..rows).into_par_iter().with_min_len(64).all(|row| {
        let mut rest = row;
        let (mut from, mut to) = (of.src.offset() as isize, of.dst.offset() as isize - first);
        for &(length, src, dst) in outer {
            let index = (rest % length) as isize;
            rest /= length;
            (from, to) = (from + index * src, to + index * dst);
        }
        (0..inner.0 as isize).all(|index| {
            result[(to + index * inner.2) as usize] == pattern((from + index * inner.1) as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix with gaps on both sides that starts somewhere.
    fn gappy(element: usize, rows: usize, cols: usize, ld: usize, start: usize) -> Move {
        let src = TensorLayout::strided(&[cols, rows], &[1, ld as isize], start, element).unwrap();
        let dst =
            TensorLayout::strided(&[cols, rows], &[rows as isize + 3, 1], start, element).unwrap();
        Move::new(element, &src, &dst).unwrap()
    }

    #[test]
    fn memory_moves_pieces_and_reads_those_that_are_written_in_part() {
        let together = TensorLayout::contiguous(&[4, 8], 4).unwrap();
        let half_pieces = TensorLayout::strided(&[4, 8], &[16, 1], 0, 4).unwrap();
        let moved = |sources: &[&TensorLayout], dst, is_read| {
            let sources: Vec<_> = sources.iter().map(|&layout| (4, layout)).collect();
            moved_by_memory(&sources, (4, dst), is_read).unwrap()
        };
        assert_eq!(moved(&[&together], &together, false), 128 + 128);
        assert_eq!(moved(&[&together], &half_pieces, false), 128 + 2 * 256);
        // What is added to has been read.
        assert_eq!(moved(&[&together], &half_pieces, true), 128 + 256 + 256);
        assert_eq!(moved(&[&together, &together], &half_pieces, false), 2 * 128 + 2 * 256);
        // A source that is laid out as the destination is other memory.
        assert_eq!(moved(&[&half_pieces], &half_pieces, false), 256 + 2 * 256);
    }

    #[test]
    fn the_bound_counts_sectors() {
        let whole = Move::permutation(4, &[64, 128], &[1, 0]).unwrap();
        assert_eq!((whole.bound(), whole.word(), whole.bytes()), (1.0, 4, 64 * 128 * 4));
        // Rows of 8 bytes, 64 apart: a sector each; and two rows of 11 numbers of 4 bytes, 44 bytes apart.
        let src = TensorLayout::strided(&[2, 11], &[1, 16], 0, 4).unwrap();
        let dst = TensorLayout::contiguous(&[2, 11], 4).unwrap();
        let few = Move::new(4, &src, &dst).unwrap();
        assert_eq!(few.bound(), 2.0 * 88.0 / ((11.0 + 3.0) * 32.0));
        // Each sector is counted once, and those of the gaps not at all.
        for (element, ld, start) in [(1, 40, 0), (3, 50, 7), (4, 37, 1), (24, 39, 5)] {
            let of = gappy(element, 20, 37, ld, start);
            for layout in [of.src, of.dst] {
                let mut seen = std::collections::HashSet::new();
                let mut held = std::collections::HashMap::<usize, usize>::new();
                for index in 0..layout.len() {
                    let (mut rest, mut place) = (index, layout.offset() as isize);
                    for (&length, &stride) in layout.shape().iter().zip(layout.strides()).rev() {
                        place += (rest % length) as isize * stride;
                        rest /= length;
                    }
                    seen.insert(place as usize / SECTOR);
                    *held.entry(place as usize / PIECE).or_default() += 1;
                }
                assert_eq!(pieces(&layout, SECTOR).all, seen.len());
                let Pieces { all, in_part } = pieces(&layout, PIECE);
                let parts = held.values().filter(|&&bytes| bytes < PIECE).count();
                assert_eq!((all, in_part), (held.len(), parts));
            }
        }
    }

    #[test]
    fn wrong_moves_are_seen() {
        let device = Device::simulated();
        let of = gappy(3, 20, 37, 41, 2);
        let mut arena = Arena::new(&device, 4 << 10).unwrap();
        let plans = arena.candidates(&of).unwrap();
        for plan in &plans {
            arena.verify(&of, plan, |_, run| run()).unwrap();
        }
        // Of other rows, into other gaps, and nothing at all.
        let elsewhere = Move { src: gappy(3, 20, 37, 41, 3).src, ..of.clone() };
        let plan = arena.candidates(&elsewhere).unwrap().swap_remove(0);
        arena.verify(&elsewhere, &plan, |_, run| run()).unwrap();
        let result = &arena.dst.to_host().unwrap()[MARGIN + of.dst.range().start..];
        assert!(!is_moved(&of, result) && is_moved(&elsewhere, result));
        assert!(arena.verify(&of, &plans[0], |_, _| Ok(())).is_err());
    }

    #[test]
    fn plans_serve_the_memory_that_they_are_timed_in() {
        let of = gappy(3, 20, 37, 41, 2);
        let mut arena = Arena::new(&Device::simulated(), 4 << 10).unwrap();
        for plan in arena.candidates(&of).unwrap() {
            let mut pairs = arena.pairs(&of).unwrap();
            let (src, dst) = pairs.first();
            plan.run(src.window(&of.src).unwrap(), dst.window_mut(&of.dst).unwrap()).unwrap();
            assert!(is_moved(&of, &dst.to_host().unwrap()[of.dst.range().start..]));
        }
    }

    #[test]
    fn what_is_written_beside_a_destination_is_seen() {
        let device = Device::simulated();
        // It starts behind 6 bytes, and has gaps of 9 behind 60.
        let of = gappy(3, 20, 37, 41, 2);
        let mut arena = Arena::new(&device, of.reach()).unwrap();
        let plan = arena.candidates(&of).unwrap().swap_remove(0);
        let (range, dst) = (of.dst.range(), behind_margin(&of.dst).unwrap());
        let mut seen_with = |place: usize| {
            arena.verify_made(&of, &plan, |src, memory| {
                plan.run(src.window(&of.src)?, memory.window_mut(&dst)?)?;
                memory.window_mut(&TensorLayout::strided(&[1], &[1], place, 1)?)?.fill(0)
            })
        };
        let start = MARGIN + range.start;
        let end = MARGIN + range.end;
        for place in [range.start, start - 1, start + 60, start + 68, end, end + MARGIN - 1] {
            let error = seen_with(place).unwrap_err().to_string();
            assert!(error.contains("wrote beside"), "{place}: {error}");
        }
        let error = seen_with(start).unwrap_err().to_string();
        assert!(error.contains("wrong result"), "{error}");
    }
}
