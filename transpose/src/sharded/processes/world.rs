//! The processes that hold arrays together: who they are, and a connection between each two.
//!
//! The first process listens; every other one connects to it and says who it is, and where it listens itself. When all are there the first
//! tells all of them where the others are, and they connect to each other.
//!
//! Everything ends in bounded time. A process that fails closes its connections, so that those who wait for it, and those who wait for them,
//! hear of it at once; a world that has failed stays so.

use super::environment::Place;
use super::wire::{Deadline, LONGEST, Wire, meaning};
use crate::{Error, Result};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Says that a process is one of ours, of a version that understands this one.
const HELLO: u64 = 0x7472_616e_7370_0001;

/// The first of the numbers that collective calls are told apart by.
const FIRST_CALL: u64 = HELLO + 1;

/// How long to wait before a process that does not listen yet is tried again.
const AGAIN: Duration = Duration::from_millis(20);

/// The most processes of a world: each is connected to each other, and the addresses of all fit in a message.
const MOST: usize = 1 << 14;

/// Bytes of a message that the connections' buffers hold on any network, with those of the messages before that are on their way: a process may send them before it receives anything.
const BUFFERED: usize = 16 << 10;

/// Processes, each with a rank from 0 on, that call the same things in the same order. Clones are handles to the same world.
///
/// ```no_run
/// use std::time::Duration;
/// use transpose::{Device, DistributedMatrix, Sockets, World};
/// # fn main() -> transpose::Result<()> {
/// // Started by torchrun, mpirun or srun, or with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.
/// let world = World::from_env(Duration::from_secs(30))?;
/// let (device, _) = Device::any();
/// let a = DistributedMatrix::<f32>::zeroed(&world, &device, 3000, 2000)?; // this process's share of the rows
/// let b = a.transposed(&Sockets::new(&world))?;
/// assert_eq!(b.shape(), (2000, 3000));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct World(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    rank: usize,
    timeout: Duration,
    /// The others by rank; none for this process.
    wires: Vec<Option<Wire>>,
    calls: Mutex<Calls>,
    /// What has brought the processes together, if it must be there as long as the world is.
    kept: OnceLock<Box<dyn Kept>>,
}

/// What lives as long as a world.
pub(super) trait Kept: fmt::Debug + Send + Sync {
    /// Some processes may have gone: nobody is to wait for them.
    fn give_up(&self);
}

/// One collective call is made at a time.
#[derive(Debug)]
struct Calls {
    next: u64,
    /// Why there are no more.
    failed: Option<Error>,
}

/// A collective call that is being made.
pub(super) struct Call<'a> {
    world: &'a World,
    number: u64,
    deadline: Deadline,
}

impl World {
    /// The world that the launcher of the process has made, by the usual variables: `RANK` and `WORLD_SIZE`, or those of Open MPI or Slurm;
    /// `MASTER_ADDR` and `MASTER_PORT` say where the first process is, which listens on the port behind that one.
    ///
    /// No call of this world, nor this one, waits longer than `timeout` for another process.
    ///
    /// # Errors
    /// [`Error::World`] for variables that are missing or wrong, and those of [`connect`](Self::connect).
    pub fn from_env(timeout: Duration) -> Result<Self> {
        let place = Place::of(|name| std::env::var(name).ok())?;
        Self::connect(place.rank, place.size, place.first, timeout)
    }

    /// The world of `size` processes, the first of which listens at `first`.
    ///
    /// # Errors
    /// [`Error::World`] if the others do not come in time, are of a world of another size, or are more than 16384; and [`Error::Peer`] for one
    /// that goes.
    pub fn connect(rank: usize, size: usize, first: SocketAddr, timeout: Duration) -> Result<Self> {
        require_place(rank, size)?;
        let deadline = Deadline::after(timeout);
        let wires = match (rank, size) {
            (_, 1) => Ok(vec![None]),
            (0, _) => gather(size, &listen(first)?, deadline),
            _ => join(rank, size, &[first], deadline),
        }?;
        Ok(Self::of(rank, wires, timeout))
    }

