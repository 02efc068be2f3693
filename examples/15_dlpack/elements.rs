//! Elements of any type, by their size: what moves does not ask what they are.

use std::ops::Range;
use std::ptr::NonNull;
use transpose::interop::dlpack::{
    DLDataType, DLManagedTensor, DLManagedTensorVersioned, ForeignStream, Imported, Refusal,
    export_as, export_legacy_as,
};
use transpose::{DeviceTensor, Result};

/// A tensor of elements of so many bytes.
pub enum Elements {
    B1(DeviceTensor<u8>),
    B2(DeviceTensor<u16>),
    B4(DeviceTensor<u32>),
    B8(DeviceTensor<u64>),
    B16(DeviceTensor<[u64; 2]>),
}

/// Runs `$body` with `$word` being the type of as many bytes as an element of `$imported` has, and `$variant` what holds it.
macro_rules! by_size {
    ($imported:expr, |$word:ident, $variant:ident| $body:expr) => {
        by_size!($imported, $word, $variant, $body,
            1 => B1 u8, 2 => B2 u16, 4 => B4 u32, 8 => B8 u64, 16 => B16 [u64; 2])
    };
    ($imported:expr, $word:ident, $variant:ident, $body:expr, $($bytes:literal => $name:ident $type:ty),+) => {
        match $imported.data_type().bytes() {
            $(Some($bytes) => {
                type $word = $type;
                #[allow(unused, reason = "not every use makes a tensor")]
                use Elements::$name as $variant;
                $body
            })+
            _ => Err(Refusal::DataType { found: $imported.data_type() }.into()),
        }
    };
}

/// The same for a tensor that is there.
macro_rules! each {
    ($elements:expr, $tensor:ident => $body:expr) => {
        match $elements {
            Elements::B1($tensor) => $body,
            Elements::B2($tensor) => $body,
            Elements::B4($tensor) => $body,
            Elements::B8($tensor) => $body,
            Elements::B16($tensor) => $body,
        }
    };
}

impl Elements {
    /// The elements with their axes in another order, and the addresses that they were read from and are at.
    pub fn permuted(imported: &Imported, axes: &[usize]) -> Result<(Self, [u64; 2])> {
        by_size!(imported, |Word, Variant| {
            let (from, permuted) = if imported.is_reached() {
                let view = imported.view_bits::<Word>()?;
                (view.device_address(), view.permuted(axes)?)
            } else {
                let tensor = imported.to_tensor_bits::<Word>()?;
                (tensor.device_address(), tensor.permuted(axes)?)
            };
            let to = permuted.device_address();
            Ok((Variant(permuted), [from, to]))
        })
    }

    /// Gives them away.
    pub fn export(
        self,
        data_type: DLDataType,
        stream: ForeignStream,
    ) -> Result<NonNull<DLManagedTensorVersioned>> {
        each!(self, tensor => export_as(tensor, data_type, stream))
    }

    /// Gives them away to a library that knows nothing of DLPack 1.
    pub fn export_legacy(
        self,
        data_type: DLDataType,
        stream: ForeignStream,
    ) -> Result<NonNull<DLManagedTensor>> {
        each!(self, tensor => export_legacy_as(tensor, data_type, stream))
    }
}

/// Writes a tensor's elements to another where it is.
pub fn permute_into(imported: &Imported, axes: &[usize], target: &mut Imported) -> Result<()> {
    if target.data_type() != imported.data_type() {
        return Err(Refusal::DataType { found: target.data_type() }.into());
    }
    by_size!(imported, |Word, Variant| {
        let source = imported.view_bits::<Word>()?.permute_axes(axes)?;
        let target = target.view_bits_mut::<Word>()?;
        // Both are borrowed from whoever lends them: nobody else has looked.
        let [from, to] = [
            bytes_of::<Word>(source.device_address(), source.shape(), source.strides()),
            bytes_of::<Word>(target.device_address(), target.shape(), target.strides()),
        ];
        if from.start < to.end && to.start < from.end {
            return Err(Refusal::Malformed { what: "source and destination overlap" }.into());
        }
        source.copy_into(target)
    })
}

/// Between which addresses elements of a type lie, the first of which is at `address`.
fn bytes_of<W>(address: u64, shape: &[usize], strides: &[isize]) -> Range<u64> {
    if shape.contains(&0) {
        return address..address;
    }
    let ends = shape.iter().zip(strides).map(|(&length, &stride)| (length as isize - 1) * stride);
    let (below, above) =
        ends.fold(
            (0, 0),
            |(below, above): (isize, isize), end| {
                if end < 0 { (below + end, above) } else { (below, above + end) }
            },
        );
    let bytes = |elements: isize| elements as i64 * size_of::<W>() as i64;
    address.wrapping_add_signed(bytes(below))..address.wrapping_add_signed(bytes(above + 1))
}
