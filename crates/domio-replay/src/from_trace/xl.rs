//! What `xl` prints of a host: `xl sched-credit`, `xl sched-credit2`, `xl vcpu-list`, `xl list` and
//! the JSON of `xl list -l`.
//!
//! Columns that are not known are skipped, and so are domains that no JSON describes in full. What
//! is there and cannot be right is refused, with its line.

use serde_json::Value;
use std::collections::BTreeMap;

/// Lines that are shown of a text that is not what it should be, in characters.
const SHOWN: usize = 60;

/// Largest domid of a domain.
const DOMID_MAX: u16 = 32_751;

/// Why a text is not what `xl` prints.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: \"{found}\"; expected {expected}")]
pub struct XlError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is there.
    pub found: String,
    /// What should be.
    pub expected: &'static str,
}

impl XlError {
    fn new(line: usize, found: &str, expected: &'static str) -> Self {
        let mut shown: String = found.trim().chars().take(SHOWN).collect();
        if shown.len() < found.trim().len() {
            shown.push_str("...");
        }
        XlError {
            line,
            found: shown.escape_debug().to_string(),
            expected,
        }
    }
}

/// Settings of the scheduler, as `xl sched-credit` or `xl sched-credit2` prints them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SchedText {
    /// Name of the policy, where the text tells.
    pub policy: Option<&'static str>,
    /// Parameters of the policy by domio's names.
    pub params: BTreeMap<&'static str, i64>,
    /// By domid.
    pub domains: BTreeMap<u16, SchedDomain>,
}

/// Settings of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchedDomain {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: i64,
    /// Its cap in percent of one pcpu; 0 for none.
    pub cap: i64,
}

/// A domain as `xl list -l`, `xl list` or `xl vcpu-list` shows it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListedDomain {
    /// Its name.
    pub name: Option<String>,
    /// Number of its vcpus.
    pub vcpus: Option<u16>,
    /// Weight and cap, where they are told.
    pub weight: Option<i64>,
    /// See `weight`.
    pub cap: Option<i64>,
    /// Hard affinity by vcpu: pcpus that ascend; none for all.
    pub hard: BTreeMap<u16, Vec<u16>>,
}

/// Reads the output of `xl sched-credit` or `xl sched-credit2`.
///
/// # Errors
/// The first line that cannot be right.
pub fn sched_text(text: &str) -> Result<SchedText, XlError> {
    let mut sched = SchedText::default();
    let mut columns: Option<Vec<String>> = None;
    let mut last = 1;
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        last = number;
        match words.first() {
            None => {}
            Some(&"Cpupool") => pool(&mut sched, number, line)?,
            Some(&"Name") => {
                let heads = words.iter().map(|w| w.to_ascii_lowercase());
                let heads: Vec<String> = heads.collect();
                if !heads.contains(&"weight".to_owned()) {
                    return Err(XlError::new(
                        number,
                        line,
                        "the columns Name, ID, Weight and Cap of `xl sched-credit` or `xl \
                         sched-credit2`",
                    ));
                }
                columns = Some(heads);
            }
            Some(_) => match &columns {
                None => {
                    return Err(XlError::new(
                        number,
                        line,
                        "a line \"Name ID Weight Cap\" before the domains, as `xl sched-credit` \
                         prints it",
                    ));
                }
                Some(heads) => {
                    let (id, domain) = sched_domain(heads, number, line, &words)?;
                    sched.domains.insert(id, domain);
                }
            },
        }
    }
    match columns {
        Some(_) => Ok(sched),
        None => Err(XlError::new(
            last,
            text.lines().next_back().unwrap_or_default(),
            "the output of `xl sched-credit` or `xl sched-credit2`: a line \"Name ID Weight Cap\" \
             and a line a domain",
        )),
    }
}

