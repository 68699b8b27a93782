//! The parts of the AWS templates that follow from the table of routes: the paths and the functions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::iter;

use vedette_api::{ROUTES, Route, grants_of};

/// A template with generated parts. Each is between the comments `# <part>` and `# </part>`.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// Its file, in the root of the repository.
    pub file: &'static str,
    parts: &'static [Part],
}

/// The name of a generated part, and what writes its lines.
type Part = (&'static str, fn() -> String);

/// All templates with generated parts.
pub const TEMPLATES: [Template; 3] = [
    Template { file: "template.yaml", parts: &[("paths", paths), ("routes", names)] },
    Template { file: "read-routes.yaml", parts: &[("functions", || functions(is_read))] },
    Template {
        file: "write-routes.yaml",
        parts: &[("functions", || functions(|route| !is_read(route)))],
    },
];

impl Template {
    /// The template with its generated parts updated; `None` if it lacks the comments around one.
    pub fn renewed(&self, template: &str) -> Option<String> {
        let mut parts = self.parts.iter();
        parts.try_fold(template.to_owned(), |text, (part, generate)| {
            let (before, after) = text.split_once(&format!("# <{part}>"))?;
            let (remark, after) = after.split_once('\n')?;
            let (_, after) = after.split_once(&format!("# </{part}>"))?;
            let indentation = before.lines().next_back()?;
            let lines = generate();
            Some(format!("{before}# <{part}>{remark}\n{lines}{indentation}# </{part}>{after}"))
        })
    }
}

/// The integration of each path and method.
fn paths() -> String {
    let mut text = String::new();
    let mut written = BTreeSet::new();
    for Route { path, .. } in ROUTES {
        if written.insert(path) {
            let _ = writeln!(text, "          {path}:");
            text.extend(ROUTES.iter().filter(|route| route.path == *path).map(operation));
        }
    }
    text
}

fn operation(route: &Route) -> String {
    let integration =
        format!("#/components/x-amazon-apigateway-integrations/{}", logical_id(route));
    format!(
        "            {}: {{ x-amazon-apigateway-integration: {{ $ref: \"{integration}\" }} }}\n",
        route.method.to_lowercase()
    )
}

/// The list of all functions.
fn names() -> String {
    let begins = ["              - "].into_iter().chain(iter::repeat("                "));
    begins.zip(ROUTES).map(|(begin, route)| format!("{begin}- {}\n", logical_id(route))).collect()
}

/// The functions of some routes.
fn functions(is_included: fn(&Route) -> bool) -> String {
    ROUTES.iter().filter(|route| is_included(route)).map(function).collect()
}

fn function(route: &Route) -> String {
    let (id, role, handler) = (logical_id(route), role(route), route.name);
    format!(
        "  {id}:
    Type: AWS::Serverless::Function
    Metadata: {{ BuildMethod: rust-cargolambda }}
    Properties:
      FunctionName: !Sub ${{Stack}}-api-{id}
      AutoPublishAlias: !FindInMap [Gradual, !Ref GradualDeployment, Alias]
      Handler: {handler}
      Role: !GetAtt {role}.Arn
"
    )
}

fn is_read(route: &Route) -> bool {
    route.method == "GET"
}

/// The role of a route, which is named after the first route with the same grant.
fn role(route: &Route) -> String {
    let first = ROUTES.iter().find(|other| grants_of(other) == grants_of(route)).unwrap_or(route);
    format!("{}Role", logical_id(first))
}

/// The name of a route in the templates: `StatusPagesList` for `status-pages.list`.
fn logical_id(route: &Route) -> String {
    let words = route.name.split(['.', '-']);
    words.map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_templates_have_the_routes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for template in TEMPLATES {
            let kept = fs::read_to_string(root.join(template.file)).expect("a template");
            let renewed = template.renewed(&kept).expect("a template with the comments");
            assert!(kept == renewed, "{} is stale, run `make openapi`", template.file);
        }
    }
}
