//! Squares of elements, as wide as a cache line, transposed in registers.

use super::stores::LINE;
use bytemuck::Pod;

/// Transposes a square of N × N elements, on both sides with its pitch in elements: in registers, by interleaving vectors of 16 bytes.
///
/// # Safety
/// N rows of N elements can be read, and written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn square<T: Pod, const N: usize>(src: (*const T, isize), dst: (*mut T, isize)) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_setzero_si128, _mm_storeu_si128};
    // Vectors of a line, and elements of a vector: as many rows are transposed at a time.
    const VECTORS: usize = LINE / 16;
    let count = N / VECTORS;
    for group in 0..VECTORS {
        for vector in 0..VECTORS {
            // SAFETY: every x86-64 has the instructions; `count`, at most 16, rows of 16 bytes lie in the squares.
            unsafe {
                let mut rows = [_mm_setzero_si128(); 16];
                for (row, loaded) in rows[..count].iter_mut().enumerate() {
                    let line = src.0.offset((group * count + row) as isize * src.1);
                    *loaded = _mm_loadu_si128(line.cast::<__m128i>().add(vector));
                }
                let mut stage = 1;
                while stage < count {
                    let before = rows;
                    for row in 0..count / 2 {
                        let (one, other) = (before[row], before[row + count / 2]);
                        [rows[2 * row], rows[2 * row + 1]] = interleaved::<T>(one, other);
                    }
                    stage *= 2;
                }
                for (row, turned) in rows[..count].iter().enumerate() {
                    let line = dst.0.offset((vector * count + row) as isize * dst.1);
                    _mm_storeu_si128(line.cast::<__m128i>().add(group), *turned);
                }
            }
        }
    }
}

/// The elements of two vectors in turns: those of the lower halves, and those of the upper.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn interleaved<T>(
    one: std::arch::x86_64::__m128i,
    other: std::arch::x86_64::__m128i,
) -> [std::arch::x86_64::__m128i; 2] {
    use std::arch::x86_64::*;
    // SAFETY: every x86-64 has the instructions, which touch no memory.
    unsafe {
        match size_of::<T>() {
            1 => [_mm_unpacklo_epi8(one, other), _mm_unpackhi_epi8(one, other)],
            2 => [_mm_unpacklo_epi16(one, other), _mm_unpackhi_epi16(one, other)],
            4 => [_mm_unpacklo_epi32(one, other), _mm_unpackhi_epi32(one, other)],
            _ => [_mm_unpacklo_epi64(one, other), _mm_unpackhi_epi64(one, other)],
        }
    }
}

/// Transposes a square of N × N elements, on both sides with its pitch in elements.
///
/// # Safety
/// N rows of N elements can be read, and written.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) unsafe fn square<T: Pod, const N: usize>(src: (*const T, isize), dst: (*mut T, isize)) {
    for down in 0..N {
        for along in 0..N {
            let (from, to) = (src.0.wrapping_offset(down as isize * src.1), along as isize * dst.1);
            // SAFETY: the caller's obligation.
            unsafe { *dst.0.offset(to).add(down) = *from.add(along) };
        }
    }
}
