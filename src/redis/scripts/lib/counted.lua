-- What quotas count at a moment: usedAt of src/core/quota.ts.
-- of: quota

-- Of each quota, what counts now and when one more job has room: behind the other `values` of a view.
function quota.add_views(values, parts, use, now)
  for index, part in ipairs(parts.quotas) do
    values[index * 2 + 4] = text(quota.used_at(part, use[index], now))
    values[index * 2 + 5] = text(quota.room_at(part, use[index], part.each or 1, now))
  end
  return values
end

-- Of two periods near their boundary, the one of which more is used.
function quota.used_at(part, use, now)
  local sum, first, last = 0, nil, nil
  if not part.length then first, last = quota.ends_at(part, now) end
  for index, end_ in ipairs(use.ends) do
    if part.length and end_ > now then sum = sum + use.used[index]
    elseif end_ == first or end_ == last then sum = math.max(sum, use.used[index]) end
  end
  return sum
end
