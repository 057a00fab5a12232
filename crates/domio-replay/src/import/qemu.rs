//! Command lines of QEMU (qemu(1)): of `ps`, of /proc/PID/cmdline, of a script.

use super::cpus::cpus;
use super::found::{
    EMULATOR, ImportError, ImportFiles, ImportPlace, Kind, QemuDisk, Told, at, io_thread, number,
    vcpus,
};

/// Options without a value, so that what follows is no value of theirs.
const FLAGS: [&str; 14] = [
    "-enable-kvm",
    "-nographic",
    "-nodefaults",
    "-no-user-config",
    "-S",
    "-snapshot",
    "-daemonize",
    "-no-reboot",
    "-no-shutdown",
    "-no-acpi",
    "-no-hpet",
    "-usb",
    "-full-screen",
    "-h",
];

/// Whether a word is the name of the program.
fn is_program(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.starts_with("qemu-system-") || ["qemu-kvm", "kvm"].contains(&name)
}

/// Whether `text` has such a command line.
pub(super) fn is_command(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || c == '\0')
        .any(is_program)
}

pub(super) fn read(files: &mut ImportFiles, text: &str, file: &str) -> Result<(), ImportError> {
    let mut found = false;
    for (line, command) in commands(text) {
        if !command.split_whitespace().any(is_program) {
            continue;
        }
        let place = at(file, line);
        let words = words(&command, &place)?;
        let Some(program) = words.iter().position(|word| is_program(word)) else {
            continue;
        };
        // `ps | grep qemu` shows itself.
        if words[..program].iter().any(|word| word.ends_with("grep")) {
            continue;
        }
        guest(files, &words[..program], &words[program + 1..], &place)?;
        found = true;
    }
    match found {
        true => Ok(()),
        false => {
            let expected = "the command line of a QEMU, e.g. qemu-system-x86_64 -smp 2";
            Err(ImportError::wrong(&at(file, 1), text, expected))
        }
    }
}

/// The commands with the numbers of their first lines: a backslash at the end of a line continues
/// it, and a zero byte is a blank.
fn commands(text: &str) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    let mut under_way: Option<(usize, String)> = None;
    for (n, line) in text.lines().enumerate() {
        // Arguments of /proc/PID/cmdline may have blanks, and are quoted here.
        let line = match line.contains('\0') {
            true => {
                let words = line.split('\0').filter(|word| !word.is_empty());
                let quoted = words.map(|word| match word.contains([' ', '"', '\'', '\\']) {
                    true => format!("'{}'", word.replace('\'', "'\\''")),
                    false => word.to_owned(),
                });
                quoted.collect::<Vec<_>>().join(" ")
            }
            false => line.to_owned(),
        };
        let (begin, mut command) = under_way.take().unwrap_or((n + 1, String::new()));
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                command += part;
                command.push(' ');
                under_way = Some((begin, command));
            }
            None => commands.push((begin, command + &line)),
        }
    }
    commands.extend(under_way);
    commands.retain(|(_, command)| !command.trim_start().starts_with('#'));
    commands
}

/// The words of a command, as a shell splits them.
fn words(command: &str, place: &ImportPlace) -> Result<Vec<String>, ImportError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(q), c) if q == c => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(ImportError::wrong(
            place,
            command,
            "the closing quote of the command",
        ));
    }
    words.extend(word);
    Ok(words)
}

