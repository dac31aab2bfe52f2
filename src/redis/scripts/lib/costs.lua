-- What a job costs in named units.
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
