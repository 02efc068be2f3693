//! The kernels that [`Strategy::Auto`](transpose::Strategy::Auto) chooses between, each with a matrix that makes it choose that one, or that is moved by it
//! if asked for.

use super::transposed;
use ::profile::{Inspection, LaunchReport};
use anyhow::{Result, bail};
use bytemuck::Pod;
use kernel_abi::Entry;
use kernel_abi::fast::FAST;
use transpose::{Batch, Device, DeviceMatrix, MatrixView, MatrixViewMut, Plan};

/// A kernel of the table: its entry points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fast(&'static [Entry]);

/// Columns, or rows, of the matrices with few: of `tall`, of `wide`, and of `lines`.
const FEW: [usize; 3] = [8, 7, 20];
/// The side of the matrices of a batch.
const SMALL: usize = 16;
/// The words of an element of `pixels` and `triples`, and of `tuples`.
const TRIPLE: usize = 3;
const TUPLE: usize = 5;

impl Fast {
    /// All of them, in the order of the table.
    pub fn all() -> impl Iterator<Item = Fast> {
        FAST.iter().map(|&entries| Fast(entries))
    }

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        let name = self.0.first().map_or("", |entry| entry.name);
        name.rsplit_once('_').map_or(name, |(kernel, _width)| kernel)
    }

    /// The bytes of the words that it moves.
    pub fn widths(self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|entry| entry.width.bytes())
    }

    /// Transposes as many words as a `rows × cols` matrix has, in the shape that the kernel is for.
    ///
    /// # Errors
    /// A kernel that no shape is known for, and what the device reports.
    pub(super) fn run<T: Pod>(
        self,
        device: &Device,
        (rows, cols): (usize, usize),
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        let all = rows * cols;
        let odd = ((rows - 1) | 1, (cols - 1) | 1);
        let [few_cols, few_rows, more_rows] = FEW;
        let long = |rows: usize| (rows, (all / rows).next_multiple_of(16));
        // The number is what leading dimensions are a multiple of, in bytes: 16, or 1 where rows start anywhere.
        Ok(match self.name() {
            "micro" => auto::<T>(device, (rows, cols), 16, inspection)?,
            "rows" => auto::<T>(device, odd, 1, inspection)?,
            "pixels" => auto::<[T; TRIPLE]>(device, (rows, cols), 16, inspection)?,
            "triples" => auto::<[T; TRIPLE]>(device, odd, 1, inspection)?,
            // Others are chosen for some of these elements.
            "tuples" => {
                transposed::<[T; TUPLE]>(device, (rows, cols), 1, inspection, |src, dst| {
                    by("tuples_", src, dst)
                })?
            }
            "tall" => auto::<T>(device, (all / few_cols, few_cols), 1, inspection)?,
            // It is chosen for more rows than are worth counting: asked for, it takes these.
            "wide" => transposed::<T>(device, long(few_rows), 1, inspection, |src, dst| {
                by("wide_", src, dst)
            })?,
            "lines" => auto::<T>(device, long(more_rows), 1, inspection)?,
            "batch" => batch::<T>(device, all / (SMALL * SMALL), inspection)?,
            name => bail!("no matrix is known for which the kernel {name} is chosen"),
        })
    }
}

fn auto<T: Pod>(
    device: &Device,
    shape: (usize, usize),
    align: usize,
    inspection: Inspection,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    transposed::<T>(device, shape, align, inspection, |src, dst| src.transpose_into(dst))
}

/// Transposes by the kernel whose name starts so, if it can, or else by the best one.
fn by<T: Pod>(
    kernel: &str,
    src: MatrixView<'_, T>,
    mut dst: MatrixViewMut<'_, T>,
) -> transpose::Result<()> {
    let plans = Plan::candidates(src, dst.reborrow())?;
    match plans.iter().find(|plan| plan.kernel_names()[0].starts_with(kernel)) {
        Some(plan) => plan.run(src, dst),
        None => src.transpose_into(dst),
    }
}

/// Inspects the transpose of that many small matrices.
fn batch<T: Pod>(
    device: &Device,
    count: usize,
    inspection: Inspection,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    let each = SMALL * SMALL;
    let batch = Batch { count, src_stride: each, dst_stride: each };
    let src = DeviceMatrix::<T>::zeroed(device, 1, count * each)?;
    let mut dst = DeviceMatrix::<T>::zeroed(device, 1, count * each)?;
    ::profile::inspect(device, inspection, || {
        let from = src.window(0, SMALL, SMALL, SMALL)?;
        let mut to = dst.window_mut(0, SMALL, SMALL, SMALL)?;
        Plan::batched(from, to.reborrow(), batch)?.run(from, to)
    })
}
