//! The devices that arrays are spread over: which of them reach each other's memory, and the streams that exchanges use.

use crate::device::{Device, Urgency};
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;

/// Devices that hold arrays together, in an order: GPUs of one host, or simulated devices.
///
/// Made once and cloned: clones are handles to the same group. Making one has each device's kernels reach the memory of the others where a
/// link permits it, for good, and makes three more streams of each device.
///
/// One GPU may be in a group several times, as handles from several calls of [`Device::cuda`], or as streams of one: then each handle holds
/// a share.
///
/// ```
/// use transpose::{Device, DeviceGroup, ShardedMatrix};
/// # fn main() -> transpose::Result<()> {
/// // On a machine with GPUs: DeviceGroup::of_gpus()?
/// let group = DeviceGroup::new(&Device::simulated_peers(2))?;
/// let elements: Vec<u32> = (0..12).collect();
/// let a = ShardedMatrix::from_host(&group, 4, 3, &elements)?; // two rows on each device
/// let b = a.transposed()?; // two rows on the first device, one on the second
/// assert_eq!(b.to_host()?, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DeviceGroup(Arc<Members>);

struct Members {
    devices: Vec<Device>,
    streams: Vec<Streams>,
    /// Whether device `i` reaches what device `j` allocates, at `i · devices + j`.
    reached: Vec<bool>,
}

/// The streams of one device that exchanges are queued on.
pub(super) struct Streams {
    /// For what goes to other devices.
    pub far: [Device; 2],
    /// For what stays, and what others have sent.
    pub near: Device,
}

impl DeviceGroup {
    /// A group of these devices, in this order.
    ///
    /// # Errors
    /// [`Error::EmptyGroup`] for none, [`Error::DeviceMismatch`] for a GPU beside a simulated device, and what the devices report.
    pub fn new(devices: &[Device]) -> Result<Self> {
        let first = devices.first().ok_or(Error::EmptyGroup)?;
        if let Some(other) = devices.iter().find(|device| device.is_gpu() != first.is_gpu()) {
            return Err(Error::DeviceMismatch { src: first.to_string(), dst: other.to_string() });
        }
        let mut reached = Vec::with_capacity(devices.len() * devices.len());
        for device in devices {
            for peer in devices {
                reached.push(device.reach(peer)?);
            }
        }
        let streams = |device: &Device| {
            let far = || device.new_stream_of(Urgency::First);
            Ok(Streams { far: [far()?, far()?], near: device.new_stream()? })
        };
        let streams = devices.iter().map(streams).collect::<Result<_>>()?;
        Ok(DeviceGroup(Arc::new(Members { devices: devices.to_vec(), streams, reached })))
    }

    /// A group of all GPUs that the driver sees, in its order.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoDevice`], and those of [`new`](Self::new).
    pub fn of_gpus() -> Result<Self> {
        let first = Device::cuda(0)?;
        let others = 1..crate::device::cuda_count()?;
        let others = others.map(Device::cuda);
        let devices: Vec<Device> =
            std::iter::once(Ok(first)).chain(others).collect::<Result<_>>()?;
        Self::new(&devices)
    }

    /// The devices, in the group's order.
    pub fn devices(&self) -> &[Device] {
        &self.0.devices
    }

    /// How many devices there are.
    pub fn count(&self) -> usize {
        self.0.devices.len()
    }

    /// Whether kernels on device `from` store to memory of device `to`, so that nothing is staged between them. `false` for devices that
    /// there are not.
    pub fn reaches(&self, from: usize, to: usize) -> bool {
        let count = self.count();
        from < count && to < count && self.0.reached[from * count + to]
    }

    /// Waits until all that exchanges have queued on the devices is done, and what is queued on the devices' own streams.
    ///
    /// # Errors
    /// What the devices report, failures of earlier queued work included.
    pub fn synchronize(&self) -> Result<()> {
        let of_lanes = self.0.streams.iter().flat_map(Streams::all);
        self.0.devices.iter().chain(of_lanes).try_for_each(Device::synchronize)
    }

    /// The streams of each device.
    pub(super) fn streams(&self) -> &[Streams] {
        &self.0.streams
    }

    /// Whether both are handles to one group.
    pub(super) fn is_same(&self, other: &DeviceGroup) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Refuses another group.
    pub(super) fn require_same(&self, other: &DeviceGroup) -> Result<()> {
        if self.is_same(other) { Ok(()) } else { Err(Error::GroupMismatch) }
    }
}

impl Streams {
    pub fn all(&self) -> impl Iterator<Item = &Device> {
        self.far.iter().chain([&self.near])
    }
}

impl fmt::Debug for DeviceGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceGroup").field(&self.0.devices).finish()
    }
}
