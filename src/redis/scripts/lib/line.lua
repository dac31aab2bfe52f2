-- A bucket's line: how many stand in it, and when the next one departs.

-- Those of the bucket's lists that are not its line, and how they are counted.
local COUNTS = {
  handed = { field = 'inHanded', command = 'LLEN' },
  retry = { field = 'inRetry', command = 'ZCARD' },
  back = { field = 'inBack', command = 'ZCARD' },
}

local function read_count(bucket, name)
  local field = COUNTS[name].field
  local count = redis.call(COUNTS[name].command, K[name] .. bucket.n)
  if count < bucket[field] then partial(name) end
  bucket[field] = count
end

-- Looks at all the lists of a bucket, which tells that they are ours and nothing is missing: before a verb that may touch any
-- of them.
local function read_line(bucket)
  read_blocks(bucket)
  for name in pairs(COUNTS) do read_count(bucket, name) end
  return bucket
end

-- The same for a verb that touches but one of them, 'line' or 'handed'; and what `place` may look at.
local function read_list(bucket, name)
  if name == 'handed' then read_count(bucket, 'handed') end
  if name == 'line' or bucket.turns > 0 then read_blocks(bucket) end
  if bucket.inRetry > 0 then read_count(bucket, 'retry') end
  return bucket
end

local function retrying(bucket)
  return bucket.inRetry + bucket.inBack
end

-- Counts cost units in or out of those that wait to be tried again; `kind` is where the job stands.
local function count_returned(bucket, kind, units)
  if kind == 'line' then return end
  bucket.returned = bucket.returned + units
  if kind == 'back' then bucket.backUnits = bucket.backUnits + units end
end

local function has_line(bucket)
  return bucket.inLine > 0 or bucket.inBack > 0
end

-- When the next one to be handed over departs; Infinity when there is none.
local function due_of(bucket)
  if bucket.paused == 1 or bucket.inLine + retrying(bucket) == 0 then return INF end
  local projection = projection_of(bucket, bucket.from)
  local slot = projection.slot + spacing(bucket, projection.warmth, bucket.handed)
  if has_line(bucket) then return slot end
  local earliest = redis.call('ZRANGE', K.retry .. bucket.n, 0, 0, 'WITHSCORES')
  return math.max(slot, tonumber(earliest[2]))
end

-- A turn is handed over whether or not there are workers, so buckets with one at the head of the line stand apart.
-- `dues`: gathers, where there are many, what one ZADD to `:due` shall say.
local function place_due(bucket, due, dues)
  local head = bucket.turns > 0 and first_member(bucket)
  local name, other = 'due', 'turns'
  if head and is_turn(head) then name, other = other, name end
  if dues and name == 'due' then
    local n = #dues
    dues[n + 1], dues[n + 2] = due, bucket.key
  else redis.call('ZADD', K[name], due, bucket.key) end
  if bucket.hadTurns or bucket.turns > 0 then redis.call('ZREM', K[other], bucket.key) end
  return name == 'turns' and 'wakeTurns' or 'wakeDue'
end

local function leave_due(bucket)
  redis.call('ZREM', K.due, bucket.key)
  if bucket.hadTurns or bucket.turns > 0 then redis.call('ZREM', K.turns, bucket.key) end
end

-- Puts the bucket where its next event is: among those due, among those to forget, or in neither. It is not written.
local function put(bucket, meta, dues)
  local due = due_of(bucket)
  local was_idle, jobs = bucket.isIdle, bucket.inLine + retrying(bucket) + bucket.inHanded + bucket.running
  bucket.isIdle = jobs == 0 and bucket.paused == 0
  if bucket.isIdle then redis.call('ZADD', K.idle, forgettable_at(bucket), bucket.key)
  elseif was_idle then redis.call('ZREM', K.idle, bucket.key) end
  if due < INF then wake_for(meta, due, place_due(bucket, due, dues)) else leave_due(bucket) end
end

local function place(bucket, meta)
  put(bucket, meta)
  write_bucket(bucket)
end

-- The same, with the time before which the head does not depart: now for one who found nobody waiting.
local function arm(bucket, meta, from)
  bucket.from = from
  place(bucket, meta)
end

local function read_bucket_and_line(key)
  local bucket = read_bucket(key)
  return bucket and read_line(bucket)
end
