//! Asking what memory there is before any is taken: a system that has too little ends the program without a word.

use crate::program::usage;
use anyhow::{Result, ensure};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};
use transpose::Device;

/// The bytes of `rows × cols` elements, one at least.
///
/// # Errors
/// An empty matrix, and one of more bytes than can be addressed.
pub fn matrix_bytes(rows: usize, cols: usize, element_bytes: usize) -> Result<usize> {
    let empty = || usage("an empty matrix keeps no kernel busy");
    ensure!(rows > 0 && cols > 0 && element_bytes > 0, empty());
    let bytes = rows.checked_mul(cols).and_then(|len| len.checked_mul(element_bytes));
    bytes.filter(|&bytes| bytes <= isize::MAX as usize).ok_or_else(|| {
        usage(format!(
            "{rows} × {cols} elements of {element_bytes} bytes are more bytes than can be addressed"
        ))
    })
}

/// Makes sure that the host has memory for `on_host` bytes at once, and for `on_device` bytes more if the device is simulated: its memory
/// is the host's.
///
/// # Errors
/// Less memory is free on the host.
pub fn ensure_free(device: &Device, on_host: usize, on_device: usize) -> Result<()> {
    let simulated = if device.is_gpu() { 0 } else { on_device };
    ensure_free_on_host(on_host.saturating_add(simulated))
}

/// Makes sure that the host has memory for `bytes` bytes at once.
///
/// # Errors
/// Less memory is free on the host.
pub fn ensure_free_on_host(bytes: usize) -> Result<()> {
    let (needed, free) = (bytes as u64, free());
    ensure!(
        free.is_none_or(|free| needed <= free),
        "{} of host memory are needed, {} are free",
        gigabytes(needed),
        gigabytes(free.unwrap_or(0))
    );
    Ok(())
}

/// The bytes of host memory that can be had; `None` where the system does not say.
fn free() -> Option<u64> {
    host_bytes().1
}

/// The bytes of host memory that there are and that can be had; `None` where the system does not say.
pub fn host_bytes() -> (Option<u64>, Option<u64>) {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let (mut total, mut free) = (system.total_memory(), system.available_memory());
    if let Some(limits) = system.cgroup_limits() {
        // What a group has cached can be had.
        let left = limits.total_memory.saturating_sub(limits.rss);
        (total, free) = (total.min(limits.total_memory), free.min(left));
    }
    let known = |bytes: u64| Some(bytes).filter(|&bytes| bytes > 0);
    // `ulimit -v` bounds what a program may have, whatever there is.
    let free = known(free).into_iter().chain(allowed()).min();
    (known(total), free)
}

/// The bytes that this program may still take by the limit on its addresses; `None` without one.
#[cfg(target_os = "linux")]
fn allowed() -> Option<u64> {
    let most = rustix::process::getrlimit(rustix::process::Resource::As).current?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let taken = pages.split(' ').next()?.parse::<u64>().ok()?;
    Some(most.saturating_sub(taken * rustix::param::page_size() as u64))
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<u64> {
    None
}

/// Bytes for people to read.
pub fn gigabytes(bytes: u64) -> String {
    match bytes {
        100_000_000.. => format!("{:.1} GB", bytes as f64 / 1e9),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{ensure_free, free, matrix_bytes};
    use transpose::Device;

    #[test]
    fn more_than_there_is_is_refused() {
        assert!(free().is_some());
        let device = Device::simulated();
        ensure_free(&device, 1, 1).unwrap();
        for (on_host, on_device) in [(1 << 60, 0), (0, 1 << 60), (usize::MAX, usize::MAX)] {
            let said = ensure_free(&device, on_host, on_device).unwrap_err().to_string();
            assert!(said.contains("GB of host memory are needed"), "{said}");
        }
    }

    #[test]
    fn sizes_are_counted_without_overflow() {
        assert_eq!(matrix_bytes(3, 5, 4).unwrap(), 60);
        for (rows, cols) in [(0, 0), (usize::MAX, 0), (usize::MAX, 2), (1 << 40, 1 << 40)] {
            assert!(matrix_bytes(rows, cols, 4).is_err());
        }
    }
}
