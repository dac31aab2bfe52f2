#!lua
-- Fills a meter: leaks what has leaked since, then adds the amount, or as much of it as fits, or nothing. Without `allow-oom`:
-- a full memory rejects it. The same as `fill` of src/core/meter.ts, operation by operation.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | '', amount, capacity, interval, '1' to fill up to the capacity where the amount does not fit | '0', block
-- Answers  doubles, packed: 1 when all of it went in | 0, now, level, at, blockedUntil, interval

local now, amount, capacity, interval = read_now(ARGV[1]), number(ARGV[2]), number(ARGV[3]), number(ARGV[4])
local clamp, block = ARGV[5] == '1', number(ARGV[6])
local level, at, blocked_until, kept = read_level()
local changes, is_over = false, false

-- A level that is empty and not blocked counts as none. Else it is corrected where the clock was set back.
local ahead = level and at - now
if level and ahead > LONGEST_STEP_BACK then
  at, blocked_until, changes = now, math.max(0, blocked_until - ahead), true
elseif not level or math.max(at + level * kept, blocked_until) + 1 <= now then
  is_over = level ~= nil
  level, at, blocked_until, kept = 0, 0, 0, 0
end

local left_over = math.max(0, level - math.max(0, now - at) / math.max(kept, interval))
local filled = amount == 0 and left_over or math.max(left_over + amount, left_over * LEAST_GROWTH)
local is_blocked = blocked_until > now
local fits = not is_blocked and filled <= capacity * (1 + ROUNDING)
if fits and amount ~= 0 then
  level, at, changes = filled, math.max(at, now), true
elseif not fits and not is_blocked and (clamp or block ~= 0) then
  level, at, changes = clamp and math.max(left_over, capacity) or left_over, math.max(at, now), true
  if block > 0 then blocked_until = now + block end
elseif kept ~= 0 and kept ~= interval then
  level, at, changes = left_over, math.max(at, now), true
end
if changes then kept = interval end

-- The key expires once the level is empty and not blocked; a little later, because expiry counts in milliseconds. Later still
-- where a test passes its own time, which may stand still for a while.
if changes then
  local needless = math.max(at + level * kept, blocked_until)
  local slack = ARGV[1] == '' and 1000 or 60000
  local ms = math.min(9e15, math.ceil((needless - now) / 1000) + slack)
  local packed = struct.pack(LEVEL_FORMAT, LEVEL_MAGIC, level, at, blocked_until, kept)
  redis.call('SET', KEYS[1], packed, 'PX', string.format('%.0f', ms))
elseif is_over then
  redis.call('DEL', KEYS[1])
end
return struct.pack('<dddddd', fits and 1 or 0, now, level, at, blocked_until, kept)
