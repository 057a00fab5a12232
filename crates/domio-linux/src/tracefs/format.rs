//! Descriptions of events: `name:`, `ID:`, the fields with their places, `print fmt:`.

/// How a field's place is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// The value itself.
    Plain,
    /// `__data_loc`: the place (low 16 bits) and the size of the value, from the event's start.
    Data,
    /// `__rel_loc`: the same, from the end of this field.
    Relative,
}

/// Where a field of an event is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub offset: u32,
    pub size: u32,
    pub signed: bool,
    pub location: Location,
}

/// One event's description.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EventFormat {
    pub name: String,
    pub id: u16,
    pub fields: Vec<Field>,
    /// What follows `print fmt:`.
    pub print: String,
}

impl EventFormat {
    /// Reads one description; none if there is no name or no number.
    pub fn parse(text: &str) -> Option<EventFormat> {
        let mut format = EventFormat::default();
        let mut id = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_string();
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if line.starts_with("field:") || line.starts_with("field ") {
                format.fields.extend(field(line));
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                format.print = print.trim().to_string();
            }
        }
        format.id = id?;
        (!format.name.is_empty()).then_some(format)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// The fields of a text without name and number, as of `header_page`.
pub fn fields(text: &str) -> Vec<Field> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|l| l.starts_with("field"))
        .filter_map(field)
        .collect()
}

/// One line `field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;`.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let (_, declaration) = parts.next()?.split_once(':')?;
    let declaration = declaration.trim();
    let bare = match declaration.rfind('[') {
        Some(at) if declaration.ends_with(']') => declaration[..at].trim_end(),
        _ => declaration,
    };
    let name = bare.rsplit([' ', '*', '\t']).next()?.to_string();
    let location = if declaration.starts_with("__data_loc") {
        Location::Data
    } else if declaration.starts_with("__rel_loc") {
        Location::Relative
    } else {
        Location::Plain
    };
    let (mut offset, mut size, mut signed) = (None, None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.trim().parse().ok(),
            Some(("size", n)) => size = n.trim().parse().ok(),
            Some(("signed", n)) => signed = Some(n.trim() != "0"),
            _ => {}
        }
    }
    // Descriptions before Linux 2.6.33 do not say whether a field has a sign.
    let signed = signed.unwrap_or_else(|| !declaration.contains("unsigned"));
    Some(Field {
        name,
        offset: offset?,
        size: size?,
        signed,
        location,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORK: &str = "name: sched_process_fork\nID: 311\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:char child_comm[16];\toffset:16;\tsize:16;\tsigned:0;\n\
        \tfield:const struct page * page;\toffset:32;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"comm=%s pid=%d\", __get_str(parent_comm), REC->parent_pid\n";

    #[test]
    fn a_description_is_read() {
        let format = EventFormat::parse(FORK).unwrap();
        assert_eq!(
            (format.name.as_str(), format.id),
            ("sched_process_fork", 311)
        );
        let names: Vec<_> = format.fields.iter().map(|f| f.name.as_str()).collect();
        let expected = [
            "common_type",
            "common_pid",
            "parent_comm",
            "parent_pid",
            "child_comm",
            "page",
        ];
        assert_eq!(names, expected);
        assert_eq!(
            format.field("parent_comm").unwrap().location,
            Location::Data
        );
        let comm = format.field("child_comm").unwrap();
        assert_eq!((comm.offset, comm.size, comm.signed), (16, 16, false));
        assert!(format.print.starts_with("\"comm=%s"));
    }

    #[test]
    fn a_text_without_number_is_none() {
        assert_eq!(
            EventFormat::parse("name: x\nfield:int a; offset:0; size:4;"),
            None
        );
    }
}
