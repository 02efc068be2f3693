//! The matrix whose rows are spread over a group of devices.

use super::group::DeviceGroup;
use super::shares::Shares;
use super::tensor::ShardedTensor;
use crate::matrix::DeviceMatrix;
use crate::tensor::DeviceTensor;
use crate::{Error, Result};
use bytemuck::Pod;

/// A row-major matrix whose rows the devices of a group hold together, each a stretch of them.
///
/// ```
/// use transpose::{Device, DeviceGroup, ShardedMatrix};
/// # fn main() -> transpose::Result<()> {
/// let group = DeviceGroup::new(&Device::simulated_peers(2))?;
/// let a = ShardedMatrix::from_host(&group, 2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let b = a.transposed()?;
/// assert_eq!(b.shape(), (3, 2));
/// assert_eq!(b.to_host()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ShardedMatrix<T> {
    /// Of two axes, spread along the first, unless somebody has put another one here.
    tensor: ShardedTensor<T>,
}

impl<T: Pod> ShardedMatrix<T> {
    /// A `rows × cols` matrix that holds `elements`, row by row, in [even](Shares::even) shares of its rows.
    ///
    /// # Errors
    /// [`Error::TensorLength`] unless there are `rows * cols` elements, [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the
    /// devices report.
    pub fn from_host(
        group: &DeviceGroup,
        rows: usize,
        cols: usize,
        elements: &[T],
    ) -> Result<Self> {
        Ok(ShardedMatrix { tensor: ShardedTensor::from_host(group, &[rows, cols], 0, elements)? })
    }

    /// Like [`from_host`](Self::from_host), in these shares of the rows, which make `shares.len()` rows.
    ///
    /// # Errors
    /// As [`from_host`](Self::from_host), and [`Error::Shares`] unless there is a share for each device.
    pub fn from_host_shared(
        group: &DeviceGroup,
        shares: &Shares,
        cols: usize,
        elements: &[T],
    ) -> Result<Self> {
        let shape = [shares.len(), cols];
        let tensor = ShardedTensor::from_host_shared(group, &shape, 0, shares, elements)?;
        Ok(ShardedMatrix { tensor })
    }

    /// A `rows × cols` matrix of zero bytes, in [even](Shares::even) shares of its rows.
    ///
    /// # Errors
    /// [`Error::TensorSizeOverflow`], [`Error::OutOfMemory`], and what the devices report.
    pub fn zeroed(group: &DeviceGroup, rows: usize, cols: usize) -> Result<Self> {
        Ok(ShardedMatrix { tensor: ShardedTensor::zeroed(group, &[rows, cols], 0)? })
    }

    /// Like [`zeroed`](Self::zeroed), in these shares of the rows, which make `shares.len()` rows.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed), and [`Error::Shares`] unless there is a share for each device.
    pub fn zeroed_shared(group: &DeviceGroup, shares: &Shares, cols: usize) -> Result<Self> {
        let tensor = ShardedTensor::zeroed_shared(group, &[shares.len(), cols], 0, shares)?;
        Ok(ShardedMatrix { tensor })
    }

    /// The matrix of which each device has some rows, in the group's order. Nothing is moved.
    ///
    /// # Errors
    /// [`Error::Shard`] unless there is a matrix for each device, in its memory, without gaps, and all have as many columns.
    pub fn from_shards(group: &DeviceGroup, shards: Vec<DeviceMatrix<T>>) -> Result<Self> {
        let shards = shards.into_iter().map(DeviceTensor::from).collect();
        Ok(ShardedMatrix { tensor: ShardedTensor::from_shards(group, 0, shards)? })
    }

    /// The rows that each device has, in the group's order.
    ///
    /// # Errors
    /// Those of [`from_tensor`](Self::from_tensor) if [another array](Self::as_tensor_mut) has been put in the matrix's place. A shard's layout
    /// causes none: each has the rows of a matrix.
    pub fn into_shards(self) -> Result<Vec<DeviceMatrix<T>>> {
        let ShardedMatrix { tensor } = Self::from_tensor(self.tensor)?;
        tensor.into_shards().into_iter().map(DeviceMatrix::try_from).collect()
    }

    /// The elements, row by row. Waits for queued work.
    ///
    /// # Errors
    /// [`Error::HostMemory`], and what the devices report.
    pub fn to_host(&self) -> Result<Vec<T>> {
        self.tensor.to_host()
    }

    /// The devices that hold it.
    pub fn group(&self) -> &DeviceGroup {
        self.tensor.group()
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

    /// Which rows each device has.
    pub fn shares(&self) -> &Shares {
        self.tensor.shares()
    }

    /// The matrix as an array of two axes, its rows and its columns.
    pub fn as_tensor(&self) -> &ShardedTensor<T> {
        &self.tensor
    }

    /// Like [`as_tensor`](Self::as_tensor), to be written.
    ///
    /// Whoever puts another array in its place has a matrix whose rows are that one's first axis, and whose columns are all others. If that is no
    /// matrix, what needs one returns an error.
    pub fn as_tensor_mut(&mut self) -> &mut ShardedTensor<T> {
        &mut self.tensor
    }

    /// The matrix that an array of two axes is.
    ///
    /// # Errors
    /// [`Error::Shard`] for an array of more or fewer axes, or one that is not spread along the first.
    pub fn from_tensor(tensor: ShardedTensor<T>) -> Result<Self> {
        match (tensor.shape().len(), tensor.axis()) {
            (2, 0) => Ok(ShardedMatrix { tensor }),
            _ => Err(Error::Shard {
                device: 0,
                reason: "a matrix has two axes, the first of which is spread",
            }),
        }
    }
}

/// The rows of an array's first axis, and the columns that all other axes are.
pub(super) fn rows_and_cols(shape: &[usize]) -> (usize, usize) {
    let (rows, others) = shape.split_first().unwrap_or((&1, &[]));
    (*rows, others.iter().product())
}
