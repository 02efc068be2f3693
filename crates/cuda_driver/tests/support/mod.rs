//! Runs a test in a process of its own, with a driver library of the test's choice: the
//! choice is made once per process, at its first call.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod recording;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

const OVERRIDE: &str = "CUDA_DRIVER_LIBRARY";
const CHILD: &str = "CUDA_DRIVER_TEST_CHILD";

/// Whether this process is one that [`in_fresh_process`] started.
pub fn is_child() -> bool {
    env::var_os(CHILD).is_some()
}

/// Runs the test `name` of this file again in a new process, with `variables` set.
fn again(name: &str, variables: &[(&str, &OsStr)]) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", library_path())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{}\n{said}", output.status);
    assert!(said.contains("1 passed"), "no test ran as {name}:\n{said}");
}

/// Runs `body` with `library` as the driver; the surrounding test is named `name`.
pub fn with_library(name: &str, library: impl AsRef<OsStr>, body: impl FnOnce()) {
    match is_child() {
        true => body(),
        false => again(name, &[(OVERRIDE, library.as_ref())]),
    }
}

/// Runs `body` where there is no driver.
pub fn without_driver(name: &str, body: impl FnOnce()) {
    with_library(name, NO_SUCH_FILE, body);
}

/// The library that [`without_driver`] asks for.
pub const NO_SUCH_FILE: &str = "/no/such/libcuda.so.1";

/// Runs `body` with the driver of `fake_driver.rs`.
pub fn with_fake(name: &str, body: impl FnOnce()) {
    with_compiled(name, "fake_driver", include_str!("fake_driver.rs"), &[], body);
}

/// Runs `body` with a driver that is compiled from `source`; says so and does nothing where there is no compiler.
pub fn with_compiled(
    name: &str,
    library: &str,
    source: &str,
    options: &[&str],
    body: impl FnOnce(),
) {
    // One library a process of tests, however many tests want it at a time.
    static COMPILED: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    if is_child() {
        return body();
    }
    if !has_compiler() {
        return println!("skipped: no Rust compiler to make a driver with");
    }
    let path = {
        let mut compiled = COMPILED.lock().unwrap();
        let compile = || compile(library, source, options);
        compiled.entry(library.to_owned()).or_insert_with(compile).clone()
    };
    again(name, &[(OVERRIDE, path.as_os_str())]);
}

/// The folder in which the recording driver has the name that drivers have.
const USUAL_NAME: &str = "usual_name";

fn compiler() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
}

fn has_compiler() -> bool {
    compiler().arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Compiles `source` to a shared library.
fn compile(name: &str, source: &str, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let unfinished = folder.join(format!("{name}-{}", unique()));
    let library = folder.join(format!("{name}.so"));

    let mut child = compiler()
        .args(["-", "--crate-type=cdylib", "--edition=2024", "-Cpanic=abort", "-Awarnings"])
        .args(["--crate-name", name, "-o"])
        .arg(&unfinished)
        .args(options)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());

    // Processes run side by side; whichever comes last replaces the file by its equal.
    std::fs::rename(&unfinished, &library).unwrap();
    #[cfg(unix)]
    if name == "recording_driver" {
        // For those who look for a driver by its usual name: the same file, so that the loader opens it once.
        let named = folder.join(USUAL_NAME);
        std::fs::create_dir_all(&named).unwrap();
        let _ = std::os::unix::fs::symlink(&library, named.join("libcuda.so"));
    }
    library
}

/// Where the loader looks for libraries: in the folder of the recording driver first.
fn library_path() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(USUAL_NAME);
    match env::var("LD_LIBRARY_PATH") {
        Ok(usual) if !usual.is_empty() => format!("{}:{usual}", folder.display()),
        _ => folder.display().to_string(),
    }
}

fn unique() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id())
}
