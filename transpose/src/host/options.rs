//! What a caller may choose of moves between host arrays: how much memory, how many streams and threads, how large tiles.

/// Who moves elements over the bus, to and from memory that the device reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bus {
    /// What was measured to be the fastest.
    #[default]
    Auto,
    /// The device's copy engines.
    Engine,
    /// Kernels that load or store the host's memory, and move nothing else.
    Kernel,
    /// The kernels that bring elements into their order.
    Fused,
}

/// How moves between host arrays are done. What is 0 is chosen by the library.
///
/// ```
/// use transpose::host::HostOptions;
/// let mut options = HostOptions::default();
/// options.device_memory = 1 << 30;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostOptions {
    /// The most bytes of device memory; by default a few hundred MiB, whatever the arrays have.
    pub device_memory: usize,
    /// The most bytes of pinned memory for the ring that pageable memory goes through; 128 MiB by default.
    pub ring_memory: usize,
    /// How much is under way at a time where the device reaches the host's memory by itself: tiles, or the parts that
    /// [`HostInPlace::ThreeStage`](super::HostInPlace::ThreeStage) has, each in a stream of its own.
    pub streams: usize,
    /// Threads that bring elements to the ring and from it. Each has two tiles under way.
    pub threads: usize,
    /// The most bytes of a tile.
    pub tile_bytes: usize,
    /// How the sides of a tile lean: stretches that lie together are `2^lean` times as long in the source as in the destination.
    pub lean: i32,
    /// Who brings elements up, on a GPU.
    pub upload: Bus,
    /// Who brings elements down, on a GPU.
    pub download: Bus,
}
