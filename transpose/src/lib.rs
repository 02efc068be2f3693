//! Matrix transposition on NVIDIA GPUs: any shape, typed and safe, at the speed of a copy.
//!
//! The package is `cuda-transpose`, the library `transpose`. Neither building nor starting a program needs a CUDA toolkit or a GPU: the NVIDIA
//! driver is opened at run time.
//!
//! ```
//! use transpose::{Device, DeviceMatrix};
//!
//! # fn main() -> transpose::Result<()> {
//! // The first GPU, or else a simulator that runs the same kernels on the CPU.
//! let (device, _why_no_gpu) = Device::any();
//! let a = DeviceMatrix::from_host(&device, 2, 3, &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let b = a.transposed()?;
//! assert_eq!(b.shape(), (3, 2));
//! assert_eq!(b.to_host()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok(())
//! # }
//! ```
//!
//! # By task
//! | what to do | with |
//! |---|---|
//! | transpose a matrix, or a part of it | [`DeviceMatrix::transposed`], [`DeviceMatrix::transpose_into`], [`DeviceMatrix::submatrix`] |
//! | many small matrices by one launch | [`MatrixView::transpose_batched_into`] |
//! | without a second matrix | [`DeviceMatrix::transpose_in_place`], [`InPlacePlan`] |
//! | bring axes into any order, copy any strides to any others | [`DeviceTensor::permuted`], [`TensorView::copy_into`] |
//! | the adjoint; numbers scaled, added, converted in the same pass | [`DeviceMatrix::adjoint`], [`DeviceMatrix::transposed_scaled`], [`TensorView::add_into`], [`TensorView::converted`] |
//! | the same again and again; see what is chosen | [`Plan`], [`PlanCache`], [`Graph`] |
//! | arrays in host memory, larger than the device's; files | [`host`] |
//! | arrays over several GPUs, or processes | [`ShardedMatrix`], [`DistributedMatrix`] |
//! | memory, streams and kernels of other code | [`interop`], [`MatrixView::from_raw_parts`], [`raw`] |
//!
//! # Words and units
//! A matrix is *row-major*: the elements of a row follow each other. Its *leading dimension*
//! (`ld`) is the number of elements from one row's start to the next's. Shapes are always given
//! as `rows × cols`. Every transpose is out of place unless its name says otherwise, and moves
//! elements bit for bit.
//!
//! Lengths, strides, offsets and leading dimensions count elements. Sizes of memory, and what has `bytes` in its name, count bytes. A device
//! address is a `u64`, which on a GPU is a `CUdeviceptr`.
//!
//! An element is any [`bytemuck::Pod`] type, of any size. A wrong request is an [`Error`] with the numbers that are wrong, never a panic.
//!
//! A [`DeviceTensor`] has up to 16 axes, the last one the fastest; a matrix is one of two. [`TensorView::permuted`] and
//! [`TensorView::copy_into`] move; what only changes shape and strides moves nothing. Complex numbers, which are [`Conjugate`], can be
//! conjugated on the way: [`DeviceMatrix::adjoint`], [`TensorView::conjugated`]. Numbers can be scaled, added, and converted to others on the way:
//! [`TensorView::scaled`], [`TensorView::add_into`], [`TensorView::converted`].
//!
//! # Order and safety
//! Calls queue their work on the [`Device`] and may return before it is done. All work on a
//! device is done in the order of the calls, so a program sees the result it would see
//! if every call waited. [`DeviceMatrix::to_host`] and [`Device::synchronize`] do wait.
//!
//! [`Device::new_stream`] gives a handle to the same device with a queue of its own. What is moved between two streams is in order by
//! itself; [`Event`]s order what the library does not know of, [`PinnedBuffer`]s are host memory that copies use while the
//! program goes on, and a [`Graph`] queues many moves as one.
//!
//! # How it works
//! [`Plan`] chooses a kernel and a grid from the element size, the shape and both layouts, on
//! the host. The kernels are written in Rust and shipped as PTX, and as machine code
//! for the chips of today: for one that has none the NVIDIA driver compiles the PTX. Neither a CUDA toolkit nor a nightly compiler is needed.
//!
//! # Features
//! | feature | on by default | what it is for |
//! |---|---|---|
//! | `simulator` | yes | [`Device::simulated`], [`Device::any`], [`Device::observe`] and what they stand on. Without it a program has GPUs only, and builds in less time. |
//! | `cust`, `cudarc` | no | devices on the streams of those crates, and memory of one as the other's ([`interop`]). The first asks for a CUDA toolkit when it is built, or for what the page of `cuda_driver` says in place of one; the second for nothing. |
//! | `dlpack` | no | tensors of PyTorch, CuPy, NumPy and others, both ways ([`interop`]) |
//! | `ndarray` | no | arrays of any rank, order and stride into and out of the device ([`DeviceTensor::from_ndarray`](DeviceTensor)) |
//! | `mpi` | no | `Mpi`: exchanges between processes by Open MPI, through the host's memory, opened at run time |
//! | `nccl` | no | `Nccl`: exchanges between processes by NCCL, which is opened at run time |
//! | `half`, `num-complex` | no | their numbers as elements ([`interop`]) |
//! | `in_place_studies` | no | the kernels in place that [`InPlace::Auto`] never takes, for comparing algorithms |
//!
//! The oldest Rust that will do is 1.89.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(clippy::missing_errors_doc)]

