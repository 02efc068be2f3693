//! Which elements are which of DLPack's.

use super::abi::{DLDataType, type_code};
use bytemuck::Pod;

/// An element type that DLPack has a name for.
///
/// # Safety
/// Elements of the data type are `T`s: as many bytes, of the same meaning.
pub unsafe trait DlElement: Pod {
    /// The name.
    const DATA_TYPE: DLDataType;
}

macro_rules! elements {
    ($($code:ident: $($element:ty),+;)+) => {
        $($(
            // SAFETY: the numbers of that kind and size, in the machine's order of bytes.
            unsafe impl DlElement for $element {
                const DATA_TYPE: DLDataType = DLDataType {
                    code: type_code::$code,
                    bits: 8 * size_of::<$element>() as u8,
                    lanes: 1,
                };
            }
        )+)+
    };
}

elements! {
    INT: i8, i16, i32, i64;
    UINT: u8, u16, u32, u64;
    FLOAT: f32, f64;
}

#[cfg(feature = "half")]
elements! {
    FLOAT: half::f16;
    BFLOAT: half::bf16;
}

#[cfg(feature = "num-complex")]
elements! {
    COMPLEX: num_complex::Complex<f32>, num_complex::Complex<f64>;
}

impl DLDataType {
    /// Truth values, a byte each: moved as `u8`, and exported by [`export_as`](super::export_as).
    pub const BOOL: DLDataType = DLDataType { code: type_code::BOOL, bits: 8, lanes: 1 };

    /// Bytes of an element; `None` for elements that are not whole bytes.
    pub fn bytes(&self) -> Option<usize> {
        let bits = usize::from(self.bits) * usize::from(self.lanes);
        (bits > 0 && bits.is_multiple_of(8) && self.bits >= 8).then_some(bits / 8)
    }
}
