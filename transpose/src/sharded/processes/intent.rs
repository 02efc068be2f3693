//! What a process says before an exchange: what it is about to do, and what the others need to store to its memory.

/// The exchange in words, which all must have in common; nothing if the process takes no part. And the transport's offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intent {
    pub exchange: String,
    pub offer: Vec<u8>,
}

impl Intent {
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = (self.exchange.len() as u64).to_le_bytes();
        [&length, self.exchange.as_bytes(), &self.offer].concat()
    }

    /// What another process has said; something else if it is another version of this library.
    pub fn of(bytes: &[u8]) -> Self {
        let parts = bytes.split_first_chunk().and_then(|(length, rest)| {
            rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
        });
        let (exchange, offer) = parts.unwrap_or((bytes, &[]));
        let exchange = String::from_utf8_lossy(exchange).into_owned();
        Intent { exchange, offer: offer.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_said_arrives(exchange in ".{0,20}", offer in proptest::collection::vec(any::<u8>(), 0..20)) {
            let intent = Intent { exchange, offer };
            prop_assert_eq!(Intent::of(&intent.to_bytes()), intent);
        }

        #[test]
        fn anything_may_arrive(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            Intent::of(&bytes);
        }
    }
}
