//! The same bits, whatever moves them: every strategy, every plan, every algorithm in place, chips of other sizes, other streams, again and again,
//! and a GPU as the simulator. Bits that are no numbers, or numbers that are NaN, are among them.

use proptest::prelude::{any, proptest};
use transpose::{
    Arithmetic, ArithmeticPlan, Device, DeviceMatrix, DeviceTensor, Error, InPlace, Plan, Strategy,
};
use transpose_tests::{Element, cases, on_both_devices};

on_both_devices! {
    simulator: simulator_of_talking_blocks;
    matrices,
    arrays,
    numbers,
}

/// The device, planned for as if it were several chips, a stream of it, and the simulator.
fn devices(device: &Device) -> Vec<Device> {
    let like = |multiprocessors| {
        let mut facts = device.facts().clone();
        facts.multiprocessors = multiprocessors;
        device.with_facts(facts).unwrap()
    };
    let stream = device.new_stream().unwrap();
    vec![
        device.clone(),
        like(1),
        like(132),
        stream,
        transpose_tests::simulator_of_talking_blocks().unwrap(),
    ]
}

/// Every result that there is, each of which is to be the first one.
struct Same<T>(Option<(String, Vec<T>)>);

impl<T: bytemuck::Pod> Same<T> {
    fn check(&mut self, what: impl FnOnce() -> String, result: Vec<T>) {
        let Some((first, bits)) = &self.0 else {
            self.0 = Some((what(), result));
            return;
        };
        let same = bytemuck::cast_slice::<T, u8>(bits) == bytemuck::cast_slice::<T, u8>(&result);
        assert!(same, "{} has other bits than {first}", what());
    }
}

/// What a destination holds before a run. It differs from one run to the next, so an element that nobody writes has other bits.
fn blank<T: bytemuck::Pod>(len: usize, run: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); len];
    bytemuck::cast_slice_mut::<T, u8>(&mut elements).fill(if run.is_multiple_of(2) {
        0
    } else {
        !0
    });
    elements
}

fn matrices(device: &Device) {
    fn of<T: Element>(device: &Device, rows: usize, cols: usize, salt: u64) {
        let host: Vec<T> = (0..rows * cols).map(|at| T::scrambled(at, salt)).collect();
        let mut same = Same(None);
        for (number, device) in devices(device).iter().enumerate() {
            let src = DeviceMatrix::from_host(device, rows, cols, &host).unwrap();
            let mut dst = DeviceMatrix::zeroed(device, cols, rows).unwrap();
            let mut plans = Plan::candidates(&src, &mut dst).unwrap();
            plans.extend(Strategy::ALL.iter().filter_map(|s| Plan::new(&src, &mut dst, *s).ok()));
            for plan in plans {
                for run in 0..2 {
                    dst.copy_from_host(&blank(host.len(), run)).unwrap();
                    plan.run(&src, &mut dst).unwrap();
                    let what = || format!("{plan} on device {number}, run {run}");
                    same.check(what, dst.to_host().unwrap());
                }
            }
            for algorithm in InPlace::ALL {
                let mut matrix = src.try_clone().unwrap();
                match matrix.transpose_in_place_with(*algorithm) {
                    Ok(()) => {}
                    Err(Error::NotServed { .. }) => continue,
                    Err(error) => panic!("{error}"),
                }
                let what = || format!("{algorithm} in place on device {number}");
                same.check(what, matrix.to_host().unwrap());
            }
        }
    }
    let sizes = (1..90usize, 1..90usize, any::<u64>());
    proptest!(cases(2), |((rows, cols, salt) in sizes)| {
        of::<u8>(device, rows, cols, salt);
        of::<u32>(device, rows, cols, salt);
        of::<[u16; 3]>(device, rows, cols, salt);
    });
}

fn arrays(device: &Device) {
    let sizes = (1..9usize, 1..20usize, 1..20usize, any::<u64>());
    proptest!(cases(2), |((a, b, c, salt) in sizes)| {
        let host: Vec<u16> = (0..a * b * c).map(|at| u16::scrambled(at, salt)).collect();
        let mut same = Same(None);
        for (number, device) in devices(device).iter().enumerate() {
            let src = DeviceTensor::from_host(device, &[a, b, c], &host).unwrap();
            let view = src.view().permute_axes(&[2, 0, 1]).unwrap();
            let mut dst = DeviceTensor::zeroed(device, &[c, a, b]).unwrap();
            let plans = Plan::moving_candidates(view, &mut dst).unwrap();
            for (run, plan) in plans.iter().enumerate() {
                dst.copy_from_host(&blank(host.len(), run)).unwrap();
                plan.run(view, &mut dst).unwrap();
                same.check(|| format!("{plan} on device {number}"), dst.to_host().unwrap());
            }
        }
    });
}

/// Products and sums are rounded once each, in the same order everywhere.
fn numbers(device: &Device) {
    proptest!(cases(2), |((rows, cols, salt) in (1..60usize, 1..60usize, any::<u64>()))| {
        let bits = |at| f32::from_bits(u32::scrambled(at, salt));
        let host: Vec<f32> = (0..rows * cols).map(bits).collect();
        let addends: Vec<f32> = (0..rows * cols).map(|at| bits(at + 7000)).collect();
        let scaling = Arithmetic::<f32>::scaling(1.7);
        let mut same = Same(None);
        for (number, device) in devices(device).iter().enumerate() {
            let src = DeviceTensor::from_host(device, &[rows, cols], &host).unwrap();
            let other = DeviceTensor::from_host(device, &[cols, rows], &addends).unwrap();
            let mut dst = DeviceTensor::zeroed(device, &[cols, rows]).unwrap();
            let view = src.view().t();
            let plans = ArithmeticPlan::candidates_adding(&scaling, view, 0.3, &other, &mut dst);
            for (run, plan) in plans.unwrap().iter().enumerate() {
                dst.copy_from_host(&blank(host.len(), run)).unwrap();
                plan.run_adding(view, &other, &mut dst).unwrap();
                same.check(|| format!("{plan} on device {number}"), dst.to_host().unwrap());
            }
        }
    });
}
