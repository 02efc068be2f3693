//! The tables of single steps: 010! by flags and by barriers, 100! through registers and through shared memory.

use anyhow::{Result, ensure};
use bench::in_place::{Numbered, median};
use transpose::{Carry, Device, DeviceMatrix, InPlaceOptions};

/// A step, and how fast it was.
pub struct Step {
    /// Its factorial number.
    pub name: &'static str,
    /// Rows and columns of the matrix.
    pub shape: (usize, usize),
    /// Rows and columns of the tiles.
    pub tile: (usize, usize),
    /// By which options.
    pub how: String,
    /// GB/s, if the device has a clock.
    pub gb_per_s: Option<f64>,
}

/// How many steps there are in [`carrying`] and in [`spreading`].
pub const CARRYING: usize = WIDTHS.len() * 2;
/// See [`CARRYING`].
pub const SPREADING: usize = FIELDS.len() * TILES.len() * (1 + 2 * FACTORS.len());

const WIDTHS: [usize; 15] =
    [16, 31, 32, 45, 64, 96, 100, 128, 160, 200, 256, 500, 1000, 2000, 5000];
const FIELDS: [usize; 4] = [32, 64, 100, 215];
const TILES: [usize; 3] = [16, 32, 64];
const FACTORS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// 100! alone: super-elements of some elements moved along their cycles. `bytes` is what a matrix has, about.
pub fn carrying(
    device: &Device,
    bytes: usize,
    turns: usize,
    told: &mut dyn FnMut(Step),
) -> Result<()> {
    for width in WIDTHS {
        let fields = 100;
        let records = (bytes / 4 / fields / width).max(2) * width;
        let tiled = |tile: usize, field: usize, at: usize| field * records + tile * width + at;
        for (carry, how) in
            [(Carry::Registers, "registers"), (Carry::SharedMemory, "shared memory")]
        {
            let options = InPlaceOptions::default().carry(carry);
            let mut matrix = numbered(device, (fields, records))?;
            let gb_per_s = timed(
                device,
                &mut matrix,
                turns,
                |matrix| matrix.soa_to_asta_with(width, &options),
                |matrix| matrix.asta_to_soa(fields),
            )?;
            matrix.soa_to_asta_with(width, &options)?;
            verify(&matrix, (fields, width), tiled)?;
            let (shape, how) = ((fields, records), how.to_owned());
            told(Step { name: "100!", shape, tile: (fields, width), how, gb_per_s });
        }
    }
    Ok(())
}

/// 010! alone: tiles transposed by flags, and by barriers.
pub fn spreading(
    device: &Device,
    bytes: usize,
    turns: usize,
    told: &mut dyn FnMut(Step),
) -> Result<()> {
    for fields in FIELDS {
        for width in TILES {
            let records = (bytes / (width * fields * 4)).max(1) * width;
            let by_flags = [false, true].into_iter().flat_map(|padding| {
                FACTORS.map(|factor| (Some((factor, padding)), flags_name(factor, padding)))
            });
            for (flags, how) in std::iter::once((None, "barriers".to_owned())).chain(by_flags) {
                let options = InPlaceOptions::default().flags(flags);
                let mut matrix = numbered(device, (records, fields))?;
                let gb_per_s = timed(
                    device,
                    &mut matrix,
                    turns,
                    |matrix| matrix.aos_to_asta_with(width, &options),
                    |matrix| matrix.asta_to_aos(fields),
                )?;
                matrix.aos_to_asta_with(width, &options)?;
                verify(&matrix, (fields, width), |tile, field, at| {
                    (tile * width + at) * fields + field
                })?;
                let shape = (records, fields);
                told(Step { name: "010!", shape, tile: (width, fields), how, gb_per_s });
            }
        }
    }
    Ok(())
}

fn flags_name(factor: usize, padding: bool) -> String {
    format!("flags, spread by {factor}{}", if padding { ", padded" } else { "" })
}

/// A matrix of elements that depend on their places.
fn numbered(device: &Device, (rows, cols): (usize, usize)) -> Result<DeviceMatrix<u32>> {
    let host: Vec<u32> = (0..rows * cols).map(u32::numbered).collect();
    Ok(DeviceMatrix::from_host(device, rows, cols, &host)?)
}

/// GB/s of the way there; the way back is not timed.
fn timed(
    device: &Device,
    matrix: &mut DeviceMatrix<u32>,
    turns: usize,
    there: impl Fn(&mut DeviceMatrix<u32>) -> transpose::Result<()>,
    back: impl Fn(&mut DeviceMatrix<u32>) -> transpose::Result<()>,
) -> Result<Option<f64>> {
    let turns = if device.is_gpu() { turns } else { 0 };
    let bytes = 4 * matrix.nrows() * matrix.ncols();
    let mut times = Vec::new();
    for _ in 0..turns {
        times.push(device.time(|| there(matrix))?);
        back(matrix)?;
    }
    Ok(median(times).map(|time| 2.0 * bytes as f64 / time.as_secs_f64() / 1e9))
}

/// Compares a matrix of tiles of `fields × width` with what it should hold: `source` says where an element of a tile comes from.
fn verify(
    matrix: &DeviceMatrix<u32>,
    (fields, width): (usize, usize),
    source: impl Fn(usize, usize, usize) -> usize,
) -> Result<()> {
    let elements = matrix.to_host()?;
    let right = elements.iter().enumerate().all(|(index, &element)| {
        let (tile, field) = (index / (fields * width), index / width % fields);
        element == u32::numbered(source(tile, field, index % width))
    });
    ensure!(right, "tiles of {fields} × {width}: wrong result");
    Ok(())
}
