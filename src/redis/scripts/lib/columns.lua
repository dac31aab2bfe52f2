-- What buckets are sorted by: `valueOf` of src/line/bucket-order.ts, with times in microseconds.

local LEAST = -1.7976931348623157e308

local function or_zero(value)
  return value > -INF and value < INF and value or 0
end

local COLUMNS = {
  key = function(bucket) return bucket.key, 0 end,
  pattern = function(bucket) return bucket.pattern, 0 end,
  state = function(bucket, at) return state_of(bucket, at), 0 end,
  fill = function(bucket) return bucket.fill, 0 end,
  waiting = function(bucket) return bucket.waiting, 0 end,
  capacity = function(bucket) return bucket.capacity, 0 end,
  jobs = function(bucket) return bucket.inLine + bucket.inHanded, 0 end,
  retrying = function(bucket) return retrying(bucket), 0 end,
  running = function(bucket) return bucket.running, 0 end,
  nextDepartureAt = function(bucket, at)
    local _, above_at = above(bucket, at)
    return or_zero(math.max(next_departure(bucket, at), above_at)), usage.of(bucket) and 1 or 0
  end,
  oldestWaitMs = function(bucket)
    local first, _, reads = admissions(bucket)
    return math.max(LEAST, -first), reads
  end,
  lastUsedAt = function(bucket)
    local _, last, reads = admissions(bucket)
    return or_zero(math.max(bucket.lastStart, last)), reads
  end,
}

local IS_TEXT = { key = true, pattern = true, state = true }

-- Reads a value of the column from an argument.
local function read_value(column, argument)
  return IS_TEXT[column] and argument or number_or_inf(argument)
end

-- Whether one place comes before the other: by value, ascending or descending; where values are equal, by key, ascending.
local function stands_before(value, key, other, other_key, is_down)
  if value == other then return is_before(key, other_key) end
  local is_less = type(value) == 'string' and is_before(value, other) or type(value) == 'number' and value < other
  return is_less ~= is_down
end
