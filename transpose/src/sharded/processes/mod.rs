//! Arrays that are spread over several processes, each with one device, on one host or on many.
//!
//! The processes are a [`World`], which knows who they are, compares what they are about to do, and notices who has gone. What a process sends to
//! another is packed, already transposed, into a buffer, carried there by a [`Transport`], and unpacked: one pass over the memory on one
//! side and a copy on the other ([`exchange`], [`rounds`]). Transports are the sockets of the world itself, for memory of any device, and NCCL.

mod array;
mod by_host;
mod environment;
mod exchange;
mod intent;
#[cfg(feature = "mpi")]
mod mpi;
#[cfg(feature = "nccl")]
mod nccl;
#[cfg(any(feature = "mpi", feature = "nccl"))]
mod opened;
mod peer_stores;
mod rounds;
mod sockets;
mod stores;
mod transport;
mod wire;
mod world;

pub use array::{DistributedMatrix, DistributedTensor};
pub use exchange::DistributedPlan;
#[cfg(feature = "mpi")]
pub use mpi::Mpi;
#[cfg(feature = "nccl")]
pub use nccl::Nccl;
pub use peer_stores::PeerStores;
pub use sockets::Sockets;
pub use transport::{Parcel, Transport};
pub use world::World;
