-- The level of a meter, packed into one value. Four numbers and no table, which would be a third of a script's cost.

local LEVEL_FORMAT = '<Hdddd'
local LEVEL_MAGIC = 0x5611
local LEVEL_BYTES = 34
-- What quotas count stands behind the level, and begins so: see counts.lua.
local COUNTS_HEAD = '\18\86'

local function is_finite(value)
  return value >= 0 and value < INF
end

-- Returns level, at, blocked_until, and kept, the interval of the last fill, and the whole value; nil where nothing is kept.
local function read_level()
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  if #raw ~= LEVEL_BYTES and string.sub(raw, LEVEL_BYTES + 1, LEVEL_BYTES + 2) ~= COUNTS_HEAD then foreign('meter') end
  local magic, level, at, blocked_until, kept = struct.unpack(LEVEL_FORMAT, raw)
  local are_finite = is_finite(level) and is_finite(at) and is_finite(blocked_until) and is_finite(kept)
  if magic ~= LEVEL_MAGIC or not are_finite then foreign('meter') end
  return level, at, blocked_until, kept, raw
end

-- Keeps the level, and `counts` behind it, which may be empty. The key expires at `needless`; a little later, because expiry counts
-- in milliseconds. Later still where a test passes its own time, which may stand still for a while.
local function keep_level(level, at, blocked_until, kept, counts, needless, now)
  local slack = ARGV[1] == '' and 1000 or 60000
  local ms = math.min(9e15, math.ceil((needless - now) / 1000) + slack)
  local packed = struct.pack(LEVEL_FORMAT, LEVEL_MAGIC, level, at, blocked_until, kept)
  redis.call('SET', KEYS[1], packed .. counts, 'PX', string.format('%.0f', ms))
end
