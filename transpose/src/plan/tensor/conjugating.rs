//! Moves that conjugate complex numbers on the way.
//!
//! The conjugate is the number with the highest bit flipped, the imaginary part's sign. So it is an exclusive-or of words that the kernels
//! know nothing else of, and no more work where a word is several numbers: a [`Mask`] has the highest bit of each.

use super::canonical::Canonical;
use super::plan::{TensorPlan, best, candidates};
use super::problem::{TensorProblem, aligned, problem};
use super::words;
use crate::Result;
use crate::complex::Conjugate;
use crate::plan::measure::PlanCache;
use crate::tensor::{TensorView, TensorViewMut};
use kernel_abi::tensor::Mask;

impl TensorPlan {
    pub fn conjugating<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Self> {
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, &dst)?;
        Ok(best(&problem, src.device().facts(), Some(signs::<T>())))
    }

    pub fn conjugating_candidates<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
    ) -> Result<Vec<Self>> {
        let (src, dst) = (src.into(), dst.into());
        let problem = problem(&src, &dst)?;
        Ok(candidates(&problem, src.device().facts(), Some(signs::<T>())))
    }

    pub fn measure_conjugating<'s, 'd, T: Conjugate>(
        src: impl Into<TensorView<'s, T>>,
        dst: impl Into<TensorViewMut<'d, T>>,
        cache: &mut PlanCache,
    ) -> Result<Self> {
        let (src, mut dst) = (src.into(), dst.into());
        let plans = Self::conjugating_candidates(src, dst.reborrow())?;
        Self::fastest(src, dst, plans, cache)
    }
}

/// Conjugates every element where it is.
///
/// # Errors
/// What the device reports.
pub(crate) fn conjugate_in_place<T: Conjugate>(view: &mut TensorViewMut<'_, T>) -> Result<()> {
    if view.is_empty() {
        return Ok(());
    }
    let (layout, align) = (view.layout(), aligned(view.address()));
    let canonical = Canonical::of(&TensorProblem {
        element_bytes: size_of::<T>(),
        src: layout,
        dst: layout,
        src_align: align,
        dst_align: align,
    });
    let [start, _] = canonical.starts.map(|start| view.address().wrapping_add_signed(start as i64));
    words::launches(&canonical, Some(signs::<T>())).iter().try_for_each(|launch| {
        // SAFETY: all elements of the view, which lie in live memory and are borrowed exclusively; none has two indices. Each word
        // goes to where it came from, which the kernel permits.
        unsafe { view.device().launch(launch, [start, start]) }
    })
}

/// The highest bit of each number in a vector of numbers of this type: the signs of their imaginary parts.
///
/// No word of a move is narrower than a number: elements, strides and addresses are multiples of its bytes.
fn signs<T: Conjugate>() -> Mask {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "a complex number has 4, 8 or 16 bytes") };
    let bits = 8 * size_of::<T>();
    let all = (0..128).step_by(bits).fold(0u128, |all, bit| all | 1 << (bit + bits - 1));
    Mask { low: all as u64, high: (all >> 64) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bit_of_each_number() {
        let Mask { low, high } = signs::<[f32; 2]>();
        assert_eq!((low, high), (1 << 63, 1 << 63));
        let Mask { low, high } = signs::<[f64; 2]>();
        assert_eq!((low, high), (0, 1 << 63));
    }
}
