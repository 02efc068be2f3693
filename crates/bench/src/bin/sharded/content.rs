//! What the matrices hold: rows that are stretches of one random memory, so that every element is known without a copy of the whole on the
//! host, and matrices may be larger than its memory.

use anyhow::{Context, Result, bail};
use bytemuck::Pod;
use rayon::prelude::*;
use std::ops::Range;
use transpose::{ShardedTensor, TensorView, TensorViewMut};

/// Bytes from a row's stretch to the next row's: a prime, so that rows differ from each other in every element.
const STEP: usize = 4099;

/// Stretches start at so many places.
const STARTS: usize = 8 << 20;

/// Bytes that go to a device, or come from it, at a time.
const CHUNK: usize = 256 << 20;

/// The random memory.
pub struct Content {
    bytes: Vec<u8>,
}

impl Content {
    /// For rows of so many bytes.
    pub fn new(row_bytes: usize) -> Self {
        let mut bytes = vec![0; STARTS + row_bytes];
        let mut random = fastrand::Rng::with_seed(20);
        random.fill(&mut bytes);
        Content { bytes }
    }

    /// The bytes of a row, and what follows.
    fn row(&self, row: usize) -> &[u8] {
        &self.bytes[row * STEP % STARTS..]
    }

    /// Gives the rows of a matrix their elements.
    pub fn fill<T: Pod + Send>(&self, matrix: &mut ShardedTensor<T>) -> Result<()> {
        for device in 0..matrix.group().count() {
            let rows = matrix.shares().range(device);
            if let Some(mut shard) = matrix.shard_mut(device) {
                self.fill_rows(&mut shard, rows)?;
            }
        }
        Ok(())
    }

    /// Gives these rows of a matrix, which a shard holds, their elements.
    pub fn fill_rows<T: Pod + Send>(
        &self,
        shard: &mut TensorViewMut<'_, T>,
        rows: Range<usize>,
    ) -> Result<()> {
        let cols = shard.shape()[1];
        let at_a_time = (CHUNK / (cols * size_of::<T>()).max(1)).max(1);
        for start in rows.clone().step_by(at_a_time) {
            let count = at_a_time.min(rows.end - start);
            let mut host = vec![T::zeroed(); count * cols];
            host.par_chunks_mut(cols).enumerate().for_each(|(row, elements)| {
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
                bytes.copy_from_slice(&self.row(start + row)[..bytes.len()]);
            });
            let first = start - rows.start;
            shard.reborrow().slice(0, first..first + count, 1)?.copy_from_host(&host)?;
        }
        Ok(())
    }

    /// Gives each element of a matrix a value that most elements do not have.
    pub fn forget<T: Pod>(&self, matrix: &mut ShardedTensor<T>) -> Result<()> {
        for device in 0..matrix.group().count() {
            if let Some(mut shard) = matrix.shard_mut(device) {
                shard.fill(T::zeroed())?;
            }
        }
        Ok(())
    }

    /// Makes sure that a matrix is the transpose of one of so many rows that was filled; if it is to be quick, of some rows of every shard.
    pub fn verify<T: Pod + PartialEq + Sync + Send>(
        &self,
        transposed: &ShardedTensor<T>,
        rows: usize,
        quickly: bool,
    ) -> Result<()> {
        for device in 0..transposed.group().count() {
            let cols = transposed.shares().range(device);
            if let Some(shard) = transposed.shard(device) {
                self.verify_rows(&shard, cols, rows, quickly)
                    .with_context(|| format!("on device {device}"))?;
            }
        }
        Ok(())
    }

    /// Makes sure that a shard holds these rows of the transpose of a matrix of so many rows.
    pub fn verify_rows<T: Pod + PartialEq + Sync + Send>(
        &self,
        shard: &TensorView<'_, T>,
        cols: Range<usize>,
        rows: usize,
        quickly: bool,
    ) -> Result<()> {
        let at_a_time = (CHUNK / (rows * size_of::<T>()).max(1)).max(1);
        let (apart, at_a_time) = match quickly {
            // An odd number of rows apart: in different tiles, at different places.
            true => ((cols.len() / 16) | 1, 1),
            false => (at_a_time, at_a_time),
        };
        for start in cols.clone().step_by(apart) {
            let count = at_a_time.min(cols.end - start);
            let first = start - cols.start;
            let host = shard.slice(0, first..first + count, 1)?.to_host()?;
            let wrong = host.par_chunks(rows).enumerate().find_map_first(|(col, elements)| {
                let at = (start + col) * size_of::<T>();
                let is = |(row, element): (usize, &T)| {
                    let bytes = &self.row(row)[at..][..size_of::<T>()];
                    bytemuck::pod_read_unaligned::<T>(bytes) == *element
                };
                let row = elements.iter().enumerate().position(|element| !is(element))?;
                Some((start + col, row))
            });
            if let Some((row, col)) = wrong {
                bail!("element ({row}, {col}) of the transpose is wrong");
            }
        }
        Ok(())
    }
}
