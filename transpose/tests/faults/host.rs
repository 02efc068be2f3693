//! Operations on arrays in host memory, by one thread and by several.

use crate::operations::Operation;
use std::path::Path;
use transpose::host::files::{FileFrom, Through, move_between};
use transpose::host::{self, HostInPlace, HostOptions, HostView, HostViewMut, Workspace};
use transpose::{Device, PinnedBuffer, Result, TensorLayout};

/// Of a square that has four tiles.
const SIDE: usize = 64;

fn options(threads: usize) -> HostOptions {
    let mut options = HostOptions::default();
    (options.threads, options.streams, options.tile_bytes) = (threads, 2, 1 << 13);
    options
}

/// From memory that is pinned to memory that is not, and back.
fn moved(device: &Device, options: HostOptions) -> Result<()> {
    let square = TensorLayout::contiguous(&[SIDE, SIDE], 4)?;
    let mut workspace = Workspace::new(device, options);
    let src = PinnedBuffer::<u32>::zeroed(device, SIDE * SIDE)?;
    let mut result = vec![0; SIDE * SIDE];
    let to = HostViewMut::new(&mut result, &square)?;
    workspace.copy_into_watched(HostView::pinned(&src, &square)?.t(), to, &|_| ())?;
    let mut dst = PinnedBuffer::<u32>::zeroed(device, SIDE * SIDE)?;
    let to = HostViewMut::pinned(&mut dst, &square)?;
    workspace.transpose_into(HostView::new(&result, &square)?, to)
}

fn in_place(device: &Device, threads: usize, algorithm: HostInPlace) -> Result<()> {
    let mut elements = vec![0u32; SIDE * SIDE];
    let matrix = HostViewMut::matrix(&mut elements, SIDE, SIDE)?;
    Workspace::new(device, options(threads)).transpose_in_place(matrix, algorithm)
}

/// Out of place, in place, and from file to file.
pub const OPERATIONS: &[Operation] = &[
    ("host arrays are moved by one thread", |device, _| moved(device, options(1))),
    ("host arrays are moved by three threads", |device, _| moved(device, options(3))),
    ("host arrays are moved by the device and a core", |device, _| {
        moved(device, options(1).cpu_threads(1))
    }),
    ("host arrays are moved by three threads and cores", |device, _| {
        moved(device, options(3).cpu_threads(2))
    }),
    ("in place, tile by tile", |device, _| in_place(device, 1, HostInPlace::Pairs)),
    ("in place, by three threads", |device, _| in_place(device, 3, HostInPlace::Pairs)),
    ("in place, along a frontier", |device, _| in_place(device, 1, HostInPlace::Frontier)),
    ("in place, in three stages", |device, _| in_place(device, 1, HostInPlace::ThreeStage)),
    ("in place, by panels", |device, _| in_place(device, 1, HostInPlace::Panels)),
    ("host arrays are moved without a workspace", |device, _| {
        let (src, mut dst) = ([1u32; 600], [0u32; 600]);
        let to = HostViewMut::matrix(&mut dst, 20, 30)?;
        host::transpose_into(device, HostView::matrix(&src, 30, 20)?, to)?;
        let to = HostViewMut::matrix(&mut dst, 30, 20)?;
        host::copy_into(device, HostView::matrix(&src, 30, 20)?, to)?;
        host::transpose_in_place(device, &mut dst, 30, 20)
    }),
    ("files are moved by a device", |device, _| {
        let folder = tempfile::tempdir().expect("a folder");
        let [src_path, dst_path] = ["src", "dst"].map(|name| folder.path().join(name));
        let open = |path: &Path| {
            std::fs::write(path, [1u8; 2400])?;
            std::fs::File::options().read(true).write(true).open(path)
        };
        let (src, dst) = (open(&src_path).expect("a file"), open(&dst_path).expect("a file"));
        let src = FileFrom { file: &src, path: &src_path, start: 0 };
        let dst = FileFrom { file: &dst, path: &dst_path, start: 0 };
        let from = TensorLayout::contiguous(&[30, 20], 4)?.t();
        let to = TensorLayout::contiguous(&[20, 30], 4)?;
        let through = Through::Device(device);
        move_between::<u32>((&src, &from), (&dst, &to), through, 1 << 14, &|_| ())
    }),
];
