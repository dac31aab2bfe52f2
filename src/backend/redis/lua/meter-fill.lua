#!lua
-- Fills a meter: lets leak what has leaked, then adds the amount, or what of it fits, or nothing. Without `allow-oom`: a full
-- memory refuses it.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | '', amount, capacity, interval, '1' to fill to the brim what does not fit | '0', block
-- Answers  { 1 when all of it went in | 0, now, level, at, blockedUntil }

local now, interval = read_now(ARGV[1]), number(ARGV[4])
local before = read_level() or { level = 0, at = 0, blockedUntil = 0 }
local accepted, state = fill(before, number(ARGV[2]), number(ARGV[3]), interval, ARGV[5] == '1', number(ARGV[6]), now)
if state ~= before then write_level(state, interval, now) end
return { accepted and 1 or 0, text(now), text(state.level), text(state.at), text(state.blockedUntil) }
