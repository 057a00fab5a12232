//! `[[vary]]`: what differs from replication to replication.

use super::Need::Required;
use super::{Kind, Section, key, plain};

pub(crate) static VARY: Section = plain(
    "[[vary]]",
    "A time that is drawn anew for each replication, every length between two equally likely: when \
     a guest was created, a monitor was started, another host was booted. The stream has a name: \
     scenarios whose streams have the same names draw the same. A key that `--set` changes is \
     not drawn.",
    &[
        key(
            "key",
            Kind::Text,
            Required,
            "What is drawn: a path as `--set` takes it, without the unit, as \
             `domain.guest1.start`.",
        ),
        key(
            "from",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Required,
            "Shortest.",
        ),
        key(
            "to",
            Kind::Time {
                unit: "ms",
                min_ns: 0,
            },
            Required,
            "Longest; not below `from`.",
        ),
        key(
            "stream",
            Kind::Text,
            Required,
            "Name of the random stream, which gives one value.",
        ),
    ],
);
