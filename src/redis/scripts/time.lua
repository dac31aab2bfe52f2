#!lua flags=no-writes
-- What the shard's clock says.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- Answers  microseconds since the epoch

return text(read_now(''))
