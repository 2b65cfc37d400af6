//! Statistics and reports as JSON, with the names that Python has for them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use endura::{
    Checkpoint, CheckpointFailure, CheckpointStats, LeakRecovery, LeakRecoveryState, MapInfo,
    Report, Restored, Stats,
};
use serde_json::{Map, Value, json};

use super::opened::OpenPool;
use crate::failure::call;
use crate::handles::{PoolHandle, hold};
use crate::memory::{Buf, out};
use crate::status::{OK, Status};

/// Seconds since 1970.
fn at(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checkpoint(made: &Checkpoint) -> Value {
    json!({
        "at": at(made.at),
        "held": made.held.as_secs_f64(),
        "slowed": made.slowed.as_secs_f64(),
        "written_bytes": made.written_bytes,
    })
}

fn failure(failure: &CheckpointFailure) -> Value {
    json!({ "at": at(failure.at), "code": failure.code, "reason": failure.reason })
}

fn checkpoints(kept: &CheckpointStats) -> Value {
    json!({
        "file": kept.path.to_string_lossy(),
        "every": kept.every.map(|every| every.as_secs_f64()),
        "after_bytes": kept.after_bytes,
        "newest": kept.newest.map(at),
        "bytes": kept.bytes,
        "changed_bytes": kept.changed_bytes,
        "last": kept.last.as_ref().map(checkpoint),
        "last_failure": kept.last_failure.as_ref().map(failure),
        "failures_in_a_row": kept.failures_in_a_row,
    })
}

fn restored(what: &Restored) -> Value {
    json!({
        "at": at(what.at),
        "written_bytes": what.written_bytes,
        "reason": what.reason,
        "kept": what.kept.as_ref().map(|kept| kept.to_string_lossy()),
    })
}

fn leak_recovery(progress: &LeakRecovery) -> Value {
    let state = match progress.state {
        LeakRecoveryState::NotNeeded => "not_needed",
        LeakRecoveryState::Pending => "pending",
        LeakRecoveryState::Marking => "marking",
        LeakRecoveryState::Sweeping => "sweeping",
        LeakRecoveryState::Waiting => "waiting",
        LeakRecoveryState::Complete => "complete",
        LeakRecoveryState::Failed => "failed",
        _ => "other",
    };
    json!({
        "state": state,
        "bytes": progress.bytes,
        "bytes_swept": progress.bytes_swept,
        "bytes_freed": progress.bytes_freed,
        "chunks_marked": progress.chunks_marked,
    })
}

fn stats(stats: &Stats) -> Value {
    json!({
        "file_bytes": stats.file_bytes,
        "bytes_in_use": stats.bytes_in_use,
        "free_chunk_bytes": stats.free_chunk_bytes,
        "limbo_bytes": stats.limbo_bytes,
        "max_bytes": stats.max_bytes,
        "generation": stats.generation,
        "clean_open": stats.clean_open,
        "read_only": stats.read_only,
        "uuid": hex(&stats.uuid),
        "domain": stats.domain.to_string(),
        "power_safe": stats.power_safe,
        "filesystem": stats.filesystem,
        "after_power_loss": stats.after_power_loss.code(),
        "leak_recovery": leak_recovery(&stats.leak_recovery),
        "checkpoints": stats.checkpoints.as_ref().map(checkpoints),
        "restored": stats.restored.as_ref().map(restored),
        "warnings": stats.warnings,
    })
}

fn map(info: &MapInfo) -> Value {
    json!({
        "key_type": info.types.key,
        "value_type": info.types.value,
        "kind": info.kind.map(endura::Kind::name),
        "entries": info.is_counted.then_some(info.approximate_len),
    })
}

fn report(report: &Report) -> Value {
    let maps = report.maps.iter().map(|map| {
        let facts = json!({
            "kind": map.kind.name(),
            "entries": map.entries,
            "nodes": map.nodes,
            "height": map.height,
            "repairs_pending": map.repairs.total(),
        });
        (map.name.clone(), facts)
    });
    Value::Object(maps.collect())
}

/// Facts and figures of a pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_stats_json(pool: PoolHandle, json: *mut Buf) -> Status {
    call(|| {
        let json = out(json, "json")?;
        let found = hold::<OpenPool>(pool.id)?.pool.stats()?;
        json.set(stats(&found).to_string().as_bytes())?;
        Ok(OK)
    })
}

/// The maps of a pool, by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_maps_json(pool: PoolHandle, json: *mut Buf) -> Status {
    call(|| {
        let json = out(json, "json")?;
        let found = hold::<OpenPool>(pool.id)?.pool.maps()?;
        let maps: Map<_, _> = found.iter().map(|info| (info.name.clone(), map(info))).collect();
        json.set(Value::Object(maps).to_string().as_bytes())?;
        Ok(OK)
    })
}

/// Checks all maps of a pool; the report may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn endura_verify(pool: PoolHandle, json: *mut Buf) -> Status {
    call(|| {
        let found = hold::<OpenPool>(pool.id)?.pool.verify()?;
        if !json.is_null() {
            out(json, "json")?.set(report(&found).to_string().as_bytes())?;
        }
        Ok(OK)
    })
}
