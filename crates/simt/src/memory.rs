//! Simulated global memory, shared by everything that runs.
//!
//! Blocks run on several host threads and may race on the same bytes: that is a
//! defect of the kernel to be found, and must not be undefined behaviour here.
//! So memory is an array of 32-bit atomics, read and written with relaxed
//! ordering, whatever the width of the simulated access. Wider accesses take
//! several of them, as a GPU's may; narrower stores replace part of one.
//!
//! Addresses are never reused and allocations lie far apart, so that a kernel
//! that runs off the end of one, or keeps using a freed one, is caught.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::Error;

/// Where the first allocation goes; everything below catches null and small offsets from it.
const FIRST_ADDRESS: u64 = 0x10_0000_0000;
/// Addresses above this are left to the windows of generic addressing.
const ADDRESS_LIMIT: u64 = 1 << 63;
/// The least distance between two allocations.
const GUARD: u64 = 1 << 20;
/// What small allocations are aligned to, as CUDA promises.
const ALIGNMENT: u64 = 256;
/// Allocations of this size and more are also aligned to it.
const LARGE: u64 = 2 << 20;
/// Bytes moved at a time by [`Memory::copy`].
const CHUNK: u64 = 1 << 16;

/// One allocation: words of memory and, if tracked, a bit per byte written.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub base: u64,
    pub bytes: u64,
    pub words: Box<[AtomicU32]>,
    written: Option<Box<[AtomicU32]>>,
}

/// Live allocations in order of address.
pub(crate) type Table = Vec<Arc<Allocation>>;

/// Simulated global memory. All methods take `&self`; it can be shared between threads.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Arc<Table>>,
    next: Mutex<u64>,
    in_use: AtomicU64,
    limit: u64,
    tracking: bool,
    /// Makes 64-bit atomics of the kernels atomic: one lock per group of addresses.
    pub(crate) locks: Box<[Mutex<()>]>,
}

fn zeroed(words: u64) -> Option<Box<[AtomicU32]>> {
    let words = usize::try_from(words).ok()?;
    // Comes from the allocator as zero pages, which cost nothing until touched.
    bytemuck::allocation::try_zeroed_slice_box(words).ok()
}

impl Memory {
    /// Memory that holds at most `limit_bytes` at a time.
    pub fn new(limit_bytes: u64) -> Memory {
        Memory {
            table: RwLock::default(),
            next: Mutex::new(FIRST_ADDRESS),
            in_use: AtomicU64::new(0),
            limit: limit_bytes,
            tracking: false,
            locks: (0..64).map(|_| Mutex::new(())).collect(),
        }
    }

    /// Also keeps, for every byte allocated from now on, whether it was ever
    /// written: what [`Checks::uninitialised_global`](crate::Checks) needs.
    #[must_use]
    pub fn tracking_initialised(mut self) -> Memory {
        self.tracking = true;
        self
    }

    /// Whether the memory was made with [`Memory::tracking_initialised`].
    pub fn is_tracking(&self) -> bool {
        self.tracking
    }

    /// The limit given to [`Memory::new`].
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes allocated now.
    pub fn in_use(&self) -> u64 {
        self.in_use.load(Relaxed)
    }

