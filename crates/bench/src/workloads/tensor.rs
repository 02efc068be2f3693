//! The kernels that move arrays of any rank, each on an array that all of them can move.

use crate::conjugation::Half;
use ::profile::{Inspection, LaunchReport};
use anyhow::{Context, Result};
use bytemuck::Pod;
use transpose::{Conjugate, Device, DeviceTensor, Plan, TensorView, TensorViewMut};

/// A kernel that moves arrays of any rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tensor {
    /// Through transposed tiles.
    Tiles,
    /// Gathered from boxes.
    Boxes,
    /// Gathered from boxes, piece by piece.
    Pieces,
    /// Stretches that lie together on both sides, by vectors.
    Runs,
    /// Word by word.
    Words,
    /// Through transposed tiles, complex numbers conjugated.
    TilesXor,
    /// Word by word, complex numbers conjugated.
    WordsXor,
}

/// How long the array's middle axis is.
const MIDDLE: usize = 12;

impl Tensor {
    /// All of them.
    pub const ALL: [Tensor; 7] = [
        Tensor::Tiles,
        Tensor::Boxes,
        Tensor::Pieces,
        Tensor::Runs,
        Tensor::Words,
        Tensor::TilesXor,
        Tensor::WordsXor,
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Tensor::Tiles => "tiles",
            Tensor::Boxes => "boxes",
            Tensor::Pieces => "pieces",
            Tensor::Runs => "runs",
            Tensor::Words => "words",
            Tensor::TilesXor => "tiles_xor",
            Tensor::WordsXor => "words_xor",
        }
    }

    /// The bytes of the words that it moves.
    pub fn widths(self) -> &'static [usize] {
        match self {
            Tensor::Tiles | Tensor::Boxes | Tensor::Words => &[1, 2, 4, 8, 16],
            Tensor::Pieces => &[1, 2],
            Tensor::Runs => &[1],
            Tensor::TilesXor | Tensor::WordsXor => &[4, 8, 16],
        }
    }

    /// Brings the axes of an array with as many elements as a `rows × cols` matrix into the reverse order, or copies a window of it, whatever the library would
    /// take.
    pub(super) fn run<T: Pod>(
        self,
        device: &Device,
        shape: (usize, usize),
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        match (self, size_of::<T>()) {
            (Tensor::TilesXor | Tensor::WordsXor, 4) => {
                self.conjugate::<Half>(device, shape, inspection)
            }
            (Tensor::TilesXor | Tensor::WordsXor, 8) => {
                self.conjugate::<[f32; 2]>(device, shape, inspection)
            }
            (Tensor::TilesXor | Tensor::WordsXor, 16) => {
                self.conjugate::<[f64; 2]>(device, shape, inspection)
            }
            (Tensor::TilesXor | Tensor::WordsXor, bytes) => {
                Err(transpose::Error::ElementSize { bytes }.into())
            }
            _ => self.run_one_of::<T>(device, shape, inspection, |src, dst| {
                Plan::moving_candidates(src, dst)
            }),
        }
    }

    /// The same, of complex numbers that are conjugated on the way.
    fn conjugate<T: Conjugate>(
        self,
        device: &Device,
        shape: (usize, usize),
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        self.run_one_of::<T>(device, shape, inspection, |src, dst| {
            Plan::conjugating_candidates(src, dst)
        })
    }

    /// The same, by that one of the candidates which is of this kernel.
    fn run_one_of<T: Pod>(
        self,
        device: &Device,
        (rows, cols): (usize, usize),
        inspection: Inspection,
        candidates: impl Fn(TensorView<T>, TensorViewMut<T>) -> transpose::Result<Vec<Plan>>,
    ) -> Result<Option<Vec<LaunchReport>>> {
        let shape = match self {
            // Of few columns: all of it lies together in the destination.
            Tensor::Pieces => vec![MIDDLE, rows.div_ceil(MIDDLE) * cols],
            // All columns but the first: no row of that starts on a vector, or on the same byte of one as the row it goes to.
            Tensor::Runs => vec![rows, cols + 1],
            _ => vec![rows.div_ceil(MIDDLE), MIDDLE, cols],
        };
        let src = DeviceTensor::<T>::zeroed(device, &shape)?;
        let turned = match self {
            Tensor::Runs => src.view().slice(1, 1.., 1)?,
            _ => src.view().t(),
        };
        let mut dst = DeviceTensor::zeroed(device, turned.shape())?;
        let plans = candidates(turned, dst.view_mut())?;
        let ours = format!("{}_b{}", self.name(), size_of::<T>());
        let plan = plans.iter().find(|plan| plan.kernel_names() == [ours.as_str()]);
        let plan = plan.with_context(|| format!("no array needs the kernel {ours}"))?;
        Ok(::profile::inspect(device, inspection, || plan.run(turned, &mut dst))?)
    }
}
