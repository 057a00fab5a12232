//! Small traces whose figures can be told by looking at them.

use super::{BlockComparison, BlockExplainer, BlockMeter, BlockSummary, Spread, Values, demerit};
use domio_core::Duration;
use domio_trace::block::{BlockFormat, BlockReader, DeviceTime};

/// Two processes: `a` reads alone for 4 ms; `b` waits for 2 ms of that, and the device idles for
/// 1 ms before it gets b's request, which takes 3 ms.
const TWO: &str = "time_s,action,rwbs,sector,nsec,proc\n\
    0.000,Q,R,0,8,a\n\
    0.000,D,R,0,8,a\n\
    0.002,Q,R,1000,8,b\n\
    0.004,C,R,0,8,0\n\
    0.005,D,R,1000,8,b\n\
    0.008,C,R,1000,8,0\n";

fn read(text: &str, format: BlockFormat) -> BlockReader<&[u8]> {
    BlockReader::new(text.as_bytes(), Some(format)).unwrap()
}

fn metered(text: &str, format: BlockFormat) -> (BlockMeter, BlockReader<&[u8]>) {
    let mut reader = read(text, format);
    let mut meter = BlockMeter::new();
    while let Some(event) = reader.next_event().unwrap() {
        meter.event(&event);
    }
    (meter, reader)
}

#[test]
fn waits_are_told_by_place_and_by_who_was_served() {
    let mut reader = read(TWO, BlockFormat::Events);
    let mut explainer = BlockExplainer::new();
    let spent = DeviceTime {
        seek: Duration::from_millis(3),
        cached: true,
        ..DeviceTime::default()
    };
    while let Some(event) = reader.next_event().unwrap() {
        let spent = (event.act.letter() == 'C' && event.sector == 1000).then_some(&spent);
        explainer.event(reader.names(), &event, spent);
    }
    let told = explainer.finish(reader.names());
    assert_eq!((told.ended, told.unended), (2, 0));
    assert!(told.tells_issue && told.tells_end && !told.tells_response_alone);
    let ms = |ns: u64| ns / 1_000_000;
    let [b, a] = &told.waiters[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        (b.who.as_str(), ms(b.elevator_ns), ms(b.device_ns)),
        ("b", 3, 3)
    );
    assert_eq!(
        (a.who.as_str(), ms(a.elevator_ns), ms(a.device_ns)),
        ("a", 0, 4)
    );
    let parts = b.device.0.unwrap();
    assert_eq!((ms(parts.seek_ns), parts.cached), (3, 1));
    assert_eq!(a.device.0, None);
    let behind: Vec<(&str, Option<&str>, u64)> = told
        .elevator
        .iter()
        .map(|w| (w.who.as_str(), w.beside.as_deref(), ms(w.ns as u64)))
        .collect();
    assert_eq!(behind, [("b", Some("a"), 2), ("b", None, 1)]);
    let longest = &told.longest[0];
    assert_eq!((longest.who.as_str(), ms(longest.response_ns)), ("b", 6));
    assert_eq!(
        (longest.passed, longest.elevator_ns.map(ms)),
        (Some(0), Some(3))
    );
}

#[test]
fn a_request_ends_all_bios_that_were_merged_into_it() {
    let text = "0.0,Q,W,0,8,a\n0.1,Q,W,8,8,b\n0.1,M,W,8,8,b\n0.2,D,W,0,16,k\n0.3,C,W,0,16,0\n";
    let (meter, reader) = metered(text, BlockFormat::Events);
    let json = meter.finish(reader.names());
    assert_eq!((json.merged, json.unended, json.events), (1, 0, 5));
    let of = |stage: &str| json.stages.iter().find(|s| s.stage == stage).unwrap();
    assert_eq!((of("queued").requests, of("device").requests), (2, 1));
    assert_eq!(of("device").size_bytes.0.max, 16 * 512);
    let response = json.figures.iter().find(|f| f.name == "response of writes");
    let response = response.unwrap().spread;
    assert_eq!((response.count, response.max), (2, 300_000_000));
    // The device has one request, whatever was merged into it.
    assert_eq!(json.device_depth.0.unwrap().max, 1);
    let device = in_device(&json).unwrap();
    assert_eq!((device.count, device.max), (1, 100_000_000));
}

fn in_device(summary: &BlockSummary) -> Option<Spread> {
    let figure = summary.figures.iter().find(|f| f.name == "in the device");
    figure.map(|figure| figure.spread)
}

#[test]
fn issue_and_completion_alone_have_times_in_the_device() {
    let text = "0.0,D,W,0,8,k\n0.1,D,R,64,16,k\n0.2,C,W,0,8,0\n0.3,C,R,64,8,0\n\
                0.6,C,R,72,8,0\n0.7,D,W,0,8,k\n";
    let (meter, reader) = metered(text, BlockFormat::Events);
    let json = meter.finish(reader.names());
    let device = in_device(&json).unwrap();
    // The read ends with its last piece; the last write does not end.
    assert_eq!((device.count, device.max), (2, 500_000_000));
    assert!((device.mean - 350_000_000.0).abs() < 1.0, "{device:?}");
    assert_eq!((json.unended, json.elevator_depth.0), (1, None));
    assert_eq!(json.device_depth.0.unwrap().max, 2);
    let mut reader = read(text, BlockFormat::Events);
    let mut explainer = BlockExplainer::new();
    while let Some(event) = reader.next_event().unwrap() {
        explainer.event(reader.names(), &event, None);
    }
    let untold = explainer.finish(reader.names()).untold();
    assert!(
        untold[0].starts_with("when requests were queued"),
        "{untold:?}"
    );
}

