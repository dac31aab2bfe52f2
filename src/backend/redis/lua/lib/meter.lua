-- The algorithm of src/core/meter.ts, word for word, on a level that is packed into one value.

local LEVEL_FORMAT = '<Hddd'
local LEVEL_MAGIC = 0x5610
local LEVEL_BYTES = 26

local ROUNDING = 1e-12
local LONGEST_STEP_BACK = 60000000

local function is_finite(value)
  return value >= 0 and value < INF
end

-- Nothing where nothing is kept.
local function read_level()
  local raw = redis.call('GET', KEYS[1])
  if not raw then return nil end
  if #raw ~= LEVEL_BYTES then foreign('meter') end
  local magic, level, at, blocked_until = struct.unpack(LEVEL_FORMAT, raw)
  if magic ~= LEVEL_MAGIC or not (is_finite(level) and is_finite(at) and is_finite(blocked_until)) then foreign('meter') end
  return { level = level, at = at, blockedUntil = blocked_until }
end

-- It expires by itself once it is empty and not blocked: a little later, since the clock of expiries counts in
-- milliseconds. Where a test passes its own time, that may stand still for a while.
local function write_level(state, interval, now)
  local needless = math.max(state.at + state.level * interval, state.blockedUntil)
  local slack = ARGV[1] == '' and 1000 or 60000
  local ms = math.min(9e15, math.ceil((needless - now) / 1000) + slack)
  redis.call('SET', KEYS[1], struct.pack(LEVEL_FORMAT, LEVEL_MAGIC, state.level, state.at, state.blockedUntil),
    'PX', string.format('%.0f', ms))
end

local function level_at(state, interval, now)
  return math.max(0, state.level - math.max(0, now - state.at) / interval)
end

local function heal(state, now)
  local ahead = state.at - now
  if ahead <= LONGEST_STEP_BACK then return state end
  return { level = state.level, at = now, blockedUntil = math.max(0, state.blockedUntil - ahead) }
end

-- Whether the whole amount went in, and the state as the fill left it: the same table where it changed nothing.
local function fill(before, amount, capacity, interval, clamp, block, now)
  local state = heal(before, now)
  local at = math.max(state.at, now)
  local level = level_at(state, interval, now)
  local is_blocked = state.blockedUntil > now
  if not is_blocked and level + amount <= capacity * (1 + ROUNDING) then
    if amount == 0 then return true, state end
    return true, { level = level + amount, at = at, blockedUntil = state.blockedUntil }
  end
  if is_blocked or (not clamp and block == 0) then return false, state end
  return false, {
    level = clamp and math.max(level, capacity) or level,
    at = at,
    blockedUntil = block > 0 and now + block or state.blockedUntil,
  }
end
