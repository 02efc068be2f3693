//! The models, and what they find when a call is spoiled.

use crate::board::{Job, Load, Steps, Turns, Way};
use crate::ends::{Ends, Taken};
use crate::meeting::{Cells, Order};
use crate::sync::{AtomicU64, Fences, Place, put, spoil, take_seen};
use crate::tickets::Tickets;
use loom::sync::Arc;
use loom::thread;
use std::process::Command;
use std::sync::Mutex;

/// Runs a model through all interleavings in which a thread is interrupted so many times at most.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Two steps of two shares up and one down, through so many slots, by two threads. A step or a job may fail.
fn board(slots: usize, shared: [bool; 2], fails: &'static str) {
    /// A step: its number.
    #[derive(Clone)]
    struct Cargo(usize);
    struct Two {
        fails: &'static str,
        left: Mutex<std::ops::Range<usize>>,
    }
    impl Load for Cargo {
        fn shares(&self, way: Way) -> usize {
            if way == Way::Up { 2 } else { 1 }
        }
        fn elements(&self) -> usize {
            10 + self.0
        }
    }
    impl Steps for Two {
        type Cargo = Cargo;
        type Error = &'static str;
        fn next(&self) -> Result<Option<Cargo>, &'static str> {
            let Some(number) = self.left.lock().unwrap().next() else { return Ok(None) };
            let fails = self.fails == format!("step {number}");
            if fails { Err(self.fails) } else { Ok(Some(Cargo(number))) }
        }
    }
    // What was done, and the elements that landed: of the test, not of the model.
    let turns = Arc::new(Turns::new(Two { fails, left: Mutex::new(0..2) }, slots, shared));
    let done = std::sync::Arc::new((Mutex::new(Vec::new()), Mutex::new(0)));
    let work = move |turns: &Turns<Two>, done: &(Mutex<Vec<String>>, Mutex<usize>)| {
        let perform = |_slot: usize, job: &Job<Cargo>| {
            let job = match job {
                Job::Fill(Cargo(step), share) => format!("fill {step} {share}"),
                Job::Queue(Cargo(step)) => format!("queue {step}"),
                Job::Await(Cargo(step)) => format!("await {step}"),
                Job::Empty(Cargo(step), share) => format!("empty {step} {share}"),
            };
            if fails == job {
                return Err(fails);
            }
            done.0.lock().unwrap().push(job);
            Ok(())
        };
        turns.work(perform, |elements| *done.1.lock().unwrap() += elements)
    };
    let other = {
        let (turns, done) = (turns.clone(), done.clone());
        thread::spawn(move || work(&turns, &done))
    };
    let ends = [work(&turns, &done), other.join().unwrap()];
    if !fails.is_empty() {
        // Nobody waits for what does not come any more.
        assert!(ends.contains(&Err(fails)), "{ends:?}");
        return;
    }
    assert_eq!(ends, [Ok(()), Ok(())]);
    let mut jobs = done.0.lock().unwrap().clone();
    jobs.sort();
    let mut expected = Vec::new();
    for step in 0..2 {
        expected.extend([format!("await {step}"), format!("queue {step}")]);
        if shared[0] {
            expected.extend([format!("fill {step} 0"), format!("fill {step} 1")]);
        }
        if shared[1] {
            expected.push(format!("empty {step} 0"));
        }
    }
    expected.sort();
    assert_eq!(jobs, expected);
    assert_eq!(*done.1.lock().unwrap(), 21);
}

