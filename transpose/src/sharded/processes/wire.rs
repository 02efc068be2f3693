//! Messages between two processes, each of a known kind and length, sent and received in bounded time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// More bytes than any message but a parcel has.
pub(super) const LONGEST: u64 = 1 << 20;

/// What stands in front of a message: what it is for, and how many bytes follow.
const HEADER: usize = 16;

/// The most bytes that are copied behind their header, to be written at once.
const TOGETHER: usize = 4096;

/// A connection to another process.
#[derive(Debug)]
pub(super) struct Wire(TcpStream);

/// A moment after which a process does not wait any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub fn after(time: Duration) -> Self {
        let now = Instant::now();
        // A time that cannot be told is longer than anybody waits.
        Deadline(now.checked_add(time).unwrap_or(now + Duration::from_secs(1 << 30)))
    }

    /// What is left; nothing left is an error.
    pub fn left(self) -> io::Result<Duration> {
        let left = self.0.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Wire {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        Ok(Wire(stream))
    }

    /// Ends the connection: whoever waits for it hears of it at once.
    pub fn close(&self) {
        // It may have ended already.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }

    /// The address of the other process, as seen from here.
    pub fn peer(&self) -> io::Result<std::net::SocketAddr> {
        self.0.peer_addr()
    }

    /// The address of this process, as seen from the other.
    pub fn here(&self) -> io::Result<std::net::SocketAddr> {
        self.0.local_addr()
    }

    #[cfg(any(feature = "mpi", feature = "nccl"))]
    /// Whether the other side has ended the connection, as far as one can see without waiting.
    pub fn is_closed(&self) -> bool {
        let look = || {
            self.0.set_nonblocking(true)?;
            let seen = self.0.peek(&mut [0]);
            self.0.set_nonblocking(false)?;
            seen
        };
        match look() {
            Ok(bytes) => bytes == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Sends bytes of a kind.
    pub fn send(&self, kind: u64, bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&kind.to_le_bytes());
        header[8..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        if bytes.len() <= TOGETHER {
            // In one packet: what processes tell each other before and after an exchange is as long as a short exchange.
            return self.write(&[&header, bytes].concat(), deadline);
        }
        self.write(&header, deadline)?;
        self.write(bytes, deadline)
    }

    /// Receives a message of a kind.
    pub fn receive(&self, kind: u64, deadline: Deadline) -> io::Result<Vec<u8>> {
        let length = self.header(kind, deadline)?;
        if length > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length as usize];
        self.read(&mut bytes, deadline)?;
        Ok(bytes)
    }

    /// Receives a message of a kind and of as many bytes as there is place for.
    pub fn receive_into(&self, kind: u64, bytes: &mut [u8], deadline: Deadline) -> io::Result<()> {
        if self.header(kind, deadline)? != bytes.len() as u64 {
            return Err(ErrorKind::InvalidData.into());
        }
        self.read(bytes, deadline)
    }

    /// The bytes that follow a header.
    fn header(&self, kind: u64, deadline: Deadline) -> io::Result<u64> {
        let mut header = [0; HEADER];
        self.read(&mut header, deadline)?;
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        if number(0) == kind { Ok(number(8)) } else { Err(ErrorKind::InvalidData.into()) }
    }

    fn write(&self, mut bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        while !bytes.is_empty() {
            self.0.set_write_timeout(Some(deadline.left()?))?;
            match (&self.0).write(bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut [u8], deadline: Deadline) -> io::Result<()> {
        let mut at = 0;
        while at < bytes.len() {
            self.0.set_read_timeout(Some(deadline.left()?))?;
            match (&self.0).read(&mut bytes[at..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => at += read,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether the deadline, which is looked at again, says whether to go on.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// What an error of a connection means to a user.
pub(super) fn meaning(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => "it did not answer in time".to_owned(),
        ErrorKind::InvalidData => "it is doing something else".to_owned(),
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => "it has gone".to_owned(),
        _ => error.to_string(),
    }
}