    /// The world of `size` processes, of which this is the first and listens already: at a port that the system has chosen, say, which the
    /// others are told before they [`connect`](Self::connect) to it.
    ///
    /// A port that was free a moment ago need not be when `connect` comes to listen at it; one that is listened at stays so. The listener does
    /// not block from now on.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn listening(listener: &TcpListener, size: usize, timeout: Duration) -> Result<Self> {
        require_place(0, size)?;
        let wires = gather(size, listener, Deadline::after(timeout))?;
        Ok(Self::of(0, wires, timeout))
    }

    /// The world of processes that are connected.
    pub(super) fn of(rank: usize, wires: Vec<Option<Wire>>, timeout: Duration) -> Self {
        let calls = Mutex::new(Calls { next: FIRST_CALL, failed: None });
        World(Arc::new(Shared { rank, timeout, wires, calls, kept: OnceLock::new() }))
    }

    /// Has something live as long as the world; one thing at most.
    #[cfg(feature = "mpi")]
    pub(super) fn keep(&self, kept: Box<dyn Kept>) {
        // There is one that makes a world and has something kept.
        let _ = self.0.kept.set(kept);
    }

    /// Which process this is.
    pub fn rank(&self) -> usize {
        self.0.rank
    }

    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.0.wires.len()
    }

    /// How long no call waits for another process longer than.
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// What every process has given, by rank. All of them call this, each with a few bytes, 1 MiB at most.
    ///
    /// # Errors
    /// [`Error::World`] for more bytes than that, and [`Error::Peer`] in the other processes then; [`Error::Peer`] for a process that has gone, does not answer in time, or calls something else; and if an earlier call failed.
    pub fn all_gather(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.call(|call| {
            if mine.len() as u64 > LONGEST {
                let bytes = mine.len();
                return Err(world(format!(
                    "{bytes} bytes are more than the {LONGEST} of a message"
                )));
            }
            let send = || call.others().try_for_each(|peer| call.send(peer, mine));
            let theirs =
                |rank| if rank == self.rank() { Ok(mine.to_vec()) } else { call.receive(rank) };
            let receive = || (0..self.size()).map(theirs).collect();
            if mine.len() <= BUFFERED {
                send()?;
                return receive();
            }
            call.both(send, receive)
        })
    }

    /// Makes a collective call. If it fails, all connections are closed.
    pub(super) fn call<R>(&self, work: impl FnOnce(&Call<'_>) -> Result<R>) -> Result<R> {
        let mut calls = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &calls.failed {
            return Err(error.clone());
        }
        let deadline = Deadline::after(self.0.timeout);
        let done = work(&Call { world: self, number: calls.next, deadline });
        calls.next += 1;
        done.inspect_err(|error| {
            calls.failed = Some(error.clone());
            self.close();
        })
    }

    /// Whether these are the same connections, and so the same ranks.
    pub(super) fn is_same(&self, other: &World) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Has this process take no more part: the others hear of it at once.
    pub(super) fn fail(&self, error: &Error) {
        let mut calls = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.failed.get_or_insert_with(|| error.clone());
        self.close();
    }

    /// Whether a call of this process has failed, so that no further one is made.
    #[cfg(feature = "mpi")]
    pub(super) fn has_failed(&self) -> bool {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).failed.is_some()
    }

    fn close(&self) {
        if let Some(kept) = self.0.kept.get() {
            kept.give_up();
        }
        self.0.wires.iter().flatten().for_each(Wire::close);
    }

    /// Refuses to go on if a process has gone. Waits for nothing.
    #[cfg(any(feature = "mpi", feature = "nccl"))]
    pub(super) fn require_all(&self) -> Result<()> {
        let gone = |(_, wire): &(usize, &Option<Wire>)| wire.as_ref().is_some_and(Wire::is_closed);
        match self.0.wires.iter().enumerate().find(gone) {
            Some((rank, _)) => Err(Error::Peer { rank, reason: "it has gone".to_owned() }),
            None => Ok(()),
        }
    }
}

impl Call<'_> {
    /// The other processes: the next one first.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, size) = (self.world.rank(), self.world.size());
        (1..size).map(move |turn| (rank + turn) % size)
    }

    pub fn send(&self, rank: usize, bytes: &[u8]) -> Result<()> {
        self.with(rank, |wire| wire.send(self.number, bytes, self.deadline))
    }

    pub fn receive(&self, rank: usize) -> Result<Vec<u8>> {
        self.with(rank, |wire| wire.receive(self.number, self.deadline))
    }

    /// Receives as many bytes as there is place for.
    pub fn receive_into(&self, rank: usize, bytes: &mut [u8]) -> Result<()> {
        self.with(rank, |wire| wire.receive_into(self.number, bytes, self.deadline))
    }

    /// Sends while it receives: processes that only sent would wait for each other once what lies between them is full. Whichever fails ends the other's wait.
    pub(super) fn both<R>(
        &self,
        send: impl FnOnce() -> Result<()> + Send,
        receive: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| send().inspect_err(|_| self.give_up()));
            let received = receive().inspect_err(|_| self.give_up());
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            received.and_then(|received| sent.map(|()| received))
        })
    }

    /// Closes all connections: the call fails.
    pub fn give_up(&self) {
        self.world.close();
    }

    fn with<R>(&self, rank: usize, work: impl FnOnce(&Wire) -> io::Result<R>) -> Result<R> {
        let wire = self.world.0.wires.get(rank).and_then(Option::as_ref);
        let gone = || Error::Peer { rank, reason: "there is no such process".to_owned() };
        work(wire.ok_or_else(gone)?).map_err(|error| Error::Peer { rank, reason: meaning(&error) })
    }
}

