//! Arrays that processes hold together, each a shard on its own device.

use super::peer_stores::shareable;
use super::world::World;
use crate::allocation::Allocation;
use crate::device::Device;
use crate::matrix::DeviceMatrix;
use crate::sharded::matrix::rows_and_cols;
use crate::sharded::pieces::{Exchange, Spread};
use crate::sharded::shares::Shares;
use crate::sharded::tensor::even;
use crate::tensor::{DeviceTensor, TensorLayout, TensorView, TensorViewMut};
use crate::{Error, Result};
use bytemuck::Pod;

/// An array that the processes of a [`World`] hold together: one of its axes is cut into consecutive shares, one for each process by rank. This
/// process's shard is row-major and has no gaps.
#[derive(Debug)]
pub struct DistributedTensor<T> {
    world: World,
    shape: Vec<usize>,
    spread: Spread,
    shard: DeviceTensor<T>,
}

/// A row-major matrix whose rows the processes of a [`World`] hold together, each a stretch of them.
#[derive(Debug)]
pub struct DistributedMatrix<T> {
    /// Of two axes, spread along the first.
    tensor: DistributedTensor<T>,
}

impl<T: Pod> DistributedTensor<T> {
    /// An array of zero bytes, spread along an axis in [even](Shares::even) shares; this process's on `device`. No process waits for another.
    ///
    /// # Errors
    /// [`Error::NoSuchAxis`], [`Error::TooManyAxes`], [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the device reports.
    pub fn zeroed(world: &World, device: &Device, shape: &[usize], axis: usize) -> Result<Self> {
        Self::zeroed_shared(world, device, shape, axis, &even(world.size(), shape, axis)?)
    }

    /// Like [`zeroed`](Self::zeroed), in these shares.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed), and [`Error::Shares`] unless there is a share for each process and all of them make the axis.
    pub fn zeroed_shared(
        world: &World,
        device: &Device,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<Self> {
        let mut made = Self::uninitialized(world, device, shape, axis, shares)?;
        made.shard = DeviceTensor::zeroed(device, made.shard.shape())?;
        Ok(made)
    }

    /// Like [`zeroed_shared`](Self::zeroed_shared), in memory that other processes of the host store to, by
    /// [`PeerStores`](crate::PeerStores). To allocate it, and to drop it, takes longer than memory of a pool does, and waits for the device.
    ///
    /// # Errors
    /// As [`zeroed_shared`](Self::zeroed_shared).
    pub fn zeroed_for_peers(
        world: &World,
        device: &Device,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<Self> {
        let (spread, of_shard) = Self::spread(world, shape, axis, shares)?;
        let layout = TensorLayout::contiguous(&of_shard, size_of::<T>())?;
        let bytes = layout.len() * size_of::<T>();
        let buffer = if bytes > 0 { shareable(device, bytes)? } else { None };
        let Some(buffer) = buffer else {
            return Self::zeroed_shared(world, device, shape, axis, shares);
        };
        device.fill_zero(&buffer)?;
        let shard = DeviceTensor::from_allocation(Allocation::of_buffer(buffer), layout)?;
        Ok(DistributedTensor { world: world.clone(), shape: shape.to_vec(), spread, shard })
    }

    /// An array whose elements are whatever the device's memory held.
    pub(super) fn uninitialized(
        world: &World,
        device: &Device,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<Self> {
        let (spread, of_shard) = Self::spread(world, shape, axis, shares)?;
        let shard = DeviceTensor::uninitialized(device, &of_shard)?;
        Ok(DistributedTensor { world: world.clone(), shape: shape.to_vec(), spread, shard })
    }

    /// How an array is spread, and the shape of this process's shard.
    fn spread(
        world: &World,
        shape: &[usize],
        axis: usize,
        shares: &Shares,
    ) -> Result<(Spread, Vec<usize>)> {
        TensorLayout::contiguous(shape, size_of::<T>())?;
        let spread = Spread::of(world.size(), shape, axis, shares)?;
        let mut of_shard = shape.to_vec();
        of_shard[axis] = shares.range(world.rank()).len();
        Ok((spread, of_shard))
    }

    /// The array of which each process has a shard, in the order of their ranks. All processes call this; nothing is moved.
    ///
    /// # Errors
    /// [`Error::Shard`] if a shard has gaps or is not aligned to 256 bytes, or if not all have one shape but for the axis;
    /// [`Error::NoSuchAxis`], [`Error::TensorSizeOverflow`], and [`Error::Peer`]. With each of them the shard is dropped.
    pub fn from_shard(world: &World, axis: usize, shard: DeviceTensor<T>) -> Result<Self> {
        /// What a process says of a shard that is refused.
        const GAPS: u8 = 1;
        const MISALIGNED: u8 = 2;
        let refuse = |device, reason| Error::Shard { device, reason };
        let numbers = shard.shape().iter().chain([&axis, &size_of::<T>()]);
        let mut said: Vec<u8> = numbers.flat_map(|number| (*number as u64).to_le_bytes()).collect();
        said.push(if !shard.is_contiguous() {
            GAPS
        } else if !shard.device_address().is_multiple_of(256) {
            MISALIGNED
        } else {
            0
        });
        let mut lengths = Vec::with_capacity(world.size());
        // All hear of all before anybody refuses, so that all refuse.
        for (rank, theirs) in world.all_gather(&said)?.iter().enumerate() {
            let differs = |at: usize| {
                at != axis && theirs.get(8 * at..8 * at + 8) != said.get(8 * at..8 * at + 8)
            };
            let numbers = shard.rank() + 2;
            if theirs.len() != said.len() || (0..numbers).any(differs) {
                return Err(refuse(rank, "all have one shape but for the axis that is spread"));
            }
            if axis >= shard.rank() {
                return Err(Error::NoSuchAxis { axis, axes: shard.rank() });
            }
            match theirs.last() {
                Some(&GAPS) => {
                    return Err(refuse(rank, "it has no gaps, and its last axis is the fastest"));
                }
                Some(&MISALIGNED) => return Err(refuse(rank, "it is aligned to 256 bytes")),
                _ => {}
            }
            let bytes: [u8; 8] = theirs[8 * axis..8 * axis + 8].try_into().unwrap_or_default();
            lengths.push(usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX));
        }
        let shares = Shares::of_lengths(&lengths);
        let mut shape = shard.shape().to_vec();
        shape[axis] = shares.len();
        TensorLayout::contiguous(&shape, size_of::<T>())?;
        let spread = Spread::of(world.size(), &shape, axis, &shares)?;
        Ok(DistributedTensor { world: world.clone(), shape, spread, shard })
    }

    /// What this process holds.
    pub fn into_shard(self) -> DeviceTensor<T> {
        self.shard
    }

    /// The processes that hold it.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The device of this process's shard.
    pub fn device(&self) -> &Device {
        self.shard.device()
    }

    /// The length of each axis of the whole array.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The axis that is spread.
    pub fn axis(&self) -> usize {
        self.spread.axis
    }

    /// Which of its indices each process has, by rank.
    pub fn shares(&self) -> &Shares {
        &self.spread.shares
    }

    /// What this process holds.
    pub fn shard(&self) -> TensorView<'_, T> {
        self.shard.view()
    }

    /// Like [`shard`](Self::shard), exclusive.
    pub fn shard_mut(&mut self) -> TensorViewMut<'_, T> {
        self.shard.view_mut()
    }

