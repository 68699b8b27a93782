//! Templates as CloudFormation sees them: short forms of functions are written out, loops are unrolled, and values that
//! follow from the template alone are filled in. Resources of nested stacks are shown among those of the template, with
//! the parameters that it passes on.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use serde_yaml_ng::Value as Yaml;

/// A template.
pub(super) struct Template(Value);

/// The type of a nested stack.
const NESTED: &str = "AWS::CloudFormation::Stack";

/// The type of a function of SAM.
const FUNCTION: &str = "AWS::Serverless::Function";

/// The loops around a value: their variables with the items that they stand for.
type Loops<'a> = BTreeMap<&'a str, &'a str>;

impl Template {
    pub(super) fn read() -> Self {
        Self::of_file("template.yaml")
    }

    /// The template in a file.
    pub(super) fn of_file(path: &str) -> Self {
        let template = parsed(path);
        let mut unrolled = unroll(&template["Resources"], &template["Mappings"], &Loops::new());
        let [globals, parameters] = ["Globals", "Parameters"].map(|part| &template[part]);
        let resources = unrolled.as_object_mut().expect("resources");
        let mut nested = Map::new();
        for (stack, resource) in resources.clone() {
            if resource["Type"] == NESTED {
                let inner = nested_resources(&resource["Properties"]);
                nested.extend(inner.keys().map(|name| (name.clone(), json!(stack))));
                resources.extend(inner);
            }
        }
        Self(json!({
            "Resources": unrolled, "Globals": globals, "Parameters": parameters, "Nested": nested,
        }))
    }

    fn resources(&self) -> &Map<String, Value> {
        self.0["Resources"].as_object().expect("resources")
    }

    /// The names of the resources of a type.
    pub(super) fn resources_of(&self, kind: &str) -> impl Iterator<Item = &str> {
        let of_kind = self.resources().iter().filter(move |(_, resource)| resource["Type"] == kind);
        of_kind.map(|(name, _)| name.as_str())
    }

    /// The properties of a resource.
    pub(super) fn properties(&self, name: &str) -> &Value {
        &self.resources().get(name).unwrap_or_else(|| panic!("no {name}"))["Properties"]
    }

    /// The nested stack that a resource belongs to, if it belongs to one.
    pub(super) fn nested_in(&self, name: &str) -> Option<&str> {
        self.0["Nested"][name].as_str()
    }

    /// The log group of a function: its own, or the one that all routes of its kind share.
    pub(super) fn log_group(&self, function: &str) -> String {
        match self.nested_in(function) {
            Some("ReadRoutes") => "ReadsLogs".to_owned(),
            Some("WriteRoutes") => "WritesLogs".to_owned(),
            _ => format!("{function}Logs"),
        }
    }

    /// The metadata of a resource.
    pub(super) fn metadata(&self, name: &str) -> &Value {
        &self.resources()[name]["Metadata"]
    }

    /// The condition of a resource; null if the resource always exists.
    pub(super) fn condition(&self, name: &str) -> &Value {
        &self.resources()[name]["Condition"]
    }

    /// The properties that all SAM functions share.
    pub(super) fn of_all(&self) -> &Value {
        &self.0["Globals"]["Function"]
    }

    /// A parameter.
    pub(super) fn parameter(&self, name: &str) -> &Value {
        &self.0["Parameters"][name]
    }

    /// The names of all parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.0["Parameters"].as_object().into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// The names of the SAM functions. The function with an image is a plain one.
    pub(super) fn functions(&self) -> impl Iterator<Item = &str> {
        self.resources_of(FUNCTION)
    }

    /// The name of the function with a handler.
    pub(super) fn function_of(&self, handler: &str) -> &str {
        let mut functions = self.functions();
        let found = functions.find(|function| self.handler(function) == handler);
        found.unwrap_or_else(|| panic!("no function for {handler}"))
    }

    /// The handler of a function.
    pub(super) fn handler(&self, function: &str) -> &str {
        self.properties(function)["Handler"].as_str().expect("a handler")
    }

