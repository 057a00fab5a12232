//! Rows come back from their bytes, add up as maps would, and their JSON is as their schema says.

use domio_answer::column::{self, key};
use domio_answer::{
    Answered, Cell, Column, Holds, Inner, Maybe, RowType, Table, Tone, decode, encode, file, rows,
    texts,
};
use domio_core::{DomainId, VcpuName};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Why {
    Cap,
    Boost,
}

texts! {
    Why: |why| match why { Why::Cap => "cap", Why::Boost => "boost" }.into(),
        |text, _| match text { "cap" => Some(Why::Cap), "boost" => Some(Why::Boost), _ => None };
}

type Times = BTreeMap<(Option<VcpuName>, Why), u64>;

rows! {
    /// A vcpu.
    #[derive(Clone, PartialEq, Debug)]
    struct Vcpu {
        /// Which.
        name: VcpuName = key("");
        /// It ran.
        running: u64 = sum("running_ns", "ns");
        /// The longest wait.
        longest: u64 = max("longest_ns", "ns");
        /// Where, if that is told.
        place: Option<String> = fact("place");
        /// Behind whom, and why.
        times: Times = parts("times", [key("behind"), key("cause"), column::sum("ns", "ns")]);
    }

    /// One wait.
    #[derive(Clone, PartialEq, Debug)]
    struct Wait {
        /// How long.
        length: u64 = sum("ns", "ns");
        /// Of which run.
        run: u32 = fact("run");
    }

    /// The whole.
    #[derive(Clone, PartialEq, Debug)]
    struct Whole {
        /// Runs that are added up.
        runs: u32 = count("runs");
        /// Whether all tell.
        told: bool = all("told");
        /// By name.
        vcpus: Vec<Vcpu> = parts("vcpus", []);
        /// The longest.
        worst: Vec<Wait> = largest("worst", "ns", 3);
        /// One of them.
        first: Maybe<Wait> = fact("first");
        /// Of every run.
        pcpus: Vec<u16> = parts("pcpus", [key("pcpu")]);
        /// The last.
        last: Inner<Wait> = fact("last");
        /// Ends of a range.
        ends: Option<[u64; 2]> = fact("ends");
        /// How many of each sort.
        sorts: Vec<(String, u64)> = by_name("sorts", count("count"));
    }
}

prop_compose! {
    fn vcpu()(domain in 0..3_u16, index in 0..2_u16, running in 0..100_u64, longest in 0..9_u64,
        place in prop::option::of("[a-c]"),
        times in prop::collection::btree_map(
            (prop::option::of(0..3_u16), prop::bool::ANY), 0..50_u64, 0..5)) -> Vcpu
    {
        let part = |((whom, cap), ns): ((Option<u16>, bool), u64)| {
            let why = if cap { Why::Cap } else { Why::Boost };
            ((whom.map(|id| VcpuName::new(DomainId(id), 0)), why), ns)
        };
        Vcpu {
            name: VcpuName::new(DomainId(domain), index),
            running,
            longest,
            place,
            times: times.into_iter().map(part).collect(),
        }
    }
}

prop_compose! {
    fn whole()(vcpus in prop::collection::vec(vcpu(), 0..5),
        lengths in prop::collection::vec(0..20_u64, 0..6), told in prop::bool::ANY,
        pcpus in prop::collection::btree_set(0..5_u16, 0..4), ends in prop::option::of(0..9_u64),
        sorts in prop::collection::btree_map("[a-c]", 0..9_u64, 0..3)) -> Whole
    {
        let mut by_name: Vec<Vcpu> = vcpus;
        by_name.sort_by_key(|v| v.name);
        by_name.dedup_by_key(|v| v.name);
        let wait = |length| Wait { length, run: 0 };
        let mut worst: Vec<Wait> = lengths.iter().copied().map(wait).collect();
        worst.sort_by_key(|w| u64::MAX - w.length);
        worst.truncate(3);
        Whole {
            runs: 1,
            told,
            vcpus: by_name,
            first: Maybe(worst.first().cloned()),
            worst,
            pcpus: pcpus.into_iter().collect(),
            last: Inner(wait(7)),
            ends: ends.map(|end| [end, end + 1]),
            sorts: sorts.into_iter().collect(),
        }
    }
}

