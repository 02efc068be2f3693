//! Why a tensor is not taken or given.

use super::abi::{DLDataType, DLDevice};

/// What is wrong with a tensor of DLPack for what was asked.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Structures of another version.
    #[error("its version is {major}.{minor}, and only 1 is known")]
    Version {
        /// The major version.
        major: u32,
        /// The minor version.
        minor: u32,
    },
    /// Values that no tensor has.
    #[error("{what}")]
    Malformed {
        /// What is not so.
        what: &'static str,
    },
    /// Memory that kernels on the device do not reach.
    #[error("its memory is of kind {} and number {}, which the device does not reach", device.device_type, device.device_id)]
    Memory {
        /// Where it is.
        device: DLDevice,
    },
    /// Elements of another type or size.
    #[error("its elements are of kind {}, {} bits × {}: not what was asked for", found.code, found.bits, found.lanes)]
    DataType {
        /// What they are.
        found: DLDataType,
    },
    /// A tensor that must not be written to.
    #[error("it is read-only")]
    ReadOnly,
}
