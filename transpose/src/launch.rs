//! A launch, as plain data: what a plan asks a device to run.

use crate::image::EntryPoint;
use kernel_abi::Params;
use smallvec::SmallVec;

/// As many 64-bit fields as the parameters of most kernels have: so many need no allocation.
const FEW: usize = 14;

/// One kernel over one grid.
///
/// Every kernel takes two addresses, which are known only when a plan is run (source and
/// destination, or matrix and scratch memory), and then its parameters, which the plan knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub entry: EntryPoint,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory in bytes beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// How many blocks a multiprocessor should run together; 0 for as many as fit. Changes no result.
    pub blocks_per_multiprocessor: u32,
    /// Whether the L2 cache should rather give up what is stored than what is loaded. Changes no result.
    pub evict_last: bool,
    /// Whether blocks wait for each other, so that all of them must run side by side.
    pub cooperative: bool,
    /// Bytes from the start of each of the two memories to where this launch starts; before it, if they wrap.
    pub offsets: [u64; 2],
    pub params: Fields,
}

/// The parameters of any kernel: their 64-bit fields, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields(SmallVec<[u64; FEW]>);

impl Fields {
    /// The fields of a kernel's parameters.
    pub fn of<P: Params>(params: &P) -> Self {
        if P::FIELDS > FEW {
            return Fields(SmallVec::from_slice(params.fields()));
        }
        let mut few = [0; FEW];
        few[..P::FIELDS].copy_from_slice(params.fields());
        Fields(SmallVec::from_buf_and_len(few, P::FIELDS))
    }

    /// The same fields, but for one, which there is.
    pub fn with(mut self, field: usize, value: u64) -> Self {
        self.0[field] = value;
        self
    }

    /// The parameters, if a kernel's that these are the fields of has as many.
    pub fn to<P: Params>(&self) -> Option<P> {
        P::from_fields(self)
    }
}

impl<const N: usize> From<[u64; N]> for Fields {
    fn from(given: [u64; N]) -> Self {
        Fields(SmallVec::from_slice(&given))
    }
}

impl std::ops::Deref for Fields {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl Launch {
    /// The two addresses that the kernel is given, if the two memories begin at these.
    pub fn starts(&self, addresses: [u64; 2]) -> [u64; 2] {
        [0, 1].map(|side| addresses[side].wrapping_add(self.offsets[side]))
    }
}
