//! What is done to words on the way: nothing, or some of their bits are flipped.
//!
//! A kernel takes this as a type, so that one that does nothing has no instruction for it.

use crate::element::B16;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use cuda_std::gpu_only;
use kernel_abi::tensor::Mask;

/// What is done to each word on the way, whatever the words beside it are: to a vector's all at once.
pub trait OnTheWay<E>: Copy {
    /// To a word.
    fn word(self, word: E) -> E;

    /// To the words of a vector.
    fn vector(self, vector: B16) -> B16;
}

/// Words arrive as they are.
#[derive(Clone, Copy)]
pub struct AsTheyAre;

impl<E> OnTheWay<E> for AsTheyAre {
    #[inline(always)]
    fn word(self, word: E) -> E {
        word
    }

    #[inline(always)]
    fn vector(self, vector: B16) -> B16 {
        vector
    }
}

/// The bits that are set in a vector are flipped, in which every word is the same.
#[derive(Clone, Copy)]
pub struct Flipped(B16);

impl Flipped {
    /// By a kernel's parameter.
    #[inline(always)]
    pub fn by(mask: Mask) -> Self {
        Flipped(B16::from_u64s([mask.low, mask.high]))
    }

    #[inline(always)]
    fn flip(self, vector: B16) -> B16 {
        let Flipped(mask) = self;
        B16(
            flipped(vector.0, mask.0),
            flipped(vector.1, mask.1),
            flipped(vector.2, mask.2),
            flipped(vector.3, mask.3),
        )
    }
}

/// The exclusive or. It stays where it is written: the compiler brings one that it knows to where a word is loaded, and then each load of a
/// thread's waits for the one before.
#[gpu_only]
#[inline(always)]
fn flipped(word: u32, mask: u32) -> u32 {
    let value: u32;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("xor.b32 {value}, {word}, {mask};", value = out(reg32) value, word = in(reg32) word,
            mask = in(reg32) mask, options(pure, nomem, nostack, preserves_flags));
    }
    value
}

/// Implements [`OnTheWay`] for one kind of words, each the bits that `$mask` says.
macro_rules! flips {
    ($element:ty, |$mask:ident, $word:ident| $flip:expr) => {
        impl OnTheWay<$element> for Flipped {
            #[inline(always)]
            fn word(self, $word: $element) -> $element {
                let $mask = self;
                $flip
            }

            #[inline(always)]
            fn vector(self, vector: B16) -> B16 {
                self.flip(vector)
            }
        }
    };
}

flips!(u32, |mask, word| flipped(word, mask.0 .0));
flips!(u64, |mask, word| mask.flip(B16::from_u64s([word, 0])).u64s()[0]);
flips!(B16, |mask, word| mask.flip(word));
