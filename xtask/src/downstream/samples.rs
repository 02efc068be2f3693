//! The samples of the pages, as one program that runs them one after the other.
//!
//! On the pages they are for the simulator, which every machine has. Here each is given the device that the program was asked for.

use anyhow::{Result, ensure};

/// How the samples name their device, and what takes its place.
const DEVICE: (&str, &str) = ("Device::simulated()", "crate::device()");

/// The start of the program.
const HEAD: &str = r#"//! Runs every sample of the pages: on the simulator, or with `--gpu` on the first GPU.
#![allow(unused_imports)]

"#;

/// Its end, but for the calls of the samples.
const DEVICE_OF_THE_SAMPLES: &str = r#"
fn device() -> transpose::Device {
    match std::env::args().nth(1).as_deref() {
        None => transpose::Device::simulated(),
        Some("--gpu") => transpose::Device::cuda(0).unwrap_or_else(|error| panic!("{error:#}")),
        Some(other) => panic!("{other} is not --gpu"),
    }
}
"#;

/// A sample of a page: a whole program, and the heading above it.
pub struct Sample {
    task: String,
    code: String,
}

/// The samples of a page that run.
pub fn samples(page: &str) -> Result<Vec<Sample>> {
    let (mut task, mut samples) = (String::new(), Vec::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        // A sample above the first task is of the whole page.
        if let Some(heading) = line.strip_prefix("## ").or(line.strip_prefix("# ")) {
            task = heading.to_owned();
        }
        if line == "```rust" {
            let code: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            let code = code.join("\n") + "\n";
            ensure!(code.contains("\nfn main()"), "a sample of {task:?} is no whole program");
            samples.push(Sample { task: task.clone(), code });
        }
    }
    ensure!(!samples.is_empty(), "the page has no samples");
    Ok(samples)
}

/// The files of the program, each sample a module of it.
pub fn program(samples: &[Sample]) -> Vec<(String, String)> {
    let (mut modules, mut calls, mut files) = (String::new(), String::new(), Vec::new());
    for (index, Sample { task, code }) in samples.iter().enumerate() {
        let name = format!("sample_{index:02}");
        modules += &format!("mod {name};\n");
        calls += &format!("    println!({task:?});\n    {name}::main()?;\n");
        let code = code.replace("\nfn main()", "\npub fn main()").replace(DEVICE.0, DEVICE.1);
        files.push((format!("{name}.rs"), code));
    }
    let count = samples.len();
    let main = format!(
        "{HEAD}{modules}{DEVICE_OF_THE_SAMPLES}\nfn main() -> transpose::Result<()> {{\n{calls}    \
         println!(\"{count} samples ran on {{}}\", device());\n    Ok(())\n}}\n"
    );
    files.push(("main.rs".to_owned(), main));
    files
}

#[cfg(test)]
mod tests {
    use super::{program, samples};

    #[test]
    fn samples_are_whole_programs() {
        let page = "# G\n```rust\n\nfn main() {}\n```\n## A\n```rust\nuse x;\n\nfn main() {\n    Device::simulated();\n}\n```\n\
                    ```text\nno\n```\n## B\n```rust\n//! b\nfn main() {}\n```\n";
        let found = samples(page).unwrap();
        assert_eq!(found.iter().map(|s| &s.task[..]).collect::<Vec<_>>(), ["G", "A", "B"]);
        let files = program(&found);
        let first = "use x;\n\npub fn main() {\n    crate::device();\n}\n";
        assert_eq!(files[1], ("sample_01.rs".into(), first.into()));
        assert!(files[3].1.contains("sample_02::main()?;"), "{}", files[3].1);
        assert!(samples("## A\n```rust\nlet x = 1;\n```\n").is_err());
        assert!(samples("# nothing\n").is_err());
    }
}
