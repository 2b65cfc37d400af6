//! What we have set ourselves, race by race.

use crate::goals::{Judged, RACES};

use super::html::{escape, table};

/// The section of the page.
pub(super) fn section(goals: &[Judged]) -> String {
    if goals.is_empty() {
        return "<p>Not run: goals are set at two and ten million keys, and belong to the full report. \
                <code>endura bench goals</code> runs them alone.</p>"
            .into();
    }
    let mut races: Vec<&str> = goals.iter().map(|judged| judged.race.as_str()).collect();
    races.dedup();
    let head = ["goal", "asked", "aim", "here", "between rounds", "~"];
    let of = |race: &str| -> Vec<_> {
        goals.iter().filter(|judged| judged.race == race).map(row).collect()
    };
    let tables: String = races
        .into_iter()
        .map(|race| {
            let bounds = bounds(goals.iter().filter(|judged| judged.race == race));
            format!("<h3>{}</h3>{}{bounds}", escape(race), table(&head, &of(race)))
        })
        .collect();
    let reached = goals.iter().filter(|judged| judged.is_reached).count();
    format!(
        "<p>How fast an index is to be, set before it was built; the two run in turns. {reached} of {} goals are \
         reached; under each table stands what stops the others, as far as it is known.</p>{tables}{}",
        goals.len(),
        left_out()
    )
}

fn row(judged: &Judged) -> Vec<String> {
    vec![
        judged.goal.clone(),
        format!("{:.2}", judged.asked),
        judged.aim.map_or(String::new(), |aim| format!("{aim:.2}")),
        format!("{:.2}", judged.measured.median),
        format!("±{:.0}%", judged.measured.spread_percent),
        if judged.is_reached { "reached" } else { "falls short" }.into(),
    ]
}

fn bounds<'j>(of: impl Iterator<Item = &'j Judged>) -> String {
    let bound = |judged: &Judged| {
        let text = format!("{} {:.2}: {}.", judged.goal, judged.measured.median, judged.bound?);
        Some(format!("<li>{}</li>", escape(&text)))
    };
    let items: String = of.filter_map(bound).collect();
    if items.is_empty() { items } else { format!("<ul>{items}</ul>") }
}

/// Races whose peer this build has not got.
fn left_out() -> String {
    let names: Vec<String> = RACES
        .iter()
        .filter(|race| !race.can_run())
        .map(|race| escape(&race.describe(race.keys)))
        .collect();
    match names.len() {
        0 => String::new(),
        _ => format!("<p>Not in this build: {}.</p>", names.join("; ")),
    }
}
