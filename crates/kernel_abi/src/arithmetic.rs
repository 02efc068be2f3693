//! The kernels that compute on the way: formats of numbers, parameters, and rows of the table.
//!
//! They move elements of a source, which are 1, 2, 4, 8 or 16 bytes, to elements of a destination of a format of its own, and there
//! compute `α·a` or `α·a + β·b`, in numbers of 32 or 64 bits that hold every number of both formats exactly.
//!
//! Strides count elements, of the memory that they are of. Packed divisors are those of [`tensor`](crate::tensor).

use crate::tensor::{Tiles, MOST_AXES, MOST_BLOCK_AXES};
use crate::{params, table, Width};

/// A format of real numbers; complex ones are two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Format {
    /// An integer of 8 bits without a sign.
    U8,
    /// An integer of 8 bits.
    I8,
    /// An integer of 16 bits without a sign.
    U16,
    /// An integer of 16 bits.
    I16,
    /// An integer of 32 bits without a sign.
    U32,
    /// An integer of 32 bits.
    I32,
    /// 4 bits of exponent and 3 of fraction, without infinities: `E4M3` of the OCP's 8-bit formats.
    E4M3,
    /// 5 bits of exponent and 2 of fraction: `E5M2` of the OCP's 8-bit formats.
    E5M2,
    /// IEEE's of 16 bits.
    F16,
    /// The upper half of [`F32`](Self::F32).
    BF16,
    /// IEEE's of 32 bits.
    F32,
    /// IEEE's of 64 bits.
    F64,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 12] = [
        Format::U8,
        Format::I8,
        Format::U16,
        Format::I16,
        Format::U32,
        Format::I32,
        Format::E4M3,
        Format::E5M2,
        Format::F16,
        Format::BF16,
        Format::F32,
        Format::F64,
    ];

    /// Bytes of a number.
    pub const fn bytes(self) -> usize {
        match self {
            Format::U8 | Format::I8 | Format::E4M3 | Format::E5M2 => 1,
            Format::U16 | Format::I16 | Format::F16 | Format::BF16 => 2,
            Format::U32 | Format::I32 | Format::F32 => 4,
            Format::F64 => 8,
        }
    }

    /// Whether only numbers of 64 bits hold all of these exactly.
    pub const fn is_wide(self) -> bool {
        matches!(self, Format::U32 | Format::I32 | Format::F64)
    }
}

/// Bits of [`Operation::flags`].
pub mod flags {
    /// Elements are complex: two numbers each.
    pub const COMPLEX: u64 = 1;
    /// Source elements are conjugated first.
    pub const CONJUGATE: u64 = 2;
    /// Factors are complex.
    pub const COMPLEX_FACTORS: u64 = 4;
    /// There is a second operand.
    pub const OTHER: u64 = 8;
    /// It is computed in numbers of 64 bits.
    pub const WIDE: u64 = 16;
    /// Each channel has a factor and a summand of its own, which are the second operand: a table of pairs.
    pub const CHANNELS: u64 = 32;
}

