//! Arrays that several processes hold together. Threads stand for processes: each has a world, a simulated device and connections of its own, and
//! nothing else in common. What goes wrong in one is an error in all, in bounded time.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Barrier, Mutex};
use std::time::Duration;
use transpose::simt::Checks;
use transpose::{
    Device, DeviceMatrix, DeviceTensor, DistributedMatrix, DistributedPlan, DistributedTensor,
    Error, Parcel, Result, Shares, Sockets, TensorLayout, Transport, World,
};
use transpose_tests::Element;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the first process of a world listens, at a port that nobody else can have, and the address.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn device() -> Device {
    Device::simulated_with(Checks::ALL)
}

/// Whether a process heard that another has gone, and did not wait for it until there was no time left.
fn is_told(error: &Error) -> bool {
    matches!(error, Error::Peer { reason, .. } if !reason.contains("in time"))
}

/// Runs `work` as every process of a world, and returns what came of it by rank.
fn in_processes<R: Send>(
    size: usize,
    timeout: Duration,
    work: impl Fn(World) -> R + Sync,
) -> Vec<R> {
    let (listener, first) = &listener();
    std::thread::scope(|scope| {
        let process = |rank| {
            let work = &work;
            scope.spawn(move || match rank {
                0 => work(World::listening(listener, size, timeout).unwrap()),
                _ => work(World::connect(rank, size, *first, timeout).unwrap()),
            })
        };
        let processes: Vec<_> = (0..size).map(process).collect();
        processes.into_iter().map(|process| process.join().unwrap()).collect()
    })
}

fn scrambled<T: Element>(count: usize, salt: u64) -> Vec<T> {
    (0..count).map(|index| T::scrambled(index, salt)).collect()
}

fn transposed<T: Element>(cols: usize, elements: &[T]) -> Vec<T> {
    let rows = elements.len().checked_div(cols).unwrap_or(0);
    (0..elements.len()).map(|at| elements[at % rows * cols + at / rows]).collect()
}

/// This process's rows of a matrix, as an array of the world.
fn spread<T: Element>(
    world: &World,
    rows: &Shares,
    cols: usize,
    host: &[T],
) -> DistributedMatrix<T> {
    let mine = rows.range(world.rank());
    let part = &host[mine.start * cols..mine.end * cols];
    let shard = DeviceMatrix::from_host(&device(), mine.len(), cols, part).unwrap();
    DistributedMatrix::from_shard(world, shard).unwrap()
}

fn there_and_back<T: Element + Sync>(rows: &[usize], cols: &[usize]) {
    let (rows, cols) = (Shares::of_lengths(rows), Shares::of_lengths(cols));
    let host: Vec<T> = scrambled(rows.len() * cols.len(), 1);
    let expected = transposed(cols.len(), &host);
    let size = rows.count();
    in_processes(size, PATIENCE, |world| {
        let transport = Sockets::new(&world);
        let src = spread(&world, &rows, cols.len(), &host);
        assert_eq!(src.as_tensor().shares(), &rows);
        let shape = [cols.len(), rows.len()];
        let mut dst =
            DistributedTensor::zeroed_shared(&world, src.as_tensor().device(), &shape, 0, &cols)
                .unwrap();
        let plan = DistributedPlan::new(src.as_tensor(), &dst, &[1, 0]).unwrap();
        assert!(plan.extra_bytes() <= 64 << 20);
        for _ in 0..2 {
            dst.shard_mut().fill(T::scrambled(7, 7)).unwrap();
            plan.run(src.as_tensor(), &mut dst, &transport).unwrap();
            let mine = cols.range(world.rank());
            let part = &expected[mine.start * rows.len()..mine.end * rows.len()];
            assert!(
                dst.shard().to_host().unwrap() == part,
                "{rows:?} × {cols:?}, {}",
                world.rank()
            );
        }
        let back = DistributedMatrix::from_tensor(dst).unwrap().transposed(&transport).unwrap();
        let mine = Shares::even(rows.len(), size).range(world.rank());
        let part = &host[mine.start * cols.len()..mine.end * cols.len()];
        assert!(back.as_tensor().shard().to_host().unwrap() == part);
    });
}

