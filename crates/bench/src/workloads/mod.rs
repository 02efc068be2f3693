//! Every kernel that ships, each with a matrix that makes the library launch it.
//!
//! A workload is made for `rows × cols` elements; where a kernel wants another shape (few rows, a
//! batch of small matrices) it gets as many elements in that shape.

mod asked;
mod fast;
mod tensor;

use crate::kernels::Run;
use crate::with_element;
use ::profile::{Inspection, LaunchReport};
use anyhow::{Result, ensure};
pub use asked::Asked;
use bytemuck::Pod;
pub use fast::Fast;
use std::fmt;
use std::str::FromStr;
use study::Kernel;
pub use tensor::Tensor;
use transpose::{
    Device, DeviceMatrix, InPlace, InPlaceOptions, MatrixView, MatrixViewMut, Plan, Strategy,
};

/// A kernel, and how to have it launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// The copy kernel.
    Copy,
    /// A strategy that has one kernel.
    Classic(Strategy),
    /// A kernel that [`Strategy::Auto`] chooses between.
    Fast(Fast),
    /// A kernel that moves arrays of any rank.
    Tensor(Tensor),
    /// A kernel of the texts, in the blocks that its text runs it in.
    Study(Kernel),
    /// An algorithm that works in the matrix's own memory; it may take several launches.
    InPlace(InPlace),
    /// An algorithm in place, by kernels that it takes only if asked to, or for elements of several words.
    Asked(Asked),
}

impl Workload {
    /// All of them, in the order of the library's files.
    pub fn all() -> Vec<Workload> {
        let strategies =
            Strategy::ALL.iter().copied().filter(|strategy| *strategy != Strategy::Auto);
        let in_place = InPlace::ALL.iter().copied().filter(|algorithm| *algorithm != InPlace::Auto);
        std::iter::once(Workload::Copy)
            .chain(strategies.map(Workload::Classic))
            .chain(Fast::all().map(Workload::Fast))
            .chain(Tensor::ALL.map(Workload::Tensor))
            .chain(Kernel::ALL.iter().copied().filter(is_no_strategy).map(Workload::Study))
            .chain(in_place.map(Workload::InPlace))
            .chain(Asked::ALL.map(Workload::Asked))
            .collect()
    }

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Copy => "copy",
            Workload::Classic(strategy) => strategy.name(),
            Workload::Fast(kernel) => kernel.name(),
            Workload::Tensor(kernel) => kernel.name(),
            Workload::Study(kernel) => kernel.name(),
            Workload::InPlace(algorithm) => algorithm.name(),
            Workload::Asked(asked) => asked.name(),
        }
    }

    /// Launches the kernel on elements of that width and returns what the simulator saw; `None`
    /// on a GPU.
    ///
    /// # Errors
    /// A width without such a kernel, and what the device reports.
    pub fn run(
        self,
        device: &Device,
        (rows, cols): (usize, usize),
        element_bytes: usize,
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        if device.is_gpu() && matches!(self, Workload::Fast(_)) {
            // Is this the kernel that the library will choose? The simulator says.
            self.run(&Device::simulated(), (rows, cols), element_bytes, Inspection::default())?;
        }
        let seen = with_element!(
            element_bytes,
            T => self.run_on::<T>(device, rows, cols, inspection),
            bytes => Err(transpose::Error::ElementSize { bytes }.into())
        )?;
        if let (Workload::Fast(_), Some(launches)) = (self, &seen) {
            let wanted = format!("{self}_b{element_bytes}");
            ensure!(
                launches.iter().all(|launch| launch.kernel == wanted),
                "no matrix of {element_bytes}-byte elements needs the kernel {wanted}"
            );
        }
        Ok(seen)
    }

    fn run_on<T: Pod>(
        self,
        device: &Device,
        rows: usize,
        cols: usize,
        inspection: Inspection,
    ) -> Result<Option<Vec<LaunchReport>>> {
        let all = rows * cols;
        Ok(match self {
            Workload::Copy => {
                let src = DeviceMatrix::<T>::zeroed(device, rows, cols)?;
                let mut dst = DeviceMatrix::zeroed(device, rows, cols)?;
                ::profile::inspect(device, inspection, || {
                    Plan::copy(&src, &mut dst)?.run(&src, &mut dst)
                })?
            }
            Workload::Classic(strategy) => {
                transposed::<T>(device, (rows, cols), 1, inspection, |src, dst| {
                    src.transpose_into_with(dst, strategy)
                })?
            }
            Workload::Fast(kernel) => kernel.run::<T>(device, (rows, cols), inspection)?,
            Workload::Tensor(kernel) => kernel.run::<T>(device, (rows, cols), inspection)?,
            Workload::Study(kernel) => {
                let run = Run::new(kernel, kernel.default_block(), rows, cols, size_of::<T>())?;
                let src = DeviceMatrix::<T>::zeroed(device, 1, all)?;
                let mut dst = DeviceMatrix::zeroed(device, 1, run.dst_len())?;
                let plan = run.plan(&src, &mut dst)?;
                ::profile::inspect(device, inspection, || run.launch(&plan, &src, &mut dst))?
            }
            Workload::InPlace(algorithm) => {
                let cols = if algorithm == InPlace::Square { rows } else { cols };
                let options = InPlaceOptions::default();
                asked::in_place::<T>(device, (rows, cols), algorithm, &options, inspection)?
            }
            Workload::Asked(asked) => asked.run::<T>(device, rows, cols, inspection)?,
        })
    }
}

