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
/// let options = HostOptions::default().device_memory(1 << 30).streams(8);
/// assert_eq!(options.device_memory, 1 << 30);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostOptions {
    /// The most bytes of device memory; by default up to 769 MiB for tiles, however large the arrays are, with [`streams`](#structfield.streams) as it is by default: more of those have more tiles.
    pub device_memory: usize,
    /// The most bytes of pinned memory for the ring that pageable memory goes through; by default 128 MiB, or what elements of more than
    /// 64 MiB, or rows in place, take at least.
    pub ring_memory: usize,
    /// How much is under way at a time: tiles, one for one after the other; or the parts that
    /// [`HostInPlace::ThreeStage`](super::HostInPlace::ThreeStage) has, each in a stream of its own.
    pub streams: usize,
    /// Threads that bring elements to the ring and from it; by default as many as there are cores without
    /// [`cpu_threads`](#structfield.cpu_threads), up to 32.
    pub threads: usize,
    /// Threads that move parts of an array by the CPU while the device moves others; none by default, when the device moves all, and none in place.
    /// They take pieces from one end of the array and the device from the other until they meet, so no share need be chosen. They belong to the call,
    /// run wherever the caller may run (cores, memory nodes), and are fewer where the system gives fewer.
    pub cpu_threads: usize,
    /// Whether the pages of memory that is not pinned are locked for the time of a call, so that the device reaches them, in place of the
    /// ring. That takes longer than the ring does, and none of its memory. What cannot be locked goes through the ring.
    pub register: bool,
    /// The most bytes of a tile; by default a sixteenth of the array, 16 to 256 MiB, and 8 MiB behind a ring. Where memory lacks, tiles are smaller.
    pub tile_bytes: usize,
    /// How the sides of a tile lean: stretches that lie together are `2^lean` times as long in the source as in the destination.
    pub lean: i32,
    /// Who brings elements up, on a GPU.
    pub upload: Bus,
    /// Who brings elements down, on a GPU.
    pub download: Bus,
}

impl HostOptions {
    /// These, with at most so many bytes of device memory.
    pub fn device_memory(mut self, bytes: usize) -> Self {
        self.device_memory = bytes;
        self
    }

    /// These, with at most so many bytes of pinned memory in the ring.
    pub fn ring_memory(mut self, bytes: usize) -> Self {
        self.ring_memory = bytes;
        self
    }

    /// These, with so much under way: see [`streams`](#structfield.streams).
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }

    /// These, with so many threads for the ring.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// These, with so many threads beside the device: see [`cpu_threads`](#structfield.cpu_threads).
    pub fn cpu_threads(mut self, threads: usize) -> Self {
        self.cpu_threads = threads;
        self
    }

    /// These, with the pages of memory that is not pinned locked for a call, or not: see [`register`](#structfield.register).
    pub fn register(mut self, register: bool) -> Self {
        self.register = register;
        self
    }

    /// These, with tiles of at most so many bytes.
    pub fn tile_bytes(mut self, bytes: usize) -> Self {
        self.tile_bytes = bytes;
        self
    }

    /// These, with tiles that [`lean`](#structfield.lean) so.
    pub fn lean(mut self, lean: i32) -> Self {
        self.lean = lean;
        self
    }

    /// These, with who brings elements up and down.
    pub fn bus(mut self, upload: Bus, download: Bus) -> Self {
        (self.upload, self.download) = (upload, download);
        self
    }
}
