//! `bowline config`.

use serde_json::json;

use super::Context;
use crate::cli::ConfigCommand;
use crate::config::{self, Overrides};
use crate::failure::Failure;
use crate::output::{WARN, table};

pub(super) fn run(context: &Context<'_>, command: &ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show => {
            let loaded = context.load_config(&Overrides::default())?;
            for warning in &loaded.warnings {
                context.output.note(format!("{WARN}warning:{WARN:#} {warning}"));
            }
            context.output.result(&loaded.rows(), |rows| {
                let rows =
                    rows.iter().map(|row| vec![row.key.clone(), row.value.clone(), row.origin.to_string()]);
                table(&["KEY", "VALUE", "FROM"], rows.collect())
            });
        }
        ConfigCommand::Path => {
            let path = context.paths.config_file.display().to_string();
            let exists = context.paths.config_file.exists();
            context.output.result(&json!({"path": path, "exists": exists}), |_| path.clone());
        }
        ConfigCommand::Example => {
            let text = config::example();
            context.output.result(&json!({ "toml": text }), |_| text.trim_end().to_owned());
        }
    }
    Ok(())
}
