//! How the CPU writes what a move brings: into its caches, or to memory past them.
//!
//! What will not be looked at again soon goes past the caches, which then need not read it before it is written. That holds for whole lines
//! only.

use bytemuck::Pod;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// What becomes of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// It stays in the caches.
    Near,
    /// Whole lines go to memory past the caches, where the processor can do that.
    Far,
}

/// From this many bytes on, what is written leaves the caches at once: nobody will find it there, and lines need not be read before.
const FAR: usize = 32 << 20;

impl Stores {
    /// For a move of so many bytes.
    pub fn of(bytes: usize) -> Self {
        if bytes >= FAR { Stores::Far } else { Stores::Near }
    }

    /// Bytes of one core's work at a time. What stays in the caches stays in the core's own, on both sides.
    pub fn tile(self) -> usize {
        match self {
            Stores::Near => 256 << 10,
            Stores::Far => 1 << 20,
        }
    }

    /// How tiles [`lean`](super::HostOptions::lean): stretches that go past the caches are long, for where they end lines are written in
    /// parts.
    pub fn lean(self) -> i32 {
        match self {
            Stores::Near => 0,
            Stores::Far => -2,
        }
    }
}

/// Where a stretch is among those that go to the same place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Later,
}

/// Copies a stretch; the whole lines among what is written go past the caches, where the processor can do that. What the line before
/// lacked lies before the stretch, and what is left over is put there unless this is the last one.
///
/// # Safety
/// So many bytes can be read and written, and do not overlap; the line before the stretch is the caller's.
pub(super) unsafe fn stream(stretch: *mut u8, to: *mut u8, bytes: usize, place: Place, last: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        let kept = if place == Place::First { 0 } else { to.addr() % LINE };
        // SAFETY: the caller's obligations; what is streamed starts on a line; every x86-64 has the instructions.
        unsafe {
            let (from, to, bytes) = (stretch.sub(kept), to.sub(kept), bytes + kept);
            let head = to.align_offset(LINE).min(bytes);
            std::ptr::copy_nonoverlapping(from, to, head);
            let whole = (bytes - head) / LINE * LINE;
            for at in (head..head + whole).step_by(LINE) {
                for part in (at..at + LINE).step_by(16) {
                    let vector = _mm_loadu_si128(from.add(part).cast::<__m128i>());
                    _mm_stream_si128(to.add(part).cast::<__m128i>(), vector);
                }
            }
            let done = head + whole;
            let rest = bytes - done;
            let there = if last { to.add(done) } else { stretch.sub(rest) };
            std::ptr::copy(from.add(done), there, rest);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (place, last);
        // SAFETY: the caller's obligations.
        unsafe { std::ptr::copy_nonoverlapping(stretch, to, bytes) };
    }
}

/// Copies elements that lie together. What goes past the caches is there for others after a [`fence`].
///
/// # Safety
/// So many elements can be read and written, and do not overlap.
pub(super) unsafe fn copy<T: Pod>(from: *const T, to: *mut T, count: usize, stores: Stores) {
    // SAFETY: the caller's obligations; the first of stretches has nothing before it, and the last leaves nothing over, so that what is
    // read is not written to.
    unsafe {
        match stores {
            Stores::Near => std::ptr::copy_nonoverlapping(from, to, count),
            Stores::Far => {
                let from = from.cast_mut().cast();
                stream(from, to.cast(), count * size_of::<T>(), Place::First, true);
            }
        }
    }
}

/// What went past the caches is there for others when this core says that it is done.
pub(super) fn fence(stores: Stores) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Far {
        // SAFETY: every x86-64 has the instruction, which touches no memory.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
    let _ = stores;
}
