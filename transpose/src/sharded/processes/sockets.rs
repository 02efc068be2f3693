//! The transport that needs nothing: through the host's memory and the connections of the world.

use super::by_host::{Carried, room_for, to_device, to_host};
use super::transport::{Parcel, Transport};
use super::world::{Call, World};
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

// SAFETY: bytes come from the host's memory and go there by copies of exactly the parcels, which the queue orders; it reaches nothing.
unsafe impl Transport for Sockets {
    unsafe fn exchange(
        &self,
        _: usize,
        queue: &Device,
        out: &[Parcel],
        into: &[Parcel],
    ) -> Result<()> {
        // SAFETY: the caller's obligations.
        let sent = unsafe { to_host(queue, out)? };
        let mut received = room_for(into);
        self.world.call(|call| swap(call, &sent, &mut received))?;
        // SAFETY: the caller's obligations.
        unsafe { to_device(queue, into, &received) }
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {
        self.world.fail(&Error::World { reason: "an exchange was given up".to_owned() });
    }
}

/// Sends all while all is received.
fn swap(call: &Call<'_>, sent: &[Carried], received: &mut [Carried]) -> Result<()> {
    call.both(
        || sent.iter().try_for_each(|(peer, bytes)| call.send(*peer, bytes)),
        || received.iter_mut().try_for_each(|(peer, bytes)| call.receive_into(*peer, bytes)),
    )
}
