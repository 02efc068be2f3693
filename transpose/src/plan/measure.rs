//! Choosing by measuring, and remembering what was measured.
//!
//! [`Plan::measure`](super::Plan::measure) and [`Plan::measure_moving`](super::Plan::measure_moving) run every way that can serve a problem
//! and keep the fastest. Nothing does so unasked. What they found goes into a [`PlanCache`], a text file with one line for each
//! device, element size, class of shapes and alignment, which a person may read, copy or delete.

use crate::{Device, Error, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The first line of a cache file of this version of the library.
const HEADER: &str = concat!("transpose ", env!("CARGO_PKG_VERSION"), " plans");

/// What was measured on which devices.
///
/// A key is a device's name, the bytes of an element, the shape, how both sides are aligned, and whether it is one matrix, several, or a
/// tensor. The shape of matrices is the powers of two that rows and columns lie between: shapes that alike are served alike. That of
/// tensors is their axes, with both sides' strides.
#[derive(Clone, Debug, Default)]
pub struct PlanCache {
    path: Option<PathBuf>,
    kernels: BTreeMap<String, String>,
}

/// What a plan depends on beside the device, as a [`PlanCache`] has it: four fields, tabs between them.
pub(crate) struct Key(pub String);

/// The fastest of some ways to do the same thing, each with its name: the one that the cache knows, or else the one that takes the least time
/// to `run`, which the cache then learns. `None` if there is no way, or no clock.
///
/// # Errors
/// Those of `run`, and what the device reports.
pub(super) fn measured<W>(
    device: &Device,
    cache: &mut PlanCache,
    key: &Key,
    ways: Vec<(String, W)>,
    mut run: impl FnMut(&W) -> Result<()>,
) -> Result<Option<W>> {
    /// Runs of each way that count, after one that does not.
    const RUNS: usize = 5;
    let known = cache.get(device.name(), key);
    if let Some(at) = ways.iter().position(|(name, _)| known == Some(name)) {
        return Ok(ways.into_iter().nth(at).map(|(_, way)| way));
    }
    let mut fastest: Option<(Duration, String, W)> = None;
    for (name, way) in ways {
        run(&way)?;
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            let Some(time) = device.time(|| run(&way))? else { return Ok(None) };
            best = best.min(time);
        }
        if fastest.as_ref().is_none_or(|(fastest, ..)| best < *fastest) {
            fastest = Some((best, name, way));
        }
    }
    let Some((_, name, way)) = fastest else { return Ok(None) };
    cache.insert(device.name(), key, &name);
    Ok(Some(way))
}

/// Why a cache file was not used. Its plans are measured anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheWarning {
    /// It could not be read.
    Unreadable {
        /// What the file system said.
        reason: String,
    },
    /// It is not a cache file of this version of the library.
    Foreign {
        /// Its first line.
        header: String,
    },
    /// A line of it is not one of a cache file.
    Corrupt {
        /// The line, counted from one.
        line: usize,
    },
}

impl fmt::Display for CacheWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheWarning::Unreadable { reason } => write!(f, "cannot be read: {reason}"),
            CacheWarning::Foreign { header } => {
                write!(f, "starts with {header:?}, not with {HEADER:?}")
            }
            CacheWarning::Corrupt { line } => write!(f, "line {line} is not a plan"),
        }
    }
}

impl PlanCache {
    /// A cache that is not kept in a file.
    pub fn in_memory() -> Self {
        PlanCache::default()
    }

    /// The cache in a file, which [`save`](Self::save) writes. A file that is not there, or empty, is an empty cache; one that is
    /// corrupt or of another version is ignored, with a warning, and overwritten; any other file, and what is no regular file, stays as it
    /// is, and `save` fails.
    pub fn open(path: impl Into<PathBuf>) -> (Self, Option<CacheWarning>) {
        let path = path.into();
        let (kernels, warning) = match read(&path) {
            Ok(kernels) => (kernels, None),
            Err(warning) => (BTreeMap::new(), Some(warning)),
        };
        (PlanCache { path: Some(path), kernels }, warning)
    }

