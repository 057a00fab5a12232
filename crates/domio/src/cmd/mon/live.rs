//! The terminal: keeps the screen up to date, and hears keys.

use super::feed::{Aggregate, Feed, Moment, Told};
use super::screen::{Screen, action, draw};
use super::source::Source;
use super::warn;
use crate::args::{Global, Mon};
use crate::out::Status;
use anyhow::Context;
use domio_core::PcpuId;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use std::io;
use std::path::Path;
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
    Moment(Box<Moment>),
    Ended(Box<anyhow::Result<Told>>),
}

/// Shows samples until somebody quits.
pub fn run(args: &Mon, global: &Global, aggregate: Aggregate) -> anyhow::Result<Status> {
    let source = Source::open(args, global)?;
    let colour = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let title = Path::new(&args.source).file_name();
    let title = title.map_or_else(|| args.source.clone(), |t| t.to_string_lossy().into_owned());
    let mut screen = Screen::new(title, source.names(), args.send_weight, colour);
    screen.compatible = args.compatible.is_some();
    if let Some(pcpu) = args.pcpu {
        screen.only(PcpuId(pcpu));
    }
    let (send, receive) = sync_channel(WAITING);
    // Reading may wait for a file to grow, and simulating takes its time: keys are heard all the
    // same. The thread ends with the program.
    std::thread::spawn(move || read(source, aggregate, &send));
    let mut terminal = ratatui::try_init().context("cannot use the terminal; try --json")?;
    let ended = show(&mut terminal, &mut screen, &receive);
    ratatui::restore();
    if let Some(told) = ended? {
        warn(args, &told?);
    }
    Ok(Status::Success)
}

fn read(source: Source, aggregate: Aggregate, send: &SyncSender<Message>) {
    let each = |moment| send.send(Message::Moment(Box::new(moment))).is_ok();
    let told = source.run(Feed::new(aggregate, each));
    // Nobody listens any more when somebody has quit.
    let _ = send.send(Message::Ended(Box::new(told)));
}

/// How reading ended, if it has.
type Ended = Option<anyhow::Result<Told>>;

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
