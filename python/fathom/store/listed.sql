SELECT runs.id, runs.uid, runs.experiment_id, runs.step_id, runs.label, runs.started_at_unix_s,
runs.saved_at_unix_s, runs.outcome, runs.failure, runs.command_line, runs.result_schema_version,
runs.warning_count, runs.block_bytes, runs.thread_count, runs.outstanding_per_thread,
runs.write_percent, runs.random_percent, runs.time_span_count, runs.measured_s, runs.cpu_percent,
runs.ios, runs.bytes, runs.read_iops, runs.read_mib_per_s, runs.read_latency_mean_ns,
runs.read_latency_p50_ns, runs.read_latency_p95_ns, runs.read_latency_p99_ns,
runs.read_latency_p999_ns, runs.read_latency_max_ns, runs.write_iops, runs.write_mib_per_s,
runs.write_latency_mean_ns, runs.write_latency_p50_ns, runs.write_latency_p95_ns,
runs.write_latency_p99_ns, runs.write_latency_p999_ns, runs.write_latency_max_ns, runs.total_iops,
runs.total_mib_per_s, runs.total_latency_mean_ns, runs.total_latency_p50_ns,
runs.total_latency_p95_ns, runs.total_latency_p99_ns, runs.total_latency_p999_ns,
runs.total_latency_max_ns, runs.sync_iops, runs.sync_latency_mean_ns, runs.sync_latency_p50_ns,
runs.sync_latency_p95_ns, runs.sync_latency_p99_ns, runs.sync_latency_p999_ns,
runs.sync_latency_max_ns, runs.origin, runs.origin_tool, runs.origin_tool_version,
runs.source_sha256, runs.source_position, provenances.tool_version, provenances.host_name,
provenances.kernel, provenances.cpu_model, provenances.cpu_count, provenances.cpu_governor,
provenances.memory_bytes, provenances.io_backends, run_targets.path AS target_path, run_targets.kind
AS target_kind, run_targets.size_bytes AS target_size_bytes, run_targets.file_system AS
target_file_system, run_targets.mount_options AS target_mount_options, run_targets.device_names,
run_targets.device_model, run_targets.device_serial, run_targets.device_firmware,
run_targets.device_scheduler, run_targets.device_write_cache, run_targets.device_is_rotational,
run_targets.device_bytes, (SELECT count(every_target.run_id) AS count_1
FROM run_targets AS every_target
WHERE every_target.run_id = runs.id) AS target_count, import_sources.name AS source_name
FROM runs
LEFT OUTER JOIN provenances ON runs.id = provenances.run_id
LEFT OUTER JOIN run_targets ON run_targets.run_id = runs.id AND run_targets.position = 0
LEFT OUTER JOIN import_sources ON import_sources.sha256 = runs.source_sha256
ORDER BY runs.id DESC LIMIT :limit
