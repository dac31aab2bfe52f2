#!lua flags=no-writes
-- How many jobs were admitted, were granted a slot, have ended, and were rejected, since the shard began.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | ''
-- Answers  { now, admitted, granted, ended, rejected }

local now = read_now(ARGV[1])
local meta = read_meta()
return { text(now), text(meta.admitted), text(meta.granted), text(meta.ended), text(meta.rejected) }