    /// Allocates `bytes` zeroed bytes at an address that is a multiple of 256 and not zero.
    ///
    /// # Errors
    /// [`Error::EmptyAllocation`] for no bytes, [`Error::OutOfMemory`] beyond the limit, or what the host has.
    pub fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        if bytes == 0 {
            return Err(Error::EmptyAllocation);
        }
        let mut next = lock(&self.next);
        let in_use = self.in_use();
        let out_of_memory = Error::OutOfMemory { requested: bytes, in_use, limit: self.limit };
        if in_use.checked_add(bytes).is_none_or(|total| total > self.limit) {
            return Err(out_of_memory);
        }
        let align = if bytes >= LARGE { LARGE } else { ALIGNMENT };
        let base = next.next_multiple_of(align);
        let end = bytes.checked_add(bytes.max(GUARD)).and_then(|span| base.checked_add(span));
        let Some(end) = end.filter(|end| *end < ADDRESS_LIMIT) else {
            return Err(out_of_memory);
        };
        let written = if self.tracking { Some(zeroed(bytes.div_ceil(32))) } else { None };
        let (Some(words), None | Some(Some(_))) = (zeroed(bytes.div_ceil(4)), &written) else {
            return Err(out_of_memory);
        };
        let allocation = Allocation { base, bytes, words, written: written.flatten() };
        // Addresses only grow, so pushing keeps the order.
        Arc::make_mut(&mut self.table_mut()).push(Arc::new(allocation));
        *next = end.next_multiple_of(ALIGNMENT) + ALIGNMENT;
        self.in_use.fetch_add(bytes, Relaxed);
        Ok(base)
    }

    /// Frees the allocation that starts at `address`. A launch that is running
    /// keeps what it started with.
    ///
    /// # Errors
    /// [`Error::NotAllocated`] if none starts there.
    pub fn free(&self, address: u64) -> Result<(), Error> {
        let mut table = self.table_mut();
        let at = table
            .binary_search_by_key(&address, |allocation| allocation.base)
            .map_err(|_| Error::NotAllocated { address })?;
        let freed = Arc::make_mut(&mut table).remove(at);
        self.in_use.fetch_sub(freed.bytes, Relaxed);
        Ok(())
    }

    /// Copies the bytes at `address` to `out`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for bytes that are not all in one live allocation.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), Error> {
        let (allocation, offset) = self.range(address, out.len() as u64)?;
        allocation.read(offset, out);
        Ok(())
    }

    /// Copies `data` to the bytes at `address`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for bytes that are not all in one live allocation.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), Error> {
        let (allocation, offset) = self.range(address, data.len() as u64)?;
        allocation.write(offset, data);
        allocation.mark_written(offset, data.len() as u64);
        Ok(())
    }

    /// Sets `bytes` bytes at `address` to `byte`.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for bytes that are not all in one live allocation.
    pub fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        let (allocation, offset) = self.range(address, bytes)?;
        let pattern = vec![byte; bytes.min(CHUNK) as usize];
        for start in (0..bytes).step_by(CHUNK as usize) {
            let length = (bytes - start).min(CHUNK) as usize;
            allocation.write(offset + start, &pattern[..length]);
        }
        allocation.mark_written(offset, bytes);
        Ok(())
    }

    /// Copies `bytes` bytes from `src` to `dst`; the ranges may overlap.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for bytes that are not all in one live allocation.
    pub fn copy(&self, dst: u64, src: u64, bytes: u64) -> Result<(), Error> {
        let (from, from_offset) = self.range(src, bytes)?;
        let (to, to_offset) = self.range(dst, bytes)?;
        let mut buffer = vec![0; bytes.min(CHUNK) as usize];
        let mut chunk = |start: u64| {
            let buffer = &mut buffer[..(bytes - start).min(CHUNK) as usize];
            from.read(from_offset + start, buffer);
            to.write(to_offset + start, buffer);
            let marks = from.written_bits(from_offset + start, buffer.len() as u64);
            to.set_written(to_offset + start, &marks);
        };
        let starts = (0..bytes.div_ceil(CHUNK)).map(|chunk| chunk * CHUNK);
        // Away from the overlap, so that nothing is overwritten before it is read.
        if dst > src {
            starts.rev().for_each(&mut chunk)
        } else {
            starts.for_each(&mut chunk)
        }
        Ok(())
    }

    /// Copies `rows` rows of `width` bytes; rows start `dst_pitch` and `src_pitch` bytes apart.
    ///
    /// # Errors
    /// [`Error::Pitch`] for rows that overlap, [`Error::OutOfRange`] for ones that are not all in one live allocation.
    pub fn copy_2d(
        &self,
        dst: u64,
        dst_pitch: u64,
        src: u64,
        src_pitch: u64,
        width: u64,
        rows: u64,
    ) -> Result<(), Error> {
        let pitch = dst_pitch.min(src_pitch);
        if rows > 1 && pitch < width {
            return Err(Error::Pitch { pitch, width });
        }
        self.rectangle(dst, dst_pitch, width, rows)?;
        self.rectangle(src, src_pitch, width, rows)?;
        // Any number of rows of nothing fit, and take no time.
        let rows = if width == 0 { 0 } else { rows };
        (0..rows).try_for_each(|row| self.copy(dst + row * dst_pitch, src + row * src_pitch, width))
    }

    /// Checks that a rectangle lies in one allocation.
    fn rectangle(&self, address: u64, pitch: u64, width: u64, rows: u64) -> Result<(), Error> {
        let last = rows.saturating_sub(1);
        let span = last.checked_mul(pitch).and_then(|span| span.checked_add(width));
        self.range(address, span.unwrap_or(u64::MAX)).map(drop)
    }

    /// The parts of a range that neither host nor kernel ever wrote; needs
    /// [`Memory::tracking_initialised`].
    ///
    /// # Errors
    /// [`Error::NotTracking`] if the memory does not track that, [`Error::OutOfRange`] as [`read`](Self::read).
    pub fn never_written(
        &self,
        address: u64,
        bytes: u64,
    ) -> Result<Vec<std::ops::Range<u64>>, Error> {
        let (allocation, offset) = self.range(address, bytes)?;
        if allocation.written.is_none() {
            return Err(Error::NotTracking);
        }
        let is_unwritten = |at: &u64| !allocation.is_written(offset + at, 1);
        let unwritten = (0..bytes).filter(is_unwritten).map(|at| address + at..address + at + 1);
        Ok(join_adjacent(unwritten))
    }

    /// The allocations as they are now, for a launch to run on.
    pub(crate) fn snapshot(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn table_mut(&self) -> std::sync::RwLockWriteGuard<'_, Arc<Table>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The allocation that holds a whole range, and the range's offset in it.
    fn range(&self, address: u64, bytes: u64) -> Result<(Arc<Allocation>, u64), Error> {
        let table = self.snapshot();
        match find(&table, address, bytes) {
            Some(at) => Ok((Arc::clone(&table[at]), address - table[at].base)),
            None => {
                Err(Error::OutOfRange { address, bytes, place: describe(&table, address, bytes) })
            }
        }
    }
}

