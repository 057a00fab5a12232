//! What is kept comes back, whoever writes at the same time and whatever the file is.

use super::*;
use crate::replicate::Silent;
use domio_run::{Heard, SampleKey};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

fn subject() -> Subject {
    Subject::new("burn", "5 s", &[b"text"])
}

fn sample(n: u32) -> Sample {
    let mut sample = Sample::new().with("x", f64::from(n) / 3.0);
    sample.set("never", f64::INFINITY);
    sample.set_list("ms", vec![0.1, f64::from(n)]);
    sample
}

/// In whose name these tests keep.
const PROGRAM: &str = "0.1.0+c";

const TOOK: Duration = Duration::from_millis(3);

/// A store in a folder that vanishes.
fn store() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out/results.sqlite");
    (folder, path)
}

#[test]
fn a_sample_comes_back_under_its_own_key_alone() {
    let (_folder, path) = store();
    let store = Store::open(&path, PROGRAM).unwrap();
    store.keep(&subject(), 1, 0, &sample(7), TOOK).unwrap();
    drop(store);
    let store = Store::open(&path, PROGRAM).unwrap();
    let find = |subject: &Subject, seed, n| store.find(subject, seed, n).unwrap();
    assert_eq!(find(&subject(), 1, 0), Some(sample(7)));
    assert_eq!(find(&subject(), 1, 1), None);
    assert_eq!(find(&subject(), u64::MAX, 0), None);
    assert_eq!(find(&Subject::new("burn", "6 s", &[b"text"]), 1, 0), None);
    // Another program's sample is not this one's.
    let rename = "UPDATE samples SET program = '0.0.9+0'";
    store.db.execute(rename, []).unwrap();
    assert_eq!(find(&subject(), 1, 0), None);
    assert_eq!(store.held().unwrap()[0].program, "0.0.9+0");
}

#[test]
fn what_another_file_has_is_taken_over_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| Store::open(&folder.path().join(name), PROGRAM).unwrap();
    let (mut all, one, two) = (open("all"), open("one"), open("two"));
    one.keep(&subject(), 1, 0, &sample(7), TOOK).unwrap();
    two.keep(&subject(), 1, 0, &sample(8), TOOK).unwrap();
    two.keep(&subject(), 1, 1, &sample(9), TOOK).unwrap();
    two.keep(&subject(), 1, 2, &sample(9), TOOK).unwrap();
    let damage = "UPDATE samples SET digest = 'x' WHERE replication = 2";
    two.db.execute(damage, []).unwrap();
    assert_eq!(all.take_over(&one).unwrap(), 1);
    assert_eq!(
        all.take_over(&two).unwrap(),
        1,
        "one is there, one is damaged"
    );
    assert_eq!(all.take_over(&two).unwrap(), 0);
    let find = |n| all.find(&subject(), 1, n).unwrap();
    assert_eq!(
        [0, 1, 2].map(find),
        [Some(sample(7)), Some(sample(9)), None]
    );
    // Times and programs come with the samples.
    assert_eq!(all.held().unwrap()[0].took_s, 2.0 * TOOK.as_secs_f64());
}

#[test]
fn a_family_is_named_by_two_words_of_a_program() {
    let (_folder, path) = store();
    let store = Store::open(&path, PROGRAM).unwrap();
    for (name, settings) in [
        ("p.test3.orig", "a"),
        ("p.test3.new.x", "a"),
        ("p.test4.orig", "a"),
        ("burn", "a"),
        ("burn", "b"),
    ] {
        let subject = Subject::new(name, settings, &[name.as_bytes()]);
        for n in 0..2 {
            store.keep(&subject, 1, n, &sample(n), TOOK).unwrap();
        }
    }
    let shown = |prefix: &str| -> Vec<(String, u64, u64)> {
        let families = store.families(prefix).unwrap().into_iter();
        families
            .map(|f| (f.name, f.variants, f.replications))
            .collect()
    };
    let of = |name: &str, variants| (name.to_owned(), variants, 2 * variants);
    assert_eq!(
        shown(""),
        [of("burn", 2), of("p.test3", 2), of("p.test4", 1)]
    );
    assert_eq!(shown("p.test3.o"), [of("p.test3", 1)]);
    let all = store.families("burn").unwrap();
    assert!((all[0].took_s - 4.0 * TOOK.as_secs_f64()).abs() < 1e-9);
    assert_eq!(all[0].program, PROGRAM);
}

