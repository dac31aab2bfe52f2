-- The head of a bucket's line: which job is next, and how it is taken out and put back.

-- The job that departs at `at`, its kind, and when a retry was ready. Jobs that were given back come first; then retries, which
-- get at most half of the slots while other jobs wait.
local function peek_head(bucket, at)
  if bucket.inBack > 0 then return redis.call('ZRANGE', K.back .. bucket.n, 0, 0)[1], 'back', -INF end
  if bucket.inRetry > 0 and (bucket.linesTurn == 0 or bucket.inLine == 0) then
    local retry = redis.call('ZRANGE', K.retry .. bucket.n, 0, 0, 'WITHSCORES')
    local ready_at = retry[1] and tonumber(retry[2]) - set_back()
    if ready_at and ready_at <= at then return retry[1], 'retry', ready_at end
  end
  return first_member(bucket), 'line', -INF
end

-- Takes out the job that `peek_head` returned.
local function take_head(bucket, member, kind)
  if kind == 'line' then
    pop_first(bucket)
    bucket.linesTurn = 0
    if is_turn(member) then bucket.turns = bucket.turns - 1 end
    return
  end
  redis.call('ZREM', K[kind] .. bucket.n, member)
  local count = kind == 'retry' and 'inRetry' or 'inBack'
  bucket[count] = bucket[count] - 1
  if kind == 'retry' then bucket.linesTurn = 1 end
end

-- Puts a job back where it came from, before all others there.
local function put_back(bucket, member, state)
  if state.kind == 'line' then
    push_first(bucket, member)
    if is_turn(member) then bucket.turns = bucket.turns + 1 end
  else
    local is_retry = state.kind == 'retry'
    redis.call('ZADD', K[state.kind] .. bucket.n, is_retry and state.readyAt + set_back() or state.fence, member)
    local count = is_retry and 'inRetry' or 'inBack'
    bucket[count] = bucket[count] + 1
  end
end
