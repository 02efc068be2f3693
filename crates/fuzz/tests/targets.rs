//! Every target, on the inputs that are kept and on some at random.
//!
//! `tests/__fuzz__/NAME/corpus` are the inputs that are kept; `BOLERO_RANDOM_ITERATIONS` says how many at random there are beside them. A failure
//! says what `BOLERO_RANDOM_SEED` its input comes of.

use bolero::check;
use std::fmt::Debug;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use transpose_fuzz::{absurd, cache, choices, matrices, npy, ptx, tensors};

/// Runs a target, and names the input that it has had for long: a test that takes all memory is killed, and says nothing itself.
fn watched<T: Debug>(run: impl Fn(&T)) -> impl Fn(&T) {
    /// The slowest take a tenth of this.
    const LONG: Duration = Duration::from_secs(10);
    let (inputs, begun) = mpsc::channel();
    thread::spawn(move || {
        let mut last = None;
        loop {
            match begun.recv_timeout(LONG) {
                Ok(input) => last = Some(input),
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(input) = last.take() {
                        // Not by a macro: what those print is kept until the test ends.
                        let _ = writeln!(std::io::stderr(), "more than {LONG:?} for {input}");
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
    move |input| {
        let _ = inputs.send(format!("{input:?}"));
        run(input);
    }
}

/// Inputs at random, where nothing else is asked for.
macro_rules! target {
    ($name:ident: $input:ty, $times:literal) => {
        #[test]
        fn $name() {
            check!()
                .with_iterations($times)
                .with_max_len(2048)
                .with_type::<$input>()
                .for_each(watched($name::run));
        }
    };
}

target!(ptx: ptx::Text, 10000);
target!(npy: npy::File, 50000);
target!(cache: cache::File, 5000);
target!(matrices: matrices::Problem, 3000);
target!(tensors: tensors::Problem, 3000);
target!(absurd: absurd::Request, 20000);
target!(choices: choices::Choice, 1500);
