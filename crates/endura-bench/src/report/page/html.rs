//! Pieces of a page.

use crate::figures::{in_unit, short};
use crate::report::charts::{Look, colours, svg};
use crate::results::{Across, Plot, Series};

/// Text that may hold anything.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// A table; the first column is text, the others are figures unless their head begins with `~`.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let class = |name: &str| if name.starts_with('~') { " class=\"text\"" } else { "" };
    let cell = |tag: &str, name: &str, text: &str| {
        format!("<{tag}{}>{}</{tag}>", class(name), escape(text.trim_start_matches('~')))
    };
    let heads: String = head.iter().map(|name| cell("th", name, name)).collect();
    let line = |row: &Vec<String>| {
        let cells: String =
            head.iter().zip(row).map(|(name, text)| cell("td", name, text)).collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = rows.iter().map(line).collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

/// A plot with its title, legend and figures; nothing where it holds none.
pub(super) fn figure(plot: &Plot, look: Look<'_>, wide: bool) -> String {
    let Some(svg) = svg(plot, Look { wide, ..look }) else { return String::new() };
    let names = plot.series.iter().zip(colours(plot)).map(|(series, colour)| {
        format!("<li><i class=\"k{colour}\"></i>{}</li>", escape(&series.name))
    });
    let class = if wide { "card wide" } else { "card" };
    // The drawing has a name for those who hear the page.
    let svg = svg.replacen(
        "<svg",
        &format!("<svg role=\"img\" aria-label=\"{}\"", escape(&plot.title)),
        1,
    );
    format!(
        "<figure class=\"{class}\"><h4>{}</h4><ul class=\"legend\">{}</ul>{svg}\
         <details><summary>figures</summary>{}</details></figure>",
        escape(&plot.title),
        names.collect::<String>(),
        figures(plot)
    )
}

/// Several plots, each a card.
pub(super) fn grid(plots: &[Plot], look: Look<'_>) -> String {
    let wide = |plot: &Plot| match &plot.across {
        Across::Groups(_) if look.joined => false,
        Across::Groups(names) => names.len() * plot.series.len() > 32 && !plot.stacked,
        Across::Number { .. } => false,
    };
    let cards: String = plots.iter().map(|plot| figure(plot, look, wide(plot))).collect();
    if cards.is_empty() {
        return "<p>Nothing was measured.</p>".into();
    }
    format!("<div class=\"grid\">{cards}</div>")
}

/// The figures of a plot, each with its spread.
fn figures(plot: &Plot) -> String {
    let mut places: Vec<f64> = plot.series.iter().flat_map(|s| s.places()).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let name = |x: f64| match &plot.across {
        Across::Groups(names) => names.get(x as usize).cloned().unwrap_or_default(),
        Across::Number { .. } => short(x),
    };
    let head = match &plot.across {
        Across::Groups(_) => String::new(),
        Across::Number { name, unit, .. } => format!("{name} {unit}"),
    };
    let mut heads = vec![head.trim().to_string()];
    heads.extend(plot.series.iter().map(|series| series.name.clone()));
    let rows: Vec<Vec<String>> = places
        .iter()
        .map(|&x| {
            let of = |series: &Series| {
                let point = series.points.iter().find(|point| point.x == x);
                point.map_or(String::new(), |p| match p.spread_percent {
                    0.0 => in_unit(p.y, &plot.unit),
                    spread => format!("{} ±{spread:.0}%", in_unit(p.y, &plot.unit)),
                })
            };
            std::iter::once(name(x)).chain(plot.series.iter().map(of)).collect()
        })
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(&heads, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_can_break_the_page() {
        assert_eq!(escape("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
        let table = table(&["~<x>", "y"], &[vec!["<script>".into(), "1".into()]]);
        assert!(table.contains("&lt;script&gt;") && !table.contains("<script>"));
    }
}