/// The line of a pool: `Cpupool Pool-0: tslice=30ms ratelimit=1000us migration-delay=0us`.
fn pool(sched: &mut SchedText, number: usize, line: &str) -> Result<(), XlError> {
    // Of several pools the first one counts.
    if sched.policy.is_some() {
        return Ok(());
    }
    let mut policy = "credit2";
    for part in line.split([' ', ',', '\t']) {
        let Some((key, value)) = part.split_once('=') else {
            continue;
        };
        let (name, unit) = match key {
            "tslice" => ("tslice_ms", "ms"),
            "ratelimit" => ("ratelimit_us", "us"),
            "migration-delay" => ("migration_delay_us", "us"),
            _ => continue,
        };
        if name == "tslice_ms" {
            policy = "credit";
        }
        let number_of = value.strip_suffix(unit).unwrap_or(value);
        let value = number_of.parse::<u32>().map_err(|_| {
            XlError::new(
                number,
                part,
                "a time as tslice=30ms, ratelimit=1000us or migration-delay=0us",
            )
        })?;
        sched.params.insert(name, i64::from(value));
    }
    sched.policy = Some(policy);
    Ok(())
}

/// A domain's line. Names may hold spaces: the columns after them are counted from the end.
fn sched_domain(
    heads: &[String],
    number: usize,
    line: &str,
    words: &[&str],
) -> Result<(u16, SchedDomain), XlError> {
    let figures = heads.len() - 1;
    let Some(names) = words.len().checked_sub(figures).filter(|names| *names > 0) else {
        return Err(XlError::new(
            number,
            line,
            "as many columns as the line of headings has",
        ));
    };
    let name = words[..names].join(" ");
    let figure = |head: &str| {
        let at = heads.iter().skip(1).position(|h| h == head)?;
        words.get(names + at).copied()
    };
    let id = domid(figure("id"), number, line)?;
    let weight = figure("weight").and_then(|w| w.parse::<i64>().ok());
    let weight = weight
        .filter(|w| (1..=65_535).contains(w))
        .ok_or_else(|| XlError::new(number, line, "a weight of 1 to 65535 in the column Weight"))?;
    let cap = match figure("cap") {
        None => Some(0),
        Some(cap) => cap.parse::<i64>().ok().filter(|c| (0..=25_600).contains(c)),
    };
    let cap = cap.ok_or_else(|| {
        let expected = "a cap of 0 to 25600 percent of one pcpu in the column Cap";
        XlError::new(number, line, expected)
    })?;
    Ok((id, SchedDomain { name, weight, cap }))
}

fn domid(word: Option<&str>, number: usize, line: &str) -> Result<u16, XlError> {
    let id = word.and_then(|id| id.parse::<u16>().ok());
    id.filter(|id| *id <= DOMID_MAX)
        .ok_or_else(|| XlError::new(number, line, "a domid of 0 to 32751 in the column ID"))
}

/// Reads the JSON of `xl list -l`, or the text of `xl vcpu-list` or `xl list`.
///
/// # Errors
/// The first line that cannot be right.
pub fn list(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    match text.trim_start().starts_with(['[', '{']) {
        true => list_json(text),
        false => list_text(text),
    }
}

const LISTS: &str =
    "the JSON of `xl list -l`, or the text of `xl vcpu-list` or `xl list`, with its headings";

