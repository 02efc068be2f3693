//! Reading machine code for one known fault of the assembler: bits of two registers taken for bits of one.
//!
//! `R2P` loads several bits of one register into predicates. `ptxas` 13.5 makes it of tests of neighbouring bits, and of
//! four addresses whose two bits it tested it once took one bit of the first from there and the other from the second
//! address (decision 146). What it left was an `R2P` whose mask has one bit, for which it otherwise has cheaper
//! instructions: so one of these is an error, to be looked at.

use anyhow::{Result, ensure};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection};

/// The lower 12 bits of `R2P` with a constant mask, for compute capabilities 7.0 to 12.0.
const R2P: u64 = 0x804;

/// Refuses machine code with an `R2P` of one bit.
pub fn check(cubin: &[u8]) -> Result<()> {
    let elf: ElfFile64 = ElfFile64::parse(cubin)?;
    let mut kernels = 0;
    for section in elf.sections() {
        let Some(kernel) = section.name()?.strip_prefix(".text.") else { continue };
        kernels += 1;
        ensure!(
            !of(section.data()?).any(loads_one_bit),
            "{kernel}: an R2P of one bit, whose other bit may have been taken from another register: decision 146"
        );
    }
    ensure!(kernels > 0, "machine code without kernels");
    Ok(())
}

/// The first halves of the instructions of a kernel; each has 16 bytes.
fn of(text: &[u8]) -> impl Iterator<Item = u64> {
    text.chunks_exact(16)
        .filter_map(|instruction| instruction.first_chunk().copied())
        .map(u64::from_le_bytes)
}

/// Whether it is an `R2P`.
fn is_r2p(instruction: u64) -> bool {
    instruction & 0xfff == R2P
}

/// Whether it is an `R2P` whose mask, the upper 32 bits, has one bit.
fn loads_one_bit(instruction: u64) -> bool {
    is_r2p(instruction) && (instruction >> 32).is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::{check, is_r2p, loads_one_bit, of};
    use crate::{pack, paths};
    use object::read::elf::ElfFile64;
    use object::{Object, ObjectSection};

    /// `R2P PR, R7, 0xc` as `nvdisasm` has it.
    const TWO_BITS: u64 = 0x0000_000c_0700_7804;

    #[test]
    fn one_bit_is_told_from_two() {
        assert!(!loads_one_bit(TWO_BITS));
        assert!(loads_one_bit(TWO_BITS & !(4 << 32)));
        // A move of 8 to a register.
        assert!(!loads_one_bit(0x0000_0008_0007_7802));
    }

    #[test]
    fn what_ships_is_read_and_one_bit_less_is_found() {
        let path = paths::shipped_cubin("fast", "sm_90");
        let mut cubin = pack::read(&path).unwrap();
        check(&cubin).unwrap();
        let elf: ElfFile64 = ElfFile64::parse(cubin.as_slice()).unwrap();
        let mask = elf
            .sections()
            .filter(|section| section.name().unwrap().starts_with(".text."))
            .find_map(|section| {
                let found = of(section.data().unwrap()).position(is_r2p)?;
                Some(section.file_range().unwrap().0 as usize + 16 * found + 4)
            })
            .expect("an R2P");
        // The masks of this family have two bits, both of them in the first byte.
        cubin[mask] &= cubin[mask] - 1;
        let error = check(&cubin).unwrap_err().to_string();
        assert!(error.contains("R2P of one bit"), "{error}");
    }

    #[test]
    fn damaged_machine_code_is_an_error() {
        assert!(check(b"").is_err());
    }
}
