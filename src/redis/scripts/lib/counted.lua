-- What a quota counts at a moment: usedAt of src/core/quota.ts.
-- of: quota

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
