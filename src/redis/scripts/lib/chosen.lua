-- Who departs next below a total, and when: chosen from the outermost total down, by tag.
-- of: family

do
  -- So many are looked at for one departure.
  local MOST_LOOKS = 50

  -- A bucket below totals, once for each call; nil: there is none, or it cannot be read. `raw`: its record, where that was read.
  function family.bucket(name, raw)
    family.buckets = family.buckets or {}
    local known = family.buckets[name]
    if known == nil then
      raw = raw or family.raws and family.raws[name] or redis.call('HGET', K.buckets, name)
      local is_readable, bucket = pcall(parse_bucket, name, raw or '')
      known = is_readable and bucket.member and bucket or false
      family.buckets[name] = known
    end
    return known or nil
  end

  -- The same, with its lists.
  local function with_lists(name)
    local bucket = family.bucket(name)
    if not bucket or bucket.window then return bucket end
    if not pcall(read_line, bucket) then
      family.buckets[name] = false
      return nil
    end
    bucket.window = window_of(bucket, family.horizon - time_read)
    return bucket
  end

  -- A child of the total, or the head of the child's line, cannot be read. The claim looks at it again later.
  function family.skip(total, name)
    total.moves[name] = readable_from(time_read)
    family.touch(total)
  end

  -- The bucket whose head departs next below the outermost total, if one does by `horizon`. `epoch`: the last one that was given.
  -- `only_turns`: there is no room for jobs.
  function family.choose(outermost, horizon, epoch, only_turns)
    local total = outermost
    family.horizon = horizon
    for _ = 1, MOST_LOOKS do
      family.settle_all()
      family.heed_overdue(total, horizon, epoch)
      local due, is_more, has_joined = family.due_of(total), false, false
      if due <= horizon then
        is_more, has_joined = family.wake(total, horizon)
        -- Who goes next is chosen when all have joined: the claim is repeated at once.
        if is_more then
          usage.isEnough = true
          return nil
        end
      end
      if has_joined then
        -- Another may be first now, and need more than the quotas of a total have.
        total = outermost
      elseif due > horizon then
        if total == outermost then
          -- Behind what was handed over it is due later the more time passes: the claim says when.
          family.touch(total)
          return nil
        end
        family.settle(total)
        total = outermost
      else
        local name, tag = family.first_ready(total, only_turns)
        if not name then
          if total == outermost then return nil end
          if only_turns then redis.pcall('ZREM', K.callers .. family.total(total.parent).n, total.key) else family.settle(total) end
          total = outermost
        elseif is_total(name) then
          local child = family.total_below(total, name)
          if child then
            -- It was held back, and begins by now; so it does later, where it has to wait for a total above it.
            if child.tag ~= tag then family.touch(child) end
            child.tag, total = tag, child
          else
            family.skip(total, name)
            total = outermost
          end
        else
          local bucket = with_lists(name)
          local due = bucket and due_of(bucket)
          if bucket and due <= horizon then
            bucket.member.tag = tag
            return bucket
          end
          if bucket then
            family.stand_bucket(bucket, due)
            write_bucket(bucket)
            family.touch(total)
          else family.skip(total, name) end
          total = outermost
        end
      end
    end
  end
end
