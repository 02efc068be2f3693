//! Runs cargo on the GPU crate, shielded from whatever runs the builder.
//!
//! The builder is often a child of another cargo (`cargo run` of a task, a build
//! script), which leaves variables behind that would change this build, and users
//! have settings of their own. So: variables that configure cargo or rustc are
//! removed, the compiler's flags are given in the variable that overrides all
//! others, and the profile on the command line, which overrides the manifest.

use crate::toolchain::TARGET;
use crate::{CudaBuilder, CudaBuilderError, DebugInfo, EmitOption, Toolchain};
use serde_json::Value;
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables of cargo's own that are kept: where it gets crates from, and how it talks.
const KEPT: &[&str] = &[
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_TERM_",
    "RUSTUP_HOME",
];

/// Prefixes of the variables that configure cargo, rustc or a build script.
const REMOVED: &[&str] = &[
    "CARGO",
    "__CARGO",
    "DEBUG",
    "HOST",
    "MAKEFLAGS",
    "MFLAGS",
    "NUM_JOBS",
    "OPT_LEVEL",
    "OUT_DIR",
    "PROFILE",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP_",
    "RUST_LIB_SRC",
    "TARGET",
];

/// One build, ready to run.
pub(crate) struct Invocation<'a> {
    builder: &'a CudaBuilder,
    path_to_crate: &'a Path,
    toolchain: &'a Toolchain,
}

/// The files that the compiler left.
pub(crate) struct Built {
    /// The compiler's own output.
    pub(crate) assembly: PathBuf,
    /// Where the PTX that is made of it belongs. No file of cargo's has that name.
    pub(crate) ptx: PathBuf,
    /// The intermediate language, if it was asked for.
    pub(crate) ir: Option<PathBuf>,
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(
        builder: &'a CudaBuilder,
        path_to_crate: &'a Path,
        toolchain: &'a Toolchain,
    ) -> Self {
        Self { builder, path_to_crate, toolchain }
    }

