//! Writing a file as `cp` does, and regular files whole or not at all.
//!
//! A link is followed. What exists and is no regular file (a device, a pipe) is written to. A regular file is written beside its
//! place, brought to the disk, given the mode and the owner of what it replaces, and only then put there. Where the file system can,
//! it has no name until then: a program that is killed leaves nothing behind.

use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Write};
use std::path::Path;
use tempfile::Builder;

/// What is written to.
pub enum Sink<'a> {
    /// A new file, at any place.
    File(&'a mut File),
    /// What takes bytes one after the other.
    Stream(&'a mut dyn Write),
}

impl Sink<'_> {
    /// Writes the parts, one after the other.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write_all(self, parts: &[&[u8]]) -> Result<()> {
        let output = match self {
            Sink::File(file) => file as &mut dyn Write,
            Sink::Stream(stream) => stream,
        };
        parts.iter().try_for_each(|part| output.write_all(part))?;
        Ok(output.flush()?)
    }
}

/// Has `fill` write the contents of a file.
///
/// # Errors
/// A folder, a link that leads nowhere, a file that may not be written, what `fill` answers, and what the file system reports.
pub fn write(path: &Path, fill: impl FnOnce(Sink) -> Result<()>) -> Result<()> {
    match fs::metadata(path) {
        Ok(old) if old.is_dir() => bail!("is a folder"),
        Ok(old) if old.is_file() => {
            // Replacing takes no leave to write the file itself; a copy into it would.
            File::options().write(true).open(path)?;
            replace(&path.canonicalize()?, Some(&old), fill)
        }
        Ok(_) => {
            let mut stream = File::options().write(true).open(path)?;
            fill(Sink::Stream(&mut stream))?;
            Ok(stream.flush()?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if path.is_symlink() {
                bail!("is a link that leads nowhere");
            }
            replace(path, None, fill)
        }
        Err(error) => Err(error.into()),
    }
}

/// Puts a new file with such contents where `old` is, or where nothing is.
fn replace(
    path: &Path,
    old: Option<&Metadata>,
    fill: impl FnOnce(Sink) -> Result<()>,
) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    ensure!(folder.is_dir(), "there is no such folder");
    let finish = |file: &mut File| -> Result<()> {
        fill(Sink::File(file))?;
        if let Some(old) = old {
            take_after(file, old)?;
        }
        Ok(file.sync_all()?)
    };
    let beside = || format!("{}: no new file can be made in it", folder.display());
    if let Some(mut file) = nameless::create(folder) {
        finish(&mut file)?;
        let named = Builder::new().make_in(folder, |name| nameless::link(&file, name));
        named.with_context(beside)?.persist(path)?;
    } else {
        let mut file = builder().tempfile_in(folder).with_context(beside)?;
        finish(file.as_file_mut())?;
        file.persist(path)?;
    }
    // The name is on the disk when its folder is. Who may write to a folder may not be let open it: then the system does that in its own time.
    #[cfg(unix)]
    match File::open(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
        folder => folder?.sync_all()?,
    }
    Ok(())
}

/// Temporary files are private by default; this one becomes the result, so it gets the permissions of any new file.
fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// Gives a file the owner and the mode of another.
fn take_after(file: &File, old: &Metadata) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid())).context("its owner cannot be kept")?;
        }
    }
    Ok(file.set_permissions(old.permissions())?)
}

/// Files without a name, which are gone when the program is.
#[cfg(target_os = "linux")]
mod nameless {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// A new one, if the file system of the folder has such files and they can be given a name.
    pub fn create(folder: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
        handle(&file).exists().then_some(file)
    }

    /// Gives it a name.
    pub fn link(file: &File, name: &Path) -> std::io::Result<()> {
        Ok(linkat(CWD, handle(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// What stands for the open file in the file system.
    fn handle(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::fs::File;
    use std::path::Path;

    pub fn create(_folder: &Path) -> Option<File> {
        None
    }

    pub fn link(_file: &File, _name: &Path) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }
}
