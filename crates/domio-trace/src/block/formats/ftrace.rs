//! What ftrace prints of block devices: `COMMAND-PID [CPU] FLAGS TIME: `, and then what the tracer
//! `blk` has (`8,0 Q R 1234 + 8 [dd]`) or an event of `block` (`block_rq_issue: 8,0 R 4096 () 1234
//! + 8 [dd]`). Lines of other events mean nothing here.

use super::blkparse::is_device;
use super::line::LineFormat;
use super::requests::event;
use crate::block::event::{BlockAct, BlockEvent};
use crate::block::fields::{Cut, Expect, Field, decimal, number};
use crate::block::names::BlockNames;

/// Events of `block` (`include/trace/events/block.h`).
const EVENTS: [(&[u8], BlockAct); 12] = [
    (b"block_bio_queue", BlockAct::Queue),
    (b"block_getrq", BlockAct::GetRequest),
    (b"block_sleeprq", BlockAct::Sleep),
    (b"block_bio_backmerge", BlockAct::BackMerge),
    (b"block_bio_frontmerge", BlockAct::FrontMerge),
    (b"block_rq_insert", BlockAct::Insert),
    (b"block_rq_issue", BlockAct::Issue),
    (b"block_rq_requeue", BlockAct::Requeue),
    (b"block_rq_complete", BlockAct::Complete),
    (b"block_bio_remap", BlockAct::Remap),
    (b"block_rq_remap", BlockAct::Remap),
    (b"block_split", BlockAct::Split),
];

/// Reads lines of ftrace.
pub struct Ftrace;

impl LineFormat for Ftrace {
    fn line(&mut self, line: &[u8], names: &mut BlockNames) -> Field<Option<BlockEvent>> {
        let line = line.trim_ascii();
        let is_lost = line.starts_with(b"CPU:") && line.ends_with(b"EVENTS]");
        if line.is_empty() || line.starts_with(b"#") || is_lost {
            return Ok(None);
        }
        let cpu = cpu_of(line).expect_of("a process and a cpu, as dd-1234 [001]")?;
        let process = line[..cpu.0].trim_ascii();
        let dash = process.iter().rposition(|b| *b == b'-');
        let dash = dash.filter(|dash| number(&process[dash + 1..]).is_some());
        let dash = dash.expect_of("a process, as dd-1234")?;
        let mut rest = Cut(&line[cpu.1..]);
        let mut time = || decimal(rest.word().strip_suffix(b":")?, 9);
        // Old kernels have no flags.
        let at = time().or_else(&mut time);
        let at = at.expect_of("a time in seconds, as 1234.567890:")?;
        let Some((act, device, rwbs, rest)) = words_of(rest)? else {
            return Ok(None);
        };
        let mut event = event(at, act, rwbs, rest)?;
        event.device = names.device(device);
        event.who = names.process(&process[..dash], &process[dash + 1..]);
        Ok(Some(event))
    }
}

/// Where ` [CPU]` begins and ends.
fn cpu_of(line: &[u8]) -> Option<(usize, usize)> {
    let begins = (0..line.len()).filter(|i| line[*i] == b'[' && *i > 0);
    begins.into_iter().find_map(|begin| {
        let length = line[begin..].iter().position(|b| *b == b']')?;
        let end = begin + length;
        number(&line[begin + 1..end]).map(|_| (begin, end + 1))
    })
}

/// Kind of event, device, marks, and the rest of the words.
type Words<'a> = (BlockAct, &'a [u8], &'a [u8], &'a [u8]);

/// What is behind the time; `None` for what is no event of a request.
fn words_of(mut rest: Cut<'_>) -> Field<Option<Words<'_>>> {
    let first = rest.word();
    if let Some(name) = first.strip_suffix(b":") {
        let act = EVENTS.iter().find(|(event, _)| *event == name);
        let Some((_, act)) = act else {
            return Ok(None);
        };
        let device = rest.word();
        is_device(device).expect_of("a device as 8,0")?;
        return Ok(Some((*act, device, rest.word(), rest.0)));
    }
    is_device(first).expect_of("a device as 8,0, or the name of an event")?;
    let act = match rest.word() {
        [letter] => BlockAct::of_letter(*letter),
        _ => None,
    };
    let act = act.expect_of("a kind of event, as Q, D or C")?;
    if act == BlockAct::Other {
        return Ok(None);
    }
    Ok(Some((act, first, rest.word(), rest.0)))
}
