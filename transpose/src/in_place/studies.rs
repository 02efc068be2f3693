//! What needs the kernels that [`InPlace::Auto`] never takes. A program has them only with the feature `in_place_studies`.

use super::options::{Carry, InPlace, InPlaceOptions};

/// Why there is no plan without them.
const REASON: &str = "its kernels are in the feature `in_place_studies`, which is off";

/// Why a conversion between layouts does not run with such options, if the reason is that this library is built without its kernels.
pub(super) fn conversion_refusal(options: &InPlaceOptions) -> Option<&'static str> {
    // Stage by stage these are the conversions.
    refusal(InPlace::ThreeStage, options)
}

/// Why an algorithm does not run with such options, if the reason is that this library is built without its kernels.
pub(super) fn refusal(algorithm: InPlace, options: &InPlaceOptions) -> Option<&'static str> {
    let carried = options.carry == Carry::SharedMemory;
    let asked = match algorithm {
        InPlace::Square | InPlace::Decomposed => false,
        InPlace::TwoStage | InPlace::Auto => carried,
        InPlace::ThreeStage | InPlace::FourStage => carried || options.flags.is_some(),
        InPlace::FourStageFused | InPlace::CycleFollowing => true,
    };
    (asked && !cfg!(feature = "in_place_studies")).then_some(REASON)
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use crate::{Carry, Device, DeviceMatrix, Error, InPlace, InPlaceOptions, InPlacePlan};

    /// What the library chooses by itself is always there; the rest says which feature it is in.
    #[test]
    fn only_what_is_asked_for_needs_the_feature() {
        let matrix = DeviceMatrix::<u32>::zeroed(&Device::simulated(), 24, 40).unwrap();
        let plain = InPlaceOptions::default();
        let flags = InPlaceOptions { flags: Some((1, false)), ..plain };
        let carry = InPlaceOptions { carry: Carry::SharedMemory, ..plain };
        let plan = |algorithm, options| InPlacePlan::with_options(&matrix, algorithm, &options);
        for algorithm in [InPlace::Auto, InPlace::TwoStage, InPlace::ThreeStage, InPlace::FourStage]
        {
            plan(algorithm, plain).unwrap();
        }
        plan(InPlace::Decomposed, plain).unwrap();
        let asked = [
            (InPlace::FourStageFused, plain),
            (InPlace::CycleFollowing, plain),
            (InPlace::ThreeStage, flags),
            (InPlace::Auto, carry),
        ];
        let here = cfg!(feature = "in_place_studies");
        for (algorithm, options) in asked {
            match plan(algorithm, options) {
                Ok(_) => assert!(here, "{algorithm}"),
                Err(Error::NotServed { reason, .. }) => assert!(!here && reason == super::REASON),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