#[test]
fn matrices_among_processes() {
    there_and_back::<u32>(&[100], &[70]);
    there_and_back::<u32>(&[64, 64], &[64, 64]);
    there_and_back::<u8>(&[70, 33], &[41, 90]);
    there_and_back::<u64>(&[0, 50, 3], &[60, 0, 9]);
    there_and_back::<[u8; 3]>(&[5, 20, 70, 1], &[0, 64, 31, 2]);
    there_and_back::<u128>(&[1, 0, 30, 9, 0, 0, 17], &[0, 0, 11, 8, 1, 40, 3]);
}

#[test]
fn heads_for_sequences() {
    let shape = [2, 30, 6, 8];
    let host: Vec<u16> = scrambled(shape.iter().product(), 2);
    let whole = TensorLayout::contiguous(&shape, 2).unwrap();
    in_processes(3, PATIENCE, |world| {
        let transport = Sockets::new(&world);
        let part = |axis: usize, length: usize| {
            whole.slice(axis, Shares::even(length, 3).range(world.rank()), 1).unwrap()
        };
        let shard = DeviceTensor::from_host_strided(&device(), &host, &part(1, 30)).unwrap();
        let by_sequence = DistributedTensor::from_shard(&world, 1, shard).unwrap();
        let by_heads = by_sequence.all_to_all(2, &transport).unwrap();
        let expected = DeviceTensor::from_host_strided(&device(), &host, &part(2, 6)).unwrap();
        assert_eq!(by_heads.shape(), shape);
        assert!(by_heads.shard().to_host().unwrap() == expected.to_host().unwrap());
    });
}

/// Devices that reach each other's memory: addresses are all that the processes tell each other. Nothing is carried.
struct Reaching(Mutex<usize>);

// SAFETY: the processes are threads of one, whose simulated devices reach each other's memory, and offer addresses of live shards.
unsafe impl Transport for Reaching {
    fn offer(&self, address: u64, _: usize) -> Vec<u8> {
        address.to_le_bytes().to_vec()
    }

    fn reach(&self, offers: &[Vec<u8>]) -> Result<Option<Vec<u64>>> {
        *self.0.lock().unwrap() += 1;
        let address = |offer: &Vec<u8>| u64::from_le_bytes(offer.as_slice().try_into().unwrap());
        Ok(Some(offers.iter().map(address).collect()))
    }

