//! The strategies a caller can choose from.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// How a transpose moves its elements.
///
/// All strategies give the same result; they differ in speed. The named ones are the ladder of
/// Ruetsch, Micikevicius and Scudiero, "Optimizing Matrix Transpose in CUDA".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// Reads rows and writes columns. Its stores do not coalesce.
    Naive,
    /// Through a tile in shared memory. Its reads of the tile conflict in the banks.
    Tiled,
    /// Through a padded tile: no bank conflicts.
    Padded,
    /// Padded, with blocks walking along diagonals to spread over memory partitions.
    Diagonal,
    /// The fastest one known for the shape, the element and the layouts.
    #[default]
    Auto,
}

impl Strategy {
    /// Every strategy, [`Auto`](Self::Auto) last.
    pub const ALL: &'static [Strategy] =
        &[Strategy::Naive, Strategy::Tiled, Strategy::Padded, Strategy::Diagonal, Strategy::Auto];

    /// The name, as [`FromStr`] reads it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Naive => "naive",
            Strategy::Tiled => "tiled",
            Strategy::Padded => "padded",
            Strategy::Diagonal => "diagonal",
            Strategy::Auto => "auto",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Strategy::ALL.iter().copied().find(|strategy| strategy.name() == name).ok_or_else(|| {
            Error::UnknownName {
                kind: "strategy",
                name: name.to_owned(),
                known: Strategy::ALL
                    .iter()
                    .map(|strategy| strategy.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse::<Strategy>().unwrap(), strategy);
        }
        let error = "fastest".parse::<Strategy>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no strategy \"fastest\"; there are naive, tiled, padded, diagonal, auto"
        );
    }
}
