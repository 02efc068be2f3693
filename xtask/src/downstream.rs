//! What a stranger finds: projects outside the workspace, with one line for this library in their manifests, build from the published
//! packages on a machine without a CUDA toolkit, and run.
//!
//! One runs every sample of the guide on the simulator. The other, without the simulator, is what a program for a GPU adds to itself.

use crate::command::{output, run};
use crate::package::{self, Package};
use crate::paths;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The most that a release program with one transpose on a GPU may have, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// The one line of a program that may run anywhere.
const ANYWHERE: &str = "cuda-transpose = \"0.1\"";

/// The one line of a program that is for GPUs only.
const GPUS_ONLY: &str = "cuda-transpose = { version = \"0.1\", default-features = false }";

/// One transpose on a GPU, or the reason why not.
const SMALL: &str = r#"//! Transposes a matrix on a GPU.

use transpose::{Device, DeviceMatrix};

fn main() -> transpose::Result<()> {
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(reason) => {
            println!("not transposed: {reason}");
            return Ok(());
        }
    };
    let a = DeviceMatrix::from_host(&device, 2, 3, &[1u32, 2, 3, 4, 5, 6])?;
    assert_eq!(a.transposed()?.to_host()?, [1, 4, 2, 5, 3, 6]);
    println!("transposed on {device}");
    Ok(())
}
"#;

/// Makes both projects in a temporary folder, builds them and runs them.
pub fn check() -> Result<()> {
    let packages = package::unpacked()?;
    let folder = tempfile::tempdir()?;

    let guide = fs::read_to_string(paths::root().join("docs/guide.md"))?;
    let sources = sources(&samples(&guide)?);
    let project = Project::new(&folder.path().join("guide"), ANYWHERE, &packages, &sources)?;
    run(&mut project.cargo(&["run", "--quiet"]))?;
    without_cust(&project)?;

    let sources = [("main.rs".to_owned(), SMALL.to_owned())];
    let project = Project::new(&folder.path().join("small"), GPUS_ONLY, &packages, &sources)?;
    let program = project.target.join("release/small");
    run(&mut project.cargo(&["clean", "--quiet"]))?;
    let start = Instant::now();
    run(&mut project.cargo(&["build", "--quiet", "--release"]))?;
    let seconds = start.elapsed().as_secs();
    let bytes = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    println!("a release program without the simulator: built in {seconds} s, {} KiB", bytes >> 10);
    ensure!(bytes <= MOST_BYTES, "it has {bytes} bytes, more than {MOST_BYTES}");
    run(&mut Command::new(program))
}

/// A toolkit that this machine happens to have would hide that cust asks for one.
fn without_cust(project: &Project) -> Result<()> {
    let tree =
        output(&mut project.cargo(&["tree", "--edges", "normal,build", "--prefix", "none"]))?;
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let of_cust = |line: &str| line.starts_with("cust ") || line.starts_with("cust_raw ");
    ensure!(!tree.lines().any(of_cust), "a user gets cust without asking:\n{tree}");
    Ok(())
}

/// A sample of the guide: a whole program, and the heading above it.
struct Sample {
    task: String,
    code: String,
}

/// The samples of the guide that run.
fn samples(guide: &str) -> Result<Vec<Sample>> {
    let (mut task, mut samples) = (String::new(), Vec::new());
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("## ") {
            task = heading.to_owned();
        }
        if line == "```rust" {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let code = code.join("\n") + "\n";
            ensure!(code.contains("\nfn main()"), "a sample of {task:?} is no whole program");
            samples.push(Sample { task: task.clone(), code });
        }
    }
    ensure!(!samples.is_empty(), "the guide has no samples");
    Ok(samples)
}

/// A program that runs the samples one after the other, each a module of it.
fn sources(samples: &[Sample]) -> Vec<(String, String)> {
    let mut main = "//! Runs every sample of the guide.\n\n".to_owned();
    let mut calls = String::new();
    let mut files = Vec::new();
    for (index, Sample { task, code }) in samples.iter().enumerate() {
        let name = format!("sample_{index:02}");
        main += &format!("mod {name};\n");
        calls += &format!("    println!({task:?});\n    {name}::main()?;\n");
        files.push((format!("{name}.rs"), code.replace("\nfn main()", "\npub fn main()")));
    }
    let done = format!("    println!(\"{} samples ran\");\n", samples.len());
    main += &format!("\nfn main() -> transpose::Result<()> {{\n{calls}{done}    Ok(())\n}}\n");
    files.push(("main.rs".to_owned(), main));
    files
}

/// A project outside the workspace.
struct Project {
    folder: PathBuf,
    target: PathBuf,
}

impl Project {
    /// Writes its manifest with that one line for the library, and its sources. `packages` stand in for crates.io.
    fn new(
        folder: &Path,
        line: &str,
        packages: &[Package],
        sources: &[(String, String)],
    ) -> Result<Self> {
        fs::create_dir_all(folder.join("src"))?;
        for (name, text) in sources {
            fs::write(folder.join("src").join(name), text)?;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\n{line}\n\n[patch.crates-io]\n"
        );
        for Package { name, folder } in packages {
            manifest += &format!("{name} = {{ path = {folder:?} }}\n");
        }
        fs::write(folder.join("Cargo.toml"), manifest)?;
        for file in ["rust-toolchain.toml", "Cargo.lock"] {
            fs::copy(paths::root().join(file), folder.join(file))?;
        }
        let target = paths::scratch(&format!("downstream-{name}-target"));
        Ok(Project { folder: folder.to_owned(), target })
    }

    /// The cargo of the project's own toolchain, which knows nothing of this workspace's settings.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&self.folder).args(arguments).env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            let ours = ["CUDA_", "CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_PROFILE_"];
            if ours.iter().any(|prefix| shown.starts_with(prefix)) || shown == "RUSTUP_TOOLCHAIN" {
                cargo.env_remove(name);
            }
        }
        cargo
    }
}

#[cfg(test)]
mod tests {
    use super::{samples, sources};

    #[test]
    fn samples_are_whole_programs() {
        let guide = "# G\n## A\n```rust\nuse x;\n\nfn main() {\n}\n```\n```text\nno\n```\n## B\n\
                     ```rust\n//! b\nfn main() {}\n```\n";
        let found = samples(guide).unwrap();
        assert_eq!(found.iter().map(|s| &s.task[..]).collect::<Vec<_>>(), ["A", "B"]);
        let files = sources(&found);
        assert_eq!(files[0], ("sample_00.rs".into(), "use x;\n\npub fn main() {\n}\n".into()));
        assert!(files[2].1.contains("sample_01::main()?;"), "{}", files[2].1);
        assert!(samples("## A\n```rust\nlet x = 1;\n```\n").is_err());
        assert!(samples("# nothing\n").is_err());
    }
}
