//! Picking a device.

use std::str::FromStr;
use transpose::{Device, Error, Result};

/// Where a user wants a program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU, or else the simulator.
    Auto,
    /// The GPU of that ordinal.
    Cuda(u32),
    /// The simulator.
    Sim,
    /// None: the CPU, in programs that can do without.
    Cpu,
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let unknown = || format!("{name:?} is none of auto, cuda, cuda:1, …, sim");
        match name {
            "auto" => Ok(DeviceChoice::Auto),
            "cuda" => Ok(DeviceChoice::Cuda(0)),
            "sim" => Ok(DeviceChoice::Sim),
            "cpu" => Ok(DeviceChoice::Cpu),
            _ => {
                let ordinal = name.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok());
                ordinal.map(DeviceChoice::Cuda).ok_or_else(unknown)
            }
        }
    }
}

impl DeviceChoice {
    /// Opens the device; with it, why it is no GPU where one would have been taken.
    ///
    /// # Errors
    /// Those of [`Device::cuda`] if a GPU was asked for, and [`Error::UnknownName`] if no device was.
    pub fn open(self) -> Result<(Device, Option<Error>)> {
        Ok(match self {
            DeviceChoice::Cpu => {
                let (name, known) = ("cpu".to_owned(), "auto, cuda, cuda:1, …, sim".to_owned());
                return Err(Error::UnknownName { kind: "device", name, known });
            }
            DeviceChoice::Cuda(ordinal) => (Device::cuda(ordinal)?, None),
            DeviceChoice::Sim => (Device::simulated(), None),
            DeviceChoice::Auto => Device::any(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::DeviceChoice;

    #[test]
    fn devices_have_names() {
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::Cuda(3)));
        for odd in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA"] {
            let said = odd.parse::<DeviceChoice>().unwrap_err();
            assert!(said.contains("auto, cuda"), "{said}");
        }
    }
}
