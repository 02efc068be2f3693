//! What every integration test needs: memory, arguments, one-line launches.
#![allow(dead_code)]

use simt::{Error, LaunchConfig, Memory, Module, Options, Report};

/// The head of a PTX file.
pub const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// A device: memory and what to launch with.
pub struct Device {
    pub memory: Memory,
    pub options: Options,
}

impl Default for Device {
    fn default() -> Device {
        Device { memory: Memory::new(1 << 30), options: Options::default() }
    }
}

impl Device {
    /// An allocation that holds `data`.
    pub fn upload<T: bytemuck::Pod>(&self, data: &[T]) -> u64 {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let address = self.memory.alloc(bytes.len() as u64).unwrap();
        self.memory.write(address, bytes).unwrap();
        address
    }

    /// `count` values from `address`.
    pub fn download<T: bytemuck::Pod>(&self, address: u64, count: usize) -> Vec<T> {
        let mut data = vec![T::zeroed(); count];
        self.memory.read(address, bytemuck::cast_slice_mut(&mut data)).unwrap();
        data
    }

    /// Launches a one-dimensional grid.
    pub fn launch(
        &self,
        module: &Module,
        kernel: &str,
        grid: u32,
        block: u32,
        args: &[Arg],
    ) -> Result<Report, Error> {
        let config =
            LaunchConfig { grid: [grid, 1, 1], block: [block, 1, 1], dynamic_shared_bytes: 0 };
        self.launch_config(module, kernel, config, args)
    }

    pub fn launch_config(
        &self,
        module: &Module,
        kernel: &str,
        config: LaunchConfig,
        args: &[Arg],
    ) -> Result<Report, Error> {
        let args: Vec<&[u8]> = args.iter().map(|arg| &arg.0[..]).collect();
        module.kernel(kernel)?.launch(&self.memory, &config, &args, &self.options)
    }
}

/// The bytes of an argument.
pub struct Arg(Vec<u8>);

/// The bytes of `value`.
pub fn arg<T: bytemuck::Pod>(value: T) -> Arg {
    Arg(bytemuck::bytes_of(&value).to_vec())
}

/// A module with one kernel `k(.param .u64 out)` around `body`, in which `%out`
/// is the global address of this thread's 64-bit result, `%t` the thread's
/// number in its block, and 40 registers of each kind are declared.
pub fn kernel_around(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<40>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %d<40>;\n\
         .reg .b128 %q<40>; .reg .b64 %out; .reg .b32 %t, %g;\n\
         ld.param.u64 %out, [out];\n\
         mov.u32 %t, %tid.x;\n\
         mov.u32 %g, %ctaid.x;\n\
         mov.u32 %r39, %ntid.x;\n\
         mad.lo.u32 %g, %g, %r39, %t;\n\
         mad.wide.u32 %out, %g, 8, %out;\n\
         {body}\n}}\n"
    )
}

/// Runs [`kernel_around`] `body` with `threads` threads in one block and returns their results.
pub fn run_body(body: &str, threads: u32) -> Vec<u64> {
    let device = Device::default();
    let out = device.upload(&vec![0xdead_beef_dead_beefu64; threads as usize]);
    let module = Module::parse(&kernel_around(body)).unwrap();
    device.launch(&module, "k", 1, threads, &[arg(out)]).unwrap_or_else(|error| panic!("{error}"));
    device.download(out, threads as usize)
}
