-- Where those below a total stand: in `ready` and `later`, see share.lua. What a call has read of them it knows until they move. `callers`
-- only lets turns go past jobs for which there is no room, so a foreign value under that name stops nothing else.
-- of: family

do
  -- Of those that are ready a claim, which takes one after the other, reads so many more.
  local AHEAD = 15

  -- Where a child with this tag stands in `ready`: who was away has no more in store than one departure.
  function family.tag_of_ready(total, tag) return math.max(tag, total.virtual - total.largest) end

  -- Who is first of those that are ready, and its tag; nil: none is. `only_turns`: of those whose first job is a turn.
  function family.first_ready(total, only_turns)
    if only_turns then
      local first = redis.pcall('ZRANGE', K.callers .. total.n, 0, 0, 'WITHSCORES')
      return first[1], tonumber(first[2])
    end
    local ready = total.ready
    if not ready or ready.at > #ready and not ready.isAll then
      local last = family.horizon and AHEAD or 0
      ready = redis.call('ZRANGE', K.ready .. total.n, 0, last, 'WITHSCORES')
      ready.at, ready.isAll = 1, #ready < 2 * (last + 1)
      total.ready = ready
    end
    return ready[ready.at], tonumber(ready[ready.at + 1])
  end

  -- When the first of those that stand in `later` may go, Infinity: not before something changes; and whether any stands there.
  function family.later_from(total)
    if not total.laterFrom then
      local first = redis.call('ZRANGE', K.later .. total.n, 0, 0, 'WITHSCORES')[2]
      total.laterFrom, total.isLater = first and tonumber(first) or INF, first ~= nil
    end
    return total.laterFrom, total.isLater
  end

  -- Others have come to `ready`.
  function family.forget_places(total)
    total.ready, total.laterFrom = nil, nil
  end

  local function is_first(total, name)
    return total.ready and total.ready[total.ready.at] == name
  end

  -- A job of the first that was ready was handed over, and its next one may be by the horizon of the claim, too: then it takes its new
  -- place in `ready` at once. Where a turn waits, `callers` may change as well.
  local function stays_ready(total, name, due)
    local bucket = due and family.horizon and due <= family.horizon and is_first(total, name) and family.buckets and family.buckets[name]
    if not bucket or total.turns > 0 or total.hadTurns then return false end
    local tag, ready = family.tag_of_ready(total, bucket.member.tag), total.ready
    redis.call('ZADD', K.ready .. total.n, tag, name)
    -- Behind all that was read, more may stand.
    if tag <= tonumber(ready[#ready]) then total.ready = nil else ready.at, ready.isAll = ready.at + 2, false end
    return true
  end

  -- Those whose places changed move in the sets of the total: each stands in `later`, by when its own limits let it go.
  function family.place(total)
    local moves, later, moved, gone = total.moves, nil, nil, nil
    for name, due in pairs(moves) do
      moves[name] = nil
      if not stays_ready(total, name, due) then
        moved, later, gone = moved or {}, later or {}, gone or {}
        moved[#moved + 1] = name
        if due then later[#later + 1], later[#later + 2] = due == INF and '+inf' or due, name else gone[#gone + 1] = name end
      end
    end
    if not moved then return end
    redis.call('ZREM', K.ready .. total.n, unpack(moved))
    if #moved == 1 and is_first(total, moved[1]) then total.ready.at = total.ready.at + 2 else total.ready = nil end
    if total.turns > 0 or total.hadTurns then redis.pcall('ZREM', K.callers .. total.n, unpack(moved)) end
    if #later > 0 then
      redis.call('ZADD', K.later .. total.n, unpack(later))
      total.laterFrom = nil
    end
    if #gone > 0 and redis.call('ZREM', K.later .. total.n, unpack(gone)) > 0 then total.laterFrom = nil end
  end
end
