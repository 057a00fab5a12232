//! The tables of `paper.toml`, `machine.toml` and `cells.toml`.

use domio_core::keys::{
    Key, KeyKind, KeySection, Keys, Need, Nested, TOP_LEVEL, WordOf, any, any_table, by_name,
    figure, flag, int, nested, nested_list, text, texts, word,
};

pub static PAPER: KeySection = KeySection::plain(TOP_LEVEL, "A paper.", PaperKeys::KEYS);

// What is for readers alone has no field.
keys! {
    pub struct PaperKeys {
        id: String = text(), Need::Required,
            "First word of the names of its experiments and of the ids of its claims.";
        title: String = text(), Need::Required, "Its title.";
        "authors" = texts(), Need::Optional("none"), "Who wrote it.";
        "venue" = text(), Need::Optional("none"), "Where it was published, and when.";
        "url" = text(), Need::Optional("none"), "Where it can be read.";
    }
}

pub static MACHINE: KeySection =
    KeySection::plain(TOP_LEVEL, "The machine of a paper.", MachineKeys::KEYS);

keys! {
    pub struct MachineKeys {
        scenario: String = any_table(), Need::Optional("nothing"),
            "Keys of a scenario: the host, its network, the domains that are always there.";
        workload: String = any_table(), Need::Optional("nothing"),
            "Keys that every task with a workload has, by the word of the workload.";
        unknown: Nested = nested_list(&UNKNOWN), Need::Optional("none"),
            "What the paper does not say.";
        calibration: Vec<String> = texts(), Need::Optional("none"),
            "Ids of the claims on which the best machine is chosen.";
    }
}

pub static UNKNOWN: KeySection = KeySection::plain(
    "[[unknown]]",
    "A figure that the paper does not say.",
    UnknownKeys::KEYS,
);

keys! {
    pub struct UnknownKeys {
        name: String = text(), Need::Required, "Name for people.";
        keys: Vec<String> = texts(), Need::Optional("those of the choices"),
            "Keys that take its value: paths in the scenario, or `workload.WORD.KEY`; after \
             `test.NAME.` or `configuration.NAME.` in the cells of that one alone.";
        in_proportion: Vec<String> = texts(), Need::Optional("none"),
            "Keys that grow and shrink with it, in the cells that have them.";
        central: String = any(), Need::Required,
            "The value of the central machine; a range's is in the unit of the keys.";
        from: String = figure(), Need::Optional("the choices"), "Least value.";
        to: String = figure(), Need::Optional("the choices"), "Largest value.";
        log: "scale" bool = word(&SCALES), Need::Word("linear"), "How values are drawn.";
        choices: String = any(), Need::Optional("the range"), "The values that there are.";
        source: String = text(), Need::Required, "Where range and central value come from.";
    }
}

static SCALES: [WordOf<bool>; 2] = [
    WordOf::new("linear", false, "Each value is equally likely."),
    WordOf::new("log", true, "Each order of magnitude is equally likely."),
];

pub static CELLS: KeySection =
    KeySection::plain(TOP_LEVEL, "The experiments of a paper.", CellsKeys::KEYS);

keys! {
    pub struct CellsKeys {
        suite: Nested = nested_list(&SUITE), Need::Optional("none"), "Tests and configurations.";
    }
}

pub static SUITE: KeySection = KeySection::plain(
    "[[suite]]",
    "Tests and configurations, each of which meets each, on one base.",
    SuiteKeys::KEYS,
);

keys! {
    pub struct SuiteKeys {
        name: String = text(), Need::Required, "Name for people and messages.";
        shipped: String = text(), Need::Optional("the machine"),
            "Name of a shipped scenario to start from.";
        alone: bool = flag(), Need::Optional("the machine"), "Start from nothing.";
        scenario: String = any_table(), Need::Optional("nothing"), "What is put on top of that.";
        patience_s: String = figure(), Need::Optional("0"),
            "How long after the measured time replies are waited for, in seconds.";
        times: Nested = by_name(&TIMES_OF), Need::Required, "How long tests are, by name.";
        guests: Nested = nested(&GUESTS), Need::Optional("no guests"),
            "What guests have in common.";
        role: Nested = by_name(&ROLE_OF), Need::Optional("none"), "What a guest may do, by name.";
        figure: Nested = nested_list(&FIGURE), Need::Optional("none"), "What is measured.";
        test: Nested = nested_list(&TEST), Need::Required, "What is done.";
        configuration: Nested = nested_list(&CONFIGURATION), Need::Required, "How it is done.";
        together: Nested = nested(&TOGETHER), Need::Optional("an experiment a cell"),
            "One experiment simulates all configurations of a test.";
        every_ms: u64 = int(1, i64::MAX), Need::Optional("no figures over time"),
            "Length of the intervals of figures over time.";
    }
}

static TIMES_OF: Key = Key::new("NAME", KeyKind::Section(&TIMES), Need::Required, "Times.");
static ROLE_OF: Key = Key::new("NAME", KeyKind::Section(&ROLE), Need::Required, "A role.");
static NAME_OF: Key = Key::new("NAME", KeyKind::Text, Need::Required, "Name of the figure.");

pub static TIMES: KeySection = KeySection::plain(
    "[suite.times.NAME]",
    "How long a test is, and how often it is repeated at first.",
    TimesKeys::KEYS,
);

keys! {
    pub struct TimesKeys {
        warmup_s: String = any(), Need::Required,
            "Seconds before the measured time: a number, or one by effort.";
        measured_s: String = any(), Need::Required,
            "Seconds that are measured: a number, or one by effort.";
        replications: u32 = int(1, u32::MAX as i64), Need::Required,
            "Replications at full effort after which checks are looked at first.";
    }
}

