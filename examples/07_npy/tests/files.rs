//! What the program does to files, standard input and standard output.
#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const NPY: &str = env!("CARGO_BIN_EXE_npy");

/// A version 1 file as NumPy writes it.
fn file(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let padding = (10 + text.len() + 1).next_multiple_of(64) - 10 - text.len() - 1;
    let text = format!("{text}{}\n", " ".repeat(padding));
    [b"\x93NUMPY\x01\x00", &(text.len() as u16).to_le_bytes()[..], text.as_bytes(), data].concat()
}

/// 2 × 3 bytes, and their transpose.
fn matrix() -> [Vec<u8>; 2] {
    [file("'|u1'", "(2, 3)", false, b"abcdef"), file("'|u1'", "(3, 2)", false, b"adbecf")]
}

/// A folder with `in.npy`, and what becomes of it.
fn folder() -> (TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let [original, transposed] = matrix();
    fs::write(folder.path().join("in.npy"), original).unwrap();
    (folder, transposed)
}

fn npy(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(NPY).current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs the program on `in.npy`, and expects it to succeed.
fn transposes(folder: &Path, target: &str) {
    let output = npy(folder, &["in.npy", target]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains(&format!("wrote {target}: '|u1', (2, 3) to (3, 2), 6 bytes")));
}

/// Runs the program on `in.npy`, and expects it to say why not.
fn refuses(folder: &Path, arguments: &[&str], code: i32, why: &str) {
    let output = npy(folder, arguments);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.lines().last().unwrap().starts_with("error: ") && said.contains(why), "{said}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let (folder, transposed) = folder();
    transposes(folder.path(), "out.npy");
    assert_eq!(fs::read(folder.path().join("out.npy")).unwrap(), transposed);
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().mode();
    assert_eq!(mode("out.npy"), mode("in.npy"));
    assert_eq!(names(folder.path()), ["in.npy", "out.npy"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode() {
    let (folder, transposed) = folder();
    let target = folder.path().join("out.npy");
    for mode in [0o600, 0o640, 0o755] {
        fs::write(&target, "something longer than what is put in its place").unwrap();
        fs::set_permissions(&target, Permissions::from_mode(mode)).unwrap();
        transposes(folder.path(), "out.npy");
        assert_eq!(fs::read(&target).unwrap(), transposed);
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o7777, mode);
    }
    // Also if it is what was read.
    transposes(folder.path(), "in.npy");
    assert_eq!(fs::read(folder.path().join("in.npy")).unwrap(), transposed);
}

/// Runs the program on `in.npy` as somebody who may do in the folder what its mode says: nobody refuses root anything.
fn as_nobody(folder: &Path, mode: u32) -> Output {
    const NOBODY: u32 = 65534;
    let program = folder.join("npy");
    fs::copy(NPY, &program).unwrap();
    fs::set_permissions(folder, Permissions::from_mode(mode)).unwrap();
    let mut command = Command::new(&program);
    command.current_dir(folder).args(["in.npy", "out.npy"]);
    if fs::metadata(folder).unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    // A child that another test has just started may still hold the copy open for writing.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            output => break output.unwrap(),
        }
    };
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    output
}

#[test]
fn a_file_that_may_not_be_written_stays() {
    let (folder, _) = folder();
    let target = folder.path().join("out.npy");
    fs::write(&target, "precious").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o444)).unwrap();
    let output = as_nobody(folder.path(), 0o777);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("out.npy: Permission denied"), "{}", said(&output));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    assert_eq!(names(folder.path()), ["in.npy", "npy", "out.npy"]);
}

#[test]
fn a_folder_may_be_one_that_nobody_reads() {
    let (folder, transposed) = folder();
    let output = as_nobody(folder.path(), 0o333);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::read(folder.path().join("out.npy")).unwrap(), transposed);
}

/// What ends the program while it writes: a limit on the size of files, which is a signal.
#[cfg(target_os = "linux")]
#[test]
fn a_program_that_is_killed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = vec![7; 1 << 20];
    fs::write(folder.path().join("in.npy"), file("'|u1'", "(1024, 1024)", false, &data)).unwrap();
    fs::write(folder.path().join("old.npy"), "as it was").unwrap();
    for target in ["new.npy", "old.npy"] {
        let limited = format!("ulimit -f 16; exec {NPY} in.npy {target} --quiet");
        let mut shell = Command::new("sh");
        let output = shell.current_dir(folder.path()).args(["-c", &limited]).output().unwrap();
        const SIGXFSZ: i32 = 25;
        assert_eq!(output.status.signal(), Some(SIGXFSZ), "{}", said(&output));
        assert_eq!(names(folder.path()), ["in.npy", "old.npy"]);
        assert_eq!(fs::read(folder.path().join("old.npy")).unwrap(), b"as it was");
    }
}

