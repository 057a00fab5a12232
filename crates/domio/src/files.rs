//! Files that a command writes: never one that it reads, nor over what domio did not write as the
//! same kind, and whole or not at all. `-` is standard output.

mod kind;
mod part;

pub use kind::FileKind;

use crate::out;
use anyhow::{Context, bail};
use part::Part;
pub use part::remove_parts;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

/// The files of one command, by what it does with them.
///
/// Nothing is written but through a [`Target`], and those come from here alone. A command asks for
/// all of its targets before it writes to the first, so that a refused one costs nothing.
pub struct Files {
    inputs: Vec<Named>,
    outputs: Vec<Named>,
    /// Whether files are overwritten that domio did not write as the same kind.
    force: bool,
}

/// What stands for standard output on the command line.
const STDOUT: &str = "-";

/// Whether `path` stands for standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

/// A file with what the command line calls it.
struct Named {
    name: String,
    identity: Option<Identity>,
}

/// What two paths to one file have in common. Only files have one, those that are not there yet
/// too: nothing is lost when something is written to a terminal, a pipe or `/dev/null` twice.
struct Identity {
    /// The path without links; that of standard output is `-`.
    place: Option<PathBuf>,
    /// Device and number of the file on it, which hard links share.
    inode: Option<(u64, u64)>,
}

impl Identity {
    /// What the command line calls standard output, wherever that goes.
    fn named_stdout() -> Self {
        Identity {
            place: Some(PathBuf::from(STDOUT)),
            inode: None,
        }
    }

    fn of(path: &Path) -> Option<Self> {
        let inode = match std::fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => return None,
            Ok(metadata) => inode(&metadata),
            Err(_) => None,
        };
        Some(Identity {
            place: Some(place(path)),
            inode,
        })
    }

    /// Of standard output, where that is a file.
    #[cfg(unix)]
    fn of_stdout() -> Option<Self> {
        use std::os::fd::AsFd;
        let stdout = io::stdout().as_fd().try_clone_to_owned().ok()?;
        let metadata = File::from(stdout).metadata().ok()?;
        let inode = metadata.is_file().then(|| inode(&metadata)).flatten();
        Some(Identity {
            inode,
            ..Identity::named_stdout()
        })
    }

    #[cfg(not(unix))]
    fn of_stdout() -> Option<Self> {
        Some(Identity::named_stdout())
    }

    fn is(&self, other: &Identity) -> bool {
        let same_place = self.place.is_some() && self.place == other.place;
        same_place || self.inode.is_some() && self.inode == other.inode
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn inode(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<(u64, u64)> {
    None
}

impl Files {
    /// A command that reads `inputs`: what each is, as "the scenario", and where it is.
    pub fn reading<'a>(inputs: impl IntoIterator<Item = (&'a str, PathBuf)>) -> Self {
        let named = |(what, path): (&str, PathBuf)| Named {
            name: format!("{what} {}", path.display()),
            identity: Identity::of(&path),
        };
        Files {
            inputs: inputs.into_iter().map(named).collect(),
            outputs: Vec::new(),
            force: false,
        }
    }

    /// The same, whose outputs overwrite any file where `force` is set.
    pub fn forced(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// The command prints to standard output, which may be a file, too.
    ///
    /// # Errors
    /// As [`Files::writes`].
    pub fn prints(&mut self) -> anyhow::Result<()> {
        let (name, identity) = ("standard output".to_owned(), Identity::of_stdout());
        self.add(Named { name, identity }, "send it elsewhere")
    }

    /// The command writes a file of this kind at `path`, which `option` names.
    ///
    /// # Errors
    /// When that is a file that it reads, or another that it writes, or one that domio did not
    /// write as the same kind.
    pub fn writes(&mut self, option: &str, path: &Path, kind: FileKind) -> anyhow::Result<Target> {
        let is_stdout = is_stdout(path);
        let named = Named {
            name: format!("{option} {}", path.display()),
            identity: match is_stdout {
                true => Some(Identity::named_stdout()),
                false => Identity::of(path),
            },
        };
        self.add(named, &format!("name another file with {option}"))?;
        let shown = path.display();
        if !is_stdout && !self.force {
            let refused = kind.refuses(path);
            let refused = refused.with_context(|| {
                format!("cannot see what is in {shown}; name another file with {option}")
            })?;
            if let Some(why) = refused {
                bail!(
                    "{shown} {why}; name another file with {option}, or overwrite it with --force"
                );
            }
        }
        Ok(Target {
            path: path.to_owned(),
        })
    }

    /// The command makes one text of this kind, which it prints, or writes to the file of
    /// `--output`.
    ///
    /// # Errors
    /// As [`Files::writes`].
    pub fn makes(mut self, output: Option<&Path>, kind: FileKind) -> anyhow::Result<TextTarget> {
        let Some(path) = output.filter(|path| !is_stdout(path)) else {
            self.prints()?;
            return Ok(TextTarget(None));
        };
        Ok(TextTarget(Some(self.writes("--output", path, kind)?)))
    }

    fn add(&mut self, output: Named, what_to_do: &str) -> anyhow::Result<()> {
        let clash = |others: &[Named]| {
            let same = |o: &&Named| match (&o.identity, &output.identity) {
                (Some(other), Some(this)) => this.is(other),
                _ => false,
            };
            others.iter().find(same).map(|other| other.name.clone())
        };
        let name = &output.name;
        if let Some(input) = clash(&self.inputs) {
            bail!(
                "{name} is the same file as {input}, which would be overwritten while it is read; \
                 {what_to_do}"
            );
        }
        if let Some(other) = clash(&self.outputs) {
            bail!("{name} and {other} are the same file, which holds only one; {what_to_do}");
        }
        self.outputs.push(output);
        Ok(())
    }
}

/// Where the one text goes that a command makes: a file, or standard output.
pub struct TextTarget(Option<Target>);

impl TextTarget {
    /// Prints the text; or writes it whole, and says where it is.
    ///
    /// # Errors
    /// When that is refused.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let Some(target) = &self.0 else {
            return out::text(text);
        };
        target.create()?.write_whole(text.as_bytes())?;
        Output::told(&target.path, "");
        Ok(())
    }
}

