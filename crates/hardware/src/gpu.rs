//! A GPU through the CUDA driver: PTX in, results out.

use std::ffi::c_void;

use cuda_driver::{Context, Driver, Error, Function, LaunchConfig, Module, Start, Stream};

/// The first GPU.
#[derive(Debug)]
pub struct Gpu {
    context: Context,
    stream: Stream,
}

/// Device memory that is given back when it is dropped.
#[derive(Debug)]
pub struct Buffer<'g> {
    gpu: &'g Gpu,
    address: u64,
    bytes: usize,
}

impl Gpu {
    /// Opens the GPU.
    ///
    /// # Errors
    /// What the driver answers where there is none.
    pub fn open() -> Result<Gpu, Error> {
        let context = Context::primary(Driver::get()?.device(0)?)?;
        let stream = Stream::new(&context)?;
        Ok(Gpu { context, stream })
    }

    /// What the driver calls it.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn name(&self) -> Result<String, Error> {
        self.context.device().name()
    }

    /// Compiles and loads PTX.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn load(&self, ptx: &str) -> Result<Module, Error> {
        Module::from_ptx(&self.context, ptx)
    }

    /// Zeroed memory.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn zeroed(&self, bytes: usize) -> Result<Buffer<'_>, Error> {
        let address = self.context.allocate(bytes)?;
        let buffer = Buffer { gpu: self, address, bytes };
        buffer.clear()?;
        Ok(buffer)
    }

    /// Memory that holds `data`.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn upload(&self, data: &[u64]) -> Result<Buffer<'_>, Error> {
        let buffer = self.zeroed(size_of_val(data))?;
        // SAFETY: the data outlive the copy, which is waited for; the buffer has as many bytes.
        unsafe { self.stream.copy_from_host(buffer.address, data.as_ptr().cast(), buffer.bytes) }?;
        self.stream.synchronize()?;
        Ok(buffer)
    }

    /// Launches a kernel of 64-bit arguments and waits for it.
    ///
    /// # Safety
    /// The kernel takes `arguments.len()` arguments of 64 bits, and accesses no memory but buffers of this GPU that live.
    ///
    /// # Errors
    /// What the driver answers.
    pub unsafe fn run(
        &self,
        kernel: &Function,
        grid: u32,
        block: u32,
        arguments: &[u64],
    ) -> Result<(), Error> {
        let config = LaunchConfig {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared: 0,
            start: Start::InOrder,
        };
        let mut arguments = arguments.to_vec();
        let mut pointers: Vec<*mut c_void> =
            arguments.iter_mut().map(|argument| std::ptr::from_mut(argument).cast()).collect();
        // SAFETY: a pointer to each argument; the rest is the caller's obligation.
        unsafe { self.stream.launch(kernel, &config, &mut pointers) }?;
        self.stream.synchronize()
    }
}

impl Buffer<'_> {
    /// Where it lies.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Sets all of it to zero.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn clear(&self) -> Result<(), Error> {
        // SAFETY: the whole buffer, which lives; work is waited for.
        unsafe { self.gpu.stream.fill(self.address, 0, self.bytes) }?;
        self.gpu.stream.synchronize()
    }

    /// What it holds.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn download(&self) -> Result<Vec<u64>, Error> {
        let mut data = vec![0u64; self.bytes / 8];
        // SAFETY: the vector has as many bytes and is used by nobody else until the copy, which is waited for, is done.
        unsafe {
            self.gpu.stream.copy_to_host(data.as_mut_ptr().cast(), self.address, data.len() * 8)
        }?;
        self.gpu.stream.synchronize()?;
        Ok(data)
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by this context; all work on it was waited for. A failure is one of earlier work, which was reported.
        let _ = unsafe { self.gpu.context.free(self.address) };
    }
}