/// One guest: what is `before` the program, and its options.
fn guest(
    files: &mut ImportFiles,
    before: &[String],
    options: &[String],
    place: &ImportPlace,
) -> Result<(), ImportError> {
    files.is_of(Kind::Linux, place)?;
    let mut name = None;
    let mut smp = None;
    let mut threads = Vec::new();
    let mut disks = Vec::new();
    let mut drives: Vec<&str> = Vec::new();
    let (mut vhosts, mut others) = (0, 0);
    let mut at = 0;
    while let Some(option) = options.get(at) {
        // Both `-smp` and `--smp`.
        let plain = option
            .strip_prefix('-')
            .filter(|rest| rest.starts_with('-'));
        let plain = plain.unwrap_or(option);
        let value = options.get(at + 1).filter(|_| !FLAGS.contains(&plain));
        let value = value
            .filter(|value| !value.starts_with('-'))
            .map(String::as_str);
        at += 1 + usize::from(value.is_some());
        match (plain, value) {
            ("-name", Some(value)) => {
                let parts = value.split(',');
                let given = parts.clone().find_map(|part| part.strip_prefix("guest="));
                let first = parts.clone().next().filter(|part| !part.contains('='));
                name = given
                    .or(first)
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned);
            }
            ("-smp", Some(value)) => smp = Some(value),
            ("-object", Some(value)) if value.contains("iothread") => threads.push(id(value)),
            ("-device", Some(value)) if value.contains("virtio-blk") => disks.push(Some(value)),
            ("-drive", Some(value)) if key(value, "if").as_deref() == Some("virtio") => {
                disks.push(None);
                drives.push(value);
            }
            ("-drive" | "-blockdev", Some(value)) => drives.push(value),
            ("-netdev", Some(value)) if value.contains("vhost") => vhosts += 1,
            _ => others += 1,
        }
    }
    let name = name.unwrap_or_else(|| {
        let known = files.guests.len() + 1;
        let name = format!("vm{known}");
        files.assume(format!("a guest without -name is called {name}"), place);
        name
    });
    let count = match smp {
        Some(value) => smp_vcpus(value, place)?,
        None => {
            files.assume(format!("1 vcpu of {name}: there is no -smp"), place);
            vcpus("1", place)?
        }
    };
    let pin = taskset(before, place)?;
    let guest = files.guest(&name, place);
    guest.vcpus.get_or_insert(count);
    if let Some(value) = pin {
        let at = place.clone();
        guest.pin.get_or_insert(Told { value, at });
    }
    for id in threads {
        guest.thread(&io_thread(&id), place);
    }
    let is_new = guest.disks.is_empty();
    for device in disks.iter().filter(|_| is_new) {
        let thread = device.and_then(|device| key(device, "iothread"));
        if let Some(id) = &thread {
            guest.thread(&io_thread(id), place);
        }
        guest.disks.push(QemuDisk {
            name: None,
            thread: thread.map_or_else(|| EMULATOR.to_owned(), |id| io_thread(&id)),
            at: place.clone(),
        });
    }
    for drive in drives.iter().filter(|_| is_new) {
        let aio = key(drive, "aio").filter(|aio| aio != "native");
        if let Some(aio) = aio {
            let of = key(drive, "id").or_else(|| key(drive, "node-name"));
            let of = of.unwrap_or_else(|| "a drive".to_owned());
            files.leave_out(format!("aio={aio} of {of} of {name}"), place);
        }
    }
    if vhosts > 0 {
        let what = format!("{vhosts} vhost devices of {name}: `vif` of the domain has a thread");
        files.leave_out(what, place);
    }
    if others > 0 {
        let what = format!("{others} further options of {name}: machine, memory and devices");
        files.leave_out(what, place);
    }
    Ok(())
}

/// The id of an object: `iothread,id=io0`, or `{"qom-type":"iothread","id":"io0"}`, of which the
/// shell may have taken the quotes.
fn id(object: &str) -> String {
    key(object, "id").unwrap_or_else(|| "iothread".to_owned())
}

/// The value of the key `wanted` of an option, in either notation.
fn key(option: &str, wanted: &str) -> Option<String> {
    let parts = option.split([',', '{', '}']);
    let mut keys = parts.filter_map(|part| part.split_once(['=', ':']));
    let bare = |text: &str| text.trim().trim_matches('"').to_owned();
    let found = keys.find(|(key, _)| bare(key) == wanted);
    found.map(|(_, value)| bare(value))
}

/// The vcpus of `-smp`: `4`, `cpus=4,...`, or the product of sockets, cores and threads.
fn smp_vcpus(value: &str, place: &ImportPlace) -> Result<Told<u16>, ImportError> {
    let mut product = 1;
    for (n, part) in value.split(',').enumerate() {
        match part.split_once('=') {
            None if n == 0 => return vcpus(part, place),
            Some(("cpus", n)) => return vcpus(n, place),
            Some(("sockets" | "dies" | "clusters" | "cores" | "threads", n)) => {
                product *= number(
                    n,
                    (1, super::found::VCPUS_MAX),
                    "a number of processors",
                    place,
                )?;
                product = product.min(super::found::VCPUS_MAX + 1);
            }
            _ => {}
        }
    }
    vcpus(&product.to_string(), place)
}

/// The pcpus that `taskset -c LIST` before the program gives.
fn taskset(before: &[String], place: &ImportPlace) -> Result<Option<Vec<u16>>, ImportError> {
    let Some(at) = before
        .iter()
        .position(|word| word.rsplit('/').next() == Some("taskset"))
    else {
        return Ok(None);
    };
    let options = &before[at + 1..];
    match options {
        [option, list, ..] if ["-c", "--cpu-list"].contains(&option.as_str()) => cpus(list, place),
        _ => Ok(None),
    }
}
