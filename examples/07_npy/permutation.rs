//! An array with its axes in another order: as layouts, by which bytes move from memory to memory or from file to file.

use crate::header::Header;
use anyhow::{Result, ensure};
use bytemuck::Pod;
use habits::program::Setting;
use habits::progress;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use transpose::host::files::{FileFrom, Through, move_between};
use transpose::host::{HostView, HostViewMut, Progress, cpu};
use transpose::{Device, DeviceTensor, MOST_AXES, TensorLayout};

/// Where the elements are, and where they belong: two layouts of one shape, of words of some bytes.
pub struct Permutation {
    /// What the result is.
    pub header: Header,
    word: usize,
    from: TensorLayout,
    to: TensorLayout,
}

/// What turns the array: a device or, without one, the CPU.
pub type Turner<'a> = Option<&'a Device>;

impl Permutation {
    /// Axis `i` of the result is axis `axes[i]` of the array.
    ///
    /// # Errors
    /// More axes than a layout has.
    pub fn new(header: &Header, axes: &[usize]) -> Result<Self> {
        // As they lie in memory, the fastest last.
        let rank = header.shape.len();
        let memory_axis = |axis: usize| if header.fortran { rank - 1 - axis } else { axis };
        let lengths: Vec<usize> = (0..rank).map(|axis| header.shape[memory_axis(axis)]).collect();
        // Axes of one element are nothing that moves; an array may have more of them than a tensor may have axes.
        let moving: Vec<usize> = (0..lengths.len()).filter(|&axis| lengths[axis] != 1).collect();
        let (most, count) = (MOST_AXES - 1, moving.len());
        ensure!(count <= most, "an array of {count} axes longer than 1; {most} are the most");
        // Elements that are no word are bytes along one more axis, the fastest, which stays.
        let is_word = [1, 2, 4, 8, 16].contains(&header.element_bytes);
        let word = if is_word { header.element_bytes } else { 1 };
        let inner = if is_word { None } else { Some(header.element_bytes) };
        let whole: Vec<usize> = moving.iter().map(|&axis| lengths[axis]).chain(inner).collect();
        let order = axes
            .iter()
            .filter_map(|&axis| moving.iter().position(|&moving| moving == memory_axis(axis)));
        let order: Vec<usize> = order.chain(inner.map(|_| count)).collect();
        let from = TensorLayout::contiguous(&whole, word)?.permute_axes(&order)?;
        let to = TensorLayout::contiguous(from.shape(), word)?;
        let shape = axes.iter().map(|&axis| header.shape[axis]).collect();
        let header = Header { shape, fortran: false, ..header.clone() };
        Ok(Permutation { header, word, from, to })
    }

    /// The elements, brought from memory to memory.
    ///
    /// # Errors
    /// What the device reports, and memory that cannot be had.
    pub fn in_memory(&self, bytes: &[u8], through: Turner) -> Result<Vec<u8>> {
        match self.word {
            2 => self.words::<u16>(bytes, through),
            4 => self.words::<u32>(bytes, through),
            8 => self.words::<u64>(bytes, through),
            16 => self.words::<u128>(bytes, through),
            _ => self.words::<u8>(bytes, through),
        }
    }

    fn words<T: Pod>(&self, bytes: &[u8], through: Turner) -> Result<Vec<u8>> {
        let elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
        let result = match through {
            Some(device) => {
                DeviceTensor::from_host_strided(device, &elements, &self.from)?.to_host()?
            }
            None => {
                let mut result = vec![T::zeroed(); elements.len()];
                let src = HostView::new(&elements, &self.from)?;
                cpu::copy_into(src, HostViewMut::new(&mut result, &self.to)?, 0)?;
                result
            }
        };
        Ok(bytemuck::cast_slice(&result).to_vec())
    }

    /// The elements, which start at byte `start` of a file, brought to another file behind the header, with at most `memory` bytes of
    /// buffers. Errors call the files by their paths.
    ///
    /// # Errors
    /// What the files and the device report.
    pub fn between(
        &self,
        (input, start): ((&File, &Path), u64),
        (output, path): (&mut File, &Path),
        through: Turner,
        memory: usize,
        setting: &Setting,
    ) -> Result<()> {
        let header = self.header.to_bytes();
        output.write_all(&header)?;
        let bar = progress::bytes(setting, self.header.bytes()? as u64);
        let src = FileFrom { file: input.0, path: input.1, start };
        let dst = FileFrom { file: output, path, start: header.len() as u64 };
        let through = through.map_or(Through::Cpu, Through::Device);
        let watch = |Progress { done, .. }| bar.set_position(done);
        let move_words = match self.word {
            2 => move_between::<u16>,
            4 => move_between::<u32>,
            8 => move_between::<u64>,
            16 => move_between::<u128>,
            _ => move_between::<u8>,
        };
        move_words((&src, &self.from), (&dst, &self.to), through, memory, &watch)?;
        bar.finish_and_clear();
        Ok(())
    }
}
