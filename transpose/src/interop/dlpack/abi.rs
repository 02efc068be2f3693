//! The structures of DLPack 1, field by field as its header has them. They are an ABI that does not change within a major version, so they
//! are here, and no dependency.

use std::ffi::c_void;

/// The version that this library writes: all that it uses has been there since 1.0.
pub(super) const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 0 };

/// Kinds of memory that this library knows.
pub mod device_type {
    /// The host's.
    pub const CPU: i32 = 1;
    /// A GPU's.
    pub const CUDA: i32 = 2;
    /// The host's, page-locked by CUDA.
    pub const CUDA_HOST: i32 = 3;
    /// Managed by CUDA: the host's and the GPU's.
    pub const CUDA_MANAGED: i32 = 13;
}

/// Kinds of elements that this library names; others are moved as bits.
pub mod type_code {
    /// Signed integers.
    pub const INT: u8 = 0;
    /// Unsigned integers.
    pub const UINT: u8 = 1;
    /// Floating-point numbers of IEEE 754.
    pub const FLOAT: u8 = 2;
    /// Floating-point numbers of 16 bits with 8 bits of exponent.
    pub const BFLOAT: u8 = 4;
    /// Complex numbers; their bits are those of both parts.
    pub const COMPLEX: u8 = 5;
    /// Truth values, a byte each.
    pub const BOOL: u8 = 6;
}

/// Who gets the tensor must not write to it.
pub const FLAG_READ_ONLY: u64 = 1;

/// The tensor is a copy that the producer made; the consumer is its only user.
pub const FLAG_IS_COPIED: u64 = 2;

/// A version of DLPack. Structures of another major version are laid out otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes with the structures.
    pub major: u32,
    /// Changes with what their values may be.
    pub minor: u32,
}

/// Where memory is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of [`device_type`], or another that this library does not know.
    pub device_type: i32,
    /// Which of these; 0 for the host.
    pub device_id: i32,
}

/// What an element is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// One of [`type_code`], or another.
    pub code: u8,
    /// Bits of a lane.
    pub bits: u8,
    /// Numbers in an element; 1 but for vectors.
    pub lanes: u16,
}

/// Where elements lie.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// The memory; null if there are no elements.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// Number of axes.
    pub ndim: i32,
    /// What an element is.
    pub dtype: DLDataType,
    /// The length of each axis.
    pub shape: *mut i64,
    /// Elements from one index of each axis to the next; null for row-major order without gaps.
    pub strides: *mut i64,
    /// Bytes from `data` to element `[0, …, 0]`.
    pub byte_offset: u64,
}

/// A tensor and what frees it, as libraries exchanged them before DLPack 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor and this structure; may be null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor, what frees it, and what may be done with it.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of what follows.
    pub version: DLPackVersion,
    /// The producer's.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor and this structure; may be null. Whatever the version, it is here.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`FLAG_READ_ONLY`], [`FLAG_IS_COPIED`], and others.
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The offsets of the header's fields on a machine of 64 bits, as its C compiler lays them out.
    #[test]
    fn structures_are_the_headers() {
        assert_eq!((size_of::<DLDataType>(), size_of::<DLDevice>()), (4, 8));
        assert_eq!((offset_of!(DLTensor, device), offset_of!(DLTensor, ndim)), (8, 16));
        assert_eq!((offset_of!(DLTensor, dtype), offset_of!(DLTensor, shape)), (20, 24));
        assert_eq!((offset_of!(DLTensor, byte_offset), size_of::<DLTensor>()), (40, 48));
        assert_eq!(offset_of!(DLManagedTensor, deleter), 56);
        assert_eq!(offset_of!(DLManagedTensorVersioned, deleter), 16);
        assert_eq!(offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
    }
}
