//! Arrays that are spread over several devices, and their transposes.
//!
//! The axis of an array that is spread is cut into consecutive *shares*, one a device; what a device holds of the array is its *shard*. A
//! transpose, or any exchange of the axes, is then a list of [pieces](pieces): what device `i` holds of what device `j` is to hold. Each
//! piece is an ordinary move whose destination is in another device's memory ([plan](plan)); the device that has the source moves it and
//! stores it there, for stores cross a link faster than loads do. Where a device does not reach another's memory, it packs the piece, the
//! driver carries it over, and the other device unpacks it ([staged](staged)). The order of all that, between the streams of all
//! devices, is in [run](run).

mod group;
mod matrix;
mod moving;
mod options;
mod pieces;
mod plan;
mod processes;
mod run;
mod shares;
mod staged;
mod tensor;

pub use group::DeviceGroup;
pub use matrix::ShardedMatrix;
pub use options::ExchangeOptions;
pub use plan::ShardedPlan;
#[cfg(feature = "mpi")]
pub use processes::Mpi;
#[cfg(feature = "nccl")]
pub use processes::Nccl;
pub use processes::{
    DistributedMatrix, DistributedPlan, DistributedTensor, Parcel, PeerStores, Sockets, Transport,
    World,
};
pub use shares::Shares;
pub use tensor::ShardedTensor;
