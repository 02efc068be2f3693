//! The transport that needs nothing: through the host's memory and the connections of the world.

use super::transport::{Parcel, Transport};
use super::world::{Call, World};
use crate::layout::Layout;
use crate::{Device, Error, Result};

/// Carries bytes through the host's memory and the connections between the processes, for devices of any kind. A call waits for what it
/// carries.
#[derive(Clone, Debug)]
pub struct Sockets {
    world: World,
}

impl Sockets {
    /// By the connections of a world.
    pub fn new(world: &World) -> Self {
        Sockets { world: world.clone() }
    }
}

impl Transport for Sockets {
    unsafe fn exchange(
        &self,
        _: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()> {
        let layout = |parcel: &Parcel| Layout::contiguous(1, parcel.bytes, 1);
        let mut sent = Vec::with_capacity(out.len());
        for parcel in out {
            let mut bytes = vec![0u8; parcel.bytes];
            // SAFETY: the parcel lies inside live memory, which is in order with the queue; the call waits.
            unsafe { queue.download(parcel.address, &layout(parcel)?, &mut bytes)? };
            sent.push((parcel.peer, bytes));
        }
        let mut received: Vec<_> =
            into.iter().map(|parcel| (parcel.peer, vec![0u8; parcel.bytes])).collect();
        self.world.call(|call| swap(call, &sent, &mut received))?;
        for (parcel, (_, bytes)) in into.iter().zip(&received) {
            // SAFETY: as above; no two parcels that are received overlap.
            unsafe { queue.upload(parcel.address, &layout(parcel)?, bytes)? };
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {
        self.world.fail(&Error::World { reason: "an exchange was given up".to_owned() });
    }
}

/// Sends all while all is received: two processes that only sent would wait for each other.
fn swap(
    call: &Call<'_>,
    sent: &[(usize, Vec<u8>)],
    received: &mut [(usize, Vec<u8>)],
) -> Result<()> {
    std::thread::scope(|scope| {
        // Whichever fails ends the other's wait.
        let sender = scope.spawn(|| {
            let all = sent.iter().try_for_each(|(peer, bytes)| call.send(*peer, bytes));
            all.inspect_err(|_| call.give_up())
        });
        let all = received.iter_mut().try_for_each(|(peer, bytes)| call.receive_into(*peer, bytes));
        let here = all.inspect_err(|_| call.give_up());
        let there = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        here.and(there)
    })
}
