-- The view of a bucket.

-- How many jobs that wait for a retry are looked at.
local MOST_RETURNED = 100
-- How many jobs one call may look at.
local MOST_READS = 250

-- When the oldest and the newest waiting jobs were admitted, infinite where none waits; and how many jobs were looked at.
local function admissions(bucket)
  local first, last, reads = INF, -INF, 0
  local function look(member)
    local at = member and read_admission((parse_member(member)))
    reads = reads + 1
    if at then first, last = math.min(first, at), math.max(last, at) end
  end
  for _, name in ipairs({ 'handed', 'line' }) do
    local count = name == 'line' and bucket.inLine or bucket.inHanded
    local is_line = name == 'line'
    if count > 0 then look(is_line and first_member(bucket) or redis.call('LINDEX', K.handed .. bucket.suffix, 0)) end
    if count > 1 then look(is_line and last_member(bucket) or redis.call('LINDEX', K.handed .. bucket.suffix, -1)) end
  end
  if retrying(bucket) == 0 then return first, last, reads end
  for _, name in ipairs({ 'retry', 'back' }) do
    for _, member in ipairs(redis.call('ZRANGE', K[name] .. bucket.suffix, 0, MOST_RETURNED - 1)) do look(member) end
  end
  return first, last, reads
end

local function next_departure(bucket, now)
  if bucket.granted ~= '' then return bucket.grantedSlot end
  if bucket.paused == 1 or bucket.inLine + retrying(bucket) + bucket.inHanded == 0 then return INF end
  local slot = next_slot(bucket, now)
  if not has_line(bucket) and bucket.inHanded == 0 then
    slot = math.max(slot, tonumber(redis.call('ZRANGE', K.retry .. bucket.suffix, 0, 0, 'WITHSCORES')[2]) - set_back())
  end
  return usage.binding(bucket) and usage.first_at(bucket, slot) or slot
end

-- The total right above the bucket, and when those above it let its next job go; '' and -Infinity: none decides about it.
local function above(bucket, now)
  if not bucket.member then return '', -INF end
  local totals, at = family.totals_of(bucket), -INF
  for _, total in ipairs(bucket.granted == '' and totals or {}) do
    at = total.paused == 1 and INF or math.max(at, next_slot(total, now))
  end
  return totals[1].key, at
end

-- How many places are taken; the quota for which the head waits until it departs (its place from 0 on; -1: none), how many units come
-- free then, how many the head needs and how many count; and of each quota what counts, and when one more job has room. nil without
-- further parts.
local function parts_of(bucket, at, now)
  local parts = usage.binding(bucket)
  if not parts then return nil end
  local use = bucket.use
  local held_by, units, needed, used = usage.hold_of_first(bucket, next_slot(bucket, now), at)
  return quota.add_views({ bucket.running + (bucket.granted ~= '' and 1 or 0), held_by, text(units), text(needed), text(used) }, parts, use, now)
end

local function view_of(bucket, now)
  read_line(bucket)
  local first, last, reads = admissions(bucket)
  local at = next_departure(bucket, now)
  local total, above_at = above(bucket, now)
  return {
    bucket.key, bucket.pattern, usage.limit_text(bucket), text(bucket.capacity), text(bucket.waiting),
    text(bucket.inLine + bucket.inHanded), text(retrying(bucket)), text(bucket.running),
    text(at), text(bucket.frozen), text(bucket.paused), text(bucket.lastStart), text(first),
    text(last), total, text(above_at), parts_of(bucket, at, now),
  }, reads
end
