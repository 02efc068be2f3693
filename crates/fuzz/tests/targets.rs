//! Every target, on the inputs that are kept and on some at random.
//!
//! `tests/__fuzz__/NAME/corpus` are the inputs that are kept; `BOLERO_RANDOM_ITERATIONS` says how many at random there are beside them, and
//! `BOLERO_RANDOM_SEED` which.

use bolero::check;
use transpose_fuzz::{absurd, cache, choices, matrices, npy, ptx, tensors};

/// Inputs at random, where nothing else is asked for.
macro_rules! target {
    ($name:ident: $input:ty, $times:literal) => {
        #[test]
        fn $name() {
            check!()
                .with_iterations($times)
                .with_max_len(2048)
                .with_type::<$input>()
                .for_each($name::run);
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
