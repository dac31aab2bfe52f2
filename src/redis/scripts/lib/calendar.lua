-- The periods of calendars. Their ends come from processes, which know time zones.

function quota.end_of()
  foreign('calendar')
end
