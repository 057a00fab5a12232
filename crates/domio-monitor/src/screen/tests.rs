//! The screen as a terminal shows it.

use super::*;
use domio_core::{Instant, VcpuName};
use domio_meter::{Figures, GuestTraffic, Part, QueueWait, Tells};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

const MS: u64 = 1_000_000;

fn part(domain: u16, vcpu: u16, pcpu: u16, [gotten, waited, blocked]: [u64; 3]) -> Part {
    Part {
        vcpu: VcpuName::new(DomainId(domain), vcpu),
        pcpu: PcpuId(pcpu),
        figures: Figures {
            gotten: gotten * MS,
            waited: waited * MS,
            blocked: blocked * MS,
            allocated: 60 * MS,
            executions: 2,
            ..Figures::default()
        },
    }
}

/// The sample of 100 ms with number `n`. Two pcpus; the driver domain, a web server with two vcpus
/// that slowly gets more, a burner with a name that is too long; idle time.
fn moment(n: u64) -> IntervalEnd {
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let web = 20 + n / 4;
    let mut parts = vec![
        part(0, 0, 0, [10, 5, 85]),
        part(1, 0, 0, [web, 15, 85 - web]),
        part(1, 1, 1, [5, 30, 65]),
        part(2, 0, 1, [60, 40, 0]),
    ];
    parts[1].figures.io = 12;
    parts.push(Part {
        vcpu: VcpuName::idle(PcpuId(1)),
        ..part(0, 0, 1, [35, 0, 0])
    });
    let wait = QueueWait {
        vcpu: VcpuName::new(DomainId(1), 1),
        pcpu: PcpuId(1),
        since: at(n * 100 + 10),
        length: (20 + n % 7) * MS,
        goes_on: n.is_multiple_of(2),
        behind: Some((VcpuName::new(DomainId(2), 0), 18 * MS)),
    };
    let traffic = |guest, sent, received, work| GuestTraffic {
        driver: DomainId(0),
        guest: DomainId(guest),
        sent,
        received,
        work: work * MS,
    };
    let sample = IntervalSample {
        start: at(n * 100),
        end: at(n * 100 + 100),
        parts,
        longest_wait: Some(wait),
        traffic: vec![traffic(1, 10, 2, 5), traffic(2, 1, 3, 3)],
        tells: Tells {
            packets: true,
            work: true,
            grants: false,
        },
        ..IntervalSample::default()
    };
    IntervalEnd {
        // Its domains are summed up there.
        short: domio_meter::Totals::of(&[sample]),
        long: None,
    }
}

fn screen(colour: bool) -> Screen {
    let named = [
        (DomainId(0), "Domain-0"),
        (DomainId(1), "web"),
        (DomainId(2), "a-burner-with-a-long-name"),
    ];
    let names = DomainNames::new(named.map(|(id, name)| (id, name.to_owned())));
    let mut screen = Screen::new("host.domio".to_owned(), names, PacketWeight::GUPTA, colour);
    (0..150).for_each(|n| screen.push(moment(n)));
    screen
}

/// The text on a terminal of `width` and `height`, and how many cells have a colour.
fn shown(screen: &Screen, width: u16, height: u16) -> (String, usize) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width));
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    let coloured = buffer
        .content()
        .iter()
        .filter(|cell| cell.fg != Color::Reset);
    (rows.join("\n") + "\n", coloured.count())
}

fn text(screen: &Screen) -> String {
    shown(screen, 80, 24).0
}

fn press(screen: &mut Screen, actions: &[Action]) {
    for action in actions {
        assert!(screen.act(*action));
    }
}

#[test]
fn a_small_terminal_and_a_large_one() {
    let mut screen = screen(false);
    insta::assert_snapshot!("80x24", shown(&screen, 80, 24).0);
    press(&mut screen, &[Action::OpenAll, Action::Sort(-1)]);
    screen.end();
    insta::assert_snapshot!("120x40", shown(&screen, 120, 40).0);
}

#[test]
fn a_column_of_parked_time_is_there_where_a_vcpu_was_parked() {
    let mut screen = screen(false);
    for width in [80, 120, 140] {
        assert!(!shown(&screen, width, 24).0.contains("parked%"));
    }
    let mut parked = moment(150);
    parked.short.parts[0].figures.parked = 70 * MS;
    parked.short.domains[0].figures.parked = 70 * MS;
    screen.push(parked);
    for (width, room) in [(80, false), (120, false), (140, true)] {
        let (text, _) = shown(&screen, width, 24);
        assert!(text.contains("parked%"), "{text}");
        assert_eq!(text.contains("ex/s"), room, "{text}");
        assert!(text.contains("waited% blockd% parked%"), "{text}");
    }
}

#[test]
fn colours_say_nothing_that_the_text_does_not() {
    let (plain, coloured) = (shown(&screen(false), 80, 24), shown(&screen(true), 80, 24));
    assert_eq!(plain.0, coloured.0);
    assert_eq!(plain.1, 0);
    assert!(coloured.1 > 0);
}

