#!lua
-- Fills a meter. Without `allow-oom`: a full memory rejects it.
-- uses: meter level
--
-- KEYS[1]  the meter's level
-- ARGV     now | '', amount, capacity, interval, '1' to fill up to the capacity where the amount does not fit | '0', block
-- Answers  doubles, packed: 1 when all of it went in | 0, now, level, at, blockedUntil, interval

local now, amount, capacity, interval = read_now(ARGV[1]), number(ARGV[2]), number(ARGV[3]), number(ARGV[4])
local fits, level, at, blocked_until, kept, changes, is_over =
  fill_level(true, now, amount, capacity, interval, ARGV[5] == '1', number(ARGV[6]), read_level())
if changes then
  keep_level(level, at, blocked_until, kept, '', math.max(at + level * kept, blocked_until), now)
elseif is_over then
  redis.call('DEL', KEYS[1])
end
return struct.pack('<dddddd', fits and 1 or 0, now, level, at, blocked_until, kept)
