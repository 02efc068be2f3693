//! The options of a build, and the build.

use crate::cargo::Invocation;
use crate::directives::hoist;
use crate::symbols::number_crates;
use crate::{BuildReport, CudaBuilderError, NvvmArch, Toolchain, ptx};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How much debug information to put into the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugInfo {
    /// None.
    None,
    /// Which line each instruction comes from.
    LineTables,
}

/// What to write beside the PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmitOption {
    /// LLVM's intermediate language, as text.
    LlvmIr,
    /// The same as bitcode.
    Bitcode,
}

/// Builds a GPU crate; see the [crate's page](crate).
#[derive(Debug, Clone)]
#[must_use = "nothing is built before `build`"]
pub struct CudaBuilder {
    pub(crate) path_to_crate: PathBuf,
    pub(crate) ptx_version: Option<(u32, u32)>,
    pub(crate) target_dir: Option<PathBuf>,
    /// See [`CudaBuilder::release`].
    pub release: bool,
    /// See [`CudaBuilder::nvptx_32`].
    pub nvptx_32: bool,
    /// See [`CudaBuilder::copy_to`].
    pub ptx_file_copy_path: Option<PathBuf>,
    /// See [`CudaBuilder::generate_line_info`].
    pub generate_line_info: bool,
    /// See [`CudaBuilder::nvvm_opts`].
    pub nvvm_opts: bool,
    /// See [`CudaBuilder::arch`].
    pub arch: NvvmArch,
    /// See [`CudaBuilder::ftz`].
    pub ftz: bool,
    /// See [`CudaBuilder::fast_sqrt`].
    pub fast_sqrt: bool,
    /// See [`CudaBuilder::fast_div`].
    pub fast_div: bool,
    /// See [`CudaBuilder::fma_contraction`].
    pub fma_contraction: bool,
    /// See [`CudaBuilder::emit_llvm_ir`].
    pub emit: Option<EmitOption>,
    /// See [`CudaBuilder::optix`].
    pub optix: bool,
    /// See [`CudaBuilder::override_libm`].
    pub override_libm: bool,
    /// See [`CudaBuilder::debug`].
    pub debug: DebugInfo,
    /// See [`CudaBuilder::build_args`].
    pub build_args: Vec<String>,
}

/// A method that sets the field of its own name.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        }
    )*};
}

