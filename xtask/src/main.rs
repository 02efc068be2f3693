//! Chores of this repository: `cargo xtask --help`.

mod assemble;
mod bundle;
mod command;
mod copy;
mod downstream;
mod fuzz;
mod hopper;
mod instructions;
mod pack;
mod package;
mod paths;
mod ptx;
mod published;
mod sanitize;
mod shipped;
mod tables;
mod unsafe_code;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Chores of this repository")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build the kernels and write transpose/ptx/.
    Ptx {
        /// Write nothing; fail if what is there differs from what the kernels compile to.
        #[arg(long)]
        check: bool,
        /// Only this family of kernels.
        #[arg(value_parser = PossibleValuesParser::new(paths::FAMILIES))]
        family: Option<String>,
    },
    /// Assemble the shipped PTX for every supported chip; fail on spills, stack use, what a known fault of the assembler leaves, or cubins that
    /// are not what comes out.
    Assemble,
    /// Like assemble, and write the cubins, and into tests/hopper/ the PTX that those for compute capability 9.0 are made of.
    Cubin {
        /// Only this family of kernels.
        #[arg(value_parser = PossibleValuesParser::new(paths::FAMILIES))]
        family: Option<String>,
    },
    /// Like `ptx --check` and `assemble`, unless that was recorded for the files as they are.
    Shipped {
        /// Check in any case, and record it.
        #[arg(long)]
        record: bool,
    },
    /// Run the tests in the simulator on the PTX that the machine code for compute capability 9.0 is made of.
    Hopper,
    /// Type-check the kernels on the host against cuda_std as published on crates.io.
    Published,
    /// Build and run projects outside the workspace from the packages, each with one line for the library, without a CUDA toolkit.
    Downstream,
    /// Package every published crate, document it as docs.rs does, and list what of other crates its interface shows.
    Package,
    /// Collect the tests, tables and examples as programs for a GPU machine that has no Rust.
    Bundle {
        /// The folder to write.
        #[arg(default_value = "bundle")]
        folder: PathBuf,
    },
    /// Look for inputs that break something, and keep those that run code that no other does. Needs a C++ compiler.
    Fuzz {
        /// One of the tests of crates/fuzz; all without this.
        #[arg(value_parser = PossibleValuesParser::new(fuzz::TARGETS))]
        target: Option<String>,
        /// How long to fuzz each of them.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Write into tests/ratchet.txt what each kernel costs now.
    Ratchet,
    /// Run the tests of the host's code under AddressSanitizer, ThreadSanitizer, or both.
    Sanitize {
        /// Which; both without this.
        sanitizer: Option<sanitize::Sanitizer>,
        /// Only the test, or the package, of this name.
        test: Option<String>,
    },
    /// Count unsafe code into docs/results/unsafe.csv, where each part of it has its proof named.
    Unsafe {
        /// Write nothing; fail if a count would change.
        #[arg(long)]
        check: bool,
    },
    /// Write the tables of README.md and docs/ from the figures in docs/results/.
    Tables {
        /// Write nothing; fail if a table is not what the figures say.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> anyhow::Result<()> {
    sigpipe::reset(); // a reader that goes away ends the program quietly
    match Arguments::parse().chore {
        Chore::Ptx { check, family } => ptx::ptx(check, family.as_deref()).map(drop),
        Chore::Assemble => assemble::assemble(false, None).map(drop),
        Chore::Cubin { family } => assemble::assemble(true, family.as_deref()).map(drop),
        Chore::Shipped { record } => shipped::check(record),
        Chore::Hopper => hopper::simulate(),
        Chore::Published => published::check(),
        Chore::Downstream => downstream::check(),
        Chore::Package => package::check(),
        Chore::Bundle { folder } => bundle::bundle(&folder),
        Chore::Fuzz { target, seconds } => fuzz::fuzz(target.as_deref(), seconds),
        Chore::Ratchet => ratchet(),
        Chore::Sanitize { sanitizer, test } => sanitize::sanitize(sanitizer, test.as_deref()),
        Chore::Unsafe { check } => unsafe_code::count(check),
        Chore::Tables { check } => tables::tables(check),
    }
}

/// Runs the test that holds the kernels to the file, told to rewrite it.
fn ratchet() -> anyhow::Result<()> {
    command::run(
        command::cargo()
            .current_dir(paths::root())
            .args(["test", "--quiet", "-p", "transpose-tests", "--test", "ratchet"])
            .env("TRANSPOSE_RATCHET_REWRITE", "1"),
    )
}

#[cfg(test)]
mod tests {
    use super::{Arguments, fuzz, paths};
    use clap::Parser;

    #[test]
    fn unknown_names_are_answered_by_the_known_ones() {
        for (chore, known) in
            [("ptx", &paths::FAMILIES[..]), ("cubin", &paths::FAMILIES), ("fuzz", &fuzz::TARGETS)]
        {
            let parse = |name| Arguments::try_parse_from(["xtask", chore, name]);
            let said = parse("typo").map(drop).unwrap_err().to_string();
            for name in known {
                assert!(parse(name).is_ok() && said.contains(name), "{chore} {name}: {said}");
            }
        }
    }
}
