//! How the examples end. `cargo test` builds them beside this test.

use std::fs;
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
    Command::new(example("quickstart")).args(arguments).args(["--device", "sim"]).output().unwrap()
}

/// The quickstart says why it does not transpose such a matrix.
fn refuses(arguments: &[&str], code: i32, why: &str) {
    let output = quickstart(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains("error: ") && said.contains(why), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn the_quickstart_asks_for_memory_before_it_takes_any() {
    refuses(&["60000000", "60000000"], 1, "GB of host memory are needed");
    refuses(&["4294967296", "4294967296"], 2, "more bytes than can be addressed");
    refuses(&["a", "3"], 2, "invalid digit");
    refuses(&["0", "5"], 2, "an empty matrix");
    refuses(&["5", "0"], 2, "an empty matrix");
}

#[test]
fn the_quickstart_has_the_habits_of_the_programs() {
    let folder = tempfile::tempdir().unwrap();
    let [csv, svg] = ["figures.csv", "chart.svg"].map(|name| folder.path().join(name));
    let files = ["--csv", csv.to_str().unwrap(), "--svg", svg.to_str().unwrap()];
    let output = quickstart(&[&["70", "50", "--quiet"], &files[..]].concat());
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    for strategy in ["naive", "tiled", "padded", "diagonal", "auto"] {
        assert!(table.contains(&format!("\n{strategy} ")), "{strategy}: {table}");
    }
    assert!(table.contains("70 × 50 elements of 4 bytes, all results verified"), "{table}");
    let csv = fs::read_to_string(csv).unwrap();
    assert!(
        csv.starts_with("strategy,rows,cols,element_bytes,gb_per_s,") && csv.lines().count() == 6
    );
    assert!(fs::read_to_string(svg).unwrap().contains(">the simulator, 20"));
    let json = quickstart(&["70", "50", "--json", "--quiet"]).stdout;
    assert!(json.starts_with(b"{") && String::from_utf8(json).unwrap().contains("\"naive\""));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_an_example_quietly() {
    use std::os::unix::process::ExitStatusExt;
    let names = [
        "quickstart",
        "windows",
        "batches",
        "plan",
        "transpose_in_place",
        "errors",
        "axes",
        "streams",
        "graph",
        "memory",
        "ndarray",
        "numbers",
    ];
    for name in names {
        let mut child = Command::new(example(name))
            .args((name == "quickstart").then_some("--quiet"))
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
