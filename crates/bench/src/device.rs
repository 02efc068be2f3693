//! Picking a device, and saying which.

use std::str::FromStr;
use transpose::{Device, Result};

/// Where a user wants a program to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU, or else the simulator.
    Auto,
    /// The first GPU.
    Cuda,
    /// The simulator.
    Sim,
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        match name {
            "auto" => Ok(DeviceChoice::Auto),
            "cuda" => Ok(DeviceChoice::Cuda),
            "sim" => Ok(DeviceChoice::Sim),
            _ => Err(format!("{name:?} is none of auto, cuda, sim")),
        }
    }
}

impl DeviceChoice {
    /// Opens the device and says on standard error what it is.
    ///
    /// # Errors
    /// Those of [`Device::cuda`] if a GPU was asked for.
    pub fn open(self) -> Result<Device> {
        let device = match self {
            DeviceChoice::Cuda => Device::cuda(0)?,
            DeviceChoice::Sim => Device::simulated(),
            DeviceChoice::Auto => {
                let (device, no_gpu) = Device::any();
                if let Some(reason) = no_gpu {
                    eprintln!("no GPU ({reason}); the simulator runs the kernels on the CPU");
                }
                device
            }
        };
        eprintln!("device: {device}");
        Ok(device)
    }
}
