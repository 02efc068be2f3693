//! The devices, and the links between them.

use anyhow::{Result, ensure};
use bench::memory::host_bytes;
use bench::output;
use bench::program::Common;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use cuda_driver::{Context, DeviceAttribute, Driver};
use indicatif::ProgressBar;
use std::ffi::c_int;
use transpose::{Device, Facts};

const DEVICES: [Column; 9] = [
    Column::text("device", "device", 6),
    Column::text("name", "name", 13),
    Column::text("compute_capability", "compute\ncapability", 0),
    Column::number("multiprocessors", "multi-\nprocessors", 0),
    Column::number("memory_gb", "memory,\nGB", 6),
    Column::number("free_gb", "free,\nGB", 6),
    Column::number("l2_mib", "L2 cache,\nMiB", 0),
    Column::number("block_shared_kib", "shared memory of\na block, KiB", 0),
    Column::number("multiprocessor_shared_kib", "of a multi-\nprocessor, KiB", 0),
];

/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`.
const L2_CACHE_SIZE: DeviceAttribute = DeviceAttribute(38);

/// All GPUs if the device is one; else the simulator, whose memory is the host's.
pub fn devices(common: &Common, device: &Device) -> Result<()> {
    let bar = ProgressBar::hidden();
    let title = match cuda_driver::driver_version() {
        Ok(version) => format!("Devices; the driver is for CUDA {version} and earlier"),
        Err(_) => "Devices; there is no NVIDIA driver".to_owned(),
    };
    let mut report = Report::new(common, device, title, &DEVICES, &bar);
    let mut bars = Vec::new();
    let gb = |bytes: Option<u64>| bytes.map(|bytes| Cell::Number(bytes as f64 / 1e9, 1, 3)).into();
    let kib = |bytes: usize| Cell::Number(bytes as f64 / 1024.0, 0, 3);
    let mut row =
        |name: String, facts: &Facts, [total, free]: [Option<u64>; 2], l2: Option<i32>| {
            let (major, minor) = facts.compute_capability;
            bars.extend(total.map(|bytes| Bar::plain(&*name, "all", bytes as f64 / 1e9)));
            bars.extend(free.map(|bytes| Bar::plain("", "free", bytes as f64 / 1e9)));
            report.row(vec![
                name.into(),
                facts.name.clone().into(),
                format!("{major}.{minor}").into(),
                facts.multiprocessors.into(),
                gb(total),
                gb(free),
                l2.map(|bytes| Cell::Number(f64::from(bytes) / f64::from(1 << 20), 1, 3)).into(),
                kib(facts.block_shared),
                kib(facts.multiprocessor_shared),
            ]);
        };
    if device.is_gpu() {
        let driver = Driver::get()?;
        for ordinal in 0..driver.device_count()? {
            let gpu = driver.device(ordinal)?;
            let memory = Context::primary(gpu)?.memory_info()?;
            let handle = Device::cuda(ordinal)?;
            let memory = [memory.total, memory.free].map(|bytes| Some(bytes as u64));
            let l2 = gpu.attribute(L2_CACHE_SIZE).ok();
            row(format!("cuda:{ordinal}"), handle.facts(), memory, l2);
        }
    } else {
        row("sim".to_owned(), device.facts(), host_bytes().into(), None);
    }
    report.finish(|| Chart::new("Memory of devices", "GB", bars))
}

const LINKS: [Column; 5] = [
    Column::text("from", "from", 8),
    Column::text("to", "to", 8),
    Column::text("access", "reaches its memory", 0),
    Column::text("atomics", "atomics", 0),
    Column::number("rank", "rank by the driver,\n0 is the fastest", 0),
];

/// Asks the driver about two devices: a value, an attribute, and both devices.
type P2pAttribute = unsafe extern "C" fn(*mut c_int, u32, c_int, c_int) -> u32;

/// Which GPU reaches the memory of which. With fewer than two there is nothing to say, which is an error unless other things are said
/// too.
pub fn links(common: &Common, device: &Device, among_others: bool) -> Result<()> {
    const RANK: u32 = 1;
    const ACCESS: u32 = 2;
    const ATOMICS: u32 = 3;
    let count = if device.is_gpu() { Driver::get()?.device_count()? } else { 0 };
    if count < 2 {
        ensure!(among_others, "there are no two GPUs to have links between them");
        output::print("Links: there are no two GPUs to have any")?;
        return Ok(());
    }
    let ask = cuda_driver::symbol("cuDeviceGetP2PAttribute").map(|address| {
        // SAFETY: this is the function's type in cuda.h, with CUresult as an integer.
        unsafe { std::mem::transmute::<*const std::ffi::c_void, P2pAttribute>(address) }
    });
    let asked = |attribute: u32, from: u32, to: u32| -> Option<c_int> {
        let driver = Driver::get().ok()?;
        let [from, to] = [driver.device(from).ok()?, driver.device(to).ok()?];
        let mut value = 0;
        // SAFETY: `value` is a place for an integer, and the driver has named both devices.
        let answer = unsafe { ask?(&mut value, attribute, from.as_raw().0, to.as_raw().0) };
        (answer == 0).then_some(value)
    };
    let bar = ProgressBar::hidden();
    let mut report =
        Report::new(common, device, "Links, as the driver tells of them", &LINKS, &bar);
    let yes = |value: Option<c_int>| -> Cell {
        value.map(|value| if value != 0 { "yes" } else { "no" }).into()
    };
    let mut bars = Vec::new();
    for (from, to) in (0..count).flat_map(|from| (0..count).map(move |to| (from, to))) {
        if from == to {
            continue;
        }
        let names = [from, to].map(|ordinal| format!("cuda:{ordinal}"));
        let rank = asked(RANK, from, to);
        let label = names.join(" to ");
        bars.extend(rank.map(|rank| Bar::plain(label, "rank", f64::from(rank))));
        let [from_name, to_name] = names.map(Cell::from);
        report.row(vec![
            from_name,
            to_name,
            yes(asked(ACCESS, from, to)),
            yes(asked(ATOMICS, from, to)),
            rank.map(|rank| u64::from(rank.unsigned_abs())).into(),
        ]);
    }
    report.finish(|| Chart::new("Links between devices", "rank by the driver", bars))
}
