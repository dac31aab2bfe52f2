-- A bucket's line: who stands in it, who departs next, and when.

local function read_line(bucket)
  bucket.inLine = redis.call('LLEN', K.line .. bucket.n)
  bucket.inHanded = redis.call('LLEN', K.handed .. bucket.n)
  bucket.inRetry = redis.call('ZCARD', K.retry .. bucket.n)
  bucket.inBack = redis.call('ZCARD', K.back .. bucket.n)
  return bucket
end

local function retrying(bucket)
  return bucket.inRetry + bucket.inBack
end

local function has_line(bucket)
  return bucket.inLine > 0 or bucket.inBack > 0
end

-- When the next one to be handed over departs; Infinity when there is none.
local function due_of(bucket)
  if bucket.paused == 1 or bucket.inLine + retrying(bucket) == 0 then return INF end
  local slot = next_slot(bucket, bucket.from) + bucket.interval * bucket.handed
  if has_line(bucket) then return slot end
  local earliest = redis.call('ZRANGE', K.retry .. bucket.n, 0, 0, 'WITHSCORES')
  return math.max(slot, tonumber(earliest[2]))
end

-- Writes the bucket, and puts it where its next event is: among those due, among those to forget, or in neither.
local function place(bucket, meta)
  local due = due_of(bucket)
  if due < INF then
    redis.call('ZADD', K.due, due, bucket.key)
    redis.call('ZREM', K.idle, bucket.key)
    wake_for(meta, due)
  else
    redis.call('ZREM', K.due, bucket.key)
    local jobs = bucket.inLine + retrying(bucket) + bucket.inHanded + bucket.running
    if jobs > 0 or bucket.paused == 1 then redis.call('ZREM', K.idle, bucket.key)
    else redis.call('ZADD', K.idle, next_slot(bucket, -INF), bucket.key) end
  end
  write_bucket(bucket)
end

-- The same, with the time before which the head does not depart: now for one who found nobody waiting.
local function arm(bucket, meta, from)
  bucket.from = from
  place(bucket, meta)
end

-- The one who departs at `at`: those given back first; then retries, at most every second while others wait.
local function peek_next(bucket, at)
  if bucket.inBack > 0 then return redis.call('ZRANGE', K.back .. bucket.n, 0, 0)[1], 'back', -INF end
  if bucket.inRetry > 0 and (bucket.linesTurn == 0 or bucket.inLine == 0) then
    local retry = redis.call('ZRANGE', K.retry .. bucket.n, 0, 0, 'WITHSCORES')
    if retry[1] and tonumber(retry[2]) <= at then return retry[1], 'retry', tonumber(retry[2]) end
  end
  return redis.call('LINDEX', K.line .. bucket.n, 0), 'line', -INF
end

-- Takes out the one who was peeked at.
local function take_out(bucket, member, kind)
  if kind == 'line' then
    redis.call('LPOP', K.line .. bucket.n)
    bucket.linesTurn = 0
    bucket.inLine = bucket.inLine - 1
    return
  end
  redis.call('ZREM', K[kind] .. bucket.n, member)
  local count = kind == 'retry' and 'inRetry' or 'inBack'
  bucket[count] = bucket[count] - 1
  if kind == 'retry' then bucket.linesTurn = 1 end
end

-- Puts one back where it came from, before all others there.
local function put_back(bucket, member, state)
  if state.kind == 'line' then
    redis.call('LPUSH', K.line .. bucket.n, member)
    bucket.inLine = bucket.inLine + 1
  else
    local is_retry = state.kind == 'retry'
    redis.call('ZADD', K[state.kind] .. bucket.n, is_retry and state.readyAt or state.fence, member)
    local count = is_retry and 'inRetry' or 'inBack'
    bucket[count] = bucket[count] + 1
  end
end

local function read_bucket_and_line(key)
  local bucket = read_bucket(key)
  return bucket and read_line(bucket)
end

-- The state of a job that was handed over, and its bucket. None of them where there is no such job; and where something
-- under our names is not ours, which must not stop the others of a call.
local function read_moving(id)
  local ok, state, bucket = pcall(function()
    local state = read_state(id)
    return state, state.key ~= '' and read_bucket_and_line(state.key) or nil
  end)
  if not ok then return nil, nil, true end
  return state, bucket, false
end

local function read_waiting(id)
  local job = read_job(id)
  if not job then return nil end
  return job, read_state(id), read_bucket_and_line(job.key)
end