    unsafe fn exchange(&self, _: usize, _: &Device, _: &[Parcel], _: &[Parcel]) -> Result<()> {
        panic!("what can be stored is not carried")
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {}
}

/// Where processes reach each other's memory they store to it, whatever the shares; what stays goes with what is sent first.
#[test]
fn processes_that_store_to_each_other() {
    for (rows, cols) in [
        (vec![100], vec![70]),
        (vec![64, 64], vec![64, 64]),
        (vec![70, 33], vec![41, 91]),
        (vec![5, 20, 70, 1], vec![0, 64, 31, 2]),
    ] {
        let (rows, cols) = (Shares::of_lengths(&rows), Shares::of_lengths(&cols));
        let host: Vec<u32> = scrambled(rows.len() * cols.len(), 3);
        let expected = transposed(cols.len(), &host);
        let devices = Device::simulated_peers_with(rows.count(), Checks::ALL);
        in_processes(rows.count(), PATIENCE, |world| {
            let (device, transport) = (&devices[world.rank()], Reaching(Mutex::new(0)));
            let mine = rows.range(world.rank());
            let part = &host[mine.start * cols.len()..mine.end * cols.len()];
            let shard = DeviceTensor::from_host(device, &[mine.len(), cols.len()], part).unwrap();
            let src = DistributedTensor::from_shard(&world, 0, shard).unwrap();
            let shape = [cols.len(), rows.len()];
            let mut dst =
                DistributedTensor::zeroed_for_peers(&world, device, &shape, 0, &cols).unwrap();
            let plan = DistributedPlan::new(&src, &dst, &[1, 0]).unwrap();
            for _ in 0..2 {
                dst.shard_mut().fill(7).unwrap();
                plan.run(&src, &mut dst, &transport).unwrap();
                let mine = cols.range(world.rank());
                let part = &expected[mine.start * rows.len()..mine.end * rows.len()];
                assert!(dst.shard().to_host().unwrap() == part, "{rows:?} × {cols:?}");
            }
            assert_eq!(*transport.0.lock().unwrap(), 2);
        });
    }
}

/// More rounds than buffers, so that each is used anew.
#[test]
fn many_rounds() {
    let (rows, cols) = (3000, 4200);
    let host: Vec<u64> = (0..rows * cols).map(|at| at as u64).collect();
    in_processes(2, PATIENCE, |world| {
        let src = spread(&world, &Shares::even(rows, 2), cols, &host);
        let plan_of =
            DistributedMatrix::<u64>::zeroed(&world, src.as_tensor().device(), cols, rows).unwrap();
        let plan = DistributedPlan::new(src.as_tensor(), plan_of.as_tensor(), &[1, 0]).unwrap();
        assert!(plan.link_bytes() > 16 << 20 && plan.extra_bytes() <= 64 << 20);
        let mut dst = plan_of;
        plan.run(src.as_tensor(), dst.as_tensor_mut(), &Sockets::new(&world)).unwrap();
        let mine = Shares::even(cols, 2).range(world.rank());
        let arrived = dst.as_tensor().shard().to_host().unwrap();
        let is = |at: usize| arrived[at] == ((at % rows) * cols + mine.start + at / rows) as u64;
        assert!((0..arrived.len()).all(is));
    });
}

#[test]
fn processes_that_disagree() {
    let refused = in_processes(3, PATIENCE, |world| {
        // One has another idea of who has what.
        let lengths = if world.rank() == 1 { [20, 5, 5] } else { [10, 10, 10] };
        let shares = Shares::of_lengths(&lengths);
        let device = device();
        let new = |shape: &[usize; 2], shares: &Shares| {
            DistributedTensor::<u32>::zeroed_shared(&world, &device, shape, 0, shares).unwrap()
        };
        let (src, mut dst) = (new(&[30, 40], &shares), new(&[40, 30], &Shares::even(40, 3)));
        let refused = src.permute_into(&[1, 0], &mut dst, &Sockets::new(&world)).unwrap_err();
        // Nothing was moved, and the world goes on.
        assert_eq!(world.all_gather(&[world.rank() as u8]).unwrap(), [[0], [1], [2]]);
        refused
    });
    for (rank, error) in refused.iter().enumerate() {
        let other = if rank == 1 { 0 } else { 1 };
        assert!(matches!(error, Error::Disagreement { rank, .. } if *rank == other), "{error}");
    }
}

#[test]
fn a_plan_for_other_arrays_is_refused_everywhere() {
    let refused = in_processes(2, PATIENCE, |world| {
        let device = device();
        let src = DistributedMatrix::<u32>::zeroed(&world, &device, 30, 40).unwrap();
        let mut dst = DistributedMatrix::zeroed(&world, &device, 40, 30).unwrap();
        let plan = DistributedPlan::new(src.as_tensor(), dst.as_tensor(), &[1, 0]).unwrap();
        let other = DistributedTensor::zeroed_shared(
            &world,
            &device,
            &[30, 40],
            0,
            &Shares::of_lengths(&[1, 29]),
        );
        let other = other.unwrap();
        // Spread otherwise, and of another shape.
        let larger = DistributedTensor::zeroed(&world, &device, &[30, 41], 0).unwrap();
        let refused = [&other, &larger].map(|given| {
            let src = if world.rank() == 1 { given } else { src.as_tensor() };
            plan.run(src, dst.as_tensor_mut(), &Sockets::new(&world)).unwrap_err()
        });
        // The world goes on.
        plan.run(src.as_tensor(), dst.as_tensor_mut(), &Sockets::new(&world)).unwrap();
        refused
    });
    for error in &refused[0] {
        assert!(matches!(error, Error::Disagreement { rank: 1, .. }), "{error}");
    }
    assert!(matches!(refused[1][0], Error::PlanMismatch { .. }), "{}", refused[1][0]);
    assert!(matches!(refused[1][1], Error::TensorShapeMismatch { .. }), "{}", refused[1][1]);
}

#[test]
fn shards_that_do_not_fit_are_refused_everywhere() {
    let refused = in_processes(2, PATIENCE, |world| {
        let shard = DeviceMatrix::<u32>::zeroed(&device(), 10, 20 + world.rank()).unwrap();
        DistributedMatrix::from_shard(&world, shard).map(drop)
    });
    assert!(matches!(refused[0], Err(Error::Shard { device: 1, .. })), "{:?}", refused[0]);
    assert!(matches!(refused[1], Err(Error::Shard { device: 0, .. })), "{:?}", refused[1]);
}

/// A process that cannot even begin says so, and is not waited for.
#[test]
fn what_one_process_cannot_ask_for_is_refused_everywhere() {
    let refused = in_processes(2, PATIENCE, |world| {
        let src = DistributedTensor::<u32>::zeroed(&world, &device(), &[30, 40], 0).unwrap();
        let mut dst = DistributedTensor::zeroed(&world, src.device(), &[40, 30], 0).unwrap();
        let sockets = Sockets::new(&world);
        let axes = if world.rank() == 1 { [1, 1] } else { [1, 0] };
        let moved = src.permute_into(&axes, &mut dst, &sockets);
        let spread = src.all_to_all(1 + world.rank(), &sockets).map(drop);
        // The world goes on.
        src.permute_into(&[1, 0], &mut dst, &sockets).unwrap();
        [moved, spread].map(Result::unwrap_err)
    });
    for error in &refused[0] {
        assert!(matches!(error, Error::Disagreement { rank: 1, .. }), "{error}");
    }
    assert!(matches!(refused[1][0], Error::NotAPermutation { .. }), "{}", refused[1][0]);
    assert!(matches!(refused[1][1], Error::NoSuchAxis { .. }), "{}", refused[1][1]);
}

#[test]
fn messages_that_are_too_long_are_refused_everywhere() {
    const MOST: usize = 1 << 20;
    let refused = in_processes(2, PATIENCE, |world| {
        let heard = world.all_gather(&vec![7; MOST]).unwrap();
        assert!(heard.iter().all(|bytes| bytes.len() == MOST));
        world.all_gather(&vec![7; if world.rank() == 1 { MOST + 1 } else { 1 }]).unwrap_err()
    });
    assert!(is_told(&refused[0]), "{}", refused[0]);
    assert!(matches!(&refused[1], Error::World { reason } if reason.contains("1048577")));
}

/// Messages of the longest kind pass where connections hold few bytes: packets of an Ethernet have the system give them smaller buffers than those of a host's loopback.
#[cfg(target_os = "linux")]
#[test]
fn long_messages_pass_small_buffers() {
    use std::os::fd::AsRawFd;
    let ethernet: libc::c_int = 1448;
    let (listener, first) = listener();
    let bytes = size_of_val(&ethernet) as libc::socklen_t;
    let (level, option) = (libc::IPPROTO_TCP, libc::TCP_MAXSEG);
    // SAFETY: the socket is open, and the option's value an integer that lives.
    let set = unsafe {
        libc::setsockopt(listener.as_raw_fd(), level, option, (&raw const ethernet).cast(), bytes)
    };
    assert_eq!(set, 0);
    std::thread::scope(|scope| {
        let zero = scope.spawn(move || World::listening(&listener, 2, PATIENCE).unwrap());
        let one = scope.spawn(move || World::connect(1, 2, first, PATIENCE).unwrap());
        let (zero, one) = (zero.join().unwrap(), one.join().unwrap());
        let given = |world: &World| world.all_gather(&vec![world.rank() as u8; 1 << 20]).unwrap();
        let asked = scope.spawn(move || given(&one));
        let [heard, there] = [given(&zero), asked.join().unwrap()];
        assert_eq!(heard, there);
        assert!((0..2).all(|rank| heard[rank].iter().all(|&byte| usize::from(byte) == rank)));
    });
}

/// Where a process has another rank its shards have other lengths.
#[test]
fn arrays_of_another_world_are_refused() {
    let (other_listener, other_first) = &listener();
    in_processes(2, PATIENCE, |world| {
        let other = match world.rank() {
            1 => World::listening(other_listener, 2, PATIENCE),
            _ => World::connect(1, 2, *other_first, PATIENCE),
        };
        let (other, device, shares) = (other.unwrap(), device(), Shares::of_lengths(&[100, 1]));
        let zeros = |world: &World| {
            DistributedTensor::<u32>::zeroed_shared(world, &device, &[101, 101], 0, &shares)
                .unwrap()
        };
        let (src, mut dst, mut elsewhere) = (zeros(&world), zeros(&world), zeros(&other));
        let refused = DistributedPlan::new(&src, &elsewhere, &[1, 0]).map(drop);
        assert!(matches!(refused, Err(Error::World { .. })), "{refused:?}");
        let (plan, sockets) =
            (DistributedPlan::new(&src, &dst, &[1, 0]).unwrap(), Sockets::new(&world));
        let refused = plan.run(&src, &mut elsewhere, &sockets);
        assert!(matches!(refused, Err(Error::World { .. })), "{refused:?}");
        plan.run(&src, &mut dst, &sockets).unwrap();
    });
}

/// A process with a shard that has gaps is not alone in being refused.
#[test]
fn shards_with_gaps_are_refused_everywhere() {
    let refused = in_processes(2, PATIENCE, |world| {
        let strides = if world.rank() == 1 { [4, 1] } else { [3, 1] };
        let layout = TensorLayout::strided(&[2, 3], &strides, 0, 4).unwrap();
        let memory = DeviceTensor::<u32>::zeroed(&device(), &[8]).unwrap().into_allocation();
        let shard = DeviceTensor::<u32>::from_allocation(memory, layout).unwrap();
        DistributedTensor::from_shard(&world, 0, shard).map(drop)
    });
    for refused in &refused {
        assert!(matches!(refused, Err(Error::Shard { device: 1, .. })), "{refused:?}");
    }
}

/// Carries nothing: says so, or panics.
#[derive(Default)]
struct Broken {
    panics: bool,
    is_aborted: Mutex<bool>,
}

// SAFETY: it touches no memory.
unsafe impl Transport for Broken {
    unsafe fn exchange(&self, _: usize, _: &Device, _: &[Parcel], _: &[Parcel]) -> Result<()> {
        assert!(!self.panics, "this transport carries nothing");
        Err(Error::Peer { rank: 9, reason: "the cable is cut".to_owned() })
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {
        *self.is_aborted.lock().unwrap() = true;
    }
}

#[test]
fn what_fails_in_one_process_fails_in_all() {
    let errors = in_processes(3, PATIENCE, |world| {
        let src = DistributedMatrix::<u32>::zeroed(&world, &device(), 90, 60).unwrap();
        if world.rank() == 2 {
            let broken = Broken::default();
            let error = src.transposed(&broken).unwrap_err();
            assert!(*broken.is_aborted.lock().unwrap());
            return (error, world);
        }
        let error = src.transposed(&Sockets::new(&world)).unwrap_err();
        // The world has failed, and says why again.
        assert_eq!(world.all_gather(&[]).unwrap_err(), error);
        // Its connections are closed though the world is there until all have ended.
        (error, world)
    });
    assert!(errors.iter().all(|(error, _)| is_told(error)), "{errors:?}");
}

/// What was queued is given up before its memory is, and nobody goes on.
#[test]
fn a_transport_that_panics() {
    let errors = in_processes(2, PATIENCE, |world| {
        let src = DistributedMatrix::<u32>::zeroed(&world, &device(), 90, 60).unwrap();
        if world.rank() == 0 {
            return (src.transposed(&Sockets::new(&world)).unwrap_err(), world);
        }
        let panicking = Broken { panics: true, ..Broken::default() };
        let left = std::panic::AssertUnwindSafe(|| src.transposed(&panicking).map(drop));
        assert!(std::panic::catch_unwind(left).is_err());
        assert!(*panicking.is_aborted.lock().unwrap());
        (world.all_gather(&[]).unwrap_err(), world)
    });
    assert!(is_told(&errors[0].0), "{}", errors[0].0);
    assert!(matches!(errors[1].0, Error::World { .. }), "{}", errors[1].0);
}

#[test]
fn a_process_that_dies() {
    let errors = in_processes(4, PATIENCE, |world| {
        if world.rank() == 3 {
            return None;
        }
        let src = DistributedMatrix::<u32>::zeroed(&world, &device(), 90, 60).unwrap();
        let error = src.transposed(&Sockets::new(&world)).unwrap_err();
        // Those that are left keep their connections: what they hear of is the end of the one that died.
        Some((error, world))
    });
    let is_told =
        |end: &Option<(Error, World)>| end.as_ref().is_some_and(|(error, _)| is_told(error));
    assert!(errors[..3].iter().all(is_told), "{errors:?}");
}

#[test]
fn a_process_that_sleeps() {
    let awake = Barrier::new(2);
    let errors = in_processes(2, Duration::from_secs(2), |world| {
        let error = if world.rank() == 0 { world.all_gather(&[1]).err() } else { None };
        // It sleeps until the other one has given it up.
        awake.wait();
        error
    });
    let Some(Error::Peer { rank: 1, reason }) = &errors[0] else { panic!("{errors:?}") };
    assert!(reason.contains("in time"), "{reason}");
}

#[test]
fn a_process_that_does_something_else() {
    let errors = in_processes(2, PATIENCE, |world| {
        if world.rank() == 0 {
            world.all_gather(&[0; 5]).unwrap();
        }
        // Out of step from here on.
        let src = DistributedMatrix::<u32>::zeroed(&world, &device(), 9, 6).unwrap();
        src.transposed(&Sockets::new(&world)).err()
    });
    assert!(
        errors
            .iter()
            .all(|error| matches!(error, Some(Error::Peer { .. } | Error::Disagreement { .. }))),
        "{errors:?}"
    );
}

#[test]
fn a_world_without_some_of_its_processes() {
    let ((listener, first), patience) = (listener(), Duration::from_millis(300));
    let any_port = "127.0.0.1:0".parse().unwrap();
    for alone in
        [World::connect(0, 3, any_port, patience), World::listening(&listener, 3, patience)]
    {
        let alone = alone.map(drop).unwrap_err();
        assert!(alone.to_string().contains("2 of 3 processes did not come in time"), "{alone}");
    }
    let taken = World::connect(0, 3, first, patience).map(drop).unwrap_err();
    assert!(taken.to_string().contains("cannot listen at"), "{taken}");
    let nobody = "127.0.0.1:1".parse().unwrap();
    let lost = World::connect(1, 3, nobody, patience).map(drop).unwrap_err();
    assert!(
        matches!(&lost, Error::Peer { rank: 0, reason } if reason.contains("in time")),
        "{lost}"
    );
    for (rank, size) in [(3, 3), (0, 0), (0, usize::MAX)] {
        let refused = World::connect(rank, size, first, patience).map(drop);
        assert!(matches!(refused, Err(Error::World { .. })), "{rank} of {size}: {refused:?}");
    }
    for size in [0, usize::MAX] {
        let refused = World::listening(&listener, size, patience).map(drop);
        assert!(matches!(refused, Err(Error::World { .. })), "{size}: {refused:?}");
    }
    assert_eq!(World::listening(&listener, 1, patience).unwrap().size(), 1);
}

/// The first process may come after the others, and listen only then.
#[test]
fn the_first_process_comes_last() {
    // Below the ports that systems give away, so that no other socket of this program has it.
    let port = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let first = SocketAddr::from(([127, 0, 0, 1], port));
    std::thread::scope(|scope| {
        let other = scope.spawn(move || World::connect(1, 2, first, PATIENCE).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        let zero = World::connect(0, 2, first, PATIENCE).unwrap();
        let one = other.join().unwrap();
        assert_eq!((zero.rank(), zero.size()), (0, 2));
        assert_eq!((one.rank(), one.size()), (1, 2));
    });
}

#[test]
fn processes_of_two_worlds() {
    let (listener, first) = listener();
    std::thread::scope(|scope| {
        let two = scope.spawn(move || World::listening(&listener, 2, PATIENCE).map(drop));
        let three = scope.spawn(move || World::connect(1, 3, first, PATIENCE).map(drop));
        let said = two.join().unwrap().unwrap_err().to_string();
        assert!(said.contains("process 1 of 3 came to a world of 2"), "{said}");
        assert!(three.join().unwrap().is_err());
    });
}

/// Whoever is no process of ours is sent away, and nobody waits long for them.
#[test]
fn strangers() {
    let (listener, first) = listener();
    std::thread::scope(|scope| {
        let listening = scope.spawn(move || World::listening(&listener, 2, PATIENCE).unwrap());
        let stranger = TcpStream::connect(first).unwrap();
        std::io::Write::write_all(&mut &stranger, b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let other = scope.spawn(move || World::connect(1, 2, first, PATIENCE).unwrap());
        let (zero, one) = (listening.join().unwrap(), other.join().unwrap());
        let asked = scope.spawn(move || one.all_gather(b"one").unwrap());
        assert_eq!(zero.all_gather(b"zero").unwrap(), [&b"zero"[..], b"one"]);
        assert_eq!(asked.join().unwrap(), [&b"zero"[..], b"one"]);
    });
}

#[test]
fn arrays_that_cannot_be() {
    in_processes(2, PATIENCE, |world| {
        let device = device();
        let shares = Shares::of_lengths(&[1, 2, 3]);
        let refused =
            DistributedTensor::<u8>::zeroed_shared(&world, &device, &[6, 2], 0, &shares).map(drop);
        assert!(matches!(refused, Err(Error::Shares { devices: 2, .. })));
        let refused = DistributedTensor::<u8>::zeroed(&world, &device, &[6, 2], 2).map(drop);
        assert!(matches!(refused, Err(Error::NoSuchAxis { .. })));
        let src = DistributedMatrix::<u8>::zeroed(&world, &device, 6, 2).unwrap();
        let wrong = DistributedMatrix::<u8>::zeroed(&world, &device, 6, 2).unwrap();
        let refused = DistributedPlan::new(src.as_tensor(), wrong.as_tensor(), &[1, 0]).map(drop);
        assert!(matches!(refused, Err(Error::TensorShapeMismatch { .. })));
        let elsewhere =
            DistributedMatrix::<u8>::zeroed(&world, &Device::simulated(), 2, 6).unwrap();
        let refused =
            DistributedPlan::new(src.as_tensor(), elsewhere.as_tensor(), &[1, 0]).map(drop);
        assert!(matches!(refused, Err(Error::DeviceMismatch { .. })));
    });
}
