DROP TABLE cleanup_runs;
