//! An explanation as an answer, for programs: what is kept of it, and what follows from that.

use std::collections::BTreeMap;

use domio_answer::column::{fact, key, parts, sum};
use domio_answer::{Answered, Cell, Column, ColumnKind, FieldType, Holds, RowType, Table, Value};
use domio_core::{DomainId, Instant, VcpuName};

use super::cause::{ItemQueue, ItemWaits};
use super::result::{Explanation, VcpuWaits};
use super::waits::why::Why;
use crate::residence::{HostPlaces, RanWhere};
use crate::work::DriverWork;

/// What the schema says of it.
const DOC: &str = "What `domio explain --json` prints, of a scenario and of a trace: behind whom \
                   vcpus waited, and why, and what packets and requests waited for. Instants count \
                   from the first record, or from the end of the warm-up. `domains` has the names.";

impl Explanation {
    /// The explanation for programs. `name` gives the name of a domain, `thread` that of the thread
    /// that a vcpu stands for, `places` is the host where that is known, and `truncated` says
    /// whether the trace ends too early.
    pub fn answer(
        &self,
        name: impl Fn(DomainId) -> Option<String>,
        thread: impl Fn(VcpuName) -> Option<String>,
        places: Option<&HostPlaces>,
        truncated: bool,
    ) -> Answered {
        let mut answer = Answered::of("explain", 8, DOC, self);
        let truncation = fact("truncated").of(Holds::Flag);
        answer.derive(
            truncation.doc("Whether the file ends too early."),
            truncated,
        );
        let domains = self.domains();
        let mut table = Table::of("", &domains);
        let names = fact("name").of(Holds::Text).optional();
        let of_domain = domains.iter().map(|d| name(d.id).into());
        table.derive(names.doc("Its name, where known."), of_domain);
        let runnable = domains.iter().map(|d| d.runnable().into());
        table.derive(runnable_ns(), runnable);
        let doc = "Sums over the vcpus of each domain, by id.";
        answer.derive_table("domains", doc, table);
        let doc = "Waits of each vcpu, by name; idle vcpus left out.";
        answer.derive_table("vcpus", doc, self.vcpus(thread, places));
        let doc = "Causes for which anybody lost time, the largest first, and what to try.";
        answer.derive_table("causes", doc, self.causes_in_words());
        let doc = "Packets and requests, by domain, class and device.";
        answer.derive_table("items", doc, self.items_by_place());
        let table = DriverWork::table(&self.driver_work);
        let doc = "For whom driver domains worked, by id; of those that worked for others.";
        answer.derive_table("driver_work", doc, table);
        let mut untold = Table::new("", [fact("untold").of(Holds::Text)]);
        self.untold()
            .into_iter()
            .for_each(|said| untold.row([said.into()]));
        answer.derive_table(
            "untold",
            "What the trace does not show, a sentence each.",
            untold,
        );
        let map = answer.spec.columns.iter_mut().find(|c| c.key == "map");
        map.into_iter().for_each(may_idle);
        let start = self.start;
        answer.each_row(&mut |columns, cells| since(columns, cells, start));
        answer
    }

    /// Waits of vcpus, with the parts of them by cause, and where they ran.
    fn vcpus(
        &self,
        thread: impl Fn(VcpuName) -> Option<String>,
        places: Option<&HostPlaces>,
    ) -> Table {
        let vcpus = || self.vcpus.iter();
        let mut table = Table::of("", vcpus());
        let doc = "What the thread of a Linux host is called that the vcpu stands for; null for \
                   vcpus of guests.";
        let names = fact("thread").of(Holds::Text).optional().doc(doc);
        table.derive(names, vcpus().map(|v| thread(v.name).into()));
        table.derive(runnable_ns(), vcpus().map(|v| v.runnable().into()));
        let causes = [key("cause").of(Holds::Text), time().optional()];
        let doc = "Parts of `runnable_ns` by cause, `parked_ns` as the cause `parked`, and \
                   `disk_wait_ns` as the cause `disk`; null for causes that the trace could not \
                   show.";
        let causes = parts("causes", causes).of(Holds::Rows).doc(doc);
        table.derive(causes, vcpus().map(|v| self.causes(v)));
        let ran = vcpus().map(|v| RanWhere::new(v.name, &v.residence, places).cells());
        let ran: Vec<Vec<Cell>> = ran.collect();
        for (at, column) in RanWhere::spec().iter().enumerate() {
            table.derive(column.clone(), ran.iter().map(|cells| cells[at].clone()));
        }
        table
    }

    /// Parts of the runnable time of a vcpu by cause.
    fn causes(&self, vcpu: &VcpuWaits) -> Cell {
        let by_cause: BTreeMap<Why, u64> = vcpu.lost().into_iter().collect();
        let time = |why: Why| {
            by_cause
                .get(&why)
                .copied()
                .or(self.tells.told(why).then_some(0))
        };
        // Causes of other hosts have no rows.
        let all = Why::ALL.into_iter();
        let rows = all.filter(|why| why.is_of(self.tells.policy) || by_cause.contains_key(why));
        Cell::Rows(rows.map(|why| vec![why.cell(), time(why).into()]).collect())
    }

