//! What we have set ourselves, race by race.

use super::html::escape;
use crate::goals::{Judged, RACES};

/// The section of the page; there is none without goals.
pub(super) fn section(goals: &[Judged]) -> String {
    let mut races: Vec<&str> = goals.iter().map(|judged| judged.race.as_str()).collect();
    races.dedup();
    let tables: String = races
        .into_iter()
        .map(|race| {
            let of = || goals.iter().filter(|judged| judged.race == race);
            let rows: String = of().map(row).collect();
            format!(
                "<h3>{}</h3><div class=\"scroll\"><table class=\"goals\">{HEAD}<tbody>{rows}</tbody></table></div>{}",
                escape(race),
                bounds(of())
            )
        })
        .collect();
    let reached = goals.iter().filter(|judged| judged.is_reached).count();
    format!(
        "<p>How fast an index is to be, set before it was built; the two run in turns. {reached} of {} goals are \
         reached; under each table stands what stopped the others, as far as it is known. The line in a bar is what \
         is asked; a bar ends at twice that. Colours say whether a goal is reached, and whether one that is not falls \
         short by less than what lies between rounds.</p>{tables}{}",
        goals.len(),
        left_out()
    )
}

const HEAD: &str = "<thead><tr><th>goal</th><th>asked</th><th>aim</th><th>here</th><th>spread</th>\
                    <th class=\"text\">of what is asked</th><th class=\"text\">verdict</th></tr></thead>";

/// With a bar that reaches its middle where the goal is reached, and its end at twice that.
fn row(judged: &Judged) -> String {
    let class = match (judged.is_reached, judged.is_close()) {
        (true, _) => "holds",
        (_, true) => "partly",
        (_, false) => "does_not_hold",
    };
    let (part, verdict) = (judged.part(), judged.verdict());
    format!(
        "<tr><td>{}</td><td>{:.2}</td><td>{}</td><td>{:.2}</td><td>\u{b1}{:.0}%</td>\
         <td class=\"text\"><span class=\"meter {class}\" role=\"img\" aria-label=\"{:.0}%\">\
         <i style=\"width:{:.1}%\"></i></span></td><td class=\"text verdict {class}\">{verdict}</td></tr>",
        escape(&judged.goal),
        judged.asked,
        judged.aim.map_or(String::new(), |aim| format!("{aim:.2}")),
        judged.measured.median,
        judged.measured.spread_percent,
        100.0 * part,
        50.0 * part.min(2.0),
    )
}

fn bounds<'j>(of: impl Iterator<Item = &'j Judged>) -> String {
    let bound = |judged: &Judged| {
        let text = format!("{} {:.2}: {}.", judged.goal, judged.measured.median, judged.reason()?);
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
