//! What is done to words on the way: nothing, or some of their bits are flipped.
//!
//! A kernel takes this as a type, so that one that does nothing has no instruction for it.

use crate::element::B16;
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
        B16(vector.0 ^ mask.0, vector.1 ^ mask.1, vector.2 ^ mask.2, vector.3 ^ mask.3)
    }
}

/// Implements [`OnTheWay`] for one kind of words, each the bits that `$mask` says.
macro_rules! flipped {
    ($element:ty, |$flipped:ident, $word:ident| $flip:expr) => {
        impl OnTheWay<$element> for Flipped {
            #[inline(always)]
            fn word(self, $word: $element) -> $element {
                let $flipped = self;
                $flip
            }

            #[inline(always)]
            fn vector(self, vector: B16) -> B16 {
                self.flip(vector)
            }
        }
    };
}

flipped!(u32, |flipped, word| word ^ flipped.0 .0);
flipped!(u64, |flipped, word| word ^ flipped.0.u64s()[0]);
flipped!(B16, |flipped, word| flipped.flip(word));
