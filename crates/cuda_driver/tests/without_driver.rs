//! A program that uses cust on a machine without an NVIDIA driver.

mod support;

#[cfg(driver_target)]
use cuda_driver::{Attempt, Error};
use cust::error::CudaError;
use support::without_driver;

#[test]
fn cust_reports_no_device() {
    without_driver("cust_reports_no_device", || {
        assert_eq!(cust::quick_init().err(), Some(CudaError::NoDevice));
        assert!(cust::memory::DeviceBuffer::from_slice(&[1u32]).is_err());
        // cust asks the driver for the text, and panics if it gets none.
        assert!(CudaError::NoDevice.to_string().contains("no CUDA driver"));
        assert!(!CudaError::OutOfMemory.to_string().is_empty());
    });
}

#[cfg(driver_target)]
#[test]
fn the_error_names_what_was_tried_and_why_it_failed() {
    without_driver("the_error_names_what_was_tried_and_why_it_failed", || {
        let error = cuda_driver::available().unwrap_err();
        assert_eq!(cuda_driver::driver_version(), Err(error.clone()));
        let text = error.to_string();
        let Error::NoLibrary { tried } = error else { panic!("{error:?}") };
        let [Attempt { name, reason }] = &tried[..] else { panic!("{tried:?}") };
        assert_eq!(name, support::NO_SUCH_FILE);
        if cfg!(unix) {
            assert!(reason.contains("No such file"), "{reason}");
        }
        assert_eq!(text, "no CUDA driver library could be opened");
    });
}

#[test]
fn no_symbol_is_found() {
    without_driver("no_symbol_is_found", || {
        assert_eq!(cuda_driver::symbol("cuInit"), None);
        assert_eq!(cuda_driver::symbol(""), None);
        assert_eq!(cuda_driver::symbol("cu\0Init"), None);
    });
}

/// An override that is set but empty is none.
#[cfg(driver_target)]
#[test]
fn the_usual_names_are_tried_otherwise() {
    support::with_library(
        "the_usual_names_are_tried_otherwise",
        "",
        || match cuda_driver::available() {
            Err(Error::NoLibrary { tried }) => assert_eq!(tried[0].name, USUAL),
            other => println!("this machine has a driver: {other:?}"),
        },
    );
}

#[cfg(driver_target)]
const USUAL: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// Not linked with, that is: not even looked for when the program starts.
#[cfg(target_os = "linux")]
#[test]
fn the_program_starts_without_libcuda() {
    without_driver("the_program_starts_without_libcuda", || {
        assert!(cust::quick_init().is_err());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(!maps.contains("libcuda"), "{maps}");
    });
}