    /// The name that a function gets in AWS, as `Fn::Sub` writes it.
    pub(super) fn name_of(&self, function: &str) -> String {
        let name = &self.properties(function)["FunctionName"];
        let parts = name["Fn::Join"][1].as_array().into_iter().flatten().skip(1);
        let parts: Vec<_> = parts.filter_map(Value::as_str).collect();
        let joined = || format!("${{AWS::StackName}}-{}", parts.join("-"));
        name["Fn::Sub"].as_str().map_or_else(joined, str::to_owned)
    }

    /// The folder that a function is built from.
    pub(super) fn code(&self, function: &str) -> &str {
        let of_its_own = &self.properties(function)["CodeUri"];
        let folder = of_its_own.as_str().or(self.of_all()["CodeUri"].as_str());
        folder.expect("a folder")
    }

    /// The environment of a function. A plain function does not have what SAM functions share.
    pub(super) fn environment(&self, function: &str) -> BTreeMap<&str, &Value> {
        let of_all = Some(self.of_all()).filter(|_| self.functions().any(|one| one == function));
        let maps = of_all.into_iter().chain([self.properties(function)]);
        let maps = maps.map(|of| &of["Environment"]["Variables"]);
        let pairs = maps.filter_map(Value::as_object).flatten();
        pairs.map(|(name, value)| (name.as_str(), value)).collect()
    }

    /// What the gateway does, as OpenAPI.
    pub(super) fn gateway(&self) -> &Value {
        let mut apis = self.resources_of("AWS::Serverless::HttpApi");
        let (Some(api), None) = (apis.next(), apis.next()) else {
            panic!("no gateway, or several")
        };
        &self.properties(api)["DefinitionBody"]
    }

    /// The events of a function.
    pub(super) fn events(&self, function: &str) -> impl Iterator<Item = &Value> {
        self.properties(function)["Events"].as_object().into_iter().flat_map(Map::values)
    }
}

/// A template in a file, with the short forms of functions written out.
fn parsed(path: &str) -> Value {
    let yaml: Yaml = serde_yaml_ng::from_str(&crate::read(path)).expect("YAML");
    written_out(yaml)
}

/// The resources of a nested stack, whose functions have what all functions of its template share.
fn nested_resources(properties: &Value) -> Map<String, Value> {
    let template = parsed(properties["TemplateURL"].as_str().expect("a file"));
    let given = properties["Parameters"].as_object().expect("parameters");
    assert!(template["Parameters"].as_object().expect("parameters").keys().eq(given.keys()));
    let resources = unroll(&template["Resources"], &template["Mappings"], &Loops::new());
    let Value::Object(mut resources) = passed(&resources, given) else { panic!("resources") };
    let Value::Object(shared) = passed(&template["Globals"]["Function"], given) else {
        panic!("what functions share")
    };
    for resource in resources.values_mut().filter(|one| one["Type"] == FUNCTION) {
        let own = resource["Properties"].as_object().expect("properties").clone();
        resource["Properties"] =
            shared.clone().into_iter().chain(own).collect::<Map<_, _>>().into();
    }
    resources
}

/// A value with what a stack gets for its parameters.
fn passed(value: &Value, given: &Map<String, Value>) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| passed(item, given)).collect(),
        Value::Object(fields) => match fields.iter().next() {
            Some((function, Value::String(name))) if function == "Ref" => {
                given.get(name).unwrap_or(value).clone()
            }
            Some((function, Value::String(text))) if function == "Fn::Sub" => {
                let names = given.iter().filter_map(|(name, value)| {
                    Some((format!("${{{name}}}"), format!("${{{}}}", value["Ref"].as_str()?)))
                });
                json!({ "Fn::Sub": names.fold(text.clone(), |text, (inner, outer)| text.replace(&inner, &outer)) })
            }
            _ => fields.iter().map(|(name, one)| (name.clone(), passed(one, given))).collect(),
        },
        plain => plain.clone(),
    }
}