impl CudaBuilder {
    /// A build of the crate in the folder `path_to_crate_root`, with the defaults.
    pub fn new(path_to_crate_root: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate_root.as_ref().to_owned(),
            ptx_version: None,
            target_dir: None,
            release: true,
            nvptx_32: false,
            ptx_file_copy_path: None,
            generate_line_info: true,
            nvvm_opts: true,
            arch: NvvmArch::default(),
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fma_contraction: true,
            emit: None,
            optix: false,
            override_libm: false,
            debug: DebugInfo::None,
            build_args: Vec::new(),
        }
    }

    setters! {
        /// The oldest chip that the PTX is to run on. Compute 6.1 by default.
        arch: NvvmArch;
        /// `false` turns on debug assertions and overflow checks. The code is optimized
        /// all the same. `true` by default.
        release: bool;
        /// How much debug information to make. None by default.
        debug: DebugInfo;
        /// Line tables for builds that are not for release. `true` by default.
        generate_line_info: bool;
        /// Whether `a * b + c` may become one instruction, which rounds once. `true` by default.
        fma_contraction: bool;
        /// Divide `f32` by an approximation that is off by up to 2 units in the last place.
        fast_div: bool;
        /// Take square roots of `f32` by an approximation.
        fast_sqrt: bool;
        /// Must stay `true`: without optimizations rustc leaves calls, which are refused.
        nvvm_opts: bool;
        /// Must stay `false`: rustc flushes no denormals.
        ftz: bool;
        /// Must stay `false`: rustc has no 32-bit target for NVIDIA's GPUs any more.
        nvptx_32: bool;
        /// Must stay `false`: rustc knows nothing of OptiX.
        optix: bool;
        /// Must stay `false`: NVIDIA's libdevice is not linked here.
        override_libm: bool;
    }

    /// The PTX version to write, for instructions newer than the one that LLVM takes
    /// for the chip: `ptx_version(8, 0)` for 8.0. Drivers older than it refuse the PTX.
    pub fn ptx_version(mut self, major: u32, minor: u32) -> Self {
        self.ptx_version = Some((major, minor));
        self
    }

    /// Where to build; `target` in the crate by default.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Also write LLVM's intermediate language: [`BuildReport::ir`].
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit = emit_llvm_ir.then_some(EmitOption::LlvmIr);
        self
    }

    /// Also write LLVM bitcode: [`BuildReport::ir`].
    pub fn emit_llvm_bitcode(mut self, emit_llvm_bitcode: bool) -> Self {
        self.emit = emit_llvm_bitcode.then_some(EmitOption::Bitcode);
        self
    }

    /// Copy the PTX to here when it is built and accepted.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// More arguments for cargo, such as `--features`.
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Builds the crate and gives the path of the PTX.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        Ok(self.build_report()?.ptx)
    }

    /// Builds the crate and tells what came of it and which compiler made it.
    pub fn build_report(self) -> Result<BuildReport, CudaBuilderError> {
        self.check_options()?;
        let path_to_crate = fs::canonicalize(&self.path_to_crate)
            .ok()
            .filter(|path| path.join("Cargo.toml").is_file())
            .ok_or_else(|| CudaBuilderError::CratePathDoesntExist(self.path_to_crate.clone()))?;
        announce_sources(&path_to_crate);

        let toolchain = Toolchain::find(&path_to_crate)?;
        let built = Invocation::new(&self, &path_to_crate, &toolchain).run()?;
        let text = hoist(&number_crates(&read(&built.assembly)?));
        write(&built.ptx, &text).map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        let entries = accept(&built.ptx, &text)?;
        Ok(BuildReport { ptx: self.deliver(built.ptx)?, ir: built.ir, entries, toolchain })
    }

    /// Refuses what cannot be done: an option is never quietly ignored.
    fn check_options(&self) -> Result<(), CudaBuilderError> {
        let refusals = [
            (!self.nvvm_opts, "nvvm_opts(false)", "unoptimized Rust is full of calls"),
            (self.ftz, "ftz", "it has no switch for flushing denormals"),
            (self.nvptx_32, "nvptx_32", "it makes 64-bit code only"),
            (self.optix, "optix", "it knows nothing of OptiX"),
            (self.override_libm, "override_libm", "libdevice is not linked in"),
        ];
        match refusals.into_iter().find(|(is_set, ..)| *is_set) {
            Some((_, option, reason)) => Err(CudaBuilderError::Unsupported { option, reason }),
            None => Ok(()),
        }
    }

    /// Copies the PTX to where it is wanted, making the folder if need be.
    fn deliver(&self, ptx: PathBuf) -> Result<PathBuf, CudaBuilderError> {
        let Some(wanted) = &self.ptx_file_copy_path else {
            return Ok(ptx);
        };
        let folder = wanted.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::copy(&ptx, wanted))
            .map_err(CudaBuilderError::FailedToCopyPtxFile)?;
        Ok(wanted.clone())
    }
}

/// In a build script, tells cargo when to run it again.
fn announce_sources(path_to_crate: &Path) {
    if std::env::var_os("OUT_DIR").is_some() {
        for source in ["src", "Cargo.toml", "Cargo.lock"] {
            println!("cargo:rerun-if-changed={}", path_to_crate.join(source).display());
        }
    }
}

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    fs::read_to_string(path)
        .map_err(|source| CudaBuilderError::CannotRead { path: path.to_owned(), source })
}

/// Writes a file unless it has this text already: another build may be reading it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    match fs::read(path) {
        Ok(present) if present == text.as_bytes() => Ok(()),
        _ => fs::write(path, text),
    }
}

/// The kernels in the PTX, provided that nothing forbidden is in it.
fn accept(path: &Path, text: &str) -> Result<Vec<String>, CudaBuilderError> {
    let findings = ptx::findings(text);
    if !findings.is_empty() {
        return Err(CudaBuilderError::ForbiddenPtx { path: path.to_owned(), findings });
    }
    let entries = ptx::entries(text).into_iter();
    Ok(entries.map(|entry| entry.name).collect())
}

#[cfg(test)]
mod tests {
    use super::CudaBuilder;
    use crate::CudaBuilderError;

    #[test]
    fn refuses_what_it_cannot_honour() {
        let new = || CudaBuilder::new(env!("CARGO_MANIFEST_DIR"));
        for (builder, name) in [
            (new().ftz(true), "ftz"),
            (new().optix(true), "optix"),
            (new().nvptx_32(true), "nvptx_32"),
            (new().override_libm(true), "override_libm"),
            (new().nvvm_opts(false), "nvvm_opts(false)"),
        ] {
            match builder.build() {
                Err(CudaBuilderError::Unsupported { option, .. }) => assert_eq!(option, name),
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn names_a_missing_crate() {
        let missing = CudaBuilder::new("no/such/crate").build().unwrap_err();
        assert!(missing.to_string().contains("no/such/crate"), "{missing}");
    }
}
