//! Operations on several devices: the driver's one GPU stands for two, each handle with memory and streams of its own.

use crate::operations::Operation;
use transpose::{
    Allocation, Device, DeviceGroup, DeviceMatrix, DeviceTensor, ExchangeOptions, Result,
    ShardedMatrix, ShardedPlan, ShardedTensor, Shares, TensorLayout,
};

fn group(device: &Device, other: &Device) -> Result<DeviceGroup> {
    DeviceGroup::new(&[device.clone(), other.clone()])
}

/// A shard in memory that other code has: no other device reaches it, so that what goes there is staged.
fn of_others(device: &Device) -> Result<DeviceTensor<u32>> {
    let owner = DeviceTensor::<u32>::zeroed(device, &[30, 40])?;
    // SAFETY: the memory is that of `owner`, which is dropped in the order of the device; its elements are `u32`.
    let memory = unsafe {
        Allocation::from_raw(device, owner.device_address(), 4800, move |_| drop(owner))?
    };
    DeviceTensor::from_allocation(memory, TensorLayout::contiguous(&[30, 40], 4)?)
}

/// Of arrays in shards, and of exchanges that store, that copy, and that are staged.
pub const OPERATIONS: &[Operation] = &[
    ("shards are made, filled and read", |device, other| {
        let group = group(device, other)?;
        let shares = Shares::even(30, 2);
        ShardedMatrix::from_host(&group, 30, 20, &[1u32; 600])?.to_host()?;
        ShardedMatrix::from_host_shared(&group, &shares, 20, &[1u32; 600])?.into_shards()?;
        ShardedMatrix::<u32>::zeroed_shared(&group, &shares, 20)?;
        let shards =
            group.devices().iter().map(|device| DeviceMatrix::<u32>::zeroed(device, 15, 20));
        ShardedMatrix::from_shards(&group, shards.collect::<Result<_>>()?)?;
        ShardedTensor::from_host(&group, &[30, 20], 1, &[1u32; 600])?.to_host()?;
        ShardedTensor::from_host_shared(&group, &[30, 20], 0, &shares, &[1u32; 600])?.into_shards();
        ShardedTensor::<u32>::zeroed_shared(&group, &[30, 20], 0, &shares)?;
        let tensor = ShardedTensor::<u32>::zeroed(&group, &[30, 20], 0)?;
        ShardedMatrix::from_tensor(tensor)?;
        Ok(())
    }),
    ("arrays in shards are transposed", |device, other| {
        let src = ShardedMatrix::<u32>::zeroed(&group(device, other)?, 40, 60)?;
        let mut transposed = src.transposed()?;
        src.transpose_into(&mut transposed)
    }),
    ("arrays go from shards of one axis to those of another", |device, other| {
        let src = ShardedTensor::<u32>::zeroed(&group(device, other)?, &[40, 60], 0)?;
        src.all_to_all(1).map(drop)
    }),
    ("exchanges are staged", |device, other| {
        let group = group(device, other)?;
        let src = ShardedTensor::<u32>::zeroed(&group, &[40, 60], 0)?;
        let shards = group.devices().iter().map(of_others).collect::<Result<Vec<_>>>()?;
        let mut dst = ShardedTensor::from_shards(&group, 0, shards)?;
        src.permute_into(&[1, 0], &mut dst)?;
        group.synchronize()
    }),
    ("exchanges are planned", |device, other| {
        let group = group(device, other)?;
        let src = ShardedTensor::<u32>::zeroed(&group, &[40, 60], 0)?;
        let mut dst = ShardedTensor::<u32>::zeroed(&group, &[60, 40], 0)?;
        ShardedPlan::new(&src, &dst, &[1, 0])?.run(&src, &mut dst)?;
        let options = ExchangeOptions::default().step_bytes(2048);
        ShardedPlan::with_options(&src, &dst, &[1, 0], options)?.run(&src, &mut dst)
    }),
];