    /// The exchange that makes `dst` of this, whose axis `i` is axis `axes[i]` of this.
    pub(super) fn exchange_with(&self, dst: &Self, axes: &[usize]) -> Result<Exchange> {
        Exchange::between(
            size_of::<T>(),
            (&self.shape, &self.spread),
            axes,
            (&dst.shape, &dst.spread),
        )
    }
}

impl<T: Pod> DistributedMatrix<T> {
    /// A `rows × cols` matrix of zero bytes, in [even](Shares::even) shares of its rows; this process's on `device`.
    ///
    /// # Errors
    /// [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the device reports.
    pub fn zeroed(world: &World, device: &Device, rows: usize, cols: usize) -> Result<Self> {
        Ok(DistributedMatrix {
            tensor: DistributedTensor::zeroed(world, device, &[rows, cols], 0)?,
        })
    }

    /// Like [`zeroed`](Self::zeroed), in memory that other processes of the host store to, by [`PeerStores`](crate::PeerStores).
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn zeroed_for_peers(
        world: &World,
        device: &Device,
        rows: usize,
        cols: usize,
    ) -> Result<Self> {
        let shape = [rows, cols];
        let shares = even(world.size(), &shape, 0)?;
        let tensor = DistributedTensor::zeroed_for_peers(world, device, &shape, 0, &shares)?;
        Ok(DistributedMatrix { tensor })
    }

    /// The matrix of which each process has some rows, in the order of their ranks. All processes call this; nothing is moved.
    ///
    /// # Errors
    /// [`Error::Shard`] if a shard has gaps between its rows, or not all have as many columns, and [`Error::Peer`].
    pub fn from_shard(world: &World, shard: DeviceMatrix<T>) -> Result<Self> {
        let tensor = DistributedTensor::from_shard(world, 0, DeviceTensor::from(shard))?;
        Ok(DistributedMatrix { tensor })
    }

    /// The matrix that an array of two axes is.
    ///
    /// # Errors
    /// [`Error::Shard`] for an array of more or fewer axes, or one that is not spread along the first.
    pub fn from_tensor(tensor: DistributedTensor<T>) -> Result<Self> {
        let reason = "a matrix has two axes, the first of which is spread";
        match (tensor.shape().len(), tensor.axis()) {
            (2, 0) => Ok(DistributedMatrix { tensor }),
            _ => Err(Error::Shard { device: tensor.world().rank(), reason }),
        }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        rows_and_cols(self.tensor.shape()).0
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        rows_and_cols(self.tensor.shape()).1
    }

    /// `(rows, columns)`.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// The matrix as an array of two axes, its rows and its columns.
    pub fn as_tensor(&self) -> &DistributedTensor<T> {
        &self.tensor
    }

    /// Like [`as_tensor`](Self::as_tensor), to be written. As with [`ShardedMatrix::as_tensor_mut`](crate::ShardedMatrix::as_tensor_mut), another
    /// array in its place is a matrix of its first axis and all others.
    pub fn as_tensor_mut(&mut self) -> &mut DistributedTensor<T> {
        &mut self.tensor
    }

    /// The array of two axes, its rows and its columns.
    pub fn into_tensor(self) -> DistributedTensor<T> {
        self.tensor
    }
}
