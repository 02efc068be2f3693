//! Other libraries' transposes, for comparison: those of cuBLAS and cuTENSOR, where they can be opened at run time.

pub mod cpu;

mod cublas;
mod cutensor;
mod libraries;

use crate::program::Common;
use crate::race::Contestant;
use bytemuck::Pod;
use clap::Args;
use cublas::Cublas;
use cutensor::Cutensor;
use std::path::PathBuf;
use transpose::{Device, DeviceMatrix};

/// The names of the peers, in the order in which [`Peers::contestants`] numbers them.
pub const NAMES: [&str; 2] = ["geam", "cuTENSOR"];

/// Where peers are, if not where the loader or Python has them.
#[derive(Args, Default)]
pub struct Where {
    /// The libcutensor to compare with [default: the one that the loader, or Python, finds].
    #[arg(long, value_name = "FILE")]
    cutensor: Option<PathBuf>,
}

/// Those that there are.
pub struct Peers {
    cublas: Option<Cublas>,
    cutensor: Option<Cutensor>,
}

impl Peers {
    /// Opens what can be opened, and says on standard error what cannot.
    pub fn open(common: &Common, device: &Device, at: &Where) -> Self {
        let cublas = Cublas::open(device);
        let cutensor = Cutensor::open(device, at.cutensor.as_deref());
        for (name, reason) in
            [("cuBLAS", cublas.as_ref().err()), ("cuTENSOR", cutensor.as_ref().err())]
        {
            if let (Some(reason), true) = (reason, device.is_gpu()) {
                common.say(format_args!("without {name}: {reason}"));
            }
        }
        Peers { cublas: cublas.ok(), cutensor: cutensor.ok() }
    }

    /// Their ways to transpose a contiguous `rows × cols` matrix, each with its number. A refusal of a launch shows as an
    /// absurd speed; elements and shapes that a peer refuses before it is not in the list for.
    pub fn contestants<T: Pod>(
        &self,
        rows: usize,
        cols: usize,
    ) -> Vec<(usize, Contestant<'_, DeviceMatrix<T>>)> {
        let mut contestants: Vec<(usize, Contestant<DeviceMatrix<T>>)> = Vec::new();
        if let Some(cublas) = &self.cublas
            && matches!(size_of::<T>(), 4 | 8)
        {
            let transpose = move |src: &DeviceMatrix<T>, dst: &mut DeviceMatrix<T>| {
                let _ = cublas.transpose(rows, cols, src, dst);
                Ok(())
            };
            contestants.push((0, Box::new(transpose)));
        }
        let permutation =
            self.permutation(size_of::<T>(), &[rows, cols], &[1, 0], DeviceMatrix::device_address);
        contestants.extend(permutation.map(|permute| (1, permute)));
        contestants
    }

    /// cuTENSOR's way to bring the axes of a contiguous row-major array into another order, axis `i` of the result being axis
    /// `axes[i]` of it; `None` where it has none. `address` is where a memory, of at least as many bytes as the array, begins.
    pub fn permutation<'a, M: 'a>(
        &'a self,
        element_bytes: usize,
        shape: &[usize],
        axes: &[usize],
        address: fn(&M) -> u64,
    ) -> Option<Contestant<'a, M>> {
        let permutation = self.cutensor.as_ref()?.permutation(element_bytes, shape, axes)?;
        Some(Box::new(move |src, dst| {
            let _ = permutation.run(address(src), address(dst));
            Ok(())
        }))
    }

    /// cuTENSOR's way to permute numbers, of types by PyTorch's names, times a factor, and perhaps to add what the result's memory holds; `None` where it has
    /// none. As of [`permutation`](Self::permutation).
    pub fn computing<'a, M: 'a>(
        &'a self,
        types: [&str; 2],
        [shape, axes]: [&[usize]; 2],
        alpha: f64,
        adds: bool,
        address: fn(&M) -> u64,
    ) -> Option<Contestant<'a, M>> {
        let cutensor = self.cutensor.as_ref()?;
        if adds {
            let sum = cutensor.sum(types, shape, axes, alpha)?;
            return Some(Box::new(move |src, dst| {
                let _ = sum.run(address(src), address(dst));
                Ok(())
            }));
        }
        let permutation = cutensor.scaled(types, shape, axes, alpha)?;
        Some(Box::new(move |src, dst| {
            let _ = permutation.run(address(src), address(dst));
            Ok(())
        }))
    }
}
