//! A GPU, and what it can do.

use std::ffi::{CStr, c_char};

use crate::functions::Functions;
use crate::{Driver, Error, RawDevice};

/// A GPU that the driver has named.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    pub(crate) driver: &'static Driver,
    pub(crate) raw: RawDevice,
}

/// What can be asked of a device by [`Device::attribute`]: a `CUdevice_attribute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceAttribute(pub u32);

#[allow(missing_docs, reason = "the names are those of cuda.h")]
impl DeviceAttribute {
    pub const MULTIPROCESSOR_COUNT: Self = DeviceAttribute(16);
    pub const COMPUTE_CAPABILITY_MAJOR: Self = DeviceAttribute(75);
    pub const COMPUTE_CAPABILITY_MINOR: Self = DeviceAttribute(76);
    pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: Self = DeviceAttribute(81);
    pub const CONCURRENT_MANAGED_ACCESS: Self = DeviceAttribute(89);
    pub const COOPERATIVE_LAUNCH: Self = DeviceAttribute(95);
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: Self = DeviceAttribute(97);
    pub const MEMORY_POOLS_SUPPORTED: Self = DeviceAttribute(115);
}

impl Device {
    /// The driver's name for it.
    pub fn as_raw(&self) -> RawDevice {
        self.raw
    }

    /// The name that a person knows it by, such as `NVIDIA H200`.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn name(&self) -> Result<String, Error> {
        let mut name = [0 as c_char; 256];
        // SAFETY: the driver writes no more bytes than it is told that there are.
        unsafe {
            self.functions().cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, self.raw)
        }?;
        let bytes = name.map(|byte| byte as u8);
        let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// An attribute's value.
    ///
    /// # Errors
    /// [`Error::Call`] with code 1 if the driver is older than the attribute.
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32, Error> {
        let mut value = 0;
        // SAFETY: `value` is a place for an integer.
        unsafe { self.functions().cuDeviceGetAttribute(&mut value, attribute.0, self.raw) }?;
        Ok(value)
    }

    /// The compute capability, major and minor: (9, 0) for Hopper.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn compute_capability(&self) -> Result<(i32, i32), Error> {
        Ok((
            self.attribute(DeviceAttribute::COMPUTE_CAPABILITY_MAJOR)?,
            self.attribute(DeviceAttribute::COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// Bytes of memory that the device has.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn total_memory(&self) -> Result<usize, Error> {
        let mut bytes = 0;
        // SAFETY: `bytes` is a place for a size.
        unsafe { self.functions().cuDeviceTotalMem_v2(&mut bytes, self.raw) }?;
        Ok(bytes)
    }

    /// Whether kernels of this device can reach the memory of another one, once that is [enabled](crate::Context::enable_peer).
    ///
    /// # Errors
    /// What the driver answers.
    pub fn can_access(&self, peer: &Device) -> Result<bool, Error> {
        let mut can = 0;
        // SAFETY: `can` is a place for an integer.
        unsafe { self.functions().cuDeviceCanAccessPeer(&mut can, self.raw, peer.raw) }?;
        Ok(can != 0)
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        &self.driver.functions
    }
}
