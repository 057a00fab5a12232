//! What packets and requests of guests waited for, class by class.

use super::Explained;
use super::shares::{Behind, Shares, percent};
use crate::data::{Chart, Picture, Section};
use crate::tables;
use domio_answer::{Cell, Holds, Table};
use domio_core::{Acts, Class, DomainId, Hold, Place};
use domio_meter::{ItemQueue, ItemWaits, Side, capitalised};
use std::collections::BTreeMap;

impl<'a> Explained<'a> {
    /// Classes whose items took time, by name.
    pub fn classes(&self) -> Vec<&'static Class> {
        let took_time = self.explanation.items.iter().filter(|i| i.total() > 0);
        let mut classes: Vec<&'static Class> = took_time.map(|items| items.class).collect();
        classes.sort_by_key(|class| class.name);
        classes.dedup_by_key(|class| class.name);
        classes
    }

    /// Guests with items of `class` that took time, by id; where there are several devices, by the
    /// device too.
    pub fn guests(&self, class: &'static Class) -> impl Iterator<Item = (String, &'a ItemWaits)> {
        let explanation = self.explanation;
        let of_class = explanation
            .items
            .iter()
            .filter(move |items| items.class.name == class.name && items.total() > 0);
        let mut devices = of_class.clone().map(|items| items.device);
        let first = devices.next();
        let several = devices.any(|device| Some(device) != first);
        of_class.map(move |items| {
            let domain = self.domain(items.domain);
            match items.device {
                Some(device) if several => (format!("{domain}, {} {device}", class.name), items),
                _ => (domain, items),
            }
        })
    }

    /// Where the time of each guest's items went, in percent of it. Time of a rate limit and
    /// unknown time are parts only where there is some.
    pub fn queues(&self, class: &'static Class) -> Shares {
        let found = |queue| {
            let mut guests = self.guests(class);
            guests.any(|(_, items)| items.queues().contains_key(&queue))
        };
        let shown = |queue: &ItemQueue| {
            let always = !matches!(queue, ItemQueue::Limit | ItemQueue::Unknown);
            (always && !queue.holds_back()) || found(*queue)
        };
        let queues: Vec<ItemQueue> = ItemQueue::all(class).into_iter().filter(shown).collect();
        let row = |(name, items): (String, &ItemWaits)| {
            let times = items.queues();
            let time = |queue: &ItemQueue| times.get(queue).copied().unwrap_or(0);
            let part = |queue| percent(time(queue), items.total());
            (name, queues.iter().map(part).collect())
        };
        Shares {
            parts: queues.iter().map(|q| q.name(class).to_owned()).collect(),
            rows: self.guests(class).map(row).collect(),
        }
    }

    /// Behind whom each guest's items were in run queues, the guest's and the driver domain's, in
    /// percent of their time.
    pub fn items_behind(&self, class: &'static Class) -> Shares {
        self.items_by_whom(class, ItemWaits::behind)
    }

    /// Beside whose items each guest's were in the queue of the driver domain that holds back, and
    /// in the device behind that queue, in percent of their time. Nobody's: the device had nothing
    /// to do.
    pub fn items_beside(&self, class: &'static Class) -> Shares {
        self.items_by_whom(class, ItemWaits::beside)
    }

    /// Whose items were ahead of each guest's behind a thread of the driver domain, and in the
    /// memory where that thread stands still, in percent of their time.
    pub fn items_ahead(&self, class: &'static Class) -> Shares {
        self.items_by_whom(class, ItemWaits::ahead)
    }

    /// `times` of each guest's items, by whom, in percent of all their time.
    fn items_by_whom(
        &self,
        class: &'static Class,
        times: impl Fn(&ItemWaits) -> BTreeMap<Option<DomainId>, u64>,
    ) -> Shares {
        let row = |(name, items): (String, &ItemWaits)| Behind {
            name,
            times: times(items),
            whole: items.total(),
        };
        let rows = self.guests(class).map(row).collect();
        Shares::behind(rows, |id| self.domain(id))
    }

    /// Where items have others ahead of them ([`Explained::items_ahead`]).
    pub fn where_ahead(class: &'static Class) -> String {
        let name = |holds| ItemQueue::Place(Acts::Driver, holds).name(class);
        let [thread, memory] = [Hold::Thread, Hold::Memory].map(name);
        format!("behind the {thread} and in the {memory}")
    }

    /// What each guest's items waited for most, one sentence each.
    pub fn item_verdicts(&self, class: &'static Class) -> Vec<String> {
        let guests = self.guests(class);
        guests
            .map(|guest| self.item_verdict(class, &guest))
            .collect()
    }

    /// The same of one guest, with what to try.
    fn item_verdict(&self, class: &'static Class, (name, items): &(String, &ItemWaits)) -> String {
        let noun = capitalised(class.items);
        // Behind a queue that holds back, the device's time is its own.
        let own_device = class.places.iter().any(Place::is_before_device);
        match items.largest_wait() {
            Some((queue, time)) => {
                let part = percent(time, items.total());
                let place = match queue {
                    ItemQueue::RunQueue(Side::Guest) => {
                        "for their guest in the run queue".to_owned()
                    }
                    ItemQueue::RunQueue(Side::Driver) => {
                        "for the driver domain in the run queue".to_owned()
                    }
                    ItemQueue::Scan => "for the event-channel scan of the driver domain".to_owned(),
                    ItemQueue::Place(_, Hold::Thread) => {
                        format!("behind the {}", queue.name(class))
                    }
                    ItemQueue::DEVICE if !own_device => format!(
                        "in the {}, for a driver domain that runs or sleeps",
                        queue.name(class)
                    ),
                    ItemQueue::Place(..) => format!("in the {}", queue.name(class)),
                    ItemQueue::Limit => "for their rate limit".to_owned(),
                    _ => "in a ring, for a driver domain that runs or sleeps".to_owned(),
                };
                let cure = queue.cure();
                let cure = cure.map_or(String::new(), |cure| format!(" Try: {cure}."));
                format!("{noun} of {name} waited most {place}: {part:.1} % of their time.{cure}")
            }
            None => format!("{noun} of {name} did not wait."),
        }
    }

    /// Mean time of a guest's item on its way, in milliseconds; `None` when none began its way.
    pub fn mean_ms(items: &ItemWaits) -> Option<f64> {
        (items.begun > 0).then(|| items.total() as f64 / items.begun as f64 / 1e6)
    }

    /// A section for each class.
    pub(super) fn item_sections(&self) -> Vec<Section> {
        let section = |class: &'static Class| {
            let whole = format!("time of the {}", class.items);
            let title = capitalised(class.items);
            let mut figures = vec![
                Picture::new(
                    format!("{title} of each guest"),
                    Chart::Table(self.counts(class)),
                ),
                self.queues(class)
                    .picture(&format!("{title}, by what they waited for"), &whole),
            ];
            let behind = "in run queues, by the domain that ran meanwhile".to_owned();
            let beside =
                "in the driver domain's queue and the device, by whose were in the device \
                          meanwhile"
                    .to_owned();
            let ahead = format!("{}, by whose were ahead", Self::where_ahead(class));
            let parts = [
                (behind, self.items_behind(class)),
                (beside, self.items_beside(class)),
                (ahead, self.items_ahead(class)),
            ];
            for (what, shares) in parts.into_iter().filter(|(_, s)| !s.parts.is_empty()) {
                figures.push(shares.picture(&format!("{title} {what}"), &whole));
            }
            Section {
                title: format!("Where {} wait", class.items),
                text: self.item_verdicts(class).join(" "),
                figures,
            }
        };
        self.classes().into_iter().map(section).collect()
    }

    /// What the items of the first guest waited for most; the others
    /// have their rows in [`Explained::items_overview`].
    pub fn worst_items(&self, class: &'static Class) -> Option<String> {
        let longest = self.longest_items(class).into_iter().next();
        longest.map(|guest| self.item_verdict(class, &guest))
    }

    /// The guests by the mean time of an item, the longest first; those that always compute last.
    fn longest_items(&self, class: &'static Class) -> Vec<(String, &'a ItemWaits)> {
        let mut guests: Vec<(String, &ItemWaits)> = self.guests(class).collect();
        let mean = |items: &ItemWaits| Self::mean_ms(items).unwrap_or(0.0);
        guests.sort_by(|(_, a), (_, b)| {
            let felt = self.is_felt(b.domain).cmp(&self.is_felt(a.domain));
            felt.then(mean(b).total_cmp(&mean(a)))
        });
        guests
    }

    /// The first `rows` guests by the mean time of an item, those that always compute last, with
    /// what the items waited for most.
    pub fn items_overview(&self, class: &'static Class, rows: usize) -> Table {
        let columns = [
            tables::name("guest"),
            tables::number(class.items, "").of(Holds::Whole),
            tables::number("time of one", "ms"),
            tables::name("mostly waited for"),
        ];
        let mut table = Table::new("", columns);
        for (name, items) in self.longest_items(class).into_iter().take(rows) {
            let most = items
                .largest_wait()
                .map_or("-".to_owned(), |(queue, time)| {
                    let part = percent(time, items.total());
                    format!("{} {part:.0} %", queue.name(class))
                });
            let mean = Self::mean_ms(items).into();
            table.row([name.into(), items.begun.into(), mean, Cell::text(most)]);
        }
        table
    }

    /// How many items there were, and the time of one.
    fn counts(&self, class: &'static Class) -> Table {
        let count = |title| tables::number(title, "").of(Holds::Whole);
        let columns = [
            tables::name("guest"),
            count(class.items),
            count("under way at the end"),
            tables::number("time of one", "ms"),
        ];
        let mut table = Table::new("", columns);
        for (name, items) in self.guests(class) {
            let counts = [items.begun, items.under_way].map(Cell::from);
            let mean = Self::mean_ms(items).into();
            table.row([name.into()].into_iter().chain(counts).chain([mean]));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{NETWORK, explanation, names};
    use super::*;
    use domio_core::{DomainId, Place};
    use domio_meter::Cause;

    #[test]
    fn parts_are_percent_of_the_time_of_items() {
        let (explanation, names) = (explanation(), names());
        let explained = Explained::new(&explanation, &names);
        assert_eq!(explained.classes().len(), 1, "idle items are none");
        let shares = explained.queues(&NETWORK);
        assert_eq!(shares.parts.len(), 7, "nothing is unknown");
        assert_eq!(
            shares.rows,
            [("web".to_owned(), vec![0.0, 30.0, 60.0, 0.0, 0.0, 10.0, 0.0])]
        );
        let behind = explained.items_behind(&NETWORK);
        assert_eq!(behind.parts, ["dom2"]);
        assert_eq!(behind.rows[0].1, [30.0]);
        let verdicts = explained.item_verdicts(&NETWORK);
        assert_eq!(
            verdicts,
            [
                "Packets of web waited most for the event-channel scan of the driver domain: \
                 60.0 % of their time. Try: a kernel that scans on from where it stopped."
            ],
            "none for a guest without packets"
        );
    }

    /// Requests of files that a thread takes one by one.
    static FILES: Class = Class::new("disk", &[]).with_places(
        "requests",
        &[
            Place::new("loop thread", Acts::Driver, Hold::Thread),
            Place::new("page cache", Acts::Driver, Hold::Memory),
        ],
    );

    #[test]
    fn who_is_ahead_behind_a_thread_is_told() {
        let (mut explanation, names) = (explanation(), names());
        let thread = |domain| Cause::Thread(Some(DomainId(domain)));
        explanation.items[0].class = &FILES;
        explanation.items[0].times = [
            ((0, thread(1)), 50),
            ((0, thread(2)), 20),
            ((1, thread(2)), 20),
            ((1, Cause::Thread(None)), 10),
        ]
        .into();
        let explained = Explained::new(&explanation, &names);
        let ahead = explained.items_ahead(&FILES);
        assert_eq!(ahead.parts, ["web", "dom2", "nobody"]);
        assert_eq!(ahead.rows[0].1, [50.0, 40.0, 10.0]);
        let queues = explained.queues(&FILES);
        let part = |name: &str| {
            let at = queues.parts.iter().position(|part| part == name);
            queues.rows[0].1[at.expect("a part")]
        };
        assert_eq!([part("loop thread"), part("page cache")], [70.0, 30.0]);
        let place = "behind the loop thread and in the page cache";
        assert_eq!(Explained::where_ahead(&FILES), place);
        assert_eq!(
            explained.item_verdicts(&FILES),
            ["Requests of web waited most behind the loop thread: 70.0 % of their time."]
        );
        let sections = explained.item_sections();
        let captions = sections[0].figures.iter().map(|figure| &figure.caption);
        assert_eq!(captions.filter(|text| text.contains(place)).count(), 1);
    }

    #[test]
    fn a_rate_limit_is_a_part_where_there_is_one() {
        let (mut explanation, names) = (explanation(), names());
        let ring = 1;
        explanation.items[0]
            .times
            .insert((ring, Cause::Limit), 100_000_000);
        let explained = Explained::new(&explanation, &names);
        let shares = explained.queues(&NETWORK);
        let part = shares.parts.iter().position(|p| p == "rate limit");
        assert_eq!(shares.rows[0].1[part.expect("a part")], 50.0);
        assert_eq!(
            explained.item_verdicts(&NETWORK),
            [
                "Packets of web waited most for their rate limit: 50.0 % of their time. Try: a \
                 higher `rate`."
            ]
        );
    }
}