    /// Runs cargo and finds what it made.
    pub(crate) fn run(&self) -> Result<Built, CudaBuilderError> {
        let target_dir = self.target_dir();
        let program = env::var_os("CARGO").unwrap_or("cargo".into());
        let mut command = Command::new(&program);
        for (name, _) in env::vars_os().filter(|(name, _)| must_go(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        let output = command
            .current_dir(self.path_to_crate)
            .args(self.cargo_args())
            .arg("--target-dir")
            .arg(&target_dir)
            .arg("--")
            .args(self.last_crate_flags())
            .env("RUSTC", &self.toolchain.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags().join("\x1f"))
            .env("CUDA_ARCH", self.builder.arch.cuda_arch())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|source| CudaBuilderError::CannotRun { program: program.into(), source })?;
        if !output.status.success() {
            return Err(CudaBuilderError::BuildFailed);
        }
        self.outputs(&target_dir, &String::from_utf8_lossy(&output.stdout))
    }

    /// The command line, up to where the build goes.
    fn cargo_args(&self) -> Vec<String> {
        let mut args: Vec<String> =
            ["rustc", "--lib", "--crate-type=cdylib"].map(str::to_owned).into();
        args.push("--message-format=json-render-diagnostics".to_owned());
        args.push(format!("--target={TARGET}"));
        let profile = if self.builder.release { "release" } else { "dev" };
        args.push(format!("--profile={profile}"));
        for setting in self.profile_settings() {
            args.push("--config".to_owned());
            args.push(format!("profile.{profile}.{setting}"));
        }
        args.push("-Ztrim-paths".to_owned());
        if self.toolchain.builds_core {
            args.push("-Zbuild-std=core".to_owned());
            args.push("-Zpanic-immediate-abort".to_owned());
        }
        args.extend(self.builder.build_args.iter().cloned());
        args
    }

    /// Everything that bears on the code, so that the manifest need not say it.
    fn profile_settings(&self) -> [String; 10] {
        let checks = !self.builder.release;
        let panic = if self.toolchain.builds_core { "immediate-abort" } else { "abort" };
        let lines = match self.builder.debug {
            DebugInfo::LineTables => true,
            DebugInfo::None => checks && self.builder.generate_line_info,
        };
        let debug = if lines { "line-directives-only" } else { "none" };
        [
            "opt-level=3".to_owned(),
            "lto=\"fat\"".to_owned(),
            "codegen-units=1".to_owned(),
            "incremental=false".to_owned(),
            "strip=\"none\"".to_owned(),
            "trim-paths=\"all\"".to_owned(),
            format!("panic=\"{panic}\""),
            format!("debug=\"{debug}\""),
            format!("debug-assertions={checks}"),
            format!("overflow-checks={checks}"),
        ]
    }

    /// Flags for every crate that goes into the PTX.
    fn rustflags(&self) -> Vec<String> {
        let builder = self.builder;
        let mut flags = vec![
            format!("-Ctarget-cpu={}", builder.arch.target_cpu()),
            // The names that `symbols` knows.
            "-Csymbol-mangling-version=v0".to_owned(),
            // It copies barriers into branches: see the crate's page.
            "-Zmir-enable-passes=-JumpThreading".to_owned(),
            format!("-Cllvm-args=-nvptx-fma-level={}", u8::from(builder.fma_contraction)),
        ];
        if let Some((major, minor)) = builder.ptx_version {
            flags.push(format!("-Ctarget-feature=+ptx{major}{minor}"));
        }
        if builder.fast_sqrt {
            flags.push("-Cllvm-args=-nvptx-prec-sqrtf32=0".to_owned());
        }
        if builder.fast_div {
            flags.push("-Cllvm-args=-nvptx-prec-divf32=1".to_owned());
        }
        flags
    }

    /// Flags for the GPU crate itself, the last to be compiled. Its code is complete
    /// when it is written as assembly; linking would need a tool and add nothing.
    fn last_crate_flags(&self) -> [String; 2] {
        let emit = match self.builder.emit {
            None => "--emit=asm",
            Some(EmitOption::LlvmIr) => "--emit=asm,llvm-ir",
            Some(EmitOption::Bitcode) => "--emit=asm,llvm-bc",
        };
        [emit.to_owned(), "-Zno-link".to_owned()]
    }

    /// A folder for this set of options. Cargo writes all variants of a crate to one
    /// file name and would take the PTX of one for that of the other.
    fn target_dir(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.toolchain.rustc.hash(&mut hasher);
        self.toolchain.version.hash(&mut hasher);
        self.cargo_args().hash(&mut hasher);
        self.rustflags().hash(&mut hasher);
        self.last_crate_flags().hash(&mut hasher);
        let variant = format!("{}-{:016x}", self.builder.arch.target_cpu(), hasher.finish());
        let target = match &self.builder.target_dir {
            // Cargo runs in another folder, where a relative path would mean another one.
            Some(chosen) => env::current_dir().unwrap_or_default().join(chosen),
            None => self.path_to_crate.join("target"),
        };
        target.join("cuda_builder").join(variant)
    }

    /// Where the last crate's assembly is, given what cargo said.
    fn outputs(&self, target_dir: &Path, messages: &str) -> Result<Built, CudaBuilderError> {
        let profile = if self.builder.release { "release" } else { "debug" };
        let folder = target_dir.join(TARGET).join(profile).join("deps");
        let name = last_library(messages).ok_or_else(|| CudaBuilderError::NoPtx(folder.clone()))?;
        let file = |extension: &str| folder.join(&name).with_extension(extension);
        let built = Built {
            assembly: file("s"),
            ptx: target_dir.join(&name).with_extension("ptx"),
            ir: self.builder.emit.map(|emit| match emit {
                EmitOption::LlvmIr => file("ll"),
                EmitOption::Bitcode => file("bc"),
            }),
        };
        match built.assembly.is_file() {
            true => Ok(built),
            false => Err(CudaBuilderError::NoPtx(folder)),
        }
    }
}

/// Whether a variable would change the build.
fn must_go(name: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    begins(REMOVED) && !begins(KEPT)
}

/// The file stem of the last library that cargo reports, which is the crate asked for.
/// Lines that are not cargo's are passed on.
fn last_library(messages: &str) -> Option<String> {
    let mut last = None;
    for line in messages.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(message) if message["reason"] == "compiler-artifact" => {
                last = message["target"]["name"].as_str().map(|name| name.replace('-', "_"));
            }
            Ok(_) => {}
            Err(_) => println!("{line}"),
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::{last_library, must_go};

    #[test]
    fn removes_what_changes_the_build_and_keeps_the_rest() {
        for name in [
            "CARGO",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_BUILD_TARGET",
            "RUSTFLAGS",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTUP_TOOLCHAIN",
            "TARGET",
            "OUT_DIR",
        ] {
            assert!(must_go(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CARGO_HOME",
            "CARGO_NET_OFFLINE",
            "CARGO_HTTP_PROXY",
            "RUSTUP_HOME",
            "CARGO_TERM_COLOR",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "RUST_BACKTRACE",
            "LD_LIBRARY_PATH",
        ] {
            assert!(!must_go(name), "{name}");
        }
    }

    #[test]
    fn the_last_artifact_is_the_crate() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"core"}}
            not json
            {"reason":"compiler-artifact","target":{"name":"my-kernels"}}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(last_library(messages).as_deref(), Some("my_kernels"));
        assert_eq!(last_library(""), None);
    }
}
