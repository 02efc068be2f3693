//! Who a process is, as its launcher says: `torchrun` and its likes, Open MPI's `mpirun`, Slurm's `srun`.

use crate::{Error, Result};
use std::net::{SocketAddr, ToSocketAddrs};

/// A process among others, and where the first of them listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub rank: usize,
    pub size: usize,
    pub first: SocketAddr,
}

/// The variables that say which process this is, and how many there are, launcher by launcher.
const LAUNCHERS: [[&str; 2]; 3] = [
    ["RANK", "WORLD_SIZE"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["SLURM_PROCID", "SLURM_NTASKS"],
];

/// The port where no launcher names one.
const PORT: u16 = 29500;

impl Place {
    /// The place that environment variables name, which `get` looks up.
    pub fn of(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let refuse = |reason: String| Error::World { reason };
        let launcher = LAUNCHERS.iter().find(|names| names.iter().all(|name| get(name).is_some()));
        let [rank, size] = *launcher.ok_or_else(|| {
            refuse("no launcher has set RANK and WORLD_SIZE, or what Open MPI or Slurm set".into())
        })?;
        let number = |name: &str| -> Result<usize> {
            let text = get(name).unwrap_or_default();
            text.trim().parse().map_err(|_| refuse(format!("{name} is {text:?}, not a number")))
        };
        let (rank, size) = (number(rank)?, number(size)?);
        if rank >= size {
            return Err(refuse(format!("process {rank} of {size} is behind the last")));
        }
        let host = get("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".to_owned());
        let port = match get("MASTER_PORT") {
            None => PORT,
            Some(_) => u16::try_from(number("MASTER_PORT")?)
                .map_err(|_| refuse("MASTER_PORT is no port".into()))?,
        };
        // Launchers may listen on the port that they name themselves.
        let port = port.checked_add(1).unwrap_or(port - 1);
        let addresses = (host.as_str(), port).to_socket_addrs();
        let unknown = |why: String| refuse(format!("MASTER_ADDR is {host:?}: {why}"));
        let mut addresses = addresses.map_err(|error| unknown(error.to_string()))?;
        let first = addresses.next().ok_or_else(|| unknown("it has no address".into()))?;
        Ok(Place { rank, size, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Place> {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Place::of(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn launchers_say_who_is_who() {
        let first = "127.0.0.1:4001".parse().unwrap();
        let master = [("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "4000")];
        for [rank, size] in LAUNCHERS {
            let found = place(&[&master[..], &[(rank, "2"), (size, "5")]].concat()).unwrap();
            assert_eq!(found, Place { rank: 2, size: 5, first });
        }
        let found = place(&[("RANK", "0"), ("WORLD_SIZE", "1")]).unwrap();
        assert_eq!(found.first, "127.0.0.1:29501".parse().unwrap());
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let cases: [(&[(&str, &str)], &str); 5] = [
            (&[], "RANK and WORLD_SIZE"),
            (&[("RANK", "0")], "RANK and WORLD_SIZE"),
            (&[("RANK", "x"), ("WORLD_SIZE", "2")], "RANK is \"x\""),
            (&[("RANK", "2"), ("WORLD_SIZE", "2")], "behind the last"),
            (&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "70000")], "no port"),
        ];
        for (variables, why) in cases {
            let said = place(variables).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
