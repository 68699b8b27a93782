//! A hand-written list of an enum's variants must contain all of them. Otherwise, code that goes through the list would
//! ignore the missing ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use syn::visit::{self, Visit};
use syn::{Expr, ExprPath, ImplItemConst, ItemEnum, ItemImpl, Type};

use super::{files, read};

/// The variants of an enum.
type Variants = BTreeSet<String>;

/// What the sources declare.
#[derive(Default)]
struct Declared {
    /// By name and file, because two files can have private enums with the same name.
    enums: BTreeMap<String, BTreeMap<PathBuf, Variants>>,
    lists: Vec<List>,
    /// The file that is being read.
    file: PathBuf,
    /// The type whose `impl` is being read.
    owner: Option<String>,
}

/// A list of all variants.
struct List {
    file: PathBuf,
    owner: String,
    value: Expr,
}

impl Declared {
    /// The variants of the enum that has this name in a file, if it is an enum.
    fn variants(&self, name: &str, file: &PathBuf) -> Option<&Variants> {
        let known = self.enums.get(name)?;
        known.get(file).or_else(|| known.values().next())
    }
}

impl<'a> Visit<'a> for Declared {
    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        let variants = item.variants.iter().map(|variant| variant.ident.to_string()).collect();
        self.enums.entry(item.ident.to_string()).or_default().insert(self.file.clone(), variants);
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        if let Type::Path(owner) = &*item.self_ty {
            self.owner = owner.path.get_ident().map(ToString::to_string);
        }
        visit::visit_item_impl(self, item);
        self.owner = None;
    }

    fn visit_impl_item_const(&mut self, item: &'a ImplItemConst) {
        if let Some(owner) = self.owner.clone().filter(|_| item.ident == "ALL") {
            self.lists.push(List { file: self.file.clone(), owner, value: item.expr.clone() });
        }
    }
}

/// The variants in a list, by the names of their enums.
struct Named<'a> {
    owner: &'a str,
    found: BTreeMap<String, Variants>,
}

impl<'a> Visit<'a> for Named<'_> {
    fn visit_expr_path(&mut self, path: &'a ExprPath) {
        let segments: Vec<String> =
            path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let [.., of, variant] = &segments[..] else { return };
        let of = if of == "Self" { self.owner } else { of };
        if variant != "ALL" {
            self.found.entry(of.to_owned()).or_default().insert(variant.clone());
        }
    }
}

#[test]
fn each_list_of_all_variants_names_all() {
    let mut declared = Declared::default();
    for path in ["shared", "functions", "infra"].map(|folder| files(folder, ".rs")).concat() {
        let source = syn::parse_file(&read(&path)).expect("a source");
        declared.file = path;
        declared.visit_file(&source);
    }
    let mut checked = 0;
    for List { file, owner, value } in &declared.lists {
        let mut named = Named { owner, found: BTreeMap::new() };
        named.visit_expr(value);
        for (of, found) in named.found {
            let Some(variants) = declared.variants(&of, file) else { continue };
            assert_eq!(&found, variants, "{owner}::ALL names of {of}");
            checked += 1;
        }
    }
    assert!(checked > 15, "only {checked} lists are found");
}
