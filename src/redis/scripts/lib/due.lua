-- When the further parts of a limit let the next job of a bucket depart.
-- of: usage

-- What was handed over and has no slot, in each quota. It is kept with the bucket: a claim that hands over many of its jobs reads each
-- once.
function usage.handed(bucket)
  local parts, handed = usage.of(bucket), bucket.handedCharges
  if handed and handed.units == bucket.handed and handed.parts == parts then return handed end
  handed = { units = bucket.handed, parts = parts }
  for index in ipairs(parts.counted) do handed[index] = parts.hasUnits and 0 or bucket.handed end
  local members = parts.hasUnits and bucket.handed > 0 and redis.call('LRANGE', K.handed .. bucket.suffix, 0, -1) or {}
  for _, member in ipairs(members) do
    local id, cost = parse_member(member)
    local charges = id ~= bucket.granted and usage.charges_of(parts, id, cost) or {}
    for index, units in ipairs(charges) do handed[index] = handed[index] + units end
  end
  bucket.handedCharges = handed
  return handed
end

-- The job was handed over just now.
function usage.hand_on(bucket, member)
  local handed = bucket.handedCharges
  if not handed then return end
  -- No quota might have held it, so its costs were not read.
  if handed.next ~= member then
    bucket.handedCharges = nil
    return
  end
  for index, units in ipairs(handed.charges) do handed[index] = handed[index] + units end
  handed.units = bucket.handed
end

-- What was handed over and has no slot counts as charged: it departs before. Infinity: when a place is free.
function usage.due_of(bucket, member, slot)
  local parts, use = usage.of(bucket)
  if not parts or not member then return slot end
  if usage.is_full(bucket, bucket.running + bucket.inHanded) then return INF end
  if not usage.may_hold(bucket, nil, slot) then return slot end
  local handed = usage.handed(bucket)
  if handed.next ~= member then handed.next, handed.charges = member, usage.charges_of(parts, parse_member(member)) end
  local together = {}
  for index, units in ipairs(handed.charges) do together[index] = units + handed[index] end
  return usage.room_at(parts, use, together, slot)
end

-- A retry that is ready, and has room, before the head has room at `due` goes first: when, and which; nil: none does.
function usage.retry_before(bucket, slot, due)
  if due <= slot or due == INF or bucket.inRetry == 0 or bucket.inBack > 0 or bucket.linesTurn == 1 then return nil end
  local retry, ready_at = usage.first_retry(bucket)
  local at = ready_at > slot and ready_at < due and usage.due_of(bucket, retry, ready_at) or due
  if at < due then return at, retry end
end

-- What the job that departs first at `at`, which may be handed over already, counts in the quotas; nil: nothing waits.
function usage.charges_of_first(bucket, at)
  local parts = usage.of(bucket)
  local handed = bucket.inHanded > 0 and redis.call('LINDEX', K.handed .. bucket.suffix, 0)
  -- A retry that is ready meanwhile is the head.
  local member = handed or peek_head(bucket, at)
  if member then return usage.charges_of(parts, parse_member(member)) end
end

-- The same as `usage.due_of` for that job.
function usage.first_at(bucket, slot)
  local parts, use = usage.of(bucket)
  if usage.is_full(bucket, bucket.running) then return INF end
  local at, later = nil, slot
  while later ~= at do
    at = later
    local charges = usage.charges_of_first(bucket, at)
    if not charges then return at end
    later = usage.room_at(parts, use, charges, at)
  end
  return bucket.inHanded == 0 and usage.retry_before(bucket, slot, at) or at
end

-- The quota for which a job with these charges waits until it departs at `at`, and waits from `slot` on: its place from 0 on, how many
-- units come free then, how many it needs, and how many count at `slot`; -1: it waits for none.
function usage.hold_by(bucket, charges, slot, at)
  local parts, use = usage.of(bucket)
  if not charges or usage.room_at(parts, use, charges, slot) ~= at then return -1, 0, 0, 0 end
  local before = math.max(slot, at - 1)
  for index, part in ipairs(parts.quotas) do
    if quota.room_at(part, use[index], charges[index], before) > before then
      for entry, end_ in ipairs(use[index].ends) do
        if end_ == at then return index - 1, use[index].used[entry], charges[index], quota.used_at(part, use[index], slot) end
      end
    end
  end
  return -1, 0, 0, 0
end

-- The same for the job that departs first.
function usage.hold_of_first(bucket, slot, at)
  return usage.hold_by(bucket, bucket.granted == '' and at < INF and usage.charges_of_first(bucket, at), slot, at)
end
