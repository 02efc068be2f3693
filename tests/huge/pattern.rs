//! A pattern in device memory, which is made and looked for there: the host would take minutes for as many elements.

use bytemuck::Pod;
use transpose::raw::{self, Grid, Image, Params};
use transpose::{Device, DeviceTensor, MatrixView, MatrixViewMut};

static PATTERN: Image = Image::new("pattern", include_str!("pattern.ptx"));

/// Blocks enough for any GPU; each thread takes many elements.
const GRID: Grid = Grid { blocks: [4096, 1, 1], threads: [256, 1, 1], dynamic_shared_bytes: 0 };

#[derive(Clone, Copy)]
#[repr(C)]
struct Fill {
    bytes: u64,
}

// SAFETY: `repr(C)`, and a `u64`.
unsafe impl Params for Fill {}

#[derive(Clone, Copy)]
#[repr(C)]
struct Moved {
    elements: u64,
    bytes: u64,
    source_bytes: u64,
    flipped: u64,
    lengths: [u64; 3],
    strides: [u64; 4],
    start: u64,
}

// SAFETY: `repr(C)`, and `u64` in every field.
unsafe impl Params for Moved {}

/// Where each element of a result was.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// For up to four axes of the result, slowest first, the length and the stride in the source.
    pub axes: &'a [(usize, isize)],
    /// The offset of the first element in the source, in elements.
    pub start: usize,
    /// Bytes of an element of the source; those that the result's elements have beyond them are zero.
    pub source_bytes: usize,
    /// The byte of an element whose top bit is flipped.
    pub flipped: Option<usize>,
}

/// Fills an array with the pattern.
pub fn fill<T: Pod>(array: &mut DeviceTensor<T>) {
    let device = array.device().clone();
    let nothing = DeviceTensor::<u8>::zeroed(&device, &[1, 1]).unwrap();
    let params = Fill { bytes: (array.len() * size_of::<T>()) as u64 };
    let len = array.len();
    let from = MatrixView::try_from(nothing.view()).unwrap();
    let to = MatrixViewMut::try_from(array.view_mut().reshape(&[1, len]).unwrap()).unwrap();
    // SAFETY: the kernel takes such a structure, reads nothing, and writes the bytes of the array, each by one thread; its elements are
    // `Pod`.
    unsafe { raw::launch(&PATTERN, "fill", GRID, from, to, &params) }.unwrap();
}

/// How many bytes of an array without gaps are not those of the pattern that came from there.
pub fn mistakes<T: Pod>(array: &DeviceTensor<T>, origin: Origin<'_>) -> u64 {
    assert_eq!(origin.axes.iter().map(|axis| axis.0).product::<usize>(), array.len());
    let mut axes = [(1, 0); 4];
    axes[4 - origin.axes.len()..].copy_from_slice(origin.axes);
    let params = Moved {
        elements: array.len() as u64,
        bytes: size_of::<T>() as u64,
        source_bytes: origin.source_bytes as u64,
        flipped: origin.flipped.map_or(u64::MAX, |byte| byte as u64),
        lengths: [axes[1].0, axes[2].0, axes[3].0].map(|length| length as u64),
        strides: axes.map(|(_, stride)| stride as u64),
        start: origin.start as u64,
    };
    let device: &Device = array.device();
    let mut wrong = DeviceTensor::<u64>::zeroed(device, &[1, 1]).unwrap();
    let from = MatrixView::try_from(array.view().reshape(&[1, array.len()]).unwrap()).unwrap();
    let to = MatrixViewMut::try_from(wrong.view_mut()).unwrap();
    // SAFETY: the kernel takes such a structure, reads the elements of the array, and adds to the one number atomically.
    unsafe { raw::launch(&PATTERN, "mistakes", GRID, from, to, &params) }.unwrap();
    wrong.to_host().unwrap()[0]
}
