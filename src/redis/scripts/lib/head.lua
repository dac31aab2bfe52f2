-- The head of a bucket's line: how it is taken out and put back.

-- Takes out the job that `peek_head` returned.
local function take_head(bucket, member, kind)
  if kind == 'line' then
    pop_first(bucket)
    bucket.linesTurn = 0
    if is_turn(member) then bucket.turns = bucket.turns - 1 end
    return
  end
  redis.call('ZREM', K[kind] .. bucket.suffix, member)
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
    redis.call('ZADD', K[state.kind] .. bucket.suffix, is_retry and state.readyAt + set_back() or state.fence, member)
    local count = is_retry and 'inRetry' or 'inBack'
    bucket[count] = bucket[count] + 1
  end
end
