//! The bytes of an element.

/// The bytes of an element, or of a word that elements are made of, that kernels exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// One byte.
    B1,
    /// Two bytes.
    B2,
    /// Four bytes.
    B4,
    /// Eight bytes.
    B8,
    /// Sixteen bytes.
    B16,
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Width; 5] = [Width::B1, Width::B2, Width::B4, Width::B8, Width::B16];

    /// The width of `bytes` bytes, if they are 1, 2, 4, 8 or 16.
    pub const fn of_bytes(bytes: usize) -> Option<Self> {
        match bytes {
            1 => Some(Width::B1),
            2 => Some(Width::B2),
            4 => Some(Width::B4),
            8 => Some(Width::B8),
            16 => Some(Width::B16),
            _ => None,
        }
    }

    /// The number of bytes.
    pub const fn bytes(self) -> usize {
        1 << self as usize
    }
}
