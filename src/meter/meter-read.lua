#!lua flags=no-writes
-- Reads the level of a meter.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | ''
-- Answers  doubles, packed: now, level, at, blockedUntil, interval ('0' each but now where nothing is kept)

local now = read_now(ARGV[1])
local level, at, blocked_until, kept = read_level()
if not level then level, at, blocked_until, kept = 0, 0, 0, 0 end
return struct.pack('<ddddd', now, level, at, blocked_until, kept)
