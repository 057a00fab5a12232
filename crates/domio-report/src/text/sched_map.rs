//! A map of who ran where, as text: a column a pcpu, a row a change.

use crate::explained::Explained;
use crate::text::View;
use crate::text::explained::INDENT;
use crate::text::folded::folded;
use domio_core::{DomainId, PcpuId, Runstate, VcpuName};
use domio_meter::{Map, MapChange, MapRow};
use std::collections::{BTreeMap, BTreeSet};

/// An idle pcpu, and one of which nothing is known yet.
const IDLE: &str = ".";
const UNKNOWN: &str = "?";

/// Width of the column of times, with what follows the columns of pcpus.
const BESIDE: usize = 44;

/// The map, with a legend: `*` marks who comes, `+` who is woken.
pub fn render(explained: Explained<'_>, map: &Map, view: &View) -> String {
    let labels = Labels::of(map);
    let widest = labels.width().max(3) + 1;
    let room = usize::from(view.width).saturating_sub(BESIDE) / (widest + 1);
    let all = &explained.explanation.pcpus;
    let shown: Vec<PcpuId> = all.iter().copied().take(room.max(1)).collect();
    let mut now: BTreeMap<PcpuId, VcpuName> = map.first.iter().copied().collect();
    let mut text = format!(
        "Which vcpu ran where from {} s to {} s:\n\n",
        explained.seconds(map.from),
        explained.seconds(map.until)
    );
    let head: Vec<String> = shown.iter().map(|p| format!("{p:<widest$}")).collect();
    text += &format!("{:>12}  {}\n", "time [s]", head.join(" "));
    text += &line(
        &explained.seconds(map.from),
        &shown,
        &now,
        None,
        &labels,
        widest,
        "",
    );
    let rows = |rows: &[MapRow], now: &mut BTreeMap<PcpuId, VcpuName>, text: &mut String| {
        for row in rows {
            if let MapChange::Runs(vcpu, _) = row.what {
                now.insert(row.pcpu, vcpu);
            }
            let said = said(row, &labels, shown.contains(&row.pcpu));
            let comes = matches!(row.what, MapChange::Runs(..)).then_some(row.pcpu);
            let at = explained.seconds(row.at);
            *text += &line(&at, &shown, now, comes, &labels, widest, &said);
        }
    };
    rows(&map.head, &mut now, &mut text);
    if map.left_out > 0 {
        text += &format!(
            "{:>12}  {} changes are left out; --map START..END shows a shorter time\n",
            "...", map.left_out
        );
    }
    now.extend(&map.then);
    rows(&map.tail, &mut now, &mut text);
    if all.len() > shown.len() {
        let more = all.len() - shown.len();
        text += &format!("no room for {more} more pcpus: widen the terminal\n");
    }
    text + "\n" + &labels.legend(explained)
}

/// One line: time, who runs on each pcpu, and a remark.
fn line(
    at: &str,
    shown: &[PcpuId],
    now: &BTreeMap<PcpuId, VcpuName>,
    comes: Option<PcpuId>,
    labels: &Labels,
    widest: usize,
    said: &str,
) -> String {
    let cell = |pcpu: &PcpuId| {
        let label = now
            .get(pcpu)
            .map_or(UNKNOWN.to_owned(), |v| labels.label(*v));
        let mark = if comes == Some(*pcpu) { "*" } else { " " };
        format!("{:<widest$}", format!("{mark}{label}"))
    };
    let cells: Vec<String> = shown.iter().map(cell).collect();
    let line = format!("{at:>12}  {} {said}", cells.join(" "));
    format!("{}\n", line.trim_end())
}

/// What a row says beside its columns.
fn said(row: &MapRow, labels: &Labels, is_shown: bool) -> String {
    let there = match is_shown {
        true => String::new(),
        false => format!(" on {}", row.pcpu),
    };
    match row.what {
        MapChange::Wakes(vcpu) => format!("+{} woken, from {}", labels.label(vcpu), row.pcpu),
        MapChange::Runs(vcpu, left) => {
            let comes = match is_shown {
                true => String::new(),
                false => format!("{} comes{there}", labels.label(vcpu)),
            };
            let left = left.filter(|(vcpu, _)| !vcpu.is_idle());
            let left = left.map_or(String::new(), |(vcpu, state)| {
                let label = labels.label(vcpu);
                match state {
                    Runstate::Runnable => format!("{label} waits"),
                    Runstate::Blocked => format!("{label} blocks"),
                    _ => format!("{label} goes offline"),
                }
            });
            match (comes.is_empty(), left.is_empty()) {
                (false, false) => format!("{comes}, {left}"),
                _ => comes + &left,
            }
        }
    }
}

/// Short names: a letter a domain, a number a vcpu.
struct Labels(Vec<(DomainId, BTreeSet<VcpuName>)>);

impl Labels {
    fn of(map: &Map) -> Self {
        let mut domains: BTreeMap<DomainId, BTreeSet<VcpuName>> = BTreeMap::new();
        let mut add = |vcpu: VcpuName| {
            if !vcpu.is_idle() {
                domains.entry(vcpu.domain).or_default().insert(vcpu);
            }
        };
        map.first.iter().for_each(|(_, vcpu)| add(*vcpu));
        for row in map.head.iter().chain(&map.tail) {
            match row.what {
                MapChange::Runs(vcpu, left) => {
                    add(vcpu);
                    left.iter().for_each(|(vcpu, _)| add(*vcpu));
                }
                MapChange::Wakes(vcpu) => add(vcpu),
            }
        }
        Labels(domains.into_iter().collect())
    }

    fn letters(mut number: usize) -> String {
        let mut letters = String::new();
        loop {
            letters.insert(0, char::from(b'A' + (number % 26) as u8));
            if number < 26 {
                return letters;
            }
            number = number / 26 - 1;
        }
    }

    fn label(&self, vcpu: VcpuName) -> String {
        match self.0.iter().position(|(id, _)| *id == vcpu.domain) {
            _ if vcpu.is_idle() => IDLE.to_owned(),
            Some(at) => format!("{}{}", Self::letters(at), vcpu.index),
            None => UNKNOWN.to_owned(),
        }
    }

    fn width(&self) -> usize {
        let vcpus = self.0.iter().flat_map(|(_, vcpus)| vcpus);
        vcpus.map(|v| self.label(*v).len()).max().unwrap_or(1)
    }

    fn legend(&self, explained: Explained<'_>) -> String {
        let mut text = format!("{IDLE} idle, * comes, + is woken");
        for (_, vcpus) in &self.0 {
            for vcpu in vcpus {
                text += &format!(", {} {}", self.label(*vcpu), explained.vcpu(*vcpu));
            }
        }
        folded(&text, View::NARROWEST.into(), INDENT)
    }
}
