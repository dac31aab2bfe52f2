#!lua flags=allow-oom
-- waiting | retrying -> handed, for the heads whose slots come within the look-ahead, one of each bucket in turn. At most W
-- jobs of a bucket are handed over and have not started, so a backlog waits in its line. Elects the one scheduler that may do so. Turns go to
-- the processes of their callers, at once and whether or not there is room for jobs: MOST_PER_CLAIM / 2 in one call.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state kept retention ended forgotten blocks next due line later sums waiting head handover rounds rewind election member summed chain total overdue share standing places joining chosen gone
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', scheduler, look-ahead, most (from 1 on), lease, how many ended jobs to keep, name by which the caller knows the shard | ''
-- Answers  { 'follow', now, leader until } |
--          { 'ok', now, next due | 'inf', next lease | 'inf', next deadline | 'inf', next to forget | 'inf',
--            version of the rule book, version to which all buckets are held, id, epoch, key, ... }

expect_arguments(7)
local now = read_now(ARGV[1])
local scheduler, look_ahead, most = ARGV[2], number(ARGV[3]), whole(ARGV[4])
local lease, keep = number(ARGV[5]), read_keep(6)
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
local meta = read_meta()
if meta.hasQuotas then expect('quotas', 'past', 'pastends') end
guard_run(meta, now, ARGV[7])
local retimed, leader_until = elect(scheduler, now)
if leader_until then return { 'follow', text(now), text(leader_until) } end

local handed, turns = {}, 0

-- Hands over the head of the bucket's line. Returns false when no job of it may depart now; the bucket is then rescheduled.
local function hand_over(bucket)
  -- The next start or return of one of its jobs schedules it again.
  if bucket.inHanded >= bucket.window then
    bucket.isOff = true
    later.reschedule(bucket, meta)
    return false
  end
  if usage.is_last(bucket, meta, #handed / 3 + turns) then return false end
  local due, head = due_of(bucket, true)
  if due > now + look_ahead then
    later.reschedule(bucket, meta)
    return false
  end
  local member, kind, ready_at = peek_head(bucket, math.max(now, due))
  -- Its lists are shorter than its record says, which a foreign value under its name may have caused.
  if not member then
    put_aside(bucket, now)
    return false
  end
  if bucket.parts and member ~= head and usage.is_put_off(bucket, meta, member, due, now + look_ahead) then return false end
  local id = parse_member(member)
  local caller = caller_of(id)
  local is_held_up = not caller and #handed >= 3 * most
  if is_held_up or caller and turns == MOST_PER_CLAIM / 2 then
    reschedule(bucket, meta)
    -- A turn behind a job for which there is no room must not take the places of other turns.
    if is_held_up and redis.call('ZREM', K.turns, bucket.key) == 1 then redis.call('ZADD', K.due, due, bucket.key) end
    return false
  end
  local is_known, state = pcall(read_state, id)
  if not is_known or is_missing.states and kind ~= 'line' then
    reschedule(bucket, meta)
    put_aside(bucket, now)
    return false
  end
  local until_ = caller and news_lease(state, meta, now, lease) or now + lease
  mark_handed(bucket, member, kind, ready_at, state, next_stamp(meta, 'epoch', now))
  later.write_state(state)
  later.hold_lease(meta, id, until_)
  if caller then
    turns = turns + 1
    deliver(caller, id, state.epoch, bucket.key)
  else
    local n = #handed
    handed[n + 1], handed[n + 2], handed[n + 3] = id, text(state.epoch), bucket.key
  end
  return true
end

-- Below an outermost total, hands over the head of the bucket whose turn it is.
local function hand_on(bucket)
  if not bucket.isTotal then return hand_over(bucket) end
  local had_room = not bucket.hasNoRoom
  local chosen = family.choose(bucket, now + look_ahead, meta.epoch, bucket.hasNoRoom)
  if not chosen then return false end
  local is_handed = hand_over(chosen)
  if is_handed then later.reschedule(chosen, meta) end
  -- Then only turns go on, past the jobs before them.
  bucket.hasNoRoom = #handed >= 3 * most
  return is_handed or had_room and not usage.isEnough
end

local is_rewinding = rewind(meta, now)
later.write_after(meta, function() in_rounds(due_buckets('turns', now, look_ahead, MOST_PER_CLAIM / 2), hand_on) end)
-- To hand a job over takes five times as long as to look at one.
most = math.min(most, MOST_PER_CLAIM - turns)
later.write_after(meta, function() in_rounds(due_buckets('due', now, look_ahead, most), hand_on) end)
if family.touched then family.settle_all(true) end

-- A bucket is remembered until it could be forgotten without the steps of the clock.
local stepped = #meta.steps > 0 and loss.stepped_since(loss.steps(meta, now), -INF) or 0
forget_idle(meta, now - stepped, math.min(MOST_PER_CLAIM, #handed / 3 + turns))
local next_past = forget_past(meta, now)
forget_ended(meta, keep, now)
trim_gone(now)

local function first_of(name)
  local first = redis.call('ZRANGE', K[name], 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or INF
end
local next_due = math.min(first_of('due'), first_of('turns'))
-- Jobs that no process fetches may be due all the time.
local wake_turns = next_due > now + look_ahead and next_due or first_of('turns')
redis.call('HSET', K.meta, 'leader', scheduler, 'wakeDue', next_due, 'wakeTurns', wake_turns, 'claimedAt', now, 'epoch', meta.epoch,
  'leaderUntil', leads_until(next_due - look_ahead, now))
redis.call('DEL', K.wake, K.vacancy)
-- There may be more to do at once.
if turns == MOST_PER_CLAIM / 2 or is_rewinding or usage.isEnough then redis.call('LPUSH', K.wake, '1') end
local answer = {
  'ok', text(now), text(next_due), text(meta.resend ~= '' and now or first_of('leases') + meta.lifted), text(first_of('deadlines')), text(math.min(first_of('idle') + stepped, next_past, next_trim())),
  text(meta.book), text(retimed),
}
for _, value in ipairs(handed) do answer[#answer + 1] = value end
return answer
