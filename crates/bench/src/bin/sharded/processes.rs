//! The same table for one process a GPU: each transpose beside its transport's own exchange of as many bytes.
//!
//! `--processes 4` starts four processes here; `--world` makes this one a part of what `torchrun`, `mpirun` or `srun` has started. The first
//! process prints the table.

use super::content::Content;
use super::{Arguments, SENT, Shape, Split};
use anyhow::{Context, Result, ensure};
use bench::device::DeviceChoice;
use bench::memory::{ensure_free, matrix_bytes};
use bench::program::usage;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use bench::{progress, with_element};
use bytemuck::Pod;
use cuda_driver::{Driver, Event, RawStream, Stream};
use std::ffi::OsString;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use transpose::{
    Device, DistributedPlan, DistributedTensor, Mpi, Nccl, Parcel, PeerStores, Sockets, Transport,
    World,
};

/// What carries bytes between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Carrier {
    /// Stores between GPUs, sockets between simulated devices.
    Auto,
    /// Stores to each other's memory, and NCCL for what does not go so.
    Stores,
    /// NCCL alone.
    Nccl,
    /// Open MPI, of processes that mpirun has started.
    Mpi,
    /// TCP, through host memory.
    Sockets,
}

/// Starts processes that do what this one was asked for, and waits for them.
pub fn start(arguments: &Arguments, processes: usize) -> Result<()> {
    ensure_gpus(arguments.common.setting.device, processes)?;
    // Behind the port that launchers name is the one that the first process listens on.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let program = std::env::current_exe()?;
    let mut given: Vec<OsString> = std::env::args_os().skip(1).collect();
    given.retain(|argument| !argument.to_string_lossy().starts_with("--processes="));
    if let Some(at) = given.iter().position(|argument| argument == "--processes") {
        given.drain(at..(at + 2).min(given.len()));
    }
    let mut children = Vec::new();
    for rank in 0..processes {
        let mut command = Command::new(&program);
        command.args(&given).arg("--world").stdin(Stdio::null());
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", processes.to_string());
        command.env("LOCAL_RANK", rank.to_string());
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", (port - 1).to_string());
        if rank > 0 {
            command.stdout(Stdio::null());
        }
        children.push(command.spawn().with_context(|| program.display().to_string())?);
    }
    let mut failed = Vec::new();
    for (rank, mut child) in children.into_iter().enumerate() {
        let status = child.wait()?;
        match status.code() {
            Some(0) => {}
            // It has said why.
            Some(_) => failed.push(rank.to_string()),
            None => failed.push(format!("{rank} ({status})")),
        }
    }
    ensure!(failed.is_empty(), "of {processes} processes these failed: {}", failed.join(", "));
    Ok(())
}

const COLUMNS: [Column; 14] = [
    Column::number("rows", "rows", 6),
    Column::number("cols", "cols", 6),
    Column::number("element_bytes", "bytes", 2),
    Column::text("split", "split", 6),
    Column::number("processes", "processes", 1),
    Column::text("transport", "transport", 8),
    Column::number("lanes", "lanes", 1),
    Column::number("link_bytes", "sent, bytes", 10),
    Column::number("device_bytes", "memory, bytes", 10),
    Column::number("extra_bytes", "of it extra", 8),
    Column::number("ms", "ms", 7),
    Column::number("link_gb_s", "GB/s", 6),
    Column::number("alone_gb_s", "exchange alone, GB/s", 6),
    Column::number("of_alone", "of it", 5),
];

