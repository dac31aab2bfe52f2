#!lua flags=no-writes
-- What a job waits for: the jobs before it, and what its bucket and its line wait for.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace name state blocks next due line sums waiting entries ahead along passage counted held member summed chain total overdue share standing places above full
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', id, a key whose first segment the job belongs to | ''
-- Answers  { } when it is unknown
--          | { job } when it has started or ended | { job, wait, { ids of the first jobs before it }, parts, totals }, where
--            job is { now, key, state, attempt, admittedAt, departedAt, endedAt, has error, error }, and
--            wait is { position, departsAt, jobs before it, their cost, limit, next, frozen, paused, readyAt | '-inf', whether
--            it or a job before it needs a handler, whether the head is a turn, since when the head may depart (inf: it has its
--            slot, or may not depart), worker | '', slot ('0': none), last claim, running jobs (counted when the head is late) }, and
--            parts, where the limit has further ones and the job no slot, is { whether it may depart later, whether earlier, whether no
--            place is free, of the last quota that holds it or a job before it: place from 0 on, when it has room, units that come free then,
--            units that the start needs, units that count at its slot, whether it holds the job itself }, and totals, where there are some
--            and the job has no slot, is { whether nothing else waits below them, how long it waits at most | '-1', those of places_above }

-- The latest leases are read, because running workers renew theirs.
local MOST_LEASES = 20

expect_arguments(3)
local now = read_now(ARGV[1])
local job = find_job(ARGV[2], ARGV[3], read_job)
if not job then return {} end
local state = read_state(job.id)
local about = {
  text(now), job.key, state.state, text(state.attempt), text(job.admittedAt), text(state.departedAt), text(state.endedAt),
  state.error and '1' or '0', state.error or '',
}
local WAITS = { waiting = true, retrying = true, handed = true, granted = true }
local bucket = WAITS[state.state] and read_bucket(job.key)
if not bucket then return { about } end
read_line(bucket)
local order = first_in_order(bucket, now)
local head_id = redis.call('LINDEX', K.handed .. bucket.suffix, 0) or order[1] and order[1].id or ''

local ids, jobs, cost, needs_handler = {}, 0, 0, not is_turn(job.id)
local projection, together = projection_of(bucket, now), 0
-- How many of `order` depart before it, and the units of those that were not looked at.
local passed, unread = 0, 0

-- Units that follow each other without a pause are counted at once, so that nothing is rounded between them.
local function pass_by(ready_at)
  advance(projection, bucket, together)
  together = 0
  if ready_at then advance(projection, bucket, 0, ready_at) end
end

local function pass(entry)
  jobs, cost = jobs + 1, cost + entry.cost
  if #ids < MOST_NAMED then ids[#ids + 1] = entry.id end
  if not is_turn(entry.id) then needs_handler = true end
  if entry.readyAt then pass_by(entry.readyAt) end
  together = together + entry.cost
end

local function walk()
  if bucket.granted ~= '' then jobs, cost, ids[1] = 1, bucket.grantedCost, bucket.granted end
  for index, entry in ipairs(order) do
    if entry.id == job.id then
      for before = 1, index - 1 do pass(order[before]) end
      passed = index - 1
      return
    end
  end
  local beyond, beyond_cost = unread_before(bucket, job, state, order, now)
  for _, entry in ipairs(order) do pass(entry) end
  jobs, cost, together = jobs + beyond, cost + beyond_cost, together + beyond_cost
  passed, unread = #order, beyond_cost
end

local function due_of_head()
  if bucket.granted ~= '' or bucket.paused == 1 then return INF end
  if bucket.inHanded == 0 then return due_of(bucket) end
  return math.max(bucket.from, bucket.next, bucket.frozen)
end

local function running_elsewhere()
  local count, lifted = 0, counter(redis.call('HGET', K.meta, 'lifted'))
  for _, id in ipairs(redis.call('ZREVRANGEBYSCORE', K.leases, '+inf', now - lifted, 'LIMIT', 0, MOST_LEASES)) do
    local is_readable, other = pcall(read_state, id)
    if is_readable and other.state == 'running' and not is_turn(id) then count = count + 1 end
  end
  return count
end

local is_granted = state.state == 'granted'
local is_handed = is_granted or state.state == 'handed'
local ready_at = state.kind == 'retry' and state.readyAt or nil
if not is_granted then walk() end
pass_by(not is_granted and ready_at)
local departs_at, parts = projection.slot, nil
if is_granted then departs_at = math.max(now, state.slot)
elseif usage.binding(bucket) then
  local may_be_later, may_be_earlier, hold
  departs_at, may_be_later, may_be_earlier, hold = usage.held(bucket, job, ready_at, order, passed, unread, now)
  local is_full = usage.is_full(bucket, bucket.running + (is_handed and 0 or bucket.inHanded))
  parts = { may_be_later and '1' or '0', may_be_earlier and '1' or '0', is_full and '1' or '0' }
  for index, value in ipairs(hold or {}) do parts[index + 3] = text(value) end
end
-- What totals have to do with it, unless it has its slot.
local function under_totals()
  if is_granted or not bucket.member then return nil end
  local totals = family.totals_of(bucket)
  local at_most, ahead = -1, cost - bucket.grantedCost
  if retrying(bucket) == 0 and state.state == 'waiting' then
    at_most = family.wait_at_most(bucket, ahead + job.cost, departs_at - now + bucket.interval * job.cost, now)
  end
  return { family.is_alone(bucket, totals, now) and '1' or '0', text(at_most), unpack(family.places_above(bucket, job.cost, job.settings, ahead, job.cost, now, is_handed)) }
end

local due = due_of_head()
local wait = {
  text(jobs + 1), text(departs_at), text(jobs), text(cost), usage.limit_text(bucket),
  text(bucket.next), text(bucket.frozen), text(bucket.paused), text(ready_at or -INF), needs_handler and '1' or '0',
  is_turn(head_id) and '1' or '0', text(due), is_handed and state.worker or '', text(is_granted and state.slot or 0),
  text(counter(redis.call('HGET', K.meta, 'claimedAt'))), text(now - due > LATE and running_elsewhere() or 0),
}
return { about, wait, ids, parts or {}, under_totals() }
