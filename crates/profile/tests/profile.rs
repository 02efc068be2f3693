//! Who sees which launches.

use profile::{Inspection, count, inspect};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::{Rc, Weak};
use std::sync::Barrier;
use transpose::simulator::{Launched, Observer};
use transpose::{Device, DeviceMatrix, Strategy};

/// The kernels that a thread sees itself launch on the device while it transposes a matrix `times` times.
fn seen(device: &Device, strategy: Strategy, times: usize, meet: &Barrier) -> Vec<&'static str> {
    let matrix = DeviceMatrix::<u32>::zeroed(device, 64, 64).unwrap();
    let work = || {
        (0..times).try_for_each(|_| {
            meet.wait();
            matrix.transposed_with(strategy).map(drop)
        })
    };
    let launches = inspect(device, Inspection::default(), work).unwrap().unwrap();
    launches.iter().map(|launch| launch.kernel).collect()
}

#[test]
fn threads_that_look_at_once_see_their_own_launches() {
    let device = Device::simulated();
    let meet = &Barrier::new(2);
    let (naive, padded) = std::thread::scope(|scope| {
        let naive = scope.spawn(|| seen(&device, Strategy::Naive, 20, meet));
        let padded = scope.spawn(|| seen(&device, Strategy::Padded, 20, meet));
        (naive.join().unwrap(), padded.join().unwrap())
    });
    assert_eq!(naive, ["naive_b4"; 20]);
    assert_eq!(padded, ["padded_b4"; 20]);
}

/// Sees every launch, and is gone when nobody looks any more.
struct Eye;

impl Observer for Eye {
    fn launched(&self, _: Launched) {}
}

#[test]
fn work_that_panics_leaves_nobody_looking() {
    let device = Device::simulated();
    let eye = Rc::new(Eye);
    let left: Weak<Eye> = Rc::downgrade(&eye);
    let observed = AssertUnwindSafe(|| device.observe(eye, || panic!("work that fails")));
    assert!(catch_unwind(observed).is_err());
    assert!(left.upgrade().is_none(), "still in place");

    // Nor does it hide launches from who looks next, or from who looked before.
    let matrix = DeviceMatrix::<u32>::zeroed(&device, 64, 64).unwrap();
    let launches = inspect(&device, Inspection::default(), || {
        let inner = AssertUnwindSafe(|| count(&device, || panic!("work that fails")));
        assert!(catch_unwind(inner).is_err());
        matrix.transposed().map(drop)
    });
    assert_eq!(launches.unwrap().unwrap().len(), 1);
}

#[test]
fn only_the_device_and_the_innermost_observer_count() {
    let (device, other) = (Device::simulated(), Device::simulated());
    let matrix = |device: &Device| DeviceMatrix::<u32>::zeroed(device, 64, 64).unwrap();
    let (here, there) = (matrix(&device), matrix(&other));
    let launches = inspect(&device, Inspection::default(), || {
        here.transposed()?;
        there.transposed()?;
        let inner = inspect(&device, Inspection::default(), || here.transposed().map(drop))?;
        assert_eq!(inner.unwrap().len(), 1);
        let clone = device.clone();
        let beside = inspect(&other, Inspection::default(), || {
            matrix(&clone).transposed()?;
            there.transposed().map(drop)
        })?;
        assert_eq!(beside.unwrap().len(), 1);
        Ok(())
    });
    assert_eq!(launches.unwrap().unwrap().len(), 2);
}

#[test]
fn errors_are_those_of_the_work() {
    let device = Device::simulated();
    let matrix = DeviceMatrix::<u32>::zeroed(&device, 64, 32).unwrap();
    let work = || matrix.transpose_into(&mut DeviceMatrix::zeroed(&device, 3, 3)?);
    assert!(count(&device, work).is_err());
    let counted = count(&device, || matrix.transposed().map(drop)).unwrap().unwrap();
    assert_eq!(counted.global_load.efficiency(), Some(1.0));
}
