-- Which job of a bucket is next.

-- Of the jobs that wait to be tried again, the one that is ready first, and when.
function usage.first_retry(bucket)
  local retry = redis.call('ZRANGE', K.retry .. bucket.suffix, 0, 0, 'WITHSCORES')
  return retry[1], retry[1] and tonumber(retry[2]) - set_back()
end

-- The job that departs at `at`, its kind, and when a retry was ready. Jobs that were given back come first; then retries, which
-- get at most half of the slots while other jobs wait.
local function peek_head(bucket, at)
  if bucket.inBack > 0 then return redis.call('ZRANGE', K.back .. bucket.suffix, 0, 0)[1], 'back', -INF end
  if bucket.inRetry > 0 and (bucket.linesTurn == 0 or bucket.inLine == 0) then
    local retry, ready_at = usage.first_retry(bucket)
    if ready_at and ready_at <= at then return retry, 'retry', ready_at end
  end
  return first_member(bucket), 'line', -INF
end
