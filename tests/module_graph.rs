//! The modules of a crate form no cycles: if a module uses another one, the other one does not use it.
//!
//! A module and its submodules are one subject, so a submodule may use the items of its ancestors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, Macro, UseTree, Visibility};

use super::files;

/// The segments of a path. The path of a module begins at the root of its crate, whose own path is empty.
type Segments = Vec<String>;

/// What a module declares, imports and names.
#[derive(Default)]
struct Module {
    submodules: Vec<String>,
    /// Paths, by the names under which they are imported or exported.
    imports: BTreeMap<String, Segments>,
    /// Paths that the module itself uses, without those that it only exports.
    used: Vec<Segments>,
}

impl Module {
    fn import(&mut self, tree: &UseTree, mut path: Segments, is_exported: bool) {
        let name = match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                return self.import(&step.tree, path, is_exported);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, path.clone(), is_exported);
                }
                return;
            }
            UseTree::Glob(_) => None,
            UseTree::Name(name) if name.ident == "self" => path.last().cloned(),
            UseTree::Name(name) => {
                Some(name.ident.to_string()).inspect(|name| path.push(name.clone()))
            }
            UseTree::Rename(name) => {
                path.push(name.ident.to_string());
                Some(name.rename.to_string())
            }
        };
        if !is_exported {
            self.used.push(path.clone());
        }
        self.imports.extend(name.map(|name| (name, path)));
    }

    /// Finds the paths in the arguments of a macro.
    fn read(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Segments::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(segment) if colons == 2 => {
                    path.push(segment.to_string());
                    colons = 0;
                }
                other => {
                    self.used.push(std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(first) => path.push(first.to_string()),
                        TokenTree::Group(group) => self.read(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.used.push(path);
    }
}

impl<'a> Visit<'a> for Module {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if is_test(&item.attrs) {
            return;
        }
        if item.content.is_none() {
            self.submodules.push(item.ident.to_string());
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_test(&item.attrs) {
            let is_exported = !matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, Segments::new(), is_exported);
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.read(call.tokens.clone());
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// The modules of a crate.
struct Crate(BTreeMap<Segments, Module>);

impl Crate {
    fn read(root: &Path) -> Self {
        let mut modules = BTreeMap::new();
        let mut unread = vec![(Segments::new(), root.to_owned())];
        while let Some((path, file)) = unread.pop() {
            let text =
                fs::read_to_string(&file).unwrap_or_else(|_| panic!("no {}", file.display()));
            let mut module = Module::default();
            module.visit_file(&syn::parse_file(&text).expect("Rust"));
            for name in &module.submodules {
                let path: Segments = path.iter().chain([name]).cloned().collect();
                let file = root.with_file_name(path.join("/")).with_extension("rs");
                unread.push((path, file));
            }
            modules.insert(path, module);
        }
        Self(modules)
    }

    /// A path that a module uses, from the root of the crate; `None` if it leads to another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Segments> {
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (module, &path[1..]),
            "super" => (&module[..module.len().checked_sub(supers)?], &path[supers..]),
            name if self.0[module].submodules.iter().any(|known| known == name) => (module, path),
            _ => return None,
        };
        Some([base, rest].concat())
    }

    /// The module that contains the item at an absolute path, wherever the item is exported.
    fn home(&self, path: &[String]) -> Segments {
        let depth = (0..=path.len()).rev().find(|depth| self.0.contains_key(&path[..*depth]));
        let (module, rest) = path.split_at(depth.expect("the root"));
        let exported = rest.first().and_then(|name| self.0[module].imports.get(name));
        match exported.and_then(|path| self.absolute(module, path)) {
            Some(path) => self.home(&path),
            None => module.to_owned(),
        }
    }

    /// The modules that a module uses, without itself and its ancestors.
    fn needs(&self, name: &[String], module: &Module) -> BTreeSet<Segments> {
        let used = module.used.iter().filter_map(|path| self.absolute(name, path));
        used.map(|path| self.home(&path)).filter(|home| !name.starts_with(home)).collect()
    }

    /// The modules in cycles, and those between two cycles, each with the others that it uses.
    fn cycles(&self) -> BTreeMap<Segments, BTreeSet<Segments>> {
        let needs = |(name, module): (&Segments, _)| (name.clone(), self.needs(name, module));
        let mut left: BTreeMap<_, _> = self.0.iter().map(needs).collect();
        loop {
            let needed: BTreeSet<Segments> = left.values().flatten().cloned().collect();
            let names: BTreeSet<Segments> = left.keys().cloned().collect();
            left.retain(|name, needs| {
                needs.retain(|other| names.contains(other));
                !needs.is_empty() && needed.contains(name)
            });
            if left.len() == names.len() {
                return left;
            }
        }
    }
}

#[test]
fn the_modules_of_a_crate_form_no_cycle() {
    let mut found = Vec::new();
    for folder in ["shared", "functions", "infra"] {
        for manifest in files(folder, "Cargo.toml") {
            for name in ["lib.rs", "main.rs"] {
                let root = manifest.with_file_name("src").join(name);
                if root.is_file() {
                    for (module, needed) in Crate::read(&root).cycles() {
                        let needed: Vec<_> = needed.iter().map(|name| name.join("::")).collect();
                        let module = module.join("::");
                        found.push(format!("{}: {module} needs {needed:?}", root.display()));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "cycles of modules:\n{}", found.join("\n"));
}