#[test]
fn links_are_followed() {
    let (folder, transposed) = folder();
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    fs::write(there.join("real.npy"), "old").unwrap();
    symlink("there/real.npy", folder.path().join("out.npy")).unwrap();
    transposes(folder.path(), "out.npy");
    assert!(folder.path().join("out.npy").is_symlink());
    assert_eq!(fs::read(there.join("real.npy")).unwrap(), transposed);
    assert_eq!(names(&there), ["real.npy"]);

    symlink("nowhere.npy", folder.path().join("dangling.npy")).unwrap();
    refuses(folder.path(), &["in.npy", "dangling.npy"], 1, "a link that leads nowhere");
}

#[test]
fn pipes_and_devices_are_written_to() {
    let (folder, transposed) = folder();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    transposes(folder.path(), "pipe");
    assert_eq!(reader.join().unwrap(), transposed);
    assert_eq!(names(folder.path()), ["in.npy", "pipe"]);

    let device = fs::metadata("/dev/null").unwrap();
    transposes(folder.path(), "/dev/null");
    let after = fs::metadata("/dev/null").unwrap();
    assert_eq!((device.ino(), device.mode()), (after.ino(), after.mode()));
    if Path::new("/dev/full").exists() {
        refuses(folder.path(), &["in.npy", "/dev/full"], 1, "/dev/full: No space left");
    }
    refuses(folder.path(), &["in.npy", "."], 1, "is a folder");
    refuses(folder.path(), &["in.npy", "nowhere/out.npy"], 1, "nowhere");
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let (folder, transposed) = folder();
    let mut child = Command::new(NPY)
        .args(["-", "-", "--quiet"])
        .stdin(File::open(folder.path().join("in.npy")).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
    assert_eq!(out, transposed);
    // `--device` and what is read stand in messages.
    let output = npy(folder.path(), &["-", "-", "--device", "sim"]);
    assert_eq!(said(&output), "error: standard input: not a .npy file: it has no header\n");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let data = vec![7; 1 << 20];
    fs::write(folder.path().join("in.npy"), file("'|u1'", "(1024, 1024)", false, &data)).unwrap();
    let mut child = Command::new(NPY)
        .current_dir(folder.path())
        .args(["in.npy", "-", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();
    let output = child.wait_with_output().unwrap();
    const SIGPIPE: i32 = 13;
    assert_eq!(output.status.signal(), Some(SIGPIPE));
    assert!(output.stderr.is_empty(), "{}", said(&output));
}

#[test]
fn axes_orders_and_strategies() {
    let folder = tempfile::tempdir().unwrap();
    let out = |original: &[u8], arguments: &[&str]| {
        fs::write(folder.path().join("in.npy"), original).unwrap();
        let output = npy(folder.path(), &[&["in.npy", "out.npy", "--quiet"], arguments].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", said(&output));
        fs::read(folder.path().join("out.npy")).unwrap()
    };
    let cube = file("'|V3'", "(2, 2, 1)", false, b"aaabbbcccddd");
    assert_eq!(out(&cube, &[]), file("'|V3'", "(1, 2, 2)", false, b"aaacccbbbddd"));
    assert_eq!(
        out(&cube, &["--axes", "0,2,1"]),
        file("'|V3'", "(2, 1, 2)", false, b"aaabbbcccddd")
    );
    // An array in Fortran order comes out in C order, which is how its transpose lies already.
    let fortran = file("'<u2'", "(3, 2)", true, b"aabbccddeeff");
    assert_eq!(out(&fortran, &[]), file("'<u2'", "(2, 3)", false, b"aabbccddeeff"));
    assert_eq!(out(&fortran, &["--axes", "0,1"]), file("'<u2'", "(3, 2)", false, b"aaddbbeeccff"));
    // Axes of one element are none that a tensor has to have.
    let ones = "1, ".repeat(30);
    let long = file("'|u1'", &format!("(2, {ones}3)"), false, b"abcdef");
    assert_eq!(out(&long, &[]), file("'|u1'", &format!("(3, {ones}2)"), false, b"adbecf"));
    // Strategies keep the order.
    let tiled = file("'<u2'", "(2, 3)", true, b"aaddbbeeccff");
    assert_eq!(out(&fortran, &["--strategy", "tiled"]), tiled);
    for empty in ["(0, 5)", "()", "(7,)"] {
        let data = if empty == "(0, 5)" {
            0
        } else if empty == "()" {
            4
        } else {
            28
        };
        let original = file("'<f4'", empty, false, &vec![1; data]);
        let shape = if empty == "(0, 5)" { "(5, 0)" } else { empty };
        assert_eq!(out(&original, &[]), file("'<f4'", shape, false, &vec![1; data]));
    }
    assert_eq!(out(&file("'|V0'", "(2, 3)", false, b""), &[]), file("'|V0'", "(3, 2)", false, b""));

    fs::write(folder.path().join("in.npy"), &cube).unwrap();
    let twos = format!("({})", ["2"; 16].join(", "));
    fs::write(folder.path().join("deep.npy"), file("'|u1'", &twos, false, &[0; 1 << 16])).unwrap();
    refuses(folder.path(), &["deep.npy", "o"], 1, "16 axes longer than 1; 15 are the most");
    fs::remove_file(folder.path().join("deep.npy")).unwrap();
    refuses(folder.path(), &["in.npy", "o", "--axes", "0,1"], 2, "is no order of 3 axes");
    refuses(folder.path(), &["in.npy", "o", "--axes", "0,1,1"], 2, "is no order of 3 axes");
    refuses(folder.path(), &["in.npy", "o", "--strategy", "tiled"], 2, "transposes two axes");
    refuses(folder.path(), &["nothing.npy", "o"], 1, "nothing.npy: No such file");
    fs::write(folder.path().join("in.npy"), file("'<f8'", "(10000000, 10000000)", false, b""))
        .unwrap();
    let tiled = ["in.npy", "o", "--strategy", "tiled"];
    refuses(folder.path(), &tiled, 1, "GB of host memory are needed");
    refuses(folder.path(), &["in.npy", "o"], 1, "truncated: [10000000, 10000000] of 8 bytes");
    let most = usize::MAX;
    fs::write(folder.path().join("in.npy"), file("'<f8'", &format!("({most}, 3)"), false, b""))
        .unwrap();
    refuses(folder.path(), &["in.npy", "o"], 1, "are too many");
    fs::write(folder.path().join("in.npy"), &cube[..cube.len() - 1]).unwrap();
    refuses(
        folder.path(),
        &["in.npy", "o"],
        1,
        "truncated: [2, 2, 1] of 3 bytes are 12 bytes, found 11",
    );
    assert_eq!(npy(folder.path(), &["in.npy"]).status.code(), Some(2));
    assert_eq!(names(folder.path()), ["in.npy", "out.npy"]);
}

#[test]
fn what_follows_an_array_is_told() {
    let (folder, transposed) = folder();
    let mut file = File::options().append(true).open(folder.path().join("in.npy")).unwrap();
    file.write_all(b"another").unwrap();
    let output = npy(folder.path(), &["in.npy", "out.npy"]);
    assert!(said(&output).contains("something follows the array in in.npy"), "{}", said(&output));
    assert_eq!(fs::read(folder.path().join("out.npy")).unwrap(), transposed);
}

/// Every way to move, with buffers that hold the array many times over and with some that hold a small part of it.
#[test]
fn files_larger_than_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, cols) = (150, 203);
    for bytes in [1, 2, 3, 4, 8, 16] {
        let data: Vec<u8> = (0..rows * cols * bytes).map(|at| (at * 7 / 5) as u8).collect();
        let moved: Vec<u8> = (0..rows * cols)
            .flat_map(|at| {
                let element = (at % rows * cols + at / rows) * bytes;
                data[element..element + bytes].to_vec()
            })
            .collect();
        let descr = format!("'|V{bytes}'");
        let original = file(&descr, &format!("({rows}, {cols})"), false, &data);
        let expected = file(&descr, &format!("({cols}, {rows})"), false, &moved);
        fs::write(folder.path().join("in.npy"), original).unwrap();
        for device in ["cpu", "sim"] {
            for memory in ["4KiB", "70000", "1GiB"] {
                let arguments = ["in.npy", "out.npy", "--device", device, "--memory", memory];
                let output = npy(folder.path(), &arguments);
                assert!(output.status.success(), "{}", said(&output));
                let found = fs::read(folder.path().join("out.npy")).unwrap();
                assert!(found == expected, "{arguments:?}, {bytes} bytes");
            }
        }
    }
    refuses(folder.path(), &["in.npy", "o", "--memory", "31B"], 1, "`memory` is 31");
    let refused = npy(folder.path(), &["in.npy", "o", "--memory", "1TB"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(names(folder.path()), ["in.npy", "out.npy"]);
}

/// The system's own account of the most memory that the program had at a time.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_below_its_limit() {
    for (side, device, limit, bytes) in [
        (12_000, "cpu", "16MiB", 16 << 20),
        (12_000, "cpu", "100MiB", 100 << 20),
        (3_000, "sim", "1MiB", 1 << 20),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let header = file("'<f4'", &format!("({side}, {side})"), false, b"");
        let input = File::create(folder.path().join("in.npy")).unwrap();
        // Of the larger one 576 MB, which take no room on the disk.
        let length = header.len() as u64 + side * side * 4;
        (&input).write_all(&header).unwrap();
        input.set_len(length).unwrap();
        let mut child = Command::new(NPY)
            .current_dir(folder.path())
            .args(["in.npy", "out.npy", "--device", device, "--memory", limit, "--quiet"])
            .spawn()
            .unwrap();
        let most = most_resident(&mut child);
        assert!(child.wait().unwrap().success());
        assert!(most > 0 && most <= bytes + (64 << 20), "{device}, {limit}: {most} bytes");
        assert_eq!(fs::metadata(folder.path().join("out.npy")).unwrap().len(), length);
    }
}

/// The most bytes that a program had until it ended, by the system's account.
#[cfg(target_os = "linux")]
fn most_resident(child: &mut std::process::Child) -> u64 {
    let account = format!("/proc/{}/status", child.id());
    let mut most = 0;
    // What is left of it when it has ended no longer says.
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&account).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = kib.map_or(most, |kib| kib << 10).max(most);
        std::thread::sleep(Duration::from_millis(1));
    }
    most
}

/// A program that may not have the memory says so; it is not ended by what allocates.
#[cfg(target_os = "linux")]
#[test]
fn less_memory_than_an_array_takes_is_an_error() {
    let (folder, _) = folder();
    let large = file("'<f4'", "(6000, 5000)", false, &vec![0; 6000 * 5000 * 4]);
    fs::write(folder.path().join("large.npy"), large).unwrap();
    // Of a stream the whole array is held, and its permutation, twice each.
    let limited = format!("ulimit -v 260000; exec {NPY} - out.npy --device cpu < large.npy");
    let output = Command::new("sh")
        .args(["-c", &limited])
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("of host memory are needed"), "{}", said(&output));
    assert!(!folder.path().join("out.npy").exists());
}

