-- The level of a meter, packed into one value. Four numbers and no table, which would be a third of a script's cost.

local LEVEL_FORMAT = '<Hdddd'
local LEVEL_MAGIC = 0x5611
local LEVEL_BYTES = 34

local function is_finite(value)
  return value >= 0 and value < INF
end

-- Returns level, at, blocked_until, and kept, the interval of the last fill; nil where nothing is kept.
local function read_level()
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  if #raw ~= LEVEL_BYTES then foreign('meter') end
  local magic, level, at, blocked_until, kept = struct.unpack(LEVEL_FORMAT, raw)
  local are_finite = is_finite(level) and is_finite(at) and is_finite(blocked_until) and is_finite(kept)
  if magic ~= LEVEL_MAGIC or not are_finite then foreign('meter') end
  return level, at, blocked_until, kept
end
