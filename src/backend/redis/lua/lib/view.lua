-- What is told of a bucket.

-- Looked at, of those that wait to be tried again.
local MOST_RETURNED = 100

local function admitted_at(member)
  local job = member and read_job((parse_member(member)))
  return job and job.admittedAt
end

-- When the one who has waited longest was admitted, and the one who came last; false where nobody waits.
local function admissions(bucket)
  local first, last = INF, -INF
  local members = {}
  for _, name in ipairs({ 'handed', 'line' }) do
    members[#members + 1] = redis.call('LINDEX', K[name] .. bucket.n, 0) or nil
    members[#members + 1] = redis.call('LINDEX', K[name] .. bucket.n, -1) or nil
  end
  for _, name in ipairs({ 'retry', 'back' }) do
    for _, member in ipairs(redis.call('ZRANGE', K[name] .. bucket.n, 0, MOST_RETURNED - 1)) do
      members[#members + 1] = member
    end
  end
  for _, member in ipairs(members) do
    local at = admitted_at(member)
    if at then first, last = math.min(first, at), math.max(last, at) end
  end
  return first, last
end

local function next_departure(bucket, now)
  if bucket.granted ~= '' then return bucket.grantedSlot end
  if bucket.paused == 1 or bucket.inLine + retrying(bucket) + bucket.inHanded == 0 then return INF end
  local slot = next_slot(bucket, now)
  if has_line(bucket) or bucket.inHanded > 0 then return slot end
  return math.max(slot, tonumber(redis.call('ZRANGE', K.retry .. bucket.n, 0, 0, 'WITHSCORES')[2]))
end

local function view_of(bucket, now)
  read_line(bucket)
  local first, last = admissions(bucket)
  return {
    bucket.key, bucket.pattern, bucket.limit, text(bucket.capacity), text(bucket.waiting), text(bucket.returned),
    text(bucket.inLine + bucket.inHanded), text(retrying(bucket)), text(bucket.running),
    text(next_departure(bucket, now)), text(bucket.frozen), text(bucket.paused), text(bucket.lastStart), text(first),
    text(last),
  }
end