/// What a process says of itself when it connects.
struct Hello {
    rank: usize,
    size: usize,
    port: u16,
}

impl Hello {
    fn to_bytes(&self) -> [u8; 18] {
        let mut bytes = [0; 18];
        bytes[..8].copy_from_slice(&(self.rank as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.size as u64).to_le_bytes());
        bytes[16..].copy_from_slice(&self.port.to_le_bytes());
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let port = u16::from_le_bytes(bytes.get(16..18)?.try_into().ok()?);
        Some(Hello { rank: number(0)?.try_into().ok()?, size: number(8)?.try_into().ok()?, port })
    }
}

fn world(reason: impl Into<String>) -> Error {
    Error::World { reason: reason.into() }
}

fn require_place(rank: usize, size: usize) -> Result<()> {
    if rank >= size {
        return Err(world(format!("process {rank} of {size} is behind the last")));
    }
    if size > MOST {
        return Err(world(format!("{size} processes are more than the {MOST} that there may be")));
    }
    Ok(())
}

fn listen(first: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(first)
        .map_err(|error| world(format!("the first process cannot listen at {first}: {error}")))
}

/// The first process's connections: all others come to it, and are told where each of them is.
pub(super) fn gather(
    size: usize,
    listener: &TcpListener,
    deadline: Deadline,
) -> Result<Vec<Option<Wire>>> {
    let mut wires: Vec<Option<Wire>> = (0..size).map(|_| None).collect();
    let mut places = vec![None; size];
    for missing in (1..size).rev() {
        let late = |error: &io::Error| match error.kind() {
            io::ErrorKind::TimedOut => {
                world(format!("{missing} of {size} processes did not come in time"))
            }
            _ => world(error.to_string()),
        };
        let (wire, hello) = welcome(listener, deadline).map_err(|error| late(&error))?;
        let Hello { rank, port, .. } = hello;
        if hello.size != size || !(1..size).contains(&rank) || wires[rank].is_some() {
            return Err(world(format!(
                "process {rank} of {} came to a world of {size} in which it has no place",
                hello.size
            )));
        }
        let ip = wire.peer().map_err(|error| late(&error))?.ip();
        places[rank] = Some(SocketAddr::new(ip, port));
        wires[rank] = Some(wire);
    }
    for (rank, wire) in wires.iter().enumerate() {
        let Some(wire) = wire else { continue };
        let tell = || {
            let ends = [wire.peer()?.ip(), wire.here()?.ip()];
            let seen = |place: &Option<SocketAddr>| {
                place.map_or(String::new(), |place| as_seen(place, ends).to_string())
            };
            let all: Vec<String> = places.iter().map(seen).collect();
            wire.send(HELLO, all.join("\n").as_bytes(), deadline)
        };
        tell().map_err(|error| Error::Peer { rank, reason: meaning(&error) })?;
    }
    Ok(wires)
}

/// Where a process is to another one, whose connection with the first has these ends, theirs and the first's. One that came to the first over
/// the loopback of its host is on that host, and others reach it where they have reached the first.
fn as_seen(place: SocketAddr, [theirs, first]: [IpAddr; 2]) -> SocketAddr {
    match place.ip().is_loopback() && !theirs.is_loopback() {
        true => SocketAddr::new(first, place.port()),
        false => place,
    }
}