/// Three steps of two slices, each of two pieces for cores, taken from both ends: by the device, whose steps go through a slot, and by a core. Each is taken once, by one
/// of them; if a step fails, nobody waits for ever.
fn both_ends(fails: bool) {
    #[derive(Clone)]
    struct Cargo;
    struct Front {
        ends: Ends<usize>,
        fails: bool,
        taken: Mutex<Vec<usize>>,
    }
    impl Load for Cargo {
        fn shares(&self, _: Way) -> usize {
            1
        }
        fn elements(&self) -> usize {
            1
        }
    }
    impl Steps for Front {
        type Cargo = Cargo;
        type Error = ();
        fn next(&self) -> Result<Option<Cargo>, ()> {
            let Some(Taken { step, slices }) = self.ends.front() else { return Ok(None) };
            self.taken.lock().unwrap().extend(slices.map(|slice| 2 * step + slice));
            if self.fails { Err(()) } else { Ok(Some(Cargo)) }
        }
    }
    let front = Front { ends: Ends::new(3, 2), fails, taken: Mutex::new(Vec::new()) };
    let turns = Arc::new(Turns::new(front, 1, [false, false]));
    let core = {
        let turns = turns.clone();
        thread::spawn(move || {
            let Front { ends, taken, .. } = turns.steps();
            ends.or_stop::<()>(|| {
                let cut = |taken: Taken| Ok((2 * taken.step + taken.slices.start, 2));
                while let Some((slice, piece)) = ends.back(cut)? {
                    if piece == 0 {
                        taken.lock().unwrap().push(slice);
                    }
                }
                Ok(())
            })
        })
    };
    let Front { ends, taken, .. } = turns.steps();
    let by_device = ends.or_stop(|| turns.work(|_, _| Ok(()), |_| ()));
    core.join().unwrap().unwrap();
    assert!(ends.front().is_none(), "nothing is left for anybody");
    let mut taken = taken.lock().unwrap().clone();
    taken.sort_unstable();
    match by_device {
        Ok(()) => assert_eq!(taken, [0, 1, 2, 3, 4, 5]),
        Err(()) => assert!(fails && taken.is_sorted_by(|one, next| one < next), "{taken:?}"),
    }
}

fn boards() {
    explore(2, || both_ends(false));
    explore(2, || both_ends(true));
    explore(2, || board(1, [true, true], ""));
    explore(2, || board(2, [true, true], ""));
    explore(2, || board(1, [false, false], ""));
    explore(2, || board(1, [true, false], "step 1"));
    explore(2, || board(1, [false, false], "queue 0"));
    explore(2, || board(1, [true, true], "empty 1 0"));
}

/// Two workers take three numbers, of which two fail: each is taken once, and the first fault is told.
fn tickets() {
    explore(3, || {
        let tickets = Arc::new(Tickets::new(3, 1));
        let taken = std::sync::Arc::new(Mutex::new(Vec::new()));
        let work = |tickets: &Tickets<u64>, taken: &Mutex<Vec<u64>>| {
            let mut most = 0;
            while let Some(numbers) = tickets.take() {
                for number in numbers.clone() {
                    if tickets.is_moot(number) {
                        return most;
                    }
                    taken.lock().unwrap().push(number);
                    if number > 0 {
                        tickets.fail(number, number);
                    }
                }
                most = tickets.note(numbers).max(most);
            }
            most
        };
        let other = {
            let (tickets, taken) = (tickets.clone(), taken.clone());
            thread::spawn(move || work(&tickets, &taken))
        };
        let most = work(&tickets, &taken).max(other.join().unwrap());
        assert_eq!(tickets.first_fault(), Some(1));
        let mut taken = taken.lock().unwrap().clone();
        taken.sort_unstable();
        assert!(taken == [0, 1] || taken == [0, 1, 2], "{taken:?}");
        assert_eq!(most, taken.len() as u64);
    });
}