/// What is wrong with `json` under `schema`, as far as generated schemas go.
fn wrong(schema: &Json, json: &Json) -> Option<String> {
    let any = schema.get("anyOf").or(schema.get("allOf"));
    if let Some(all) = any.and_then(Json::as_array) {
        let fits = all.iter().any(|one| wrong(one, json).is_none());
        return (!fits).then(|| format!("{json} is none of {all:?}"));
    }
    if let Some(one) = schema.get("const") {
        return (one != json).then(|| format!("{json} is not {one}"));
    }
    let types = match &schema["type"] {
        Json::Array(types) => types.clone(),
        one => vec![one.clone()],
    };
    let is = |name: &Json| match name.as_str().unwrap() {
        "null" => json.is_null(),
        "integer" => json.is_i64() || json.is_u64(),
        "number" => json.is_number(),
        "string" => json.is_string(),
        "boolean" => json.is_boolean(),
        "array" => json.is_array(),
        "object" => json.is_object(),
        other => panic!("{other}"),
    };
    if !types.iter().any(is) {
        return Some(format!("{json} is no {types:?}"));
    }
    match json {
        Json::Array(items) => items.iter().find_map(|item| wrong(&schema["items"], item)),
        Json::Object(entries) if schema["additionalProperties"].is_object() => entries
            .values()
            .find_map(|value| wrong(&schema["additionalProperties"], value)),
        Json::Object(entries) => {
            let required = schema["required"].as_array().unwrap().iter();
            let missing = required
                .map(|k| k.as_str().unwrap())
                .find(|k| json.get(k).is_none());
            if let Some(key) = missing {
                return Some(format!("{key} is missing in {json}"));
            }
            entries
                .iter()
                .find_map(|(key, value)| match schema["properties"].get(key) {
                    Some(schema) => wrong(schema, value),
                    None => Some(format!("{key} is not declared")),
                })
        }
        _ => None,
    }
}

fn answer(whole: &Whole) -> Answered {
    Answered::of("whole", 2, "All of it.", whole)
}

proptest! {
    #[test]
    fn rows_come_back_from_their_bytes(whole in whole()) {
        let bytes = encode(&whole);
        prop_assert_eq!(decode::<Whole>(&bytes, &[]), Some(whole.clone()));
        prop_assert_eq!(decode::<Wait>(&bytes, &[]), None);
        for end in [0, bytes.len() / 2, bytes.len() - 1] {
            prop_assert_eq!(decode::<Whole>(&bytes[..end], &[]), None);
        }
    }

    #[test]
    fn runs_add_up_by_their_keys(a in whole(), b in whole()) {
        let mut sum = a.clone();
        sum.merge(&b);
        prop_assert_eq!((sum.runs, sum.told), (2, a.told && b.told));
        prop_assert!(sum.vcpus.is_sorted_by_key(|v| v.name));
        for part in [&a, &b] {
            for vcpu in &part.vcpus {
                prop_assert!(sum.vcpus.iter().any(|v| v.name == vcpu.name));
            }
        }
        for vcpu in &sum.vcpus {
            let parts: Vec<&Vcpu> = [&a, &b]
                .into_iter()
                .filter_map(|part| part.vcpus.iter().find(|v| v.name == vcpu.name))
                .collect();
            prop_assert_eq!(vcpu.running, parts.iter().map(|v| v.running).sum::<u64>());
            prop_assert_eq!(Some(vcpu.longest), parts.iter().map(|v| v.longest).max());
            let mut times = Times::new();
            for (part, ns) in parts.iter().flat_map(|v| &v.times) {
                *times.entry(*part).or_default() += ns;
            }
            prop_assert_eq!(&vcpu.times, &times);
        }
        let mut lengths: Vec<u64> = a.worst.iter().chain(&b.worst).map(|w| w.length).collect();
        lengths.sort_by_key(|length| u64::MAX - length);
        lengths.truncate(3);
        prop_assert_eq!(sum.worst.iter().map(|w| w.length).collect::<Vec<_>>(), lengths);
        let mut pcpus: Vec<u16> = a.pcpus.iter().chain(&b.pcpus).copied().collect();
        pcpus.sort();
        pcpus.dedup();
        prop_assert_eq!(sum.pcpus, pcpus);
    }

    #[test]
    fn json_is_as_the_schema_says(whole in whole()) {
        let answer = answer(&whole);
        let schema = serde_json::to_value(&answer.spec).unwrap();
        let json = serde_json::to_value(&answer).unwrap();
        prop_assert_eq!(wrong(&schema, &json), None);
        prop_assert_eq!(&json["schema"], "domio/whole/2");
        prop_assert_eq!(json["vcpus"].as_array().unwrap().len(), whole.vcpus.len());
    }
}

