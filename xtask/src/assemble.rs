//! Assembling the PTX with NVIDIA's `ptxas`: does every supported chip take it, do the kernels
//! stay in registers, has the assembler made a fault that it is known for, and is the machine code that ships what comes out?
//!
//! That is the PTX that ships, and for one chip some that is built for it alone ([`BUILT_FOR_HOPPER`]).
//!
//! `ptxas` is taken from the variable `PTXAS`, from the path, or from its wheel on PyPI. Its version is
//! recorded beside the cubins: another version may choose other instructions, so only the
//! recorded one is compared with, byte for byte. The cubins ship packed, and are compared as they were
//! before: a compressor may choose too.

use crate::command::{output, run};
use crate::{instructions, pack, paths, ptx};
use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The chips that the library supports: Turing, Ampere, Hopper, Blackwell. Code for one runs on all
/// later ones of its generation.
const CHIPS: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// The families whose machine code is large or rarely needed: it ships for these chips alone, and their PTX serves the others. (crates.io takes 10 MiB.)
const RARE: ([&str; 5], [&str; 4]) = (
    [
        "arithmetic_rows",
        "arithmetic_pixels",
        "arithmetic_matrices",
        "arithmetic_tensors",
        "in_place_studies",
    ],
    ["sm_80", "sm_90", "sm_100", "sm_120"],
);

/// The wheel that carries the assembler.
pub const WHEEL: &str = "nvidia-cuda-nvcc==13.5.37";

/// The chip that some code is built anew for.
const HOPPER: &str = "sm_90";

/// That code: the family, more features of the kernel crate, and the cubin's name. In place, and with more than two
/// axes, nothing is lost by `evict_last`, so there that is the chip's only code.
pub const BUILT_FOR_HOPPER: [(&str, &[&str], &str); 9] = [
    ("fast", &[], "fast"),
    ("fast", &["evict_last"], "fast_evict_last"),
    ("in_place", &["evict_last"], "in_place"),
    ("in_place_studies", &["evict_last"], "in_place_studies"),
    ("tensor", &["evict_last"], "tensor"),
    ("arithmetic_rows", &["evict_last"], "arithmetic_rows"),
    ("arithmetic_pixels", &["evict_last"], "arithmetic_pixels"),
    ("arithmetic_matrices", &["evict_last"], "arithmetic_matrices"),
    ("arithmetic_tensors", &["evict_last"], "arithmetic_tensors"),
];

/// Assembles the families, all or the one named, for every chip; writes the cubins or compares them with what ships; whether it was
/// done by the recorded assembler.
pub fn assemble(write: bool, only: Option<&str>) -> Result<bool> {
    let ptxas = ptxas()?;
    let version = version(&ptxas)?;
    let recorded = fs::read_to_string(paths::assembler_version()).unwrap_or_default();
    ensure_of_all(write, only, (&version, &recorded))?;
    fs::create_dir_all(paths::scratch(""))?;
    let sources = sources(write, only)?;
    let assembled: Vec<_> =
        sources.par_iter().map(|source| source.assemble(&ptxas)).collect::<Result<_>>()?;
    for (source, (Resources { kernels, registers }, cubin)) in sources.iter().zip(assembled) {
        let &Source { name, chip, comparable, .. } = source;
        let shipped = Shipped(paths::shipped_cubin(name, chip));
        let ships = !RARE.0.contains(&name) || RARE.1.contains(&chip);
        let outcome = if ships {
            shipped.settle(&cubin, write, comparable && version == recorded)?
        } else {
            "not shipped"
        };
        println!(
            "{name} on {chip}: {kernels} kernels, at most {registers} registers, \
             no stack, no spills, cubin {outcome}"
        );
    }
    if write {
        fs::write(paths::assembler_version(), version)?;
    } else if version != recorded {
        println!("the cubins were not compared: they are not recorded to be built by {version}");
        return Ok(false);
    }
    Ok(true)
}

