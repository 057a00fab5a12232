//! What kinds of files domio writes, and how it knows one of its own again.

use domio_answer::file::{MAGIC, made_by};
use domio_front::input::begins_as_perfetto;
use domio_trace::{Format, ReadOptions, TraceReader};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes of a file that give its kind.
const HEAD: u64 = 16_384;

/// Bytes at its end, which say who made a table in Parquet.
const TAIL: u64 = 64;

/// What is to be written. A file that is there already is overwritten when it is one of the same
/// kind that domio made: then the same command made it, or one like it, and can make it again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// A trace in domio's own format.
    Trace,
    /// A trace in the format of Xen's tools. A recording of a host looks the same, and nobody can
    /// make that again: each is taken for one.
    Xentrace,
    /// A recording of this machine, or the file about its host, which nobody can make again.
    #[cfg(all(feature = "record", target_os = "linux"))]
    Recording,
    /// What an elevator did with a script. A recording of a kernel looks the same, and nobody can
    /// make that again: each is taken for one.
    Answer,
    /// A trace for ui.perfetto.dev.
    Perfetto,
    /// A table whose first line is this.
    Csv(String),
    /// A table in Parquet.
    Parquet,
    /// A picture.
    Svg,
    /// A scenario made of a trace.
    Scenario,
    /// A report, whose own rules say whether it may be overwritten (`report.rs`).
    Report,
}

impl FileKind {
    /// What people call it.
    fn name(&self) -> &'static str {
        match self {
            FileKind::Trace => "trace in domio's own format",
            FileKind::Xentrace | FileKind::Answer => "file that could be made again",
            #[cfg(all(feature = "record", target_os = "linux"))]
            FileKind::Recording => "file that could be made again",
            FileKind::Perfetto => "trace that domio wrote for Perfetto",
            FileKind::Csv(_) => "table with the same columns",
            FileKind::Parquet => "table that domio wrote",
            FileKind::Svg => "picture that domio drew",
            FileKind::Scenario => "scenario that domio made of a trace",
            FileKind::Report => "report",
        }
    }

    /// Whether a file that begins with `head` and ends in `tail` is one that domio made.
    fn is(&self, head: &[u8], tail: &[u8]) -> bool {
        match self {
            FileKind::Trace => TraceReader::new(head, &ReadOptions::default())
                .is_ok_and(|reader| reader.format() == Format::Own),
            FileKind::Xentrace | FileKind::Answer => false,
            #[cfg(all(feature = "record", target_os = "linux"))]
            FileKind::Recording => false,
            FileKind::Perfetto => begins_as_perfetto(head),
            FileKind::Csv(first) => head.split(|b| *b == b'\n').next() == Some(first.as_bytes()),
            FileKind::Parquet => head.starts_with(MAGIC) && made_by(tail),
            FileKind::Svg => {
                let text = String::from_utf8_lossy(head);
                text.starts_with("<?xml") && text.contains("<svg class=\"chart")
            }
            FileKind::Scenario => {
                let text = String::from_utf8_lossy(head);
                text.trim_start()
                    .starts_with("# Made by `domio scenario from-")
            }
            FileKind::Report => true,
        }
    }

    /// Why the file at `path` is not to be overwritten by one of this kind; `None` when nothing is
    /// lost: there is no such file, nothing in it, or one that domio made. What is no file, as a
    /// terminal, holds nothing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn refuses(&self, path: &Path) -> io::Result<Option<String>> {
        match std::fs::metadata(path) {
            // Whoever creates it will hear why not.
            Err(_) => return Ok(None),
            Ok(metadata) if !metadata.is_file() || metadata.len() == 0 => return Ok(None),
            Ok(_) => {}
        }
        let mut head = Vec::new();
        let mut file = File::open(path)?;
        file.by_ref().take(HEAD).read_to_end(&mut head)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        Ok(
            (!self.is(&head, &tail))
                .then(|| format!("is there already, and is no {}", self.name())),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domio_answer::file::{TableFormat, TableWriter};
    use domio_trace::{TraceHeader, TraceWriter, XentraceWriter};

    #[test]
    fn each_kind_knows_its_own_and_no_other() {
        let header = TraceHeader::default();
        let own = TraceWriter::new(Vec::new(), &header).unwrap().finish();
        let xen = XentraceWriter::new(Vec::new(), 1_000_000_000).unwrap();
        let table = TableWriter::new(TableFormat::Parquet, Vec::new(), Vec::new(), Vec::new());
        let files: [(FileKind, Vec<u8>); 8] = [
            (FileKind::Parquet, table.unwrap().finish().unwrap()),
            (FileKind::Trace, own.unwrap()),
            (
                FileKind::Perfetto,
                domio_trace::PerfettoWriter::new(Vec::new(), Some(&header))
                    .finish()
                    .unwrap(),
            ),
            (FileKind::Csv("a,b".to_owned()), b"a,b\n1,2\n".to_vec()),
            (
                FileKind::Svg,
                b"<?xml version=\"1.0\"?>\n<svg class=\"chart\"/>".to_vec(),
            ),
            (
                FileKind::Scenario,
                b"\n# Made by `domio scenario from-trace x.bin`.\n".to_vec(),
            ),
            (FileKind::Xentrace, xen.finish().unwrap()),
            (FileKind::Answer, b"0 submit 1 1 RS 0 8\n".to_vec()),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there");
        for (of, content) in &files {
            // A xentrace file of nothing is empty.
            let content = match content.is_empty() {
                true => b"\x03\xf0\x01\x20\0\0\0\0",
                false => &content[..],
            };
            std::fs::write(&path, content).unwrap();
            for (kind, _) in &files {
                let never = [FileKind::Xentrace, FileKind::Answer];
                let is_own = kind == of && !never.contains(kind);
                let refused = kind.refuses(&path).unwrap();
                assert_eq!(
                    refused.is_none(),
                    is_own,
                    "{kind:?} over {of:?}: {refused:?}"
                );
            }
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(FileKind::Xentrace.refuses(&path).unwrap(), None, "empty");
        let gone = folder.path().join("gone");
        assert_eq!(FileKind::Xentrace.refuses(&gone).unwrap(), None);
        assert_eq!(
            FileKind::Trace.refuses(Path::new("/dev/null")).unwrap(),
            None
        );
        std::fs::write(&path, "root:x:0:0").unwrap();
        for (kind, _) in &files {
            assert!(kind.refuses(&path).unwrap().is_some(), "{kind:?}");
        }
    }
}
