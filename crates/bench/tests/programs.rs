//! The habits of the programs: how they are asked, how they end, what they print and write. On the simulator.

use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

const ARITHMETIC: &str = env!("CARGO_BIN_EXE_arithmetic");
const BANDWIDTH: &str = env!("CARGO_BIN_EXE_bandwidth");
const CALLS: &str = env!("CARGO_BIN_EXE_calls");
const COMPARE: &str = env!("CARGO_BIN_EXE_compare");
const GRID_SEARCH: &str = env!("CARGO_BIN_EXE_grid_search");
const HOST: &str = env!("CARGO_BIN_EXE_host");
const INFO: &str = env!("CARGO_BIN_EXE_info");
const IN_PLACE: &str = env!("CARGO_BIN_EXE_in_place");
const MEMORY_KINDS: &str = env!("CARGO_BIN_EXE_memory_kinds");
const PERMUTE: &str = env!("CARGO_BIN_EXE_permute");
const PROFILE: &str = env!("CARGO_BIN_EXE_profile");
const SHARDED: &str = env!("CARGO_BIN_EXE_sharded");

/// Each program that runs on the simulator, and arguments that leave it little to do.
const PROGRAMS: [(&str, &[&str]); 12] = [
    (ARITHMETIC, &["--only", "int32 to float32, [507"]),
    (BANDWIDTH, &["--rows", "64", "--cols", "64"]),
    (CALLS, &["--side", "16", "--reps", "1"]),
    (GRID_SEARCH, &["--rows", "64", "--cols", "64"]),
    (HOST, &["--rows", "301", "--cols", "195", "--ways", "pinned,in-place"]),
    (IN_PLACE, &["--shape", "60x40"]),
    (MEMORY_KINDS, &["--rows", "64", "--cols", "64"]),
    (PERMUTE, &["--shape", "6,10,14", "--axes", "2,0,1", "--element", "2,3"]),
    (PERMUTE, &["--shape", "30,40", "--axes", "1,0", "--conjugate", "--element", "8"]),
    (PROFILE, &["--kernel", "padded,square", "--rows", "64", "--cols", "64"]),
    (SHARDED, &["--shape", "60x40", "--split", "even,uneven", "--devices", "3"]),
    (SHARDED, &["--shape", "60x40", "--candidates"]),
];

fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    if !arguments.contains(&"--device") {
        command.args(["--device", "sim"]);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs a program, which ends well, and returns what it prints.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// Runs a program, which says why it does not do what it is asked for.
fn refuses(program: &str, arguments: &[&str], code: i32, why: &str) {
    let output = run(program, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{program} {arguments:?}: {said}");
    assert!(said.contains("error: ") && said.contains(why), "{program} {arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{program} {arguments:?}: {}", text(&output.stdout));
}

#[test]
fn quiet_programs_print_tables_and_nothing_else() {
    for (program, arguments) in PROGRAMS {
        let output = run(program, &[arguments, &["--quiet"]].concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        assert!(table.contains("verified"), "{program}: {table}");
        assert!(table.lines().count() > 2 && !table.contains("NaN"), "{program}: {table}");
        assert!(!table.contains(" 0.0 "), "a figure that means nothing: {table}");
    }
}

#[test]
fn csv_and_json_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("figures.csv");
    for (program, arguments) in PROGRAMS {
        let all = [arguments, &["--json", "--csv", file.to_str().unwrap()]].concat();
        let json: Value = serde_json::from_str(&printed(program, &all)).unwrap();
        let mut reader = csv::Reader::from_path(&file).unwrap();
        let header = reader.headers().unwrap().clone();
        let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert!(!records.is_empty());
        if program == PROFILE {
            // Its JSON is a profile.
            assert_eq!(json["kernels"].as_array().unwrap().len(), records.len());
            continue;
        }
        let rows = json["rows"].as_array().unwrap();
        assert_eq!(rows.len(), records.len(), "{program}");
        assert!(
            json["device"].is_string() && json["date"].is_string() && json["title"].is_string()
        );
        for (row, record) in rows.iter().zip(&records) {
            assert!(row.as_object().unwrap().keys().eq(header.iter()), "{program}: {header:?}");
            for (value, field) in row.as_object().unwrap().values().zip(record) {
                let same = match value {
                    Value::Null => field.is_empty(),
                    Value::String(text) => text == field,
                    number => number.as_f64() == field.parse().ok(),
                };
                assert!(same, "{program}: {value} and {field:?}");
            }
        }
    }
}

#[test]
fn charts_say_what_where_and_when() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chart.svg");
    let drawn = PROGRAMS.into_iter().filter(|(program, _)| *program != PROFILE);
    for (program, arguments) in drawn.chain([(IN_PLACE, &["primes"][..])]) {
        printed(program, &[arguments, &["--svg", file.to_str().unwrap()]].concat());
        let svg = fs::read_to_string(&file).unwrap();
        assert!(svg.contains(">the simulator, 20"), "{program}: {svg}");
        assert!(svg.matches("</text>").count() > 4, "{program}: {svg}");
        // A chart whose bars all have no length shows nothing.
        let bars = svg.split("<rect x=").skip(1).filter(|bar| !bar.contains("width=\"0.0\""));
        assert!(bars.count() > 0, "{program}: {svg}");
        let names: Vec<&str> = svg.split("text-anchor=\"end\">").skip(1).collect();
        for (index, name) in names.iter().enumerate() {
            let name = &name[..name.find('<').unwrap()];
            let again = names[..index].iter().any(|other| other.starts_with(&format!("{name}<")));
            assert!(!again, "{program}: the label {name:?} twice");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_a_program_quietly() {
    use std::os::unix::process::ExitStatusExt;
    for (program, arguments) in [
        (PROFILE, &["--json", "--kernel", "all", "--rows", "64", "--cols", "64"][..]),
        (PROFILE, &["--annotate", "--rows", "64", "--cols", "64"]),
        (IN_PLACE, &["square", "skinny"]),
    ] {
        let mut child = Command::new(program)
            .args(arguments)
            .args(["--quiet", "--device", "sim"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 5]).unwrap();
        let output = child.wait_with_output().unwrap();
        const SIGPIPE: i32 = 13;
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{program}: {:?}", output.status);
        assert!(output.stderr.is_empty(), "{program}: {}", text(&output.stderr));
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_at_once() {
    const MOST: &str = "18446744073709551615";
    for program in [BANDWIDTH, GRID_SEARCH, HOST, MEMORY_KINDS, PROFILE] {
        for (rows, cols) in [("0", "0"), (MOST, "0"), ("0", MOST)] {
            refuses(program, &["--rows", rows, "--cols", cols], 2, "an empty matrix");
        }
        refuses(program, &["--rows", MOST, "--cols", "3"], 2, "more bytes than can be addressed");
        refuses(program, &["--rows", "10000000", "--cols", "10000000"], 1, "GB of host memory");
    }
    refuses(IN_PLACE, &["--shape", "0x0"], 2, "an empty matrix");
    refuses(IN_PLACE, &["--shape", "0x7"], 2, "an empty matrix");
    refuses(IN_PLACE, &["--shape", "99999999999x99999999999"], 2, "more bytes than");
    refuses(IN_PLACE, &["--shape", "10000000x10000000"], 1, "GB of host memory");
    refuses(PERMUTE, &["--shape", "0,3", "--axes", "1,0"], 2, "is empty");
    let of_axes =
        |shape: &str, code, why| refuses(PERMUTE, &["--shape", shape, "--axes", "1,0"], code, why);
    of_axes(&format!("{MOST},3"), 2, "more bytes than");
    of_axes("10000000,10000000", 1, "GB of host memory");
    of_axes("2,3,4", 2, "no order of 3 axes");
    refuses(PERMUTE, &["--shape", "2,3", "--axes", "0,0"], 2, "no order of 2 axes");
    let ones = ["1"; 17].join(",");
    let reversed: Vec<String> = (0..17).rev().map(|axis| axis.to_string()).collect();
    refuses(PERMUTE, &["--shape", &ones, "--axes", &reversed.join(",")], 2, "more than the 16");
    refuses(INFO, &["choice", "--shape", &format!("{MOST},3")], 2, "more bytes than");
    refuses(CALLS, &["--side", "0"], 2, "an empty matrix");
    refuses(CALLS, &["--side", "100000000000"], 2, "more bytes than");
    refuses(CALLS, &["--side", "1000000"], 1, "GB of host memory");
    for flag in ["--devices", "--processes"] {
        refuses(SHARDED, &[flag, "1000000000000"], 2, "64 at most");
    }
}

#[test]
fn nothing_is_done_more_often_than_anybody_waits() {
    const LARGE: [&str; 2] = ["18446744073709551615", "1000000000000"];
    for (program, flags) in [
        (ARITHMETIC, &["--turns", "--count"][..]),
        (BANDWIDTH, &["--turns", "--reps"]),
        (CALLS, &["--reps"]),
        (COMPARE, &["--turns", "--sweep=1 --count"]),
        (GRID_SEARCH, &["--turns", "--reps"]),
        (HOST, &["--reps"]),
        (IN_PLACE, &["--turns"]),
        (MEMORY_KINDS, &["--reps"]),
        (PERMUTE, &["--turns"]),
        (SHARDED, &["--turns"]),
    ] {
        for (flag, number) in flags.iter().flat_map(|flag| LARGE.map(|number| (flag, number))) {
            let arguments: Vec<&str> = flag.split(' ').chain([number]).collect();
            refuses(program, &arguments, 2, "100000 at most");
        }
    }
    refuses(SHARDED, &["--lanes", "1000000000000"], 2, "64 at most");
}

#[test]
fn wrong_arguments_are_answered_with_what_is_possible() {
    for program in [BANDWIDTH, GRID_SEARCH, IN_PLACE, MEMORY_KINDS, PERMUTE, PROFILE, COMPARE] {
        refuses(program, &["--device", "gpu"], 2, "none of auto, cuda");
        refuses(program, &["--nonsense"], 2, "--nonsense");
    }
    for program in [BANDWIDTH, GRID_SEARCH, IN_PLACE, PERMUTE, COMPARE] {
        refuses(program, &["--turns", "0"], 2, "one at least");
    }
    for program in [BANDWIDTH, GRID_SEARCH, MEMORY_KINDS, PROFILE] {
        refuses(program, &["--element", "3"], 2, "1, 2, 4, 8 or 16");
    }
    refuses(PERMUTE, &["--element", "0"], 2, "a byte at least");
    refuses(COMPARE, &["--group", "foo"], 2, "large, unaligned, skinny");
    refuses(COMPARE, &["--group", "odd", "--element", "4"], 2, "3, 6, 12, 24, 32");
    refuses(COMPARE, &[], 2, "`permute`, `profile` and `in_place`");
    refuses(IN_PLACE, &["--shape", "3x3", "--bytes", "5"], 2, "1, 2, 3, 4, 6, 7");
    refuses(IN_PLACE, &["--shape", "33"], 2, "such as 64x50");
    refuses(IN_PLACE, &["--tile", "3x3"], 2, "--shape");
    refuses(IN_PLACE, &["--shape", "3x3", "--algorithm", "foo"], 2, "two-stage");
    refuses(PROFILE, &["--kernel", "foo"], 2, "copy, naive");
    refuses(PROFILE, &["--svg", "picture.svg"], 2, "name it with --kernel");
    refuses(PROFILE, &["--json", "--annotate"], 2, "cannot be used with");
    refuses(PROFILE, &["--check", "--device", "auto"], 2, "only the simulator checks");
    for partitions in ["0x0", "8x3", "8x256x0", "8", "4294967295x4294967295"] {
        refuses(PROFILE, &["--partitions", partitions], 2, "--partitions");
    }
    refuses(PROFILE, &["--list", "--json"], 2, "cannot be used with");
    refuses(BANDWIDTH, &["--list", "--json"], 2, "cannot be used with");
    refuses(PERMUTE, &["--explain", "--json"], 2, "cannot be used with");
    refuses(BANDWIDTH, &["--kernels", "foo"], 2, "copy_shared");
    refuses(GRID_SEARCH, &["--blocks", "x"], 2, "x");
    refuses(GRID_SEARCH, &["--blocks", "0x8"], 2, "not the shape of a block");
    refuses(ARITHMETIC, &["--only", "foo"], 2, "no case has");
    refuses(PERMUTE, &["--conjugate", "--element", "3"], 2, "4, 8 or 16 bytes");
    refuses(PROFILE, &["--block", "1,0,0"], 2, "--svg");
    refuses(PROFILE, &["--ncu", "/nowhere/counted.csv"], 1, "/nowhere/counted.csv: No such file");
    for program in [BANDWIDTH, CALLS, PROFILE] {
        refuses(program, &["--device", "cpu"], 2, "no device");
    }
}

/// Standard output that takes no more is an error, and standard error that takes none is none.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (program, arguments) in [
        (BANDWIDTH, &["--list"][..]),
        (GRID_SEARCH, &["--rows", "64", "--cols", "64"]),
        (INFO, &["devices", "links"]),
        (PERMUTE, &["--explain"]),
        (PROFILE, &["--kernel", "copy", "--rows", "64", "--cols", "64", "--annotate"]),
        (PROFILE, &["--kernel", "copy", "--rows", "64", "--cols", "64", "--json"]),
        (PROFILE, &["--list"]),
        (PROFILE, &["--metrics"]),
        (SHARDED, &["--shape", "60x40", "--json"]),
    ] {
        let arguments = [arguments, &["--device", "sim"]].concat();
        let output = Command::new(program).args(&arguments).stdout(full()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{program} {arguments:?}: {said}");
        assert!(said.contains("standard output: No space left"), "{program} {arguments:?}: {said}");
        let output = Command::new(program).args(&arguments).stderr(full()).output().unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {:?}", output.status);
    }
}

#[test]
fn matrices_of_any_size_are_moved_on_the_host() {
    for (rows, cols) in [("1", "1"), ("7", "5"), ("1", "6"), ("6", "1")] {
        printed(HOST, &["--rows", rows, "--cols", cols, "--quiet"]);
    }
}

#[test]
fn files_go_to_standard_output_alone() {
    const SHAPE: [&str; 4] = ["--rows", "64", "--cols", "64"];
    fn of<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&SHAPE[..], more].concat()
    }
    let csv = printed(BANDWIDTH, &of(&["--csv", "-"]));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let columns = reader.headers().unwrap().len();
    assert!(reader.records().all(|record| record.unwrap().len() == columns), "{csv}");
    for more in [["--csv", "-", "--json"], ["--svg=-", "--csv", "-"]] {
        refuses(BANDWIDTH, &of(&more[..]), 2, "standard output takes one of");
    }
    for (said, file) in
        [("--annotate", "--csv=-"), ("--annotate", "--svg=-"), ("--ncu=x", "--csv=-")]
    {
        let both = of(&["--kernel", "padded", said, file]);
        refuses(PROFILE, &both, 2, "standard output takes one of --annotate");
    }
    let kernel = of(&["--kernel", "padded", "--svg", "-"]);
    for (program, arguments) in [(GRID_SEARCH, &of(&["--svg", "-"])), (PROFILE, &kernel)] {
        let svg = printed(program, arguments);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{program}: {svg}");
    }
}

#[test]
fn files_that_cannot_be_are_refused_before_anything_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_str().unwrap();
    for (program, arguments) in PROGRAMS {
        // A picture of `profile` shows one kernel, and two were asked for.
        let flags = if program == PROFILE { &["--csv"][..] } else { &["--csv", "--svg"] };
        for flag in flags {
            refuses(program, &[arguments, &[flag, name]].concat(), 1, "this is a folder");
            let inside = format!("{name}/none/figures");
            refuses(program, &[arguments, &[flag, &inside]].concat(), 1, "no such folder");
        }
    }
}

/// As many processes as asked for, or as a launcher has started, do what one process does; whoever is missing is an error.
#[test]
fn several_processes_make_one_table() {
    let shape = ["--shape", "60x40", "--element", "4,8", "--split", "even,uneven,first"];
    let table = printed(SHARDED, &[&shape[..], &["--processes", "3", "--quiet"]].concat());
    assert_eq!(table.matches(" sockets ").count(), 6, "{table}");
    refuses(
        SHARDED,
        &["--processes", "2", "--transport", "nccl", "--quiet"],
        1,
        "these failed: 0, 1",
    );
    // Each would be a world of its own to MPI.
    let by_mpi = ["--processes", "2", "--transport", "mpi", "--quiet"];
    refuses(SHARDED, &by_mpi, 2, "come from its launcher");
    refuses(SHARDED, &["--world"], 1, "no launcher has set RANK");
    refuses(SHARDED, &["--processes", "2", "--sweep"], 2, "cannot be used with");
    refuses(SHARDED, &["--shape", "60"], 2, "such as 300x200");
    refuses(SHARDED, &["--shape", "99999999999x99999999999"], 2, "more bytes than");
    refuses(SHARDED, &["--shape", "10000000x10000000"], 1, "GB of host memory");
    refuses(SHARDED, &["--device", "cuda:1"], 2, "all GPUs take part");
}

/// By a driver that has one GPU.
#[cfg(target_os = "linux")]
#[test]
fn processes_that_have_no_gpu_are_refused_before_they_start() {
    const DRIVER: &str = "../cuda_driver/tests/support/recording_driver.rs";
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libdriver.so");
    let mut compiler = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    compiler.args(["--crate-type=cdylib", "--edition=2024", "-Cpanic=abort", "-Awarnings", DRIVER]);
    assert!(compiler.arg("-o").arg(&library).status().unwrap().success());
    let run = |device: &str| {
        let mut command = Command::new(SHARDED);
        command.args(["--processes", "2", "--shape", "60x40", "--quiet", "--device", device]);
        command.env("CUDA_DRIVER_LIBRARY", &library).output().unwrap()
    };
    for device in ["auto", "cuda"] {
        let output = run(device);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: 2 processes take a GPU each, and there are 1"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert!(run("sim").status.success());
}

#[test]
fn nothing_to_show_is_an_error_that_says_why() {
    refuses(
        GRID_SEARCH,
        &["--blocks", "16x16", "--kernels", "coalesced"],
        1,
        "its blocks are 32×8",
    );
    refuses(PROFILE, &["--kernel", "pixels"], 1, "needs the kernel pixels_b4");
    refuses(PROFILE, &["--kernel", "square", "--rows", "1", "--cols", "1"], 1, "takes no kernel");
    refuses(BANDWIDTH, &["--rows", "3", "--cols", "5", "--kernels", "fine_grained"], 1, "left out");
    let nothing_to_draw = ["--rows", "64", "--cols", "64", "--ways", "cpu", "--svg", "-"];
    let output = run(HOST, &nothing_to_draw);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("there is nothing to draw"));
    let output = run(IN_PLACE, &["--shape", "7x5", "--algorithm", "square"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nothing was transposed: square: it is not square"));
}

#[test]
fn algorithms_that_do_not_serve_a_shape_are_rows_that_say_why() {
    let table = printed(IN_PLACE, &["--shape", "7x5"]);
    for algorithm in ["square", "three-stage", "decomposed", "cycle-following"] {
        assert!(table.contains(&format!(" {algorithm} ")), "{algorithm}: {table}");
    }
    let square = table.lines().find(|line| line.contains(" square ")).unwrap();
    assert!(square.ends_with("square"), "why not: {square}");
    assert!(table.contains("extra, bytes") && table.contains("element, bytes"));
}

#[test]
fn files_of_a_grid_search_name_blocks_as_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blocks.csv");
    let shape = ["--rows", "64", "--cols", "64", "--blocks", "32x8,16x16"];
    printed(GRID_SEARCH, &[&shape[..], &["--csv", file.to_str().unwrap()]].concat());
    let csv = fs::read_to_string(&file).unwrap();
    assert!(csv.starts_with("kernel,block,rows,cols,element_bytes,"), "{csv}");
    assert!(csv.contains("diagonal_col,32x8,64,64,4,"), "{csv}");
}

/// Rows of both tables are the same cases, and as many as there are sources and results.
#[test]
fn what_peers_are_told_fits_together() {
    for (only, count) in
        [("float32 to float32, [507", 2), ("float32 to float32, [10007", 2), ("bfloat16 to", 4)]
    {
        let folder = tempfile::tempdir().unwrap();
        printed(ARITHMETIC, &["--peers", folder.path().to_str().unwrap(), "--only", only]);
        let [large, small] = ["cases.csv", "small.csv"].map(|name| {
            let mut reader = csv::Reader::from_path(folder.path().join(name)).unwrap();
            reader.records().collect::<Result<Vec<_>, _>>().unwrap()
        });
        assert_eq!((large.len(), small.len()), (count, count), "{only}");
        for (number, (large, small)) in large.iter().zip(&small).enumerate() {
            // Of one row all but the shape is the other's.
            assert!((0..6).all(|column| column == 2 || large[column] == small[column]), "{only}");
            let elements: u64 =
                small[2].split(' ').map(|length| length.parse::<u64>().unwrap()).product();
            for (end, of_type) in [("src", &small[0]), ("dst", &small[1])] {
                let bytes =
                    fs::metadata(folder.path().join(format!("{number}.{end}"))).unwrap().len();
                assert_eq!(bytes, elements * if of_type == "float32" { 4 } else { 2 }, "{only}");
            }
        }
        assert!(!folder.path().join(format!("{count}.src")).exists());
    }
}

/// What the simulator takes says nothing of a GPU; planning is work of the host on both.
#[test]
fn calls_have_times_where_these_mean_something() {
    let csv = printed(CALLS, &["--side", "16", "--csv", "-"]);
    for line in csv.lines().skip(1) {
        let plans = line.trim_start_matches('"').starts_with("planning");
        assert_eq!(line.ends_with(",,"), !plans, "{line}");
    }
}

#[test]
fn names_of_any_length_leave_figures_below_their_headings() {
    let table =
        printed(PROFILE, &["--kernel", "naive_gmem,padded", "--rows", "64", "--cols", "64"]);
    let ends: Vec<usize> = table.lines().skip(2).map(|line| line.chars().count()).collect();
    assert!(table.contains("(naive_row)") && ends.iter().all(|&end| end == ends[0]), "{table}");
}

#[test]
fn checks_say_that_they_found_nothing() {
    let shape = ["--kernel", "padded,micro", "--rows", "64", "--cols", "64"];
    let output = run(PROFILE, &[&shape[..], &["--check"]].concat());
    assert!(text(&output.stderr).contains("checked 2 launches: nothing found"));
}

#[test]
fn info_says_what_there_is_and_what_would_be_done() {
    let all = printed(INFO, &["--quiet"]);
    for said in ["the simulator", "no two GPUs", "tensor", "micro_b4", "expected"] {
        assert!(all.contains(said), "{said}: {all}");
    }
    for (subject, key) in [
        ("devices", "multiprocessors"),
        ("code", "loaded"),
        ("kernels", "registers"),
        ("choice", "way"),
    ] {
        let json: Value = serde_json::from_str(&printed(INFO, &[subject, "--json"])).unwrap();
        assert!(!json["rows"][0][key].is_null(), "{subject}: {json}");
    }
    // Each kernel of each image has its row.
    let rows = |subject| {
        let json: Value = serde_json::from_str(&printed(INFO, &[subject, "--json"])).unwrap();
        json["rows"].as_array().unwrap().clone()
    };
    let counted = rows("code").iter().map(|row| row["kernels"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(rows("kernels").len() as u64, counted);
    let choice =
        ["choice", "--json", "--shape", "64,56,56,3", "--axes", "0,3,1,2", "--element", "1"];
    let json: Value = serde_json::from_str(&printed(INFO, &choice)).unwrap();
    let expected = |way: &Value| way["expected_of_copy"].as_f64().unwrap();
    let ways = json["rows"].as_array().unwrap();
    assert!(ways.iter().all(|way| expected(way) <= expected(&ways[0])), "{json}");
    refuses(INFO, &["--json"], 2, "devices, links, code, kernels, choice");
    refuses(INFO, &["links"], 1, "no two GPUs");
    refuses(INFO, &["nothing"], 2, "devices, links, code, kernels, choice");
    refuses(INFO, &["choice", "--shape", "3,4", "--axes", "1,1"], 2, "does not name each");
    refuses(INFO, &["choice", "--shape", "3,0"], 2, "is empty");
}

#[test]
fn no_gpu_is_one_line_unless_more_is_asked_for() {
    let arguments = ["--rows", "64", "--cols", "64", "--kernels", "copy", "--device", "auto"];
    let said =
        |more: &[&str]| text(&run(BANDWIDTH, &[&arguments[..], more].concat()).stderr).to_owned();
    let (brief, verbose) = (said(&[]), said(&["--verbose"]));
    if let Some(line) = brief.lines().find(|line| line.contains("no GPU")) {
        assert!(line.len() < 160, "{line}");
        assert!(verbose.lines().count() > brief.lines().count(), "{verbose}");
    }
}
