-- How those below a total share it: src/core/fair-queue.ts. Who takes part stands in `later` until a claim finds that its own limits let
-- it go, then in `ready`, by tag; and in `callers`, too, if it has a turn, for which no worker needs to have room.
-- of: family

do
  -- What a child of a total is: without work, taking part, or frozen with work.
  local OUT, IN, FROZEN = 0, 1, 2
  -- What the choice of a job takes for each total.
  local HANDING = 8
  -- What a job with these charges uses of a total, in cost units: `useOf` of src/core/total.ts.
  function family.use_by(total, parts, charges, cost)
    local use = cost
    for index, part in ipairs(parts.quotas) do
      local length = part.length or quota.LENGTHS[part.period]
      use = math.max(use, charges[index] * length / (part.amount * total.interval))
    end
    return use
  end

  -- The same for a job of that id, and what it counts in the quotas of the total, also in those that it only remembers; nil: it has none.
  function family.use_of(total, id, cost)
    local parts = usage.of(total)
    if not parts or #parts.counted == 0 then return cost end
    local charges = usage.charges_of(parts, id, cost)
    return family.use_by(total, parts, charges, cost), charges
  end

  local function join(total, child, use)
    if total.takers == 0 and total.handed == 0 and total.next <= time_read then
      total.virtual, total.joining, total.largest = math.max(total.virtual, total.highest), -INF, 0
    end
    total.largest = math.max(total.largest, use / child.weight)
    total.takers, total.weights = total.takers + 1, total.weights + family.weigh(child.weight)
    total.joining = math.min(math.max(total.joining + use / total.weights, total.virtual), total.virtual + total.largest)
    child.tag, child.standing = math.max(child.tag, total.joining), IN
    total.highest = math.max(total.highest, child.tag)
  end

  -- Where the child has another weight than its total has counted.
  function family.reweigh(total, child)
    if not child.reweighed then return end
    if child.standing == IN then total.weights = total.weights + child.reweighed end
    child.reweighed = nil
    family.touch(total)
  end

  -- The child of the total may go from `due` on, as its own limits say; nil: it has nothing to hand over, or is paused.
  -- `use_of_first`: returns what the first departure of `one` uses of the total. A child that was frozen joins only in a claim.
  function family.stand(total, child, name, due, frozen, use_of_first, one)
    family.reweigh(total, child)
    local is_in = due ~= nil and frozen <= (family.horizon or time_read) and (child.standing ~= FROZEN or family.isWaking)
    if child.standing == IN and not is_in then
      total.takers = total.takers - 1
      total.weights = total.takers == 0 and 0 or total.weights - family.weigh(child.weight)
    end
    if is_in and child.standing ~= IN then join(total, child, use_of_first(total, one, due)) end
    child.standing = is_in and IN or due ~= nil and FROZEN or OUT
    total.moves[name] = due ~= nil and (is_in and due or math.max(due, frozen)) or false
    family.touch(total)
  end

  local function use_of_head(total, bucket, due)
    return (family.use_of(total, parse_member(family.head_at(bucket, math.max(time_read, due)))))
  end

  -- The same for a bucket, which is written afterwards.
  function family.stand_bucket(bucket, due)
    local has_work = bucket.paused == 0 and bucket.inLine + retrying(bucket) > 0
    local total = family.totals_of(bucket)[1]
    family.stand(total, bucket.member, bucket.key, has_work and due or nil, bucket.frozen, use_of_head, bucket)
  end

  -- A job below totals is handed over, or, with -1, comes back without having started.
  function family.hand(bucket, id, cost, sign)
    local child = bucket.member
    for _, total in ipairs(family.totals_of(bucket)) do
      local use, charges = family.use_of(total, id, cost)
      -- See usage.is_last.
      if sign == 1 then usage.work = usage.work + HANDING end
      if sign == 1 then total.largest, total.virtual = math.max(total.largest, use / child.weight), math.max(total.virtual, child.tag) end
      child.tag = child.tag + sign * use / child.weight
      -- It had no other work: it takes part again, and does not join anew. A total that has moved below another one does.
      if sign == -1 and child.standing == OUT and (not child.isTotal or child.parent == total.key) then
        family.reweigh(total, child)
        total.takers, total.weights, child.standing = total.takers + 1, total.weights + family.weigh(child.weight), IN
      end
      total.highest = math.max(total.highest, child.tag)
      family.count_handed(total, charges, sign)
      family.touch(total)
      child = total
    end
  end

  -- What was handed over before the bucket came below its totals counts as if it were handed over now, by the last that could join. Else
  -- a job that comes back would give back what it was never charged.
  function family.charge_handed(bucket)
    -- A foreign value in place of the list stops nothing.
    for _, member in ipairs(redis.pcall('LRANGE', K.handed .. bucket.suffix, 0, -1)) do
      local id, cost = parse_member(member)
      local child = bucket.member
      for _, total in ipairs(family.totals_of(bucket)) do
        local use, charges = family.use_of(total, id, cost)
        total.largest = math.max(total.largest, use / child.weight)
        if child.standing ~= IN then child.tag = math.max(child.tag, total.virtual + total.largest) end
        child.tag = child.tag + use / child.weight
        total.highest = math.max(total.highest, child.tag)
        if id ~= bucket.granted then family.count_handed(total, charges, 1) end
        child = total
      end
    end
  end
end