/// A file that may be written.
pub struct Target {
    path: PathBuf,
}

impl Target {
    /// Begins the file. Commands do so before they compute for long: what cannot be written is
    /// better heard of immediately. Of folders only [`FOLDER`] is made.
    ///
    /// # Errors
    /// With the path and what to do.
    pub fn create(&self) -> anyhow::Result<Output> {
        if is_stdout(&self.path) {
            return Ok(Output {
                out: BufWriter::new(Sink::Stdout(io::stdout())),
                path: self.path.clone(),
                part: None,
            });
        }
        let (file, part) = begin(&self.path).with_context(|| {
            let path = self.path.display();
            format!(
                "cannot create {path}; choose a file in a folder that is there and that you can \
                 write to"
            )
        })?;
        Ok(Output {
            out: BufWriter::new(Sink::File(file)),
            path: self.path.clone(),
            part,
        })
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Where the bytes go.
enum Sink {
    File(File),
    Stdout(io::Stdout),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(file) => file.write(bytes),
            Sink::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(file) => file.flush(),
            Sink::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// The folder that domio makes for itself, in the one where it was started.
pub const FOLDER: &str = "out";

/// Makes [`FOLDER`] where `folder` is that one or in it.
///
/// # Errors
/// When it cannot be made.
pub fn make_own_folder(folder: &Path) -> io::Result<()> {
    match folder.starts_with(FOLDER) {
        true => std::fs::create_dir_all(FOLDER),
        false => Ok(()),
    }
}

/// A file that is being written. It gets its name from [`Output::finish`]; until then, and for
/// good when that is not called, there is what there was before.
pub struct Output {
    out: BufWriter<Sink>,
    path: PathBuf,
    /// `None` for what is no file: that is written at a time.
    part: Option<Part>,
}

impl Output {
    /// Writes `content` and gives the file its name.
    ///
    /// # Errors
    /// As [`Output::finish`].
    pub fn write_whole(mut self, content: &[u8]) -> anyhow::Result<()> {
        self.out
            .write_all(content)
            .with_context(|| cannot_write(&self.path))?;
        self.finish()
    }

    /// Writes `start` over as many bytes at the start of a file.
    ///
    /// # Errors
    /// When it cannot be written there: standard output has no start that could be reached again.
    #[cfg(all(feature = "record", target_os = "linux"))]
    pub fn replace_start(&mut self, start: &[u8]) -> anyhow::Result<()> {
        use std::io::Seek;
        let written = self.out.flush().and_then(|()| match self.out.get_mut() {
            Sink::File(file) => {
                let end = file.stream_position()?;
                file.rewind()?;
                file.write_all(start)?;
                file.seek(io::SeekFrom::Start(end)).map(drop)
            }
            Sink::Stdout(_) => Err(io::ErrorKind::NotSeekable.into()),
        });
        written.with_context(|| cannot_write(&self.path))
    }

    /// Writes what is left and gives the file its name.
    ///
    /// # Errors
    /// When one of the two is refused; then nothing has changed.
    pub fn finish(mut self) -> anyhow::Result<()> {
        let flushed = self.out.flush();
        let named = flushed.and_then(|()| match &mut self.part {
            Some(part) => part.name(),
            None => Ok(()),
        });
        named.with_context(|| cannot_write(&self.path))
    }

    /// Tells on standard error where the content went, and `more` of it; nothing of standard
    /// output.
    pub fn told(path: &Path, more: &str) {
        if !is_stdout(path) {
            out::message(&format!("wrote {}{more}", path.display()));
        }
    }
}

impl Write for Output {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Opens what is to be written for `path`.
fn begin(path: &Path) -> io::Result<(File, Option<Part>)> {
    let Some(place) = replaceable(path)? else {
        return Ok((File::create(path)?, None));
    };
    let folder = match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    make_own_folder(folder)?;
    Part::sweep(folder);
    // Opened for nothing but to hear whether it may be written: a new file of the same name would
    // not ask.
    let old = match OpenOptions::new().write(true).open(&place) {
        Ok(old) => Some(old.metadata()?.permissions()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    let (file, part) = Part::create(folder, &place)?;
    if let Some(permissions) = old {
        file.set_permissions(permissions)?;
    }
    Ok((file, Some(part)))
}

/// The path of the file that another can take the place of; `None` for what is written as it is:
/// devices, pipes, what this process has open, and what no file can be at.
fn replaceable(path: &Path) -> io::Result<Option<PathBuf>> {
    let names_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    // `/dev/stdout` may be a file, which is to be written where the shell opened it.
    let open_here = |step: &Path| step.starts_with("/dev/fd") || step.starts_with("/proc");
    let steps = links(path);
    if names_folder || steps.iter().any(|step| open_here(step)) {
        return Ok(None);
    }
    let last = steps.into_iter().next_back();
    let place = last.unwrap_or_else(|| path.to_owned());
    match std::fs::metadata(&place) {
        Ok(metadata) => Ok(metadata.is_file().then_some(place)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Some(place)),
        Err(e) => Err(e),
    }
}

/// `path` and what it leads to, link by link. The last is no link, unless they go in circles.
fn links(path: &Path) -> Vec<PathBuf> {
    /// Links that Linux follows at most.
    const MOST: usize = 40;
    let mut steps = vec![path.to_owned()];
    while let Some(target) = steps.last().and_then(|step| std::fs::read_link(step).ok()) {
        let folder = steps.last().and_then(|step| step.parent());
        let step = folder.map_or_else(|| target.clone(), |folder| folder.join(&target));
        steps.push(step);
        if steps.len() > MOST {
            break;
        }
    }
    steps
}

/// `path` from the root and without links, whether there is a file or not.
fn place(path: &Path) -> PathBuf {
    let steps = links(path);
    let path = steps.last().map_or(path, PathBuf::as_path);
    let mut place = std::env::current_dir().unwrap_or_default();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                place.pop();
            }
            // An absolute path starts anew.
            other => place.push(other),
        }
        // Every step, since `..` leads out of the folder that a link leads to. What is not there
        // yet is no link.
        place = std::fs::canonicalize(&place).unwrap_or(place);
    }
    place
}

#[cfg(test)]
mod tests;