/// Of two accesses on two workers, one of which writes, at least one sees the other.
fn meetings() {
    /// Accesses of different blocks, which nothing orders.
    struct Apart;
    impl Order for Apart {
        fn is_past(&self, _: u64) -> bool {
            false
        }
        fn is_ordered(&self, then: u64) -> bool {
            then == 0
        }
        fn is_ours(&self, _: u64) -> bool {
            false
        }
        fn is_near(&self, _: u64) -> bool {
            false
        }
    }
    type Three = [AtomicU64; 3];
    fn cells([writer, reader, other_reader]: &Three) -> Cells<'_> {
        Cells { writer, reader, other_reader }
    }
    fn write(three: &Three) -> bool {
        let cells = cells(three);
        cells.write(7, &Apart).or_else(|| cells.racing_reader(&Apart)).is_some()
    }
    fn read(three: &Three, number: u64) -> bool {
        cells(three).read(number, &Apart).is_some()
    }
    // With a third worker that reads as well, which the other one's read may push out.
    for readers in [1, 2] {
        explore(3, move || {
            let three: Arc<Three> = Arc::new([0, 0, 0].map(AtomicU64::new));
            let others: Vec<_> = (0..readers)
                .map(|reader| {
                    let three = three.clone();
                    thread::spawn(move || read(&three, 1 + reader))
                })
                .collect();
            let seen = write(&three);
            let all: Vec<bool> = others.into_iter().map(|other| other.join().unwrap()).collect();
            // A write that sees a reader speaks for all; else each reader sees the write.
            assert!(seen || all.iter().all(|seen| *seen), "{seen} {all:?}");
        });
    }
    explore(3, || {
        let three: Arc<Three> = Arc::new([0, 0, 0].map(AtomicU64::new));
        let other = {
            let three = three.clone();
            thread::spawn(move || write(&three))
        };
        let seen = write(&three);
        assert!(seen | other.join().unwrap());
    });
}

/// Calls whose spoiling leaves nothing wrong, and why: the line before and the call's.
const HARMLESS: [(&str, &str); 4] = [
    (
        "Ended::Quiet => {} Ended::News => self.news.notify_all(),",
        "for speed: others may help, and who has brought the news goes on with it",
    ),
    (
        "if matches!(job, Job::Fill(_, 0)) { self.news.notify_all();",
        "for speed: others may bring the other shares, and who has the first brings them, too",
    ),
    (
        "// one of another warp: a warp's own readers may all be past at once. let kept = self.other_reader.load(SeqCst);",
        "who takes a reader's place races with the write itself, but for a reader of the writer's block, and one worker runs a block",
    ),
    ("if kept == 0 || is_less { self.other_reader.store(before, SeqCst);", "as the load before it"),
];

/// The text of a line of an included file, and of the line before.
fn line((file, line): &Place) -> String {
    let text = match file.as_str() {
        "board.rs" => include_str!("../../../transpose/src/host/board.rs"),
        "meeting.rs" => include_str!("../../simt/src/meeting.rs"),
        _ => include_str!("../../simt/src/tickets.rs"),
    };
    let lines: Vec<&str> = text.lines().skip(*line as usize - 2).take(2).map(str::trim).collect();
    lines.join(" ")
}

const MODELS: [(&str, fn()); 3] =
    [("boards", boards), ("tickets", tickets), ("meetings", meetings)];

/// Nothing is found as it is; and something wherever a call is spoiled, each in a process of its own, for a deadlock ends it.
#[test]
fn what_threads_share() {
    let mut wrong = Vec::new();
    for (name, model) in MODELS {
        take_seen();
        for fences in FENCES {
            put(fences);
            model();
        }
        let places = take_seen();
        assert!(!places.is_empty());
        let spoiled = places.into_iter().map(|(file, at)| {
            let child = Command::new(std::env::current_exe().unwrap())
                .args(["tests::a_spoiled_call", "--exact", "--ignored"])
                .env(SPOILED, format!("{name} {file} {at}"))
                .output();
            ((file, at), !child.unwrap().status.success())
        });
        for (place, found) in spoiled {
            let text = line(&place);
            println!("{place:?} {text}: {}", if found { "found" } else { "not found" });
            let harmless = HARMLESS.iter().any(|(line, _)| text == *line);
            if found == harmless {
                wrong.push((place, text));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

const FENCES: [Fences; 2] = [Fences::BehindStores, Fences::BeforeLoads];

/// The variable that names a model and the place of a call.
const SPOILED: &str = "TRANSPOSE_MODELS_SPOILED";

#[test]
#[ignore = "a part of `what_threads_share`"]
fn a_spoiled_call() {
    let text = std::env::var(SPOILED).expect("a model and a place");
    let [name, file, at] = text.split(' ').collect::<Vec<_>>().try_into().expect("three words");
    spoil(Some((file.to_owned(), at.parse().expect("a line"))));
    let (_, model) = MODELS.iter().find(|(model, _)| *model == name).expect("a model");
    for fences in FENCES {
        put(fences);
        model();
    }
}