    /// Writes the file that the cache was opened from, whole or not at all; does nothing if there is none. A link to the file stays a
    /// link, and the file has the mode that it had.
    ///
    /// What the file knows and this cache does not, because another one has been saved there meanwhile, is kept in the file.
    /// Threads and processes may save to one file at once: they wait for each other by a lock on an empty file beside it, its
    /// name followed by `.lock`, which stays.
    ///
    /// # Errors
    /// [`Error::PlanCache`] with what the file system reports, or for a file that is no cache.
    pub fn save(&self) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        self.merge_into(path).map_err(|error| Error::PlanCache {
            path: path.clone(),
            kind: error.kind(),
            reason: error.to_string(),
        })
    }

    fn merge_into(&self, path: &Path) -> io::Result<()> {
        let path = &led_to(path)?;
        // Before the lock as well: nothing is left beside what stays as it is.
        require_replaceable(path)?;
        let _until_written = lock(path)?;
        require_replaceable(path)?;
        let mut kernels = read(path).unwrap_or_default();
        kernels.extend(self.kernels.clone());
        let mut text = format!("{HEADER}\n");
        for (key, kernel) in kernels {
            text += &format!("{key}\t{kernel}\n");
        }
        replace(path, &text)
    }

    /// How many classes of problems were measured.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// Whether nothing was measured yet.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }

    fn get(&self, device: &str, key: &Key) -> Option<&str> {
        self.kernels.get(&on_device(device, key)).map(String::as_str)
    }

    fn insert(&mut self, device: &str, key: &Key, way: &str) {
        self.kernels.insert(on_device(device, key), way.to_owned());
    }
}

/// All fields of a key.
fn on_device(device: &str, Key(problem): &Key) -> String {
    format!("{}\t{problem}", device.replace(['\t', '\n', '\r'], " "))
}

/// Where a path leads by links, whether or not there is a file yet.
fn led_to(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.read_link() {
            Ok(target) => led_to(&path.parent().unwrap_or(Path::new("")).join(target)),
            Err(_) if path.file_name().is_some() => Ok(path.to_owned()),
            Err(_) => Err(error),
        },
        found => found,
    }
}

/// Waits until nobody else saves to `path`; the lock goes with the file that is returned.
fn lock(path: &Path) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let file = File::options().create(true).truncate(false).write(true).open(beside)?;
    match file.lock() {
        // Some network file systems have no locks. Files are still written whole there.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        locked => locked.map(|()| file),
    }
}

/// Puts a file with that text in the place of the one at `path`, which is no link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let old = path.metadata().ok();
    let mut builder = tempfile::Builder::new();
    // Readable for whom other new files are, not for the owner alone.
    #[cfg(unix)]
    if old.is_none() {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        // Where this process may not give files away, it becomes the owner.
        #[cfg(unix)]
        let _ = std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The bytes of a file; none where there is no file.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    match path.metadata() {
        // What is read of devices and pipes may never end.
        Ok(found) if !found.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
        }
        Ok(_) => std::fs::read(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Refuses a file that is neither empty nor says in its first line that some version of this library has written it.
fn require_replaceable(path: &Path) -> io::Result<()> {
    let bytes = bytes_of(path)?;
    let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if bytes.is_empty() || std::str::from_utf8(first).is_ok_and(is_header) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "it is no cache of plans"))
}

/// Whether a line is the first of a cache file of any version: three numbers, and what may follow them in a version.
fn is_header(line: &str) -> bool {
    let line = line.strip_suffix('\r').unwrap_or(line);
    let version = line.strip_prefix("transpose ").and_then(|rest| rest.strip_suffix(" plans"));
    version.is_some_and(|version| {
        let numbers: Vec<&str> =
            version.split(['-', '+']).next().unwrap_or("").split('.').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        numbers.len() == 3
            && numbers.iter().all(is_number)
            && !version.contains(char::is_whitespace)
    })
}

