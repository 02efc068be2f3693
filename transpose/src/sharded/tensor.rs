//! The array of any rank that is spread over a group of devices.

use super::group::DeviceGroup;
use super::pieces::{Exchange, Spread};
use super::shares::Shares;
use crate::device::{Device, require_one_memory};
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

/// An array that the devices of a group hold together: one of its axes is cut into consecutive shares, one for each device in the group's
/// order. What a device holds, its *shard*, is row-major and has no gaps.
///
/// ```
/// use transpose::{Device, DeviceGroup, ShardedTensor};
/// # fn main() -> transpose::Result<()> {
/// let group = DeviceGroup::new(&Device::simulated_peers(2))?;
/// // [sequence, heads, features], the sequence spread, as attention computes its projections.
/// let elements: Vec<u16> = (0..4 * 6 * 2).collect();
/// let by_sequence = ShardedTensor::from_host(&group, &[4, 6, 2], 0, &elements)?;
/// // Every device gets all of the sequence for its share of the heads.
/// let by_heads = by_sequence.all_to_all(1)?;
/// assert_eq!(by_heads.shard(0).unwrap().shape(), [4, 3, 2]);
/// assert_eq!(by_heads.to_host()?, elements);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ShardedTensor<T> {
    group: DeviceGroup,
    shape: Vec<usize>,
    spread: Spread,
    /// One for each device: without gaps, at an address aligned as allocations are.
    shards: Vec<DeviceTensor<T>>,
}

/// Where the shards of one side of an exchange are: their queues, and their addresses.
pub(super) struct Ends<'a> {
    pub homes: Vec<&'a Device>,
    pub addresses: Vec<u64>,
}

impl<T: Pod> ShardedTensor<T> {
    /// An array of `shape` that holds `elements`, in row-major order, spread along an axis in [even](Shares::even) shares.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are as many elements as the shape has, [`Error::NoSuchAxis`], [`Error::TooManyAxes`],
    /// [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the devices report.
    pub fn from_host(
        group: &DeviceGroup,
        shape: &[usize],
        axis: usize,
        elements: &[T],
    ) -> Result<Self> {
        let shares = even(group.count(), shape, axis)?;
        Self::from_host_shared(group, shape, axis, &shares, elements)
    }

    /// Like [`from_host`](Self::from_host), in these shares.
    ///
    /// # Errors
    /// As [`from_host`](Self::from_host), and [`Error::Shares`] unless there is a share for each device and all of them make the axis.
    pub fn from_host_shared(
        group: &DeviceGroup,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
        elements: &[T],
    ) -> Result<Self> {
        let whole = TensorLayout::contiguous(shape, size_of::<T>())?;
        require_len(shape, elements.len())?;
        let spread = Spread::of(group.count(), shape, axis, shares)?;
        let shard = |(at, device)| {
            let part = whole.slice(axis, shares.range(at), 1)?;
            DeviceTensor::from_host_strided(device, elements, &part)
        };
        let shards = group.devices().iter().enumerate().map(shard).collect::<Result<_>>()?;
        Ok(ShardedTensor { group: group.clone(), shape: shape.to_vec(), spread, shards })
    }

    /// An array of zero bytes, spread along an axis in [even](Shares::even) shares.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the devices report.
    pub fn zeroed(group: &DeviceGroup, shape: &[usize], axis: usize) -> Result<Self> {
        Self::zeroed_shared(group, shape, axis, &even(group.count(), shape, axis)?)
    }

