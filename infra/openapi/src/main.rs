//! Writes the OpenAPI document of the API, and what is generated from it and from the routes, into the repository.
//!
//!     vedette-openapi REPOSITORY

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::args_os().nth(1).ok_or("which repository?")?);
    let document = vedette_openapi::document().await;
    for page in vedette_openapi::PAGES {
        let path = root.join("docs/reference").join(page.file);
        let renewed = page.renewed(&fs::read_to_string(&path)?, &document);
        fs::write(&path, renewed.ok_or_else(|| format!("{} has no marker", path.display()))?)?;
    }
    for template in vedette_openapi::TEMPLATES {
        let path = root.join(template.file);
        let renewed = template.renewed(&fs::read_to_string(&path)?);
        fs::write(
            &path,
            renewed.ok_or_else(|| {
                format!("{} lacks a comment around a generated part", path.display())
            })?,
        )?;
    }
    let schema = vedette_openapi::render(vedette_openapi::editor_schema())?;
    fs::write(root.join(vedette_openapi::EDITOR_SCHEMA), schema)?;
    Ok(fs::write(root.join("openapi.json"), vedette_openapi::render(document)?)?)
}
