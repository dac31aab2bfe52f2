-- When a total lets the next job below it be handed over, and where it stands by that.
-- of: family

do
  -- Until when a bucket below totals, or one of these, is frozen; 0: none is.
  function family.frozen_until(bucket, now)
    local frozen = bucket.frozen
    for _, total in ipairs(family.totals_of(bucket)) do frozen = math.max(frozen, total.frozen) end
    return frozen > now and frozen or 0
  end

  -- The job of a bucket that departs at `at`, as a member of its list, also where it departs only later; nil: it cannot be read.
  function family.head_at(bucket, at) return peek_head(bucket, at) or peek_head(bucket, INF) end

  -- The same of the bucket that is first below a total. And when one joins next below it, or below the totals on the way to that bucket:
  -- that one may be first then.
  function family.head_below(total, at)
    local later, name = family.later_from(total), family.first_ready(total) or redis.call('ZRANGE', K.later .. total.n, 0, 0)[1]
    if not name then return nil, later end
    if is_total(name) then
      local child = family.total_below(total, name)
      if not child then return nil, later end
      local head, from = family.head_below(child, at)
      return head, math.min(later, from)
    end
    -- What a claim has handed over of it may not be written yet. A bucket that cannot be read holds up no other: the claim skips it later.
    local bucket = family.buckets and family.buckets[name]
    local is_readable, head = pcall(function()
      bucket = bucket or read_bucket(name)
      return bucket and family.head_at(bucket, at)
    end)
    return is_readable and head or nil, later
  end

  -- What was handed over and has no slot, in that quota of the total: where nothing is, nothing counts, even if a count was left over.
  local function handed_in(total, index) return total.handed > 0 and total.handedUse[index] or 0 end

  -- So much more, or with -1 less, was handed over and has no slot.
  function family.count_handed(total, charges, sign)
    for index, units in ipairs(charges or {}) do total.handedUse[index] = math.max(0, handed_in(total, index) + sign * units) end
  end

  -- A job of a run starts, which was never granted slots of totals: it does not count as handed over any more.
  function family.take_slot(bucket, id, cost)
    for _, total in ipairs(family.totals_of(bucket)) do family.count_handed(total, select(2, family.use_of(total, id, cost)), -1) end
  end

  -- When the total lets the next job below it be handed over: behind what was handed over before; Infinity: not before something changes.
  -- And whether any of those below it waits.
  function family.due_of(total)
    local is_ready, later, is_later = family.first_ready(total) ~= nil, family.later_from(total)
    local has_work = is_ready or is_later
    if total.paused == 1 or not is_ready and later == INF then return INF, has_work end
    local overdue_from = family.overdue_from(total)
    if usage.is_full(total, total.running + total.inHanded - total.overdueJobs) then
      return usage.is_full(total, total.running) and INF or overdue_from, has_work
    end
    -- What was handed over has slots from now on, unless it is overdue.
    local in_hand = total.handed - total.overdue
    local due = in_hand > 0 and slot_behind(total, in_hand, time_read) or next_slot(total, -INF)
    if overdue_from < due then due = math.max(overdue_from, next_slot(total, -INF)) end
    if not is_ready then due = math.max(due, later) end
    local parts, use = usage.of(total)
    if not parts or #parts.quotas == 0 then return due, has_work end
    local soonest = math.max(due, time_read)
    local member, joins_at = family.head_below(total, soonest)
    if not member then return due, has_work end
    local _, charges = family.use_of(total, parse_member(member))
    local together = {}
    for index, units in ipairs(charges) do together[index] = units + handed_in(total, index) end
    local at = usage.room_at(parts, use, together, soonest)
    -- Meanwhile another may come whose turn is first, and which may need less.
    return at == soonest and due or math.max(soonest, math.min(at, joins_at)), has_work
  end

  -- What the first job below the child uses of the total.
  local function use_below(total, child, due)
    local member = family.head_below(child, math.max(time_read, due))
    if not member then return 1 end
    return (family.use_of(total, parse_member(member)))
  end

  -- Where the total stands: below its parent, or in `:due` for all below it.
  function family.settle(total, is_last)
    local due, has_work = family.due_of(total)
    if total.children == 0 then redis.call('ZADD', K.idle, forgettable_at(total), total.key)
    elseif not total.hadChildren then redis.call('ZREM', K.idle, total.key) end
    total.hadChildren = total.children > 0
    if total.parent ~= '' then
      local parent = family.total(total.parent)
      family.stand(parent, total, total.key, has_work and total.paused == 0 and due or nil, total.frozen, use_below, total)
    elseif is_last then
      if due < INF then
        redis.call('ZADD', K.due, due, total.key)
        wake_for(known_meta, due, 'wakeDue')
      else redis.call('ZREM', K.due, total.key) end
      -- A turn of it may have become the first of its line.
      if due < INF and total.turns > 0 then
        redis.call('ZADD', K.turns, due, total.key)
        wake_for(known_meta, due, 'wakeTurns')
      elseif total.hadTurns then redis.call('ZREM', K.turns, total.key) end
      total.hadTurns = total.turns > 0
    end
  end
end
