//! What machine code says of its kernels: registers and shared memory, from the ELF file that the assembler wrote.

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolIndex};
use std::collections::HashMap;

/// What a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Registers of a thread.
    pub registers: usize,
    /// Shared memory of a block that the kernel itself declares, in bytes.
    pub shared_bytes: usize,
}

/// Shared memory that the system takes of each block where it takes some, in bytes.
const RESERVED: usize = 1024;

/// What each kernel of the file takes, by its name.
///
/// # Errors
/// A file that is damaged.
pub fn taken(file: &[u8]) -> Result<HashMap<String, Taken>> {
    let elf: ElfFile64 = ElfFile64::parse(file)?;
    let info = elf.section_by_name(".nv.info").context("machine code without .nv.info")?;
    let mut kernels: HashMap<String, Taken> = HashMap::new();
    for (symbol, registers) in registers(info.data()?) {
        let symbol = elf.symbol_by_index(SymbolIndex(symbol as usize))?;
        kernels.entry(symbol.name()?.to_owned()).or_default().registers = registers as usize;
    }
    // Chips that take shared memory of each block for themselves have it in front of the kernel's own: it is counted too.
    let in_front =
        if elf.section_by_name(".nv.shared.reserved.0").is_some() { RESERVED } else { 0 };
    for section in elf.sections() {
        let kernel = section.name()?.strip_prefix(".nv.shared.");
        if let Some(taken) = kernel.and_then(|kernel| kernels.get_mut(kernel)) {
            taken.shared_bytes = (section.size() as usize).saturating_sub(in_front);
        }
    }
    Ok(kernels)
}

/// Symbols and their registers: an item of the section is a format, an attribute, and a value or the length of what follows.
fn registers(mut info: &[u8]) -> Vec<(u32, u32)> {
    /// The format of items that are followed by bytes.
    const SIZED: u8 = 4;
    /// `EIATTR_REGCOUNT`: a symbol and a number.
    const REGISTERS: u8 = 0x2f;
    let mut found = Vec::new();
    while let Some(([format, attribute, low, high], rest)) = info.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let length = if *format == SIZED { length } else { 0 };
        let Some((value, rest)) = rest.split_at_checked(length) else { break };
        if let (&REGISTERS, Ok(value)) = (attribute, <[u8; 8]>::try_from(value)) {
            let [symbol, number] = [&value[..4], &value[4..]]
                .map(|part| part.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte)));
            found.push((symbol, number));
        }
        info = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::taken;

    #[test]
    fn every_kernel_of_every_chip_is_read() {
        for image in transpose::raw::images() {
            let ptx = image.ptx();
            for capability in [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)] {
                // Kernels that are rarely needed have code for fewer chips.
                let Some(code) = image.code(capability, false) else {
                    let name = image.name();
                    assert!(name.starts_with("arithmetic") || name == "in_place_studies");
                    continue;
                };
                let kernels = taken(&code.expanded().unwrap()).unwrap();
                for entry in ptx.split(".entry ").skip(1) {
                    let name = entry.split('(').next().unwrap();
                    let taken = kernels[name];
                    assert!((1..=255).contains(&taken.registers), "{name}: {taken:?}");
                    assert!(taken.shared_bytes <= 48 << 10, "{name}: {taken:?}");
                }
            }
        }
    }

    #[test]
    fn shared_memory_is_what_the_kernels_declare() {
        let classic = transpose::raw::images().find(|image| image.name() == "classic").unwrap();
        for capability in [(7, 5), (8, 0), (9, 0), (10, 0), (12, 0)] {
            let code = classic.code(capability, false).unwrap().expanded().unwrap();
            let kernels = taken(&code).unwrap();
            let bytes =
                ["naive_b4", "tiled_b4", "padded_b8"].map(|name| kernels[name].shared_bytes);
            assert_eq!(bytes, [0, 32 * 32 * 4, 32 * 33 * 8], "{capability:?}");
        }
    }

    #[test]
    fn damaged_code_is_an_error() {
        assert!(taken(b"").is_err());
        assert!(taken(b"\x7fELF, and then nothing of the kind").is_err());
    }
}
