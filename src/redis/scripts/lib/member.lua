-- A bucket below totals: which they are, and how what it holds counts in each of them.
-- of: family

do
  -- What the record of a bucket has at its end where the bucket is below totals.
  local FORMAT, SLOT = '<ddBBs', '<dd'
  -- What a total has as the sum of what the buckets below it have.
  local SUMMED = { 'waiting', 'running', 'inHanded', 'handed', 'turns', 'grantedCost', 'grants' }
  -- Where a bucket was below no total.
  local NONE = {}

  -- `bucket` has all fields but its place.
  function family.unpack_member(raw, at)
    local weight, tag, standing, slots, chain, stop = struct.unpack(FORMAT, raw, at)
    local member = { weight = weight, tag = tag, standing = standing, chain = chain, slots = {}, counted = {} }
    for index = 1, slots do member.slots[index], member.counted[index], stop = struct.unpack(SLOT, raw, stop) end
    return member, stop
  end

  function family.pack_member(member)
    local slots = {}
    for index, slot in ipairs(member.slots) do slots[index] = struct.pack(SLOT, slot, member.counted[index]) end
    return struct.pack(FORMAT, member.weight, member.tag, member.standing, #slots, member.chain) .. table.concat(slots)
  end

  local function sums_of(bucket)
    local sums = { grants = bucket.granted ~= '' and 1 or 0 }
    for index = 1, #SUMMED - 1 do sums[SUMMED[index]] = bucket[SUMMED[index]] end
    return sums
  end

  -- The bucket is as it is written: what its totals count of it.
  function family.note(bucket)
    bucket.summed = sums_of(bucket)
  end

  -- The totals of a chain, the innermost first.
  function family.totals_in(text)
    local paths, totals = family.chain_of(text).paths, {}
    for index = #paths, 1, -1 do
      local total = family.total(paths[index])
      -- Its record is gone, which only a foreign hand can have done: it begins anew.
      if not total then
        family.keep_chain(text, 0, time_read)
        total = family.total(paths[index])
      end
      totals[#totals + 1] = total
    end
    return totals
  end

  -- Those above a bucket.
  function family.totals_of(bucket)
    return family.totals_in(bucket.member.chain)
  end

  local function add_to(total, sums, sign)
    for _, name in ipairs(SUMMED) do total[name] = math.max(0, total[name] + sign * sums[name]) end
    family.touch(total)
  end

  -- Adds to all totals above the bucket what it holds more than when it was read or written last.
  function family.sync(bucket)
    if bucket.before then family.enter(bucket) end
    local sums, more, has_more = sums_of(bucket), {}, false
    for _, name in ipairs(SUMMED) do
      more[name] = sums[name] - bucket.summed[name]
      has_more = has_more or more[name] ~= 0
    end
    bucket.summed = sums
    if not has_more or not bucket.member then return end
    local totals = family.totals_of(bucket)
    usage.work = usage.work + #totals
    for _, total in ipairs(totals) do add_to(total, more, 1) end
  end

  -- Gives the bucket its place below these totals, '' for none. They count it from when it is written on.
  function family.move(bucket, text, book, now)
    bucket.summed, bucket.before = bucket.summed or sums_of(bucket), bucket.before or bucket.member or NONE
    bucket.member = nil
    if text == '' then return end
    bucket.member = { weight = family.chain_of(text).weight, tag = 0, standing = 0, chain = text, slots = {}, counted = {} }
    family.keep_chain(text, book, now)
  end

  -- It leaves the totals below which it was, and is counted in those below which it is.
  function family.enter(bucket)
    local before, sums = bucket.before, bucket.summed
    bucket.before = nil
    if before ~= NONE then
      local totals = family.totals_in(before.chain)
      family.stand(totals[1], before, bucket.key, nil)
      totals[1].children = math.max(0, totals[1].children - 1)
      for _, total in ipairs(totals) do add_to(total, sums, -1) end
    elseif sums.waiting > 0 then
      redis.call('ZREM', K.due, bucket.key)
      redis.call('ZREM', K.turns, bucket.key)
    end
    if not bucket.member then return end
    local totals = family.totals_of(bucket)
    totals[1].children = totals[1].children + 1
    for _, total in ipairs(totals) do add_to(total, sums, 1) end
  end
end