/// Another process's connections: to the first, which is at one of several addresses, to those before it, and from those behind it.
pub(super) fn join(
    rank: usize,
    size: usize,
    first: &[SocketAddr],
    deadline: Deadline,
) -> Result<Vec<Option<Wire>>> {
    let ours = |error: io::Error| world(error.to_string());
    let lost = |rank: usize| move |error: io::Error| Error::Peer { rank, reason: meaning(&error) };
    let to_first = connect(first, deadline).map_err(lost(0))?;
    let any: IpAddr = match to_first.peer().map_err(lost(0))? {
        SocketAddr::V4(_) => [0, 0, 0, 0].into(),
        SocketAddr::V6(_) => [0u16; 8].into(),
    };
    let listener = TcpListener::bind((any, 0)).map_err(ours)?;
    let port = listener.local_addr().map_err(ours)?.port();
    let hello = Hello { rank, size, port }.to_bytes();
    let greet = |rank: usize, wire: Wire| -> Result<Wire> {
        wire.send(HELLO, &hello, deadline).map_err(lost(rank))?;
        Ok(wire)
    };
    let mut wires: Vec<Option<Wire>> = (0..size).map(|_| None).collect();
    let to_first = greet(0, to_first)?;
    let places = to_first.receive(HELLO, deadline).map_err(lost(0))?;
    wires[0] = Some(to_first);
    let places = String::from_utf8_lossy(&places).into_owned();
    let places: Vec<&str> = places.split('\n').collect();
    for (before, wire) in wires.iter_mut().enumerate().take(rank).skip(1) {
        let place = places.get(before).and_then(|place| place.parse().ok());
        let place = place.ok_or_else(|| world("the first process does not know all others"))?;
        let connected = connect(&[place], deadline).map_err(lost(before))?;
        *wire = Some(greet(before, connected)?);
    }
    for _ in rank + 1..size {
        let (wire, hello) = welcome(&listener, deadline).map_err(ours)?;
        if hello.size != size || !(rank + 1..size).contains(&hello.rank) {
            return Err(world(format!(
                "process {} of {} has no place here",
                hello.rank, hello.size
            )));
        }
        wires[hello.rank] = Some(wire);
    }
    Ok(wires)
}

/// Connects to a process that may not listen yet, at one of several addresses.
fn connect(places: &[SocketAddr], deadline: Deadline) -> io::Result<Wire> {
    /// How long an address that does not answer may keep the others waiting.
    const SILENT: Duration = Duration::from_secs(2);
    loop {
        for place in places {
            let left = deadline.left()?;
            let brief = if places.len() > 1 { left.min(SILENT) } else { left };
            match TcpStream::connect_timeout(place, brief) {
                // Where nobody listens, the system may have given this socket the very port that it asks for.
                Ok(stream) if is_connected_to_itself(&stream) => {}
                Ok(stream) => return Wire::new(stream),
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Err(error),
                Err(_) => {}
            }
        }
        std::thread::sleep(AGAIN.min(deadline.left()?));
    }
}

fn is_connected_to_itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(here), Ok(there)) if here == there)
}

/// The next process that connects, and what it says of itself. Whoever says something else is sent away.
fn welcome(listener: &TcpListener, deadline: Deadline) -> io::Result<(Wire, Hello)> {
    /// How long a stranger may keep others waiting.
    const STRANGER: Duration = Duration::from_secs(2);
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                // One that has ended already is a stranger's.
                let Ok(wire) = Wire::new(stream) else { continue };
                let brief = Deadline::after(STRANGER.min(deadline.left()?));
                let said = wire.receive(HELLO, brief).ok();
                if let Some(hello) = said.as_deref().and_then(Hello::of) {
                    return Ok((wire, hello));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(2).min(deadline.left()?));
            }
            // Whoever came has gone before it was let in, or a signal came.
            Err(error) if is_of_one_comer(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether the next process may still be let in.
fn is_of_one_comer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), Interrupted | ConnectionAborted | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_beside_the_first_is_where_the_first_is()
    -> std::result::Result<(), Box<dyn std::error::Error>> {
        let [here, here6, first, other] =
            ["127.0.0.1", "::1", "10.0.0.1", "10.0.0.2"].map(|ip| ip.parse::<IpAddr>());
        let (here, here6, first, other) = (here?, here6?, first?, other?);
        let at = |ip| SocketAddr::new(ip, 4000);
        // To a process of another host, which has reached the first at an address of its own.
        assert_eq!(as_seen(at(here), [other, first]), at(first));
        assert_eq!(as_seen(at(here6), [other, first]), at(first));
        // To one of the first's host, and one of another host to either.
        assert_eq!(as_seen(at(here), [here, here]), at(here));
        assert_eq!(as_seen(at(other), [here, here]), at(other));
        assert_eq!(as_seen(at(other), [other, first]), at(other));
        Ok(())
    }
}
