//! Runs a launch with weak memory: what its accesses do to [`crate::weak`], and whose turn it is.

mod access;
mod pending;
mod schedule;

pub(crate) use schedule::run;
