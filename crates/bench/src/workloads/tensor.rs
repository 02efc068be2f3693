//! The kernels that move arrays of any rank, each on an array that all of them can move.

use ::profile::{Inspection, LaunchReport};
use anyhow::{Context, Result};
use bytemuck::Pod;
use transpose::{Device, DeviceTensor, TensorPlan};

/// A kernel that moves arrays of any rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// Through transposed tiles.
    Tiles,
    /// Gathered from boxes.
    Boxes,
    /// Word by word.
    Words,
}

/// How long the array's middle axis is.
const MIDDLE: usize = 12;

impl Tensor {
    /// All of them.
    pub const ALL: [Tensor; 3] = [Tensor::Tiles, Tensor::Boxes, Tensor::Words];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Tensor::Tiles => "tiles",
            Tensor::Boxes => "boxes",
            Tensor::Words => "words",
        }
    }

    /// Brings the axes of an array with as many elements as a `rows × cols` matrix into the reverse order, whatever the library would take.
    pub(super) fn run<T: Pod>(
        self,
        device: &Device,
        (rows, cols): (usize, usize),
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        let src = DeviceTensor::<T>::zeroed(device, &[rows.div_ceil(MIDDLE), MIDDLE, cols])?;
        let turned = src.view().t();
        let mut dst = DeviceTensor::zeroed(device, turned.shape())?;
        let plans = TensorPlan::candidates(turned, &mut dst)?;
        let ours = format!("{}_b{}", self.name(), size_of::<T>());
        let plan = plans.iter().find(|plan| plan.kernel_names() == [ours.as_str()]);
        let plan = plan.with_context(|| format!("no array needs the kernel {ours}"))?;
        Ok(::profile::inspect(device, inspection, || plan.run(turned, &mut dst))?)
    }
}
