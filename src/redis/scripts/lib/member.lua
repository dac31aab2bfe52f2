-- A bucket below totals: which they are, and how what it holds counts in each of them.
-- of: family

do
  -- What the record of a bucket has at its end where the bucket is below totals: the slots that it has of them, with the stamp of when
  -- it was granted these, and its place.
  local SLOTS, SLOT, PLACE, PLACE_SIZE = '<Bsd', '<dd', '<ddB', 17
  -- Most have none, or one.
  local NO_SLOTS, WITHOUT_SLOTS, WITH_ONE = {}, '<BsddB', '<BsdddddB'
  -- Where a bucket was below no total.
  local NONE = {}

  function family.unpack_member(raw, at)
    local slots, chain, weight, tag, standing, stop = struct.unpack(WITHOUT_SLOTS, raw, at)
    local member = {
      weight = weight, tag = tag, standing = standing, chain = chain, slots = NO_SLOTS, counted = NO_SLOTS, stamp = false, totals = false,
    }
    if slots == 1 then
      local _, slot, counted
      _, _, member.stamp, slot, counted, member.weight, member.tag, member.standing, stop = struct.unpack(WITH_ONE, raw, at)
      member.slots, member.counted = { slot }, { counted }
    elseif slots > 1 then
      member.slots, member.counted = {}, {}
      member.stamp, stop = struct.unpack('<d', raw, stop - PLACE_SIZE)
      for index = 1, slots do member.slots[index], member.counted[index], stop = struct.unpack(SLOT, raw, stop) end
      member.weight, member.tag, member.standing, stop = struct.unpack(PLACE, raw, stop)
    end
    -- No numbers of ours.
    if member.tag - member.tag ~= 0 or not (member.weight > 0 and member.weight < INF) then error('member') end
    return member, stop
  end

  -- The job that had the slots has started, or has none any more.
  function family.drop_slots(member)
    member.slots, member.counted = NO_SLOTS, NO_SLOTS
  end

  -- What stands at the end of a record with up to one slot: its format, and its values.
  function family.at_end(member)
    if #member.slots == 0 then return WITHOUT_SLOTS, 0, member.chain, member.weight, member.tag, member.standing end
    return WITH_ONE, 1, member.chain, member.stamp, member.slots[1], member.counted[1], member.weight, member.tag, member.standing
  end

  function family.pack_member(member)
    if #member.slots <= 1 then return struct.pack(family.at_end(member)) end
    local slots, place = {}, struct.pack(PLACE, member.weight, member.tag, member.standing)
    for index, slot in ipairs(member.slots) do slots[index] = struct.pack(SLOT, slot, member.counted[index]) end
    return struct.pack(SLOTS, #member.slots, member.chain, member.stamp) .. table.concat(slots) .. place
  end

  -- The tag of a bucket that takes part, by its record; nil: it does not, or is not below totals.
  function family.tag_of(raw)
    local more = #raw > PLACE_SIZE and struct.unpack('<H', raw) - BUCKET_MAGIC
    if more ~= BELOW and more ~= WARM + BELOW then return nil end
    local _, tag, standing = struct.unpack(PLACE, raw, #raw - PLACE_SIZE + 1)
    return standing == 1 and tag - tag == 0 and tag or nil
  end

  local function has_same_paths(one, other)
    return table.concat(family.chain_of(one).paths, '\n') == table.concat(family.chain_of(other).paths, '\n')
  end

  -- The bucket stays below its totals, of which some have other limits, or it has another weight. Its total counts that when the bucket
  -- is written, or stands anew.
  local function adapt(bucket, text, book, now)
    local before, weight = bucket.member, family.chain_of(text).weight
    family.keep_chain(text, book, now)
    bucket.member = {
      weight = weight, tag = before.tag, standing = before.standing, chain = text, reweighed = (before.reweighed or 0) + family.weigh(weight) - family.weigh(before.weight),
      slots = before.slots, counted = before.counted, stamp = before.stamp,
    }
  end

  -- Gives the bucket its place below these totals, '' for none. They count it from when it is written on.
  function family.move(bucket, text, book, now)
    if bucket.member and not bucket.before and text ~= '' and has_same_paths(bucket.member.chain, text) then
      return adapt(bucket, text, book, now)
    end
    if not bucket.summed then family.note(bucket) end
    bucket.before = bucket.before or bucket.member or NONE
    bucket.member = nil
    if text == '' then return end
    bucket.member = { weight = family.chain_of(text).weight, tag = 0, standing = 0, chain = text, slots = NO_SLOTS, counted = NO_SLOTS }
    family.keep_chain(text, book, now)
  end

  -- It leaves the totals below which it was, and is counted in those below which it is.
  function family.enter(bucket)
    local before, sums, was_below = bucket.before, bucket.summed, {}
    bucket.before = nil
    if before ~= NONE then
      local totals = family.totals_in(before.chain)
      family.stand(totals[1], before, bucket.key, nil)
      totals[1].children = math.max(0, totals[1].children - 1)
      for _, total in ipairs(totals) do
        was_below[total.key] = true
        family.add(total, -sums[1], -sums[2], -sums[3], -sums[4], -sums[5], -sums[6], -sums[7])
        if sums[3] > 0 then family.forget_marks(total) end
        -- What the jobs of this bucket counted there is not known, so the count starts anew. Until the jobs of others have slots, a claim may
        -- hand over too many.
        if sums[4] > 0 then total.handedUse = {} end
      end
    elseif sums[1] > 0 then
      redis.call('ZREM', K.due, bucket.key)
      redis.call('ZREM', K.turns, bucket.key)
    end
    if not bucket.member then return end
    local totals = family.totals_of(bucket)
    totals[1].children = totals[1].children + 1
    for _, total in ipairs(totals) do
      if total.handed == 0 then total.handedUse = {} end
      family.add(total, unpack(sums))
      -- Its starts of before did not count there: what is settled of them must not take back what others were charged.
      if bucket.lastStart > -INF and not was_below[total.key] then usage.note_uncounted(total, bucket.lastStart) end
      if sums[3] > 0 then family.forget_marks(total) end
    end
    if sums[3] > 0 then family.charge_handed(bucket) end
  end
end