    /// Like [`zeroed`](Self::zeroed), in these shares.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed), and [`Error::Shares`] unless there is a share for each device and all of them make the axis.
    pub fn zeroed_shared(
        group: &DeviceGroup,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<Self> {
        Self::made_by(group, shape, axis, shares, DeviceTensor::zeroed)
    }

    /// An array whose elements are whatever the devices' memory held.
    pub(super) fn uninitialized(
        group: &DeviceGroup,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<Self> {
        Self::made_by(group, shape, axis, shares, DeviceTensor::uninitialized)
    }

    fn made_by(
        group: &DeviceGroup,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
        make: impl Fn(&Device, &[usize]) -> Result<DeviceTensor<T>>,
    ) -> Result<Self> {
        TensorLayout::contiguous(shape, size_of::<T>())?;
        let spread = Spread::of(group.count(), shape, axis, shares)?;
        let mut of_shard = shape.to_vec();
        let shard = |(device, length)| {
            of_shard[axis] = length;
            make(device, &of_shard)
        };
        let shards = group.devices().iter().zip(shares.lengths()).map(shard);
        let shards = shards.collect::<Result<_>>()?;
        Ok(ShardedTensor { group: group.clone(), shape: shape.to_vec(), spread, shards })
    }

    /// The array whose shards the devices have, in the group's order: what each of them has computed. Nothing is moved.
    ///
    /// # Errors
    /// [`Error::Shard`] unless there is a shard for each device, in its memory, without gaps, at an address aligned to 256 bytes, and of the
    /// same shape as the others but for the axis; [`Error::NoSuchAxis`], and [`Error::TensorSizeOverflow`]. With each of them the shards are
    /// dropped.
    pub fn from_shards(
        group: &DeviceGroup,
        axis: usize,
        shards: Vec<DeviceTensor<T>>,
    ) -> Result<Self> {
        let refuse = |device, reason| Error::Shard { device, reason };
        if shards.len() != group.count() {
            return Err(refuse(shards.len(), "there is one for each device"));
        }
        let mut shape = shards[0].shape().to_vec();
        if axis >= shape.len() {
            return Err(Error::NoSuchAxis { axis, axes: shape.len() });
        }
        for (at, (shard, device)) in shards.iter().zip(group.devices()).enumerate() {
            require_one_memory(shard.device(), device)
                .map_err(|_| refuse(at, "it is in that device's memory"))?;
            let mut as_first = shard.shape().to_vec();
            let length = as_first.get(axis).copied();
            if length.is_some() {
                as_first[axis] = shape[axis];
            }
            if length.is_none() || as_first != shape {
                return Err(refuse(at, "all have one shape but for the axis that is spread"));
            }
            if !shard.is_contiguous() {
                return Err(refuse(at, "it has no gaps, and its last axis is the fastest"));
            }
            if !shard.device_address().is_multiple_of(256) {
                return Err(refuse(at, "it is aligned to 256 bytes"));
            }
        }
        let lengths: Vec<usize> = shards.iter().map(|shard| shard.shape()[axis]).collect();
        let shares = Shares::of_lengths(&lengths);
        shape[axis] = shares.len();
        TensorLayout::contiguous(&shape, size_of::<T>())?;
        let spread = Spread::of(group.count(), &shape, axis, &shares)?;
        Ok(ShardedTensor { group: group.clone(), shape, spread, shards })
    }

    /// What the devices hold, in the group's order.
    pub fn into_shards(self) -> Vec<DeviceTensor<T>> {
        self.shards
    }

    /// The elements, in row-major order. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the devices report.
    pub fn to_host(&self) -> Result<Vec<T>> {
        let whole = TensorLayout::contiguous(&self.shape, size_of::<T>())?;
        let mut elements = bytemuck::allocation::try_zeroed_vec(whole.len())
            .map_err(|()| Error::HostMemory { bytes: whole.len() * size_of::<T>() })?;
        for (at, shard) in self.shards.iter().enumerate() {
            let part = whole.slice(self.axis(), self.shares().range(at), 1)?;
            shard.view().copy_to_host_strided(&mut elements, &part)?;
        }
        Ok(elements)
    }

    /// The devices that hold it.
    pub fn group(&self) -> &DeviceGroup {
        &self.group
    }

    /// The length of each axis of the whole array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The axis that is spread.
    pub fn axis(&self) -> usize {
        self.spread.axis
    }

    /// Which of its indices each device has.
    pub fn shares(&self) -> &Shares {
        &self.spread.shares
    }

    /// What a device holds; `None` for a device that there is not.
    pub fn shard(&self, device: usize) -> Option<TensorView<'_, T>> {
        self.shards.get(device).map(DeviceTensor::view)
    }

    /// Like [`shard`](Self::shard), exclusive.
    pub fn shard_mut(&mut self, device: usize) -> Option<TensorViewMut<'_, T>> {
        self.shards.get_mut(device).map(DeviceTensor::view_mut)
    }

    /// Where the shards are.
    pub(super) fn ends(&self) -> Ends<'_> {
        Ends {
            homes: self.shards.iter().map(DeviceTensor::device).collect(),
            addresses: self.shards.iter().map(DeviceTensor::device_address).collect(),
        }
    }

    /// Which of the shards lie in memory that other devices reach, if they reach what the device allocates.
    pub(super) fn reachable(&self) -> Vec<bool> {
        self.shards.iter().map(DeviceTensor::is_of_device).collect()
    }

    /// The exchange that makes `dst` of this, whose axis `i` is axis `axes[i]` of this.
    pub(super) fn exchange_with(&self, dst: &ShardedTensor<T>, axes: &[usize]) -> Result<Exchange> {
        let (src, dst) = ((&*self.shape, &self.spread), (&*dst.shape, &dst.spread));
        Exchange::between(size_of::<T>(), src, axes, dst)
    }
}

impl Spread {
    /// An axis of an array, shared out among so many devices.
    pub fn of(devices: usize, shape: &[usize], axis: usize, shares: &Shares) -> Result<Self> {
        let length = *shape.get(axis).ok_or(Error::NoSuchAxis { axis, axes: shape.len() })?;
        shares.require(devices, length)?;
        Ok(Spread { axis, shares: shares.clone() })
    }
}

/// Even shares of an axis.
pub(super) fn even(devices: usize, shape: &[usize], axis: usize) -> Result<Shares> {
    let length = shape.get(axis).ok_or(Error::NoSuchAxis { axis, axes: shape.len() })?;
    Ok(Shares::even(*length, devices))
}

/// Refuses a slice that has not as many elements as a shape.
fn require_len(shape: &[usize], actual: usize) -> Result<()> {
    let expected = shape.iter().product();
    if actual == expected {
        return Ok(());
    }
    Err(Error::TensorLength { shape: shape.to_vec(), expected, actual })
}