fn read(path: &Path) -> Result<BTreeMap<String, String>, CacheWarning> {
    let unreadable = |reason: String| CacheWarning::Unreadable { reason };
    let bytes = bytes_of(path).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
    if text.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header != HEADER {
        return Err(CacheWarning::Foreign { header: header.chars().take(80).collect() });
    }
    let plan = |(index, line): (usize, &str)| match line.rsplit_once('\t') {
        // A return that no new line follows would be taken for the end of its line when it is read again.
        Some((key, kernel))
            if key.split('\t').count() == 5 && !kernel.is_empty() && !line.contains('\r') =>
        {
            Ok((key.to_owned(), kernel.to_owned()))
        }
        _ => Err(CacheWarning::Corrupt { line: index + 2 }),
    };
    lines.enumerate().map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::problem::tight;
    use tempfile::TempDir;

    fn problem(rows: usize, cols: usize) -> Key {
        tight(4, rows, cols).key()
    }

    /// The path of a cache in a folder of its own, which goes when the folder's handle does.
    fn somewhere() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plans.txt");
        (folder, path)
    }

    #[test]
    fn a_cache_survives_its_file() {
        let (_folder, path) = somewhere();
        let (mut cache, warning) = PlanCache::open(&path);
        assert!(cache.is_empty() && warning.is_none());
        cache.insert("A\tchip", &problem(1000, 1000), "micro");
        cache.save().unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert!(warning.is_none());
        assert_eq!(cache.get("A\tchip", &problem(1020, 600)), Some("micro"));
        assert_eq!(cache.get("A\tchip", &problem(1001, 1000)), None, "another alignment");
        assert_eq!(cache.get("B", &problem(1000, 1000)), None);
    }

    #[test]
    fn what_is_no_cache_is_named_and_stays() {
        let (_folder, path) = somewhere();
        std::fs::write(&path, "something else\n").unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert!(cache.is_empty());
        assert!(matches!(warning, Some(CacheWarning::Foreign { .. })));
        let refused = cache.save().unwrap_err();
        assert!(matches!(refused, Error::PlanCache { kind: io::ErrorKind::InvalidData, .. }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else\n");
    }

    /// Names of files in a folder.
    fn names(folder: &TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_first_line_has_a_version() {
        let older = ["transpose 0.0.1 plans", "transpose 12.3.45 plans\r"];
        let later = ["transpose 1.0.0-rc.1 plans", "transpose 1.0.0+build.5 plans"];
        assert!([HEADER].iter().chain(&older).chain(&later).all(|line| is_header(line)));
        for line in [
            "",
            "transpose all of our plans",
            "transpose  plans",
            "transpose 1.0 plans",
            "transpose 1..0 plans",
            "transpose 1.0.0- or not - plans",
            "transpose 1.0.0 plans of ours",
            "Transpose 1.0.0 plans",
        ] {
            assert!(!is_header(line), "{line}");
        }
    }

    /// A save that is refused changes nothing and leaves nothing.
    #[test]
    fn what_is_no_cache_is_left_alone() {
        let (folder, path) = somewhere();
        let essay = "transpose all of our plans\nThe essay.\n";
        std::fs::write(&path, essay).unwrap();
        PlanCache::open(&path).0.save().unwrap_err();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), essay);
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        let (cache, warning) = PlanCache::open(folder.path().join("folder"));
        assert!(matches!(warning, Some(CacheWarning::Unreadable { .. })));
        cache.save().unwrap_err();
        PlanCache::open("").0.save().unwrap_err();
        assert!(!Path::new(".lock").exists());
        assert_eq!(names(&folder), ["folder", "plans.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_left_alone() {
        use std::os::unix::fs::FileTypeExt;
        let (folder, path) = somewhere();
        // Only some users may make one.
        let made = std::process::Command::new("mknod").arg(&path).args(["c", "1", "3"]).output();
        if !made.is_ok_and(|made| made.status.success()) {
            return;
        }
        let (cache, warning) = PlanCache::open(&path);
        assert!(matches!(warning, Some(CacheWarning::Unreadable { .. })));
        cache.save().unwrap_err();
        assert!(path.symlink_metadata().unwrap().file_type().is_char_device());
        assert_eq!(names(&folder), ["plans.txt"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_modes_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, path) = somewhere();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        symlink("second", &first).unwrap();
        symlink("plans.txt", &second).unwrap();
        // The first time the links lead to nothing.
        for mode in [0o600, 0o640] {
            PlanCache::open(&first).0.save().unwrap();
            assert!(first.is_symlink() && second.is_symlink() && !path.is_symlink());
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            PlanCache::open(&path).0.save().unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(names(&folder), ["first", "plans.txt", "plans.txt.lock", "second"]);
    }

    #[test]
    fn an_empty_file_is_an_empty_cache() {
        let (_folder, path) = somewhere();
        std::fs::write(&path, "").unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert_eq!((cache.len(), warning), (0, None));
        cache.save().unwrap();
    }

    #[test]
    fn what_is_no_cache_of_this_version_is_overwritten() {
        let (_folder, path) = somewhere();
        let corrupt = format!("{HEADER}\nnonsense\n");
        let spoilt = [HEADER.as_bytes(), &[b'\n', 0xff]].concat();
        let older = "transpose 0.0.1 plans\na line\n";
        for other in [&b""[..], older.as_bytes(), corrupt.as_bytes(), &spoilt] {
            std::fs::write(&path, other).unwrap();
            PlanCache::open(&path).0.save().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\n"));
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let (_folder, path) = somewhere();
        std::fs::write(&path, format!("{HEADER}\nnonsense\n")).unwrap();
        let (_, warning) = PlanCache::open(&path);
        assert_eq!(warning, Some(CacheWarning::Corrupt { line: 2 }));
        std::fs::write(&path, format!("{HEADER}\na\tb\tc\td\te\t\r")).unwrap();
        let (_, warning) = PlanCache::open(&path);
        assert_eq!(warning, Some(CacheWarning::Corrupt { line: 2 }));
        std::fs::write(&path, [0xff, 0xfe, 0]).unwrap();
        let (cache, warning) = PlanCache::open(&path);
        assert!(matches!(warning, Some(CacheWarning::Unreadable { .. })));
        cache.save().unwrap_err();
        assert_eq!(std::fs::read(&path).unwrap(), [0xff, 0xfe, 0]);
    }

    #[cfg(feature = "simulator")]
    #[test]
    fn what_is_known_is_not_run() {
        let device = Device::simulated();
        let (known, unknown) = (problem(16, 16), problem(1, 16));
        let mut cache = PlanCache::in_memory();
        cache.insert(device.name(), &known, "b");
        let ways = || [("a", 1), ("b", 2)].map(|(name, way)| (name.to_owned(), way)).to_vec();
        let found = measured(&device, &mut cache, &known, ways(), |_| unreachable!()).unwrap();
        assert_eq!(found, Some(2));
        // A way that is gone is one that is measured anew; without a clock nothing is learnt.
        let gone = ways().into_iter().take(1).collect();
        for (key, ways) in [(&unknown, ways()), (&known, gone)] {
            let found = measured(&device, &mut cache, key, ways, |way| {
                assert_eq!(*way, 1);
                Ok(())
            });
            assert_eq!(found.unwrap(), None);
        }
        assert_eq!(cache.len(), 1);
    }

    /// Caches that are saved at once, each with plans of its own, all find their way into the file.
    #[test]
    fn savers_keep_each_others_plans() {
        const SAVERS: usize = 8;
        const ROUNDS: usize = 20;
        let (_folder, path) = somewhere();
        let start = std::sync::Barrier::new(SAVERS);
        let save = |saver: usize| {
            let (mut cache, _) = PlanCache::open(&path);
            start.wait();
            for round in 0..ROUNDS {
                cache.insert(&format!("chip {saver}"), &problem(1 << round, 16), "micro");
                cache.save().unwrap();
                let (read, warning) = PlanCache::open(&path);
                assert!(read.len() >= cache.len() && warning.is_none(), "{warning:?}");
            }
        };
        std::thread::scope(|scope| {
            (0..SAVERS).for_each(|saver| _ = scope.spawn(move || save(saver)));
        });
        let (all, warning) = PlanCache::open(&path);
        assert_eq!((all.len(), warning), (SAVERS * ROUNDS, None));
    }

    /// Whatever else is in the folder stays as it is, and nothing is left there but the lock.
    #[test]
    fn files_of_others_are_left_alone() {
        let (folder, path) = somewhere();
        let others = ["plans.new", "plans", "plans.txt.new", "plans.txt.lock"];
        for name in others {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let (mut cache, _) = PlanCache::open(&path);
        cache.insert("chip", &problem(16, 16), "micro");
        cache.save().unwrap();
        for name in others {
            assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), name);
        }
        let files = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, others.len() + 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_with_its_path() {
        let (folder, _) = somewhere();
        let path = folder.path().join("nowhere").join("plans.txt");
        let error = PlanCache::open(&path).0.save().unwrap_err();
        assert!(matches!(&error, Error::PlanCache { path: of, .. } if *of == path), "{error}");
        assert!(error.to_string().contains("nowhere"), "{error}");
    }
}