#[test]
fn too_small_a_terminal_says_so() {
    for (width, height) in [(79, 24), (80, 15), (20, 5)] {
        let (told, _) = shown(&screen(false), width, height);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&format!("{width}x{height}")), "{told}");
        assert!(told.contains("80x16"), "{told}");
    }
    assert!(shown(&screen(false), 1, 1).0.len() < 5);
}

#[test]
fn time_can_be_stepped_through() {
    let mut screen = screen(false);
    assert!(text(&screen).contains("15.00 s  LIVE"));
    press(&mut screen, &[Action::Pause]);
    screen.push(moment(150));
    assert!(
        text(&screen).contains("15.00 s  PAUSED, 1 back"),
        "it stands still"
    );
    press(&mut screen, &[Action::Step(1)]);
    assert!(text(&screen).contains("15.10 s  PAUSED\n"));
    press(&mut screen, &[Action::Step(-10), Action::Step(-1)]);
    assert!(text(&screen).contains("14.00 s  PAUSED, 11 back"));
    press(&mut screen, &[Action::Oldest, Action::Step(-1)]);
    assert!(text(&screen).contains("0.10 s  PAUSED, 150 back"));
    press(&mut screen, &[Action::Latest]);
    screen.end();
    assert!(text(&screen).contains("15.10 s  END"));
}

#[test]
fn one_pcpu_or_the_host() {
    let mut screen = screen(false);
    let scope = |screen: &Screen| {
        let first = text(screen).lines().next().unwrap().to_owned();
        first.split_whitespace().nth(3).unwrap().to_owned()
    };
    assert_eq!(scope(&screen), "host");
    let pcpu = |screen: &Screen| screen.pcpu.map(|p| p.0);
    let mut seen = Vec::new();
    for action in [Action::Scope, Action::Scope, Action::Scope] {
        press(&mut screen, &[action]);
        seen.push(pcpu(&screen));
    }
    assert_eq!(seen, [Some(0), Some(1), None]);
    press(&mut screen, &[Action::Pcpu(-1)]);
    assert_eq!(pcpu(&screen), Some(1));
    press(&mut screen, &[Action::Pcpu(1)]);
    assert_eq!(pcpu(&screen), Some(0));
    // The burner runs on pcpu 1 alone.
    let has_row = |name: &str| text(&screen).lines().any(|l| l.starts_with(name));
    assert!(has_row(" web") && !has_row(" a-burner"));
}

#[test]
fn rows_are_in_the_order_that_is_asked_for() {
    let mut screen = screen(false);
    let order = |screen: &Screen| {
        let text = text(screen);
        let mut at: Vec<(usize, &str)> = ["Domain-0", "web ", "a-burner", "idle"]
            .map(|name| (text.find(name).unwrap(), name.trim()))
            .to_vec();
        at.sort_unstable();
        at.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    // By what they got; idle time comes last in any case.
    assert_eq!(order(&screen), ["web", "a-burner", "Domain-0", "idle"]);
    press(&mut screen, &[Action::Reverse]);
    assert_eq!(order(&screen), ["Domain-0", "a-burner", "web", "idle"]);
    press(&mut screen, &[Action::Reverse, Action::Sort(-1)]);
    assert_eq!(order(&screen), ["Domain-0", "web", "a-burner", "idle"]);
    assert!(text(&screen).contains("domain▾"));
}

#[test]
fn vcpus_and_help_come_and_go() {
    let mut screen = screen(false);
    assert!(!text(&screen).contains("vcpu 1"));
    // The first row is the web server's.
    press(&mut screen, &[Action::Select(1), Action::Open]);
    assert!(text(&screen).contains(">web") && text(&screen).contains("vcpu 1"));
    press(&mut screen, &[Action::Open, Action::Help]);
    assert!(!text(&screen).contains("vcpu 1"));
    assert!(text(&screen).contains("pause, or continue"));
    press(&mut screen, &[Action::Close]);
    assert!(!text(&screen).contains("pause, or continue"));
    assert!(!screen.act(Action::Quit));
}

#[test]
fn without_samples_and_without_packets_it_says_so() {
    let mut empty = Screen::new(
        "x".to_owned(),
        DomainNames::default(),
        PacketWeight::GUPTA,
        false,
    );
    press(
        &mut empty,
        &[
            Action::Step(-1),
            Action::Select(1),
            Action::Pcpu(1),
            Action::Scope,
            Action::Pause,
        ],
    );
    assert!(text(&empty).contains("waiting for the first sample"));
    let mut untold = moment(0);
    untold.short.tells = Tells::default();
    untold.short.traffic.clear();
    empty.push(untold);
    let shown = text(&empty);
    assert!(shown.contains("the trace has no packets"), "{shown}");
    assert!(!shown.contains("by packets"), "{shown}");
}
