//! The terminal: keeps the screen up to date, and hears keys.

use crate::feed::{Aggregate, Closing, Feed, IntervalEnd};
use crate::names::DomainNames;
use crate::pace::PlaySpeed;
use crate::screen::{Screen, action, draw};
use anyhow::Context;
use domio_core::PcpuId;
use domio_meter::PacketWeight;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// How long to wait for a key before looking for new samples.
const PAUSE: Duration = Duration::from_millis(50);

/// How long to take samples before the screen is drawn.
const TAKING: Duration = Duration::from_millis(30);

/// Samples that may wait.
const WAITING: usize = 256;

/// What the thread that reads tells the one that shows.
enum Message {
    Moment(Box<IntervalEnd>),
    Ended(Box<anyhow::Result<Closing>>),
}

/// Something that hands out records.
pub trait Records: Send + 'static {
    /// What domains are called.
    fn names(&self) -> DomainNames;

    /// Feeds all records.
    ///
    /// # Errors
    /// When they cannot be read to their end.
    fn feed<F: FnMut(IntervalEnd) -> bool>(self, feed: Feed<F>) -> anyhow::Result<Closing>;
}

/// What is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveView {
    /// What the screen is called.
    pub title: String,
    /// What a sent packet takes in the driver domain, in received ones.
    pub weight: PacketWeight,
    /// Whether there are colours.
    pub colour: bool,
    /// Whether the figures are xenbaked's.
    pub compatible: bool,
    /// One pcpu, instead of the host.
    pub pcpu: Option<PcpuId>,
    /// Seconds of the host in a second; as fast as possible without.
    pub speed: Option<f64>,
}

/// Shows samples of `records` until somebody quits; what was told of the records, if they ended
/// before.
///
/// # Errors
/// When there is no terminal, or the records cannot be read.
pub fn run(
    view: LiveView,
    records: impl Records,
    aggregate: Aggregate,
) -> anyhow::Result<Option<Closing>> {
    let mut screen = Screen::new(view.title, records.names(), view.weight, view.colour);
    screen.compatible = view.compatible;
    if let Some(pcpu) = view.pcpu {
        screen.only(pcpu);
    }
    let (send, receive) = sync_channel(WAITING);
    // Reading may wait for a file to grow, and simulating takes its time: keys are heard all the
    // same. The thread ends with the program.
    std::thread::spawn(move || read(records, aggregate, PlaySpeed::new(view.speed), &send));
    let mut terminal = ratatui::try_init().context("cannot use the terminal; try --json")?;
    let ended = show(&mut terminal, &mut screen, &receive);
    ratatui::restore();
    ended?.transpose()
}

fn read(
    records: impl Records,
    aggregate: Aggregate,
    mut pace: PlaySpeed,
    send: &SyncSender<Message>,
) {
    let each = |moment: IntervalEnd| {
        pace.wait(moment.short.start, moment.short.end);
        send.send(Message::Moment(Box::new(moment))).is_ok()
    };
    let told = records.feed(Feed::new(aggregate, each));
    // Nobody listens any more when somebody has quit.
    let _ = send.send(Message::Ended(Box::new(told)));
}

/// How reading ended, if it has.
type Ended = Option<anyhow::Result<Closing>>;

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    screen: &mut Screen,
    receive: &Receiver<Message>,
) -> anyhow::Result<Ended> {
    let mut ended = None;
    let mut draws = true;
    loop {
        draws |= take(screen, receive, &mut ended);
        if draws {
            terminal.draw(|frame| draw(frame, screen))?;
            draws = false;
        }
        if !event::poll(PAUSE)? {
            continue;
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if let Some(action) = action(&key) {
                    draws = true;
                    if !screen.act(action) {
                        return Ok(ended);
                    }
                }
            }
            Event::Resize(..) => draws = true,
            _ => {}
        }
    }
}

/// Takes what has come. Returns whether anything has.
fn take(screen: &mut Screen, receive: &Receiver<Message>, ended: &mut Ended) -> bool {
    let since = Instant::now();
    let mut has_come = false;
    while since.elapsed() < TAKING {
        match receive.try_recv() {
            Ok(Message::Moment(moment)) => screen.push(*moment),
            Ok(Message::Ended(told)) => {
                screen.end();
                screen.note = match &*told {
                    Ok(told) if told.no_runstates && !screen.compatible => Some(format!(
                        "{} records, but none of runstates: there are no figures",
                        told.records
                    )),
                    Ok(told) => told.notes.first().cloned(),
                    Err(error) => Some(format!("error: {error:#}").replace('\n', " ")),
                };
                *ended = Some(*told);
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return has_come,
        }
        has_come = true;
    }
    has_come
}