/// Refuses to write one family by an assembler that the others do not come from: the record is of all.
fn ensure_of_all(write: bool, only: Option<&str>, (version, recorded): (&str, &str)) -> Result<()> {
    if let Some(family) = only.filter(|_| write && version != recorded) {
        bail!(
            "not {family} alone, by {version}: the others are recorded to be built by {recorded:?}"
        );
    }
    Ok(())
}

/// What is assembled of all families, or of one. What is built for that is written, or compared with what is kept.
fn sources(write: bool, only: Option<&str>) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    let is_wanted = |family: &str| only.is_none_or(|only| only == family);
    for family in paths::FAMILIES.into_iter().filter(|family| is_wanted(family)) {
        let anew = BUILT_FOR_HOPPER.iter().any(|&(of, ..)| of == family);
        let chips = CHIPS.into_iter().filter(|&chip| chip != HOPPER || !anew);
        sources.extend(chips.map(|chip| Source::shipped(family, chip)));
    }
    for (family, features, name) in BUILT_FOR_HOPPER {
        if !is_wanted(family) {
            continue;
        }
        sources.push(Source::for_hopper(family, features, name, write)?);
    }
    Ok(sources)
}

/// PTX to assemble for a chip.
struct Source {
    /// The cubin's name.
    name: &'static str,
    chip: &'static str,
    ptx: PathBuf,
    /// Whether the PTX is what the shipped cubin was made from.
    comparable: bool,
}

impl Source {
    /// PTX that ships.
    fn shipped(family: &'static str, chip: &'static str) -> Self {
        Source { name: family, chip, ptx: paths::shipped_ptx(family), comparable: true }
    }

    /// PTX that does not ship.
    fn for_hopper(
        family: &str,
        features: &[&str],
        name: &'static str,
        write: bool,
    ) -> Result<Self> {
        let (ptx, comparable) = ptx::for_hopper(family, features, write)?;
        Ok(Source { name, chip: HOPPER, ptx, comparable })
    }

    /// Its machine code, and what the assembler says of that.
    fn assemble(&self, ptxas: &Path) -> Result<(Resources, Vec<u8>)> {
        let cubin = paths::scratch(&format!("assemble-{}-{}.cubin", self.name, self.chip));
        let report = output(
            Command::new(ptxas)
                .arg("-v")
                .arg(format!("-arch={}", self.chip))
                .arg(&self.ptx)
                .arg("-o")
                .arg(&cubin),
        )?;
        let resources = Resources::of(&String::from_utf8_lossy(&report.stderr))?;
        let cubin = fs::read(&cubin)?;
        instructions::check(&cubin).with_context(|| format!("{} on {}", self.name, self.chip))?;
        Ok((resources, cubin))
    }
}

/// A cubin in the repository, packed.
struct Shipped(PathBuf);

