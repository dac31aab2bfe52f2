#!lua flags=allow-oom
-- waiting | retrying -> handed, for the heads whose slots come within the look-ahead. At most W jobs of a bucket are
-- handed over and have not started, so a backlog waits in its line. Elects the one scheduler that may do so. Turns go to
-- the processes of their callers, at once and whether or not there is room for jobs.
-- uses: shard warmth bucket pace job state ended line turn
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', scheduler, look-ahead, most (1 to 200), lease, keepFinished
-- Answers  { 'follow', now, leader until } |
--          { 'ok', now, next due | 'inf', next lease | 'inf', next deadline | 'inf', next to forget | 'inf',
--            version of the rule book, version to which all buckets are held, id, epoch, key, ... }

local LEADER_LEASE = 1500000
local LONG_SLEEP = 1000000
local MOST_FORGOTTEN = 1000
local MOST_TURNS = 200
local INBOX_MS = 60000
-- Nobody claimed for so long: Redis may have been away, and workers could not renew. They get some time for it.
local SILENCE = 10000000
local GRACE = 3000000

local now = read_now(ARGV[1])
local scheduler, look_ahead, most = ARGV[2], number(ARGV[3]), number(ARGV[4])
local lease, keep = number(ARGV[5]), number(ARGV[6])
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'gone', 'wake')
local elected = redis.call('HMGET', K.meta, 'leader', 'leaderUntil', 'claimedAt', 'retimed')
local leader_until = tonumber(elected[2] or 0) or foreign('meta')
-- A lease further away than it can be was given before the clock stepped back.
if elected[1] and elected[1] ~= scheduler and leader_until > now and leader_until <= now + LEADER_LEASE then
  -- Its last wait, from the time when it was elected, may have taken the marker of the other.
  if redis.call('LLEN', K.wake) == 0 then redis.call('LPUSH', K.wake, '1') end
  return { 'follow', text(now), text(leader_until) }
end
local meta = read_meta()
guard_run(meta, now)

if now - (tonumber(elected[3]) or now) > SILENCE then lift_leases(now + GRACE) end

local handed, turns = {}, 0

local function deliver(caller, id, epoch, key)
  turns = turns + 1
  redis.call('RPUSH', K.inbox .. caller, id .. ' ' .. string.format('%d', epoch) .. ' ' .. key)
  redis.call('PEXPIRE', K.inbox .. caller, INBOX_MS)
end

local function hand_over(key)
  -- One that cannot be read must not hold up the others; whoever asks for it is told.
  local is_readable, bucket = pcall(read_bucket_and_line, key)
  if is_readable and not bucket then
    redis.call('ZREM', K.due, key)
    redis.call('ZREM', K.turns, key)
  end
  if is_readable and bucket then
    local window = math.max(1, math.ceil(look_ahead / bucket.interval))
    local due = due_of(bucket)
    while due <= now + look_ahead and bucket.inHanded < window do
      local found_line = has_line(bucket)
      local member, kind, ready_at = peek_next(bucket, math.max(now, due))
      local id, cost = parse_member(member)
      local caller = caller_of(id)
      if caller and turns == MOST_TURNS or not caller and #handed >= 3 * most then break end
      local is_known, state = pcall(read_state, id)
      if not is_known then break end
      take_out(bucket, member, kind)
      state.state, state.kind, state.readyAt, state.key, state.cost = 'handed', kind, ready_at, key, cost
      state.floor = found_line and -INF or ready_at
      state.epoch = state.epoch + 1
      state.worker, state.slot = '', 0
      write_state(state)
      redis.call('RPUSH', K.handed .. bucket.n, member)
      redis.call('ZADD', K.leases, now + lease, id)
      bucket.inHanded = bucket.inHanded + 1
      bucket.handed = bucket.handed + cost
      if kind ~= 'line' then bucket.returned = bucket.returned - cost end
      if caller then deliver(caller, id, state.epoch, key)
      else
        handed[#handed + 1] = id
        handed[#handed + 1] = text(state.epoch)
        handed[#handed + 1] = key
      end
      due = due_of(bucket)
    end
    -- Whoever starts or comes back puts it there again.
    if bucket.inHanded < window then place(bucket, meta)
    else
      leave_due(bucket)
      write_bucket(bucket)
    end
  end
end

for _, key in ipairs(redis.call('ZRANGEBYSCORE', K.turns, '-inf', now + look_ahead, 'LIMIT', 0, MOST_TURNS)) do hand_over(key) end
for _, key in ipairs(redis.call('ZRANGEBYSCORE', K.due, '-inf', now + look_ahead, 'LIMIT', 0, most)) do hand_over(key) end

local idle = redis.call('ZRANGEBYSCORE', K.idle, '-inf', now, 'LIMIT', 0, MOST_FORGOTTEN)
if #idle > 0 then
  redis.call('HDEL', K.buckets, unpack(idle))
  redis.call('ZREM', K.idle, unpack(idle))
end
trim_ended(keep, now)
trim_gone(now)

local function first_of(name)
  local first = redis.call('ZRANGE', K[name], 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or INF
end
local next_due = math.min(first_of('due'), first_of('turns'))
-- With nothing to do for long, whoever wakes first may be elected.
local is_busy = next_due - look_ahead < now + LONG_SLEEP
redis.call('HSET', K.meta, 'leader', scheduler, 'leaderUntil', is_busy and now + LEADER_LEASE or now, 'wakeDue', next_due, 'claimedAt', now)
redis.call('DEL', K.wake)
-- There may be more at once.
if turns == MOST_TURNS then redis.call('LPUSH', K.wake, '1') end
local answer = {
  'ok', text(now), text(next_due), text(first_of('leases')), text(first_of('deadlines')), text(math.min(first_of('idle'), next_trim(keep))),
  text(meta.book), text(tonumber(elected[4] or 0)),
}
for _, value in ipairs(handed) do answer[#answer + 1] = value end
return answer
