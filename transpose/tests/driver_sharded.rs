//! What exchanges among devices ask of the driver, shown on a driver that keeps the books and fails where it is told to. Its one GPU stands for
//! several, each handle with memory and streams of its own. No GPU is needed; each test is a process of its own.
#![cfg(target_os = "linux")]

#[path = "../../crates/cuda_driver/tests/support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use support::recording::{
    fail_each_call, live, refuse, take_calls, take_events, take_log, with_recording,
};
use transpose::{
    Allocation, Device, DeviceGroup, DeviceTensor, DistributedMatrix, DistributedPlan, Error,
    Parcel, PeerStores, Result, ShardedMatrix, ShardedTensor, TensorLayout, Transport, World,
};

fn group(count: usize) -> Result<DeviceGroup, Error> {
    let devices = (0..count).map(|_| Device::cuda(0)).collect::<Result<Vec<_>, _>>()?;
    DeviceGroup::new(&devices)
}

/// A shard in memory that other code has: no other device reaches it, so that what goes there is staged.
fn of_others(device: &Device) -> Result<DeviceTensor<u32>, Error> {
    let owner = DeviceTensor::<u32>::zeroed(device, &[30, 40])?;
    // SAFETY: the memory is that of `owner`, which is dropped in the order of the device.
    let memory = unsafe {
        Allocation::from_raw(device, owner.device_address(), 4800, move |_| drop(owner))?
    };
    DeviceTensor::from_allocation(memory, TensorLayout::contiguous(&[30, 40], 4)?)
}

/// Exchanges that store, that copy, and that are staged.
fn everything() -> Result<(), Error> {
    let group = group(2)?;
    let src = ShardedMatrix::<u32>::zeroed(&group, 40, 60)?;
    let transposed = src.transposed()?;
    transposed.as_tensor().all_to_all(1)?.all_to_all(0)?;
    let shards = group.devices().iter().map(of_others).collect::<Result<Vec<_>, _>>()?;
    let mut dst = ShardedTensor::from_shards(&group, 0, shards)?;
    src.as_tensor().permute_into(&[1, 0], &mut dst)?;
    group.synchronize()
}

fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Cuda { code, name: None, text: None, .. } => Some(*code),
        Error::NoDriver { reason, .. } => {
            reason.strip_prefix("cuInit answered ")?.split(':').next()?.parse().ok()
        }
        _ => None,
    }
}

#[test]
fn every_call_that_fails_is_an_error_with_its_code() {
    with_recording("every_call_that_fails_is_an_error_with_its_code", || {
        // A stream that is dropped waits for its work, and has nobody to tell what came of it.
        fail_each_call(everything, code_of, |function| function == "cuStreamSynchronize");
    });
}

/// What each stream comes after: the streams, and how far along their lists of events.
fn come_after(events: &[(String, u64, u64)]) -> BTreeMap<u64, BTreeMap<u64, usize>> {
    let mut known: BTreeMap<u64, BTreeMap<u64, usize>> = BTreeMap::new();
    let mut put: BTreeMap<u64, BTreeMap<u64, usize>> = BTreeMap::new();
    for (at, (what, event, stream)) in events.iter().enumerate() {
        if what == "record" {
            let mut seen = known.get(stream).cloned().unwrap_or_default();
            seen.insert(*stream, at);
            put.insert(*event, seen);
        } else if let Some(seen) = put.get(event) {
            let here = known.entry(*stream).or_default();
            for (other, far) in seen {
                let entry = here.entry(*other).or_default();
                *entry = (*entry).max(*far);
            }
        }
    }
    known
}

