-- The record of a bucket, packed into one field.

-- Numbers first (one holds linesTurn and, as 2, hasRun: see run.lua), then texts without a zero byte: pattern, limit, granted.
local BUCKET_FORMAT = '<HI4dddI4ddddBdddI4BddddddI4I4I4I4I4ddsss'
local BUCKET_MAGIC = 0x5621
-- More is added to that of a bucket with a warm-up, which then has its numbers at its end, and of one below totals: see member.lua.
local WARM, WARM_FORMAT, BELOW = 4, 'ddddd', 8

-- The path of a total: no key ends so.
local function is_total(key)
  return string.byte(key, -1) == 47
end

local function parse_bucket(key, raw)
  local ok, magic, n, capacity, interval, tolerance, book, next_, carry, frozen, waiting, paused, last_cost, last_start,
    started_cost, running, flags, from, handed, returned, back_units, granted_slot, granted_cost, in_line, in_handed,
    in_retry, in_back, turns, front, joined, pattern, limit, granted, stop = pcall(struct.unpack, BUCKET_FORMAT, raw)
  local warm_up, cold, warmth, last_warmth, started_warmth, member = 0, interval, 0, 0, 0, nil
  local more = ok and magic - BUCKET_MAGIC or 0
  if more == WARM or more == WARM + BELOW then
    ok, warm_up, cold, warmth, last_warmth, started_warmth, stop = pcall(struct.unpack, WARM_FORMAT, raw, stop)
  end
  if ok and (more == BELOW or more == WARM + BELOW) then ok, member, stop = pcall(family.unpack_member, raw, stop)
  elseif more ~= 0 and more ~= WARM then ok = false end
  if not ok or stop ~= #raw + 1 then foreign('buckets') end
  -- No number of ours, and with it no time could be written.
  local sum = next_ == next_ and last_start == last_start and from == from and carry + frozen + waiting + handed + granted_slot
  if not sum or sum ~= sum then foreign('buckets') end
  if frozen ~= 0 then frozen = frozen - set_back() end
  -- All fields at once: a table that grows is made again and again.
  local bucket = {
    key = key, n = n, suffix = n .. '', capacity = capacity, interval = interval, tolerance = tolerance, book = book, next = next_,
    carry = carry, frozen = frozen, waiting = waiting, paused = paused, lastCost = last_cost, lastStart = last_start,
    startedCost = started_cost, running = running, linesTurn = flags % 2, hasRun = flags >= 2, from = from, handed = handed,
    returned = returned, backUnits = back_units, grantedSlot = granted_slot, grantedCost = granted_cost, pattern = pattern, limit = limit,
    granted = granted, inLine = in_line, inHanded = in_handed, inRetry = in_retry, inBack = in_back, turns = turns,
    hadTurns = turns > 0, front = front, joined = joined, warmUp = warm_up, coldInterval = cold, warmth = warmth, lastWarmth = last_warmth,
    startedWarmth = started_warmth, fill = waiting / capacity,
    isIdle = paused == 0 and running + in_line + in_handed + in_retry + in_back == 0, member = member,
  }
  if member then family.note(bucket) end
  return bucket
end

local function read_bucket(key)
  local raw = redis.call('HGET', K.buckets, key)
  return raw and parse_bucket(key, raw) or nil
end

local function record_of(b)
  local frozen = b.frozen ~= 0 and b.frozen + set_back() or 0
  local member, more = b.member, (b.warmUp > 0 and WARM or 0) + (b.member and BELOW or 0)
  -- Most are packed at once: what is joined to a text makes another one.
  local is_whole, format, p, q, r, s, t, u, v, w = more == 0 or more == BELOW and #member.slots <= 1, BUCKET_FORMAT
  if is_whole and member then
    format, p, q, r, s, t, u, v, w = family.at_end(member)
    format = BUCKET_FORMAT .. format
  end
  local record = struct.pack(format, BUCKET_MAGIC + more, b.n, b.capacity, b.interval, b.tolerance,
    b.book, b.next, b.carry, frozen, b.waiting, b.paused, b.lastCost, b.lastStart, b.startedCost, b.running,
    b.linesTurn + (b.hasRun and 2 or 0), b.from, b.handed, b.returned, b.backUnits, b.grantedSlot, b.grantedCost, b.inLine, b.inHanded, b.inRetry, b.inBack,
    b.turns, b.front, b.joined, b.pattern, b.limit, b.granted, p, q, r, s, t, u, v, w)
  if is_whole then return record end
  if b.warmUp > 0 then
    record = record .. struct.pack(WARM_FORMAT, b.warmUp, b.coldInterval, b.warmth, b.lastWarmth, b.startedWarmth)
  end
  return member and record .. family.pack_member(member) or record
end

-- The limit as it is shown.
function usage.limit_text(bucket)
  return string.match(bucket.limit, '^[^\n]*')
end

-- `b.fill` is what the set `:fill` holds. A foreign value under the name of the set must not stop the line.
local function write_bucket(b)
  if b.member or b.before then family.sync(b) end
  redis.call('HSET', K.buckets, b.key, record_of(b))
  if b.isUseChanged then usage.write(b) end
  local fill = b.waiting / b.capacity
  if fill == b.fill then return end
  redis.pcall('ZADD', K.fill, fill, b.key)
  b.fill = fill
end

-- Writes up to MOST_PER_CALL buckets, each once, with a few commands.
local function write_buckets(buckets)
  local records, fills, texts, n = {}, {}, {}, 0
  for index, b in ipairs(buckets) do
    if b.member or b.before then family.sync(b) end
    records[index * 2 - 1], records[index * 2] = b.key, record_of(b)
    if b.isUseChanged then usage.write(b, texts) end
    local fill = b.waiting / b.capacity
    if fill ~= b.fill then
      fills[n + 1], fills[n + 2], n = fill, b.key, n + 2
      b.fill = fill
    end
  end
  redis.call('HSET', K.buckets, unpack(records))
  if #texts > 0 then usage.write_all(texts) end
  if n > 0 then redis.pcall('ZADD', K.fill, unpack(fills)) end
end

-- `rule`: as read_rule returns it.
local function new_bucket(key, n, rule, now)
  local bucket = {
    key = key, n = n, suffix = n .. '', pattern = rule.pattern, capacity = rule.capacity, interval = rule.interval,
    tolerance = rule.tolerance, limit = rule.limit, book = rule.book, next = -INF, carry = 0, frozen = 0, paused = 0,
    waiting = 0, lastCost = 0, lastStart = -INF, startedCost = 0, running = 0, linesTurn = 0, hasRun = false, from = -INF,
    handed = 0, returned = 0, backUnits = 0, granted = '', grantedSlot = 0, grantedCost = 0, inLine = 0, inHanded = 0, inRetry = 0,
    inBack = 0, turns = 0, hadTurns = false, front = 0, joined = 0, warmUp = rule.warmUp, coldInterval = rule.coldInterval,
    warmth = 0, lastWarmth = 0, startedWarmth = 0, fill = false, isIdle = false,
  }
  if usage.of(bucket) then
    local record, raw = usage.past_of(bucket)
    if record then usage.recall(bucket, parse_bucket(key, record).limit, raw, now) end
  end
  if rule.chain ~= '' then family.move(bucket, rule.chain, rule.book, now) end
  return bucket
end
