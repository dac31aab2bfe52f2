-- What a job costs in named units, and counts in each quota.
-- of: usage

-- The named costs of a job, which stand behind its settings, as JSON; nil where it names none.
function usage.costs_text(settings)
  return string.match(settings or '', '^%S+ (.*)$')
end

do
  -- By settings, those of this call: most jobs have the same.
  local known = {}

  local function parse(settings)
    local costs = usage.costs_text(settings)
    if not costs then return {} end
    local ok, named = pcall(cjson.decode, costs)
    if not ok or type(named) ~= 'table' then return nil end
    for _, units in pairs(named) do
      if type(units) ~= 'number' or not (units >= 1 and units < INF) then return nil end
    end
    return named
  end

  -- The same as a table, which is not to be changed; nil where it is not ours.
  function usage.named(settings)
    settings = settings or ''
    local named = known[settings] or parse(settings)
    known[settings] = named
    return named
  end
end

-- Of a job whose record may be foreign: then it names nothing, which must not stop the others.
function usage.settings_of(id)
  usage.work = usage.work + 0.9
  local ok, job = pcall(read_job, id)
  return ok and job and job.settings or nil
end

-- What a job counts in each quota, and in each that is remembered; `above`: the first quota that it alone exceeds. Jobs of the same cost and
-- settings have the same table, which is not to be changed.
function usage.charges(parts, cost, settings)
  settings = parts.hasUnits and settings or ''
  local known = parts.charges[settings]
  if known and known.cost == cost then return known end
  local charges, named = { cost = cost }, parts.hasUnits and usage.named(settings) or {}
  for index, part in ipairs(parts.counted) do
    charges[index] = part.unit and (named[part.unit] or part.each) or cost
    if not charges.above and parts.quotas[index] and charges[index] > part.amount then charges.above = index end
  end
  parts.charges[settings] = charges
  return charges
end

function usage.charges_of(parts, id, cost)
  return usage.charges(parts, cost, parts.hasUnits and usage.settings_of(id))
end
