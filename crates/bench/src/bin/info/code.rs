//! The code that a device loads, and what its kernels take.

use crate::cubin::{Taken, taken};
use anyhow::{Context, Result};
use bench::program::Common;
use bench::svg::{Bar, Chart};
use bench::table::{Cell, Column, Report};
use cuda_driver::{DeviceAttribute, Driver};
use indicatif::ProgressBar;
use kernel_abi::{Block, Entry};
use std::collections::HashMap;
use transpose::Device;
use transpose::raw::{Image, MachineCode};

const CODE: [Column; 5] = [
    Column::text("family", "family", 16),
    Column::text("loaded", "what is loaded", 50),
    Column::number("packed_kb", "packed, kB", 0),
    Column::number("kernels", "kernels", 0),
    Column::number("ptx_kb", "PTX, kB", 0),
];

/// For each family of kernels the code that the device loads.
pub fn code(common: &Common, device: &Device) -> Result<()> {
    let bar = ProgressBar::hidden();
    let (major, minor) = device.facts().compute_capability;
    let title = format!(
        "Code, loaded when the first kernel of a family is launched; the device is of {major}.{minor}"
    );
    let mut report = Report::new(common, device, title, &CODE, &bar);
    let mut bars = Vec::new();
    let kb = |bytes: usize| bytes as f64 / 1e3;
    for image in transpose::raw::images() {
        let ptx = image.ptx();
        let code = loaded(device, image);
        let said = match (device.is_gpu(), code) {
            (false, _) => "PTX, by the simulator".to_owned(),
            (true, None) => "PTX, compiled by the driver".to_owned(),
            (true, Some(MachineCode { capability: (major, minor), waits, .. })) => {
                let how = if *waits { ", kernels that wait by themselves" } else { "" };
                format!("machine code for {major}.{minor}{how}")
            }
        };
        let packed = code.map(|code| kb(code.packed.len())).filter(|_| device.is_gpu());
        bars.push(Bar::plain(image.name(), "PTX", kb(ptx.len())));
        bars.extend(packed.map(|packed| Bar::plain("", "machine code, packed", packed)));
        report.row(vec![
            image.name().into(),
            said.into(),
            packed.map(|packed| Cell::Number(packed, 1, 3)).into(),
            ptx.matches(".entry ").count().into(),
            Cell::Number(kb(ptx.len()), 1, 3),
        ]);
    }
    report.finish(|| Chart::new("Code", "kB", bars))
}

/// The machine code of an image for the device, or for the chip that the simulator stands for.
fn loaded(device: &Device, image: &'static Image) -> Option<&'static MachineCode> {
    image.code(device.facts().compute_capability, false)
}

const KERNELS: [Column; 8] = [
    Column::text("family", "family", 16),
    Column::text("kernel", "kernel", 20),
    Column::number("element_bytes", "word,\nbytes", 0),
    Column::number("threads", "threads of\na block", 0),
    Column::number("registers", "registers of\na thread", 0),
    Column::number("shared_bytes", "shared memory of\na block, bytes", 0),
    Column::number("blocks", "blocks of a\nmultiprocessor", 0),
    Column::number("occupancy", "occupancy", 0),
];

/// What each kernel takes, and how many of its blocks a multiprocessor holds.
pub fn kernels(common: &Common, device: &Device) -> Result<()> {
    let bar = ProgressBar::hidden();
    let (major, minor) = device.facts().compute_capability;
    let title = format!(
        "Kernels as machine code for {major}.{minor}: registers and the shared memory that they declare; \
         plans may add to that, or run fewer blocks"
    );
    let mut report = Report::new(common, device, title, &KERNELS, &bar);
    let limits = Limits::of(device);
    let mut bars = Vec::new();
    for image in transpose::raw::images() {
        let Some(code) = loaded(device, image) else {
            report.leave_out(format!("{}: there is no machine code for this chip", image.name()));
            continue;
        };
        let code = code.expanded().with_context(|| format!("{}: damaged", image.name()))?;
        let kernels: HashMap<String, Taken> = taken(&code)?;
        for entry in entries().filter(|entry| entry.family.name() == image.name()) {
            let Some(taken) = kernels.get(entry.name) else { continue };
            let threads = match entry.block {
                Block::Exactly([x, y, z]) => (x * y * z) as usize,
                Block::AtMost(threads) | Block::Within(threads) => threads as usize,
            };
            let blocks = limits.blocks(threads, taken);
            let occupancy = (blocks * threads) as f64 / limits.threads as f64;
            bars.push(Bar::plain(entry.name, image.name(), occupancy));
            report.row(vec![
                image.name().into(),
                entry.name.into(),
                entry.width.bytes().into(),
                threads.into(),
                taken.registers.into(),
                taken.shared_bytes.into(),
                blocks.into(),
                Cell::fraction(occupancy),
            ]);
        }
    }
    report.finish(|| Chart::new("Occupancy", "of the threads that a multiprocessor holds", bars))
}

/// Every row of the table of kernels.
fn entries() -> impl Iterator<Item = &'static Entry> {
    let tables: [&[&[Entry]]; 9] = [
        kernel_abi::classic::CLASSIC,
        kernel_abi::fast::FAST,
        kernel_abi::in_place::IN_PLACE,
        kernel_abi::in_place::STUDIES,
        kernel_abi::tensor::TENSOR,
        kernel_abi::arithmetic::ARITHMETIC_ROWS,
        kernel_abi::arithmetic::ARITHMETIC_PIXELS,
        kernel_abi::arithmetic::ARITHMETIC_MATRICES,
        kernel_abi::arithmetic::ARITHMETIC_TENSORS,
    ];
    tables.into_iter().flatten().copied().flatten()
}

