#!lua flags=no-writes
-- Returns the time of the shard's clock.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- Answers  microseconds since the epoch

return text(read_now(''))
