#!lua flags=no-writes
-- Reads the level of a meter, and what its quotas count.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | ''
-- Answers  doubles, packed: now, level, at, blockedUntil, interval ('0' each but now where nothing is kept); and behind them what
--          counts, packed

local now = read_now(ARGV[1])
local level, at, blocked_until, kept, raw = read_level()
if not level then level, at, blocked_until, kept, raw = 0, 0, 0, 0, '' end
return struct.pack('<ddddd', now, level, at, blocked_until, kept) .. string.sub(raw, LEVEL_BYTES + 1)
