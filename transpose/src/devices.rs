//! The devices that a machine has, and the memory that each has.

use crate::{Device, Result};

/// Bytes of a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// What could be had now, in bytes, by whoever asks first: other programs use the same GPU. What a device keeps of freed memory
    /// for its next matrices, a quarter of all at most, does not count as free.
    pub free: u64,
    /// All that there is, in bytes.
    pub total: u64,
}

impl Device {
    /// Every GPU of this machine, in the order of the ordinals that [`cuda`](Self::cuda) takes; none where there is a driver that sees
    /// none.
    ///
    /// Each is made ready for work: its context takes some hundred megabytes of its memory and a part of a second. A program that
    /// wants one of them asks for [`cuda_count`](Self::cuda_count) and [`cuda`](Self::cuda).
    ///
    /// ```
    /// use transpose::Device;
    /// # fn main() -> transpose::Result<()> {
    /// for device in Device::all().unwrap_or_else(|_no_driver| vec![Device::simulated()]) {
    ///     let (facts, memory) = (device.facts(), device.memory()?);
    ///     println!("{device}: {:?}, {} of {} bytes free", facts.compute_capability, memory.free, memory.total);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), and what the driver answers.
    pub fn all() -> Result<Vec<Self>> {
        (0..Self::cuda_count()?).map(Self::cuda).collect()
    }

    /// How many GPUs the driver sees. Opens none of them.
    ///
    /// # Errors
    /// [`Error::NoDriver`](crate::Error::NoDriver), and what the driver answers.
    pub fn cuda_count() -> Result<u32> {
        crate::device::cuda_count()
    }

    /// How much memory the device has, and how much of it is free.
    ///
    /// The simulator has 16 GiB, and takes them of the host as they are used.
    ///
    /// # Errors
    /// What the driver answers, failures of earlier queued work included.
    pub fn memory(&self) -> Result<MemoryInfo> {
        self.memory_info()
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::{Device, DeviceMatrix};

    #[test]
    fn what_a_matrix_takes_is_not_free() {
        let device = Device::simulated();
        let before = device.memory().unwrap();
        let matrix = DeviceMatrix::<u8>::zeroed(&device, 1000, 1000).unwrap();
        let taken = before.free - device.memory().unwrap().free;
        assert!((1_000_000..1_001_000).contains(&taken), "{taken}");
        drop(matrix);
        assert_eq!(device.memory().unwrap(), before);
        assert_eq!(before.free, before.total);
    }
}
