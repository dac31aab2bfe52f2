-- The algorithm of src/core/bucket.ts, word for word, on a bucket that is packed into one field.

-- Numbers first, then pattern, limit and the job that was granted a slot; none of these texts holds a zero byte.
local BUCKET_FORMAT = '<HI4dddI4ddddBdddI4BdddddI4I4I4I4I4sss'
local BUCKET_MAGIC = 0x5601

local function read_bucket(key)
  local raw = redis.call('HGET', K.buckets, key)
  if not raw then return nil end
  local ok, magic, n, capacity, interval, tolerance, book, next_, carry, frozen, waiting, paused, last_cost, last_start,
    started_cost, running, lines_turn, from, handed, returned, granted_slot, granted_cost, in_line, in_handed, in_retry,
    in_back, turns, pattern, limit, granted, stop = pcall(struct.unpack, BUCKET_FORMAT, raw)
  if not ok or magic ~= BUCKET_MAGIC or stop ~= #raw + 1 then foreign('buckets') end
  -- All fields at once: a table that grows is made again and again.
  return {
    key = key, n = n, capacity = capacity, interval = interval, tolerance = tolerance, book = book, next = next_,
    carry = carry, frozen = frozen, waiting = waiting, paused = paused, lastCost = last_cost, lastStart = last_start,
    startedCost = started_cost, running = running, linesTurn = lines_turn, from = from, handed = handed,
    returned = returned, grantedSlot = granted_slot, grantedCost = granted_cost, pattern = pattern, limit = limit,
    granted = granted, inLine = in_line, inHanded = in_handed, inRetry = in_retry, inBack = in_back, turns = turns,
    hadTurns = turns > 0,
  }
end

local function write_bucket(b)
  redis.call('HSET', K.buckets, b.key, struct.pack(BUCKET_FORMAT, BUCKET_MAGIC, b.n, b.capacity, b.interval, b.tolerance,
    b.book, b.next, b.carry, b.frozen, b.waiting, b.paused, b.lastCost, b.lastStart, b.startedCost, b.running,
    b.linesTurn, b.from, b.handed, b.returned, b.grantedSlot, b.grantedCost, b.inLine, b.inHanded, b.inRetry, b.inBack,
    b.turns, b.pattern, b.limit, b.granted))
end

-- `rule`: { pattern, capacity, interval, tolerance, limit, book } with numbers as numbers.
local function new_bucket(key, n, rule)
  return {
    key = key, n = n, pattern = rule.pattern, capacity = rule.capacity, interval = rule.interval,
    tolerance = rule.tolerance, limit = rule.limit, book = rule.book, next = -INF, carry = 0, frozen = 0, paused = 0,
    waiting = 0, lastCost = 0, lastStart = -INF, startedCost = 0, running = 0, linesTurn = 0, from = -INF,
    handed = 0, returned = 0, granted = '', grantedSlot = 0, grantedCost = 0, inLine = 0, inHanded = 0, inRetry = 0,
    inBack = 0, turns = 0, hadTurns = false,
  }
end

-- What a call brings along about the rule in force, five arguments from `at` on.
local function read_rule(at, book)
  return {
    pattern = ARGV[at], capacity = number(ARGV[at + 1]), interval = number(ARGV[at + 2]),
    tolerance = number(ARGV[at + 3]), limit = ARGV[at + 4], book = book,
  }
end

-- A slot further away is not waited for in a worker.
local FARTHEST_SLOT = 250000

-- No slot was granted further ahead; what is, was granted before the clock was set back.
local function farthest_next(bucket, now)
  return now + 2 * FARTHEST_SLOT + bucket.interval * math.max(bucket.lastCost, bucket.startedCost)
end

local function next_slot(bucket, now)
  return math.max(now, bucket.next, bucket.frozen)
end

local function set_next(bucket, slot, carry)
  local step = bucket.interval * bucket.lastCost + carry
  bucket.next = slot + step
  bucket.carry = step - (bucket.next - slot)
end

local function reserve(bucket, cost, now)
  local slot = next_slot(bucket, now)
  bucket.lastCost = cost
  set_next(bucket, slot, slot == bucket.next and bucket.carry or 0)
  return slot
end

-- Only the last slot can be given back, and the last it is: nobody is granted one while another has not started. The
-- limit may have been lowered since it was granted.
local function unreserve(bucket)
  local from_start = bucket.lastStart - bucket.tolerance + bucket.interval * bucket.startedCost
  bucket.next = math.max(bucket.grantedSlot, from_start)
  bucket.carry = 0
  bucket.lastCost = 0
end

-- Lateness within the tolerance keeps the slot on the grid; one who found the bucket idle has none to keep.
local function reserve_due(bucket, cost, due, now)
  local on_grid = due <= math.max(bucket.next, bucket.frozen) and now - due <= bucket.tolerance
  return reserve(bucket, cost, on_grid and due or now), on_grid
end

local function depart(bucket, cost, at)
  bucket.waiting = bucket.waiting - cost
  bucket.lastStart = at
  bucket.startedCost = cost
end

-- Counted from the last slot, or from the last start where that was later than the new tolerance forgives.
local function change_limit(bucket, rule)
  bucket.book = rule.book
  if bucket.pattern == rule.pattern and bucket.limit == rule.limit then return false end
  local from_slot = bucket.next + (rule.interval - bucket.interval) * bucket.lastCost
  local from_start = bucket.lastStart - rule.tolerance + rule.interval * bucket.startedCost
  bucket.pattern, bucket.limit = rule.pattern, rule.limit
  bucket.capacity, bucket.interval, bucket.tolerance = rule.capacity, rule.interval, rule.tolerance
  bucket.next = math.max(from_slot, from_start)
  bucket.carry = 0
  return true
end