fn list_json(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    let root: Value = serde_json::from_str(text).map_err(|e| {
        let line = text.lines().nth(e.line().saturating_sub(1));
        // After a last line break the parser is on a line that is none.
        let last = text.lines().count().max(1);
        XlError::new(e.line().clamp(1, last), line.unwrap_or_default(), LISTS)
    })?;
    let entries = match &root {
        Value::Array(entries) => entries.iter().collect(),
        other => vec![other],
    };
    let mut domains = BTreeMap::new();
    for entry in entries {
        let id = entry.get("domid").and_then(Value::as_u64);
        let id = id.and_then(|id| u16::try_from(id).ok());
        let Some(id) = id.filter(|id| *id <= DOMID_MAX) else {
            let expected = "objects with \"domid\" (0 to 32751) and \"config\", as `xl list -l` \
                            prints them";
            return Err(XlError::new(1, &entry.to_string(), expected));
        };
        let build = &entry["config"]["b_info"];
        let vcpus = build["max_vcpus"].as_u64();
        let online = build["avail_vcpus"]
            .as_array()
            .map(|list| list.len() as u64);
        let vcpus = online.filter(|n| *n > 0).or(vcpus);
        let sched = &build["sched_params"];
        let positive =
            |value: &Value, max: i64, min: i64| value.as_i64().filter(|n| (min..=max).contains(n));
        let mut hard = BTreeMap::new();
        let affinities = build["vcpu_hard_affinity"].as_array();
        for (vcpu, pcpus) in (0..).zip(affinities.into_iter().flatten()) {
            let pcpus = pcpus.as_array().into_iter().flatten();
            let pcpus = pcpus.filter_map(|p| u16::try_from(p.as_u64()?).ok());
            let mut pcpus: Vec<u16> = pcpus.filter(|p| *p < PCPUS_MAX).collect();
            pcpus.sort_unstable();
            pcpus.dedup();
            hard.insert(vcpu, pcpus);
        }
        let domain = ListedDomain {
            name: entry["config"]["c_info"]["name"]
                .as_str()
                .map(str::to_owned),
            vcpus: vcpus.and_then(|n| u16::try_from(n).ok()),
            weight: positive(&sched["weight"], 65_535, 1),
            cap: positive(&sched["cap"], 25_600, 0),
            hard,
        };
        domains.insert(id, domain);
    }
    Ok(domains)
}

/// Pcpus from which on no host of a scenario has any.
const PCPUS_MAX: u16 = domio_core::cpuset::MAX_PCPUS as u16;

fn list_text(text: &str) -> Result<BTreeMap<u16, ListedDomain>, XlError> {
    let mut domains: BTreeMap<u16, ListedDomain> = BTreeMap::new();
    /// Which command printed the text.
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Vcpus,
        Domains,
    }
    let mut kind = None;
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        let Some(kind) = kind else {
            let has = |head: &str| words.contains(&head);
            kind = match (has("Name") && has("ID"), has("VCPU"), has("VCPUs")) {
                (true, true, _) => Some(Kind::Vcpus),
                (true, _, true) => Some(Kind::Domains),
                _ => return Err(XlError::new(number, line, LISTS)),
            };
            continue;
        };
        match kind {
            Kind::Vcpus => vcpu_line(&mut domains, number, line)?,
            Kind::Domains => {
                // Name, then ID, Mem, VCPUs, State and Time, of which a state may be missing.
                let at = (1..words.len().saturating_sub(2))
                    .find(|at| words[*at..*at + 3].iter().all(|w| w.parse::<u64>().is_ok()));
                let at = at.ok_or_else(|| {
                    XlError::new(number, line, "a name, and figures for ID, Mem and VCPUs")
                })?;
                let id = domid(Some(words[at]), number, line)?;
                let domain = domains.entry(id).or_default();
                domain.name = Some(words[..at].join(" "));
                domain.vcpus = words[at + 2].parse().ok();
            }
        }
    }
    match kind {
        Some(_) => Ok(domains),
        None => Err(XlError::new(1, text, LISTS)),
    }
}

