//! How many random cases a property is tried with.

use proptest::test_runner::Config;

/// The variable that says how many times as many cases there are.
const TIMES: &str = "TRANSPOSE_CASES_TIMES";

/// So many random cases, or `TRANSPOSE_CASES_TIMES` times as many: the suite tries few, for it is run often.
///
/// # Panics
///
/// If the variable is no number.
#[must_use]
pub fn cases(count: u32) -> Config {
    let times = std::env::var(TIMES).map_or(1, |times| {
        times.parse().unwrap_or_else(|_| panic!("{TIMES}={times} is no number of times"))
    });
    Config { cases: count.saturating_mul(times), failure_persistence: None, ..Config::default() }
}