#[test]
fn a_request_that_was_given_back_is_in_the_device_from_its_second_issue() {
    let text = "0.0,Q,W,0,8,a\n0.1,D,W,0,8,a\n0.2,R,W,0,8,a\n0.5,D,W,0,8,a\n0.6,C,W,0,8,0\n";
    let (meter, reader) = metered(text, BlockFormat::Events);
    let json = meter.finish(reader.names());
    let device = in_device(&json).unwrap();
    assert_eq!((device.count, device.max), (1, 100_000_000));
    let depth = json.device_depth.0.unwrap();
    assert!(
        depth.max == 1 && (depth.mean - 0.2 / 0.6).abs() < 1e-9,
        "{depth:?}"
    );
}

#[test]
fn a_bio_that_is_asked_for_again_is_not_ended_by_the_first() {
    let text = "0.0,Q,W,0,8,a\n0.1,D,W,0,8,a\n0.2,Q,W,0,8,a\n0.3,C,W,0,8,0\n\
                0.4,D,W,0,8,a\n0.9,C,W,0,8,0\n";
    let (meter, reader) = metered(text, BlockFormat::Events);
    let json = meter.finish(reader.names());
    let response = json.figures.iter().find(|f| f.name == "response of writes");
    assert_eq!(response.unwrap().spread.max, 700_000_000);
}

#[test]
fn a_bio_that_was_cut_ends_with_its_last_piece() {
    let text = "0.0,Q,R,0,16,a\n0.1,D,R,0,8,a\n0.2,D,R,8,8,a\n0.3,C,R,0,8,0\n0.5,C,R,8,8,0\n";
    let (meter, reader) = metered(text, BlockFormat::Events);
    let json = meter.finish(reader.names());
    let response = json.figures.iter().find(|f| f.name == "response of reads");
    let spread = response.unwrap().spread;
    assert_eq!((spread.count, spread.max), (1, 500_000_000));
}

#[test]
fn lines_that_tell_the_response_tell_no_elevator_and_no_device() {
    let text = "128166372003061629,hm,1,Read,383496192,32768,10000\n\
                128166372003066629,hm,1,Write,0,4096,20000\n\
                128166372013066629,hm,1,Write,0,4096,10000\n";
    let (meter, reader) = metered(text, BlockFormat::Msr);
    let json = meter.finish(reader.names());
    let of = |name: &str| json.figures.iter().find(|f| f.name == name).unwrap().spread;
    assert_eq!(of("response of reads").max, 1_000_000);
    assert_eq!(of("between requests").max, 1_000_000_000);
    assert_eq!(json.actors[0].name, "hm.1");
    assert_eq!(json.elevator_depth.0, None);
    let mut reader = read(text, BlockFormat::Msr);
    let mut explainer = BlockExplainer::new();
    while let Some(event) = reader.next_event().unwrap() {
        explainer.event(reader.names(), &event, None);
    }
    let told = explainer.finish(reader.names());
    assert!(told.tells_response_alone && told.elevator.is_empty() && told.device.is_empty());
    assert_eq!(told.ended, 3);
}

#[test]
fn the_demerit_figure_is_the_distance_of_the_distributions() {
    let of = |values: &[u64]| {
        let mut all = Values::default();
        values.iter().for_each(|v| all.add(*v));
        all
    };
    let even: Vec<u64> = (0..=100).collect();
    let moved: Vec<u64> = (0..=100).map(|v| v + 7).collect();
    assert_eq!(demerit(&mut of(&even), &mut of(&even)), Some(0.0));
    let distance = demerit(&mut of(&even), &mut of(&moved)).unwrap();
    assert!((distance - 7.0).abs() < 1e-9, "{distance}");
    // The distance of x and 2x is x: the root of the mean square of 0..100 is 100 / sqrt(3).
    let doubled: Vec<u64> = (0..=100).map(|v| v * 2).collect();
    let distance = demerit(&mut of(&even), &mut of(&doubled)).unwrap();
    assert!((distance - 100.0 / 3f64.sqrt()).abs() < 0.01, "{distance}");
    assert_eq!(demerit(&mut of(&[]), &mut of(&even)), None);
}

#[test]
fn a_trace_is_like_itself_and_unlike_a_slower_one() {
    let slow = TWO.replace("0.008", "0.018");
    let meter = |text: &str| metered(text, BlockFormat::Events).0;
    let same = BlockComparison::new(meter(TWO), meter(TWO));
    assert!(same.figures.iter().all(|f| f.demerit == 0.0), "{same:?}");
    let other = BlockComparison::new(meter(TWO), meter(&slow));
    let of = |name: &str| other.figures.iter().find(|f| f.name == name).unwrap();
    assert!(of("response of reads").demerit > 1e6);
    assert_eq!(of("size of reads").demerit, 0.0);
    assert_eq!(other.reads, [1.0, 1.0]);
}
