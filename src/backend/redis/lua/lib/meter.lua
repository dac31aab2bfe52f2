-- The level of a meter, packed into one value; here it is three numbers, because tables would be a third of a script's cost.

local LEVEL_FORMAT = '<Hddd'
local LEVEL_MAGIC = 0x5610
local LEVEL_BYTES = 26

local function is_finite(value)
  return value >= 0 and value < INF
end

-- Answers level, at, blocked_until; nothing where nothing is kept.
local function read_level()
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  if #raw ~= LEVEL_BYTES then foreign('meter') end
  local magic, level, at, blocked_until = struct.unpack(LEVEL_FORMAT, raw)
  if magic ~= LEVEL_MAGIC or not (is_finite(level) and is_finite(at) and is_finite(blocked_until)) then foreign('meter') end
  return level, at, blocked_until
end
