//! What one thread has to turn tiles: two buffers of the host, and a stream of a device where there is one.

use super::super::kernel;
use super::super::stores::Stores;
use super::super::stretches::packed;
use super::super::turn::{Scratch, turn};
use crate::device::Device;
use crate::tensor::{TensorLayout, TensorView, TensorViewMut};
use crate::{Error, PinnedBuffer, Result};
use bytemuck::Pod;

/// What turns tiles.
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub enum Through<'a> {
    /// The cores that move them.
    Cpu,
    /// A device, which each thread uses on a stream of its own.
    Device(&'a Device),
}

/// Elements of which a whole number of sectors is full.
pub(super) fn of_sectors<T>() -> usize {
    const SECTOR: u32 = 32;
    (SECTOR >> size_of::<T>().trailing_zeros().min(SECTOR.ilog2())) as usize
}

/// Elements from the start of one tile in a device's memory to that of the next, which starts on a sector unless they are so few that they would take more memory by that than there may be.
fn padded<T>(elements: usize) -> usize {
    elements.next_multiple_of(of_sectors::<T>().min(elements).max(1))
}

/// Two buffers, and what turns the contents of one into the other.
#[allow(clippy::large_enum_variant, reason = "each thread has one")]
pub(super) enum Turner<T: Pod> {
    Cpu([Vec<T>; 2]),
    Device { stream: Device, memory: crate::DeviceTensor<T>, buffers: [PinnedBuffer<T>; 2] },
}

impl<T: Pod> Turner<T> {
    /// For tiles of at most so many elements.
    pub fn new(through: Through, elements: usize) -> Result<Self> {
        Ok(match through {
            Through::Cpu => {
                let buffer = || {
                    let bytes = elements * size_of::<T>();
                    bytemuck::allocation::try_zeroed_vec(elements)
                        .map_err(|()| Error::HostMemory { bytes })
                };
                Turner::Cpu([buffer()?, buffer()?])
            }
            Through::Device(device) => {
                let stream = device.new_stream()?;
                let memory = crate::DeviceTensor::zeroed(&stream, &[2, padded::<T>(elements)])?;
                let buffer = || PinnedBuffer::zeroed(&stream, elements);
                let buffers = [buffer()?, buffer()?];
                Turner::Device { stream, memory, buffers }
            }
        })
    }

    /// Where a tile's elements come, in the order of the source's addresses.
    pub fn incoming(&mut self) -> Result<&mut [T]> {
        match self {
            Turner::Cpu([incoming, _]) => Ok(incoming),
            Turner::Device { buffers: [incoming, _], .. } => incoming.write(),
        }
    }

    /// The tile's elements in the order of the destination's addresses.
    pub fn turn(&mut self, from: &TensorLayout, to: &TensorLayout) -> Result<&[T]> {
        let size = size_of::<T>();
        let [from, to] = [packed(from, size)?, packed(to, size)?];
        match self {
            Turner::Cpu([incoming, outgoing]) => {
                let (src, dst) = (incoming.as_ptr(), outgoing.as_mut_ptr());
                // SAFETY: both buffers hold a tile, and the packed layouts have no gaps.
                unsafe { turn(src, &from, dst, &to, Stores::Near, &mut Scratch::default()) };
                Ok(outgoing)
            }
            Turner::Device { stream, memory, buffers: [incoming, outgoing] } => {
                let (up, pitch) = (memory.device_address(), memory.shape()[1]);
                let down = up + (pitch * size) as u64;
                let elements = incoming.len();
                memory
                    .view_mut()
                    .index_axis(0, 0)?
                    .slice(0, ..elements, 1)?
                    .upload_from(incoming)?;
                // SAFETY: the memory holds two tiles and is the stream's; what is read of it has been uploaded.
                unsafe {
                    let source = TensorView::<T>::valid(stream, up, from);
                    kernel::turn(source, TensorViewMut::valid(stream, down, to))?;
                }
                memory.view().index_axis(0, 1)?.slice(0, ..elements, 1)?.download_into(outgoing)?;
                outgoing.read()
            }
        }
    }
}