pub static BY_EFFORT: KeySection =
    KeySection::plain("by effort", "A time by effort.", ByEffortKeys::KEYS);

keys! {
    pub struct ByEffortKeys {
        quick: String = figure(), Need::Required, "Seconds at quick effort.";
        normal: String = figure(), Need::Required, "Seconds at normal effort.";
        full: String = figure(), Need::Required, "Seconds at full effort.";
    }
}

pub static GUESTS: KeySection = KeySection::plain(
    "[suite.guests]",
    "Domains with a common name and numbers from 1.",
    GuestsKeys::KEYS,
);

keys! {
    pub struct GuestsKeys {
        name: String = text(), Need::Required, "What comes before the number.";
        domain: String = any_table(), Need::Optional("nothing"), "Keys of each one's domain.";
        vary: Nested = nested_list(&VARY), Need::Optional("nothing"),
            "What replications draw of each.";
    }
}

pub static ROLE: KeySection =
    KeySection::plain("[suite.role.NAME]", "What a guest does.", RoleKeys::KEYS);

keys! {
    pub struct RoleKeys {
        groups: Vec<String> = texts(), Need::Optional("none"), "Groups that figures name.";
        domain: String = any_table(), Need::Optional("nothing"), "Keys of its domain.";
        vary: Nested = nested_list(&VARY), Need::Optional("nothing"),
            "What replications draw of it.";
    }
}

pub static VARY: KeySection = KeySection::plain(
    "vary",
    "What replications draw of a guest; `{name}` stands for its name.",
    VaryKeys::KEYS,
);

keys! {
    pub struct VaryKeys {
        key: String = text(), Need::Required, "Key of the domain, without its unit.";
        from_ms: String = figure(), Need::Required, "Shortest, of the first guest.";
        to_ms: String = figure(), Need::Required, "Longest, of the first guest.";
        later_ms: String = figure(), Need::Optional("0"),
            "How much later both are with each guest after the first.";
        stream: String = text(), Need::Required, "Name of the random stream.";
    }
}

pub static FIGURE: KeySection = KeySection::plain(
    "[[suite.figure]]",
    "What is measured, of which domains.",
    MeasureKeys::KEYS,
);

keys! {
    pub struct MeasureKeys {
        measure: String = text(), Need::Required, "What is measured.";
        group: String = text(), Need::Optional("all domains"), "Of the domains of a group.";
        domain: String = text(), Need::Optional("all domains"), "Of the domain of that name.";
        key: String = text(), Need::Optional("none"), "The key of `[[vary]]`, for `drawn_ms`.";
        name: String = text(), Need::Optional("`{domain}.MEASURE`, unless `over` is there"),
            "Name of the figure of each domain, with `{domain}`.";
        over: Nested = by_name(&NAME_OF), Need::Optional("none"),
            "Names of figures over all of these domains, by what they are: `average`, `p95`.";
        first: Nested = nested(&FIRST), Need::Optional("none"), "A list of the first values.";
        over_time: String = text(), Need::Optional("none"),
            "Name of a list of the measure in each of the suite's intervals, with `{domain}`.";
        send_weight: String = figure(), Need::Optional("1"),
            "How much more a sent packet costs than a received one, for measures of charges.";
    }
}

pub static FIRST: KeySection =
    KeySection::plain("first", "A list of the first values.", FirstKeys::KEYS);

keys! {
    pub struct FirstKeys {
        name: String = text(), Need::Required, "Name of the list.";
        count: usize = int(1, i64::MAX), Need::Required, "How many.";
    }
}

pub static TEST: KeySection = KeySection::plain("[[suite.test]]", "A test.", TestKeys::KEYS);

keys! {
    pub struct TestKeys {
        name: String = text(), Need::Required, "Second word of its experiments' names.";
        title: String = text(), Need::Required, "In the paper's words.";
        times: String = text(), Need::Required, "Name of its times.";
        guests: Vec<String> = texts(), Need::Optional("the configuration's"),
            "The roles of the guests, in the order in which they are started.";
        configurations: Vec<String> = texts(), Need::Optional("all"),
            "The configurations that the test meets.";
        scenario: String = any_table(), Need::Optional("nothing"),
            "What is put on top of the suite's scenario.";
    }
}

pub static CONFIGURATION: KeySection = KeySection::plain(
    "[[suite.configuration]]",
    "A configuration.",
    ConfigurationKeys::KEYS,
);

keys! {
    pub struct ConfigurationKeys {
        name: String = text(), Need::Required, "Last word of its experiments' names.";
        guests: Vec<String> = texts(), Need::Optional("the test's"),
            "The roles of the guests, before those of the test.";
        scenario: String = any_table(), Need::Optional("nothing"),
            "What is put on top of the test's scenario.";
    }
}

pub static TOGETHER: KeySection = KeySection::plain(
    "[suite.together]",
    "One experiment of all configurations of a test.",
    TogetherKeys::KEYS,
);

keys! {
    pub struct TogetherKeys {
        name: String = text(), Need::Required, "Last word of the experiment's name.";
        line: Nested = nested(&LINE), Need::Optional("none"), "How far a figure is off a line.";
    }
}

pub static LINE: KeySection = KeySection::plain(
    "line",
    "A line through the first configuration.",
    LineKeys::KEYS,
);

keys! {
    pub struct LineKeys {
        figure: String = text(), Need::Required, "The figure.";
        off_pct: String = text(), Need::Required,
            "Name of the largest distance from the line, in percent of it.";
    }
}
