//! Measurements as comma-separated values, one a line.

use crate::results::{Measurement, Results};

const HEADER: &str = "suite,workload,store,threads,entries,parameter,value,parameter_unit,quantity,unit,median,spread_percent,p50_ns,p90_ns,p99_ns,p999_ns,p9999_ns,max_ns,rounds";

/// All measurements.
pub(super) fn csv(results: &Results) -> String {
    let lines = results.measurements.iter().map(line);
    std::iter::once(HEADER.to_string()).chain(lines).map(|line| line + "\n").collect()
}

fn line(m: &Measurement) -> String {
    let parameter = m.parameter.as_ref();
    let latency = m.latency_ns.map_or([const { String::new() }; 6], |l| {
        [l.p50, l.p90, l.p99, l.p999, l.p9999, l.max].map(|ns| ns.to_string())
    });
    let rounds: Vec<String> = m.rounds.iter().map(f64::to_string).collect();
    let fields = [
        m.suite.clone(),
        m.workload.clone(),
        m.store.clone(),
        m.threads.to_string(),
        m.entries.to_string(),
        parameter.map_or(String::new(), |p| p.name.clone()),
        parameter.map_or(String::new(), |p| p.value.to_string()),
        parameter.map_or(String::new(), |p| p.unit.clone()),
        m.quantity.clone(),
        m.unit.clone(),
        m.median.median.to_string(),
        m.median.spread_percent.to_string(),
    ];
    let all: Vec<String> = fields.into_iter().chain(latency).chain([rounds.join(" ")]).collect();
    all.iter().map(|field| quoted(field)).collect::<Vec<_>>().join(",")
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_as_many_fields_as_the_header() {
        let text = csv(&crate::report::tests::results());
        let commas = HEADER.matches(',').count();
        assert!(text.lines().count() > 5);
        assert!(text.lines().all(|line| line.matches(',').count() == commas), "{text}");
        assert_eq!(quoted("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }
}