/// YAML as JSON, with `!Sub x` as `{"Fn::Sub": x}`.
fn written_out(yaml: Yaml) -> Value {
    match yaml {
        Yaml::Mapping(fields) => fields
            .into_iter()
            .map(|(name, value)| (name.as_str().expect("a name").to_owned(), written_out(value)))
            .collect::<Map<_, _>>()
            .into(),
        Yaml::Sequence(items) => items.into_iter().map(written_out).collect(),
        Yaml::Tagged(tagged) => {
            let (tag, value) = (tagged.tag.to_string(), written_out(tagged.value));
            match (tag.trim_start_matches('!'), value) {
                (name @ ("Ref" | "Condition"), value) => json!({ name: value }),
                ("GetAtt", Value::String(path)) => {
                    let (resource, attribute) = path.split_once('.').expect("an attribute");
                    json!({ "Fn::GetAtt": [resource, attribute] })
                }
                (name, value) => json!({ format!("Fn::{name}"): value }),
            }
        }
        plain => serde_json::to_value(plain).expect("a plain value"),
    }
}

fn unroll(value: &Value, maps: &Value, loops: &Loops<'_>) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| unroll(item, maps, loops)).collect(),
        Value::Object(fields) => {
            let mut unrolled = Map::new();
            for (name, value) in fields {
                if name.starts_with("Fn::ForEach::") {
                    unrolled.extend(repeat(value, maps, loops));
                } else {
                    unrolled.insert(filled(name, loops), unroll(value, maps, loops));
                }
            }
            resolved(unrolled, maps, loops)
        }
        plain => plain.clone(),
    }
}

fn repeat(spec: &Value, maps: &Value, loops: &Loops<'_>) -> Map<String, Value> {
    let (variable, items) = (spec[0].as_str().expect("a variable"), unroll(&spec[1], maps, loops));
    let mut repeated = Map::new();
    for item in items.as_array().expect("items") {
        let mut inner = loops.clone();
        inner.insert(variable, item.as_str().expect("an item"));
        let Value::Object(fields) = unroll(&spec[2], maps, &inner) else { panic!("a fragment") };
        repeated.extend(fields);
    }
    repeated
}

/// The value of a function call, if it follows from loops and mappings alone.
fn resolved(fields: Map<String, Value>, maps: &Value, loops: &Loops<'_>) -> Value {
    let only = fields.iter().next().filter(|_| fields.len() == 1);
    match only.map(|(name, argument)| (name.as_str(), argument)) {
        Some(("Ref", Value::String(name))) if loops.contains_key(&**name) => json!(loops[&**name]),
        Some(("Fn::Sub", Value::String(text))) => {
            let text = filled(text, loops);
            if text.contains("${") { json!({ "Fn::Sub": text }) } else { json!(text) }
        }
        Some(("Fn::Sub", Value::Array(parts))) => {
            let own = parts[1].as_object().expect("variables").iter();
            let (known, open): (Vec<_>, Vec<_>) = own.partition(|(_, value)| value.is_string());
            let known =
                known.into_iter().filter_map(|(name, value)| Some((&**name, value.as_str()?)));
            let text = filled(parts[0].as_str().expect("a text"), loops);
            let text = filled(&text, &known.collect());
            let open: Map<_, _> =
                open.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            if open.is_empty() {
                json!({ "Fn::Sub": text })
            } else {
                json!({ "Fn::Sub": [text, open] })
            }
        }
        Some(("Fn::FindInMap", Value::Array(path))) if path.iter().all(Value::is_string) => {
            let found = path.iter().fold(maps, |map, key| &map[key.as_str().unwrap_or_default()]);
            assert!(!found.is_null(), "nothing at {path:?}");
            found.clone()
        }
        _ => Value::Object(fields),
    }
}

fn filled(text: &str, loops: &Loops<'_>) -> String {
    loops.iter().fold(text.to_owned(), |text, (variable, item)| {
        text.replace(&format!("${{{variable}}}"), item)
    })
}