/// A line of `xl vcpu-list`: `Domain-0  0  0  0  r--  12.3  0-1,3 / all`.
fn vcpu_line(
    domains: &mut BTreeMap<u16, ListedDomain>,
    number: usize,
    line: &str,
) -> Result<(), XlError> {
    let expected = "Name, ID, VCPU, CPU, State, Time(s) and Affinity, as `xl vcpu-list` prints \
                    them: web 1 0 3 -b- 12.5 0-3 / all";
    let wrong = || XlError::new(number, line, expected);
    let words: Vec<&str> = line.split_whitespace().collect();
    // The name may hold spaces: what follows begins with two numbers, a pcpu and a state.
    let is_state = |w: &str| w.len() == 3 && w.chars().all(|c| "rbp-".contains(c));
    let at = (1..words.len()).find(|at| {
        let rest = &words[*at..];
        rest.len() >= 6
            && rest[0].parse::<u16>().is_ok()
            && rest[1].parse::<u16>().is_ok()
            && (rest[2] == "-" || rest[2].parse::<u16>().is_ok())
            && is_state(rest[3])
            && rest[4].parse::<f64>().is_ok()
    });
    let at = at.ok_or_else(wrong)?;
    let id = domid(Some(words[at]), number, line)?;
    let vcpu = words[at + 1].parse::<u16>().map_err(|_| wrong())?;
    let hard = words[at + 5..].join(" ");
    let hard = hard.split('/').next().unwrap_or_default().trim();
    let hard = pcpus(hard).ok_or_else(|| {
        XlError::new(
            number,
            line,
            "a hard affinity below 256 as \"0-3,6\", \"all\" or \"any cpu\"",
        )
    })?;
    let domain = domains.entry(id).or_default();
    domain.name = Some(words[..at].join(" "));
    domain.vcpus = domain.vcpus.max(vcpu.checked_add(1));
    domain.hard.insert(vcpu, hard);
    Ok(())
}