/// A program that gets no threads, for want of memory for their stacks, does the work by those that it has.
#[cfg(target_os = "linux")]
#[test]
fn fewer_threads_than_cores_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = file("'<f4'", "(500, 600)", false, &vec![0; 500 * 600 * 4]);
    fs::write(folder.path().join("in.npy"), zeros).unwrap();
    let mut done = 0;
    for kib in (12..64).map(|mib| mib << 10) {
        let limited =
            format!("ulimit -v {kib}; exec {NPY} in.npy out.npy --device cpu --memory 64KiB");
        let mut shell = Command::new("sh");
        let output = shell.current_dir(folder.path()).args(["-c", &limited]).output().unwrap();
        // A thread that began and finds no memory for its signal stack is ended by the standard library; that is not the program's to mend.
        let said = said(&output);
        let mut panics = said.lines().filter(|line| line.contains("panicked at"));
        assert!(panics.all(|line| line.contains("unix/stack_overflow.rs")), "{kib} KiB: {said}");
        done += usize::from(output.status.success());
    }
    assert!(done > 0, "no limit lets the program begin");
}

/// Signals, and a file system that takes no more: an error or an end, the input as it was, and no output.
#[cfg(target_os = "linux")]
#[test]
fn what_is_not_finished_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    // Zeros that are on no disk, so many that a signal comes before the end however late it is.
    let header = file("'<f4'", "(30000, 30000)", false, b"");
    let length = header.len() as u64 + 30000 * 30000 * 4;
    fs::write(folder.path().join("in.npy"), header).unwrap();
    let input = File::options().write(true).open(folder.path().join("in.npy")).unwrap();
    input.set_len(length).unwrap();
    // Whoever started the tests may have had this signal ignored, as shells have for what runs behind them; so has npy then.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let interrupts = u64::from_str_radix(ignored, 16).unwrap() >> 1 & 1 == 0;
    for signal in ["INT", "TERM", "KILL"] {
        if signal == "INT" && !interrupts {
            continue;
        }
        let mut child = Command::new(NPY)
            .current_dir(folder.path())
            .args(["in.npy", "out.npy", "--device", "cpu", "--quiet"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(60));
        let (signal_name, id) = (format!("-{signal}"), child.id().to_string());
        assert!(Command::new("kill").args([signal_name, id]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), None, "{signal}");
        assert_eq!(names(folder.path()), ["in.npy"]);
    }
    let limited = format!("trap '' XFSZ; ulimit -f 16; exec {NPY} in.npy out.npy --quiet");
    let mut shell = Command::new("sh");
    let output = shell.current_dir(folder.path()).args(["-c", &limited]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let message = said(&output);
    assert!(message.starts_with("error: out.npy cannot be written at byte "), "{message}");
    assert!(message.contains("File too large"), "{message}");
    assert_eq!(names(folder.path()), ["in.npy"]);
    assert_eq!(fs::metadata(folder.path().join("in.npy")).unwrap().len(), length);
}
