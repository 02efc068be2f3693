//! A world of the processes that MPI knows: where the first of them listens goes to the others by MPI, and nothing else does.

use super::super::wire::{Deadline, Wire};
use super::super::world::{Kept, World, gather, join};
use super::library::library;
use super::session::Session;
use crate::{Error, Result};
use std::ffi::{c_char, c_int};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

/// More bytes than a host's name has (`MPI_MAX_PROCESSOR_NAME` is 256 of Open MPI's).
const NAME: usize = 1024;

/// What the first process tells all others: its port, and its host's name. Port 0 if it cannot listen.
type Said = [u8; 2 + NAME];

impl World {
    /// The world of the processes that `mpirun` or `srun` has started, with the ranks that MPI gives them, on one host or many: no variable says
    /// where the first of them listens, for MPI tells them. Open MPI is opened and initialized as by [`Mpi`](crate::Mpi), and finalized, which waits for
    /// all processes, with the last handle of the world. All processes call this.
    ///
    /// Bytes go over connections of the world's own. No call of this world waits longer than `timeout` for another process, nor does this one
    /// once MPI is initialized.
    ///
    /// # Errors
    /// [`Error::Mpi`], and those of [`connect`](Self::connect).
    pub fn from_mpi(timeout: Duration) -> Result<Self> {
        let session = Session::open(library()?)?;
        let made = meet(&session, timeout);
        // Who is not there is not waited for.
        let (rank, wires) = made.inspect_err(|_| session.give_up())?;
        let world = World::of(rank, wires, timeout);
        world.keep(Box::new(session));
        Ok(world)
    }
}

/// This process's rank, and its connections.
fn meet(session: &Session, timeout: Duration) -> Result<(usize, Vec<Option<Wire>>)> {
    let [rank, size] = session.place()?;
    if size == 1 {
        return Ok((rank, vec![None]));
    }
    let deadline = Deadline::after(timeout);
    let here = host_name(session)?;
    let any = [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), (Ipv6Addr::UNSPECIFIED, 0).into()];
    let listener = if rank == 0 { TcpListener::bind(&any[..]).ok() } else { None };
    let port = listener.as_ref().and_then(|listener| listener.local_addr().ok());
    let mut said: Box<Said> = Box::new([0; 2 + NAME]);
    said[..2].copy_from_slice(&port.map_or(0, |address| address.port()).to_le_bytes());
    said[2..].copy_from_slice(&here);
    let said = broadcast(session, said, deadline)?;
    let port = u16::from_le_bytes([said[0], said[1]]);
    let deaf = || Error::World { reason: "the first process cannot listen".to_owned() };
    let wires = match listener {
        Some(listener) => gather(size, &listener, deadline),
        None if port == 0 => Err(deaf()),
        None => join(rank, size, &places(&said[2..], said[2..] == here, port)?, deadline),
    }?;
    Ok((rank, wires))
}

impl Kept for Session {
    fn give_up(&self) {
        Session::give_up(self);
    }
}

/// The addresses at which the first process may be, the likeliest first.
fn places(name: &[u8], is_here: bool, port: u16) -> Result<Vec<SocketAddr>> {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_end_matches('\0');
    let mut places = Vec::new();
    if is_here {
        places.extend([
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            (Ipv6Addr::LOCALHOST, port).into(),
        ]);
    }
    match (name, port).to_socket_addrs() {
        Ok(known) => places.extend(known),
        Err(_) if is_here => {}
        Err(error) => {
            let reason =
                format!("the first process is on {name:?}, which is not known here: {error}");
            return Err(Error::World { reason });
        }
    }
    Ok(places)
}

/// The name of this process's host, and zeros behind it.
fn host_name(session: &Session) -> Result<[u8; NAME]> {
    let (mut name, mut length): ([u8; NAME], c_int) = ([0; NAME], 0);
    let place = name.as_mut_ptr().cast::<c_char>();
    // SAFETY: there is room for more than MPI's longest name.
    unsafe { session.functions().MPI_Get_processor_name(place, &mut length)? };
    name[usize::try_from(length).unwrap_or(0).min(NAME)..].fill(0);
    Ok(name)
}

/// What the first process says, in all processes. If it does not come in time, the bytes are left to MPI.
fn broadcast(session: &Session, mut said: Box<Said>, deadline: Deadline) -> Result<Box<Said>> {
    let functions = session.functions();
    let (of, world, mut request) = (functions.bytes()?, functions.world()?, std::ptr::null_mut());
    let (first, count) = (said.as_mut_ptr().cast(), said.len() as c_int);
    // SAFETY: the bytes live until it is done, or for good; all processes call this.
    unsafe { functions.MPI_Ibcast(first, count, of, 0, world, &mut request)? };
    match session.wait(&mut [request], deadline, || Ok(())) {
        Ok(()) => Ok(said),
        Err(error) => {
            std::mem::forget(said);
            Err(error)
        }
    }
}