    /// Time that vcpus lost by cause, the largest first.
    pub fn lost(&self) -> Vec<(Why, u64)> {
        let mut sums: BTreeMap<Why, u64> = BTreeMap::new();
        for (why, time) in self.vcpus.iter().flat_map(VcpuWaits::lost) {
            *sums.entry(why).or_default() += time;
        }
        let mut lost: Vec<(Why, u64)> = sums.into_iter().collect();
        lost.sort_by_key(|(why, time)| (u64::MAX - time, *why));
        lost
    }

    /// The causes of that, with their meanings and cures.
    fn causes_in_words(&self) -> Table {
        let text = |name| fact(name).of(Holds::Text);
        let columns = [
            key("cause").of(Holds::Text).doc("Its name in data."),
            text("title").doc("Its name in tables."),
            time(),
            text("meaning").doc("What the name means."),
            text("cure")
                .optional()
                .doc("What to try; null where nothing that is set helps."),
        ];
        let mut table = Table::new("", columns);
        for (why, ns) in self.lost() {
            table.row([
                why.cell(),
                why.name().into(),
                ns.into(),
                why.meaning(self.tells.policy).into(),
                why.cure(self.tells.policy).into(),
            ]);
        }
        table
    }

    /// Items, with the names of places, and their time by queue.
    fn items_by_place(&self) -> Table {
        let items = || self.items.iter();
        let mut columns = ItemWaits::spec().to_vec();
        let waits = columns.pop().expect("it has columns");
        let mut table = Table::new("", columns);
        for items in items() {
            let mut cells = items.cells();
            cells.pop();
            table.row(cells);
        }
        let noun = fact("items")
            .of(Holds::Text)
            .doc("What the items are, as `packets`.");
        table.derive(noun, items().map(|i| i.class.items.into()));
        let total = sum("total_ns", "ns")
            .of(Holds::Whole)
            .doc("Time under way.");
        table.derive(total, items().map(|i| i.total().into()));
        let columns = [key("queue").of(Holds::Text), time()];
        let queues = parts("queues", columns)
            .of(Holds::Rows)
            .doc("Parts of `total_ns` by queue.");
        table.derive(queues, items().map(by_queue));
        let place = key("place").of(Holds::Text).doc("Where.");
        let others = waits.parts.iter().skip(1).cloned();
        let columns: Vec<Column> = [place].into_iter().chain(others).collect();
        let doc = "The parts of `total_ns`, split further.";
        let waits = parts("waits", columns).of(Holds::Rows).doc(doc);
        table.derive(waits, items().map(by_place));
        table
    }
}

fn runnable_ns() -> Column {
    let doc = "Time runnable and not running, behind all vcpus together.";
    sum("runnable_ns", "ns").of(Holds::Whole).doc(doc)
}

fn time() -> Column {
    sum("ns", "ns").of(Holds::Whole).doc("The time.")
}

fn by_queue(items: &ItemWaits) -> Cell {
    let queues = items.queues();
    let time = |queue| queues.get(&queue).copied().unwrap_or(0);
    let shown = |queue: &ItemQueue| !queue.holds_back() || time(*queue) > 0;
    let all = ItemQueue::all(items.class).into_iter().filter(shown);
    let row = |queue: ItemQueue| vec![Cell::text(queue.key()), time(queue).into()];
    Cell::Rows(all.map(row).collect())
}

fn by_place(items: &ItemWaits) -> Cell {
    let row = |((place, cause), ns): (&(usize, super::Cause), &u64)| {
        let place = items.class.places.get(*place);
        let mut cells = vec![Cell::from(place.map_or("", |place| place.name))];
        (*cause, *ns).put(&mut cells);
        cells
    };
    Cell::Rows(items.times.iter().map(row).collect())
}

/// Lets the vcpus of a map be nobody, where a pcpu idles.
fn may_idle(column: &mut Column) {
    let is_vcpu = matches!(&*column.key, "domain" | "vcpu");
    column.optional |= is_vcpu;
    column.parts.iter_mut().for_each(may_idle);
}

/// Instants count from the first that counts, and idle vcpus are nobody.
fn since(columns: &[Column], cells: &mut [Cell], start: Instant) {
    let mut idle = false;
    for (column, cell) in columns.iter().zip(cells) {
        if column.kind == ColumnKind::Moment
            && let Cell::Whole(at) = cell
        {
            *at = at.saturating_sub_unsigned(start.as_nanos()).max(0);
        }
        if column.key.ends_with("domain") {
            idle = *cell == DomainId::IDLE.cell();
        }
        if idle
            && matches!(
                &*column.key,
                "domain" | "vcpu" | "left_domain" | "left_vcpu" | "left_to"
            )
        {
            *cell = Cell::None;
        }
    }
}