impl Shipped {
    /// Holds what ships to what was built: the same, or rewritten, or an error if it can be compared. Says which.
    fn settle(&self, built: &[u8], write: bool, comparable: bool) -> Result<&'static str> {
        match pack::read(&self.0) {
            Ok(shipped) if shipped == built => Ok("identical"),
            _ if write => self.write(built).map(|()| "written"),
            Ok(_) if !comparable => Ok("not compared"),
            Ok(_) => {
                bail!("{} is not what the PTX assembles to: `cargo xtask cubin`", self.0.display())
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self, cubin: &[u8]) -> Result<()> {
        let file = pack::pack(&self.0, cubin)?;
        fs::write(&self.0, file).with_context(|| self.0.display().to_string())
    }
}

/// The line in which an assembler names its version.
fn version(ptxas: &Path) -> Result<String> {
    let output = output(Command::new(ptxas).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("release")).context("no version")?;
    Ok(line.to_owned())
}

/// What `ptxas -v` reports of all kernels together.
#[derive(Debug, PartialEq)]
struct Resources {
    kernels: usize,
    registers: u32,
}

impl Resources {
    /// Reads a report; a kernel that uses its stack is an error.
    fn of(report: &str) -> Result<Self> {
        let mut resources = Resources { kernels: 0, registers: 0 };
        let mut kernel = "";
        for line in report.lines() {
            if let Some((_, name)) = line.split_once("Compiling entry function ") {
                kernel = name;
            } else if line.contains("bytes stack frame") {
                let clean = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
                if line.trim() != clean {
                    bail!("{kernel}: {}", line.trim());
                }
            } else if let Some((_, used)) = line.split_once(": Used ") {
                let count = used.split(' ').next().context("no register count")?;
                resources.kernels += 1;
                resources.registers = resources.registers.max(count.parse()?);
            }
        }
        ensure!(resources.kernels > 0, "the assembler reported no kernel:\n{report}");
        Ok(resources)
    }
}

/// The assembler, fetched if it is nowhere.
fn ptxas() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("PTXAS") {
        return Ok(path.into());
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    if let Some(path) =
        std::env::split_paths(&search).map(|p| p.join("ptxas")).find(|p| p.is_file())
    {
        return Ok(path);
    }
    let folder = paths::scratch("cuda-nvcc");
    let path = folder.join("nvidia/cu13/bin/ptxas");
    if !path.is_file() {
        println!("fetching {WHEEL}");
        run(Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg(WHEEL))
        .context("ptxas: set PTXAS, or put it on the path, or let pip fetch it")?;
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::{Resources, Shipped, ensure_of_all};
    use std::fs;

    const CLEAN: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'copy_b4' for 'sm_90'
ptxas info    : Function properties for copy_b4
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 400 bytes cmem[0]
";

    #[test]
    fn a_clean_report_passes() {
        assert_eq!(Resources::of(CLEAN).unwrap(), Resources { kernels: 1, registers: 24 });
    }

    #[test]
    fn stack_and_spills_are_refused_by_name() {
        for (clean, used) in
            [("0 bytes stack", "16 bytes stack"), ("0 bytes spill l", "4 bytes spill l")]
        {
            let error = Resources::of(&CLEAN.replace(clean, used)).unwrap_err().to_string();
            assert!(error.contains("copy_b4"), "{error}");
        }
        assert!(Resources::of("").is_err());
    }

    #[test]
    fn one_family_alone_is_written_by_the_assembler_of_the_others() {
        assert!(ensure_of_all(true, Some("fast"), ("new", "old")).is_err());
        assert!(ensure_of_all(true, Some("fast"), ("new", "")).is_err());
        for (write, only, recorded) in
            [(true, Some("fast"), "new"), (true, None, "old"), (false, Some("fast"), "old")]
        {
            assert!(ensure_of_all(write, only, ("new", recorded)).is_ok());
        }
    }

    #[test]
    fn what_ships_is_held_to_what_was_built() {
        let path = format!("transpose-xtask-{}.cubin.lz4", std::process::id());
        let file = Shipped(std::env::temp_dir().join(path));
        let cubin = b"sixteen bytes, sixteen bytes, sixteen bytes, sixteen".as_slice();
        assert!(file.settle(cubin, false, false).is_err());
        assert_eq!(file.settle(cubin, true, true).unwrap(), "written");
        assert_eq!(file.settle(cubin, true, true).unwrap(), "identical");
        // Compressed in another way.
        fs::write(&file.0, lz4::block::compress(cubin, None, true).unwrap()).unwrap();
        assert_eq!(file.settle(cubin, false, true).unwrap(), "identical");
        assert_eq!(file.settle(&cubin[1..], false, false).unwrap(), "not compared");
        assert!(file.settle(&cubin[1..], false, true).is_err());
        // Damaged: in the length, in the instructions of the block, in its literal bytes.
        let intact = fs::read(&file.0).unwrap();
        for at in [0, 4, 5] {
            let mut damaged = intact.clone();
            damaged[at] ^= 1;
            fs::write(&file.0, damaged).unwrap();
            assert!(file.settle(cubin, false, true).is_err(), "byte {at}");
        }
        assert_eq!(file.settle(cubin, true, false).unwrap(), "written");
        fs::remove_file(&file.0).unwrap();
    }
}
