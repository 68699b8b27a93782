//! Writes the API's OpenAPI document to the file that is named, or to standard output.

use std::error::Error;
use std::io::Write as _;
use std::{env, fs, io};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let text = vedette_openapi::render(vedette_openapi::document().await)?;
    match env::args_os().nth(1) {
        Some(path) => fs::write(path, text)?,
        None => io::stdout().write_all(text.as_bytes())?,
    }
    Ok(())
}