/// Whether a kernel of the texts is not the kernel of a [`Strategy`], or the copy kernel.
fn is_no_strategy(kernel: &Kernel) -> bool {
    use Kernel::{BankConflictFree, Coalesced, Copy, Diagonal, Naive};
    ![Copy, Naive, Coalesced, BankConflictFree, Diagonal].contains(kernel)
}

/// Inspects `transpose` of a matrix whose rows, and whose transpose's rows, are a multiple of `align`
/// bytes apart.
fn transposed<T: Pod>(
    device: &Device,
    (rows, cols): (usize, usize),
    align: usize,
    inspection: Inspection,
    transpose: impl Fn(MatrixView<'_, T>, MatrixViewMut<'_, T>) -> transpose::Result<()>,
) -> transpose::Result<Option<Vec<LaunchReport>>> {
    let shared = size_of::<T>().trailing_zeros().min(align.trailing_zeros());
    let ld = |elements: usize| elements.next_multiple_of(align >> shared);
    let src = DeviceMatrix::<T>::zeroed_with_ld(device, rows, cols, ld(cols))?;
    let mut dst = DeviceMatrix::zeroed_with_ld(device, cols, rows, ld(rows))?;
    ::profile::inspect(device, inspection, || transpose(src.view(), dst.view_mut()))
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let all = Workload::all();
        all.iter().find(|workload| workload.name() == name).copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(|workload| workload.name()).collect();
            format!("there is no kernel {name:?}\n  there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Fast, Tensor, Workload};
    use profile::Inspection;
    use transpose::Device;

    /// A kernel of the table for which there is no matrix would be counted nowhere.
    #[test]
    fn every_entry_point_of_auto_has_a_workload() {
        let device = Device::simulated();
        for kernel in Fast::all() {
            for bytes in kernel.widths() {
                let run =
                    Workload::Fast(kernel).run(&device, (384, 512), bytes, Inspection::default());
                assert!(run.is_ok(), "{}: {}", kernel.name(), run.unwrap_err());
            }
        }
        for kernel in Tensor::ALL {
            for &bytes in kernel.widths() {
                let workload = Workload::Tensor(kernel);
                workload.run(&device, (384, 512), bytes, Inspection::default()).unwrap();
            }
        }
    }
}