/// Locks a mutex that guards no invariant a panic could break.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Merges ranges that touch; they come in order.
pub(crate) fn join_adjacent(
    ranges: impl Iterator<Item = std::ops::Range<u64>>,
) -> Vec<std::ops::Range<u64>> {
    let mut joined: Vec<std::ops::Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

/// Index of the allocation that holds `bytes` bytes at `address`.
pub(crate) fn find(table: &Table, address: u64, bytes: u64) -> Option<usize> {
    let at = table.partition_point(|allocation| allocation.base <= address).checked_sub(1)?;
    holds(&table[at], address, bytes).then_some(at)
}

/// Like [`find`], of an access that probably lies where one before it did, in the allocation at `near`.
pub(crate) fn find_near(table: &Table, near: usize, address: u64, bytes: u64) -> Option<usize> {
    match table.get(near) {
        Some(allocation) if holds(allocation, address, bytes) => Some(near),
        _ => find(table, address, bytes),
    }
}

/// Whether an allocation has all these bytes.
fn holds(allocation: &Allocation, address: u64, bytes: u64) -> bool {
    let offset = address.checked_sub(allocation.base);
    let left = offset.and_then(|offset| allocation.bytes.checked_sub(offset));
    left.is_some_and(|left| bytes <= left)
}

/// Says where an address lies that no allocation holds.
pub(crate) fn describe(table: &Table, address: u64, bytes: u64) -> String {
    let after = table.partition_point(|allocation| allocation.base <= address);
    let name = |a: &Allocation| format!("the allocation of {} bytes at {:#x}", a.bytes, a.base);
    let below = after.checked_sub(1).map(|at| &table[at]);
    let above = table.get(after);
    if let Some(a) = below.filter(|a| address - a.base < a.bytes) {
        let over = (address - a.base).saturating_add(bytes) - a.bytes;
        return format!("it runs {over} bytes past the end of {}", name(a));
    }
    let past = below.map(|a| (address - a.base - a.bytes, a));
    let short = above.map(|a| (a.base - address, a));
    match (past, short) {
        (Some((past, a)), short) if short.is_none_or(|(short, _)| past <= short) => {
            format!("{past} bytes past the end of {}", name(a))
        }
        (_, Some((short, a))) => format!("{short} bytes before {}", name(a)),
        _ => "nothing is allocated".to_owned(),
    }
}

/// Splits a range of bytes into those before the first whole word, those in
/// whole words, and those behind.
fn split_at_words(offset: u64, bytes: usize) -> (usize, usize, usize) {
    let head = ((4 - offset % 4) % 4).min(bytes as u64) as usize;
    let tail = (bytes - head) % 4;
    (head, bytes - head - tail, tail)
}

impl Allocation {
    /// An allocation that holds no address.
    pub(crate) fn empty() -> Allocation {
        Allocation { base: 0, bytes: 0, words: Box::default(), written: None }
    }

    fn read(&self, offset: u64, out: &mut [u8]) {
        let (head, middle, tail) = split_at_words(offset, out.len());
        let (first, last) = (offset as usize / 4, (offset as usize + out.len()) / 4);
        let (head_out, rest) = out.split_at_mut(head);
        let (words_out, tail_out) = rest.split_at_mut(middle);
        let word = |at: usize| self.words[at].load(Relaxed).to_le_bytes();
        if head > 0 {
            let skip = offset as usize % 4;
            head_out.copy_from_slice(&word(first)[skip..skip + head]);
        }
        let start = offset.div_ceil(4) as usize;
        for (out, word) in words_out.chunks_exact_mut(4).zip(&self.words[start..]) {
            out.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        if tail > 0 {
            tail_out.copy_from_slice(&word(last)[..tail]);
        }
    }

    fn write(&self, offset: u64, data: &[u8]) {
        let (head, middle, _) = split_at_words(offset, data.len());
        let (head_data, rest) = data.split_at(head);
        let (words, tail) = rest.split_at(middle);
        let start = offset.div_ceil(4) as usize;
        self.write_part(offset, head_data);
        for (word, data) in self.words[start..].iter().zip(words.as_chunks().0) {
            word.store(u32::from_le_bytes(*data), Relaxed);
        }
        self.write_part((start * 4 + middle) as u64, tail);
    }

    /// Writes less than a word.
    fn write_part(&self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        let skip = offset as usize % 4;
        let mut bytes = [0; 4];
        bytes[skip..skip + data.len()].copy_from_slice(data);
        let mask = u32::MAX >> (32 - 8 * data.len()) << (8 * skip);
        self.store_masked(offset as usize / 4, u32::from_le_bytes(bytes), mask);
    }

    /// Replaces the bits of `mask` in a word.
    #[inline]
    pub(crate) fn store_masked(&self, word: usize, value: u32, mask: u32) {
        let word = &self.words[word];
        if mask == u32::MAX {
            return word.store(value, Relaxed);
        }
        let replace = |old: u32| Some(old & !mask | value & mask);
        // The closure never declines.
        let _ = word.fetch_update(Relaxed, Relaxed, replace);
    }

    /// The low bits at an offset, of up to 8 bytes.
    pub(crate) fn peek(&self, offset: u64, bytes: u64) -> u64 {
        let mut out = [0; 8];
        self.read(offset, &mut out[..bytes as usize]);
        u64::from_le_bytes(out)
    }

    /// Replaces them.
    pub(crate) fn poke(&self, offset: u64, bytes: u64, bits: u64) {
        self.write(offset, &bits.to_le_bytes()[..bytes as usize]);
    }

    /// Remembers that a range was written.
    pub(crate) fn mark_written(&self, offset: u64, bytes: u64) {
        let Some(written) = &self.written else { return };
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let length = (32 - at % 32).min(end - at);
            let mask = u32::MAX >> (32 - length) << (at % 32);
            let word = &written[(at / 32) as usize];
            if word.load(Relaxed) & mask != mask {
                word.fetch_or(mask, Relaxed);
            }
            at += length;
        }
    }

    /// Whether all of a range was written; true where that is not tracked.
    pub(crate) fn is_written(&self, offset: u64, bytes: u64) -> bool {
        let Some(written) = &self.written else { return true };
        (offset..offset + bytes)
            .all(|at| written[(at / 32) as usize].load(Relaxed) >> (at % 32) & 1 == 1)
    }

    fn written_bits(&self, offset: u64, bytes: u64) -> Vec<bool> {
        match self.written {
            Some(_) => (offset..offset + bytes).map(|at| self.is_written(at, 1)).collect(),
            None => Vec::new(),
        }
    }

    /// Makes the marks of a range equal to those of the bytes copied there.
    fn set_written(&self, offset: u64, marks: &[bool]) {
        let Some(written) = &self.written else { return };
        for (at, mark) in (offset..).zip(marks) {
            let (word, bit) = (&written[(at / 32) as usize], 1 << (at % 32));
            if *mark {
                word.fetch_or(bit, Relaxed)
            } else {
                word.fetch_and(!bit, Relaxed)
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_any_offset() {
        let memory = Memory::new(1 << 20);
        let base = memory.alloc(100).unwrap();
        assert_eq!(base % 256, 0);
        for offset in 0..9 {
            for length in 0..20usize {
                memory.fill(base, 0xee, 100).unwrap();
                let data: Vec<u8> = (1..=length as u8).collect();
                memory.write(base + offset, &data).unwrap();
                let mut all = vec![0; 100];
                memory.read(base, &mut all).unwrap();
                let at = offset as usize;
                assert_eq!(all[at..at + length], data);
                assert!(all[..at].iter().chain(&all[at + length..]).all(|&byte| byte == 0xee));
            }
        }
    }

    #[test]
    fn allocations_are_zeroed_apart_and_limited() {
        let memory = Memory::new(1000);
        let a = memory.alloc(600).unwrap();
        let refused = memory.alloc(401).unwrap_err();
        assert_eq!(refused, Error::OutOfMemory { requested: 401, in_use: 600, limit: 1000 });
        let b = memory.alloc(400).unwrap();
        assert!(b - a >= 600 + GUARD);
        let mut out = [1; 600];
        memory.read(a, &mut out).unwrap();
        assert_eq!(out, [0; 600]);
        memory.free(a).unwrap();
        assert_eq!(memory.in_use(), 400);
        assert_eq!(memory.free(a), Err(Error::NotAllocated { address: a }));
        assert_eq!(memory.free(b + 4), Err(Error::NotAllocated { address: b + 4 }));
        assert!(memory.alloc(600).unwrap() > b, "addresses are not reused");
        assert_eq!(memory.alloc(0), Err(Error::EmptyAllocation));
        assert!(Memory::new(u64::MAX).alloc(u64::MAX / 2).is_err());
    }

    #[test]
    fn ranges_must_lie_in_one_allocation() {
        let memory = Memory::new(1 << 20);
        let a = memory.alloc(10).unwrap();
        assert!(memory.write(a, &[0; 10]).is_ok());
        assert!(memory.write(a + 10, &[]).is_ok());
        for (address, bytes) in [(a, 11), (a + 10, 1), (a - 1, 1), (0, 1), (u64::MAX, 1)] {
            let refused = memory.write(address, &vec![0; bytes]).unwrap_err();
            assert!(matches!(refused, Error::OutOfRange { .. }), "{refused}");
        }
        let message = memory.fill(a + 8, 0, 4).unwrap_err().to_string();
        assert!(
            message.contains("2 bytes past the end of the allocation of 10 bytes"),
            "{message}"
        );
    }

    #[test]
    fn copies_may_overlap() {
        let memory = Memory::new(1 << 20);
        let bytes = 3 * CHUNK + 5;
        let base = memory.alloc(bytes).unwrap();
        let data: Vec<u8> = (0..bytes).map(|at| (at * 31 % 251) as u8).collect();
        for (dst, src) in [(7, 0), (0, 7), (3, 3)] {
            memory.write(base, &data).unwrap();
            memory.copy(base + dst, base + src, bytes - 7).unwrap();
            let mut expected = data.clone();
            expected.copy_within(src as usize..(src + bytes - 7) as usize, dst as usize);
            let mut out = vec![0; bytes as usize];
            memory.read(base, &mut out).unwrap();
            assert!(out == expected);
        }
    }

    #[test]
    fn rectangles_are_copied_row_by_row() {
        let memory = Memory::new(1 << 20);
        let (src, dst) = (memory.alloc(64).unwrap(), memory.alloc(64).unwrap());
        memory.write(src, &(0..64).collect::<Vec<u8>>()).unwrap();
        memory.copy_2d(dst, 5, src, 16, 3, 4).unwrap();
        let mut out = [0; 20];
        memory.read(dst, &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 0, 0, 16, 17, 18, 0, 0, 32, 33, 34, 0, 0, 48, 49, 50, 0, 0]);
        assert_eq!(memory.copy_2d(dst, 2, src, 16, 3, 4), Err(Error::Pitch { pitch: 2, width: 3 }));
        assert!(memory.copy_2d(dst, 16, src, 16, 16, 5).is_err());
        assert!(memory.copy_2d(dst, u64::MAX, src, 16, 16, 5).is_err());
        assert_eq!(memory.copy_2d(dst, 0, src, 0, 0, u64::MAX), Ok(()));
        assert!(memory.copy_2d(dst, 1, src, 1, 1, u64::MAX).is_err());
    }

    #[test]
    fn written_bytes_are_tracked_on_request() {
        let memory = Memory::new(1 << 20).tracking_initialised();
        let a = memory.alloc(100).unwrap();
        memory.write(a + 30, &[1; 5]).unwrap();
        memory.fill(a + 90, 0, 10).unwrap();
        assert_eq!(memory.never_written(a, 100).unwrap(), [a..a + 30, a + 35..a + 90]);
        memory.copy(a + 50, a + 28, 10).unwrap();
        assert_eq!(
            memory.never_written(a, 100).unwrap(),
            [a..a + 30, a + 35..a + 52, a + 57..a + 90]
        );
        let plain = Memory::new(10);
        let b = plain.alloc(10).unwrap();
        assert_eq!(plain.never_written(b, 10), Err(Error::NotTracking));
    }
}
