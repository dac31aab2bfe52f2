#!lua
-- Fills a meter whose limit has quotas: the bucket and every quota, or nothing. The same as `fillQuotas` of
-- src/core/meter-quotas.ts. It changes nothing and says so where it does not know the periods of now, or where what is kept was
-- counted for other windows: then the caller brings the right ones.
-- uses: meter level quota room counts
--
-- KEYS[1]  the meter's level
-- ARGV     now | '', amount, capacity, interval, '1' to fill up to the capacity where the amount does not fit | '0', block, the windows
--          as text, what is kept for other windows | '', what counts instead of it, then for each quota: its amount, what the fill
--          counts, the length of its window | '0', and of a calendar four bounds of its periods, else four '0'
-- Answers  doubles, packed: 1 when it went in | 0 | -1 when the caller has to ask again, now, level, at, blockedUntil, interval; and
--          behind them what counts, packed

local FIRST, SIZE = 10, 7
expect_arguments(FIRST - 1)
if (#ARGV + 1 - FIRST) % SIZE ~= 0 then refuse_arguments() end
local now, amount, capacity, interval = read_now(ARGV[1]), number(ARGV[2]), number(ARGV[3]), number(ARGV[4])
local windows, parts = ARGV[7], {}
for at = FIRST, #ARGV, SIZE do
  local length = number(ARGV[at + 2])
  local part = { amount = number(ARGV[at]), charge = number(ARGV[at + 1]), bounds = {} }
  if length > 0 then part.length = length end
  for bound = 1, 4 do part.bounds[bound] = number(ARGV[at + 2 + bound]) end
  parts[#parts + 1] = part
end

local level, at, blocked_until, kept, raw = read_level()
local stored = raw and string.sub(raw, LEVEL_BYTES + 1) or ''
local is_other = ARGV[8] ~= '' and stored == ARGV[8]
if is_other then stored = ARGV[9] end
local uses, is_known = counts.unpack(stored, windows, #parts), true
for _, part in ipairs(parts) do is_known = is_known and counts.is_known(part, now) end
if not uses or not is_known then return struct.pack('<dddddd', -1, now, 0, 0, 0, 0) .. stored end

-- What another limit, the time or a clock that was set back has changed is kept also where nothing goes in.
local is_allowed, is_moved = true, is_other
for index, part in ipairs(parts) do
  local ends = uses[index].ends
  local size, last = #ends, ends[#ends]
  counts.forget(uses[index], now)
  quota.clamp(part, uses[index], now)
  is_moved = is_moved or #ends ~= size or ends[#ends] ~= last
  local has_room = part.charge <= part.amount and quota.room_at(part, uses[index], part.charge, now) == now
  is_allowed = is_allowed and has_room
end
local fits, changes, is_over
fits, level, at, blocked_until, kept, changes, is_over =
  fill_level(is_allowed, now, amount, capacity, interval, ARGV[5] == '1', number(ARGV[6]), level, at, blocked_until, kept)
for index, part in ipairs(parts) do
  if fits and part.charge > 0 then
    quota.charge(part, uses[index], part.charge, now)
    changes = true
  end
end
local packed, last = counts.pack(windows, uses)
if packed == '' and kept == 0 then
  if is_over or is_moved then redis.call('DEL', KEYS[1]) end
elseif changes or is_moved then
  keep_level(level, at, blocked_until, kept, packed, math.max(at + level * kept, blocked_until, last), now)
end
return struct.pack('<dddddd', fits and 1 or 0, now, level, at, blocked_until, kept) .. packed
