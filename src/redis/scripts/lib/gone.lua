-- Forgetting buckets below totals, and totals below which nothing lives.
-- of: family

do
  -- How soon it is asked again at the earliest whether a tag may be forgotten, and at the latest.
  local TAG_ASKED, TAG_ASKED_BY = 100000, 10000000
  -- Of idle buckets, the totals right above them.
  local below = {}

  -- Without its tag a child that comes back would begin anew: it is kept until virtual time has passed it, or all are equal again. When
  -- that may be: virtual time goes on by one in as many intervals as the weights of those that share amount to.
  local function tag_until(total, child, now)
    local ahead = child.tag - total.virtual
    if ahead <= 0 or total.takers == 0 and total.handed == 0 and total.next <= now then return now end
    return now + math.max(TAG_ASKED, math.min(ahead * total.weights * total.interval, TAG_ASKED_BY))
  end

  local function release(total)
    total.children = math.max(0, total.children - 1)
    family.touch(total)
  end

  -- Forgets the total, or says when to ask again; Infinity: not before something changes.
  local function forget_total(path, now)
    local total = family.total(path)
    if not total or total.children > 0 or total.paused == 1 then return INF end
    local until_, parent = forgettable_at(total), total.parent ~= '' and family.total(total.parent)
    if until_ > now then return until_ end
    local tagged_until = parent and tag_until(parent, total, now) or now
    if tagged_until > now then return tagged_until end
    redis.call('HDEL', K.totals, path)
    redis.call('HDEL', K.quotas, path)
    family.totals[path] = false
    if family.touched then family.touched[path] = nil end
    if parent then release(parent) end
    return INF
  end

  -- These buckets are forgotten.
  function family.release(keys)
    for _, key in ipairs(keys) do
      if below[key] then release(below[key]) end
    end
  end

  -- Of these idle buckets and totals, the buckets that may be forgotten.
  function family.forget(idle, now)
    local gone = {}
    for _, key in ipairs(idle) do
      local is_readable, until_ = true, -INF
      if is_total(key) then
        is_readable, until_ = pcall(forget_total, key, now)
        if is_readable and until_ == INF then redis.call('ZREM', K.idle, key) end
      else
        local bucket
        is_readable, bucket = pcall(read_bucket, key)
        local member = is_readable and bucket and bucket.member
        local total = member and family.totals_of(bucket)[1]
        if member then until_ = tag_until(total, member, now) end
        if is_readable and until_ <= now then
          below[key] = total
          gone[#gone + 1] = key
        end
      end
      if not is_readable then until_ = now + UNREADABLE end
      if until_ > now and until_ < INF then redis.call('ZADD', K.idle, until_, key) end
    end
    return gone
  end
end
