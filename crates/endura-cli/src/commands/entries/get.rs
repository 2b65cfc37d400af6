//! `endura get`: prints one value.

use std::ffi::OsString;
use std::io::{Write, stdout};

use crate::pool::pool_args::{MapArgs, about, parse_key};
use crate::values::escape::NOTATION;
use crate::values::map::OpenMap;
use crate::values::notation::Notation;
use endura_console::outcome::{Answer, Result};

#[derive(clap::Args)]
#[command(after_help = NOTATION)]
pub(crate) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// The key
    #[arg(allow_negative_numbers = true)]
    key: OsString,
    /// Print the bytes of the value as they are, without a line end
    #[arg(long, conflicts_with = "json")]
    raw: bool,
    /// Print {"key":K,"value":V}, with null if the key is absent
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(args: &Args) -> Result {
    let (_pool, map) = args.map.open_read_only()?;
    look_up(args, &map).map_err(|failure| about(&args.map.pool.pool, failure))
}

fn look_up(args: &Args, map: &OpenMap) -> Result {
    let schema = &map.schema;
    let key = parse_key(map.name(), schema, &args.key)?;
    let value = map.get(&key)?;
    let mut text = Vec::new();
    match &value {
        value if args.json => {
            let (key, value) = (schema.key_json(&key)?, schema.value_json(value.as_ref())?);
            text.extend(format!("{{\"key\":{key},\"value\":{value}}}\n").into_bytes());
        }
        Some(value) if args.raw => schema.write_value(Notation::Plain, value, &mut text)?,
        Some(value) => {
            schema.tell_unknown();
            schema.write_value(Notation::Escaped, value, &mut text)?;
            text.push(b'\n');
        }
        None => {}
    }
    let mut out = stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(Answer::yes_if(value.is_some()))
}