/// Pcpus as `xl` lists them, ascending; none for all.
fn pcpus(text: &str) -> Option<Vec<u16>> {
    if matches!(text, "all" | "any cpu" | "any") {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (
            first.trim().parse::<u16>().ok()?,
            last.trim().parse::<u16>().ok()?,
        );
        if last >= PCPUS_MAX || first > last {
            return None;
        }
        found.extend(first..=last);
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CREDIT: &str = "\
Cpupool Pool-0: tslice=5ms ratelimit=500us migration-delay=0us
Name                                ID Weight  Cap
Domain-0                             0    256    0
my web server                        3    512   50
";

    const VCPUS: &str = "\
Name                                ID  VCPU   CPU State   Time(s) Affinity (Hard / Soft)
Domain-0                             0     0    0   r--      12.3  all / all
web                                  3     0    1   -b-       1.1  0-1,3 / all
web                                  3     1    -   --p       0.0  2 / all
";

    #[test]
    fn settings_of_credit_are_read() {
        let sched = sched_text(CREDIT).unwrap();
        assert_eq!(sched.policy, Some("credit"));
        assert_eq!(sched.params["tslice_ms"], 5);
        assert_eq!(sched.params["ratelimit_us"], 500);
        let web = &sched.domains[&3];
        assert_eq!(
            (&*web.name, web.weight, web.cap),
            ("my web server", 512, 50)
        );
        assert_eq!(sched.domains.len(), 2);
    }

    #[test]
    fn credit2_has_no_slice_and_old_releases_no_cap() {
        let text = "Cpupool Pool-0: ratelimit=1000us\nName ID Weight\nDomain-0 0 256\n";
        let sched = sched_text(text).unwrap();
        assert_eq!((sched.policy, sched.domains[&0].cap), (Some("credit2"), 0));
        let bare = sched_text("Name ID Weight Cap\n").unwrap();
        assert_eq!((bare.policy, bare.domains.len()), (None, 0));
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        for (text, line, part) in [
            ("", 1, "xl sched-credit"),
            ("nonsense\n", 1, "before the domains"),
            ("Name ID State\n", 1, "columns Name, ID, Weight"),
            ("Name ID Weight Cap\nweb 1 0 0\n", 2, "weight of 1 to 65535"),
            ("Name ID Weight Cap\nweb 1 256 x\n", 2, "cap of 0 to 25600"),
            (
                "Name ID Weight Cap\n\nweb 32767 256 0\n",
                3,
                "domid of 0 to",
            ),
            ("Name ID Weight Cap\n256 0\n", 2, "as many columns"),
            (
                "Cpupool Pool-0: tslice=longms\n",
                1,
                "a time as tslice=30ms",
            ),
        ] {
            let error = sched_text(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
        for (text, line, part) in [
            ("", 1, "xl list -l"),
            ("{\n  \"domid\": }", 2, "xl list -l"),
            ("[{\"domid\": -1}]", 1, "objects with \"domid\""),
            ("Name ID VCPU CPU State\nweb 1 0\n", 2, "as `xl vcpu-list`"),
            ("Name ID Mem VCPUs State\nweb 1\n", 2, "ID, Mem and VCPUs"),
        ] {
            let error = list(text).unwrap_err();
            assert_eq!(error.line, line, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
        let far = VCPUS.replace("0-1,3", "0-4000");
        assert!(
            list(&far)
                .unwrap_err()
                .to_string()
                .contains("hard affinity")
        );
    }

    #[test]
    fn vcpus_are_listed_with_their_pins() {
        let domains = list(VCPUS).unwrap();
        let web = &domains[&3];
        assert_eq!((web.name.as_deref(), web.vcpus), (Some("web"), Some(2)));
        assert_eq!(web.hard[&0], [0, 1, 3]);
        assert_eq!(web.hard[&1], [2]);
        assert!(domains[&0].hard[&0].is_empty());
    }

    #[test]
    fn domains_are_listed() {
        let text = "Name            ID   Mem VCPUs      State   Time(s)\n\
                    Domain-0         0  1024     2     r-----      20.1\n\
                    a b              7   512     1     -b----       0.4\n";
        let domains = list(text).unwrap();
        assert_eq!(domains[&0].vcpus, Some(2));
        assert_eq!(domains[&7].name.as_deref(), Some("a b"));
    }

    #[test]
    fn the_json_of_a_long_list_is_read() {
        let text = r#"[{"domid": 3, "config": {
            "c_info": {"type": "pvh", "name": "web"},
            "b_info": {"max_vcpus": 4, "avail_vcpus": [0, 1],
                "vcpu_hard_affinity": [[1, 0], [2]],
                "sched_params": {"weight": 512, "cap": 50}}}},
            {"domid": 0, "config": {"c_info": {"name": "Domain-0"}}}]"#;
        let domains = list(text).unwrap();
        let web = &domains[&3];
        assert_eq!(
            (web.vcpus, web.weight, web.cap),
            (Some(2), Some(512), Some(50))
        );
        assert_eq!((&web.hard[&0], &web.hard[&1]), (&vec![0, 1], &vec![2]));
        assert_eq!(domains[&0].vcpus, None);
    }

    fn lines() -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec![
            "Name",
            "ID",
            "VCPU",
            "VCPUs",
            "CPU",
            "State",
            "Weight",
            "Cap",
            "Mem",
            "web",
            "0",
            "7",
            "-1",
            "99999999999",
            "1.5",
            "r--",
            "-b-",
            "-",
            "all",
            "/",
            "0-3,6",
            "3-0",
            "any cpu",
            "Cpupool",
            "Pool-0:",
            "tslice=30ms",
            "ratelimit=",
            "{",
            "[",
            "\"domid\":",
            "3",
            "}",
            "]",
            ",",
            "\n",
            "\n",
            "\u{e4}",
            "\t",
        ]);
        prop::collection::vec(word, 0..40).prop_map(|words| words.join(" "))
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in ".{0,200}", lines in lines()) {
            for text in [&text, &lines] {
                if let Err(error) = sched_text(text) {
                    prop_assert!(error.line <= text.lines().count().max(1));
                }
                if let Err(error) = list(text) {
                    prop_assert!(error.line <= text.lines().count().max(1));
                }
            }
        }
    }
}
