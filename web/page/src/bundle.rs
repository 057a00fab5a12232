//! Modules of JavaScript as one script.
//!
//! The modules are written for this: an import is one line that names what it takes from a file
//! beside it, what is exported is declared in the same line, and no two modules have a name at
//! their top in common. So a script is their texts one after the other, each after those that it
//! imports, without the words that make modules of them. An editor or a type checker takes them as
//! they are.

use anyhow::{Context as _, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The module `first` of `folder` with all that it imports, as a script.
///
/// # Errors
/// A file that cannot be read, an import in another form, or a name that two modules have.
pub fn bundle(folder: &Path, first: &str) -> Result<String> {
    let mut all = Bundle::default();
    all.add(folder, first)?;
    Ok(format!(
        "\"use strict\";\n(() => {{\n{}}})();\n",
        all.script
    ))
}

#[derive(Default)]
struct Bundle {
    script: String,
    /// Modules that are in it, or on the way there.
    modules: Vec<String>,
    /// Names at the top, with the modules that have them.
    names: BTreeMap<String, String>,
}

impl Bundle {
    fn add(&mut self, folder: &Path, module: &str) -> Result<()> {
        if self.modules.iter().any(|known| known == module) {
            return Ok(());
        }
        self.modules.push(module.to_owned());
        let path = folder.join(module);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let mut own = String::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with("import") {
                let Some(other) = imported(line) else {
                    bail!("{module}:{number}: write the import in one line, of a file beside it");
                };
                self.add(folder, other)?;
                continue;
            }
            let line = line.strip_prefix("export ").unwrap_or(line);
            if let Some(name) = declared(line) {
                let before = self.names.insert(name.to_owned(), module.to_owned());
                if let Some(before) = before {
                    bail!("{module}:{number}: {before} has the name {name}, too; choose another");
                }
            }
            own.push_str(line);
            own.push('\n');
        }
        self.script += &own;
        Ok(())
    }
}

/// The file that `line` imports from: `import { a, b } from "./x.js";`.
fn imported(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("import { ")?;
    let (_, from) = rest.split_once(" } from \"./")?;
    let file = from.strip_suffix("\";")?;
    (!file.contains('/')).then_some(file)
}

/// The name that `line` declares at the top of its module.
fn declared(line: &str) -> Option<&str> {
    let words = ["const ", "let ", "class ", "function ", "async function "];
    let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The script of modules in a folder of their own.
    fn script(modules: &[(&str, &str)]) -> Result<String> {
        let name = format!("domio-bundle-{}-{}", std::process::id(), modules.len());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in modules {
            fs::write(folder.join(name), text).unwrap();
        }
        let script = bundle(&folder, "main.js");
        fs::remove_dir_all(&folder).unwrap();
        script
    }

    #[test]
    fn modules_come_after_those_that_they_import() {
        let made = script(&[
            (
                "main.js",
                "import { two } from \"./b.js\";\nimport { one } from \"./a.js\";\none();\n",
            ),
            ("a.js", "export function one() {}\n"),
            (
                "b.js",
                "import { one } from \"./a.js\";\nexport const two = one;\n",
            ),
        ]);
        let expected =
            "\"use strict\";\n(() => {\nfunction one() {}\nconst two = one;\none();\n})();\n";
        assert_eq!(made.unwrap(), expected);
    }

    #[test]
    fn what_would_not_be_one_script_is_refused() {
        let twice = script(&[
            (
                "main.js",
                "import { one } from \"./a.js\";\nconst one = 1;\n",
            ),
            ("a.js", "export const one = 1;\n"),
        ]);
        assert!(twice.unwrap_err().to_string().contains("main.js:2"));
        let whole = script(&[("main.js", "import * as a from \"./a.js\";\n")]);
        assert!(whole.unwrap_err().to_string().contains("main.js:1"));
    }
}