/// All streams that an exchange uses come after the homes of all shards that they use, and all homes after all that the streams do; also if work
/// cannot be queued. The call waits for nothing.
#[test]
fn homes_come_before_and_after_an_exchange() {
    with_recording("homes_come_before_and_after_an_exchange", || {
        let group = group(3).unwrap();
        let src = ShardedMatrix::<u32>::zeroed(&group, 192, 240).unwrap();
        let mut dst = ShardedMatrix::<u32>::zeroed(&group, 240, 192).unwrap();
        let homes: BTreeSet<u64> =
            group.devices().iter().map(|device| device.cuda_stream().unwrap() as u64).collect();
        for fails in [false, true] {
            take_events();
            take_log();
            if fails {
                refuse("cuLaunchKernelEx", 999_999);
            }
            assert_eq!(src.transpose_into(&mut dst).is_err(), fails);
            refuse("", 0);
            let waits = ["cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"];
            assert!(take_calls().iter().all(|call| !waits.contains(&call.as_str())));
            let events = take_events();
            let streams: BTreeSet<u64> = events.iter().map(|(_, _, stream)| *stream).collect();
            let lanes: Vec<u64> = streams.difference(&homes).copied().collect();
            // What stays and what goes first are on the homes; the rest goes on a stream of its own.
            assert!(fails || lanes.len() >= 3, "{events:?}");
            let known = come_after(&events);
            for (home, other) in
                homes.iter().flat_map(|home| homes.iter().map(move |other| (home, other)))
            {
                // Behind the mark that the other has put when its device's work was queued: its last.
                let is_put =
                    |(what, _, stream): &(String, u64, u64)| what == "record" && stream == other;
                let last = events.iter().rposition(is_put).unwrap();
                assert!(
                    fails || home == other || known[home].get(other) == Some(&last),
                    "{events:?}"
                );
            }
            for lane in &lanes {
                let begin = events.iter().position(|(_, _, stream)| stream == lane).unwrap();
                assert!(events[..begin].iter().any(|(what, ..)| what == "record"));
                let is_wait =
                    |(what, _, stream): &(String, u64, u64)| what == "wait" && stream == lane;
                let last = events.iter().rposition(is_wait).unwrap();
                for home in &homes {
                    assert!(known[home].get(lane).is_some_and(|far| *far > last), "{events:?}");
                }
            }
        }
    });
}

/// Nothing is left behind by groups and arrays, whichever goes first.
#[test]
fn all_is_given_back() {
    with_recording("all_is_given_back", || {
        let group = group(2).unwrap();
        let src = ShardedMatrix::<u32>::zeroed(&group, 192, 240).unwrap();
        let dst = src.transposed().unwrap();
        drop(group);
        drop(src);
        assert!(dst.to_host().is_ok());
        drop(dst);
        assert_eq!(live(), [""; 0]);
    });
}

/// Carries nothing, and counts what it is asked to carry.
#[derive(Default)]
struct Counted(AtomicUsize);

// SAFETY: it touches no memory.
unsafe impl Transport for &Counted {
    unsafe fn exchange(&self, _: usize, _: &Device, _: &[Parcel], _: &[Parcel]) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {}
}

/// Runs `work` as both processes of a world, one after the other's end being waited for.
fn in_two_processes(work: impl Fn(&World, &Device) + Sync) {
    let listener = &TcpListener::bind("127.0.0.1:0").unwrap();
    let (first, patience) = (listener.local_addr().unwrap(), Duration::from_secs(20));
    std::thread::scope(|scope| {
        for rank in 0..2 {
            let work = &work;
            scope.spawn(move || {
                let world = match rank {
                    0 => World::listening(listener, 2, patience),
                    _ => World::connect(rank, 2, first, patience),
                };
                work(&world.unwrap(), &Device::cuda(0).unwrap());
            });
        }
    });
}

/// What a process stores to is opened once, and closed in the end; a destination in memory that processes do not share is carried to, and so is
/// one that cannot be opened.
#[test]
fn destinations_are_opened_once() {
    with_recording("destinations_are_opened_once", || {
        let count =
            |calls: &[String], name: &str| calls.iter().filter(|call| *call == name).count();
        let carried = Counted::default();
        let exchanges = |world: &World, device: &Device| {
            let stores = PeerStores::new(world, device, &carried).unwrap();
            let src = DistributedMatrix::<u32>::zeroed(world, device, 32, 16).unwrap();
            let shared = || DistributedMatrix::zeroed_for_peers(world, device, 16, 32).unwrap();
            let run = |dst: &mut DistributedMatrix<u32>| {
                let plan = DistributedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0]).unwrap();
                plan.run(src.as_tensor(), dst.as_tensor_mut(), &stores).unwrap();
                stores.has_stored()
            };
            let (mut one, mut two) = (shared(), shared());
            let ways = [run(&mut one), run(&mut two), run(&mut one), run(&mut two)];
            let mut pooled = DistributedMatrix::zeroed(world, device, 16, 32).unwrap();
            (ways, run(&mut pooled))
        };
        take_log();
        in_two_processes(|world, device| {
            assert_eq!(exchanges(world, device), ([true; 4], false));
        });
        let calls = take_calls();
        assert_eq!(count(&calls, "cuIpcOpenMemHandle_v2"), 4, "two destinations of two processes");
        assert_eq!(count(&calls, "cuIpcCloseMemHandle"), 4);
        assert_eq!(carried.0.swap(0, Ordering::Relaxed), 2);
        refuse("cuIpcOpenMemHandle_v2", 217);
        in_two_processes(|world, device| {
            assert_eq!(exchanges(world, device), ([false; 4], false));
        });
        refuse("", 0);
        assert_eq!(carried.0.load(Ordering::Relaxed), 10);
        assert!(!live().iter().any(|line| line.contains("memory")), "{:?}", live());
    });
}
