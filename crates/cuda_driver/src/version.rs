//! The version of CUDA that a driver supports.

use std::fmt;

/// A CUDA version: 13.0, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion {
    /// The 13 of 13.0.
    pub major: u32,
    /// The 0 of 13.0.
    pub minor: u32,
}

impl DriverVersion {
    /// From the driver's form, 1000 × major + 10 × minor.
    pub(crate) fn decode(version: i32) -> Self {
        let version = version.unsigned_abs();
        Self { major: version / 1000, minor: version % 1000 / 10 }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
