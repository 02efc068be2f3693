//! What is computed, as programs say it and as kernels are told.

use super::kind::Complex;
use super::number::described::{Described, Parts};
use super::number::{ConvertTo, Number};
use kernel_abi::arithmetic::{Operation, flags};
use std::marker::PhantomData;

/// What is computed of each number `a` of a source for a destination of numbers `U`: `α·a`, of `a`'s conjugate if that is wanted.
///
/// See [`ArithmeticPlan`](crate::ArithmeticPlan).
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic<U> {
    alpha: [f64; 2],
    conjugates: bool,
    number: PhantomData<U>,
}

impl<U: Number> Arithmetic<U> {
    /// Numbers arrive as they are, in the destination's format.
    pub fn converting() -> Self {
        Arithmetic { alpha: [1.0, 0.0], conjugates: false, number: PhantomData }
    }

    /// Numbers are multiplied by `alpha`.
    pub fn scaling(alpha: U::Factor) -> Self {
        Arithmetic { alpha: alpha.parts(), ..Self::converting() }
    }

    /// As kernels are told that each channel has a factor and a summand.
    pub(crate) fn by_channel<T: ConvertTo<U>>(&self) -> Operation {
        let operation = self.operation::<T>(None);
        Operation { flags: operation.flags | flags::CHANNELS, ..operation }
    }

    /// As kernels are told, for a source of numbers `T`, and a second operand that is multiplied by `beta`, if there is one.
    pub(crate) fn operation<T: ConvertTo<U>>(&self, beta: Option<U::Factor>) -> Operation {
        let wide = <T as Described>::FORMAT.is_wide() || <U as Described>::FORMAT.is_wide();
        let bits = |value: f64| {
            if wide { value.to_bits() } else { u64::from((value as f32).to_bits()) }
        };
        let factor = beta.map_or([0.0; 2], Parts::parts);
        // A factor without an imaginary part multiplies both parts, and makes no sums.
        let complex = <U as Described>::COMPLEX && (self.alpha[1] != 0.0 || factor[1] != 0.0);
        let set = [
            (<U as Described>::COMPLEX, flags::COMPLEX),
            (self.conjugates, flags::CONJUGATE),
            (complex, flags::COMPLEX_FACTORS),
            (beta.is_some(), flags::OTHER),
            (wide, flags::WIDE),
        ];
        Operation {
            src: <T as Described>::FORMAT as u64,
            dst: <U as Described>::FORMAT as u64,
            dst_bytes: size_of::<U>() as u64,
            flags: set.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag),
            alpha: bits(self.alpha[0]),
            alpha_im: bits(self.alpha[1]),
            beta: bits(factor[0]),
            beta_im: bits(factor[1]),
            other: 0,
        }
    }
}

impl<U: Number<Kind = Complex>> Arithmetic<U> {
    /// The same, of the conjugates of numbers.
    pub fn conjugated(self) -> Self {
        Arithmetic { conjugates: !self.conjugates, ..self }
    }
}
