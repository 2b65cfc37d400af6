//! Statistics and reports as dictionaries, with the names of `endura info --json` and of the library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endura::{Checkpoint, CheckpointFailure, CheckpointStats, MapInfo, Report, Restored, Stats};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::in_python;

/// Seconds since 1970, as `time.time()` counts.
fn at(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

pub(super) fn stats<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file_bytes", stats.file_bytes)?;
    dict.set_item("bytes_in_use", stats.bytes_in_use)?;
    dict.set_item("free_chunk_bytes", stats.free_chunk_bytes)?;
    dict.set_item("limbo_bytes", stats.limbo_bytes)?;
    dict.set_item("max_bytes", stats.max_bytes)?;
    dict.set_item("generation", stats.generation)?;
    dict.set_item("clean_open", stats.clean_open)?;
    dict.set_item("read_only", stats.read_only)?;
    dict.set_item("uuid", hex(&stats.uuid))?;
    dict.set_item("domain", stats.domain.to_string())?;
    dict.set_item("power_safe", stats.power_safe)?;
    dict.set_item("filesystem", stats.filesystem)?;
    let kept = stats.checkpoints.as_ref().map(|kept| checkpoints(py, kept)).transpose()?;
    dict.set_item("checkpoints", kept)?;
    let restored = stats.restored.as_ref();
    dict.set_item("restored_to", restored.map(|restored| at(restored.at)))?;
    dict.set_item("restored", restored.map(|what| self::restored(py, what)).transpose()?)?;
    let warnings = stats.warnings.iter().map(|warning| in_python(warning));
    dict.set_item("warnings", PyList::new(py, warnings.collect::<Vec<_>>())?)?;
    Ok(dict)
}

pub(super) fn restored<'py>(py: Python<'py>, what: &Restored) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("at", at(what.at))?;
    dict.set_item("written_bytes", what.written_bytes)?;
    dict.set_item("reason", what.reason.map(in_python))?;
    dict.set_item("kept", &what.kept)?;
    Ok(dict)
}

fn failure<'py>(py: Python<'py>, failure: &CheckpointFailure) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("at", at(failure.at))?;
    dict.set_item("code", failure.code)?;
    dict.set_item("reason", in_python(&failure.reason))?;
    Ok(dict)
}

fn checkpoints<'py>(py: Python<'py>, kept: &CheckpointStats) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("file", &kept.path)?;
    dict.set_item("every", kept.every.map(|every| every.as_secs_f64()))?;
    dict.set_item("newest", kept.newest.map(at))?;
    dict.set_item("bytes", kept.bytes)?;
    dict.set_item("changed_bytes", kept.changed_bytes)?;
    let last = kept.last_failure.as_ref().map(|last| failure(py, last)).transpose()?;
    dict.set_item("last_failure", last)?;
    dict.set_item("failures_in_a_row", kept.failures_in_a_row)?;
    Ok(dict)
}

pub(super) fn checkpoint<'py>(py: Python<'py>, made: &Checkpoint) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("at", at(made.at))?;
    dict.set_item("held", made.held.as_secs_f64())?;
    dict.set_item("slowed", made.slowed.as_secs_f64())?;
    dict.set_item("written_bytes", made.written_bytes)?;
    Ok(dict)
}

pub(super) fn map<'py>(py: Python<'py>, info: &MapInfo) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("key_type", &info.types.key)?;
    dict.set_item("value_type", &info.types.value)?;
    dict.set_item("kind", info.kind.map(endura::Kind::name))?;
    dict.set_item("entries", info.is_counted.then_some(info.approximate_len))?;
    Ok(dict)
}

pub(super) fn check<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let maps = PyDict::new(py);
    for map in &report.maps {
        let dict = PyDict::new(py);
        dict.set_item("kind", map.kind.name())?;
        dict.set_item("entries", map.entries)?;
        dict.set_item("nodes", map.nodes)?;
        dict.set_item("height", map.height)?;
        dict.set_item("repairs_pending", map.repairs.total())?;
        maps.set_item(&map.name, dict)?;
    }
    Ok(maps)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