#[test]
fn a_row_that_was_changed_is_not_used() {
    let (_folder, path) = store();
    let store = Store::open(&path, PROGRAM).unwrap();
    let changes = [
        "UPDATE samples SET figures = CAST(figures || x'00' AS BLOB)",
        "UPDATE samples SET figures = zeroblob(16)",
        "UPDATE samples SET replication = 1",
        "UPDATE samples SET seed = 2",
        "UPDATE samples SET digest = ''",
    ];
    for change in changes {
        store.db.execute("DELETE FROM samples", []).unwrap();
        store.keep(&subject(), 1, 0, &sample(7), TOOK).unwrap();
        store.db.execute(change, []).unwrap();
        for (seed, n) in [(1, 0), (1, 1), (2, 0)] {
            assert_eq!(store.find(&subject(), seed, n), Ok(None), "{change}");
        }
        let held = &store.held().unwrap()[0];
        assert!(store.samples(held).unwrap().is_empty(), "{change}");
    }
}

#[test]
fn several_writers_at_once_lose_nothing() {
    let (_folder, path) = store();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path, PROGRAM).unwrap();
                for n in 0..25 {
                    store.keep(&subject(), writer, n, &sample(n), TOOK).unwrap();
                }
            });
        }
    });
    let store = Store::open(&path, PROGRAM).unwrap();
    let held = store.held().unwrap();
    assert_eq!(held.len(), 4);
    for held in held {
        assert_eq!(held.replications, 25);
        let samples = store.samples(&held).unwrap();
        assert_eq!(samples[24], (24, sample(24)));
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_alone() {
    let (_folder, path) = store();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let other = path.with_file_name("other.sqlite");
    let db = Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE photos (name TEXT)").unwrap();
    drop(db);
    let newer = path.with_file_name("newer.sqlite");
    let store = Store::open(&newer, PROGRAM).unwrap();
    store.db.pragma_update(None, "user_version", 2).unwrap();
    drop(store);
    fs::write(&path, "a letter to somebody, which is longer than a header").unwrap();
    let cut = path.with_file_name("cut.sqlite");
    let whole = fs::read(&newer).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    for (file, why) in [
        (&path, "not a file of results"),
        (&other, "a database of another program"),
        (&newer, "version 2, not 1"),
        (&cut, "cut.sqlite"),
    ] {
        let before = fs::read(file).unwrap();
        let error = Store::open(file, PROGRAM).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(fs::read(file).unwrap() == before, "{error}");
    }
    let missing = Store::existing(&path.with_file_name("none.sqlite"), PROGRAM);
    assert!(missing.unwrap_err().to_string().contains("no such file"));
    let below = path.join("below.sqlite");
    let error = Store::open(&below, PROGRAM).unwrap_err().to_string();
    assert!(error.contains("folder cannot be made"), "{error}");
}

#[test]
fn a_keeper_runs_only_what_is_missing() {
    let (_folder, path) = store();
    let (subject, runs) = (subject(), AtomicU32::new(0));
    let run = |keeper: &Keeper, count: u32| -> Vec<Result<(Sample, Option<()>), String>> {
        runs.store(0, Ordering::Relaxed);
        let row = |n: &u32| {
            (*n != 5).then_some(SampleKey {
                subject: &subject,
                seed: 1,
                replication: *n,
            })
        };
        let jobs: Vec<u32> = (0..count).collect();
        keeper.on_all_cores(
            &jobs,
            row,
            |_| "burn",
            &Silent,
            |n, _| {
                runs.fetch_add(1, Ordering::Relaxed);
                match n {
                    3 => Err("stalled".to_owned()),
                    n => Ok((sample(*n), ())),
                }
            },
        )
    };
    let samples = |results: &[Result<(Sample, Option<()>), String>]| {
        let sample = |r: &Result<(Sample, Option<()>), String>| Some(r.as_ref().ok()?.0.clone());
        results.iter().map(sample).collect::<Vec<_>>()
    };
    let plain = run(&Keeper::none(), 8);
    assert_eq!(runs.load(Ordering::Relaxed), 8);
    let keeper = Keeper::of(Store::open(&path, PROGRAM).unwrap());
    run(&keeper, 4);
    assert_eq!(runs.load(Ordering::Relaxed), 4);
    let resumed = run(&keeper, 8);
    // Those after the first four, the one that failed, and the one that is not kept.
    assert_eq!(runs.load(Ordering::Relaxed), 5);
    assert_eq!((keeper.found(), keeper.trouble()), (3, None));
    assert_eq!(samples(&resumed), samples(&plain));
    run(&Keeper::of(Store::open(&path, PROGRAM).unwrap()), 8);
    assert_eq!(runs.load(Ordering::Relaxed), 2, "all but two are kept");
}

#[test]
fn a_store_that_fails_on_the_way_is_given_up() {
    let (_folder, path) = store();
    let store = Store::open(&path, PROGRAM).unwrap();
    store.db.execute_batch("DROP TABLE samples").unwrap();
    let (keeper, subject) = (Keeper::of(store), subject());
    let row = |n: &u32| {
        Some(SampleKey {
            subject: &subject,
            seed: 1,
            replication: *n,
        })
    };
    let work = |n: &u32, _: Heard<'_>| Ok::<_, String>((sample(*n), ()));
    let results = keeper.on_all_cores(&[0, 1], row, |_| "burn", &Silent, work);
    assert_eq!(results.len(), 2);
    assert_eq!(results[1].as_ref().unwrap().0, sample(1));
    let trouble = keeper.trouble().unwrap().to_string();
    assert!(trouble.contains("results.sqlite"), "{trouble}");
}

#[test]
fn what_other_programs_made_can_be_taken_away() {
    let (_folder, path) = store();
    let mut store = Store::open(&path, PROGRAM).unwrap();
    for program in ["0.0.8+a", "0.0.9+b", PROGRAM] {
        store.keep(&subject(), 1, 0, &sample(0), TOOK).unwrap();
        let rename = "UPDATE samples SET program = ?1 WHERE program = ?2";
        store.db.execute(rename, [program, PROGRAM]).unwrap();
    }
    assert_eq!(store.prune(&["0.0.9+b".to_owned()]), Ok(1));
    let programs = |store: &Store| -> Vec<String> {
        let held = store.held().unwrap().into_iter();
        let mut programs: Vec<String> = held.map(|h| h.program).collect();
        programs.sort();
        programs
    };
    assert_eq!(programs(&store), ["0.0.9+b", PROGRAM]);
    assert_eq!(store.prune(&[]), Ok(1));
    assert_eq!(programs(&store), [PROGRAM]);
}

#[test]
fn figures_move_when_a_common_replication_differs() {
    let (_folder, path) = store();
    let store = Store::open(&path, "0.0.9+b").unwrap();
    let figures = |n: u32, by: f64| {
        let sample = Sample::new().with("same", f64::from(n));
        sample.with("moved", f64::from(n) / 10.0 + by)
    };
    let gone = Subject::new("gone", "", &[]);
    for n in 0..4 {
        store
            .keep(&subject(), 1, n, &figures(n, 0.0), TOOK)
            .unwrap();
    }
    store.keep(&gone, 1, 0, &figures(0, 0.0), TOOK).unwrap();
    let store = Store::open(&path, PROGRAM).unwrap();
    for n in 1..6 {
        store
            .keep(&subject(), 1, n, &figures(n, 5.0), TOOK)
            .unwrap();
    }
    let held = store.held().unwrap();
    let of =
        |program: &str| -> Vec<&Held> { held.iter().filter(|h| h.program == program).collect() };
    let (before, after) = (of("0.0.9+b"), of(PROGRAM));
    let moves = moves((&store, &before), (&store, &after)).unwrap();
    assert_eq!((moves.same, moves.moved.len()), (1, 1));
    assert_eq!(moves.only_before, ["gone"]);
    assert!(moves.only_after.is_empty());
    let moved = &moves.moved[0];
    assert_eq!((moved.figure.as_str(), moved.is_proven), ("moved", true));
    let mean = |estimate: Option<domio_answer::MeanCell>| estimate.map(|e| (e.n, e.mean));
    let (n, before) = mean(moved.before).unwrap();
    assert_eq!(n, 3, "replications 1, 2 and 3 are common");
    let (_, after) = mean(moved.after).unwrap();
    assert!((after - before - 5.0).abs() < 1e-12);
}

#[test]
fn a_file_that_was_edited_is_compared_with_the_same_bytes() {
    let (_folder, path) = store();
    let store = Store::open(&path, PROGRAM).unwrap();
    let edited = |text: &[u8]| {
        let mut subject = Subject::new("scenario", "", &[text]);
        subject.name = "mine.toml".to_owned();
        subject
    };
    let mut two = [edited(b"one"), edited(b"two")];
    // What comes last counts as the newest of its second.
    two.sort();
    for (n, subject) in (0..).zip(&two) {
        store.keep(subject, 1, 0, &sample(n), TOOK).unwrap();
    }
    let held = store.held().unwrap();
    let (all, first) = (held.iter().collect::<Vec<_>>(), [&held[0]]);
    assert_eq!(first[0].subject, two[0]);
    let moves = moves((&store, &all), (&store, &first)).unwrap();
    assert_eq!((moves.same, moves.moved), (2, Vec::new()));
}