// The first modules' methods are the first of each type's documentation.
mod device;
mod matrix;
mod tensor;
mod transfer;

mod allocation;
mod arithmetic;
mod cast;
mod complex;
mod devices;
mod divide;
mod error;
mod event;
mod facts;
mod far_rows;
mod graph;
pub mod host;
mod image;
mod in_place;
pub mod interop;
mod kernels;
mod launch;
mod layout;
mod pinned;
mod plan;
pub mod raw;
#[cfg(all(doctest, feature = "simulator"))]
mod refused;
mod sharded;
#[cfg(feature = "simulator")]
pub mod simulator;
mod strategy;
mod streams;
mod sync;

pub use allocation::Allocation;
pub use arithmetic::{Arithmetic, ConvertTo, E4M3, E5M2, Number, kind};
pub use bytemuck;
pub use complex::Conjugate;
pub use device::Device;
pub use devices::MemoryInfo;
pub use error::{Error, Result};
pub use event::Event;
pub use facts::Facts;
pub use graph::Graph;
pub use in_place::{Carry, InPlace, InPlaceOptions, InPlacePlan, census as in_place_cycles};
pub use layout::{AlignedLayout, Layout};
pub use matrix::{DeviceMatrix, MatrixView, MatrixViewMut};
pub use pinned::PinnedBuffer;
pub use plan::{
    ArithmeticPlan, Batch, CacheWarning, Destination, NormalizingPlan, Plan, PlanCache, Source,
};
#[cfg(feature = "mpi")]
pub use sharded::Mpi;
#[cfg(feature = "nccl")]
pub use sharded::Nccl;
pub use sharded::{
    DeviceGroup, DistributedMatrix, DistributedPlan, DistributedTensor, ExchangeOptions, Parcel,
    PeerStores, ShardedMatrix, ShardedPlan, ShardedTensor, Shares, Sockets, Transport, World,
};
#[cfg(feature = "simulator")]
pub use simt;
pub use strategy::Strategy;
pub use tensor::{DeviceTensor, MOST_AXES, TensorLayout, TensorView, TensorViewMut, copy_all};

/// What to call here instead of what is called elsewhere: the samples are tests.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../coming-from.md")]
struct ComingFrom;

/// The samples of the page on several GPUs are tests.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../sharded.md")]
struct SeveralGpus;

/// The samples of the guide are tests; one of them needs a feature, which the tests of the workspace turn on.
#[cfg(all(doctest, feature = "dlpack", feature = "simulator"))]
#[doc = include_str!("../guide.md")]
struct Guide;

/// The sample of the page on arrays in host memory is a test.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../host.md")]
struct HostPage;

/// The samples of the page on arithmetic are tests.
#[cfg(all(doctest, feature = "simulator"))]
#[doc = include_str!("../arithmetic.md")]
struct ArithmeticPage;
