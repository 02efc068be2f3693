//! Litmus tests on the simulator, beside what the memory model says and what a GPU showed.

use std::collections::BTreeMap;

use hardware::litmus::{self, Outcomes, Test, Verdict};
use simt::{Checks, FindingKind, Module, Options};

/// What the GPU showed: the outcomes of each test in some millions of runs.
const SHOWN: &str = include_str!("../data/litmus.csv");

/// Allowed, and not shown here: the loads of one thread from one place never go back, and a fence of whatever scope has all strong
/// loads before it made. No GPU has shown them either.
const NOT_SHOWN: [&str; 3] = ["CoRR weak", "CoRR weak after relaxed", "LB fence.acq_rel.cta;"];

fn play(test: &Test, module: &Module, options: &Options) -> Vec<[u32; 7]> {
    let outcomes = test.simulate(module, 1, options);
    outcomes.unwrap_or_else(|error| panic!("{}: {error}", test.title()))
}

/// Without weak memory every thread sees one order.
#[test]
fn ordinary_memory_shows_no_outcome_in_question() {
    for test in litmus::all() {
        let module = Module::parse(&test.ptx()).unwrap();
        let outcomes = play(&test, &module, &Options::default());
        assert!(!outcomes.iter().any(|outcome| test.is_in_question(outcome)), "{}", test.title());
    }
}

/// What the model allows comes by chance, what it forbids never does, and nothing that the GPU showed is impossible.
#[test]
fn weak_memory_shows_what_the_model_allows_and_what_the_gpu_showed() {
    let mut shown: BTreeMap<&str, Vec<[u32; 7]>> = BTreeMap::new();
    for line in SHOWN.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(';').collect();
        let [title @ .., values, _] = &fields[..] else { panic!("{line}") };
        // A title may have a semicolon, of a fence.
        let title = &line[..title.iter().map(|part| part.len() + 1).sum::<usize>() - 1];
        let mut values = values.split(' ').map(|value| value.parse().unwrap());
        shown.entry(title).or_default().push(std::array::from_fn(|_| values.next().unwrap()));
    }
    for test in litmus::all() {
        let title = test.title();
        let module = Module::parse(&test.ptx()).unwrap();
        let wanted = &shown[&title[..]];
        let expected = test.verdict == Verdict::Allowed && !NOT_SHOWN.contains(&&test.name[..]);
        let mut outcomes = Outcomes::new();
        let is_done = |outcomes: &Outcomes| {
            let in_question = outcomes.keys().any(|outcome| test.is_in_question(outcome));
            in_question == expected && wanted.iter().all(|outcome| outcomes.contains_key(outcome))
        };
        for seed in 0..3000 {
            for outcome in play(&test, &module, &Options::default().weak_memory(seed)) {
                *outcomes.entry(outcome).or_default() += 1;
            }
            if seed >= 60 && is_done(&outcomes) {
                break;
            }
        }
        assert!(is_done(&outcomes), "{:?}: {title}: {outcomes:?}, a GPU: {wanted:?}", test.verdict);
    }
}

/// Two runs of a test from one seed end in equal outcomes.
#[test]
fn weak_memory_can_be_replayed() {
    for test in litmus::all().iter().filter(|test| test.name.starts_with("IRIW")) {
        let module = Module::parse(&test.ptx()).unwrap();
        for seed in 0..20 {
            let options = Options::default().weak_memory(seed);
            assert_eq!(play(test, &module, &options), play(test, &module, &options));
        }
    }
}

/// What a lock orders is no race, and what it does not order is one.
#[test]
fn a_lock_gives_no_false_finding() {
    for test in litmus::all().iter().filter(|test| test.name.starts_with("lock")) {
        let module = Module::parse(&test.ptx()).unwrap();
        let kinds = |seed| {
            let options = Options::default().checks(Checks::ALL_UNTRACKED).weak_memory(seed);
            let findings = test.findings(&module, &options).unwrap();
            findings.into_iter().map(|finding| finding.kind).collect::<Vec<FindingKind>>()
        };
        let found = (0..20).filter(|seed| !kinds(*seed).is_empty()).count();
        match test.verdict {
            Verdict::Forbidden => assert_eq!(found, 0, "{}: {:?}", test.title(), kinds(0)),
            Verdict::Allowed => assert!(found > 0, "{}", test.title()),
        }
    }
}
