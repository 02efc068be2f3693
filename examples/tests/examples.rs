//! How the examples end. `cargo test` builds them beside this test.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The built example of that name.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = built.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(path.exists(), "{} is not built: cargo build --examples", path.display());
    path
}

fn quickstart(arguments: &[&str]) -> Output {
    Command::new(example("quickstart")).args(arguments).output().unwrap()
}

/// The quickstart says why it does not transpose such a matrix.
fn refuses(arguments: &[&str], code: i32, why: &str) {
    let output = quickstart(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.starts_with("error: ") && said.contains(why), "{arguments:?}: {said}");
}

#[test]
fn the_quickstart_asks_for_memory_before_it_takes_any() {
    refuses(&["60000000", "60000000"], 1, "GB of host memory are needed");
    refuses(&["4294967296", "4294967296"], 1, "more elements than can be counted");
    refuses(&["a", "3"], 2, "invalid digit");
    for empty in [["0", "5"], ["5", "0"]] {
        assert!(quickstart(&empty).status.success());
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_an_example_quietly() {
    use std::os::unix::process::ExitStatusExt;
    for name in ["quickstart", "windows", "batches", "plan", "transpose_in_place", "errors", "axes"]
    {
        let mut child = Command::new(example(name))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        const SIGPIPE: i32 = 13;
        let ended = output.status.success() || output.status.signal() == Some(SIGPIPE);
        assert!(ended, "{name}: {:?}", output.status);
        assert!(output.stderr.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
