//! How a program is asked, opens its device, says what is wrong, and ends.
//!
//! A program ends with 0 if all went well, with 1 if something went wrong, and with 2 if it was asked for what cannot be. A reader of
//! its output that goes away ends it without a word.

use crate::device::DeviceChoice;
use crate::output;
use anyhow::{Result, ensure};
use clap::Parser;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use transpose::{Device, Error};

/// The flags of every program: where it runs, and what it says beside its results.
#[derive(clap::Args, Clone, Debug)]
pub struct Setting {
    /// Where to run: cuda (the first GPU), cuda:1, … (another), sim (the simulator), or auto (a GPU if there is one).
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceChoice,
    /// Print nothing but results and errors.
    #[arg(long, short)]
    pub quiet: bool,
    /// Say what was tried to find a GPU.
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
}

impl Setting {
    /// Opens the device, and says on standard error what it is.
    ///
    /// # Errors
    /// Those of [`Device::cuda`] if a GPU was asked for.
    pub fn open(&self) -> Result<Device> {
        ensure!(
            self.device != DeviceChoice::Cpu,
            usage("there is no device \"cpu\" here; there are auto, cuda, cuda:1, …, sim")
        );
        let (device, no_gpu) = self.device.open()?;
        if let Some(reason) = no_gpu {
            self.say(format_args!("no GPU ({reason}); the simulator runs the kernels on the CPU"));
            if self.verbose {
                print_attempts(&reason);
            }
        }
        self.say(format_args!("device: {device}"));
        Ok(device)
    }

    /// Like [`open`](Self::open), for programs that do without a device: `None` if there is no GPU or the CPU was asked for.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_or_cpu(&self) -> Result<Option<Device>> {
        match self.device {
            DeviceChoice::Cpu => Ok(None),
            DeviceChoice::Auto => match Device::cuda(0) {
                Ok(device) => Ok(Some(device)),
                Err(reason) => {
                    self.say(format_args!("no GPU ({reason}); the CPU does it"));
                    if self.verbose {
                        print_attempts(&reason);
                    }
                    Ok(None)
                }
            },
            _ => self.open().map(Some),
        }
    }

    /// Says something on standard error that is no result.
    pub fn say(&self, what: impl fmt::Display) {
        if !self.quiet {
            output::say(what);
        }
    }
}

/// The flags of every program whose results are a table.
#[derive(clap::Args, Clone, Debug)]
pub struct Common {
    /// Where it runs, and what it says.
    #[command(flatten)]
    pub setting: Setting,
    /// Write the numbers as CSV to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write a chart as SVG to this file; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print JSON, not tables.
    #[arg(long)]
    pub json: bool,
}

impl Common {
    /// Opens the device, and says on standard error what it is.
    ///
    /// # Errors
    /// As [`Setting::open`] and [`ensure_files`](Self::ensure_files).
    pub fn open(&self) -> Result<Device> {
        self.ensure_files()?;
        self.setting.open()
    }

    /// Makes sure, before anything is done, that what was asked for can be written.
    ///
    /// # Errors
    /// Two things for standard output, and files that cannot be where they shall be.
    pub fn ensure_files(&self) -> Result<()> {
        let files = || self.csv.iter().chain(&self.svg);
        let streams = files().filter(|path| output::is_stdout(path)).count();
        ensure!(
            streams + usize::from(self.json) <= 1,
            usage("standard output takes one of --json, --csv - and --svg -")
        );
        ensure!(
            streams > 0 || self.csv.is_none() || self.csv != self.svg,
            usage("--csv and --svg are one file")
        );
        files()
            .filter(|path| !output::is_stdout(path))
            .try_for_each(|path| output::ensure_writable(path))
    }

    /// Whether tables are printed: standard output takes nothing else.
    pub fn prints_tables(&self) -> bool {
        !self.json && !self.csv.iter().chain(&self.svg).any(|path| output::is_stdout(path))
    }

    /// Says something on standard error that is no result.
    pub fn say(&self, what: impl fmt::Display) {
        self.setting.say(what);
    }
}

impl AsRef<Setting> for Setting {
    fn as_ref(&self) -> &Setting {
        self
    }
}

impl AsRef<Setting> for Common {
    fn as_ref(&self) -> &Setting {
        &self.setting
    }
}

/// Something that was asked for and cannot be, whatever the device.
#[derive(Debug)]
pub struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error of a program that was asked for what cannot be.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Usage(message.into()).into()
}

/// Parses how many there are, or how often something is done: one at least.
///
/// # Errors
/// Anything else.
pub fn count(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|error| format!("{error}"))?;
    if number == 0 { Err("one at least".to_owned()) } else { Ok(number) }
}

/// Parses the name of something. Where there is nothing of that name, all names follow on lines of their own.
///
/// # Errors
/// Any other text.
pub fn named<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{error:#}"))
}

/// Parses a number of devices, or of processes, that one machine can have.
///
/// # Errors
/// Anything else.
pub fn few(text: &str) -> Result<usize, String> {
    const MOST: usize = 64;
    let number = count(text)?;
    if number > MOST { Err(format!("there are {MOST} at most")) } else { Ok(number) }
}

/// Parses the bytes of an element that is one word.
///
/// # Errors
/// Anything else.
pub fn word(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| [1, 2, 4, 8, 16].contains(bytes));
    bytes.ok_or_else(|| "elements are of 1, 2, 4, 8 or 16 bytes".to_owned())
}

/// Parses the bytes of an element of any size.
///
/// # Errors
/// Anything else, and nothing.
pub fn element(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "an element has a byte at least".to_owned())
}

/// Parses the command line, runs the program, and says how it went.
pub fn main<A: Parser, S: AsRef<Setting>>(
    setting: impl FnOnce(&A) -> &S,
    run: impl FnOnce(&A) -> Result<()>,
) -> ExitCode {
    sigpipe::reset();
    let arguments = A::parse();
    let Err(error) = run(&arguments) else { return ExitCode::SUCCESS };
    output::say(format_args!("error: {}", whole(&error)));
    if setting(&arguments).as_ref().verbose {
        error.chain().filter_map(|error| error.downcast_ref()).for_each(print_attempts);
    }
    if error.chain().any(|error| error.is::<Usage>()) {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// An error with its causes, but those that it tells itself.
fn whole(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// Says which files were tried as the driver.
fn print_attempts(error: &Error) {
    if let Error::NoDriver { attempts, .. } = error {
        attempts.iter().for_each(|attempt| output::say(format_args!("    {attempt}")));
    }
}