/// Takes part in a world, and prints its table if it is the first process.
pub fn run(arguments: &Arguments) -> Result<()> {
    let patience = Duration::from_secs(arguments.patience);
    let world = match arguments.transport {
        // As its processes come from a launcher of MPI's, MPI says where the others are.
        Carrier::Mpi => World::from_mpi(patience)?,
        _ => World::from_env(patience)?,
    };
    let device = device(arguments, &world)?;
    let carrier = match (arguments.transport, device.is_gpu()) {
        (Carrier::Auto, true) => Carrier::Stores,
        (Carrier::Auto, false) => Carrier::Sockets,
        (carrier, _) => carrier,
    };
    let nccl = || Nccl::with_lanes(&world, &device, arguments.lanes);
    let carried: Box<dyn Transport>;
    let stores = match carrier {
        Carrier::Stores => Some(PeerStores::new(&world, &device, nccl()?)?),
        _ => None,
    };
    let (name, transport): (&str, &dyn Transport) = match &stores {
        Some(stores) => ("stores", stores),
        None if carrier == Carrier::Nccl => {
            carried = Box::new(nccl()?);
            ("nccl", &*carried)
        }
        None if carrier == Carrier::Mpi => {
            carried = Box::new(Mpi::new(&world)?);
            ("mpi", &*carried)
        }
        None => {
            carried = Box::new(Sockets::new(&world));
            ("sockets", &*carried)
        }
    };
    let shapes = match (arguments.shape.as_slice(), device.is_gpu()) {
        ([], true) => vec![Shape { rows: 32768, cols: 32768 }],
        ([], false) => vec![Shape { rows: 200, cols: 130 }],
        (shapes, _) => shapes.to_vec(),
    };
    let bar = progress::bar(&arguments.common, shapes.len() * arguments.element.len());
    let title = format!("Transposes by {} processes, all results verified", world.size());
    let mut report = Report::new(&arguments.common, &device, title, &COLUMNS, &bar);
    let mut bars = Vec::new();
    let has_stored = || stores.as_ref().is_some_and(PeerStores::has_stored);
    let part =
        Part { arguments, world: &world, device: &device, transport, has_stored: &has_stored };
    for &shape in &shapes {
        for &element in &arguments.element {
            for &split in &arguments.split {
                let (value, cells) =
                    with_element!(element, T => part.measure::<T>(shape, split, name))?;
                let Shape { rows, cols } = shape;
                let label = format!("{rows} × {cols} of {element} B, {}", split.name());
                bars.push(Bar::plain(label, split.name(), value));
                if world.rank() == 0 {
                    report.row(cells);
                }
            }
            bar.inc(1);
        }
    }
    // Nobody leaves before all are done.
    world.all_gather(&[])?;
    if world.rank() > 0 {
        return Ok(());
    }
    let unit = if device.is_gpu() { "GB/s" } else { SENT };
    report.finish(|| Chart::new("Transposes by several processes", unit, bars))
}

/// Refuses more processes on this host than there are GPUs, unless there is none or none is asked for: simulated devices exchange nothing with GPUs.
fn ensure_gpus(choice: DeviceChoice, processes: usize) -> Result<()> {
    let gpus = match choice {
        DeviceChoice::Auto | DeviceChoice::Cuda(_) => {
            Driver::get().and_then(Driver::device_count).unwrap_or(0) as usize
        }
        DeviceChoice::Sim | DeviceChoice::Cpu => 0,
    };
    ensure!(
        gpus == 0 || processes <= gpus,
        "{processes} processes take a GPU each, and there are {gpus}; with --device sim each has a simulated device"
    );
    Ok(())
}

/// This process's device: of several GPUs the one of its number on this host.
fn device(arguments: &Arguments, world: &World) -> Result<Device> {
    let local = ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"];
    let local = local.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    let ordinal: u32 = local.unwrap_or(world.rank() as u32);
    ensure_gpus(arguments.common.setting.device, (ordinal as usize).saturating_add(1))?;
    match arguments.common.setting.device {
        DeviceChoice::Cpu => Err(usage("devices exchange arrays; the CPU alone is none")),
        DeviceChoice::Sim => Ok(Device::simulated()),
        DeviceChoice::Auto => Ok(Device::cuda(ordinal).unwrap_or_else(|_| Device::simulated())),
        DeviceChoice::Cuda(0) => Ok(Device::cuda(ordinal)?),
        DeviceChoice::Cuda(_) => Err(usage("each process takes the GPU of its number on its host")),
    }
}

/// What a process measures with.
struct Part<'a> {
    arguments: &'a Arguments,
    world: &'a World,
    device: &'a Device,
    transport: &'a dyn Transport,
    /// Whether the last exchange took no memory beside the arrays.
    has_stored: &'a dyn Fn() -> bool,
}

