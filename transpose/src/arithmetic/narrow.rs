//! Numbers of 8 bits, as the Open Compute Project defines them ("OCP 8-bit Floating Point Specification", 2023).

use bytemuck::{Pod, Zeroable};

/// Declares a type of bits.
macro_rules! narrow {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
        pub struct $name(u8);

        impl $name {
            /// The number with these bits.
            pub const fn from_bits(bits: u8) -> Self {
                $name(bits)
            }

            /// Its bits: the sign, the exponent, the fraction.
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }
    };
}

narrow!(
    E4M3,
    "A number of 8 bits, 4 of them exponent and 3 fraction: up to 448, without infinities; `0x7f` and `0xff` are no number.\n\n\
     PyTorch's `float8_e4m3fn`. Bits only: numbers become others [on the way](crate::TensorView::converted)."
);
narrow!(
    E5M2,
    "A number of 8 bits, 5 of them exponent and 2 fraction: up to 57344, with infinities.\n\n\
     PyTorch's `float8_e5m2`. Bits only: numbers become others [on the way](crate::TensorView::converted)."
);
