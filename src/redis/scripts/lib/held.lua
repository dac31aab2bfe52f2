-- What the further parts of a limit have to do with a job that waits: src/memory/store/parts-ahead.ts.
-- of: usage

do
  -- The place of the quota for which the next job of the walk waits, when it has room, how many units come free then, how many the
  -- job needs, how many count at its slot, and whether it is the one that is asked about (1 or 0).
  local function hold_of(walk, bucket, charges, ready_at, is_own)
    local until_, slot = usage.depart_at(walk, bucket, charges, ready_at)
    local from = math.max(slot, ready_at or slot)
    local before = math.max(from, until_ - 1)
    for index, part in ipairs(bucket.parts.quotas) do
      local use = walk.use[index]
      if usage.room_in(part, use, charges[index], before) > before then
        for entry, end_ in ipairs(use.ends) do
          if end_ == until_ then
            return { index - 1, until_, use.used[entry], charges[index], quota.used_at(part, use, from), is_own }
          end
        end
      end
    end
  end

  -- When the job departs behind the first `count` jobs of `order` and `unread` units more; and whether it may be later, whether it may
  -- be earlier, and the last quota that holds one of them.
  function usage.held(bucket, job, ready_at, order, count, unread, now)
    local parts = usage.of(bucket)
    local walk, hold = usage.walk_from(bucket, now), nil
    for index = 1, count do
      local entry = order[index]
      local charges = usage.charges_of(parts, entry.id, entry.cost)
      hold = hold_of(walk, bucket, charges, entry.readyAt, 0) or hold
      usage.depart(walk, bucket, entry.cost, charges, entry.readyAt)
    end
    local may_be_later = unread > 0 or retrying(bucket) > 0 or parts.places ~= nil
    local departs_at, _, may_be_earlier
    if unread > 0 then departs_at, may_be_earlier = usage.behind(walk, bucket, unread), walk.earlierFrom ~= nil
    else
      local charges = usage.charges(parts, job.cost, job.settings)
      hold = hold_of(walk, bucket, charges, ready_at, 1) or hold
      departs_at, _, may_be_earlier = usage.depart_at(walk, bucket, charges, ready_at)
    end
    return departs_at, may_be_later, may_be_earlier, hold
  end
end
