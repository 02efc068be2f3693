//! The host's code under AddressSanitizer and ThreadSanitizer: what the compiler cannot see of `unsafe` blocks, and of what the simulator's
//! threads and those of the tests do to each other.
//!
//! Both are unstable options of a stable compiler, unlocked by `RUSTC_BOOTSTRAP`. The sanitizers' libraries come with the toolchains of
//! rustup. ThreadSanitizer has to see the standard library too, or it takes what its locks order for races: that is built from the source
//! that the machine's own compiler has (as for the kernels), by that compiler, with rustup's library.

use crate::command::{cargo, output, run};
use crate::paths;
use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sanitizer {
    /// Accesses outside allocations, or after their end, and memory that nothing refers to any more.
    Address,
    /// Accesses of two threads that nothing orders.
    Thread,
}

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The compiler that has the library's source.
const COMPILER_WITH_SOURCE: &str = "/usr/bin/rustc";

/// A package and the names of its tests that a sanitizer runs; all that it has, where there are no names.
type Tests = (&'static str, &'static [&'static str]);

/// Everything that has unsafe blocks: the driver's interface on drivers that are none, the library's own tests, what it lends and takes.
const FOR_ADDRESS: &[Tests] = &[
    ("cuda-transpose-driver", &[]),
    ("cuda-transpose", &[]),
    (
        "transpose-tests",
        &[
            "arrays",
            "dlpack",
            "host",
            "host_memory",
            "interop",
            "lifetimes",
            "processes",
            "sharded",
            "streams",
            "windows",
        ],
    ),
];

/// What several threads do at once.
const FOR_THREAD: &[Tests] =
    &[("transpose-tests", &["host", "lifetimes", "load", "processes", "sharded", "streams"])];

/// The defects of `tests/planted.rs` that a sanitizer is to see.
const PLANTED_FOR_ADDRESS: [&str; 2] = ["a_use_after_free", "a_leak"];
const PLANTED_FOR_THREAD: [&str; 1] = ["a_race"];

/// Runs the tests under one sanitizer, or under each.
///
/// With the name of a test it runs only that one.
pub fn sanitize(only: Option<Sanitizer>, test: Option<&str>) -> Result<()> {
    for sanitizer in [Sanitizer::Address, Sanitizer::Thread] {
        if only.is_none_or(|only| only == sanitizer) {
            match sanitizer {
                Sanitizer::Address => address(test)?,
                Sanitizer::Thread => thread(test)?,
            }
        }
    }
    Ok(())
}

fn address(only: Option<&str>) -> Result<()> {
    // What is kept for the life of the process, as the simulator's modules are when others take their place, is no leak.
    let kept = paths::root().join("xtask/src/kept.txt");
    let flags = ["-Zsanitizer=address".to_owned()];
    test((FOR_ADDRESS, &PLANTED_FOR_ADDRESS), only, "address", &flags, |command| {
        command.env("LSAN_OPTIONS", format!("suppressions={}", kept.display()));
        // What cannot be had is asked for by tests, and is an answer.
        command.env("ASAN_OPTIONS", "allocator_may_return_null=1");
    })
}

fn thread(only: Option<&str>) -> Result<()> {
    let source = Path::new("/usr/lib/rustlib/src/rust/library/std");
    ensure!(source.is_dir(), "{} is not there: apt-get install rust-web-src", source.display());
    let library = runtime("tsan")?.display().to_string();
    let mut flags = vec!["-Zsanitizer=thread".to_owned(), "-Zexternal-clangrt".to_owned()];
    // Before all else, where the compiler puts it when it has it itself.
    let first = ["-Wl,--whole-archive", &library, "-Wl,--no-whole-archive"];
    flags.extend(first.map(|argument| format!("-Zpre-link-arg={argument}")));
    let last = ["-lstdc++", "-lm", "-lpthread", "-lc"];
    flags.extend(last.map(|library| format!("-Clink-arg={library}")));
    test((FOR_THREAD, &PLANTED_FOR_THREAD), only, "thread", &flags, |command| {
        command.arg("-Zbuild-std").env("RUSTC", COMPILER_WITH_SOURCE);
        // What each access costs the sanitizer in memory is no leak.
        command.env("TRANSPOSE_LOAD_OPERATIONS", "0");
    })
}

/// Builds and runs tests with these flags, in a folder of their own, each by itself; and then what is to be seen.
fn test(
    (tests, planted): (&[Tests], &[&str]),
    only: Option<&str>,
    sanitizer: &str,
    flags: &[String],
    change: impl Fn(&mut Command),
) -> Result<()> {
    let cargo_test = |package: &str, rest: &[&str]| {
        let mut command = cargo();
        command.current_dir(paths::root()).args(["test", "--quiet", "--target", TARGET]);
        command.arg("--target-dir").arg(paths::scratch(sanitizer));
        // What is found is told, and left out, by its functions, inlined ones too.
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");
        command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        change(&mut command);
        command.args(["-p", package, "--all-features"]).args(rest);
        command
    };
    let mut chosen = one_by_one(tests);
    chosen.retain(|(package, name)| only.is_none_or(|only| name.unwrap_or(package) == only));
    ensure!(!chosen.is_empty(), "{sanitizer} has no test {}", only.unwrap_or_default());
    for (package, name) in chosen {
        let start = Instant::now();
        let which = name.map_or(vec!["--tests"], |name| vec!["--test", name]);
        run(&mut cargo_test(package, &which))?;
        let (what, seconds) = (name.unwrap_or(package), start.elapsed().as_secs());
        println!("{sanitizer}, {what}: {seconds} s, nothing found");
    }
    for defect in planted {
        let one = ["--test", "planted", "--", "--ignored", "--exact", defect];
        let ended = cargo_test("transpose-tests", &one).output()?;
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let seen = !ended.status.success() && said.contains("Sanitizer");
        ensure!(seen, "{defect} of tests/planted.rs was not seen:\n{said}");
        println!("{defect}: seen");
    }
    Ok(())
}

/// Each package with each of its names, or with none.
fn one_by_one(tests: &[Tests]) -> Vec<(&str, Option<&str>)> {
    let mut all = Vec::new();
    for &(package, names) in tests {
        all.extend(names.is_empty().then_some((package, None)));
        all.extend(names.iter().map(|&name| (package, Some(name))));
    }
    all
}

/// A sanitizer's library, of the toolchain that runs this.
fn runtime(name: &str) -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let sysroot = output(Command::new(rustc).args(["--print", "sysroot"]))?;
    let sysroot = PathBuf::from(String::from_utf8(sysroot.stdout)?.trim());
    let folder = sysroot.join("lib/rustlib").join(TARGET).join("lib");
    for channel in ["stable", "nightly", "beta"] {
        let library = folder.join(format!("librustc-{channel}_rt.{name}.a"));
        if library.is_file() {
            return Ok(library);
        }
    }
    bail!("{} has no library of {name}: rustup's toolchains have one", folder.display())
}