impl Part<'_> {
    /// GB/s, and the row of a table.
    fn measure<T: Pod + PartialEq + Sync + Send>(
        &self,
        Shape { rows, cols }: Shape,
        split: Split,
        transport: &str,
    ) -> Result<(f64, Vec<Cell>)> {
        let Part { arguments, world, device, .. } = *self;
        let [of_rows, of_cols] = [rows, cols].map(|length| split.of(length, world.size()));
        let bytes = matrix_bytes(rows, cols, size_of::<T>())?;
        ensure_free(device, 0, bytes.saturating_mul(2))?;
        let content = Content::new(cols * size_of::<T>());
        let mut src =
            DistributedTensor::<T>::zeroed_shared(world, device, &[rows, cols], 0, &of_rows)?;
        content.fill_rows(&mut src.shard_mut(), of_rows.range(world.rank()))?;
        let (shape, stores) = ([cols, rows], transport == "stores");
        let mut dst = match stores {
            true => DistributedTensor::<T>::zeroed_for_peers(world, device, &shape, 0, &of_cols)?,
            false => DistributedTensor::zeroed_shared(world, device, &shape, 0, &of_cols)?,
        };
        let plan = DistributedPlan::new(&src, &dst, &[1, 0])?;
        let sent = self.most(plan.link_bytes() as f64)?;
        let once = self.timed(1, || Ok(plan.run(&src, &mut dst, self.transport)?))?;
        let reps = if device.is_gpu() { (0.05 / once).clamp(1.0, 100.0) as usize } else { 1 };
        let (mut times, mut alone) = (Vec::new(), Vec::new());
        for turn in 0..=arguments.turns {
            let seconds = self.timed(reps, || Ok(plan.run(&src, &mut dst, self.transport)?))?;
            let bound = self.timed(reps, || self.exchange_alone(&src, &mut dst))?;
            // The first turn warms up.
            if turn > 0 {
                times.push(seconds);
                alone.push(bound);
            }
        }
        dst.shard_mut().fill(T::zeroed())?;
        plan.run(&src, &mut dst, self.transport)?;
        content.verify_rows(&dst.shard(), of_cols.range(world.rank()), rows, false)?;
        let [seconds, bound] = [times, alone].map(super::bounds::median);
        let speed =
            |seconds: f64| Some(sent / seconds / 1e9).filter(|_| device.is_gpu() && sent > 0.0);
        let extra = if (self.has_stored)() { 0 } else { plan.extra_bytes() };
        let shards = (src.shard().len() + dst.shard().len()) * size_of::<T>();
        let cells = vec![
            rows.into(),
            cols.into(),
            size_of::<T>().into(),
            split.name().into(),
            world.size().into(),
            transport.into(),
            self.transport.lanes().into(),
            (sent as u64).into(),
            (self.most((shards + extra) as f64)? as u64).into(),
            (self.most(extra as f64)? as u64).into(),
            if device.is_gpu() { Cell::Number(seconds * 1e3, 3, 4) } else { Cell::Nothing },
            Cell::speed(speed(seconds)),
            Cell::speed(speed(bound)),
            Cell::fraction(speed(seconds).map(|_| bound / seconds)),
        ];
        Ok((speed(seconds).unwrap_or(sent / 1e3), cells))
    }

    /// The transport's own exchange of the bytes that the transpose sends, between the same memories.
    fn exchange_alone<T: Pod>(
        &self,
        src: &DistributedTensor<T>,
        dst: &mut DistributedTensor<T>,
    ) -> Result<()> {
        let rank = self.world.rank();
        let bytes = |from: usize, to: usize| {
            src.shares().range(from).len() * dst.shares().range(to).len() * size_of::<T>()
        };
        let parcels =
            |address: u64, bytes: &dyn Fn(usize) -> usize, turn: &dyn Fn(usize) -> usize| {
                let mut next = address;
                let mut parcels = Vec::new();
                for peer in (1..self.world.size()).map(turn) {
                    if bytes(peer) > 0 {
                        parcels.push(Parcel { peer, address: next, bytes: bytes(peer) });
                    }
                    next += bytes(peer) as u64;
                }
                parcels
            };
        let size = self.world.size();
        let out = parcels(src.shard().device_address(), &|peer| bytes(rank, peer), &|turn| {
            (rank + turn) % size
        });
        let into = parcels(dst.shard().device_address(), &|peer| bytes(peer, rank), &|turn| {
            (rank + size - turn) % size
        });
        // SAFETY: the parcels lie in the two shards, side by side; all is waited for before and after; all processes make the call that fits.
        unsafe { self.transport.exchange(0, self.device, &out, &into)? };
        self.wait().inspect_err(|_| self.transport.abort())
    }

    /// Waits until the device is done, as long as all processes are there.
    fn wait(&self) -> Result<()> {
        /// Between two looks at the others.
        const LOOK: u32 = 64;
        let (Some(ordinal), Some(raw)) = (self.device.cuda_ordinal(), self.device.cuda_stream())
        else {
            return Ok(self.device.synchronize()?);
        };
        let context = cuda_driver::Context::primary(Driver::get()?.device(ordinal)?)?;
        // SAFETY: the device's stream lives as long as the device, and is one of the primary context.
        let stream = unsafe { Stream::borrowed(&context, RawStream(raw)) };
        let event = Event::without_time(&context)?;
        event.record(&stream)?;
        let (start, mut looks) = (Instant::now(), 0u32);
        while !event.is_done()? {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(LOOK) {
                self.transport.check()?;
                ensure!(start.elapsed() < self.world.timeout(), "the exchange did not end in time");
            }
            std::hint::spin_loop();
        }
        Ok(())
    }

    /// Seconds of one of several, those of the slowest process.
    fn timed(&self, reps: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.device.synchronize()?;
        self.world.all_gather(&[])?;
        let start = Instant::now();
        for _ in 0..reps {
            work()?;
        }
        self.most(start.elapsed().as_secs_f64() / reps as f64)
    }

    /// The largest of all processes' numbers.
    fn most(&self, mine: f64) -> Result<f64> {
        let all = self.world.all_gather(&mine.to_le_bytes())?;
        let number = |bytes: &Vec<u8>| Some(f64::from_le_bytes(bytes.as_slice().try_into().ok()?));
        Ok(all.iter().filter_map(number).fold(0.0, f64::max))
    }
}