params! {
    /// What is computed on the way.
    Operation {
        /// The source's [`Format`].
        src,
        /// The destination's, and the second operand's.
        dst,
        /// Bytes of an element of the destination, and of the second operand.
        dst_bytes,
        /// [`flags`].
        flags,
        /// The bits of the real part of α, as a number of those that it is computed in.
        alpha,
        /// The imaginary part's.
        alpha_im,
        /// Of β, likewise.
        beta,
        /// The imaginary part's.
        beta_im,
        /// The address of the second operand where the destination has the address that the kernel is given.
        other,
    }

    /// An axis whose index is the remainder of a division.
    OperandAxis {
        /// The number of indices, as a packed divisor.
        divisor,
        /// Elements of the source from one index to the next.
        src,
        /// Elements of the destination.
        dst,
        /// Elements of the second operand.
        other,
    }

    /// For [`COMPUTE_UNITS`].
    ComputeUnits {
        /// What is computed. It is first, so that addresses in it are at the same place in the parameters of both kernels.
        operation: Operation,
        /// The axes, the destination's fastest first; along the first one units are counted.
        axes: [OperandAxis; MOST_AXES],
        /// How many there are.
        count: u64,
        /// Whether a unit is as many elements as [`unit`](fn@unit) says, which lie together on vectors on all sides (1), or is one element (0).
        whole: u64,
        /// Units to compute.
        units: u64,
    }

    /// For [`COMPUTE_PIXELS`].
    ComputePixels {
        /// What is computed.
        operation: Operation,
        /// The axes that blocks are counted along: first that of pixels, in steps of a block's.
        blocks: [OperandAxis; MOST_BLOCK_AXES],
        /// How many there are.
        count: u64,
        /// Pixels of a block.
        per: u64,
        /// Pixels of all blocks.
        pixels: u64,
        /// Channels of a pixel, as a packed divisor.
        channels: u64,
        /// Elements from one channel to the next in the source, whose pixels then lie together; 0 if channels do, and pixels behind them.
        src_plane: u64,
        /// The same of the destination.
        dst_plane: u64,
        /// Vectors of what lies together of a block's part of the source, wherever it starts, as a packed divisor.
        src_vectors: u64,
        /// [Units](fn@unit) of what lies together of its part of the destination, as a packed divisor.
        dst_units: u64,
        /// Whether those start on units of the destination (1), or anywhere (0).
        whole: u64,
        /// Bytes from the address that the kernel is given to the lowest element of the source.
        lowest: u64,
        /// Bytes from there to behind the highest.
        reach: u64,
    }

    /// For [`COMPUTE_TILES`].
    ComputeTiles {
        /// What is computed.
        operation: Operation,
        /// The tiles, in words that are elements of the source; the second operand is laid out like the destination.
        tiles: Tiles,
        /// A tile's [units](fn@unit) of a column, the last perhaps in part, as a packed divisor; one more if columns start anywhere.
        col_units: u64,
        /// Whether columns start on units of the destination (1), or anywhere (0).
        whole: u64,
    }
}

/// Threads of a block of [`COMPUTE_PIXELS`].
pub const PIXEL_THREADS: u32 = 192;

/// Bytes of the source that a block of [`COMPUTE_PIXELS`] has, about: four vectors of each thread.
pub const PIXEL_BYTES: usize = PIXEL_THREADS as usize * 4 * 16;

/// Threads of a block of [`COMPUTE_UNITS`].
pub const UNIT_THREADS: u32 = 256;

/// Units that a thread of [`COMPUTE_UNITS`] has.
pub const UNITS_OF_THREAD: u32 = 4;

/// Elements that a thread computes together: as many as fill 16 bytes on the side whose elements have more bytes; fewer of bytes that stay bytes,
/// which would take too many instructions.
pub const fn unit(src_bytes: usize, dst_bytes: usize) -> usize {
    match (src_bytes, dst_bytes) {
        (1, 1) => 4,
        _ if src_bytes > dst_bytes => 16 / src_bytes,
        _ => 16 / dst_bytes,
    }
}

table! { ARITHMETIC of Arithmetic:
    /// Any move that computes: in the destination's order, without a transposition.
    COMPUTE_UNITS = "compute_units" takes ComputeUnits {
        1: exactly [UNIT_THREADS, 1, 1], 2: exactly [UNIT_THREADS, 1, 1], 4: exactly [UNIT_THREADS, 1, 1], 8: exactly [UNIT_THREADS, 1, 1], 16: exactly [UNIT_THREADS, 1, 1]
    }
    /// Moves that compute, of pixels of few channels: these lie together on one side, or on both.
    COMPUTE_PIXELS = "compute_pixels" takes ComputePixels {
        1: exactly [PIXEL_THREADS, 1, 1], 2: exactly [PIXEL_THREADS, 1, 1], 4: exactly [PIXEL_THREADS, 1, 1], 8: exactly [PIXEL_THREADS, 1, 1]
    }
    /// Moves that compute, whose fastest axis changes: the tiles of [`TILES`](crate::tensor::TILES).
    COMPUTE_TILES = "compute_tiles" takes ComputeTiles {
        1: at_most crate::tensor::TileShape::most_threads(Width::B1), 2: at_most crate::tensor::TileShape::most_threads(Width::B2), 4: at_most crate::tensor::TileShape::most_threads(Width::B4), 8: at_most crate::tensor::TileShape::most_threads(Width::B8), 16: at_most crate::tensor::TileShape::most_threads(Width::B16)
    }
}
