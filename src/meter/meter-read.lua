#!lua flags=no-writes
-- What is known of a meter.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | ''
-- Answers  doubles, packed: now where nothing is kept | now, level, at, blockedUntil, interval

local now = read_now(ARGV[1])
local level, at, blocked_until, kept = read_level()
if not level then return struct.pack('<d', now) end
return struct.pack('<ddddd', now, level, at, blocked_until, kept)
