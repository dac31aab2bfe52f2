-- What a bucket remembers of quotas that its limit has no more: src/core/remembered.ts, step by step. They stand behind the others in the
-- bucket's copy of the limit, with an amount that nothing reaches, so that code that does not know of them counts on in them.
-- of: usage

do
  local UNREACHED = 1e15

  local function last_end(use)
    return use.ends[#use.ends] or -INF
  end

  -- When it is forgotten, by the clock that is shown; nil: it is in force. As it is written, rolling quotas count by a clock that is never
  -- set forward.
  function usage.over_at(part)
    return part.over and part.over + (part.length and forward.by() or 0)
  end

  function usage.is_over(part, use, now)
    return part.over ~= nil and (usage.over_at(part) <= now or last_end(use) <= now)
  end

  function usage.has_over(parts, use, now)
    for index = #parts.quotas + 1, #parts.counted do
      if usage.is_over(parts.counted[index], use[index], now) then return true end
    end
    return false
  end

  local function is_longer(one, other)
    return one.length ~= nil and other.length ~= nil and one.length > other.length
  end

  function usage.is_same_window(a, b)
    return a.length == b.length and a.period == b.period and a.zone == b.zone
  end

  local function is_known(parts, part)
    for _, other in ipairs(parts.quotas) do
      if other.unit == part.unit and (usage.is_same_window(other, part) or is_longer(other, part)) then return true end
    end
    return false
  end

  -- All quotas of a unit count the same.
  local function each_of(unit, ...)
    for _, parts in ipairs({ ... }) do
      for _, part in ipairs(parts.counted) do
        if part.unit == unit then return part.each end
      end
    end
  end

  local function outlasted(past, part)
    for _, other in ipairs(past) do
      if other.unit == part.unit and is_longer(other, part) and other.over >= part.over then return true end
    end
    return false
  end

  local function ends_at(part, now)
    if part.length then return now + part.length end
    local first, last = quota.ends_at(part, now)
    return last or first
  end

  -- What is remembered under the limit `after`, which was set at `now`, of the quotas by which starts were counted until then.
  local function remembered(after, before, use, now)
    local past, kept = {}, {}
    for index, part in ipairs(before.counted) do
      local over = usage.over_at(part) or ends_at(part, now)
      if over > now and last_end(use[index]) > now and not is_known(after, part) then
        past[#past + 1] = { unit = part.unit, each = each_of(part.unit, after, before), length = part.length, period = part.period, zone = part.zone, over = over }
      end
    end
    for _, part in ipairs(past) do
      if not outlasted(past, part) then kept[#kept + 1] = part end
    end
    while #kept > quota.MOST_REMEMBERED do
      local first = 1
      for index, part in ipairs(kept) do
        if part.over < kept[first].over then first = index end
      end
      table.remove(kept, first)
    end
    return kept
  end

  local function text_of(part)
    local over = part.over - (part.length and forward.by() or 0)
    local unit = part.unit and string.format(',"unit":%s,"each":%.17g', cjson.encode(part.unit), part.each) or ''
    local window = part.length and string.format('"length":%.17g', part.length) or string.format('"period":"%s","zone":%s', part.period, cjson.encode(part.zone))
    return string.format('{"over":%.17g,"amount":%.17g%s,%s}', over, UNREACHED, unit, window)
  end

  -- The limit as the rule says it, without what is remembered.
  function usage.rule_of(limit)
    local own = string.gsub(limit, ',?{"over":[^}]*}', '')
    return (string.gsub(own, '\n{"quotas":%[%]}$', ''))
  end

  -- The limit with what is remembered under it.
  function usage.with_past(limit, before, use, now)
    local texts = {}
    for index, part in ipairs(remembered(usage.parts_of(limit) or { quotas = {}, counted = {} }, before, use, now)) do texts[index] = text_of(part) end
    if #texts == 0 then return limit end
    local own = string.find(limit, '\n', 1, true) and limit or limit .. '\n{"quotas":[]}'
    local close = string.find(own, ']', string.find(own, '\n', 1, true), true)
    local comma = string.sub(own, close - 1, close - 1) == '[' and '' or ','
    return string.sub(own, 1, close - 1) .. comma .. table.concat(texts, ',') .. string.sub(own, close)
  end
end
