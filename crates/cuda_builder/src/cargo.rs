//! Runs cargo on the GPU crate, shielded from whatever runs the builder.
//!
//! The builder is often a child of another cargo (`cargo run` of a task, a build
//! script), which leaves variables behind that would change this build, and users
//! have settings of their own. So: variables that configure cargo or rustc are
//! removed, the compiler's flags are given in the variable that overrides all
//! others, and the profile on the command line, which overrides the manifest.

use crate::toolchain::TARGET;
use crate::{CudaBuilder, CudaBuilderError, DebugInfo, EmitOption, Toolchain};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

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
    /// Where the PTX that is made of it belongs.
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
        let built = self.outputs()?;
        let program = env::var_os("CARGO").unwrap_or("cargo".into());
        let mut command = Command::new(&program);
        for (name, _) in env::vars_os().filter(|(name, _)| must_go(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        let status = command
            .current_dir(self.path_to_crate)
            .args(self.cargo_args())
            .arg("--target-dir")
            .arg(self.target_dir())
            .arg("--")
            .args(self.last_crate_flags(&built))
            .env("RUSTC", &self.toolchain.rustc)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTC_WRAPPER", "")
            .env("RUSTC_WORKSPACE_WRAPPER", "")
            .env("CARGO_ENCODED_RUSTFLAGS", self.rustflags().join("\x1f"))
            .env("CUDA_ARCH", self.builder.arch.cuda_arch())
            // Cargo speaks on the other one; a build script's is for cargo's ears.
            .stdout(Stdio::null())
            .status()
            .map_err(|source| CudaBuilderError::CannotRun { program: program.into(), source })?;
        if !status.success() {
            return Err(CudaBuilderError::BuildFailed);
        }
        match built.assembly.is_file() {
            true => Ok(built),
            false => Err(CudaBuilderError::NoPtx(self.target_dir())),
        }
    }

    /// The command line, up to where the build goes.
    fn cargo_args(&self) -> Vec<String> {
        let mut args: Vec<String> =
            ["rustc", "--lib", "--crate-type=cdylib"].map(str::to_owned).into();
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
    fn last_crate_flags(&self, built: &Built) -> Vec<String> {
        let mut flags =
            vec![format!("--emit=asm={}", built.assembly.display()), "-Zno-link".to_owned()];
        if let (Some(emit), Some(ir)) = (self.builder.emit, &built.ir) {
            flags.push(format!("--emit={}={}", kind(emit).0, ir.display()));
        }
        flags
    }

    /// Where cargo builds. It tells all sets of options apart, except in the names of
    /// the last crate's files.
    fn target_dir(&self) -> PathBuf {
        let target = match &self.builder.target_dir {
            // Cargo runs in another folder, where a relative path would mean another one.
            Some(chosen) => env::current_dir().unwrap_or_default().join(chosen),
            None => self.path_to_crate.join("target"),
        };
        target.join("cuda_builder")
    }

    /// The last crate's files, in a folder for this set of options.
    fn outputs(&self) -> Result<Built, CudaBuilderError> {
        let mut hasher = DefaultHasher::new();
        self.toolchain.rustc.hash(&mut hasher);
        self.toolchain.version.hash(&mut hasher);
        self.cargo_args().hash(&mut hasher);
        self.rustflags().hash(&mut hasher);
        let variant = format!("{}-{:016x}", self.builder.arch.target_cpu(), hasher.finish());
        let folder = self.target_dir().join(variant);
        if folder.to_string_lossy().contains(',') {
            let reason = "rustc takes no file names with a comma";
            return Err(CudaBuilderError::Unsupported { option: "target_dir", reason });
        }
        fs::create_dir_all(&folder)
            .map_err(|source| CudaBuilderError::CannotWrite { path: folder.clone(), source })?;
        let name = self.path_to_crate.file_name().unwrap_or("kernels".as_ref());
        let file = |extension: &str| {
            let mut name = name.to_owned();
            name.push(extension);
            folder.join(name)
        };
        Ok(Built {
            assembly: file(".s"),
            ptx: file(".ptx"),
            ir: self.builder.emit.map(|emit| file(kind(emit).1)),
        })
    }
}

/// What rustc calls a kind of output, and the end of its file name.
fn kind(emit: EmitOption) -> (&'static str, &'static str) {
    match emit {
        EmitOption::LlvmIr => ("llvm-ir", ".ll"),
        EmitOption::Bitcode => ("llvm-bc", ".bc"),
    }
}

/// Whether a variable would change the build.
fn must_go(name: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    begins(REMOVED) && !begins(KEPT)
}

#[cfg(test)]
mod tests {
    use super::must_go;

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
}
