//! Memory that only one block sees: its shared memory and the kernel's arguments.

use crate::registers::{Words, lanes};

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    Misaligned,
    OutOfBounds,
}

/// A range of bytes from address 0.
#[derive(Debug, Default)]
pub(crate) struct Local {
    words: Vec<u32>,
    bytes: u64,
}

/// What shared memory holds before anything is written: neither zero nor a small number.
const POISON: u32 = 0xa5a5_a5a5;

impl Local {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// `bytes` bytes of recognisable garbage.
    pub(crate) fn reset(&mut self, bytes: u64) {
        self.bytes = bytes;
        self.words.clear();
        self.words.resize(bytes.div_ceil(4) as usize, POISON);
    }

    /// The bytes of `data`.
    pub(crate) fn from_bytes(data: &[u8]) -> Local {
        let mut words = vec![0; data.len().div_ceil(4)];
        for (at, byte) in data.iter().enumerate() {
            words[at / 4] |= u32::from(*byte) << (8 * (at % 4));
        }
        Local { words, bytes: data.len() as u64 }
    }

    #[inline(always)]
    fn word<const BYTES: usize>(&self, address: u64) -> Result<usize, Bad> {
        if address & (BYTES as u64 - 1) != 0 {
            return Err(Bad::Misaligned);
        }
        // An aligned address leaves room for this sum.
        if address + (BYTES as u64 - 1) >= self.bytes {
            return Err(Bad::OutOfBounds);
        }
        Ok((address / 4) as usize)
    }

    /// Loads `BYTES` bytes per lane of `mask`; word `k` of a lane goes to `buffer[k]`.
    #[inline(always)]
    pub(crate) fn load<const BYTES: usize>(
        &self,
        addresses: &[u64; 32],
        mask: u32,
        buffer: &mut [Words; 4],
    ) -> Result<(), (usize, Bad)> {
        for lane in lanes(mask) {
            let address = addresses[lane];
            let at = self.word::<BYTES>(address).map_err(|bad| (lane, bad))?;
            if BYTES >= 4 {
                for k in 0..BYTES / 4 {
                    buffer[k][lane] = self.words[at + k];
                }
            } else {
                buffer[0][lane] = self.words[at] >> (8 * (address % 4)) & low_mask(BYTES);
            }
        }
        Ok(())
    }

    /// Stores `BYTES` bytes per lane of `mask`, lowest lane first.
    #[inline(always)]
    pub(crate) fn store<const BYTES: usize>(
        &mut self,
        addresses: &[u64; 32],
        mask: u32,
        buffer: &[Words; 4],
    ) -> Result<(), (usize, Bad)> {
        for lane in lanes(mask) {
            let address = addresses[lane];
            let at = self.word::<BYTES>(address).map_err(|bad| (lane, bad))?;
            if BYTES >= 4 {
                for k in 0..BYTES / 4 {
                    self.words[at + k] = buffer[k][lane];
                }
            } else {
                let shift = 8 * (address % 4);
                let keep = !(low_mask(BYTES) << shift);
                self.words[at] =
                    self.words[at] & keep | (buffer[0][lane] & low_mask(BYTES)) << shift;
            }
        }
        Ok(())
    }

    /// The low bits at an address that an access of so many bytes was made to.
    pub(crate) fn peek(&self, address: u64, bytes: u64) -> u64 {
        let byte = |at: u64| {
            let word = self.words.get((at / 4) as usize).copied().unwrap_or(0);
            u64::from(word >> (8 * (at % 4)) & 0xff)
        };
        (0..bytes).fold(0, |bits, at| bits | byte(address + at) << (8 * at))
    }

    /// Replaces them.
    pub(crate) fn poke(&mut self, address: u64, bytes: u64, bits: u64) {
        for at in 0..bytes {
            let shift = 8 * ((address + at) % 4);
            if let Some(word) = self.words.get_mut(((address + at) / 4) as usize) {
                *word = *word & !(0xff << shift) | ((bits >> (8 * at)) as u32 & 0xff) << shift;
            }
        }
    }

    /// Replaces the value at `address` by `f` of it and returns the old one.
    pub(crate) fn update(
        &mut self,
        address: u64,
        bytes: u8,
        f: impl Fn(u64) -> u64,
    ) -> Result<u64, Bad> {
        if bytes == 4 {
            let at = self.word::<4>(address)?;
            let old = self.words[at];
            self.words[at] = f(u64::from(old)) as u32;
            return Ok(u64::from(old));
        }
        let at = self.word::<8>(address)?;
        let old = u64::from(self.words[at]) | u64::from(self.words[at + 1]) << 32;
        let new = f(old);
        self.words[at] = new as u32;
        self.words[at + 1] = (new >> 32) as u32;
        Ok(old)
    }
}

/// The low `bytes` bytes, for less than four.
#[inline(always)]
pub(crate) const fn low_mask(bytes: usize) -> u32 {
    u32::MAX >> (32 - 8 * bytes)
}