fn one() -> Whole {
    let name = VcpuName::new(DomainId(1), 0);
    let vcpu = Vcpu {
        name,
        running: 5,
        longest: 2,
        place: None,
        times: Times::from([((None, Why::Cap), 3), ((Some(name), Why::Boost), 4)]),
    };
    Whole {
        runs: 1,
        told: true,
        vcpus: vec![vcpu],
        worst: Vec::new(),
        first: Maybe(None),
        pcpus: vec![0, 1],
        last: Inner(Wait { length: 3, run: 0 }),
        ends: Some([1, 2]),
        sorts: vec![("b".to_owned(), 2), ("a".to_owned(), 1)],
    }
}

#[test]
fn what_nobody_has_is_left_out_and_keys_stay() {
    let json = serde_json::to_value(answer(&one())).unwrap();
    let expected = json!([{
        "domain": 1, "vcpu": 0, "running_ns": 5, "longest_ns": 2,
        "times": [
            {"behind_domain": null, "behind_vcpu": null, "cause": "cap", "ns": 3},
            {"behind_domain": 1, "behind_vcpu": 0, "cause": "boost", "ns": 4},
        ],
    }]);
    assert_eq!(json["vcpus"], expected);
    assert_eq!(
        (&json["first"], &json["findings"]),
        (&Json::Null, &json!([]))
    );
    assert_eq!(
        (&json["last"], &json["ends"]),
        (&json!({"ns": 3, "run": 0}), &json!([1, 2]))
    );
    let text = serde_json::to_string(&answer(&one())).unwrap();
    assert!(text.contains(r#""sorts":{"b":2,"a":1}"#), "{text}");
}

#[test]
fn columns_have_the_meaning_that_their_field_has() {
    let [_, vcpu, running, ..] = Vcpu::spec() else {
        panic!("too few");
    };
    assert_eq!(vcpu.doc, "Which. Its index in the domain.");
    assert_eq!((&*running.title, &*running.doc), ("running", "It ran."));
}

#[test]
fn flat_tables_have_the_keys_of_the_rows_around_them() {
    let tables = answer(&one()).tables();
    let names: Vec<&str> = tables.iter().map(|t| &*t.key).collect();
    assert_eq!(
        names,
        [
            "",
            "vcpus",
            "vcpus.times",
            "worst",
            "first",
            "pcpus",
            "last",
            "ends",
            "sorts"
        ]
    );
    let heads = "domain,vcpu,behind_domain,behind_vcpu,cause,ns";
    let text = file::csv(&tables[2..3]);
    assert_eq!(text, format!("{heads}\n1,0,,,cap,3\n1,0,1,0,boost,4\n"));
    let all = file::csv(&tables);
    assert!(all.starts_with("runs,told\n1,true\n\n# vcpus\n"), "{all}");
}

#[test]
fn a_table_of_any_rows_is_a_column_of_an_answer() {
    let mut table = Table::of("Waits", &[Wait { length: 4, run: 1 }]);
    table.derive(column::share("part_pct"), [Cell::Number(0.5)]);
    let mut answer = answer(&one());
    let (column, cell) = table.nested("shares", "Parts.");
    answer.derive(column, cell);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(
        json["shares"],
        json!([{"ns": 4, "run": 1, "part_pct": 0.5}])
    );
    let schema = serde_json::to_value(&answer.spec).unwrap();
    assert_eq!(wrong(&schema, &json), None);
}

#[test]
#[should_panic(expected = "Text")]
fn a_cell_of_another_sort_is_refused() {
    let name: Column = key("name").of(Holds::Whole);
    Table::new("", [name]).row([Cell::text("web")]);
}

#[test]
fn people_see_the_columns_that_are_theirs_and_have_something() {
    let columns = [
        key("id").of(Holds::Whole).for_programs(),
        key("name").of(Holds::Text),
        column::share("a").optional(),
        column::share("b").optional(),
    ];
    let mut table = Table::new("", columns);
    table.row([1_u64.into(), "web".into(), Cell::None, 5.0.into()]);
    table.set_tone(0, 3, Tone::Bad);
    let keys = |table: &Table| -> Vec<String> {
        table.columns().iter().map(|c| c.key.to_string()).collect()
    };
    assert_eq!(keys(&table.filled()), ["id", "name", "b"]);
    let shown = table.filled().for_people();
    assert_eq!(keys(&shown), ["name", "b"]);
    assert_eq!(shown.rows(), [[Cell::text("web"), Cell::Number(5.0)]]);
    assert_eq!(shown.tone(0, 1), Tone::Bad);
}

#[test]
fn open_rows_may_have_further_columns() {
    let cells = |more: &[Column]| {
        let columns = [&[key("cell").of(Holds::Whole)], more].concat();
        Table::new("", columns).nested("cells", "Cells.").0
    };
    let more = column::fact("weight").of(Holds::Text);
    for (column, is_open) in [(cells(&[]).open(), true), (cells(&[more]), false)] {
        let mut answer = answer(&one());
        answer.derive(column, Cell::Rows(Vec::new()));
        let schema = serde_json::to_value(&answer.spec).unwrap();
        let rows = &schema["properties"]["cells"]["items"];
        assert_eq!(rows["additionalProperties"], is_open);
        assert_eq!(rows["properties"]["cell"]["type"], "integer");
    }
}

rows! {
    /// A key with its value.
    #[derive(Clone, PartialEq, Debug)]
    struct Setting {
        /// Of the key.
        name: String = key("name");
        /// As it is written.
        value: Cell = fact("value");
    }
}

#[test]
fn values_of_any_kind_stay_what_they_are() {
    let setting = |name: &str, value: Cell| Setting {
        name: name.to_owned(),
        value,
    };
    let all = [
        setting("slice", Cell::Whole(5)),
        setting("boost", true.into()),
        setting("version", "4.17".into()),
    ];
    let table = Table::of("", &all);
    assert_eq!(
        serde_json::to_value(&table).unwrap(),
        json!([
            {"name": "slice", "value": 5},
            {"name": "boost", "value": true},
            {"name": "version", "value": "4.17"},
        ])
    );
    assert_eq!(
        file::csv(&[table]),
        "name,value\nslice,5\nboost,true\nversion,4.17\n"
    );
    for one in all {
        assert_eq!(decode::<Setting>(&encode(&one), &[]), Some(one.clone()));
        let answered = Answered::of("setting", 1, "A setting.", &one);
        let schema = serde_json::to_value(&answered.spec).unwrap();
        let json = serde_json::to_value(&answered).unwrap();
        assert_eq!(wrong(&schema, &json), None);
    }
}