/// What a multiprocessor holds.
struct Limits {
    threads: usize,
    blocks: usize,
    registers: usize,
    shared_bytes: usize,
    /// Shared memory that the system takes of each block, in bytes.
    reserved_bytes: usize,
}

impl Limits {
    /// Those of the device; of Hopper where the driver does not say.
    fn of(device: &Device) -> Self {
        let gpu =
            device.cuda_ordinal().and_then(|ordinal| Driver::get().ok()?.device(ordinal).ok());
        let asked = |attribute, otherwise| {
            let value = gpu.and_then(|gpu| gpu.attribute(DeviceAttribute(attribute)).ok());
            value.and_then(|value| usize::try_from(value).ok()).unwrap_or(otherwise)
        };
        // The numbers are those of cuda.h: CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, …_MAX_BLOCKS_…,
        // …_MAX_REGISTERS_… and …_RESERVED_SHARED_MEMORY_PER_BLOCK.
        Limits {
            threads: asked(39, 2048),
            blocks: asked(106, 32),
            registers: asked(82, 65536),
            shared_bytes: device.facts().multiprocessor_shared,
            reserved_bytes: asked(111, 1024),
        }
    }

    /// How many blocks of so many threads fit.
    fn blocks(&self, threads: usize, taken: &Taken) -> usize {
        /// A warp's registers come in pieces of so many.
        const PIECE: usize = 256;
        let warps = threads.div_ceil(32);
        let registers = warps * (taken.registers * 32).next_multiple_of(PIECE);
        let shared = taken.shared_bytes + self.reserved_bytes;
        let each = [
            self.blocks,
            self.threads / (warps * 32).max(1),
            self.registers / registers.max(1),
            self.shared_bytes / shared.max(1),
        ];
        each.into_iter().min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, Taken};
    use transpose::Device;

    #[test]
    fn the_scarcest_thing_limits_blocks() {
        let hopper = Limits::of(&Device::simulated());
        let blocks = |threads, registers, shared_bytes| {
            hopper.blocks(threads, &Taken { registers, shared_bytes })
        };
        assert_eq!(blocks(32, 16, 0), 32);
        assert_eq!(blocks(1024, 16, 0), 2);
        assert_eq!(blocks(256, 64, 0), 4);
        // 33 registers of a warp come as 40: 1280.
        assert_eq!(blocks(256, 33, 0), 6);
        assert_eq!(blocks(256, 16, 48 << 10), 4);
    }
}
